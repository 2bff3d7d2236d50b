//! A program as commands: they are run with a simulated drive behind a socket, or with a file system on it.
//!
//! ```text
//! prepare, workload -> NBD -> Recorder -> simulated drive          (once)
//! check -> NBD, or an image -> CutDisk                             (for each state)
//! ```
//! Protects: nothing is left behind, neither process nor mount nor file, however this process ends.

mod image;
mod job;
mod mount;
mod output_reader;
mod scratch;

pub(crate) use image::Images;
pub use mount::Mount;

use crate::cut_disk::CutDisk;
use crate::explore::{Exploration, Verdict};
use crate::harness::{Torture, TortureError, Tried};
use crate::recording::{Recorder, Recording, ask};
use job::{Ending, Job};
use output_reader::OutputReader;
use scratch::ScratchFolder;
use serve::{Order, OrderKind, Pace, SimulatedDrive, Target};
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::quantity;

/// Bytes that are read from the drive at once.
const PIECE: usize = 1 << 20;

/// Commands for `sh`, which find the drive in their environment: `docs/torture.md` has the variables.
#[derive(Clone, Debug)]
pub struct Commands {
    /// Runs once, and is recorded; the lines that it prints are promises.
    pub workload: String,
    /// Runs for each state, and ends with 0 if it is content.
    pub check: String,
    /// Fills the drive before anything is recorded.
    pub prepare: Option<String>,
    /// A file system on the drive for all of them, new before `prepare`.
    pub mount: Option<Mount>,
    /// The check finds the drive as a file as well.
    pub image: bool,
    /// How long each may take.
    pub limit: Duration,
    /// What the workload asked for, where it need not run.
    pub recording: Option<Recording>,
    /// This process does nothing else: every child of it is ended that is there after a command. Otherwise those
    /// processes are ended that have the folder of the commands in their environment.
    pub owns_process: bool,
}

/// Is told how far it is.
pub trait Progress {
    /// The workload has run, and asked for this.
    fn recorded(&mut self, _: &Recording) {}
    /// Some states were looked at.
    fn looked(&mut self, _: &Exploration) {}
}

impl Progress for () {}

impl Commands {
    /// Two commands that have a minute each.
    pub fn new(workload: &str, check: &str) -> Self {
        Self {
            workload: workload.to_owned(),
            check: check.to_owned(),
            prepare: None,
            mount: None,
            image: false,
            limit: Duration::from_secs(60),
            recording: None,
            owns_process: false,
        }
    }

    fn has_image(&self) -> bool {
        self.image || self.mount.is_some()
    }

    /// Options and commands, for the report.
    fn told(&self) -> Vec<(String, String)> {
        let own = |option: &str, text: &str| (option.to_owned(), text.to_owned());
        let mount = self.mount.iter().map(|mount| own("--mount", &mount.to_string()));
        let prepare = self.prepare.iter().map(|prepare| own("--prepare", prepare));
        mount.chain(prepare).chain([own("--workload", &self.workload), own("--check", &self.check)]).collect()
    }
}

impl Torture {
    /// Looks at what can be seen before anything runs: [`Torture::run_commands`] does it as well.
    ///
    /// # Errors
    /// What was asked for does not go together, or this machine lacks something.
    pub fn check_commands(&self, commands: &Commands) -> Result<(), TortureError> {
        if commands.has_image() && self.reads_stale() {
            return Err(TortureError::Usage(
                "--lie stale-read: the first read of a file is not the drive's; leave out --mount and --image, and \
                 read by NBD"
                    .to_owned(),
            ));
        }
        if let Some(mount) = &commands.mount {
            mount.check(commands.recording.is_none())?;
        }
        if let Some(recording) = commands.recording.as_ref().filter(|kept| kept.before.len() as u64 != self.bytes()) {
            let size = quantity::format_size(recording.before.len() as u64);
            let problem = format!("the recording is of a drive of {size}: set drive.capacity={size}");
            return Err(TortureError::Usage(problem));
        }
        Ok(())
    }

    /// Runs the workload alone, until `stop` is set: what it asked for.
    ///
    /// # Errors
    /// As those of [`Torture::run_commands`].
    pub fn record_commands(&self, commands: Commands, stop: &AtomicBool) -> Result<Recording, TortureError> {
        self.check_commands(&commands)?;
        let scratch = ScratchFolder::new(commands.owns_process)?;
        Stage { torture: self, commands, scratch: &scratch, stop }.record()
    }

    /// Runs the workload once and the check on each state, until `stop` is set.
    ///
    /// # Errors
    /// A command cannot be run or does not end well; the simulated drive fails; `stop` was set before any state.
    pub fn run_commands(
        &self,
        commands: Commands,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Tried, TortureError> {
        self.check_commands(&commands)?;
        let told = commands.told();
        let scratch = ScratchFolder::new(commands.owns_process)?;
        let mut stage = Stage { torture: self, commands, scratch: &scratch, stop };
        let recording = if let Some(kept) = stage.commands.recording.take() {
            kept
        } else {
            let recording = stage.record()?;
            progress.recorded(&recording);
            recording
        };
        let images = Images::new(&recording.before);
        let mut problem = None;
        let look = &mut |so_far: &Exploration| {
            progress.looked(so_far);
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let judge = &mut |disk: &mut CutDisk<'_>, said: &[&str]| {
            stage.check(&images, disk, said).unwrap_or_else(|error| {
                problem = Some(error);
                None
            })
        };
        let judged = self.judge_all(&recording, look, judge);
        let (exploration, seconds) = problem.map_or(judged, Err)?;
        Ok(self.tried(recording, exploration, seconds, told))
    }
}

/// Where commands run.
struct Stage<'a> {
    torture: &'a Torture,
    commands: Commands,
    scratch: &'a ScratchFolder,
    stop: &'a AtomicBool,
}

impl Stage<'_> {
    /// Serves a drive to the first command, and to the workload while it is recorded.
    fn record(&self) -> Result<Recording, TortureError> {
        let mut drive = SimulatedDrive::new(self.torture.served()?, Pace::Off);
        let prepare = self.commands.prepare.as_deref().or(self.commands.mount.as_ref().map(|_| ":"));
        if let Some(prepare) = prepare {
            let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(TortureError::failed)?;
            let ending = self.job("prepare", prepare, true).run(&mut drive, &reader, writer)?;
            self.ended_well("prepare", ending)?;
        }
        let before = contents(&mut drive)?;
        let recorder = Recorder::new(drive, before);
        let (reader, writer) = OutputReader::new(recorder.count(), false).map_err(TortureError::failed)?;
        let follower = reader.clone();
        let mut recorder = recorder.with_ear(move || {
            follower.read_now();
        });
        let ending = self.job("workload", &self.commands.workload, false).run(&mut recorder, &reader, writer)?;
        self.ended_well("workload", ending)?;
        let (mut recording, _) = recorder.finish();
        recording.said = reader.into_lines().map_err(|problem| {
            TortureError::Failed(format!(
                "--workload has printed {problem}: what it prints are promises, each a line of text"
            ))
        })?;
        Ok(recording)
    }

    fn job<'a>(&'a self, option: &'static str, text: &'a str, is_new: bool) -> Job<'a> {
        let mount = self.commands.mount.as_ref().map(|mount| (mount, is_new));
        let (scratch, limit, stop) = (self.scratch, self.commands.limit, self.stop);
        Job { option, text, scratch, variables: Vec::new(), mount, limit, stop }
    }

    fn ended_well(&self, option: &str, ending: Ending) -> Result<(), TortureError> {
        let why = match ending {
            Ending::Well => return Ok(()),
            Ending::Interrupted => return Err(TortureError::Interrupted),
            Ending::NotMounted(why) => return Err(TortureError::Failed(why)),
            Ending::Badly(why) => why,
        };
        let limit = self.commands.limit.as_secs();
        let remedy = "run it by hand against `nandarium serve`, or give it longer";
        Err(TortureError::Failed(format!("--{option} did not end well: {why}; {remedy} (--time-limit {limit})")))
    }

    /// Runs the check on a disk as a cut left it, after these lines were said. Nothing: it was interrupted.
    fn check(
        &self,
        images: &Images<'_>,
        disk: &mut CutDisk<'_>,
        lines: &[&str],
    ) -> Result<Option<Verdict>, TortureError> {
        let [said, image] = ["said", "image"].map(|name| self.scratch.folder().join(name));
        let lines: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        fs::write(&said, lines).map_err(|error| TortureError::unwritten(&said, error))?;
        let mut variables = vec![("NANDARIUM_SAID", said)];
        if self.commands.has_image() {
            images.write(&image, disk)?;
            variables.push(("NANDARIUM_IMAGE", image));
        }
        let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(TortureError::failed)?;
        let ending = Job { variables, ..self.job("check", &self.commands.check, false) }.run(disk, &reader, writer)?;
        let last = reader.last_line();
        let last = last.as_deref().map(str::trim);
        Ok(match (ending, last) {
            (Ending::Interrupted, _) => None,
            (Ending::Well, _) => Some(Verdict::Holds),
            (Ending::NotMounted(why), _) => return Err(TortureError::Failed(why)),
            (Ending::Badly(why), None) => Some(Verdict::Fails(why)),
            (Ending::Badly(why), Some(last)) => Some(Verdict::Fails(format!("{last} ({why})"))),
        })
    }
}

/// Everything that a drive holds.
fn contents(drive: &mut SimulatedDrive) -> Result<Vec<u8>, TortureError> {
    let mut bytes = vec![0; drive.bytes() as usize];
    for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
        let (offset, length) = ((number * PIECE) as u64, piece.len() as u32);
        let read = ask(drive, &Order { kind: OrderKind::Read, offset, length, fua: false }, &[]);
        let unread = |error| TortureError::Failed(format!("the drive cannot be read: {error:?}"));
        piece.copy_from_slice(&read.map_err(unread)?);
    }
    Ok(bytes)
}
