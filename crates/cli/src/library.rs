//! What the Python package shares with the command line, so that nothing is said or drawn in two ways.

use crate::commands::sweep::{self as sweeping, Swept};
use crate::commands::{explain, list, results};
use crate::failure::Failure;
use crate::{settings, table};
use crate::arguments::Listing;
use device::session::{SessionError, Snapshots};
use metrics::RunResult;
use serde_json::Value;
use std::path::{Path, PathBuf};
use sweep::{Grid, Outcome};

/// Name and description of everything of a kind, as `nandarium list` shows them.
pub fn items(what: Listing) -> Vec<(String, String)> {
    list::items(what).into_iter().map(|item| (item.name, item.doc)).collect()
}

/// What `nandarium explain` says about a name.
///
/// # Errors
/// Nothing is called so; the text names what comes close.
pub fn explanation(name: &str) -> Result<String, String> {
    explain::text(name.trim()).map_err(|failure| failure.message)
}

/// Results as `nandarium run` prints one, and `nandarium compare` several.
pub fn text(results: &[RunResult]) -> String {
    match results {
        [result] => table::result(result),
        several => table::comparison(several),
    }
}

/// A document as `result.json` has it, with a line feed at the end.
pub fn pretty(document: &Value) -> String {
    results::pretty(document)
}

/// Writes `result.json`, `series.csv` and `report.html` into a folder, as `--out` does.
///
/// # Errors
/// A file cannot be written; the text names it.
pub fn write_folder(folder: &Path, document: &Value) -> Result<(), String> {
    results::write(folder, document)
        .and_then(|()| results::write_page(&folder.join("report.html"), std::slice::from_ref(document)))
        .map_err(|failure| failure.message)
}

/// Writes one self-contained page of some results, side by side if there are several.
///
/// # Errors
/// The file cannot be written; the text names it.
pub fn write_page(path: &Path, documents: &[Value]) -> Result<(), String> {
    results::write_page(path, documents).map_err(|failure| failure.message)
}

/// Where preconditioned states are kept: in `folder`, or the user's cache folder, if there is one.
pub fn snapshots(folder: Option<PathBuf>) -> Option<Snapshots> {
    settings::snapshots(folder)
}

/// A sweep as `nandarium sweep` prints it.
pub fn sweep_text(grid: &Grid, outcomes: &[Option<Outcome>]) -> String {
    sweeping::text(&Swept::of(grid, outcomes))
}

/// A sweep as `nandarium sweep --json` prints it.
pub fn sweep_document(grid: &Grid, outcomes: &[Option<Outcome>]) -> String {
    pretty(&Swept::of(grid, outcomes).document())
}

/// What is to be said of a sweep in which runs failed and none was measured.
pub fn sweep_problem(outcomes: &[Option<Outcome>]) -> Option<String> {
    sweeping::problem(outcomes)
}

/// Writes `results.parquet`, `summary.csv` and `report.html` of a sweep into a folder, which is made.
///
/// # Errors
/// A file cannot be written; the text names it.
pub fn write_sweep(grid: &Grid, outcomes: &[Option<Outcome>], folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::file(folder, "written", &error))
        .and_then(|()| sweeping::write(&Swept::of(grid, outcomes), folder))
        .map_err(|failure| failure.message)
}

/// What the command line says of a session without a result.
pub fn failed(error: SessionError) -> String {
    Failure::from(error).message
}

/// Exit code and message of a session that ended before its workload did; `None`: it did not.
pub fn ended_early(result: &RunResult) -> Option<(u8, String)> {
    let Failure { code, message } = results::verdict(std::slice::from_ref(result)).err()?;
    Some((code, message))
}
