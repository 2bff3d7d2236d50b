//! A life as text.

use super::grid::Grid;
use super::text::wrapped;
use compare::LifeOverSeeds;
use compare::life::words::{assumptions, causes, facts, rows, to_change};
use metrics::LifeReport;
use std::fmt::Write;

/// A life as a page of text, with the findings of repetitions.
pub fn life(report: &LifeReport, over_seeds: Option<&LifeOverSeeds>) -> String {
    let result = &report.result;
    let arrivals =
        result.queue_depth.map_or_else(|| "open loop".to_owned(), |depth| format!("closed loop, queue depth {depth}"));
    let mut text =
        format!("life of {} under {}  ({arrivals})  {}\n\n", result.stack, result.workload, result.status.name());
    let mut grid = Grid::new(1);
    grid.row(["until worn out", "earliest", "estimate", "latest"]);
    for mut row in rows(report) {
        row[0].insert_str(0, "  ");
        grid.row(row);
    }
    text.push_str(&grid.render(""));
    let mut grid = Grid::new(1);
    grid.row(["spent by", "share", "TB more without", "years more"]);
    for mut row in causes(report) {
        row[0].insert_str(0, "  ");
        grid.row(row);
    }
    text.push('\n');
    text.push_str(&grid.render(""));
    text.push('\n');
    let first = [("assumes", assumptions(report)), ("to change", to_change(report))];
    let notes = report.notes().into_iter().map(|note| ("note", note));
    for (name, fact) in first.into_iter().chain(facts(report, over_seeds)).chain(notes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:10}{}", wrapped(&fact));
    }
    let _ = writeln!(text, "\nhash {:016x}  seed {}", result.hash, result.seed);
    text
}
