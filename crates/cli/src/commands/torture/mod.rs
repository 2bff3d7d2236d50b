//! `nandarium torture`: a program's requests are recorded once, and what power cuts may leave of them is checked.

mod command;

use super::results;
use crate::arguments::TortureArguments;
use crate::failure::{FAILED, Failure, INTEGRITY, INTERRUPTED};
use crate::{memory, output, watch};
use command::{Ending, Job};
use drive::Drive;
use serde_json::{Value, json};
use serve::{Order, OrderKind, Pace, SimulatedDrive, Target};
use simulator::{Config, DrivePlan, Setting};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use torture::{
    CrashState, CutDisk, Exploration, Fate, Found, Guarantee, Limits, Recorder, Recording, States, Verdict, ask,
    explore, explore_drive,
};

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.torture/1";
/// Checks that making a failure smaller may take.
const SMALLER: u64 = 300;
/// Bytes of a hole in a file at least.
const HOLE: usize = 4096;
/// Bytes that are read from the drive at once.
const PIECE: usize = 1 << 20;

pub fn execute(arguments: &TortureArguments) -> Result<(), Failure> {
    results::prepare(arguments.out.as_deref(), arguments.quiet)?;
    watch::catch_interrupts();
    let folder = tempfile::tempdir().map_err(|error| Failure::failed(format!("no folder for files: {error}")))?;
    let config = config(arguments)?;
    let recording = record(arguments, &config, folder.path())?;
    let guarantee = Guarantee::TABLE.iter().find(|(name, _, _)| *name == arguments.guarantee).map(|entry| entry.2);
    let states = States::new(&recording, guarantee.expect("its name was checked"));
    let began = Instant::now();
    let drive = (arguments.cuts == "drive").then(|| Drive::from_config(config)).transpose()?;
    let exploration = check_all(arguments, &recording, &states, drive, folder.path())?;
    let seconds = began.elapsed().as_secs_f64();
    let document = document(arguments, &recording, &exploration, seconds);
    if let Some(out) = &arguments.out {
        write(out, &document, &recording, &states, exploration.found.as_ref())?;
        if !arguments.quiet {
            output::complain(&format!("written: {}", out.join("torture.json").display()));
        }
    }
    if arguments.json {
        output::print(&format!("{document:#}\n"))?;
    } else {
        output::print(&text(arguments, &recording, &exploration, seconds))?;
    }
    if watch::stop().load(Ordering::Relaxed) {
        return Err(Failure { code: INTERRUPTED, message: String::new() });
    }
    let code = if exploration.found.is_some() { INTEGRITY } else { return Ok(()) };
    Err(Failure { code, message: String::new() })
}

fn config(arguments: &TortureArguments) -> Result<Config, Failure> {
    let given: Result<Vec<_>, _> = arguments.set.iter().map(|text| Setting::from_argument(text)).collect();
    let own = Drive::own_settings().into_iter().map(|own| Setting { of_stack: true, ..own });
    let config = Config::load(&arguments.stack, &given?.into_iter().chain(own).collect::<Vec<_>>())?;
    memory::check(&DrivePlan::new(config.clone())?, true)?;
    Ok(config)
}

/// Serves a drive to `--prepare`, and to `--workload` while it is recorded.
fn record(arguments: &TortureArguments, config: &Config, folder: &Path) -> Result<Recording, Failure> {
    let mut drive = SimulatedDrive::new(Drive::from_config(config.clone())?, Pace::Off);
    let limit = Duration::from_secs(arguments.time_limit);
    let job = |option, text| Job { option, text, folder, variables: Vec::new(), limit };
    if let Some(prepare) = &arguments.prepare {
        ended_well(arguments, "prepare", job("prepare", prepare).run(&mut drive, |_| ())?)?;
    }
    let before = contents(&mut drive)?;
    let mut recorder = Recorder::new(drive, before);
    let (count, said) = (recorder.count(), Mutex::new(Vec::new()));
    let ending = job("workload", &arguments.workload).run(&mut recorder, |line| {
        said.lock().expect("nobody panics with it").push((count.load(Ordering::Acquire), line));
    })?;
    ended_well(arguments, "workload", ending)?;
    let (mut recording, _) = recorder.finish();
    recording.said = said.into_inner().expect("nobody panics with it");
    if recording.requests.is_empty() {
        let problem = "--workload has written nothing to the drive: it finds it under NANDARIUM_URI, an NBD export";
        return Err(Failure { code: FAILED, message: problem.to_owned() });
    }
    Ok(recording)
}

fn ended_well(arguments: &TortureArguments, option: &str, ending: Ending) -> Result<(), Failure> {
    let why = match ending {
        Ending::Well => return Ok(()),
        Ending::Interrupted => return Err(Failure { code: INTERRUPTED, message: String::new() }),
        Ending::Badly(why) => why,
    };
    let limit = arguments.time_limit;
    let remedy = "run it by hand against `nandarium serve`, or give it longer";
    Err(Failure::failed(format!("--{option} did not end well: {why}; {remedy} (--time-limit {limit})")))
}

/// Everything that a drive holds.
fn contents(drive: &mut SimulatedDrive) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; drive.bytes() as usize];
    for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
        let (offset, length) = ((number * PIECE) as u64, piece.len() as u32);
        let read = ask(drive, &Order { kind: OrderKind::Read, offset, length, fua: false }, &[]);
        piece.copy_from_slice(&read.map_err(|error| Failure::failed(format!("the drive cannot be read: {error:?}")))?);
    }
    Ok(bytes)
}

fn check_all(
    arguments: &TortureArguments,
    recording: &Recording,
    states: &States<'_>,
    drive: Option<Drive>,
    folder: &Path,
) -> Result<Exploration, Failure> {
    let (first, count) = arguments.replay.map_or((0, arguments.states), |number| (number, 1));
    let limits = Limits { seed: arguments.seed, first, states: count, smaller: SMALLER };
    let mut problem = None;
    let work = (!arguments.quiet).then(watch::Work::new);
    let mut look = |so_far: &Exploration| {
        if let Some(work) = &work {
            work.tell(|| format!("{} of {count} states, {} checked", so_far.states, so_far.checked));
        }
        if watch::stop().load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut check = |disk: &mut CutDisk<'_>, state: &CrashState| {
        check(arguments, recording, disk, state, folder).unwrap_or_else(|failure| {
            problem = Some(failure);
            None
        })
    };
    let exploration = match drive {
        None => explore(recording, states, limits, &mut look, &mut check),
        Some(drive) => explore_drive(recording, states, drive, limits, &mut look, &mut check)?,
    };
    problem.map_or(Ok(exploration), Err)
}

/// Runs `--check` on a disk as a cut left it. Nothing: it was interrupted.
fn check(
    arguments: &TortureArguments,
    recording: &Recording,
    disk: &mut CutDisk<'_>,
    state: &CrashState,
    folder: &Path,
) -> Result<Option<Verdict>, Failure> {
    let [said, image] = ["said", "image"].map(|name| folder.join(name));
    let lines: String = recording.said_by(state.step).flat_map(|line| [line, "\n"]).collect();
    let unwritten = |path: &Path, error: &_| Failure::file(path, "written", error);
    fs::write(&said, lines).map_err(|error| unwritten(&said, &error))?;
    let mut variables = vec![("NANDARIUM_SAID", said)];
    if arguments.image {
        write_image(&image, &disk.to_bytes())?;
        variables.push(("NANDARIUM_IMAGE", image));
    }
    let limit = Duration::from_secs(arguments.time_limit);
    let last = Mutex::new(String::new());
    // What it complains of is what it says: thousands of checks would fill a terminal.
    let text = format!("exec 2>&1\n{}", arguments.check);
    let job = Job { option: "check", text: &text, folder, variables, limit };
    let ending = job.run(disk, |line| {
        if !line.trim().is_empty() {
            *last.lock().expect("nobody panics with it") = line;
        }
    })?;
    let last = last.into_inner().expect("nobody panics with it");
    Ok(match ending {
        Ending::Interrupted => None,
        Ending::Well => Some(Verdict::Holds),
        Ending::Badly(why) if last.is_empty() => Some(Verdict::Fails(why)),
        Ending::Badly(why) => Some(Verdict::Fails(format!("{} ({why})", last.trim()))),
    })
}

/// Requests that a state has lost, or torn.
fn missing(state: &CrashState) -> impl Iterator<Item = &(usize, Fate)> {
    state.fates.iter().filter(|(_, fate)| *fate != Fate::Kept)
}

fn kind(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Read => "read",
        OrderKind::Write => "write",
        OrderKind::Flush => "flush",
        OrderKind::Trim => "trim",
        OrderKind::Zeroes { .. } => "zeroes",
    }
}

fn flushes(recording: &Recording) -> usize {
    recording.requests.iter().filter(|request| request.order.kind == OrderKind::Flush).count()
}

fn document(arguments: &TortureArguments, recording: &Recording, found: &Exploration, seconds: f64) -> Value {
    let flushes = flushes(recording);
    let failure = found.found.as_ref().map(|failure| {
        let of = |state: &CrashState| -> Vec<Value> {
            let one = |(number, fate): &(usize, Fate)| {
                let order = recording.requests[*number].order;
                let kept = if let Fate::Torn(sectors) = fate { *sectors } else { 0 };
                json!({"request": number, "op": kind(order.kind), "offset": order.offset, "bytes": order.length,
                    "sectors_kept": kept})
            };
            missing(state).map(one).collect()
        };
        json!({"state": failure.number, "why": failure.why, "steps_before_the_cut": failure.smallest.step,
            "lost": of(&failure.smallest), "lost_as_drawn": of(&failure.drawn)})
    });
    json!({
        "schema": SCHEMA, "seed": arguments.seed, "cuts": arguments.cuts, "guarantee": arguments.guarantee,
        "bytes": recording.before.len(),
        "requests": recording.requests.len(), "flushes": flushes, "steps": recording.steps.len(),
        "lines_said": recording.said.len(), "states": found.states, "checked": found.checked,
        "checks_to_make_it_smaller": found.smaller, "seconds": seconds, "holds": found.found.is_none(),
        "failure": failure,
    })
}

fn text(arguments: &TortureArguments, recording: &Recording, found: &Exploration, seconds: f64) -> String {
    let flushes = flushes(recording);
    let mut text = format!(
        "recorded  {} requests, {flushes} of them flushes; the workload said {} lines\n\
         states    {} drawn, {} checked (the others held the same), {seconds:.1} s\n",
        recording.requests.len(),
        recording.said.len(),
        found.states,
        found.checked
    );
    let Some(Found { number, smallest, why, .. }) = &found.found else {
        let so_far = if watch::stop().load(Ordering::Relaxed) { ", and then it was interrupted" } else { "" };
        let by = if arguments.cuts == "drive" { "cuts within the drive" } else { &arguments.guarantee };
        return text + &format!("verdict   holds, as far as these go ({by}){so_far}\n");
    };
    let _ = writeln!(text, "verdict   FAILS in state {number}: {why}");
    let _ = writeln!(text, "the cut   after {} of {} steps", smallest.step, recording.steps.len());
    for (request, fate) in missing(smallest) {
        let order = recording.requests[*request].order;
        let what = match fate {
            Fate::Torn(sectors) => format!("torn, {sectors} of its {} sectors are there", order.length / 512),
            _ => "lost".to_owned(),
        };
        let (op, bytes, offset) = (kind(order.kind), order.length, order.offset);
        let _ = writeln!(text, "missing   request {request}, a {op} of {bytes} bytes at byte {offset}: {what}");
    }
    let _ = writeln!(text, "again     the same command with --replay {number}");
    text
}

/// Writes the document, and what the drive held before and after the smallest failure.
fn write(
    out: &Path,
    document: &Value,
    recording: &Recording,
    states: &States<'_>,
    found: Option<&Found>,
) -> Result<(), Failure> {
    output::write_file(&out.join("torture.json"), &format!("{document:#}\n"))?;
    if let Some(found) = found {
        let image = |name: &str, bytes: &[u8]| write_image(&out.join(name), bytes);
        image("before.img", &recording.before)?;
        image("after.img", &CutDisk::new(&recording.before, states.touched(), &found.contents).to_bytes())?;
    }
    Ok(())
}

/// Writes a file with holes where a disk holds zeros.
fn write_image(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = || {
        let file = File::create(path)?;
        file.set_len(bytes.len() as u64)?;
        for (number, piece) in bytes.chunks(HOLE).enumerate() {
            if piece.iter().any(|byte| *byte != 0) {
                file.write_all_at(piece, (number * HOLE) as u64)?;
            }
        }
        Ok(())
    };
    write().map_err(|error| Failure::file(path, "written", &error))
}
