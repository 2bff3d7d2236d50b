//! Several results side by side, with ratios to the first.

use super::grid::Grid;
use super::life::digits;
use super::numbers::{NONE, bandwidth, count, duration, latency, rate, ratio, size, time};
use super::run::wrapped;
use metrics::{LifeReport, RunResult};
use std::fmt::Write;
use units::{CAUSES, HostOp};

/// Takes a number out of what ran.
type Value = Box<dyn Fn(&RunResult, Option<&LifeReport>) -> Option<f64>>;

/// One line of the comparison: a value of each result, and how it is written.
struct Line {
    label: String,
    value: Value,
    show: fn(f64) -> String,
}

fn line(
    label: impl Into<String>,
    show: fn(f64) -> String,
    value: impl Fn(&RunResult) -> Option<f64> + 'static,
) -> Line {
    Line { label: label.into(), value: Box::new(move |result, _| value(result)), show }
}

/// A line of a life.
fn lived(label: &str, value: impl Fn(&LifeReport) -> Option<f64> + 'static) -> Line {
    Line { label: label.to_owned(), value: Box::new(move |_, life| life.and_then(&value)), show: digits }
}

/// A comparison as text. `lives`: how long each drive lives, or none at all; `notes`: what is to be said of all
/// together.
pub fn comparison(results: &[&RunResult], lives: &[Option<LifeReport>], notes: &[String]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let arrivals = match first.queue_depth {
        Some(depth) => format!("closed loop, queue depth {depth}"),
        None => "open loop, requests arrive at their own time".to_owned(),
    };
    let mut grid = Grid::new(1);
    let mut head = vec![String::new()];
    for (index, result) in results.iter().enumerate() {
        head.push(result.stack.clone());
        if index > 0 {
            head.push("ratio".to_owned());
        }
    }
    grid.row(head);
    for line in lines() {
        let life = |index: usize| lives.get(index).and_then(Option::as_ref);
        let values: Vec<Option<f64>> =
            results.iter().enumerate().map(|(index, result)| (line.value)(result, life(index))).collect();
        if values.iter().all(|value| value.is_none_or(|value| value == 0.0)) {
            continue;
        }
        let mut row = vec![line.label];
        for (index, value) in values.iter().enumerate() {
            row.push(value.map_or_else(|| NONE.to_owned(), line.show));
            if index > 0 {
                row.push(ratio_of(*value, values[0]));
            }
        }
        grid.row(row);
    }
    for (label, text) in [("status", status as fn(&RunResult) -> String), ("hash", hash), ("computed in", wall)] {
        let mut row = vec![label.to_owned()];
        for (index, result) in results.iter().enumerate() {
            row.push(text(result));
            if index > 0 {
                row.push(String::new());
            }
        }
        grid.row(row);
    }
    let stacks = if results.len() == 1 { "stack" } else { "stacks" };
    let mut text = format!("{} {stacks} under {}  ({arrivals})\n\n", results.len(), first.workload);
    text.push_str(&grid.render(""));
    for note in notes {
        let _ = write!(text, "\nnote      {}", wrapped(note));
    }
    text.push_str(&cautions(results));
    text
}

/// What was chosen, and why numbers may mislead or be the same. Everything else is told by each run alone.
fn cautions(results: &[&RunResult]) -> String {
    let is_told = |note: &&String| metrics::is_caution(note) || note.contains(" has no effect here because ");
    // What is true of several stacks is said once.
    let mut told: Vec<(&String, Vec<&str>)> = Vec::new();
    for result in results {
        for note in result.notes.iter().filter(is_told) {
            match told.iter_mut().find(|(known, _)| *known == note) {
                Some((_, stacks)) => stacks.push(&result.stack),
                None => told.push((note, vec![&result.stack])),
            }
        }
    }
    let lines = told.iter().map(|(note, stacks)| {
        let whose = if stacks.len() == results.len() { String::new() } else { format!("{}: ", stacks.join(", ")) };
        format!("\nnote      {}", wrapped(&format!("{whose}{note}")))
    });
    lines.collect::<String>() + "\n"
}

fn status(result: &RunResult) -> String {
    result.status.name().to_owned()
}

fn hash(result: &RunResult) -> String {
    format!("{:016x}", result.hash)
}

fn wall(result: &RunResult) -> String {
    duration(result.wall_s)
}

fn ratio_of(value: Option<f64>, first: Option<f64>) -> String {
    match (value, first) {
        (Some(value), Some(first)) if first > 0.0 => format!("x{:.2}", value / first),
        _ => NONE.to_owned(),
    }
}

fn lines() -> Vec<Line> {
    let plain = |value: f64| count(value as u64);
    let mut lines = vec![line("IOPS", |value| rate(Some(value)), RunResult::iops)];
    for op in [HostOp::Read, HostOp::Write] {
        let label = format!("{} MB/s", op.name());
        lines.push(line(label, |value| bandwidth(Some(value)), move |result| result.bandwidth(op)));
    }
    for op in [HostOp::Read, HostOp::Write] {
        let histogram = move |result: &RunResult| {
            let histogram = result.latency[op.index()].histogram();
            (histogram.count() > 0).then(|| histogram.clone())
        };
        let name = op.name();
        lines.push(line(format!("{name} latency mean"), latency, move |result| histogram(result).map(|h| h.mean())));
        for (percentile, at) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            let value =
                move |result: &RunResult| histogram(result).and_then(|h| h.supported(at)).map(|nanos| nanos as f64);
            lines.push(line(format!("{name} latency {percentile}"), latency, value));
        }
        lines.push(line(format!("{name} latency max"), latency, move |result| {
            histogram(result).map(|h| h.max() as f64)
        }));
    }
    lines.push(line("WAF in bytes", |value| ratio(Some(value)), RunResult::waf_bytes));
    lines.push(line("WAF", |value| ratio(Some(value)), RunResult::waf));
    for cause in CAUSES {
        let value = move |result: &RunResult| {
            let pages = result.host[HostOp::Write.index()].pages;
            (pages > 0).then(|| result.flash[1][cause.index()] as f64 / pages as f64)
        };
        lines.push(line(format!("  {}", cause.name()), |value| ratio(Some(value)), value));
    }
    lines.push(line("erases", plain, |result| Some(result.flash[2].iter().sum::<u64>() as f64)));
    lines.push(line("most erases of a block", plain, |result| {
        result.erases.iter().flatten().max().map(|erases| f64::from(*erases))
    }));
    lines.push(line(
        "memory",
        |value| size(value as u64),
        |result| Some(result.ram_bytes.iter().map(|(_, bytes)| *bytes as f64).sum()),
    ));
    lines.push(line("simulated", time, |result| Some(result.sim_ns as f64)));
    lines.extend(life_lines());
    lines
}

fn life_lines() -> [Line; 7] {
    [
        lived("life: TB written (TBW)", |life| Some(life.tbw().estimate)),
        lived("life: drive writes a day", |life| Some(life.dwpd().estimate)),
        lived("life: years", |life| life.years().map(|years| years.estimate)),
        lived("life: years at least", |life| life.years().map(|years| years.earliest)),
        lived("price", LifeReport::price),
        lived("price of a GB", LifeReport::price_per_gb),
        lived("price of a TB written", |life| life.price_per_tb_written().map(|price| price.estimate)),
    ]
}
