//! `nandarium fsyncs`: syncs that did not become flushes, and names that were never synced.

use super::results::pretty;
use crate::arguments::FsyncsArguments;
use crate::failure::{Failure, INTEGRITY};
use crate::output;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use torture::fsyncs::{Fsyncs, FsyncsError, SyncKind, Unflushed, Unsynced};
use units::Nanos;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.fsyncs/1";
/// Rows of each finding in the text.
const ROWS: usize = 20;

pub fn execute(arguments: &FsyncsArguments) -> Result<(), Failure> {
    let open = |path: &Path| File::open(path).map(BufReader::new).map_err(|error| Failure::file(path, "read", &error));
    // The log has the names behind symbolic links.
    let absolute = |path: &Path| {
        let found = path.canonicalize().or_else(|_| std::path::absolute(path));
        found.map_err(|error| Failure::file(path, "found", &error))
    };
    let folder = arguments.folder.as_deref().map(absolute).transpose()?;
    let folder = folder.as_deref().map(Path::to_string_lossy);
    let found = Fsyncs::join(open(&arguments.record)?, open(&arguments.calls)?, folder.as_deref());
    let found = found.map_err(|error| match error {
        FsyncsError::NoClock => Failure::usage(format!("--record {}: {error}", arguments.record.display())),
        FsyncsError::Record(_) | FsyncsError::Calls(_) => Failure::failed(error),
        _ => Failure::usage(format!("--calls {}: {error}", arguments.calls.display())),
    })?;
    output::print(&if arguments.json { pretty(&document(&found)) } else { text(&found) })?;
    if found.holds() { Ok(()) } else { Err(Failure { code: INTEGRITY, message: String::new() }) }
}

fn seconds(time: Nanos) -> String {
    format!("{}.{:06}", time / 1_000_000_000, time / 1000 % 1_000_000)
}

fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// The folder of a path.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder })
}

fn text(found: &Fsyncs) -> String {
    let (counts, flushes) = (&found.counts, &found.flushes);
    let mut lines = vec![format!("verdict   {}", verdict(found))];
    let mut groups = BTreeMap::<(&str, SyncKind), Vec<&Unflushed>>::new();
    for call in &found.unflushed {
        groups.entry((&call.path, call.kind)).or_default().push(call);
    }
    let groups = groups.into_iter().map(|((path, kind), calls)| {
        let (number, first) = (count(calls.len() as u64, "call"), calls[0]);
        let time = seconds(first.span.0);
        format!("no flush  {path}: {number} of {}, the first at {time} by process {}", kind.name(), first.process)
    });
    rows(&mut lines, groups);
    let by_time = |name: &Unsynced| seconds(name.time);
    rows(
        &mut lines,
        found.files.iter().map(|name| {
            format!("no sync   {}: {} at {}, its contents never synced", name.path, name.named.name(), by_time(name))
        }),
    );
    rows(
        &mut lines,
        found.names.iter().map(|name| {
            let (path, folder) = (&name.path, parent(&name.path));
            format!("no sync   {path}: {} at {}, {folder} not synced since", name.named.name(), by_time(name))
        }),
    );
    lines.push(format!(
        "rests on  {}: {} with a flush, {} that needed none",
        count(counts.joined, "call"),
        counts.flushed,
        counts.needless
    ));
    lines.push(format!(
        "          {} and {} in a record of {:.1} s",
        count(flushes.flushes, "flush").replace("flushs", "flushes"),
        count(flushes.fua_writes, "FUA write"),
        (flushes.span.1 - flushes.span.0) as f64 / 1e9
    ));
    let left_out = [
        (counts.outside, "before or after the record"),
        (counts.failed, "that failed"),
        (counts.unfinished, "that never returned"),
        (counts.nameless, "without a file name"),
    ];
    let left_out = left_out.into_iter().filter(|(number, _)| *number > 0);
    let left_out: Vec<String> = left_out.map(|(number, why)| format!("{} {why}", count(number, "call"))).collect();
    if !left_out.is_empty() {
        lines.push(format!("left out  {}", left_out.join(", ")));
    }
    lines.extend(advice(found).into_iter().map(|line| format!("do        {line}")));
    lines.join("\n") + "\n"
}

fn rows(lines: &mut Vec<String>, all: impl ExactSizeIterator<Item = String>) {
    let more = all.len().saturating_sub(ROWS);
    lines.extend(all.take(ROWS));
    if more > 0 {
        lines.push(format!("          and {more} more, which --json names"));
    }
}

fn verdict(found: &Fsyncs) -> String {
    let joined = count(found.counts.joined, "call");
    if found.holds() {
        return format!("holds: no data of {joined} was acknowledged without a flush");
    }
    let parts = [
        (found.unflushed.len(), format!("of {joined} returned without a flush")),
        (found.files.len(), "without a sync".to_owned()),
        (found.names.len(), "without a sync of the folder".to_owned()),
    ];
    let nouns = ["", "file", "name"];
    let said = parts.into_iter().zip(nouns).filter(|((number, _), _)| *number > 0);
    let said = said.map(|((number, what), noun)| match noun {
        "" => format!("{number} {what}"),
        noun => format!("{} {what}", count(number as u64, noun)),
    });
    format!("FAILS: {}", said.collect::<Vec<_>>().join(", "))
}

fn advice(found: &Fsyncs) -> Vec<&'static str> {
    let (ranges, others): (Vec<_>, Vec<_>) = found.unflushed.iter().partition(|call| call.kind == SyncKind::Range);
    let counts = &found.counts;
    let all = [
        (
            !others.is_empty(),
            "Look for a layer that drops flushes: a mount without barriers, a cache mode of QEMU, libeatmydata.",
        ),
        (!ranges.is_empty(), "Call fdatasync after sync_file_range, which asks for no flush."),
        (!found.files.is_empty(), "Call fsync on a new file before you rename it or promise that it is there."),
        (!found.names.is_empty(), "Open the folder and call fsync on it after you create or rename a file in it."),
        (
            counts.odd_lines > 0,
            "Write the log with `strace -o FILE`: the output of a program stands between its lines.",
        ),
        (
            counts.io_uring > 0,
            "Let the program use plain calls: requests of io_uring are not in the log, so syncs after them need none.",
        ),
        (counts.joined == 0, "Check --folder, or trace the process that syncs: the log has no such call."),
    ];
    all.into_iter().filter_map(|(is_so, advice)| is_so.then_some(advice)).collect()
}

fn document(found: &Fsyncs) -> Value {
    let (counts, flushes) = (&found.counts, &found.flushes);
    let unflushed = |call: &Unflushed| {
        json!({
            "call": call.kind.name(), "path": call.path, "process": call.process,
            "called_ns": call.span.0, "returned_ns": call.span.1,
        })
    };
    let unsynced = |name: &Unsynced| json!({ "path": name.path, "how": name.named.name(), "time_ns": name.time });
    json!({
        "schema": SCHEMA, "holds": found.holds(),
        "unflushed": found.unflushed.iter().map(unflushed).collect::<Vec<_>>(),
        "files": found.files.iter().map(unsynced).collect::<Vec<_>>(),
        "names": found.names.iter().map(unsynced).collect::<Vec<_>>(),
        "calls": {
            "joined": counts.joined, "flushed": counts.flushed, "needless": counts.needless,
            "outside": counts.outside, "failed": counts.failed, "unfinished": counts.unfinished,
            "nameless": counts.nameless, "io_uring": counts.io_uring,
            "lines": counts.lines, "odd_lines": counts.odd_lines,
        },
        "record": {
            "requests": flushes.requests, "flushes": flushes.flushes, "fua_writes": flushes.fua_writes,
            "from_ns": flushes.span.0, "to_ns": flushes.span.1,
        },
    })
}
