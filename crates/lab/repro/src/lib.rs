//! Published studies, run again on this simulator.
//!
//! ```text
//!  study: plan (drives, workloads, settings), targets         a file in `targets/`
//!     |   simulations over `simulator`, on all cores              never see a published number
//!     v
//!  rows (published | measured | accepted | verdict)  figures -> JSON, CSV, a page
//! ```
//! Published numbers are data for comparison and nothing else: they stand in the tables of targets,
//! and no simulation reads those. A row that misses its band stays red.
//!
//! To add a study: a file with its plan and its targets, a `run` function, and a line in [`STUDIES`].

mod alone;
mod cells;
mod drives;
mod errand;
mod error;
mod family;
mod file;
mod hard;
mod load;
mod page;
mod partial_parity;
mod row;
mod simulate;
mod simulations;
mod striping;
mod study;
mod target;
#[cfg(test)]
mod toy;
mod tpm;
mod two_level;

pub use errand::{Errand, answer};
pub use error::StudyError;
pub use family::{Family, Fit, Judgement, MOST_DRAWS};
pub use figures::{Figure, Panel, Series, Shape};
pub use page::render;
pub use row::{Class, Row, Text, Verdict};
pub use simulate::{Bench, Measurement, Response};
pub use study::{Findings, Options, Scale, Setting, Study};
pub use target::{Accept, Measured, Target};

use serde_json::{Value, json};
use std::fmt::Write as _;

/// Version of the JSON form.
pub const SCHEMA: &str = "nandarium.repro/1";

/// Every study, in alphabetical order.
pub static STUDIES: [&Study; 6] =
    [&drives::STUDY, &hard::STUDY, &partial_parity::STUDY, &striping::STUDY, &tpm::STUDY, &two_level::STUDY];

/// The study called `name`.
pub fn find(name: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.name == name).copied()
}

/// Rows as a table of Markdown; rows of one experiment follow each other under its name.
pub fn to_markdown(rows: &[Row]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = String::from("| figure | published | measured | accepted | verdict |\n|---|---|---|---|---|\n");
    let mut before = "";
    for row in rows {
        if *row.experiment != *before {
            before = &row.experiment;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| **{}** | | | | |", cell(before));
        }
        let [metric, published, measured, accept] =
            [&*row.metric, &*row.published, row.measured.as_str(), row.accept.as_str()].map(cell);
        let _ = writeln!(text, "| {metric} | {published} | {measured} | {accept} | {} |", row.verdict.name());
    }
    text + &family_to_markdown(rows)
}

/// What a family says of rows, as a second table; nothing without one.
fn family_to_markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for (row, family) in rows.iter().filter_map(|row| Some((row, row.family.as_ref()?))) {
        let Family { least, median, most, fit, .. } = family;
        let (id, metric, published, single) = (&row.id, &row.metric, family.judged(), row.verdict.name());
        let _ = writeln!(
            text,
            "| {id} | {metric} | {published} | {least:.2} | {median:.2} | {most:.2} | {single} | {} |",
            fit.name()
        );
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\n| row | figure | published | least | median | most | one trace | family |\n\
         |---|---|---|---|---|---|---|---|\n{text}"
    )
}

/// Rows of one or several studies as one documented object. `complete`: nobody stopped them.
pub fn to_json(rows: &[Row], complete: bool) -> Value {
    json!({"schema": SCHEMA, "complete": complete, "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>()})
}
