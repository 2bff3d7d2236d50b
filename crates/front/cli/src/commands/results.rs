//! Results as files, and as exit codes.

use crate::arguments::SessionArguments;
use crate::failure::Failure;
use crate::{browser, output, page};
use compare::Drawn;
use metrics::RunResult;
use serde_json::Value;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Characters of a value that stands on one line.
const INLINE: usize = 120;

/// JSON as text, with a line feed at the end. Short values stand on one line, and so does every list of plain values:
/// a number a line makes a file four times as large.
pub fn pretty(document: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, document, 0);
    text.push('\n');
    text
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    let (open, close, members): (char, char, Vec<(Option<&String>, &Value)>) = match value {
        Value::Array(items) if items.is_empty() || !items.iter().all(is_plain) => {
            ('[', ']', items.iter().map(|item| (None, item)).collect())
        }
        Value::Object(members) => ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect()),
        // A list of plain values, or one of them.
        _ => return text.push_str(&value.to_string()),
    };
    let is_short = members.iter().all(|(_, member)| is_plain(member)) && {
        let inline = value.to_string();
        let fits = inline.len() + 2 * members.len() <= INLINE;
        fits && depth > 0
    };
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    text.push(open);
    for (at, (name, member)) in members.iter().enumerate() {
        if at > 0 {
            text.push_str(if is_short { ", " } else { "," });
        }
        if !is_short {
            line(text, depth + 1);
        }
        if let Some(name) = name {
            let _ = write!(text, "{}: ", Value::from(name.as_str()));
        }
        write_value(text, member, depth + 1);
    }
    if !is_short && !members.is_empty() {
        line(text, depth);
    }
    text.push(close);
}

/// Files that `run`, `compare` and `life` write into their folder.
const OWN_FILES: [&str; 10] = [
    "result.json",
    "report.html",
    "series.csv",
    "life.json",
    "life.html",
    "torture.json",
    "torture.html",
    "before.img",
    "after.img",
    "recording",
];
/// Folder, in the one of results, of results that were there before.
const EARLIER: &str = "earlier";

/// Makes the folder of results before anything runs, so that a wrong path, or somebody else's folder, costs no run.
/// Files of an earlier run move to a folder of their own below it: nothing is mixed, and nothing lost.
pub fn prepare(folder: Option<&Path>, quiet: bool) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    make(folder)?;
    let moved = set_aside(folder).map_err(|error| {
        Failure::usage(format!(
            "--out {}: the results of an earlier run are there and cannot be moved: {error}; give another folder",
            folder.display()
        ))
    })?;
    if let Some(place) = moved.filter(|_| !quiet) {
        output::complain(&format!("the results that were in {} are in {} now", folder.display(), place.display()));
    }
    Ok(())
}

/// Makes a folder that can be written.
pub fn make(folder: &Path) -> Result<(), Failure> {
    let probe = folder.join(format!(".nandarium-{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::File::create(&probe))
        .and_then(|_| std::fs::remove_file(&probe))
        .map_err(|error| {
            Failure::usage(format!("--out {}: {error}; give a folder that can be written", folder.display()))
        })
}

/// Moves the results in a folder into the first free `earlier/N` of it; says which that is, if there were any.
fn set_aside(folder: &Path) -> io::Result<Option<PathBuf>> {
    let is_member = |path: &Path| {
        path.join("result.json").is_file()
            && path.file_name().is_some_and(|name| is_folder_name(&name.to_string_lossy()))
    };
    let is_own =
        |path: &Path| path.file_name().is_some_and(|name| OWN_FILES.iter().any(|own| name == *own)) || is_member(path);
    let entries =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let found: Vec<PathBuf> = entries.into_iter().filter(|path| is_own(path)).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let place =
        (1..=u32::MAX).map(|number| folder.join(EARLIER).join(number.to_string())).find(|place| !place.exists());
    let place = place.ok_or_else(|| io::Error::other("too many earlier results"))?;
    std::fs::create_dir_all(&place)?;
    for path in found {
        let name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
        std::fs::rename(&path, place.join(name))?;
    }
    Ok(Some(place))
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

/// Prints the path of a timeline, and notes about it.
pub fn tell_drawn(stack: &str, drawn: Option<&Drawn>, quiet: bool) {
    let Some(Drawn { path, warnings }) = drawn else { return };
    for warning in warnings {
        output::complain(&format!("{stack}: {warning}"));
    }
    if !quiet {
        output::complain(&format!("written: {} (open it at ui.perfetto.dev)", path.display()));
    }
}

/// Says where the page of a session is, and opens it where that was asked for.
pub fn show(page: &Path, session: &SessionArguments) {
    tell_page(page, session.quiet);
    if session.open {
        browser::open(page);
    }
}

/// Writes `result.json` and `series.csv`.
pub fn write(folder: &Path, document: &Value) -> Result<(), Failure> {
    output::write_file(&folder.join("result.json"), &pretty(document))?;
    output::write_file(&folder.join("series.csv"), &series(document))
}

/// Writes the report page of some results. `notes`: what is to be said of all of them together, beside what they say
/// themselves.
pub fn write_page(path: &Path, documents: &[Value], notes: &[String]) -> Result<(), Failure> {
    write_answered(path, &Value::Null, documents, notes)
}

/// As [`write_page`]; the page begins with the answer of a comparison, if there is one.
pub fn write_answered(path: &Path, answer: &Value, documents: &[Value], notes: &[String]) -> Result<(), Failure> {
    let mut notes = notes.to_vec();
    // The page of one run has its notes at its head.
    if documents.len() > 1 {
        let texts = |document: &'_ Value| -> Vec<String> {
            document["notes"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|note| Some(note.as_str()?.to_owned()))
                .collect()
        };
        let of: Vec<(&str, Vec<String>)> = documents
            .iter()
            .map(|document| (document["stack"].as_str().unwrap_or_default(), texts(document)))
            .collect();
        let of: Vec<(&str, Vec<&str>)> =
            of.iter().map(|(name, notes)| (*name, notes.iter().map(String::as_str).collect())).collect();
        notes.extend(compare::notes::cautions(&of));
    }
    let names = documents.iter().filter_map(|document| document["stack"].as_str()).collect::<Vec<_>>().join(", ");
    let workload = documents.first().and_then(|document| document["workload"]["name"].as_str()).unwrap_or_default();
    let title = format!("nandarium: {names} under {workload}");
    output::write_file(path, &page::render(&title, answer, documents, &notes))
}

/// A folder name for one of several results.
pub fn folder_name(index: usize, stack: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{:02}-{}", index + 1, stack.chars().map(plain).collect::<String>())
}

/// Whether a folder may be one that [`folder_name`] named.
fn is_folder_name(name: &str) -> bool {
    name.split_once('-')
        .is_some_and(|(number, _)| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The time series as columns; nothing where there is nothing to tell.
fn series(document: &Value) -> String {
    let Some(columns) = document["series"]["columns"].as_object() else { return String::new() };
    let mut text = columns.keys().map(String::as_str).collect::<Vec<_>>().join(",");
    text.push('\n');
    let intervals = document["series"]["intervals"].as_u64().unwrap_or(0) as usize;
    for row in 0..intervals {
        for (index, column) in columns.values().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            text.push_str(comma);
            // One value stands for a column in which all are the same.
            let value = column.as_array().map_or(Some(column), |column| column.get(row));
            if let Some(value) = value.and_then(Value::as_f64) {
                let _ = write!(text, "{value}");
            }
        }
        text.push('\n');
    }
    text
}

/// The exit code of runs that ended before their workload did.
pub fn verdict(results: &[&RunResult]) -> Result<(), Failure> {
    compare::check_ended(results).map_err(Failure::from)
}
