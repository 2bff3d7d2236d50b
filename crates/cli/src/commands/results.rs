//! Results as files, and as exit codes.

use crate::failure::{DRIVE_FULL, Failure, INTERRUPTED};
use crate::{output, page};
use metrics::{RunResult, Status};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// JSON as text, with a line feed at the end.
pub fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Version of the JSON form of several results.
pub const COMPARISON: &str = "nandarium.comparison/1";

/// Several results as one document.
pub fn together(documents: &[Value]) -> Value {
    json!({"schema": COMPARISON, "results": documents})
}

/// Makes the folder of results before anything runs, so that a wrong path, or somebody else's folder, costs no run.
pub fn prepare(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let probe = folder.join(format!(".nandarium-{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::File::create(&probe))
        .and_then(|_| std::fs::remove_file(&probe))
        .map_err(|error| Failure::usage(format!("--out {}: {error}; give a folder that can be written", folder.display())))
}

/// Says where the page is.
pub fn tell(folder: &Path, quiet: bool) {
    tell_page(&folder.join("report.html"), quiet);
}

/// Says where a page is.
pub fn tell_page(page: &Path, quiet: bool) {
    if !quiet {
        output::complain(&format!("report: {}", page.display()));
    }
}

/// Writes `result.json` and `series.csv`.
pub fn write(folder: &Path, document: &Value) -> Result<(), Failure> {
    output::write_file(&folder.join("result.json"), &pretty(document))?;
    output::write_file(&folder.join("series.csv"), &series(document))
}

/// Writes the report page of some results.
pub fn write_page(path: &Path, documents: &[Value]) -> Result<(), Failure> {
    let names = documents.iter().filter_map(|document| document["stack"].as_str()).collect::<Vec<_>>().join(", ");
    let workload = documents.first().and_then(|document| document["workload"]["name"].as_str()).unwrap_or_default();
    output::write_file(path, &page::render(&format!("nandarium: {names} under {workload}"), documents))
}

/// A folder name for one of several results.
pub fn folder_name(index: usize, stack: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{:02}-{}", index + 1, stack.chars().map(plain).collect::<String>())
}

/// The time series as columns.
fn series(document: &Value) -> String {
    let Some(columns) = document["series"]["columns"].as_object() else { return String::new() };
    let mut text = columns.keys().map(String::as_str).collect::<Vec<_>>().join(",");
    text.push('\n');
    let columns: Vec<&[Value]> = columns.values().map(|c| c.as_array().map_or(&[][..], Vec::as_slice)).collect();
    for row in 0..columns.first().map_or(0, |column| column.len()) {
        for (index, column) in columns.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{}", column.get(row).and_then(Value::as_f64).unwrap_or(0.0));
        }
        text.push('\n');
    }
    text
}

/// The exit code of runs that ended before their workload did.
pub fn verdict(results: &[RunResult]) -> Result<(), Failure> {
    let ended = |status: Status| results.iter().find(|result| result.status == status);
    if ended(Status::Interrupted).is_some() {
        return Err(Failure { code: INTERRUPTED, message: "interrupted: the numbers cover what ran until then".to_owned() });
    }
    // A spare makes up for a die, and an idle spare is nobody's loss.
    let missing = |result: &RunResult| ["stripe.dies_missing", "flash.dies_lost"].iter().find_map(|name| result.counters.get(*name)).copied();
    let has_lost_dies = |result: &&RunResult| missing(result).is_some_and(|dies| dies > 0);
    let ended_so = ended(Status::WornOut).or(ended(Status::DriveFull));
    let Some(result) = ended_so else { return Ok(()) };
    // Zones have spare blocks of their own, and nothing in place of a lost die.
    let is_zoned = result.config.get("stripe.kind").is_some_and(|kind| kind == "zones");
    let spare = if is_zoned { "zones.spare_blocks" } else { "drive.over_provisioning" };
    let (what, remedy) = if has_lost_dies(&result) {
        let remedy = if is_zoned {
            "dies failed, and a zone cannot be written without one of its banks; use stripe.kind = raid5 (or another with parity)".to_owned()
        } else {
            format!("dies failed, and what they held leaves too little spare flash on the others; set stripe.spares, or raise {spare}")
        };
        ("full", remedy)
    } else if result.status == Status::WornOut {
        ("worn out", format!("blocks went bad until nothing could be reclaimed; raise flash.endurance or {spare}, or lower the fault shares"))
    } else {
        ("full", format!("no block could be reclaimed; raise {spare}"))
    };
    let written = result.host[units::HostOp::Write.index()].bytes;
    Err(Failure {
        code: DRIVE_FULL,
        message: format!(
            "stack `{}`: the drive is {what} after {} of host writes: {remedy}. The numbers cover what ran until then",
            result.stack,
            units::quantity::format_size(written),
        ),
    })
}
