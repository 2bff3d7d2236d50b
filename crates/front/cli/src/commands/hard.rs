//! `nandarium hard`: the remapping driver over a file or block device.

use super::{results, serve};
use crate::arguments::{HardCheckArguments, HardCommand, HardFormatArguments, HardServeArguments};
use crate::failure::{Failure, INTEGRITY, USAGE};
use crate::output;
use ::serve::{RemappedStore, remap_report};
use layer::{ParameterKind, Value};
use remap::target::{self, Access, TargetError};
use remap::{BlockStore, Blocking, Layout, LayoutError, OpenError, Options, Recovered, Terms, WriteCache};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use units::{SECTOR_BYTES, quantity};

pub fn execute(command: &HardCommand) -> Result<(), Failure> {
    match command {
        HardCommand::Format(arguments) => format(arguments),
        HardCommand::Serve(arguments) => serve_target(arguments),
        HardCommand::Check(arguments) => check(arguments),
    }
}

fn format(arguments: &HardFormatArguments) -> Result<(), Failure> {
    let target = &arguments.target;
    let superpage = size("--superpage", &arguments.superpage)?;
    let hold_back = match (ParameterKind::Share { max: 0.5 }).parse(&arguments.hold_back) {
        Ok(Value::Real(share)) if share >= 0.01 => share,
        _ => return Err(Failure::usage(format!("--hold-back {}: write a share from 1% to 50%", arguments.hold_back))),
    };
    let superpage_sectors = u32::try_from(superpage / SECTOR_BYTES).unwrap_or(u32::MAX);
    let terms = Terms { superpage_sectors, ..Terms::default() };
    let options = Options { terms, hold_back, ..Options::default() };
    let file = match &arguments.create {
        Some(text) => create(target, size("--create", text)?, &options)?,
        None if !arguments.yes => {
            target::open(target, Access::Read).map_err(not_opened)?;
            return Err(Failure::usage(format!(
                "everything on {} will be lost: say --yes if it may, or --create SIZE for a new file",
                target.display()
            )));
        }
        None => {
            let file = target::open(target, Access::Write).map_err(not_opened)?;
            Layout::new(&options, file.sectors()).map_err(|error| misfit(&options, &error))?;
            file
        }
    };
    let made =
        Blocking::format(file, &options).map_err(|error| Failure::usage(format!("{}: {error}", target.display())));
    let made = made.and_then(|drive| {
        let bytes = drive.sectors() * SECTOR_BYTES;
        drive.close().map(|_| bytes).map_err(|error| Failure::file(target, "written", &error))
    });
    if made.is_err() && arguments.create.is_some() {
        // Nobody wants half a drive, and it would be in the way of the next try.
        let _ = std::fs::remove_file(target);
    }
    let bytes = made?;
    output::complain(&format!(
        "{} holds an empty remapped drive of {} now",
        target.display(),
        quantity::format_size(bytes)
    ));
    Ok(())
}

/// A new file for a drive that fits into it; none is left where that fails.
fn create(target: &Path, bytes: u64, options: &Options) -> Result<File, Failure> {
    Layout::new(options, bytes / SECTOR_BYTES).map_err(|error| misfit(options, &error))?;
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(target).map_err(|error| match error
        .kind()
    {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{}: the file is there already; leave --create out to format it as it is",
            target.display()
        )),
        _ => Failure::file(target, "made", &error),
    })?;
    let ready = target::lock(&file, target, Access::Write)
        .map_err(Failure::from)
        .and_then(|()| file.set_len(bytes).map_err(|error| Failure::file(target, "made", &error)));
    if ready.is_err() {
        let _ = std::fs::remove_file(target);
    }
    ready.map(|()| file)
}

/// Why a target cannot be opened, and how there would be one.
fn not_opened(error: TargetError) -> Failure {
    let hint = if matches!(error, TargetError::Absent(_)) { "; hard format --create SIZE makes one" } else { "" };
    let failure = Failure::from(error);
    Failure { message: format!("{}{hint}", failure.message), ..failure }
}

/// Why there is no such layout, in bytes as they were given.
fn misfit(options: &Options, error: &LayoutError) -> Failure {
    let bytes = |sectors: u64| quantity::format_size(sectors.saturating_mul(SECTOR_BYTES));
    Failure::usage(match error {
        LayoutError::Superpage(_) => {
            let given = bytes(u64::from(options.terms.superpage_sectors));
            format!("--superpage {given}: a superpage is a power of two from 4KiB to 4MiB; 16KiB is usual")
        }
        LayoutError::Small { sectors, least } => {
            format!(
                "{} are too few: this layout needs {}; take a larger device or a smaller superpage",
                bytes(*sectors),
                bytes(*least)
            )
        }
        other => other.to_string(),
    })
}

fn serve_target(arguments: &HardServeArguments) -> Result<(), Failure> {
    let write_cache = if arguments.write_through { WriteCache::Through } else { WriteCache::Volatile };
    let terms = Terms { write_cache, ..Terms::default() };
    let options = Options { terms, trim: arguments.trim, ..Options::default() };
    let read_only = arguments.server.read_only;
    let drive = open(&arguments.target, &options, if read_only { Access::Read } else { Access::Write })?;
    if let Some(from) =
        drive.hard().recovered().filter(|from| from.torn_tail || from.rejected.is_some() || from.unreadable > 0)
    {
        output::complain(&told(from).join("\n"));
    }
    let what = format!(
        "the remapped drive of {}, {}",
        arguments.target.display(),
        quantity::format_size(drive.sectors() * SECTOR_BYTES)
    );
    let mut store = match arguments.write_through {
        _ if read_only => RemappedStore::read_only(drive),
        true => RemappedStore::write_through(drive),
        false => RemappedStore::new(drive),
    };
    serve::run(&mut store, &arguments.server, None, &what, "stats", || Ok(()))
}

fn check(arguments: &HardCheckArguments) -> Result<(), Failure> {
    let target = arguments.target.display();
    let opened = open(&arguments.target, &Options::default(), Access::Read);
    let drive = match opened {
        Err(failure) if arguments.json && failure.code == INTEGRITY => {
            output::print(&results::pretty(&json!({ "agrees": false, "problem": failure.message })))?;
            return Err(failure);
        }
        opened => opened?,
    };
    let bytes = drive.sectors() * SECTOR_BYTES;
    let from = drive.hard().recovered().copied().unwrap_or_default();
    let problem = drive.check().err();
    if arguments.json {
        let mut report = remap_report(&drive);
        report["bytes"] = bytes.into();
        report["checkpoint"] = from.checkpoint.into();
        report["rejected_checkpoint"] =
            from.rejected.map_or(serde_json::Value::Null, |(number, why)| json!({ "number": number, "why": why }));
        report["other_checkpoint"] = from.other.name().into();
        report["journal_superpages_read"] = from.journal_superpages.into();
        report["journal_records_read"] = from.journal_records.into();
        report["journal_end_torn_or_damaged"] = from.torn_tail.into();
        report["metadata_superpages_unreadable"] = from.unreadable.into();
        report["agrees"] = problem.is_none().into();
        report["problem"] = problem.clone().into();
        output::print(&results::pretty(&report))?;
    } else {
        let report = drive.report();
        let mut lines = vec![format!("{target}: a remapped drive of {}", quantity::format_size(bytes))];
        lines.extend(told(&from));
        lines.push(format!(
            "{} pages of 4KiB are mapped, {} virtual superpages are free",
            report["mapped_pages"], report["free"]
        ));
        lines.push(format!("the map {} with itself", if problem.is_none() { "agrees" } else { "does not agree" }));
        output::print(&(lines.join("\n") + "\n"))?;
    }
    problem.map_or(Ok(()), |problem| Err(Failure { code: INTEGRITY, message: format!("{target}: {problem}") }))
}

/// What a map was made from, in lines.
fn told(from: &Recovered) -> Vec<String> {
    let rejected =
        from.rejected.map_or_else(String::new, |(number, why)| format!(", not from checkpoint {number}: {why}"));
    let mut lines = vec![
        format!("map from checkpoint {}{rejected}; the other checkpoint: {}", from.checkpoint, from.other.name()),
        format!("and {} records in {} superpages of the journal", from.journal_records, from.journal_superpages),
    ];
    if from.torn_tail {
        let torn = "the last write of the journal is torn, as when power goes before a flush is answered";
        lines.push(torn.to_owned());
    }
    if from.unreadable > 0 {
        lines.push(format!("{} superpages of metadata cannot be read, and were not needed", from.unreadable));
    }
    lines
}

fn open(target: &Path, options: &Options, access: Access) -> Result<Blocking<File>, Failure> {
    let file = target::open(target, access).map_err(not_opened)?;
    if file.sectors() == 0 {
        return Err(Failure::usage(format!(
            "{}: it is empty and holds no remapped drive; format it first",
            target.display()
        )));
    }
    Blocking::open(file, options).map_err(|error| {
        let code = if matches!(error, OpenError::Superblock | OpenError::Map(_)) { INTEGRITY } else { USAGE };
        Failure { code, message: format!("{}: {error}", target.display()) }
    })
}

fn size(option: &str, text: &str) -> Result<u64, Failure> {
    let kind = ParameterKind::Size { min: SECTOR_BYTES, max: 1 << 44 };
    match kind.parse(text) {
        Ok(Value::Whole(bytes)) if bytes.is_multiple_of(SECTOR_BYTES) => Ok(bytes),
        Ok(Value::Whole(bytes)) => {
            let near = quantity::size_at_most(bytes, SECTOR_BYTES).unwrap_or_default();
            Err(Failure::usage(format!(
                "{option} {text}: no whole number of sectors of {SECTOR_BYTES} bytes; try {near}"
            )))
        }
        Ok(other) => unreachable!("a size is a whole number, not {other:?}"),
        Err(problem) => Err(Failure::usage(format!("{option}: {problem}"))),
    }
}
