//! Power loss in one's own tests: a program as a function, in this process.

use crate::cut_disk::CutDisk;
use crate::explore::{Exploration, Limits, Verdict, explore};
use crate::lies::Lie;
use crate::recording::{Recorder, Recording};
use crate::report::{Asked, Report};
use crate::simulated::explore_drive;
use crate::states::{CrashState, Guarantee, States};
use drive::{Drive, DriveError, Fault};
use simulator::{Config, DrivePlan, MemoryClaim, Setting};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use units::{SECTOR_BYTES, quantity};

/// Most bytes of a drive: all it holds is kept in memory, some three times.
pub const MOST_BYTES: u64 = 4 << 30;

/// Checks that this process may have the memory for what a disk of so many bytes holds.
///
/// # Errors
/// In words: how much that is, and what the limit is.
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

/// What a program is put through: states that any drive may leave which keeps its promises, or that a simulated one
/// does.
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
    /// Stack and settings of the drive that is cut.
    drive: Option<(String, Vec<String>)>,
    guarantee: Guarantee,
    atomic: u64,
    lies: Vec<Lie>,
    faults: Vec<(String, Fault)>,
    limits: Limits,
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
}

impl From<nbd::ErrorNumber> for TortureError {
    fn from(error: nbd::ErrorNumber) -> Self {
        Self::Workload(error)
    }
}

impl Torture {
    /// A disk of `bytes`, whole sectors, all zeros, and a thousand states of what promises leave.
    pub fn new(bytes: u64) -> Self {
        let limits = Limits { seed: 1, first: 0, states: 1000, smaller: 300 };
        let (drive, guarantee, atomic) = (None, Guarantee::AnyOrder, SECTOR_BYTES);
        let trim_bytes = SECTOR_BYTES as u32;
        Self { bytes, trim_bytes, drive, guarantee, atomic, lies: Vec::new(), faults: Vec::new(), limits }
    }

    /// A simulated drive of a stack, with settings such as `drive.capacity=64MiB`, that is cut within its work.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn within(stack: &str, settings: &[&str]) -> Result<Self, DriveError> {
        let settings = with_usual_settings(stack, settings);
        let drive = Drive::new(stack, &settings.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (bytes, trim_bytes) = (drive.bytes(), drive.page_bytes());
        if bytes > MOST_BYTES {
            let problem = format!("a drive of {bytes} bytes is too large: set drive.capacity to {MOST_BYTES} at most");
            return Err(DriveError::Unsupported(problem));
        }
        Ok(Self { drive: Some((stack.to_owned(), settings)), trim_bytes, ..Self::new(bytes) })
    }

    /// What is promised of writes that need not last yet.
    #[must_use]
    pub fn guarantee(self, guarantee: Guarantee) -> Self {
        Self { guarantee, ..self }
    }

    /// Bytes of a unit that is written whole or not at all, whole sectors; 512 unless it is said.
    #[must_use]
    pub fn atomic(self, bytes: u64) -> Self {
        Self { atomic: bytes, ..self }
    }

    /// Promises that are broken; a simulated drive breaks none.
    #[must_use]
    pub fn lies(self, lies: &[Lie]) -> Self {
        Self { lies: lies.to_vec(), ..self }
    }

    /// What fails with each cut of a simulated drive, as `die 1`.
    ///
    /// # Errors
    /// It is no fault.
    pub fn faults(self, faults: &[&str]) -> Result<Self, String> {
        let faults = faults.iter().map(|text| Ok(((*text).to_owned(), text.parse()?)));
        Ok(Self { faults: faults.collect::<Result<_, String>>()?, ..self })
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

    /// Runs `workload` once and `check` on each state. The check is given the disk and the lines that the workload had
    /// said before the cut.
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
        if !recording.changes_something() {
            return Err(TortureError::Nothing);
        }
        let states = States::with_lies(&recording, self.guarantee, &self.lies).atomic(self.atomic);
        let look = &mut |_: &Exploration| ControlFlow::Continue(());
        let judge = &mut |disk: &mut CutDisk<'_>, state: &CrashState| {
            let said: Vec<&str> = recording.said_by(state.step).collect();
            Some(check(disk, &said)?.map_or_else(Verdict::Fails, |()| Verdict::Holds))
        };
        let began = Instant::now();
        let uncut = states.uncut();
        match judge(&mut CutDisk::of(&states.image(&uncut)), &uncut) {
            Some(Verdict::Fails(why)) => return Err(TortureError::Uncut(why)),
            Some(Verdict::Holds) => {}
            None => {
                let (exploration, seconds) = (Exploration::default(), 0.0);
                return Ok(Tried { torture: self.clone(), recording, exploration, seconds });
            }
        }
        let exploration = match &self.drive {
            None => explore(&recording, &states, self.limits, look, judge),
            Some((stack, settings)) => {
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                let drive = Drive::new(stack, &settings)?;
                let faults: Vec<Fault> = self.faults.iter().map(|(_, fault)| *fault).collect();
                explore_drive(&recording, &states, drive, &faults, self.limits, look, judge)?
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        Ok(Tried { torture: self.clone(), recording, exploration, seconds })
    }

    fn asked(&self) -> Asked {
        let guarantee = Guarantee::TABLE.iter().find(|(_, _, own)| *own == self.guarantee);
        let lies = Lie::TABLE.iter().filter(|(_, _, lie)| self.lies.contains(lie));
        Asked {
            seed: self.limits.seed,
            cuts: if self.drive.is_some() { "drive" } else { "promise" }.to_owned(),
            guarantee: guarantee.map_or("", |(name, _, _)| name).to_owned(),
            atomic: self.atomic,
            lies: lies.map(|(name, _, _)| (*name).to_owned()).collect(),
            faults: self.faults.iter().map(|(text, _)| text.clone()).collect(),
            commands: Vec::new(),
            again: "the same call with replay".to_owned(),
        }
    }
}

/// A recording, and what was found in it.
#[derive(Clone, Debug)]
pub struct Tried {
    torture: Torture,
    /// What the workload asked for.
    pub recording: Recording,
    /// What was looked at and found.
    pub exploration: Exploration,
    /// Time that all checks took.
    pub seconds: f64,
}

impl Tried {
    /// What is told of it: as text, as JSON, as a page.
    pub fn report<T>(&self, tell: impl FnOnce(&Report<'_>) -> T) -> T {
        let Self { torture, recording, exploration, seconds } = self;
        let states = States::with_lies(recording, torture.guarantee, &torture.lies).atomic(torture.atomic);
        tell(&Report { asked: &torture.asked(), recording, states: &states, exploration, seconds: *seconds })
    }

    /// What was found, in lines.
    pub fn to_text(&self) -> String {
        self.report(|report| report.to_text(false))
    }
}
