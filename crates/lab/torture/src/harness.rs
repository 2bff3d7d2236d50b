//! Power loss in one's own tests: a program as a function, in this process.

use crate::commands::Images;
use crate::cut_disk::CutDisk;
use crate::explore::{Exploration, Limits, Verdict, explore_with};
use crate::judge::{Checks, FailedCheck, Judge};
use crate::lies::Lie;
use crate::recording::{Recorder, Recording};
use crate::report::{Asked, Report};
use crate::search::Search;
use crate::simulated::explore_drive_with;
use crate::states::{CrashState, Guarantee, States};
use drive::{Drive, DriveError, Fault, HostFault, Selection};
use experiment::{Monitor, ThreadsError};
use simulator::{Config, DrivePlan, MemoryClaim, Setting};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use units::{HostOp, SECTOR_BYTES, quantity};

/// Most bytes of a drive: all it holds is kept in memory, some three times.
pub const MOST_BYTES: u64 = 4 << 30;

/// Checks that this process may have the memory for what a disk of so many bytes holds.
///
/// # Errors
/// In words: the size, and the limit.
pub fn check_memory(bytes: u64) -> Result<(), String> {
    let claim = MemoryClaim::of([bytes, bytes.saturating_mul(3)]).map(drop);
    claim.map_err(|problem| {
        let size = quantity::format_size(bytes);
        format!("all that a disk of {size} holds is kept in memory, {problem}; take a smaller disk")
    })
}

/// Drives as small as a test needs, the first that a stack can be.
const SMALL: [&[&str]; 3] = [
    &["drive.capacity=64MiB", "flash.channels=2", "flash.pages_per_block=64"],
    &["drive.capacity=64MiB", "flash.pages_per_block=32", "drive.over_provisioning=100%"],
    &["drive.capacity=256MiB", "flash.pages_per_block=32", "drive.over_provisioning=100%"],
];

/// Settings of a stack, and before them what makes its drive small where nobody has said how large it is.
pub fn with_usual_settings(stack: &str, given: &[&str]) -> Vec<String> {
    let key = |setting: &&str| setting.split('=').next().unwrap_or_default().trim().to_owned();
    let keys: Vec<String> = given.iter().map(key).collect();
    let own = |small: &[&str]| -> Vec<String> {
        let own = small.iter().filter(|own| !keys.contains(&key(own)));
        own.chain(given).map(|setting| (*setting).to_owned()).collect()
    };
    let is_buildable = |settings: &Vec<String>| {
        let settings: Option<Vec<_>> = settings.iter().map(|text| Setting::from_argument(text).ok()).collect();
        let settings = settings.map(|given| [given, Drive::own_settings()].concat());
        settings.is_some_and(|all| Config::load(stack, &all).is_ok_and(|config| DrivePlan::new(config).is_ok()))
    };
    let plain = given.iter().map(|setting| (*setting).to_owned()).collect();
    if keys.iter().any(|key| key.starts_with("flash.")) && keys.iter().any(|key| key == "drive.capacity") {
        return plain;
    }
    SMALL.iter().map(|small| own(small)).find(is_buildable).unwrap_or(plain)
}

fn small(stack: &str, given: &[&str]) -> Result<Vec<Setting>, DriveError> {
    let settings = with_usual_settings(stack, given);
    Ok(settings.iter().map(|text| Setting::from_argument(text)).collect::<Result<_, _>>()?)
}

/// The harness of a program: it tries states that any drive may leave that keeps its promises, or states that a
/// simulated drive leaves.
///
/// ```
/// use torture::Torture;
///
/// // Two sectors that are written one after the other, and a reader that takes the second for a sign of the first.
/// let tried = Torture::new(1 << 20).states(200).run(
///     |disk| {
///         disk.write(0, &[1; 512], false)?;
///         disk.flush()?; // without this the second may be there alone
///         disk.write(512, &[1; 512], false)
///     },
///     |disk, _said| {
///         let mut bytes = [0; 1024];
///         disk.read(0, &mut bytes).map_err(|error| format!("{error:?}"))?;
///         if bytes[512] == 1 && bytes[0] == 0 { Err("the second without the first".to_owned()) } else { Ok(()) }
///     },
/// )?;
/// assert!(tried.exploration.found.is_none(), "{}", tried.to_text());
/// # Ok::<_, torture::TortureError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Torture {
    bytes: u64,
    /// See [`serve::Target::trim_bytes`].
    trim_bytes: u32,
    /// The simulated drive that commands are served, or that is cut.
    drive: Option<Config>,
    /// States are those of cuts within the simulated drive.
    cuts_within: bool,
    guarantee: Guarantee,
    atomic: u64,
    lies: Vec<Lie>,
    faults: Vec<(String, Fault)>,
    limits: Limits,
    checks: Checks,
    /// How a state is seen again, but for its number.
    again: String,
}

/// Why a program could not be put through it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TortureError {
    /// The workload was refused a request.
    #[error("the workload was refused a request: {0:?}")]
    Workload(nbd::ErrorNumber),
    /// The workload asked for nothing that changes the disk.
    #[error("the workload has written nothing: there is nothing that a power cut could take")]
    Nothing,
    /// The check fails of what the workload left, without any cut.
    #[error("the check fails of the disk as the workload left it, without any cut: {0}")]
    Uncut(String),
    /// A simulated drive could not be built.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The options do not go together, or this machine lacks something.
    #[error("{0}")]
    Usage(String),
    /// A command could not be run, or the drive not be served to it.
    #[error("{0}")]
    Failed(String),
    /// A file could not be written.
    #[error("{} could not be written: {error}", .path.display())]
    Unwritten {
        /// Its name.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system does not give the threads that were asked for.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The caller, or a check, wanted it to end before any state was looked at.
    #[error("interrupted")]
    Interrupted,
}

impl TortureError {
    pub(crate) fn failed(problem: impl std::fmt::Display) -> Self {
        Self::Failed(problem.to_string())
    }

    pub(crate) fn unwritten(path: &Path, error: io::Error) -> Self {
        Self::Unwritten { path: path.to_owned(), error }
    }
}

impl From<nbd::ErrorNumber> for TortureError {
    fn from(error: nbd::ErrorNumber) -> Self {
        Self::Workload(error)
    }
}

impl Torture {
    /// A disk of `bytes`, whole sectors, all zeros, and a thousand states that promises allow.
    pub fn new(bytes: u64) -> Self {
        let limits = Limits { seed: 1, first: 0, states: 1000, smaller: 300 };
        let (guarantee, atomic, trim_bytes) = (Guarantee::AnyOrder, SECTOR_BYTES, SECTOR_BYTES as u32);
        let (drive, cuts_within, lies, faults) = (None, false, Vec::new(), Vec::new());
        let again = "the same call with replay".to_owned();
        let checks = Checks::All;
        Self { bytes, trim_bytes, drive, cuts_within, guarantee, atomic, lies, faults, limits, checks, again }
    }

    /// A simulated drive of a stack, with settings such as `drive.capacity=64MiB`, that is cut within its work.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn within(stack: &str, settings: &[&str]) -> Result<Self, DriveError> {
        let settings = small(stack, settings)?;
        Ok(Self::of_config(Config::load(stack, &[settings, Drive::own_settings()].concat())?)?.cuts_within())
    }

    /// A simulated drive of a stack that commands are served, with settings as in [`Torture::within`]. States follow
    /// its promises.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn serving(stack: &str, settings: &[&str]) -> Result<Self, DriveError> {
        Self::of_config(Drive::config(stack, &small(stack, settings)?)?)
    }

    /// As [`Torture::serving`], with the configuration of a drive with bytes.
    ///
    /// # Errors
    /// It cannot be used, or has no room in memory.
    pub fn of_config(config: Config) -> Result<Self, DriveError> {
        let plan = DrivePlan::new(config.clone())?;
        let (bytes, trim_bytes) = (plan.capacity(), plan.host_page_sectors() * SECTOR_BYTES as u32);
        if bytes > MOST_BYTES {
            let [bytes, most] = [bytes, MOST_BYTES].map(quantity::format_size);
            return Err(DriveError::Unsupported(format!(
                "drive.capacity is {bytes}, and all that the drive holds is kept in memory: {most} are the most; set \
                 drive.capacity=1GiB, or less"
            )));
        }
        check_memory(bytes).map_err(DriveError::Unsupported)?;
        Ok(Self { drive: Some(config), trim_bytes, atomic: plan.promises().atomic_bytes, ..Self::new(bytes) })
    }

    /// Cuts the power within the work of the simulated drive, whose own recovery has the word.
    #[must_use]
    pub fn cuts_within(self) -> Self {
        Self { cuts_within: true, ..self }
    }

    /// How a user sees a state again, which is told of a failure before its number.
    #[must_use]
    pub fn again(self, again: &str) -> Self {
        Self { again: again.to_owned(), ..self }
    }

    /// The promise about writes that need not last yet.
    #[must_use]
    pub fn guarantee(self, guarantee: Guarantee) -> Self {
        Self { guarantee, ..self }
    }

    /// Bytes of a unit that is written whole or not at all, whole sectors. `None`: the promise of the simulated drive
    /// (`drive.atomic`), or 512 without one.
    #[must_use]
    pub fn atomic(self, bytes: Option<u64>) -> Self {
        Self { atomic: bytes.unwrap_or(self.atomic), ..self }
    }

    /// Promises that are broken; a simulated drive breaks none.
    #[must_use]
    pub fn lies(self, lies: &[Lie]) -> Self {
        Self { lies: lies.to_vec(), ..self }
    }

    /// The fault at each cut of a simulated drive, as `die 1`.
    ///
    /// # Errors
    /// It is not a fault.
    pub fn faults(self, faults: &[&str]) -> Result<Self, String> {
        let read = |text: &str| match text.parse()? {
            // A late die changes which programs are under way at a cut.
            fault @ Fault::Host(HostFault { on: Selection { die: Some(_), .. }, .. }) => Ok((text.to_owned(), fault)),
            Fault::Host(HostFault { effect, .. }) if !effect.changes_data() && !effect.is_of_cuts() => Err(format!(
                "`{text}`: a state has the data that a fault leaves, and this one changes no data; `flip`, `misdirect` \
                 and `lose` do, and those of power cuts. `stall` and `slow` need a clause `die N`"
            )),
            Fault::Host(HostFault { on, .. }) if on.ops & Selection::of(&[HostOp::Read]).ops > 0 => {
                Err(format!("`{text}`: the recorded reads are not done again; leave out `reads`"))
            }
            Fault::Off => Err(format!("`{text}`: nothing fails by itself; leave it out")),
            fault => Ok((text.to_owned(), fault)),
        };
        let faults = faults.iter().map(|text| read(text)).collect::<Result<_, String>>()?;
        Ok(Self { faults, ..self })
    }

    /// How many states are drawn.
    #[must_use]
    pub fn states(mut self, states: u64) -> Self {
        self.limits.states = states;
        self
    }

    /// Seed of the states that are drawn.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.limits.seed = seed;
        self
    }

    /// The state with this number alone.
    #[must_use]
    pub fn replay(mut self, number: u64) -> Self {
        (self.limits.first, self.limits.states) = (number, 1);
        self
    }

    /// Makes only each `count`-th check, from `index`, and makes no failure smaller: other processes make the others.
    /// All of them draw the same states of one recording.
    #[must_use]
    pub fn shard(mut self, index: u64, count: u64) -> Self {
        (self.checks, self.limits.smaller) = (Checks::Shard { index, count: count.max(1) }, 0);
        self
    }

    /// Makes only the checks that make a failure smaller: shards have made the others, and this is the first failure
    /// among all shards.
    #[must_use]
    pub fn known(self, first: Option<FailedCheck>) -> Self {
        Self { checks: Checks::Known(first), ..self }
    }

    /// Runs `workload` once and `check` on each state, all on this thread. The check is given the disk and the lines
    /// that the workload had said before the cut. [`Torture::run_side_by_side`] uses all cores.
    ///
    /// # Errors
    /// The workload was refused something; the simulated drive fails.
    pub fn run(
        &self,
        workload: impl FnOnce(&mut Recorder<CutDisk<'static>>) -> Result<(), nbd::ErrorNumber>,
        mut check: impl FnMut(&mut CutDisk<'_>, &[&str]) -> Result<(), String>,
    ) -> Result<Tried, TortureError> {
        let mut recorder = self.recorder();
        workload(&mut recorder)?;
        self.explore(recorder.finish().0, |disk, said| Some(check(disk, said)))
    }

    /// As [`Torture::run`], with checks on the threads of a monitor: one for each core, unless it says how many. The
    /// monitor is told of each state, and may stop it. The findings do not depend on the number of threads.
    ///
    /// ```
    /// let tried = torture::Torture::new(1 << 20).states(200).run_side_by_side(
    ///     &(),
    ///     |disk| disk.write(0, &[1; 512], true),
    ///     |disk, _said| disk.read(0, &mut [0; 512]).map_err(|error| format!("{error:?}")),
    /// )?;
    /// assert!(tried.exploration.found.is_none());
    /// # Ok::<_, torture::TortureError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Torture::run`]; it was stopped before any state; the system does not give the threads.
    pub fn run_side_by_side(
        &self,
        monitor: &dyn Monitor,
        workload: impl FnOnce(&mut Recorder<CutDisk<'static>>) -> Result<(), nbd::ErrorNumber>,
        check: impl Fn(&mut CutDisk<'_>, &[&str]) -> Result<(), String> + Sync,
    ) -> Result<Tried, TortureError> {
        let mut recorder = self.recorder();
        workload(&mut recorder)?;
        let recording = recorder.finish().0;
        let check = |disk: &mut CutDisk<'_>, state: &CrashState, is_over: &(dyn Fn() -> bool + Sync)| {
            if is_over() {
                return Ok(None);
            }
            Ok(Some(verdict(check(disk, &recording.said_by(state.step).collect::<Vec<_>>()))))
        };
        let judge = Judge::side_by_side(&check, monitor, self.most_checks())?;
        let (exploration, seconds) = self.judge_all(&recording, monitor, judge)?;
        Ok(self.tried(recording, exploration, seconds, Vec::new()))
    }

    /// A disk for a workload.
    pub fn recorder(&self) -> Recorder<CutDisk<'static>> {
        let before = vec![0; self.bytes as usize];
        Recorder::new(CutDisk::shared(Arc::new(before.clone())).with_trim_bytes(self.trim_bytes), before)
    }

    /// Runs `check` on each state of a recording, as [`Torture::run`] does, until it says nothing.
    ///
    /// # Errors
    /// As there.
    pub fn explore(
        &self,
        recording: Recording,
        mut check: impl FnMut(&mut CutDisk<'_>, &[&str]) -> Option<Result<(), String>>,
    ) -> Result<Tried, TortureError> {
        let check = &mut |disk: &mut CutDisk<'_>, state: &CrashState| {
            check(disk, &recording.said_by(state.step).collect::<Vec<_>>()).map(verdict)
        };
        let (exploration, seconds) = self.judge_all(&recording, &(), Judge::OneByOne(check))?;
        Ok(self.tried(recording, exploration, seconds, Vec::new()))
    }

    /// How many checks there may be at most.
    pub(crate) fn most_checks(&self) -> usize {
        self.limits.states.max(self.limits.smaller) as usize
    }

    pub(crate) fn tried(
        &self,
        recording: Recording,
        exploration: Exploration,
        seconds: f64,
        commands: Vec<(String, String)>,
    ) -> Tried {
        Tried { torture: self.clone(), recording, exploration, seconds, commands }
    }

    /// Judges the disk that the workload left, where nothing may fail, and then each state. Returns what was found, and
    /// the seconds that the states took.
    pub(crate) fn judge_all<'a>(
        &'a self,
        recording: &Recording,
        monitor: &'a dyn Monitor,
        mut judge: Judge<'a>,
    ) -> Result<(Exploration, f64), TortureError> {
        if !recording.changes_something() {
            return Err(TortureError::Nothing);
        }
        let states = States::with_lies(recording, self.guarantee, &self.lies).atomic(self.atomic);
        let uncut = states.uncut();
        let known = self.checks.verdict(0);
        match known.map_or_else(|| judge.one(&uncut, &states.image(&uncut)), |verdict| Ok(Some(verdict)))? {
            Some(Verdict::Fails(why)) => return Err(TortureError::Uncut(why)),
            Some(Verdict::Holds) => {}
            None => return Err(TortureError::Interrupted),
        }
        let began = Instant::now();
        let search = Search::new(judge, &self.checks, monitor);
        let exploration = match self.drive.as_ref().filter(|_| self.cuts_within) {
            None => explore_with(&states, self.limits, search, monitor)?,
            Some(config) => {
                let drive = Drive::from_config(config.clone())?;
                let faults: Vec<Fault> = self.faults.iter().map(|(_, fault)| *fault).collect();
                explore_drive_with(&states, drive, &faults, self.limits, search, monitor)?
            }
        };
        Ok((exploration, began.elapsed().as_secs_f64()))
    }

    /// A new drive for commands.
    pub(crate) fn served(&self) -> Result<Drive, TortureError> {
        let nothing = || TortureError::Usage("commands are served a simulated drive: begin with one".to_owned());
        Ok(Drive::from_config(self.drive.clone().ok_or_else(nothing)?)?)
    }

    /// Bytes of the disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn reads_stale(&self) -> bool {
        self.lies.contains(&Lie::StaleRead)
    }

    fn asked(&self, commands: &[(String, String)]) -> Asked {
        let guarantee = Guarantee::TABLE.iter().find(|(_, _, own)| *own == self.guarantee);
        let name = |lie: &Lie| Lie::TABLE.iter().find(|(_, _, own)| own == lie).map(|(name, _, _)| (*name).to_owned());
        Asked {
            seed: self.limits.seed,
            cuts: if self.cuts_within { "drive" } else { "promise" }.to_owned(),
            guarantee: guarantee.map_or("", |(name, _, _)| name).to_owned(),
            atomic: self.atomic,
            lies: self.lies.iter().filter_map(name).collect(),
            faults: self.faults.iter().map(|(text, _)| text.clone()).collect(),
            commands: commands.to_vec(),
            again: self.again.clone(),
            shard: match self.checks {
                Checks::Shard { index, count } => Some((index, count)),
                Checks::All | Checks::Known(_) => None,
            },
        }
    }
}

fn verdict(said: Result<(), String>) -> Verdict {
    said.map_or_else(Verdict::Fails, |()| Verdict::Holds)
}

/// A recording, and its findings.
#[derive(Clone, Debug)]
pub struct Tried {
    torture: Torture,
    /// The requests of the workload.
    pub recording: Recording,
    /// The states tried, and the findings.
    pub exploration: Exploration,
    /// Time that all checks took.
    pub seconds: f64,
    /// Options and commands that were run.
    commands: Vec<(String, String)>,
}

impl Tried {
    /// The check that failed, for [`Torture::known`]; it also tells the outcome of a shard.
    ///
    /// # Errors
    /// There is no verdict.
    pub fn failed_check(tried: Result<Self, TortureError>) -> Result<Option<FailedCheck>, TortureError> {
        match tried {
            Ok(tried) => Ok(tried.exploration.found.map(|found| (tried.exploration.checked, found.why))),
            Err(TortureError::Uncut(why)) => Ok(Some((0, why))),
            Err(error) => Err(error),
        }
    }

    /// Its report: as text, as JSON, as a page.
    pub fn report<T>(&self, tell: impl FnOnce(&Report<'_>) -> T) -> T {
        let Self { torture, recording, exploration, seconds, commands } = self;
        let states = States::with_lies(recording, torture.guarantee, &torture.lies).atomic(torture.atomic);
        tell(&Report { asked: &torture.asked(commands), recording, states: &states, exploration, seconds: *seconds })
    }

    /// The findings, in lines.
    pub fn to_text(&self) -> String {
        self.report(|report| report.to_text(false))
    }

    /// Writes `torture.json`, `torture.html` (feature `page`) and the recording into a folder; of a failure, also the
    /// contents of the drive before and after it (`before.img`, `after.img`).
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_to(&self, folder: &Path) -> Result<(), TortureError> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| TortureError::unwritten(&path, error))
        };
        std::fs::create_dir_all(folder).map_err(|error| TortureError::unwritten(folder, error))?;
        write("torture.json", self.report(|report| format!("{:#}\n", report.to_json())))?;
        #[cfg(feature = "page")]
        self.report(|report| write("torture.html", report.to_page()))?;
        let path = folder.join("recording");
        self.recording.write_to(&path).map_err(|error| TortureError::unwritten(&path, error))?;
        let Some(found) = &self.exploration.found else { return Ok(()) };
        Images::write_whole(&folder.join("before.img"), &self.recording.before)?;
        Images::write_whole(&folder.join("after.img"), &found.image)
    }
}
