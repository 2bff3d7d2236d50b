//! `nandarium serve`.

use super::results;
use crate::arguments::{ServeArguments, ServerArguments, WatchArguments};
use crate::failure::Failure;
use crate::{output, progress, settings, watch};
use drive::Drive;
use serve::{Address, Pace, Record, ServeError, Server, ServerOptions, SimulatedDrive, Target};
use simulator::Config;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use units::quantity;

pub fn execute(arguments: &ServeArguments) -> Result<(), Failure> {
    let pace = pace(&arguments.time)?;
    results::prepare(arguments.out.as_deref(), arguments.server.quiet)?;
    let config = settings::load_with_bytes(&arguments.stack, &arguments.set)?;
    let name = config.name.clone();
    let drive = match &arguments.file {
        Some(path) => in_file(arguments, config, path)?,
        None => Drive::from_config(config)?,
    };
    if drive.file_damage().is_any() {
        output::complain(&format!("the drive's file is damaged: {}", drive.file_damage()));
    }
    let what = format!(
        "{name}, {}{}",
        quantity::format_size(drive.bytes()),
        arguments.file.as_ref().map_or_else(String::new, |path| format!(", in {}", path.display()))
    );
    let mut target = SimulatedDrive::new(drive, pace);
    let log = begin_faults(arguments, &mut target)?;
    let begun = || {
        let Some(path) = &arguments.fault_log else { return Ok(()) };
        let file = File::create(path).map_err(|error| Failure::file(path, "written", &error))?;
        log.set(file).map_err(|_| Failure::failed("the log of faults was begun twice"))
    };
    let served = run(&mut target, &arguments.server, Some(&arguments.watch), &what, "stats", begun);
    // A server that ended badly has served nevertheless.
    let reported = arguments.out.as_deref().map_or(Ok(()), |folder| report(folder, &target, arguments.server.quiet));
    served.and(reported)
}

/// The faults that hold from the beginning on, and the place of the file of their log.
fn begin_faults(arguments: &ServeArguments, target: &mut SimulatedDrive) -> Result<Arc<OnceLock<File>>, Failure> {
    let log = Arc::new(OnceLock::new());
    if let Some(path) = &arguments.fault_log {
        let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
        if arguments.server.record.as_ref().is_some_and(|record| place(record) == place(path)) {
            return Err(Failure::usage("--fault-log and --record name the same file; give each a file of its own"));
        }
        target.log_faults(path.clone(), log.clone());
    }
    let given = arguments.fault.iter().try_for_each(|fault| target.inject(*fault));
    given.map_err(|error| Failure::usage(format!("--fault: {error}")))?;
    Ok(log)
}

/// The drive of a file. Where nothing may be written, no file is made, and one of the version before is not converted.
fn in_file(arguments: &ServeArguments, config: Config, path: &Path) -> Result<Drive, Failure> {
    let refused = |problem: &str, purpose: &str| {
        Err(Failure::usage(format!(
            "--read-only: {path} {problem}; to {purpose}, run `nandarium serve --stack {} --file {path}` with the same \
             --set and without --read-only, and end that server with Ctrl-C",
            arguments.stack,
            path = path.display()
        )))
    };
    if arguments.server.read_only {
        if Drive::is_file_of_version_before(path) {
            return refused(
                "has the format of the previous version, and has to be converted before it is served",
                "convert the file",
            );
        }
        if Drive::would_make_file(path) {
            return refused("holds no drive, and one has to be made before it is served", "make the drive");
        }
    }
    let drive = Drive::in_file(config, path)?;
    if drive.was_file_converted() {
        output::complain(&format!(
            "{} had the format of the previous version and was converted; the previous version cannot read the file \
             any more",
            path.display()
        ));
    }
    Ok(drive)
}

/// Writes what was measured, as of a run.
fn report(folder: &Path, target: &SimulatedDrive, quiet: bool) -> Result<(), Failure> {
    let Some(result) = target.result() else { return Ok(()) };
    let document = result.to_json();
    results::write(folder, &document)?;
    results::write_page(&folder.join("report.html"), std::slice::from_ref(&document), &[])?;
    results::tell(folder, quiet);
    Ok(())
}

fn pace(text: &str) -> Result<Pace, Failure> {
    match text {
        "off" => Ok(Pace::Off),
        "real" => Ok(Pace::Scaled(1.0)),
        text => {
            let factor = text.parse::<f64>().ok().filter(|factor| (1e-6..=1e6).contains(factor));
            factor.map(Pace::Scaled).ok_or_else(|| {
                Failure::usage(format!("--time {text}: write off, real, or a factor from 0.000001 to 1000000"))
            })
        }
    }
}

/// Serves a target until somebody says stop. `watch`: where it can be watched; `command` is one that its control
/// socket takes, for a hint. `begun` opens files: no other server has the sockets, and so none writes these files.
pub fn run(
    target: &mut dyn Target,
    arguments: &ServerArguments,
    watch: Option<&WatchArguments>,
    what: &str,
    command: &str,
    begun: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let control = arguments.control.clone().unwrap_or_else(|| beside(arguments));
    let options = ServerOptions {
        address: arguments.tcp.map_or_else(|| Address::Unix(arguments.socket.clone()), Address::Loopback),
        control: Some(control.clone()),
        name: arguments.export.clone(),
        description: what.to_owned(),
        read_only: arguments.read_only,
        watch: watch.map(|watch| progress::access(watch, arguments.quiet)).transpose()?.flatten(),
    };
    watch::catch_interrupts();
    let mut server = Server::new(target, &options).map_err(Failure::failed)?;
    begun()?;
    if let Some(path) = &arguments.record {
        server.record(Record::create(path).map_err(|error| Failure::file(path, "written", &error))?);
    }
    let disk = attach(&mut server, arguments).map_err(Failure::failed)?;
    if let Some(url) = server.watch_url() {
        progress::tell(&url, arguments.quiet);
    }
    if !arguments.quiet {
        output::complain(&format!(
            "serving {what}\nclients: {}\n{disk}control: nandarium ctl {} {command}\nCtrl-C ends it",
            server.uri(),
            control.display()
        ));
    }
    server.run(watch::stop()).map_err(Failure::failed)
}

/// Serves a virtual machine as well, if that is asked for: a line for people.
#[cfg(all(target_os = "linux", feature = "vhost-user"))]
fn attach(server: &mut Server<'_>, arguments: &ServerArguments) -> Result<String, ServeError> {
    let Some(path) = &arguments.vhost_user else { return Ok(String::new()) };
    server.attach(path, vhost_blk::Disk::begin)?;
    Ok(format!("virtual machine: vhost-user-blk at {}\n", path.display()))
}

#[cfg(not(all(target_os = "linux", feature = "vhost-user")))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn attach(_: &mut Server<'_>, _: &ServerArguments) -> Result<String, ServeError> {
    Ok(String::new())
}

/// The control socket that belongs to the other one.
fn beside(arguments: &ServerArguments) -> PathBuf {
    let mut path: OsString = arguments.socket.clone().into();
    path.push(".ctl");
    path.into()
}
