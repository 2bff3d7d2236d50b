//! A session: from a configuration to a measured result.
//!
//! ```text
//! open the workload -> bring the drive into its initial state -> measure -> gather the result
//!    (all checks)       (counted time, or from a snapshot) (warm-up, rest, run) (metrics::RunResult)
//! ```
//! Faithful to: the host sees only requests and completions; preconditioning runs the same layers
//! over the same flash, only without time.
//! Protects: everything wrong with the input is said before anything runs; the result does not
//! depend on whether the initial state was computed or came from a snapshot.

pub mod beside;
mod error;
mod gather;
mod gauges;
mod given;
mod overload;
mod precondition;
mod probe;
pub(crate) mod repeated;
mod requests;
pub(crate) mod rest;
mod shuffled;
mod snapshot;
mod source;
mod steady;
mod suited;
pub(crate) mod tile;
mod timeline;
mod unused;
pub(crate) mod warm_up;
mod wear;
mod written;

pub use error::SessionError;
pub use gather::{Inside, Measured, served};
pub use gauges::Gauge;
pub use given::GivenRequests;
pub use precondition::{end_preconditioning, in_use};
pub use requests::WorkloadRequests;
pub use rest::rest_in_time;
pub use snapshot::{KeptState, Snapshots, USUAL_BYTES, USUAL_FILES};
pub use source::{SAMPLE, WorkloadSource, is_built_in, is_trace};
pub use timeline::{Place, Timeline, TimelinePlan, without_time};
pub use written::Written;

use self::gauges::Gauges;
use self::precondition::Begun;
use self::probe::Probe;
use self::source::Rehearsal;
use self::suited::Suited;
use self::unused::Unused;
use crate::block_device::BlockDevice;
use crate::build::Service;
use crate::clocked::Clocked;
use crate::drive::Drive;
use crate::oracle::Oracle;
use crate::remapped::Remapped;
use crate::run::{self, Ended, HostMeasurements, Loop, Observer, RunError, RunPlan};
use crate::serial::SerialDrive;
use crate::{Config, DrivePlan};
use metrics::{RunResult, Status, WearWindow};
use nand::{CountedFlash, Flash as _, FlashState, MeteredFlash};
use trace::Workload;
use units::{DIE_CAUSES, Nanos};

/// The present phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Writing the whole drive once.
    Fill,
    /// Overwriting it at random.
    Overwrite,
    /// Running the workload until write amplification is steady.
    Steady,
    /// Running requests that do not count, in time.
    WarmUp,
    /// Letting the drive do what it does while the host is idle.
    Rest,
    Measure,
}

/// Watches a session, may stop it, and owns the only clock: simulation code reads none.
pub trait Watcher {
    /// A phase begins; `requests`: how many it will take, where that is known.
    fn phase(&mut self, phase: Phase, requests: Option<u64>);
    /// `done` requests of the phase have completed. `false` stops the session.
    fn progress(&mut self, done: u64) -> bool;
    /// Seconds of wall-clock time since any fixed moment.
    fn seconds(&self) -> f64;
    /// Something worth knowing that does not belong into the result.
    fn remark(&mut self, text: &str);
    /// Something was chosen before a phase begins; the notes of the result tell it as well.
    fn chosen(&mut self, _: &str) {}
    /// What the phase has measured up to now; called as often as [`Watcher::progress`] is.
    fn measured(&mut self, _: &HostMeasurements) {}
}

/// A watcher without a clock that sees nothing and stops nothing.
impl Watcher for () {
    fn phase(&mut self, _: Phase, _: Option<u64>) {}
    fn progress(&mut self, _: u64) -> bool {
        true
    }
    fn seconds(&self) -> f64 {
        0.0
    }
    fn remark(&mut self, _: &str) {}
}

/// Hands the progress of a run on to a watcher.
struct Relay<'a>(&'a mut dyn Watcher);

impl Observer for Relay<'_> {
    fn progress(&mut self, done: u64) -> bool {
        self.0.progress(done)
    }

    fn look(&mut self, sheet: &HostMeasurements) {
        self.0.measured(sheet);
    }
}

/// Hands on how far a run is, and nothing of what it measured.
struct Unseen<'a>(&'a mut dyn Watcher);

impl Observer for Unseen<'_> {
    fn progress(&mut self, done: u64) -> bool {
        self.0.progress(done)
    }
}

/// Settings of a run besides the configuration.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// A built-in workload, a trace file, or `-` for a trace from standard input.
    pub workload: String,
    /// Where preconditioned states are kept; `None`: nowhere.
    pub snapshots: Option<Snapshots>,
}

/// A drive and a workload that were fitted to each other, ready to run.
pub struct Prepared {
    suited: Suited,
}

impl Prepared {
    /// Fits a configuration to the workload of this name: a built-in one, a trace file, or `-`.
    /// Errors: no such workload, a trace that cannot be read, a configuration that cannot be built or has too little
    /// memory.
    pub fn new(config: Config, workload: &str) -> Result<Self, SessionError> {
        Self::of(suited::to_workload(config, workload)?)
    }

    /// Fits a configuration to requests that are in memory; `name` is only what they are called.
    /// Errors: a configuration that cannot be built or has too little memory; requests that go back in time, are empty,
    /// or end beyond the drive.
    pub fn given(config: Config, name: &str, requests: &GivenRequests) -> Result<Self, SessionError> {
        Self::of(suited::to_requests(config, name, requests)?)
    }

    fn of(suited: Suited) -> Result<Self, SessionError> {
        suited.plan.check_memory(false)?;
        Ok(Self { suited })
    }

    pub fn plan(&self) -> &DrivePlan {
        &self.suited.plan
    }

    /// Whether it has dies that work side by side in time, which a timeline shows.
    pub fn has_timeline(&self) -> bool {
        self.suited.plan.service() == Service::Parallel
    }

    /// Runs the session. `snapshots`: where preconditioned states are kept.
    /// Errors: everything [`SessionError`] names: unusable input, a drive that cannot be preconditioned, a steady state
    /// not reached, wrong data returned by the drive.
    pub fn run(&self, snapshots: Option<&Snapshots>, watcher: &mut dyn Watcher) -> Result<RunResult, SessionError> {
        run_session(&self.suited, snapshots, watcher, Beside::default())
    }

    /// As [`Prepared::run`], with the same result, and the wear of each block while it was measured.
    /// Errors: as [`Prepared::run`]; [`SessionError::InOneOrder`], where wear would be that of a repetition.
    pub fn run_wear(
        &self,
        snapshots: Option<&Snapshots>,
        watcher: &mut dyn Watcher,
    ) -> Result<(RunResult, WearWindow), SessionError> {
        if let Some(problem) = self.suited.source.too_even() {
            return Err(SessionError::InOneOrder { problem });
        }
        let mut recorder = wear::Recorder::default();
        let beside = Beside { wear: Some(&mut recorder), ..Beside::default() };
        let result = run_session(&self.suited, snapshots, watcher, beside)?;
        let mut window = recorder.window(&self.suited.plan, &result);
        window.writes_once = self.suited.source.needs_new_order();
        window.passes = self.suited.source.passes(&self.suited.plan);
        Ok((result, window))
    }

    /// As [`Prepared::run`], with the same result, and the work of dies, channels and requests.
    /// Errors: as [`Prepared::run`]; the drive has no dies that work side by side in time.
    pub fn run_timeline(
        &self,
        snapshots: Option<&Snapshots>,
        watcher: &mut dyn Watcher,
        plan: TimelinePlan,
    ) -> Result<(RunResult, Timeline), SessionError> {
        if !self.has_timeline() {
            return Err(timeline::without_time());
        }
        let mut taken = None;
        let beside = Beside { timeline: Some((plan, &mut taken)), ..Beside::default() };
        let result = run_session(&self.suited, snapshots, watcher, beside)?;
        Ok((result, taken.ok_or_else(timeline::without_time)?))
    }
}

/// What is taken down beside a result.
#[derive(Default)]
struct Beside<'a> {
    wear: Option<&'a mut wear::Recorder>,
    timeline: Option<(TimelinePlan, &'a mut Option<Timeline>)>,
}

/// Prepares and runs one session.
pub fn run(config: Config, options: &SessionOptions, watcher: &mut dyn Watcher) -> Result<RunResult, SessionError> {
    Prepared::new(config, &options.workload)?.run(options.snapshots.as_ref(), watcher)
}

fn run_session(
    suited: &Suited,
    snapshots: Option<&Snapshots>,
    watcher: &mut dyn Watcher,
    beside: Beside<'_>,
) -> Result<RunResult, SessionError> {
    let Suited { plan, source, chosen } = suited;
    let workload = source.open()?; // everything wrong with it is said before preconditioning
    let _memory = plan.claim_memory(false)?;
    for choice in chosen {
        watcher.chosen(choice);
    }
    let initial = precondition::initial_state(plan, source, snapshots, watcher)?;
    let session = Session { plan, source, chosen };
    match plan.service() {
        Service::Counted => {
            let Begun { drive, driver, notes, written } = initial.into_drive(plan, CountedFlash::new)?;
            let begun = (written, notes);
            match driver {
                Some(driver) => session.measure(Remapped::new(drive, driver), workload, begun, watcher, beside),
                None => session.measure(drive, workload, begun, watcher, beside),
            }
        }
        Service::Parallel => {
            let Begun { drive, driver, notes, written } = initial.into_drive(plan, |state| plan.timed(state))?;
            let begun = (written, notes);
            match driver {
                Some(driver) => session.measure(Remapped::new(drive, driver), workload, begun, watcher, beside),
                None => session.measure(drive, workload, begun, watcher, beside),
            }
        }
        Service::Serial => {
            let Begun { drive, driver, notes, written } = initial.into_drive(plan, |state| plan.metered(state))?;
            let begun = (written, notes);
            let drive = SerialDrive::new(drive);
            match driver {
                Some(driver) => session.measure(Remapped::new(drive, driver), workload, begun, watcher, beside),
                None => session.measure(drive, workload, begun, watcher, beside),
            }
        }
    }
}

/// Checks that a session could begin, and says what its initial state depends on where that is kept in a snapshot and
/// may serve other sessions as well. Traces are not opened: each is long, and one stands for many sessions.
/// Errors: what [`run()`] would say before it does anything.
pub fn check(config: Config, workload: &str) -> Result<Option<String>, SessionError> {
    if is_trace(workload) {
        let plan = DrivePlan::new(config)?;
        let source = WorkloadSource::new(workload, &plan)?;
        return Ok(precondition::shared_state(&plan, &source));
    }
    let Suited { plan, source, .. } = suited::to_workload(config, workload)?;
    source.open()?;
    Ok(precondition::shared_state(&plan, &source))
}

/// A device that can be measured: a drive, or something around one.
trait Measurable: BlockDevice {
    /// Flash of the drive.
    type Flash: Clocked;

    fn drive(&self) -> &Drive<Self::Flash>;

    /// The same, to be changed.
    fn drive_mut(&mut self) -> &mut Drive<Self::Flash>;

    /// Time its only server was busy, where there is just one, ns.
    fn server_busy_ns(&self) -> Option<Nanos> {
        None
    }

    /// What reads of the host are checked against, where contents are on.
    fn oracle(&self) -> Option<&Oracle> {
        self.drive().oracle()
    }

    /// What a driver of the host counted, where there is one.
    fn remap_report(&self) -> Option<remap::HostReport> {
        None
    }

    /// Everything is counted from here on.
    fn count_anew(&mut self) {
        let drive = self.drive_mut();
        drive.flash_mut().state_mut().reset_counters();
        drive.top_mut().reset_counters();
    }
}

impl<D: Measurable> Measurable for Remapped<D> {
    type Flash = D::Flash;

    fn drive(&self) -> &Drive<D::Flash> {
        self.device().drive()
    }

    fn drive_mut(&mut self) -> &mut Drive<D::Flash> {
        self.device_mut().drive_mut()
    }

    fn server_busy_ns(&self) -> Option<Nanos> {
        self.device().server_busy_ns()
    }

    fn oracle(&self) -> Option<&Oracle> {
        Remapped::oracle(self)
    }

    fn remap_report(&self) -> Option<remap::HostReport> {
        Some(self.report())
    }

    fn count_anew(&mut self) {
        self.device_mut().count_anew();
        self.reset_counters();
    }
}

impl<F: Clocked> Measurable for Drive<F> {
    type Flash = F;

    fn drive(&self) -> &Self {
        self
    }

    fn drive_mut(&mut self) -> &mut Self {
        self
    }
}

impl Measurable for SerialDrive {
    type Flash = MeteredFlash;

    fn drive(&self) -> &Drive<MeteredFlash> {
        self.drive()
    }

    fn drive_mut(&mut self) -> &mut Drive<MeteredFlash> {
        SerialDrive::drive_mut(self)
    }

    fn server_busy_ns(&self) -> Option<Nanos> {
        Some(self.busy_ns().iter().sum())
    }
}

struct Session<'a> {
    plan: &'a DrivePlan,
    source: &'a WorkloadSource,
    chosen: &'a [String],
}

impl Session<'_> {
    fn run_plan(&self) -> RunPlan {
        let values = &self.plan.config.values;
        let arrivals = if self.source.is_closed() {
            Loop::Closed { depth: values.whole("workload.queue_depth") as u32 }
        } else {
            Loop::Open { limit: values.whole("host.queue_limit") as u32 }
        };
        RunPlan {
            arrivals,
            limit: values.whole("workload.requests"),
            sectors_per_page: self.plan.array.chip_page_sectors(),
            timed: self.plan.is_timed(),
        }
    }

    /// Says so where dies were to fail, and none did.
    fn no_die_failed<F: Clocked>(&self, drive: &Drive<F>, sheet: &run::HostMeasurements) -> Option<String> {
        let requests: u64 = sheet.totals.iter().map(|op| op.requests).sum();
        let after = self.plan.config.values.whole("flash.fault.dies_after");
        (!drive.dying().is_empty()).then(|| {
            format!(
                "No die failed: the run had {requests} requests, and flash.fault.dies_after is {after}. \
                Lower it, or raise workload.requests."
            )
        })
    }

    /// Runs the requests that do not count, and says how that ended.
    fn warm_up<D: Measurable>(
        &self,
        device: &mut D,
        run_plan: RunPlan,
        watcher: &mut dyn Watcher,
        written: &mut Written,
    ) -> Result<Ended, SessionError> {
        let limit = warm_up::requests(self.plan);
        if limit == 0 {
            return Ok(Ended::Complete);
        }
        watcher.phase(Phase::WarmUp, Some(limit));
        let mut workload = self.source.open_rehearsal(Rehearsal::WarmUp)?;
        let run_plan = RunPlan { limit, ..run_plan };
        let probe = Probe { array: &self.plan.array, wear: None, gauges: None, written };
        let (ended, _) = run::run_probed(device, &mut *workload, run_plan, &mut Unseen(watcher), probe)?;
        device.count_anew();
        if ended == Ended::Stopped { Err(SessionError::Interrupted) } else { Ok(ended) }
    }

    /// Runs the workload, and takes down what is wanted beside its result.
    fn run_workload<D: Measurable>(
        &self,
        device: &mut D,
        workload: &mut dyn Workload,
        run_plan: RunPlan,
        watcher: &mut dyn Watcher,
        (Beside { wear, timeline }, written): (Beside<'_>, &mut Written),
    ) -> Result<(Ended, HostMeasurements), RunError> {
        let begun = device.now();
        let recorded = timeline.as_ref().map(|(plan, _)| plan.from(begun));
        if let Some(plan) = recorded {
            device.drive_mut().flash_mut().record(plan);
        }
        let mut gauges = recorded.and_then(|plan| plan.window).map(Gauges::new);
        let probe = Probe { array: &self.plan.array, wear, gauges: gauges.as_mut(), written };
        let outcome = run::run_probed(device, workload, run_plan, &mut Relay(watcher), probe);
        if let Some((_, taken)) = timeline {
            let recorder = device.drive_mut().flash_mut().take_recording();
            let rows = gauges.map(|gauges| gauges.rows).unwrap_or_default();
            let window = recorded.and_then(|plan| plan.window);
            *taken = recorder.map(|recorder| Timeline::new(self.plan, (begun, window), recorder, rows));
        }
        outcome
    }

    fn measure<D: Measurable>(
        &self,
        mut device: D,
        mut workload: source::Opened,
        (mut written, mut notes): (Written, Vec<String>),
        watcher: &mut dyn Watcher,
        Beside { mut wear, timeline }: Beside<'_>,
    ) -> Result<RunResult, SessionError> {
        let run_plan = self.run_plan();
        let bad_before = bad_blocks(device.drive().flash().state());
        let warmed_up = self.warm_up(&mut device, run_plan, watcher, &mut written)?;
        if warmed_up == Ended::Complete {
            rest::before_run(self.plan, &mut device, watcher, warm_up::requests(self.plan) > 0);
        }
        notes.extend(rest::note(self.plan, &device));
        self.plan.arm_deaths(device.drive_mut());
        let expected = workload.remaining().map(|left| left.min(run_plan.limit));
        watcher.phase(Phase::Measure, expected);
        if let Some(wear) = &mut wear {
            wear.begin(device.drive().flash().state());
        }
        let held_before = written.share();
        let beside = Beside { wear: wear.as_deref_mut(), timeline };
        let started = watcher.seconds();
        let outcome = match warmed_up {
            Ended::Complete => {
                self.run_workload(&mut device, &mut *workload, run_plan, watcher, (beside, &mut written))
            }
            early => Ok((early, HostMeasurements::new(device.sectors(), device.now()))),
        };
        let wall_s = watcher.seconds() - started;
        let drive = device.drive();
        if let Some(violation) = device.oracle().and_then(|oracle| oracle.violation()) {
            return Err(SessionError::Integrity { problem: violation.to_owned() });
        }
        let (ended, sheet) = outcome?;
        if let Some(wear) = wear {
            wear.end(&sheet);
        }
        let status = status(ended, bad_blocks(drive.flash().state()) > bad_before);
        // A doubt goes first, as everything else is read in its light.
        notes.splice(0..0, workload.doubt().into_iter().chain(self.chosen.iter().cloned()));
        notes.extend(written::note(self.plan, held_before, written.share()));
        notes.extend((warmed_up == Ended::Stuck).then(warm_up::stuck));
        notes.extend(workload.notes());
        let recorded = workload.recorded_latency();
        notes.extend(self.no_die_failed(drive, &sheet));
        let unused = Unused::new(self.plan, self.source);
        let unused_keys: Vec<String> = unused.names().map(str::to_owned).chain(self.source.unused_keys()).collect();
        notes.extend(unused::renamed(self.plan));
        notes.extend(unused.notes(self.plan));
        let goes_on = status == Status::Complete && !self.source.is_generated() && has_more(&mut *workload)?;
        notes.extend(goes_on.then(|| left_over(run_plan.limit)));
        let queue_depth = self.source.is_closed().then(|| self.plan.config.values.whole("workload.queue_depth"));
        let measured = Measured {
            workload: self.source.label(),
            queue_depth,
            sheet,
            status,
            wall_s,
            notes,
            chosen: self.chosen.to_vec(),
            more_writes: self.source.more_writes(goes_on),
            unused: unused_keys,
            recorded,
        };
        Ok(gather::result(self.plan, &device, measured))
    }
}

fn status(ended: Ended, has_lost_blocks: bool) -> Status {
    match ended {
        Ended::Complete => Status::Complete,
        Ended::Stopped => Status::Interrupted,
        Ended::Stuck if has_lost_blocks => Status::WornOut,
        Ended::Stuck => Status::DriveFull,
    }
}

/// What to say of a trace that has more requests than were run.
fn left_over(limit: u64) -> String {
    format!("The trace goes on after the {limit} requests that were run: raise workload.requests.")
}

/// Whether a workload has a further request.
fn has_more(workload: &mut dyn Workload) -> Result<bool, SessionError> {
    let mut batch = Vec::new();
    workload.next_batch(&mut batch, 1)?;
    Ok(!batch.is_empty())
}

/// Flash programs by [`units::Cause::index`].
fn programs<F: Clocked>(drive: &Drive<F>) -> [u64; DIE_CAUSES] {
    drive.flash().state().counters.programs
}

fn bad_blocks(state: &FlashState) -> usize {
    state.blocks().iter().filter(|row| row.is_bad() || row.has_failed()).count()
}
