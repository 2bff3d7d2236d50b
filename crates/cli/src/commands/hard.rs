//! `nandarium hard`: the remapping driver over a file or block device.

use super::{results, serve};
use crate::arguments::{HardCheckArguments, HardCommand, HardFormatArguments, HardServeArguments};
use crate::failure::Failure;
use crate::output;
use ::serve::{RemappedStore, remap_report};
use layer::{ParameterKind, Value};
use remap::{Blocking, Options, WriteCache};
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
    let share = ParameterKind::Share { max: 0.5 }.parse(&arguments.hold_back).map_err(|problem| Failure::usage(format!("--hold-back: {problem}")))?;
    let Value::Real(hold_back) = share else { return Err(Failure::usage("--hold-back: write a share, such as 10%")) };
    let file = match &arguments.create {
        Some(text) => {
            let bytes = size("--create", text)?;
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(target).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Failure::usage(format!("{}: the file is there already; leave --create out to format it as it is", target.display())),
                _ => Failure::file(target, "made", &error),
            })?;
            file.set_len(bytes).map_err(|error| Failure::file(target, "made", &error))?;
            file
        }
        None if !arguments.yes => {
            return Err(Failure::usage(format!("everything on {} will be lost: say --yes if it may, or --create SIZE for a new file", target.display())));
        }
        None => open_file(target, true)?,
    };
    let options = Options { superpage_sectors: (superpage / SECTOR_BYTES) as u32, hold_back, ..Options::default() };
    let drive = Blocking::format(file, &options).map_err(|error| Failure::usage(format!("{}: {error}", target.display())))?;
    let bytes = drive.sectors() * SECTOR_BYTES;
    drive.close().map_err(|error| Failure::file(target, "written", &error))?;
    output::complain(&format!("{} holds an empty remapped drive of {} now", target.display(), quantity::format_size(bytes)));
    Ok(())
}

fn serve_target(arguments: &HardServeArguments) -> Result<(), Failure> {
    let write_cache = if arguments.write_through { WriteCache::Through } else { WriteCache::Volatile };
    let options = Options { write_cache, trim: arguments.trim, ..Options::default() };
    let read_only = arguments.server.read_only;
    let drive = open(&arguments.target, &options, !read_only)?;
    let what = format!("the remapped drive of {}, {}", arguments.target.display(), quantity::format_size(drive.sectors() * SECTOR_BYTES));
    let mut store = if read_only { RemappedStore::read_only(drive) } else { RemappedStore::new(drive) };
    serve::run(&mut store, &arguments.server, &what, "stats")
}

fn check(arguments: &HardCheckArguments) -> Result<(), Failure> {
    let drive = open(&arguments.target, &Options::default(), false)?;
    let mut report = remap_report(&drive);
    report["bytes"] = (drive.sectors() * SECTOR_BYTES).into();
    if arguments.json {
        output::print(&results::pretty(&report))?;
    } else {
        let rows = report.as_object().into_iter().flatten();
        let wanted = ["bytes", "mapped_pages", "superpages_free", "ram_bytes"];
        let lines = rows.filter(|(name, _)| wanted.contains(&name.as_str())).map(|(name, value)| format!("{name:16} {value}\n"));
        output::print(&lines.collect::<String>())?;
    }
    drive.check().map_err(|problem| Failure { code: crate::failure::INTEGRITY, message: format!("{}: {problem}", arguments.target.display()) })
}

fn open(target: &Path, options: &Options, write: bool) -> Result<Blocking<File>, Failure> {
    let file = open_file(target, write)?;
    Blocking::open(file, options).map_err(|error| Failure::usage(format!("{}: {error}", target.display())))
}

/// The target, for nobody else at the same time.
fn open_file(target: &Path, write: bool) -> Result<File, Failure> {
    let file = OpenOptions::new().read(true).write(write).open(target).map_err(|error| Failure::file(target, "opened", &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Failure::failed(format!("{}: another program has it open; end that one first", target.display()))),
        Err(std::fs::TryLockError::Error(error)) => Err(Failure::file(target, "locked", &error)),
    }
}

fn size(option: &str, text: &str) -> Result<u64, Failure> {
    let kind = ParameterKind::Size { min: SECTOR_BYTES, max: 1 << 44 };
    match kind.parse(text) {
        Ok(Value::Whole(bytes)) if bytes.is_multiple_of(SECTOR_BYTES) => Ok(bytes),
        Ok(_) => Err(Failure::usage(format!("{option} {text}: no whole number of sectors of {SECTOR_BYTES} bytes"))),
        Err(problem) => Err(Failure::usage(format!("{option}: {problem}"))),
    }
}
