//! Power loss in one's own tests: a program as a function, in this process.

use crate::cut_disk::CutDisk;
use crate::explore::{Exploration, Limits, Verdict, explore};
use crate::lies::Lie;
use crate::recording::{Recorder, Recording};
use crate::simulated::explore_drive;
use crate::states::{Guarantee, States};
use drive::{Drive, DriveError, Fault};
use std::ops::ControlFlow;

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
    /// Stack and settings of the drive that is cut.
    drive: Option<(String, Vec<String>)>,
    guarantee: Guarantee,
    lies: Vec<Lie>,
    faults: Vec<Fault>,
    limits: Limits,
}

/// Why a program could not be put through it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TortureError {
    /// The workload was refused a request.
    #[error("the workload was refused a request: {0:?}")]
    Workload(nbd::ErrorNumber),
    /// The simulated drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

impl From<nbd::ErrorNumber> for TortureError {
    fn from(error: nbd::ErrorNumber) -> Self {
        Self::Workload(error)
    }
}

/// A recording, and what was found in it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What the workload asked for.
    pub recording: Recording,
    /// What was looked at and found.
    pub exploration: Exploration,
}

impl Torture {
    /// A disk of `bytes`, whole sectors, all zeros, and a thousand states of what promises leave.
    pub fn new(bytes: u64) -> Self {
        let limits = Limits { seed: 1, first: 0, states: 1000, smaller: 300 };
        Self { bytes, drive: None, guarantee: Guarantee::AnyOrder, lies: Vec::new(), faults: Vec::new(), limits }
    }

    /// A simulated drive of a stack, with settings such as `drive.capacity=64MiB`, that is cut within its work.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn within(stack: &str, settings: &[&str]) -> Result<Self, DriveError> {
        let bytes = Drive::new(stack, settings)?.bytes();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Ok(Self { drive: Some((stack.to_owned(), settings)), ..Self::new(bytes) })
    }

    /// What is promised of writes that need not last yet.
    #[must_use]
    pub fn guarantee(self, guarantee: Guarantee) -> Self {
        Self { guarantee, ..self }
    }

    /// Promises that are broken; a simulated drive breaks none.
    #[must_use]
    pub fn lies(self, lies: &[Lie]) -> Self {
        Self { lies: lies.to_vec(), ..self }
    }

    /// What fails with each cut of a simulated drive.
    #[must_use]
    pub fn faults(self, faults: &[Fault]) -> Self {
        Self { faults: faults.to_vec(), ..self }
    }

    /// How many states are drawn.
    #[must_use]
    pub fn states(mut self, states: u64) -> Self {
        self.limits.states = states;
        self
    }

    /// What draws them.
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
        workload: impl FnOnce(&mut Recorder<CutDisk<'_>>) -> Result<(), nbd::ErrorNumber>,
        mut check: impl FnMut(&mut CutDisk<'_>, &[&str]) -> Result<(), String>,
    ) -> Result<Tried, TortureError> {
        let before = vec![0; self.bytes as usize];
        let mut recorder = Recorder::new(CutDisk::new(&before), before.clone());
        workload(&mut recorder)?;
        let recording = recorder.finish().0;
        let states = States::with_lies(&recording, self.guarantee, &self.lies);
        let look = &mut |_: &Exploration| ControlFlow::Continue(());
        let judge = &mut |disk: &mut CutDisk<'_>, state: &crate::CrashState| {
            let said: Vec<&str> = recording.said_by(state.step).collect();
            Some(check(disk, &said).map_or_else(Verdict::Fails, |()| Verdict::Holds))
        };
        let exploration = match &self.drive {
            None => explore(&recording, &states, self.limits, look, judge),
            Some((stack, settings)) => {
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                let drive = Drive::new(stack, &settings)?;
                explore_drive(&recording, &states, drive, &self.faults, self.limits, look, judge)?
            }
        };
        Ok(Tried { recording, exploration })
    }
}

impl Tried {
    /// What was found, in lines.
    pub fn to_text(&self) -> String {
        let Exploration { states, checked, found, .. } = &self.exploration;
        let drawn = format!("{states} states drawn, {checked} checked\n");
        match found {
            None => drawn + "holds, as far as these go\n",
            Some(found) => drawn + &found.to_text(&self.recording),
        }
    }
}
