//! `nandarium probe superpage`: a drive's superpage, measured from outside.

use super::results::pretty;
use crate::arguments::{ProbeCommand, SuperpageArguments};
use crate::failure::Failure;
use crate::table::Grid;
use crate::{output, watch};
use measure::{Found, Superpage};
use remap::probe::{FULL, Point};
use serde_json::{Value, json};
use simulator::Setting;
use units::quantity;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.probe/1";

pub fn execute(command: &ProbeCommand) -> Result<(), Failure> {
    let ProbeCommand::Superpage(arguments) = command;
    watch::catch_interrupts();
    let bytes = quantity::parse_size(&arguments.bytes)
        .map_err(|error| Failure::usage(format!("--bytes {}: {error}", arguments.bytes)))?;
    let probe = Superpage {
        target: arguments.target.clone(),
        settings: arguments.set.iter().map(|text| Setting::from_argument(text)).collect::<Result<_, _>>()?,
        queue_depth: arguments.queue_depth,
        bytes,
        seed: arguments.seed,
        overwrites: arguments.yes,
    };
    let stage = watch::Stage::new(arguments.quiet);
    let found = probe.find(&mut |name| Box::new(stage.watcher(name)), watch::stop())?;
    output::print(&if arguments.json { pretty(&document(arguments, &found)) } else { text(arguments, &found) })
}

fn document(arguments: &SuperpageArguments, found: &Found) -> Value {
    let point = |point: &Point| {
        json!({
            "bytes": point.bytes, "writes": point.writes, "seconds": point.seconds,
            "bytes_per_second": point.bytes_per_second(), "writes_per_second": point.writes_per_second(),
        })
    };
    json!({
        "schema": SCHEMA, "target": arguments.target, "queue_depth": arguments.queue_depth,
        "knee": found.knee(), "full_speed": FULL, "points": found.points.iter().map(point).collect::<Vec<_>>(),
        "note": found.note,
    })
}

fn text(arguments: &SuperpageArguments, found: &Found) -> String {
    let mut grid = Grid::new(0);
    grid.row(["size", "MB/s", "writes/s"]);
    for point in &found.points {
        let rate = format!("{:.1}", point.bytes_per_second() / 1e6);
        grid.row([quantity::format_size(point.bytes), rate, format!("{:.0}", point.writes_per_second())]);
    }
    let superpage = match found.knee() {
        Some(size) => format!("superpage: {}", quantity::format_size(size)),
        None => "no superpage found: no size up to an eighth of the largest is at full speed".to_owned(),
    };
    format!(
        "{}, random aligned writes, {} at a time\n\n{}\n{superpage}\n\
         The smallest power of two that, with its multiples up to eight times its size, reaches {:.0} % of the best \
         MB/s up to there. {}\n",
        arguments.target,
        arguments.queue_depth,
        grid.render(""),
        FULL * 100.0,
        found.note
    )
}
