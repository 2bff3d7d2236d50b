//! `nandarium measure`: what fitting needs to know of a drive, measured with fio.

use super::block_target::{self, Access};
use super::probe::nbd::Client;
use crate::arguments::MeasureArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::{output, watch};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::quantity::{exact_size, parse_size};

/// An experiment: what fio calls its kind, bytes of a request, requests at a time, and whether it writes.
type Plan = (&'static str, &'static str, u32, bool);

/// What is measured, in this order: the fill comes first of what writes, as reads of what was never written are fast.
const PLANS: [Plan; 10] = [
    ("write", "1m", 8, true),
    ("write", "128k", 32, true),
    ("randread", "4k", 1, false),
    ("randread", "4k", 4, false),
    ("randread", "4k", 32, false),
    ("randread", "4k", 256, false),
    ("read", "128k", 32, false),
    ("randwrite", "4k", 1, true),
    ("randwrite", "4k", 4, true),
    ("randwrite", "4k", 32, true),
];
/// How long fio may take to begin and end, beside its experiment.
const SLACK: u64 = 60;

pub fn execute(arguments: &MeasureArguments) -> Result<(), Failure> {
    let target = Target::of(arguments)?;
    if target.size < 1 << 20 {
        return Err(Failure::usage(format!("{} has {}; a drive has 1MiB or more", arguments.target, target.size)));
    }
    watch::catch_interrupts();
    let plans: Vec<&Plan> = PLANS.iter().filter(|plan| !plan.3 || arguments.destroy_data).collect();
    let mut outputs = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let (kind, size, depth, _) = plan;
        if !arguments.quiet {
            output::complain(&format!("{} of {}: {kind} of {size}, depth {depth}", number + 1, plans.len()));
        }
        let text = run(arguments, &target, plan)?;
        outputs.push((format!("{kind} of {size}, depth {depth}"), text));
    }
    let name = arguments.name.as_deref().unwrap_or(&arguments.target);
    let drive = fit::from_fio(name, target.size, &outputs).map_err(Failure::failed)?;
    output::write_file(&arguments.out, &drive.to_text())?;
    if !arguments.quiet {
        let file = arguments.out.display();
        output::complain(&format!("{file}: {} experiments; next: nandarium fit {file} --from DRIVE", outputs.len()));
    }
    Ok(())
}

/// What fio works on.
struct Target {
    /// Its engine and where that looks.
    engine: Vec<String>,
    size: u64,
}

impl Target {
    fn of(arguments: &MeasureArguments) -> Result<Self, Failure> {
        let target = arguments.target.as_str();
        let given = arguments.size.as_deref().map(parse_size).transpose();
        let given = given.map_err(|error| Failure::usage(format!("--size: {error}")))?;
        if Client::is_uri(target) {
            let size = given.map_or_else(|| size_of_export(target), Ok)?;
            return Ok(Self { engine: vec!["--ioengine=nbd".into(), format!("--uri={target}")], size });
        }
        let path = PathBuf::from(target);
        let access = if arguments.destroy_data { Access::Write } else { Access::Read };
        let all = size_of_file(&path, access)?;
        let size = given.unwrap_or(all);
        if size > all {
            return Err(Failure::usage(format!(
                "--size: {target} has {}, and a file is not made larger to be measured",
                exact_size(all)
            )));
        }
        // A colon would end the name.
        let name = target.replace(':', "\\:");
        let engine = vec!["--ioengine=libaio".into(), "--direct=1".into(), format!("--filename={name}")];
        Ok(Self { engine, size })
    }
}

fn size_of_file(path: &Path, access: Access) -> Result<u64, Failure> {
    let mut file = block_target::open(path, access)?;
    file.seek(SeekFrom::End(0)).map_err(|error| Failure::file(path, "measured", &error))
}

fn size_of_export(uri: &str) -> Result<u64, Failure> {
    let client = Client::connect(uri).map_err(|error| Failure::failed(format!("{uri}: {error}")))?;
    Ok(client.bytes())
}

/// Runs fio on one experiment. What it prints is its JSON.
fn run(arguments: &MeasureArguments, target: &Target, plan: &Plan) -> Result<String, Failure> {
    let (kind, size, depth, writes) = plan;
    let is_fill = *kind == "write" && *size == "1m";
    let mut command = Command::new("fio");
    command.args(["--name=measure", "--output-format=json", "--lat_percentiles=1", "--thread", "--randrepeat=1"]);
    command.args(&target.engine);
    // fio makes a file that is missing or too short, whatever it is to do with it.
    command.arg("--allow_file_create=0");
    if !writes {
        command.arg("--readonly");
    }
    command.args([format!("--rw={kind}"), format!("--bs={size}"), format!("--iodepth={depth}")]);
    command.arg(format!("--size={}", target.size / 4096 * 4096));
    if !is_fill {
        command.args(["--time_based".to_owned(), format!("--runtime={}", arguments.seconds)]);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| {
        Failure::failed(format!("fio cannot be run ({error}): install it (apt-get install fio), it does the measuring"))
    })?;
    let limit = Duration::from_secs(if is_fill { 86400 } else { arguments.seconds + SLACK });
    let begin = std::time::Instant::now();
    // Both are read as it runs: it would wait for ever behind a pipe that is full.
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = |from: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            from.map(|mut from| from.read_to_string(&mut text));
            text
        })
    };
    let out = read(out.map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let err = read(err.map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| Failure::failed(format!("fio: {error}")))? {
            break status;
        }
        let is_stopped = watch::stop().load(Ordering::Relaxed);
        if is_stopped || begin.elapsed() > limit {
            // It may have ended at this very moment.
            let _ = child.kill();
            let _ = child.wait();
            if is_stopped {
                let message = "interrupted: what was measured is lost".to_owned();
                return Err(Failure { code: INTERRUPTED, message });
            }
            return Err(Failure::failed(format!("fio did not end within {} s", limit.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (text, problem) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if !status.success() {
        let first = problem.lines().chain(text.lines()).find(|line| !line.is_empty()).unwrap_or("no reason");
        return Err(Failure::failed(format!(
            "fio ended with {status} on {} of {}: {first}",
            arguments.target,
            exact_size(target.size)
        )));
    }
    Ok(text)
}
