//! A program as commands: they are run with a simulated drive behind a socket, or with a file system on it.
//!
//! ```text
//! prepare, workload -> NBD -> Recorder -> simulated drive          (once)
//! check -> NBD, or an image -> CutDisk                             (for each state, several at once)
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
use crate::explore::Verdict;
use crate::harness::{Torture, TortureError, Tried};
use crate::judge::{Judge, Judged};
use crate::recording::{Recorder, Recording, ask};
use crate::states::CrashState;
use experiment::Monitor;
use job::{Ending, Job};
use output_reader::OutputReader;
use scratch::{JobFolder, ScratchFolder};
use serve::{Order, OrderKind, Pace, SimulatedDrive, Target};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use units::quantity;

/// Bytes that are read from the drive at once.
const PIECE: usize = 1 << 20;

/// Commands for `sh`, which find the drive in their environment: `docs/guides/power-loss.md` has the variables.
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
    /// The requests of the workload, where it need not run.
    pub recording: Option<Recording>,
    /// This process does nothing else: every child of it is ended that is there after a command. Otherwise those
    /// processes are ended that have the folder of the commands in their environment.
    pub owns_process: bool,
}

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
    /// The options do not go together, or this machine lacks something.
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

    /// Runs the workload alone, until the monitor is stopped, and returns its requests.
    ///
    /// # Errors
    /// The errors of [`Torture::run_commands`].
    pub fn record_commands(&self, commands: Commands, monitor: &dyn Monitor) -> Result<Recording, TortureError> {
        self.check_commands(&commands)?;
        let scratch = ScratchFolder::new(commands.owns_process)?;
        Stage { torture: self, commands, scratch: &scratch, monitor }.record()
    }

    /// Runs the workload once, if there is no recording, and the check on each state, until the monitor is stopped.
    /// Checks run side by side: one on each core, unless the monitor says how many.
    ///
    /// # Errors
    /// A command cannot be run or does not end well; the simulated drive fails; it was stopped before any state; the
    /// system does not give the threads.
    pub fn run_commands(&self, commands: Commands, monitor: &dyn Monitor) -> Result<Tried, TortureError> {
        self.check_commands(&commands)?;
        let told = commands.told();
        let scratch = ScratchFolder::new(commands.owns_process)?;
        let mut stage = Stage { torture: self, commands, scratch: &scratch, monitor };
        let recording = stage.commands.recording.take().map_or_else(|| stage.record(), Ok)?;
        let images = Images::new(&recording.before);
        let check = |disk: &mut CutDisk<'_>, state: &CrashState, is_over: &(dyn Fn() -> bool + Sync)| {
            stage.check(&images, disk, recording.said_by(state.step), is_over)
        };
        let is_shared = stage.commands.mount.as_ref().is_none_or(Mount::is_shared);
        let judge = Judge::side_by_side(&check, monitor, if is_shared { self.most_checks() } else { 1 })?;
        let (exploration, seconds) = self.judge_all(&recording, monitor, judge)?;
        Ok(self.tried(recording, exploration, seconds, told))
    }
}

/// Where commands run.
struct Stage<'a> {
    torture: &'a Torture,
    commands: Commands,
    scratch: &'a ScratchFolder,
    monitor: &'a dyn Monitor,
}

impl Stage<'_> {
    /// Serves a drive to the first command, and to the workload while it is recorded.
    fn record(&self) -> Result<Recording, TortureError> {
        let folder = self.scratch.job_folder()?;
        let is_over = || self.monitor.is_stopped();
        let mut drive = SimulatedDrive::new(self.torture.served()?, Pace::Off);
        let prepare = self.commands.prepare.as_deref().or(self.commands.mount.as_ref().map(|_| ":"));
        if let Some(prepare) = prepare {
            let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(TortureError::failed)?;
            let job = Job { is_new: true, ..self.job("prepare", prepare, &folder, &is_over) };
            self.ended_well("prepare", job.run(&mut drive, &reader, writer)?)?;
        }
        let before = contents(&mut drive)?;
        let recorder = Recorder::new(drive, before);
        let (reader, writer) = OutputReader::new(recorder.count(), false).map_err(TortureError::failed)?;
        let follower = reader.clone();
        let mut recorder = recorder.with_ear(move || {
            follower.read_now();
        });
        let job = self.job("workload", &self.commands.workload, &folder, &is_over);
        self.ended_well("workload", job.run(&mut recorder, &reader, writer)?)?;
        let (mut recording, _) = recorder.finish();
        recording.said = reader.into_lines().map_err(|problem| {
            TortureError::Failed(format!(
                "--workload has printed {problem}: each line that it prints is a promise, and must be text"
            ))
        })?;
        Ok(recording)
    }

    fn job<'a>(
        &'a self,
        option: &'static str,
        text: &'a str,
        folder: &'a JobFolder<'a>,
        is_over: &'a (dyn Fn() -> bool + Sync),
    ) -> Job<'a> {
        let (mount, limit) = (self.commands.mount.as_ref(), self.commands.limit);
        Job { option, text, folder, variables: Vec::new(), mount, is_new: false, limit, is_over }
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
    fn check<'l>(
        &self,
        images: &Images<'_>,
        disk: &mut CutDisk<'_>,
        lines: impl Iterator<Item = &'l str>,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Judged {
        let folder = self.scratch.job_folder()?;
        let [said, image] = ["said", "image"].map(|name| folder.path().join(name));
        let lines: String = lines.flat_map(|line| [line, "\n"]).collect();
        fs::write(&said, lines).map_err(|error| TortureError::unwritten(&said, error))?;
        let mut variables = vec![("NANDARIUM_SAID", said)];
        if self.commands.has_image() {
            images.write(&image, disk)?;
            variables.push(("NANDARIUM_IMAGE", image));
        }
        let (reader, writer) = OutputReader::new(Arc::default(), true).map_err(TortureError::failed)?;
        let job = Job { variables, ..self.job("check", &self.commands.check, &folder, is_over) };
        let ending = job.run(disk, &reader, writer)?;
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
