//! Code that the Python package shares with the command line, so that texts and pictures exist once.

use crate::arguments::{self, Listing, OrderArgument, TraceInput};
use crate::commands::sweep::{self as sweeping, Swept};
use crate::commands::{convert, explain, list, repro as studies, results, trace as traces};
use crate::failure::Failure;
use crate::{settings, table};
use clap::ValueEnum;
use compare::LifeOverSeeds;
use experiment::Cache;
use metrics::{LifeReport, RunResult};
use repro::Study;
use serde_json::Value;
use simulator::Config;
use simulator::session::{SessionError, Snapshots};
use std::path::{Path, PathBuf};
use sweep::{Grid, Outcome};

/// Name and description of everything of a kind, as `nandarium list` shows them.
pub fn items(what: Listing) -> Vec<(String, String)> {
    list::items(what).into_iter().map(|item| (item.name, item.doc)).collect()
}

/// All policies: name, key that selects it, idea, and when to use it at which cost.
pub fn policies() -> Vec<list::Policy> {
    list::all_policies()
}

/// What `nandarium explain` says about a name.
/// Errors: nothing is called so; the text names what comes close.
pub fn explanation(name: &str) -> Result<String, String> {
    explain::text(name.trim()).map_err(|failure| failure.message)
}

/// Results as `nandarium run` prints one, and `nandarium compare` several, or one with repetitions. `repeated`: their
/// documents, in which stands what repetitions tell, or none.
pub fn text(results: &[RunResult], repeated: &[Value]) -> String {
    match results {
        [result] if repeated.is_empty() => {
            let advice = compare::advice::sentence(result, &result.to_json());
            table::result(result, advice.as_deref())
        }
        several => {
            let several: Vec<&RunResult> = several.iter().collect();
            table::comparison(&several, &[], repeated, &compare::notes::without_effect(&several))
        }
    }
}

/// A document as `result.json` has it, with a line feed at the end.
pub fn pretty(document: &Value) -> String {
    results::pretty(document)
}

/// Makes a folder of results. Files of an earlier run move to a folder of their own below it.
/// Errors: the folder cannot be written.
pub fn make_folder(folder: &Path) -> Result<(), String> {
    results::prepare(Some(folder), true).map_err(|failure| failure.message)
}

/// Writes `result.json`, `series.csv` and `report.html` into a folder, as `--out` does.
/// Errors: a file cannot be written; the text names it.
pub fn write_folder(folder: &Path, document: &Value) -> Result<(), String> {
    results::write(folder, document)
        .and_then(|()| results::write_page(&folder.join("report.html"), std::slice::from_ref(document), &[]))
        .map_err(|failure| failure.message)
}

/// Writes one self-contained page of some results, side by side if there are several.
/// Errors: the file cannot be written; the text names it.
pub fn write_page(path: &Path, documents: &[Value]) -> Result<(), String> {
    results::write_page(path, documents, &[]).map_err(|failure| failure.message)
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

/// The error of a sweep in which runs failed and none was measured.
pub fn sweep_problem(outcomes: &[Option<Outcome>]) -> Option<String> {
    sweeping::problem(outcomes)
}

/// Writes `results.parquet`, `summary.csv` and `report.html` of a sweep into a folder, which is made.
/// Errors: a file cannot be written; the text names it.
pub fn write_sweep(grid: &Grid, outcomes: &[Option<Outcome>], folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::file(folder, "written", &error))
        .and_then(|()| sweeping::write(&Swept::of(grid, outcomes), folder))
        .map_err(|failure| failure.message)
}

/// Where the simulations of a study are kept until it is done: below the folder of results, or in the user's cache
/// folder. `None`: there is no such folder, or a file among the options cannot be read.
pub fn study_cache(out: Option<&Path>, study: &Study, options: &repro::Options) -> Option<Cache> {
    studies::keeping(out).and_then(|folder| studies::kept(&folder, study, options))
}

/// A study as `nandarium repro` prints it.
pub fn study_text(study: &Study, findings: &repro::Findings) -> String {
    table::study(study, findings)
}

/// Writes rows, figures and the page of a study into a folder, which is made.
/// Errors: a file cannot be written; the text names it.
pub fn write_study(folder: &Path, study: &Study, findings: &repro::Findings) -> Result<(), String> {
    let made = std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, "written", &error));
    made.and_then(|()| studies::write(folder, study, findings)).map_err(|failure| failure.message)
}

/// The message of the command line for a session without a result.
pub fn failed(error: SessionError) -> String {
    Failure::from(error).message
}

/// A life as `nandarium life` prints it.
pub fn life_text(report: &LifeReport, over_seeds: Option<&LifeOverSeeds>) -> String {
    table::life(report, over_seeds)
}

/// How to read a trace, as texts.
#[derive(Debug, Default)]
pub struct TraceReading<'a> {
    /// The name of its format.
    pub format: Option<String>,
    /// Its columns, as `workload.columns` has them.
    pub columns: Option<String>,
    /// The file to read from an archive.
    pub member: Option<String>,
    /// `error`, `clamp`, `sort` or `whole`.
    pub order: Option<&'a str>,
    /// A time such as `1h`.
    pub gap_limit: Option<&'a str>,
    /// `first-fit`, `log` or `by-tier`.
    pub allocator: Option<&'a str>,
    /// A number, or a share such as `5%`.
    pub odd_lines: Option<&'a str>,
}

/// What a trace holds, as `nandarium trace info` prints it, and as the document of `--json`.
/// Errors: it cannot be read, and the text says where it stumbled; no such order or allocator, no time.
pub fn trace_info(file: &str, reading: TraceReading<'_>) -> Result<(String, Value), String> {
    traces::told(&reading.of(file)?).map_err(|failure| failure.message)
}

/// Writes a trace to `out` as `nandarium trace convert` does, and tells what is to be known of it.
/// Errors: as [`trace_info`]; `out` cannot be written.
pub fn trace_convert(file: &str, reading: TraceReading<'_>, out: &Path) -> Result<Vec<String>, String> {
    let input = reading.of(file)?;
    convert::check_is_trace(file).and_then(|()| convert::file(&input, Some(out))).map_err(|failure| failure.message)
}

/// Writes the requests of the built-in workload called `name` to `out` as `nandarium trace convert` does, and tells
/// what is to be known of them. `is_stack_given`: the user chose the stack of `config`.
/// Errors: nothing says how large the drive is; the configuration cannot be used; `out` cannot be written.
pub fn workload_convert(config: Config, is_stack_given: bool, name: &str, out: &Path) -> Result<Vec<String>, String> {
    convert::workload(config, is_stack_given, name, Some(out)).map_err(|failure| failure.message)
}

impl TraceReading<'_> {
    /// The same as arguments of the command line.
    /// Errors: no such order or allocator, no time, no number of odd lines.
    fn of(self, file: &str) -> Result<TraceInput, String> {
        let TraceReading { format, columns, member, order, gap_limit, allocator, odd_lines } = self;
        let order = order.map(|name| {
            OrderArgument::from_str(name, false)
                .map_err(|_| format!("order is `{name}`; give error, clamp, sort or whole"))
        });
        let gap_limit = gap_limit
            .map(|text| arguments::gap_limit(text).map_err(|problem| format!("gap_limit is `{text}`: {problem}")));
        let allocator = allocator
            .map(|text| arguments::allocator(text).map_err(|problem| format!("allocator is `{text}`: {problem}")));
        Ok(TraceInput {
            file: file.to_owned(),
            format,
            columns,
            member,
            order: order.transpose()?,
            gap_limit: gap_limit.transpose()?,
            allocator: allocator.transpose()?,
            odd_lines: odd_lines.map(arguments::odd_lines).transpose()?,
        })
    }
}
