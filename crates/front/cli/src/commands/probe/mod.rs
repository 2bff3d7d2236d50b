//! `nandarium probe superpage`: what a drive's superpage is, found from outside.

pub mod nbd;
mod target;

use super::results::pretty;
use crate::arguments::{ProbeCommand, SuperpageArguments};
use crate::failure::Failure;
use crate::table::Grid;
use crate::{output, watch};
use remap::probe::{FULL, Point, SIZES, knee};
use serde_json::{Value, json};
use target::{LEAST_WRITES, Target};
use units::quantity;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.probe/1";

pub fn execute(command: &ProbeCommand) -> Result<(), Failure> {
    let ProbeCommand::Superpage(arguments) = command;
    watch::catch_interrupts();
    let bytes = quantity::parse_size(&arguments.bytes)
        .map_err(|error| Failure::usage(format!("--bytes {}: {error}", arguments.bytes)))?;
    let mut target = Target::open(arguments)?;
    let stage = watch::Stage::new(arguments.quiet);
    let mut points = Vec::new();
    for size in SIZES {
        points.push(target.write(size, (bytes / size).max(LEAST_WRITES), arguments, &stage)?);
    }
    let note = target.note();
    output::print(&if arguments.json {
        pretty(&document(arguments, &points, note))
    } else {
        text(arguments, &points, note)
    })
}

fn document(arguments: &SuperpageArguments, points: &[Point], note: &str) -> Value {
    let point = |point: &Point| {
        json!({
            "bytes": point.bytes, "writes": point.writes, "seconds": point.seconds,
            "bytes_per_second": point.bytes_per_second(), "writes_per_second": point.writes_per_second(),
        })
    };
    json!({
        "schema": SCHEMA, "target": arguments.target, "queue_depth": arguments.queue_depth,
        "knee": knee(points), "full_speed": FULL, "points": points.iter().map(point).collect::<Vec<_>>(), "note": note,
    })
}

fn text(arguments: &SuperpageArguments, points: &[Point], note: &str) -> String {
    let mut grid = Grid::new(0);
    grid.row(["size", "MB/s", "writes/s"]);
    for point in points {
        let rate = format!("{:.1}", point.bytes_per_second() / 1e6);
        grid.row([quantity::format_size(point.bytes), rate, format!("{:.0}", point.writes_per_second())]);
    }
    let found = match knee(points) {
        Some(size) => format!("superpage: {}", quantity::format_size(size)),
        None => "no superpage found: no size up to an eighth of the largest is at full speed".to_owned(),
    };
    format!(
        "{}, random aligned writes, {} at a time\n\n{}\n{found}\n\
         The smallest power of two that, with its multiples up to eight times its size, reaches {:.0} % of the best \
         MB/s up to there. {note}\n",
        arguments.target,
        arguments.queue_depth,
        grid.render(""),
        FULL * 100.0
    )
}
