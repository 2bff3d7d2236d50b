//! `nandarium torture`: a program's requests are recorded once, and what power cuts may leave of them is checked.

mod command;
mod image;
mod mount;
mod output_reader;
mod scratch;

use super::results;
use crate::arguments::TortureArguments;
use crate::failure::{FAILED, Failure, INTEGRITY, INTERRUPTED};
use crate::{output, settings, watch};
use command::{Ending, Job};
use drive::{Drive, Fault};
use image::Images;
use mount::Mount;
use output_reader::OutputReader;
use scratch::ScratchFolder;
use serve::{Order, OrderKind, Pace, SimulatedDrive, Target};
use simulator::Config;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use torture::{
    Asked, CrashState, CutDisk, Exploration, Guarantee, Lie, Limits, Recorder, Recording, Report, States, Verdict, ask,
    explore, explore_drive,
};
use units::quantity;

/// Checks that making a failure smaller may take.
const SMALLER: u64 = 300;
/// Bytes that are read from the drive at once.
const PIECE: usize = 1 << 20;

/// What the arguments ask for, checked.
struct Torture<'a> {
    arguments: &'a TortureArguments,
    guarantee: Guarantee,
    lies: Vec<Lie>,
    faults: Vec<Fault>,
    mount: Option<Mount>,
    scratch: &'a ScratchFolder,
}

pub fn execute(arguments: &TortureArguments) -> Result<(), Failure> {
    let [lies, faults] = [&arguments.lie, &arguments.fault].map(|given| !given.is_empty());
    let is_drive = arguments.cuts == "drive";
    if is_drive && lies {
        let problem = "--lie: promises are broken where states come from promises; leave out --cuts drive";
        return Err(Failure::usage(problem.to_owned()));
    }
    if !is_drive && faults {
        let problem = "--fault: what fails with the power is a part of the simulated drive; add --cuts drive";
        return Err(Failure::usage(problem.to_owned()));
    }
    let fault = |text: &String| text.parse().map_err(|error| Failure::usage(format!("--fault: {error}")));
    let has_image = arguments.image || arguments.mount.is_some();
    if has_image && arguments.lie.iter().any(|lie| lie == "stale-read") {
        let problem = "--lie stale-read: the first read of a file is not the drive's; leave out --mount and --image, \
                       and read by NBD";
        return Err(Failure::usage(problem.to_owned()));
    }
    let faults = arguments.fault.iter().map(fault).collect::<Result<_, _>>()?;
    let mount = arguments.mount.as_deref().map(Mount::of);
    mount.as_ref().map_or(Ok(()), |mount| mount.check(arguments.recording.is_none()))?;
    // It may lie in the folder of --out, whose files are moved away next.
    let kept = arguments
        .recording
        .as_deref()
        .map(|path| Recording::read_from(path).map_err(|error| Failure::file(path, "read", &error)));
    let kept = kept.transpose()?;
    results::prepare(arguments.out.as_deref(), arguments.quiet)?;
    watch::catch_interrupts();
    let scratch = ScratchFolder::new()?;
    let torture = Torture {
        arguments,
        guarantee: Guarantee::named(&arguments.guarantee).expect("its name was checked"),
        lies: arguments.lie.iter().filter_map(|name| Lie::named(name)).collect(),
        faults,
        mount,
        scratch: &scratch,
    };
    torture.run(kept)
}

impl Torture<'_> {
    /// `kept`: what the workload asked for, where it need not run.
    fn run(&self, kept: Option<Recording>) -> Result<(), Failure> {
        let arguments = self.arguments;
        let given: Vec<&str> = arguments.set.iter().map(String::as_str).collect();
        let given = torture::with_usual_settings(&arguments.stack, &given);
        let config = settings::load_with_bytes(&arguments.stack, &given)?;
        let bytes = config.values.whole("drive.capacity");
        if bytes > torture::MOST_BYTES {
            let [bytes, most] = [bytes, torture::MOST_BYTES].map(quantity::format_size);
            let problem = format!(
                "drive.capacity is {bytes}, and all that the drive holds is kept in memory: {most} are the most; \
                 add --set drive.capacity=1GiB, or less"
            );
            return Err(Failure::usage(problem));
        }
        torture::check_memory(bytes).map_err(Failure::usage)?;
        let recording = match kept {
            Some(recording) => {
                if recording.before.len() as u64 != bytes {
                    let size = quantity::format_size(recording.before.len() as u64);
                    let problem = format!("--recording is of a drive of {size}: add --set drive.capacity={size}");
                    return Err(Failure::usage(problem));
                }
                recording
            }
            None => self.record(&config)?,
        };
        let states = States::with_lies(&recording, self.guarantee, &self.lies).atomic(arguments.atomic);
        let images = Images::new(&recording.before);
        self.check_uncut(&recording, &images, &states)?;
        let began = Instant::now();
        let drive = (arguments.cuts == "drive").then(|| Drive::from_config(config)).transpose()?;
        let exploration = self.check_all(&recording, &images, &states, drive)?;
        let seconds = began.elapsed().as_secs_f64();
        let is_interrupted = watch::stop().load(Ordering::Relaxed);
        let asked = self.asked();
        let (recording, states, exploration) = (&recording, &states, &exploration);
        let report = Report { asked: &asked, recording, states, exploration, seconds };
        if let Some(out) = &arguments.out {
            self.write(out, &report)?;
        }
        if arguments.json {
            output::print(&format!("{:#}\n", report.to_json()))?;
        } else {
            output::print(&report.to_text(is_interrupted))?;
        }
        let code = match () {
            () if is_interrupted => INTERRUPTED,
            () if exploration.found.is_some() => INTEGRITY,
            () => return Ok(()),
        };
        Err(Failure { code, message: String::new() })
    }

    fn asked(&self) -> Asked {
        let arguments = self.arguments;
        let command = |option: &str, text: &str| (option.to_owned(), text.to_owned());
        let mount = arguments.mount.iter().map(|mount| command("--mount", mount));
        let prepare = arguments.prepare.iter().map(|prepare| command("--prepare", prepare));
        let both = [command("--workload", &arguments.workload), command("--check", &arguments.check)];
        Asked {
            seed: arguments.seed,
            cuts: arguments.cuts.clone(),
            guarantee: arguments.guarantee.clone(),
            atomic: arguments.atomic,
            lies: arguments.lie.clone(),
            faults: arguments.fault.clone(),
            commands: mount.chain(prepare).chain(both).collect(),
            again: match (&arguments.recording, &arguments.out) {
                (Some(kept), _) => format!("the same command with --recording {} --replay", kept.display()),
                (None, Some(out)) => {
                    format!("the same command with --recording {} --replay", out.join("recording").display())
                }
                (None, None) => {
                    "the same command with --out FOLDER, and then with its --recording and --replay".to_owned()
                }
            },
        }
    }

    /// Serves a drive to `--prepare`, and to `--workload` while it is recorded.
    fn record(&self, config: &Config) -> Result<Recording, Failure> {
        let mut drive = SimulatedDrive::new(Drive::from_config(config.clone())?, Pace::Off);
        let prepare = self.arguments.prepare.as_deref().or(self.mount.as_ref().map(|_| ":"));
        if let Some(prepare) = prepare {
            let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(Failure::failed)?;
            let ending = self.job("prepare", prepare, true).run(&mut drive, &reader, writer)?;
            self.ended_well("prepare", ending)?;
        }
        let before = contents(&mut drive)?;
        let recorder = Recorder::new(drive, before);
        let (reader, writer) = OutputReader::new(recorder.count(), false).map_err(Failure::failed)?;
        let follower = reader.clone();
        let mut recorder = recorder.with_ear(move || {
            follower.read_now();
        });
        let ending = self.job("workload", &self.arguments.workload, false).run(&mut recorder, &reader, writer)?;
        self.ended_well("workload", ending)?;
        let (mut recording, _) = recorder.finish();
        recording.said = reader.into_lines().map_err(|problem| {
            Failure::failed(format!(
                "--workload has printed {problem}: what it prints are promises, each a line of text"
            ))
        })?;
        if !recording.changes_something() {
            let problem = "--workload has written nothing to the drive: it finds it under NANDARIUM_URI, an NBD export";
            return Err(Failure { code: FAILED, message: problem.to_owned() });
        }
        if recording.said.is_empty() && !self.arguments.quiet {
            let note =
                "--workload has printed nothing, so that nothing is promised: the check alone knows what must be there";
            output::complain(note);
        }
        Ok(recording)
    }

    fn job<'a>(&'a self, option: &'static str, text: &'a str, is_new: bool) -> Job<'a> {
        let mount = self.mount.as_ref().map(|mount| (mount, is_new));
        let limit = Duration::from_secs(self.arguments.time_limit);
        Job { option, text, scratch: self.scratch, variables: Vec::new(), mount, limit }
    }

    fn ended_well(&self, option: &str, ending: Ending) -> Result<(), Failure> {
        let why = match ending {
            Ending::Well => return Ok(()),
            Ending::Interrupted => return Err(Failure { code: INTERRUPTED, message: String::new() }),
            Ending::NotMounted(why) => return Err(Failure::failed(why)),
            Ending::Badly(why) => why,
        };
        let limit = self.arguments.time_limit;
        let remedy = "run it by hand against `nandarium serve`, or give it longer";
        Err(Failure::failed(format!("--{option} did not end well: {why}; {remedy} (--time-limit {limit})")))
    }

    /// A check that fails of the drive as the workload left it finds no fault of any cut.
    fn check_uncut(&self, recording: &Recording, images: &Images<'_>, states: &States<'_>) -> Result<(), Failure> {
        let uncut = states.uncut();
        let image = states.image(&uncut);
        match self.check(recording, images, &mut CutDisk::of(&image), &uncut)? {
            None => Err(Failure { code: INTERRUPTED, message: String::new() }),
            Some(Verdict::Holds) => Ok(()),
            Some(Verdict::Fails(why)) => {
                let problem = format!("--check fails of the drive as --workload left it, without any cut: {why}");
                Err(Failure::failed(problem))
            }
        }
    }

    fn check_all(
        &self,
        recording: &Recording,
        images: &Images<'_>,
        states: &States<'_>,
        drive: Option<Drive>,
    ) -> Result<Exploration, Failure> {
        let arguments = self.arguments;
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
            self.check(recording, images, disk, state).unwrap_or_else(|failure| {
                problem = Some(failure);
                None
            })
        };
        let exploration = match drive {
            None => explore(recording, states, limits, &mut look, &mut check),
            Some(drive) => explore_drive(recording, states, drive, &self.faults, limits, &mut look, &mut check)?,
        };
        problem.map_or(Ok(exploration), Err)
    }

    /// Runs `--check` on a disk as a cut left it. Nothing: it was interrupted.
    fn check(
        &self,
        recording: &Recording,
        images: &Images<'_>,
        disk: &mut CutDisk<'_>,
        state: &CrashState,
    ) -> Result<Option<Verdict>, Failure> {
        let [said, image] = ["said", "image"].map(|name| self.scratch.folder().join(name));
        let lines: String = recording.said_by(state.step).flat_map(|line| [line, "\n"]).collect();
        fs::write(&said, lines).map_err(|error| Failure::file(&said, "written", &error))?;
        let mut variables = vec![("NANDARIUM_SAID", said)];
        if self.arguments.image || self.mount.is_some() {
            images.write(&image, disk)?;
            variables.push(("NANDARIUM_IMAGE", image));
        }
        let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(Failure::failed)?;
        let ending = Job { variables, ..self.job("check", &self.arguments.check, false) }.run(disk, &reader, writer)?;
        let last = reader.last_line();
        let last = last.as_deref().map(str::trim);
        Ok(match (ending, last) {
            (Ending::Interrupted, _) => None,
            (Ending::Well, _) => Some(Verdict::Holds),
            (Ending::NotMounted(why), _) => return Err(Failure::failed(why)),
            (Ending::Badly(why), None) => Some(Verdict::Fails(why)),
            (Ending::Badly(why), Some(last)) => Some(Verdict::Fails(format!("{last} ({why})"))),
        })
    }

    /// Writes the document, the page, and what the drive held before and after the smallest failure.
    fn write(&self, out: &Path, report: &Report<'_>) -> Result<(), Failure> {
        output::write_file(&out.join("torture.json"), &format!("{:#}\n", report.to_json()))?;
        output::write_file(&out.join("torture.html"), &report.to_page())?;
        if let Some(found) = &report.exploration.found {
            Images::write_whole(&out.join("before.img"), &report.recording.before)?;
            Images::write_whole(&out.join("after.img"), &found.image)?;
            let path = out.join("recording");
            report.recording.write_to(&path).map_err(|error| Failure::file(&path, "written", &error))?;
        }
        if !self.arguments.quiet {
            output::complain(&format!("written: {}", out.join("torture.html").display()));
        }
        Ok(())
    }
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
