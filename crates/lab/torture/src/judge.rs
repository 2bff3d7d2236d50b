//! The judge of disks: a check on the thread that asks, or a check on the threads of a monitor.

use crate::cut_disk::CutDisk;
use crate::drive_image::DriveImage;
use crate::explore::{Check, Verdict};
use crate::harness::TortureError;
use crate::states::CrashState;
use experiment::{Monitor, ThreadPool, ThreadsError};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A verdict; `None`: the check was interrupted.
///
/// Errors: the check could not be made.
pub(crate) type Judged = Result<Option<Verdict>, TortureError>;

/// Judges a disk on any thread. The last argument tells whether its verdict is not wanted any more.
pub(crate) type SharedCheck<'a> =
    dyn Fn(&mut CutDisk<'_>, &CrashState, &(dyn Fn() -> bool + Sync)) -> Judged + Sync + 'a;

/// Judges a state and the drive that is in it.
pub(crate) type JudgeOne<'a> = dyn FnMut(&CrashState, &DriveImage<'_>) -> Judged + 'a;

/// A check that failed: its number among all that are made, and its message. The check of the disk as the workload left
/// it has number 0.
pub type FailedCheck = (u64, String);

/// Which checks are made here, until one has failed. The others count as content.
#[derive(Clone, Debug, Default)]
pub(crate) enum Checks {
    #[default]
    All,
    /// Each `count`-th, from `index`.
    Shard { index: u64, count: u64 },
    /// None: they were made elsewhere, and this is the first that failed.
    Known(Option<FailedCheck>),
}

impl Checks {
    /// The known verdict of the check with this number; `None`: it is to be made.
    pub fn verdict(&self, number: u64) -> Option<Verdict> {
        match self {
            Checks::All => None,
            Checks::Shard { index, count } => (number % count != *index).then_some(Verdict::Holds),
            Checks::Known(Some((failed, why))) if *failed == number => Some(Verdict::Fails(why.clone())),
            Checks::Known(_) => Some(Verdict::Holds),
        }
    }
}

/// A check, and the threads that it runs on.
pub(crate) enum Judge<'a> {
    /// On the thread that asks.
    OneByOne(&'a mut Check<'a>),
    /// On several.
    SideBySide { check: &'a SharedCheck<'a>, monitor: &'a dyn Monitor, pool: Option<ThreadPool> },
}

impl<'a> Judge<'a> {
    /// A check on as many threads as a monitor asks for, and no more than `jobs`.
    ///
    /// # Errors
    /// The system does not give the threads.
    pub fn side_by_side(
        check: &'a SharedCheck<'a>,
        monitor: &'a dyn Monitor,
        jobs: usize,
    ) -> Result<Self, ThreadsError> {
        // A single one would only be waited for.
        let pool = experiment::for_monitor(monitor, jobs)?.filter(|pool| pool.current_num_threads() > 1);
        Ok(Self::SideBySide { check, monitor, pool })
    }

    /// The threads, where there are several.
    pub fn pool(&self) -> Option<&ThreadPool> {
        match self {
            Self::OneByOne(_) => None,
            Self::SideBySide { pool, .. } => pool.as_ref(),
        }
    }

    /// How many checks are made at once.
    pub fn threads(&self) -> usize {
        self.pool().map_or(1, ThreadPool::current_num_threads)
    }

    /// Judges one disk.
    pub fn one(&mut self, state: &CrashState, image: &DriveImage<'_>) -> Judged {
        match self {
            Self::OneByOne(check) => Ok(check(&mut CutDisk::of(image), state)),
            Self::SideBySide { check, monitor, .. } => check(&mut CutDisk::of(image), state, &|| monitor.is_stopped()),
        }
    }

    /// Judges each item, in their order, until one does not hold: later items may have no verdict. `make`
    /// hands over the state of an item and the drive in it.
    pub fn each<T: Sync>(
        &mut self,
        items: &[T],
        make: impl Fn(&T, &mut JudgeOne<'_>) -> Judged + Sync,
    ) -> Vec<Option<Judged>> {
        let holds = |judged: &Judged| matches!(judged, Ok(Some(Verdict::Holds)));
        let Self::SideBySide { check, monitor, pool } = self else {
            let mut given = Vec::with_capacity(items.len());
            for item in items {
                let judged = make(item, &mut |state, image| self.one(state, image));
                let goes_on = holds(&judged);
                given.push(Some(judged));
                if !goes_on {
                    break;
                }
            }
            return given;
        };
        // The first item that does not hold.
        let first = AtomicUsize::new(usize::MAX);
        experiment::in_turn(pool.as_ref(), items, |number, item| {
            let is_over = || monitor.is_stopped() || first.load(Ordering::Relaxed) < number;
            if is_over() {
                return ControlFlow::Break(Ok(None));
            }
            let judged = make(item, &mut |state, image| check(&mut CutDisk::of(image), state, &is_over));
            if holds(&judged) {
                return ControlFlow::Continue(judged);
            }
            first.fetch_min(number, Ordering::Relaxed);
            ControlFlow::Break(judged)
        })
    }
}
