//! Results as files, and as exit codes.

use crate::arguments::SessionArguments;
use crate::failure::{DRIVE_FULL, Failure, INTERRUPTED};
use crate::{browser, output, page};
use metrics::{RunResult, Status};
use serde_json::{Value, json};
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

/// Version of the JSON form of several results.
pub const COMPARISON: &str = "nandarium.comparison/1";

/// The document of a result, and of what single requests waited for.
pub fn with_closeups(mut document: Value, closeups: Option<Value>) -> Value {
    if let Some(closeups) = closeups {
        document["closeups"] = closeups;
    }
    document
}

/// Several results as one document, with what is to be said of them together.
pub fn together(documents: &[Value], notes: &[String]) -> Value {
    json!({"schema": COMPARISON, "notes": notes, "results": documents})
}

/// What the results of a comparison say only together: keys that made no difference.
pub fn without_effect(results: &[&RunResult]) -> Vec<String> {
    let Some((first, others)) = results.split_first() else { return Vec::new() };
    let same = others.iter().filter(|other| other.hash == first.hash);
    let told = same.map(|other| {
        let differ: Vec<String> = other
            .config
            .iter()
            .filter(|(key, value)| first.config.get(*key) != Some(*value) && *key != metrics::CAUSES_KEY)
            .map(|(key, value)| {
                let before = first.config.get(key).map_or("nothing", String::as_str);
                format!("{key} = {value} (not {before})")
            })
            .collect();
        if differ.is_empty() && first.config.get(metrics::CAUSES_KEY) != other.config.get(metrics::CAUSES_KEY) {
            return format!("{} records other causes than {}, and gave its result.", other.stack, first.stack);
        }
        if differ.is_empty() {
            return format!(
                "`{}` and `{}` are alike: every key has the same value, so all ratios are 1. Change a key of one of \
                 them, for example {}+ftl.gc.victim=fifo.",
                first.stack,
                other.stack,
                other.stack.split('+').next().unwrap_or_default()
            );
        }
        let has_cleaned = first.flash[2].iter().sum::<u64>() > 0;
        let why = if has_cleaned {
            ""
        } else {
            ". No block was erased: on a drive that never cleans, nothing that is \
            about cleaning can matter (drive.precondition)"
        };
        format!(
            "{} gave the result of {}, to the last command: {} had no \
            effect{why}.",
            other.stack,
            first.stack,
            differ.join(", ")
        )
    });
    told.collect()
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
/// What an earlier run left there moves to a folder of its own below it: nothing is mixed, and nothing lost.
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

/// Whether a note of a run is told where several runs are shown together.
pub fn is_told_of_several(note: &str) -> bool {
    note.starts_with("measure.") || metrics::is_caution(note) || note.contains(" has no effect here because ")
}

/// What several runs say that limits their numbers, each sentence once, with the names of those that say it where it is
/// not all of them. `runs`: their names and notes.
pub fn cautions(runs: &[(&str, Vec<&str>)]) -> Vec<String> {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, notes) in runs {
        for note in notes.iter().filter(|note| is_told_of_several(note)) {
            match told.iter_mut().find(|(known, _)| known == note) {
                Some((_, names)) => names.push(name),
                None => told.push((note, vec![name])),
            }
        }
    }
    let sentence = |(note, names): (&str, Vec<&str>)| {
        if names.len() == runs.len() { note.to_owned() } else { format!("{}: {note}", names.join(", ")) }
    };
    told.into_iter().map(sentence).collect()
}

/// Writes the report page of some results. `notes`: what is to be said of all of them together, beside what they say
/// themselves.
pub fn write_page(path: &Path, documents: &[Value], notes: &[String]) -> Result<(), Failure> {
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
        notes.extend(cautions(&of));
    }
    let names = documents.iter().filter_map(|document| document["stack"].as_str()).collect::<Vec<_>>().join(", ");
    let workload = documents.first().and_then(|document| document["workload"]["name"].as_str()).unwrap_or_default();
    output::write_file(path, &page::render(&format!("nandarium: {names} under {workload}"), documents, &notes))
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
    let ended = |status: Status| results.iter().find(|result| result.status == status);
    if ended(Status::Interrupted).is_some() {
        return Err(Failure {
            code: INTERRUPTED,
            message: "interrupted: the numbers cover what ran until then".to_owned(),
        });
    }
    // A spare makes up for a die, and an idle spare is nobody's loss.
    let missing = |result: &RunResult| {
        ["stripe.dies_missing", "flash.dies_lost"].iter().find_map(|name| result.counters.get(*name)).copied()
    };
    let has_lost_dies = |result: &RunResult| missing(result).is_some_and(|dies| dies > 0);
    let ended_so = ended(Status::WornOut).or(ended(Status::DriveFull));
    let Some(result) = ended_so else { return Ok(()) };
    // Zones have spare blocks of their own, and nothing in place of a lost die.
    let is_coded = result.config.get("stripe.kind").is_some_and(|kind| kind == "coded");
    let spare = if is_coded { "coded.spare_blocks" } else { "drive.over_provisioning" };
    let (what, remedy) = if has_lost_dies(result) {
        let remedy = if is_coded {
            "dies failed, and a zone cannot be written without one of its banks; use stripe.kind = raid5 (or another \
             with parity)"
                .to_owned()
        } else {
            format!(
                "dies failed, and what they held leaves too little spare flash on the others; set stripe.spares, or \
                 raise {spare}"
            )
        };
        ("full", remedy)
    } else if result.status == Status::WornOut {
        (
            "worn out",
            format!(
                "blocks went bad until nothing could be reclaimed; raise flash.endurance or {spare}, or lower the \
                 fault shares"
            ),
        )
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
