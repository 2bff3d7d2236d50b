//! `nandarium trace convert`: a trace, or the requests of a built-in workload, as the project's own CSV.

use super::trace::options;
use crate::arguments::{RequestArguments, TraceConvertArguments, TraceInput};
use crate::failure::Failure;
use crate::names::STACK;
use crate::output;
use crate::settings::{self, Changes};
use simulator::Config;
use simulator::config::did_you_mean;
use simulator::session::{SAMPLE, WorkloadRequests, is_built_in, is_trace};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use trace::WorkloadError;
use trace::formats::{OpenOptions, Order, Records, TraceRecord, open, read_in_order, write_nandarium};
use trace::synthetic::WORKLOADS;
use units::{Request, SECTOR_BYTES};

pub const STANDARD_OUTPUT: &str = "standard output";

pub fn execute(arguments: &TraceConvertArguments) -> Result<(), Failure> {
    let TraceConvertArguments { input, requests, out } = arguments;
    let out = out.as_deref();
    let notes = if is_built_in(&input.file) {
        refuse_reading(input)?;
        let RequestArguments { stack, set, seed, requests } = requests;
        let changes = Changes { set, seed: *seed, requests: *requests, format: None };
        let config = settings::load_with(stack.as_deref().unwrap_or(STACK), changes, Vec::new())?;
        workload(config, stack.is_some(), &input.file, out)?
    } else {
        check_is_trace(&input.file)?;
        refuse_requests(input, requests)?;
        file(input, out)?
    };
    tell(&notes);
    Ok(())
}

/// Prints notes about the written file.
pub fn tell(notes: &[String]) {
    for note in notes {
        output::complain(&format!("note: {note}"));
    }
}

/// Refuses options that only a trace has a use for.
fn refuse_reading(input: &TraceInput) -> Result<(), Failure> {
    let given = [
        ("--format", input.format.is_some()),
        ("--columns", input.columns.is_some()),
        ("--member", input.member.is_some()),
        ("--order", input.order.is_some()),
        ("--gap-limit", input.gap_limit.is_some()),
        ("--allocator", input.allocator.is_some()),
        ("--odd-lines", input.odd_lines.is_some()),
    ];
    let name = &input.file;
    refuse(&given, || {
        format!(
            "has no effect on the built-in workload `{name}`, only on a trace file: leave it out, or write ./{name} \
             for a file"
        )
    })
}

/// Refuses options that only a built-in workload has a use for.
fn refuse_requests(input: &TraceInput, requests: &RequestArguments) -> Result<(), Failure> {
    let given = [
        ("--stack", requests.stack.is_some()),
        ("--set", !requests.set.is_empty()),
        ("--seed", requests.seed.is_some()),
        ("--requests", requests.requests.is_some()),
    ];
    refuse(&given, || format!("has no effect on the trace `{}`, only on a built-in workload: leave it out", input.file))
}

fn refuse(given: &[(&str, bool)], why: impl Fn() -> String) -> Result<(), Failure> {
    let option = given.iter().find(|(_, is_given)| *is_given);
    option.map_or(Ok(()), |(option, _)| Err(Failure::usage(format!("{option} {}", why()))))
}

/// Refuses a name that is no file. A file in this folder may have the name of a built-in workload.
pub fn check_is_trace(file: &str) -> Result<(), Failure> {
    // A file of the name of a workload is read, although a run takes the name for the workload.
    if is_trace(file) || Path::new(file).exists() {
        return Ok(());
    }
    if !is_built_in(file) {
        return Err(unknown(file));
    }
    Err(Failure::usage(format!(
        "`{file}` is a built-in workload and no trace file: write its requests to a file first, with \
         `nandarium trace convert {file} --out {file}.csv`"
    )))
}

/// A name that is neither a workload nor a file.
fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = WORKLOADS.iter().map(|entry| entry.name).chain([SAMPLE]).collect();
    let hint = did_you_mean(name, known.iter().copied());
    Failure::usage(format!(
        "`{name}` is neither a built-in workload nor a trace file{hint}. Built-in workloads: {}. There is no file \
         `{name}`: give the path of a trace file",
        known.join(", ")
    ))
}

/// Writes the requests of the built-in workload called `name` to `out`, or to standard output, and tells what is to be
/// known of them. `is_stack_given`: `config` is of a stack that the user chose.
/// Errors: nothing says how large the drive is; the configuration cannot be used; `out` cannot be written.
pub fn workload(config: Config, is_stack_given: bool, name: &str, out: Option<&Path>) -> Result<Vec<String>, Failure> {
    if name != SAMPLE && !is_stack_given && !config.given.contains("drive.capacity") {
        return Err(Failure::usage(format!(
            "the workload `{name}` spreads its requests over a drive, and the size of the drive is not given: add \
             --set drive.capacity=64GiB, for example, or --stack with a stack or drive"
        )));
    }
    let mut requests = WorkloadRequests::open(config, name)?;
    let mut records = requests.by_ref().map(|request| request.map(|request| record(&request)));
    match out.filter(|out| is_replaceable(out)) {
        Some(out) => {
            let (name, place) = (out.display().to_string(), place_of(out));
            let mut file = beside(&place).map_err(|error| unwritable(out, &error))?;
            let result = write_nandarium(&mut records, &mut file, &name).and_then(|_| keep(file, &place, &name));
            written(result.map(|()| Vec::new()), &name)?;
        }
        None => with_stream(out, |stream, name| {
            written(write_nandarium(&mut records, stream, name).map(|_| Vec::new()), name).map(drop)
        })?,
    }
    Ok(note_on_times(name, &requests).into_iter().collect())
}

fn record(request: &Request) -> TraceRecord {
    // A time beyond 292 years has no place in a trace.
    let time_ns = i64::try_from(request.arrival).unwrap_or(i64::MAX);
    let [offset, length] = [request.first_sector, u64::from(request.sectors)].map(|sectors| sectors * SECTOR_BYTES);
    TraceRecord { fua: request.fua, ..TraceRecord::new(time_ns, 0, request.op, offset, length) }
}

/// What a reader of the file takes its times for, where that is not how the workload runs.
fn note_on_times(name: &str, requests: &WorkloadRequests) -> Option<String> {
    if requests.last_arrival_ns() == 0 {
        return Some(format!(
            "Every time in the file is 0, because the workload `{name}` has no arrival times of its own. A program \
             that goes by the times of the file sends all requests at once. Run the file in a closed loop (in \
             nandarium with --set workload.loop=closed), or write it with arrival times, for example with \
             --set workload.interarrival=100us."
        ));
    }
    requests.is_closed().then(|| {
        format!(
            "The file has the arrival times of an open loop, and `nandarium run` of the file uses them. It runs the \
             workload `{name}` itself in a closed loop unless workload.loop = open. To compare the two runs, give both \
             the same workload.loop."
        )
    })
}

/// Writes a trace to `out`, or to standard output, and tells what is to be known of it.
///
/// Standard output cannot be written anew, so a trace that may have to be sorted as a whole is read once before. A file
/// begins anew, and takes its name once it is whole.
/// Errors: the trace cannot be read, or `out` not written.
pub fn file(input: &TraceInput, out: Option<&Path>) -> Result<Vec<String>, Failure> {
    let options = options(input)?;
    match out.filter(|out| is_replaceable(out)) {
        Some(out) => convert_file(input, &options, out),
        None => with_stream(out, |stream, name| convert_once(input, options, stream, name)),
    }
}

/// Hands `write` standard output, or what `out` names and is not a regular file, and how messages call it.
fn with_stream<T>(
    out: Option<&Path>,
    write: impl FnOnce(&mut dyn io::Write, &str) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match out {
        Some(out) => {
            let mut file = File::create(out).map_err(|error| unwritable(out, &error))?;
            write(&mut file, &out.display().to_string())
        }
        None => write(&mut io::stdout().lock(), STANDARD_OUTPUT),
    }
}

/// Whether `out` is a regular file, or nothing yet. An open one, such as standard output, has no name to take.
fn is_replaceable(out: &Path) -> bool {
    let is_open = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|name| out.starts_with(name));
    !out.exists() || out.is_file() && !is_open
}

/// Where the file is that `out` names. A link goes on pointing to the file.
fn place_of(out: &Path) -> PathBuf {
    out.canonicalize().unwrap_or_else(|_| out.to_owned())
}

/// Gives a file that is whole its name.
fn keep(file: NamedTempFile, place: &Path, name: &str) -> Result<(), WorkloadError> {
    let kept = file.persist(place).map(drop);
    kept.map_err(|error| WorkloadError::Io { path: name.to_owned(), source: error.error })
}

fn convert_file(input: &TraceInput, options: &OpenOptions, out: &Path) -> Result<Vec<String>, Failure> {
    let place = place_of(out);
    let (name, mut unopened) = (out.display().to_string(), None);
    let result = read_in_order(&input.file, options, |records| {
        let mut file = beside(&place).map_err(|source| {
            unopened = Some(unwritable(out, &source));
            WorkloadError::Io { path: name.clone(), source }
        })?;
        write_nandarium(records.by_ref(), &mut file, &name)?;
        Ok((file, records.all_notes()))
    });
    let result = result.and_then(|(file, notes)| keep(file, &place, &name).map(|()| notes));
    unopened.map_or_else(|| written(result, &name), Err)
}

/// A file beside `place` that is removed unless it takes that name, with the rights that a file of this name has.
fn beside(place: &Path) -> io::Result<NamedTempFile> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.prefix(".nandarium-").tempfile_in(folder)?;
    if place.exists() {
        // What nobody may write is not replaced either.
        let old = File::options().append(true).open(place)?;
        file.as_file().set_permissions(old.metadata()?.permissions())?;
    }
    Ok(file)
}

fn unwritable(out: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{} could not be opened for writing: {error}", out.display()))
}

fn convert_once(
    input: &TraceInput,
    mut options: OpenOptions,
    out: &mut dyn io::Write,
    name: &str,
) -> Result<Vec<String>, Failure> {
    if Path::new(&input.file).is_file() {
        let look = |records: &mut Records| -> Result<Order, WorkloadError> {
            let may_start_anew = records.order() == Order::Sort;
            while may_start_anew && records.next().transpose()?.is_some() {}
            records.look_behind()?;
            Ok(records.order())
        };
        options.order = Some(read_in_order(&input.file, &options, look)?);
    }
    let mut records = open(&input.file, &options)?;
    let result = write_nandarium(records.by_ref(), out, name);
    written(result.map(|_| records.all_notes()), name)
}

/// Notes about the written file. A closed pipe is the reader's right; a failed write to `out` is no mistake of
/// the user.
pub fn written(result: Result<Vec<String>, WorkloadError>, out: &str) -> Result<Vec<String>, Failure> {
    match result {
        Err(WorkloadError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(Vec::new()),
        Err(WorkloadError::Io { path, source }) if path == out => {
            Err(Failure::failed(format!("{path} could not be written: {source}")))
        }
        other => other.map_err(Failure::from),
    }
}
