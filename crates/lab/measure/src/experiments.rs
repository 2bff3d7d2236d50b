//! The figures that fitting needs of a drive, measured with fio.

use crate::MeasureError;
use crate::fio::Fio;
use crate::nbd_client::Client;
use crate::target::Target;
use fit::{Experiment, MeasuredDrive};
use remap::target::Access;
use std::sync::atomic::AtomicBool;
use units::quantity::exact_size;

/// The measured target, and the way.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The address of an NBD server, a file, or a block device.
    pub target: String,
    /// Name of the drive.
    pub name: String,
    /// Bytes to work on; all of the target where it is `None`.
    pub size: Option<u64>,
    /// Length of each experiment, from 1 on.
    pub seconds: u64,
    /// Writes are measured as well: all data on the target is lost.
    pub overwrites: bool,
    /// The way to the steady state, and latencies in it; only where writes are measured.
    pub steady: bool,
}

/// A measurement of requests of one kind, so many at a time.
#[derive(Clone, Copy)]
pub(crate) struct Closed {
    /// Name of the kind in fio, and bytes of a request.
    pub kind: &'static str,
    pub size: &'static str,
    pub depth: u32,
    pub writes: bool,
    /// Goes through the whole drive once, however long that takes.
    pub is_fill: bool,
}

#[derive(Clone, Copy)]
enum Step {
    Closed(Closed),
    /// After another fill, random writes at full speed until the drive is in steady state.
    Transient,
    /// A client beside writes that arrive by themselves, so large a share of the steady rate.
    Offered(f64),
}

const fn reads(kind: &'static str, size: &'static str, depth: u32) -> Step {
    Step::Closed(Closed { kind, size, depth, writes: false, is_fill: false })
}

const fn writes(kind: &'static str, size: &'static str, depth: u32) -> Step {
    Step::Closed(Closed { kind, size, depth, writes: true, is_fill: false })
}

/// The whole drive written in order.
const FILL: Closed = Closed { kind: "write", size: "1m", depth: 8, writes: true, is_fill: true };

/// What is measured, in this order: the fill comes first of what writes, as reads of what was never written are fast.
const STEPS: [Step; 16] = [
    Step::Closed(FILL),
    writes("write", "128k", 32),
    reads("randread", "4k", 1),
    reads("randread", "4k", 4),
    reads("randread", "4k", 32),
    reads("randread", "4k", 256),
    reads("read", "128k", 32),
    writes("randwrite", "4k", 1),
    writes("randwrite", "4k", 4),
    writes("randwrite", "4k", 32),
    Step::Transient,
    Step::Offered(0.1),
    Step::Offered(0.3),
    Step::Offered(0.5),
    Step::Offered(0.7),
    Step::Offered(0.9),
];
/// Times that an experiment is done until its figures agree with the others.
const TRIES: usize = 3;
/// Requests at a time of the transient, and times the drive is written in it.
const TRANSIENT: (u32, u64) = (32, 4);

impl Step {
    fn is_wanted(self, plan: &Plan) -> bool {
        match self {
            Step::Closed(closed) => !closed.writes || plan.overwrites,
            Step::Transient | Step::Offered(_) => plan.steady,
        }
    }

    fn title(self) -> String {
        match self {
            Step::Closed(Closed { kind, size, depth, .. }) => format!("{kind} of {size}, depth {depth}"),
            Step::Transient => {
                format!("a fill, then {} times the drive in randwrite of 4k, depth {}", TRANSIENT.1, TRANSIENT.0)
            }
            Step::Offered(share) => format!("one request at a time beside {:.0} % of the steady writes", share * 100.0),
        }
    }
}

/// The experiments of a plan, done one after the other.
pub struct Experiments {
    name: String,
    fio: Fio,
    version: String,
    steps: Vec<Step>,
    /// Steps that were done.
    done: usize,
    found: Vec<Experiment>,
    /// Times the drive was overwritten at random since it was filled.
    overwritten: f64,
}

impl Experiments {
    /// Looks at the target and for fio.
    ///
    /// # Errors
    /// The target is not there, or not of the size that was given, or cannot be opened as is needed; fio cannot be run.
    pub fn new(plan: &Plan) -> Result<Self, MeasureError> {
        let size = size(plan)?;
        // Its windows are a fiftieth of a drive write, and take a moment each.
        let (least, what) =
            if plan.steady { (1 << 28, "a steady state is measured of") } else { (1 << 20, "a drive has") };
        if size < least {
            let (has, least) = (exact_size(size), exact_size(least));
            return Err(MeasureError::Usage(format!("{} has {has}; {what} {least} or more", plan.target)));
        }
        Ok(Self {
            name: plan.name.clone(),
            fio: Fio::new(&plan.target, size, plan.seconds),
            version: Fio::version()?,
            steps: STEPS.into_iter().filter(|step| step.is_wanted(plan)).collect(),
            done: 0,
            found: Vec::new(),
            overwritten: 0.0,
        })
    }

    /// How many there are.
    pub fn all(&self) -> usize {
        self.steps.len()
    }

    /// How many were done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The next experiment, in words; `None` after the last.
    pub fn next_title(&self) -> Option<String> {
        self.steps.get(self.done).map(|step| step.title())
    }

    /// The measurements so far.
    pub fn found(&self) -> &[Experiment] {
        &self.found
    }

    /// The measurements so far, as `fit` takes it.
    pub fn drive(&self) -> MeasuredDrive {
        fit::from_experiments(&self.name, self.fio.size, &self.version, self.found.clone())
    }

    /// Does the next one; nothing after the last. It is done anew, a few times at most, while no drive can have its
    /// figures beside the others, and is left out in the end: the host was busy with something else, and `fit` would
    /// refuse the file. Returns why it was left out.
    ///
    /// # Errors
    /// fio fails, or `stop` was set.
    pub fn step(&mut self, stop: &AtomicBool) -> Result<Option<String>, MeasureError> {
        let Some(step) = self.steps.get(self.done) else { return Ok(None) };
        let (step, before) = (*step, self.found.len());
        let mut problem = None;
        for _ in 0..TRIES {
            let done = self.measure(step, stop)?;
            self.found.truncate(before);
            self.found.extend(done);
            problem = self.drive().contradiction();
            if problem.is_none() {
                break;
            }
        }
        if problem.is_some() {
            self.found.truncate(before);
        }
        self.done += 1;
        Ok(problem)
    }

    fn measure(&mut self, step: Step, stop: &AtomicBool) -> Result<Option<Experiment>, MeasureError> {
        let (fio, size) = (&self.fio, self.fio.size);
        match step {
            Step::Closed(closed) => {
                let text = fio.closed(&closed, stop)?;
                let done = fit::closed_from_fio(&step.title(), size, self.overwritten, &text);
                let done = done.map_err(MeasureError::Failed)?;
                if closed.kind == "randwrite" {
                    let bytes = done.measured.get("rate").copied().unwrap_or(0.0) * fio.seconds as f64;
                    self.overwritten += bytes / size as f64;
                }
                Ok(Some(done))
            }
            Step::Transient => {
                fio.closed(&FILL, stop)?;
                let rates = fio.transient(TRANSIENT.0, size * TRANSIENT.1, stop)?;
                Ok(Some(fit::transient(&rates, size, TRANSIENT.0)))
            }
            Step::Offered(share) => {
                let steady = self.found.iter().find_map(|one| one.measured.get("steady")).copied().unwrap_or(0.0);
                let writes = (steady * share).round();
                // A drive so slow has nothing that could be offered.
                if writes < 1.0 {
                    return Ok(None);
                }
                let text = fio.offered(writes as u64, stop)?;
                fit::offered_from_fio(&step.title(), size, writes, &text).map(Some).map_err(MeasureError::Failed)
            }
        }
    }
}

/// Bytes to work on.
fn size(plan: &Plan) -> Result<u64, MeasureError> {
    let target = &plan.target;
    if let Some(size) = plan.size.filter(|_| Client::is_uri(target)) {
        return Ok(size);
    }
    let access = if plan.overwrites { Access::Write } else { Access::Read };
    let all = Target::open(target, access)?.bytes();
    let size = plan.size.unwrap_or(all);
    if size > all {
        let all = exact_size(all);
        let problem = format!("{target} has {all}, and a file is not made larger to be measured: take a smaller size");
        return Err(MeasureError::Usage(problem));
    }
    Ok(size)
}
