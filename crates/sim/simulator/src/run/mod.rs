//! Running a workload against a block device: open loop at trace time, or closed loop at a queue depth.

mod at_once;
mod source;

use crate::block_device::{BlockDevice, Completion, Completions, Progress};
use crate::host_queue::HostQueue;
use metrics::{AddressMap, Course, LatencyRecorder, Look, OpTotals, Series, Unwritten};
use nand::WaitVector;
use source::Source;
pub(crate) use source::{TOGETHER, announce};
use trace::{Workload, WorkloadError};
use units::{DIE_CAUSES, HostOp, Nanos, Request, quantity};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// This many requests are always under way; arrival times are ignored.
    Closed { depth: u32 },
    /// Requests arrive at their own time; at most `limit` are under way, further ones queue.
    Open {
        /// Requests the device takes at once.
        limit: u32,
    },
}

/// Watches a run, and may stop it.
pub trait Observer {
    /// `done` requests have completed; called every few thousand. `false` stops the run.
    fn progress(&mut self, done: u64) -> bool;

    /// What was measured up to now; called before [`Observer::progress`] is.
    fn look(&mut self, _: &HostMeasurements) {}
}

/// An observer that does nothing.
impl Observer for () {
    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// Observations inside a device during a run. The run does not depend on them.
pub trait Probe<D> {
    /// Flash programs so far, by [`units::Cause::index`].
    fn programs(&self, device: &D) -> [u64; DIE_CAUSES];

    /// Blocks that are erased and can be programmed; `None`: nobody counts them. Asked at the end of an interval.
    fn free_blocks(&self, _: &D) -> Option<u32> {
        None
    }

    /// Requests that have to be done before the next mark.
    fn next_mark(&self) -> u64 {
        u64::MAX
    }

    /// Whether a request that is about to be submitted reads only pages that hold nothing: such reads are counted
    /// apart.
    #[inline]
    fn is_unwritten(&mut self, _: &Request) -> bool {
        false
    }

    /// `_done` requests are done. [`Probe::next_mark`] has to grow, or the next completion comes here again.
    fn mark(&mut self, _: &D, _: &HostMeasurements, _done: u64) {}
}

/// A probe that looks at programs alone.
struct Programs<F>(F);

impl<D, F: Fn(&D) -> [u64; DIE_CAUSES]> Probe<D> for Programs<F> {
    fn programs(&self, device: &D) -> [u64; DIE_CAUSES] {
        self.0(device)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The workload ended and everything was served.
    Complete,
    /// The observer stopped it.
    Stopped,
    /// Requests are waiting and nothing will ever make room for them.
    Stuck,
}

/// The measurements of a run on the host's side.
#[derive(Clone, Debug)]
pub struct HostMeasurements {
    /// Totals by kind of request.
    pub totals: [OpTotals; 4],
    /// Latencies by kind of request.
    pub latency: Vec<LatencyRecorder>,
    /// Reads of pages that hold nothing, which are in neither of these.
    pub unwritten: Unwritten,
    pub series: Series,
    /// Reads and writes by their number, in an open loop.
    pub course: Course,
    /// Requests over time and address.
    pub addresses: AddressMap,
    /// When the run began.
    pub started: Nanos,
    /// When the last request arrived, since the run began, time passing or not; nothing in a closed loop.
    pub last_arrival: Option<Nanos>,
    /// When the last request completed.
    pub ended: Nanos,
    /// Hash over the completions.
    pub hash: u64,
    /// What the host's queue waits for.
    queue: HostQueue,
}

impl HostMeasurements {
    /// Nothing measured yet of a device of `sectors`, from `started` on.
    pub fn new(sectors: u64, started: Nanos) -> Self {
        Self {
            totals: [OpTotals::default(); 4],
            latency: std::iter::repeat_with(LatencyRecorder::default).take(4).collect(),
            unwritten: Unwritten::default(),
            series: Series::default(),
            course: Course::default(),
            addresses: AddressMap::new(sectors),
            started,
            last_arrival: None,
            ended: started,
            hash: 0,
            queue: HostQueue::default(),
        }
    }

    /// Takes what completed at `now` by the clock that arrivals are told by. `elapsed`: time since the measurements
    /// began; `outstanding`: requests under way until now; `look`: what the drive shows now.
    #[inline]
    pub fn take(
        &mut self,
        completions: &Completions,
        now: Nanos,
        elapsed: Nanos,
        outstanding: u32,
        mut counting: Counting<impl FnMut(&Completion) -> bool>,
        look: impl FnOnce() -> Look,
    ) {
        if self.series.is_over(elapsed) {
            self.series.roll(elapsed, look(), outstanding);
        }
        self.series.elapse(elapsed, outstanding);
        let is_full = outstanding >= counting.places;
        for completion in &completions.done {
            // A closed loop has no course: its depth is its load.
            if self.last_arrival.is_some() && has_course(&completion.request) {
                self.course.completes(elapsed);
            }
            if (counting.is_unwritten)(completion) {
                self.take_unwritten(completion, completions, now, counting.page_shift, counting.timed);
                continue;
            }
            let request = &completion.request;
            count(&mut self.totals[request.op.index()], request, completion.failed, counting.page_shift);
            if counting.timed {
                let latency = now - request.arrival;
                self.note_latency(latency);
                let wait = completion.wait.map(|index| &completions.waits[index]);
                debug_assert!(
                    completion.explained(wait).iter().all(|explained| *explained <= latency),
                    "{request:?} took {latency} ns: {completion:?}, {wait:?}"
                );
                let roots = self.series.waited(request.op);
                self.latency[request.op.index()].record_with(latency, wait.map(waits), roots);
                if is_full || completion.queue_ns > 0 {
                    self.take_queued(completion, wait, now);
                } else {
                    self.queue.has_room();
                }
                self.series.record(request.op, latency, bytes_of(request));
            }
        }
        self.ended = self.started + elapsed;
    }

    #[inline]
    fn note_latency(&mut self, latency: Nanos) {
        self.hash = (self.hash.rotate_left(7) ^ latency).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// The drive was full, or had been while this request stood in the host's queue.
    #[cold]
    fn take_queued(&mut self, completion: &Completion, wait: Option<&WaitVector>, now: Nanos) {
        let Request { op, arrival, .. } = completion.request;
        let by_root = self.queue.left(completion, wait, now, now - arrival);
        let recorder = &mut self.latency[op.index()];
        recorder.record_queue(now - arrival, completion.queue_ns, Some(by_root), self.series.waited(op));
    }

    /// A read of pages that hold nothing.
    #[cold]
    fn take_unwritten(
        &mut self,
        completion: &Completion,
        completions: &Completions,
        now: Nanos,
        page_shift: u32,
        timed: bool,
    ) {
        count(&mut self.unwritten.totals, &completion.request, completion.failed, page_shift);
        if timed {
            let latency = now - completion.request.arrival;
            self.note_latency(latency);
            let wait = completion.wait.map(|index| waits(&completions.waits[index]));
            self.unwritten.latency.record(latency, wait, completion.queue_ns);
            self.series.record_unwritten();
        }
    }
}

#[inline]
fn count(totals: &mut OpTotals, request: &Request, failed: bool, page_shift: u32) {
    totals.requests += 1;
    totals.pages += pages_of(request, page_shift);
    totals.bytes += bytes_of(request);
    totals.failed += u64::from(failed);
}

/// Whether a request counts in the course of a run: it reads or writes.
#[inline]
fn has_course(request: &Request) -> bool {
    request.op.index() < 2
}

/// Bytes a request names.
#[inline]
fn bytes_of(request: &Request) -> u64 {
    u64::from(request.sectors) * units::SECTOR_BYTES
}

#[inline]
fn waits(wait: &WaitVector) -> metrics::Waits<'_> {
    metrics::Waits { entries: &wait.entries, kinds: wait.kinds }
}

/// How requests are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting<U> {
    /// Sectors of a page as a power of two.
    pub page_shift: u32,
    /// Whether time passes; otherwise latencies are not recorded.
    pub timed: bool,
    /// Requests that the drive takes at once.
    pub places: u32,
    /// Whether what completed is a read of pages that hold nothing.
    pub is_unwritten: U,
}

/// Tags of requests in a run: of all but reads of pages that hold nothing, and of these.
const TAG: u32 = 0;
const UNWRITTEN_TAG: u32 = 1;

/// A request the workload has no right to make, or a workload that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A request ends beyond the drive.
    #[error(
        "request {number} ends at sector {end}, but the drive has {sectors} sectors; enlarge drive.capacity, or choose \
         workload.fit = modulo, compact or scale for a trace"
    )]
    BeyondDrive {
        /// Number of the request, from 1.
        number: u64,
        /// Sector after its last.
        end: u64,
        /// Sectors of the drive.
        sectors: u64,
    },
    /// A request arrives later than the device can tell.
    #[error(
        "request {number} arrives {arrival} after the first, and a drive of this many dies can be simulated for \
         {limit}. Shorten the trace, cut long gaps in it with workload.gap_limit, or set workload.time_scale below 1 \
         (workload.loop = closed does without arrival times)"
    )]
    TooLate {
        /// Number of the request, from 1.
        number: u64,
        /// When it arrives, as text.
        arrival: String,
        /// The latest time, as text.
        limit: String,
    },
    #[error("request {number} has no sectors; only a flush may have none")]
    Empty {
        /// Number of the request, from 1.
        number: u64,
    },
}

/// Share of a device's time that is kept for serving what has arrived, as a divisor.
const TIME_TO_SERVE: Nanos = 16;
/// Pages of requests and steps of the device between two calls of the observer, which may stop the run; a request
/// counts as one page at least. Counted in requests alone, large ones and a drive that cleans would let the user wait
/// for minutes.
const OBSERVE_EVERY: u64 = 1 << 14;

#[derive(Clone, Copy, Debug)]
pub struct RunPlan {
    pub arrivals: Loop,
    /// Most requests to run.
    pub limit: u64,
    /// Sectors of a flash page (a power of two), for page counts.
    pub sectors_per_page: u32,
    /// Whether time passes; otherwise latencies are not recorded.
    pub timed: bool,
}

struct Runner<'a, D: BlockDevice> {
    device: &'a mut D,
    plan: RunPlan,
    /// Sectors of a page as a power of two.
    page_shift: u32,
    /// Requests that the drive takes at once.
    places: u32,
    outstanding: u32,
    /// Requests of a round that were served at once, before the round is done.
    rest: u32,
    completions: Completions,
    sheet: HostMeasurements,
    done: u64,
    /// Pages of the requests that were submitted, and steps of the device, since the observer was called.
    unobserved: u64,
    mark_at: u64,
}

/// Runs `workload` against `device`. `programs` gives flash programs so far (host, all others).
/// Errors: the workload fails or asks for something the device does not have; the measurements are lost.
pub fn run<D: BlockDevice>(
    device: &mut D,
    workload: &mut dyn Workload,
    plan: RunPlan,
    observer: &mut dyn Observer,
    programs: impl Fn(&D) -> [u64; DIE_CAUSES],
) -> Result<(Ended, HostMeasurements), RunError> {
    run_probed(device, workload, plan, observer, Programs(programs))
}

/// As [`run`]; `probe` looks into the device.
/// Errors: the workload fails or asks for something the device does not have; the measurements are lost.
pub fn run_probed<D: BlockDevice>(
    device: &mut D,
    workload: &mut dyn Workload,
    plan: RunPlan,
    observer: &mut dyn Observer,
    mut probe: impl Probe<D>,
) -> Result<(Ended, HostMeasurements), RunError> {
    let started = device.now();
    let sheet = HostMeasurements::new(device.sectors(), started);
    let mut source = Source::new(workload, plan.limit);
    let mut runner = Runner {
        device,
        plan,
        page_shift: plan.sectors_per_page.trailing_zeros(),
        places: match plan.arrivals {
            // Whoever sends in a closed loop keeps nobody waiting.
            Loop::Closed { .. } => u32::MAX,
            Loop::Open { limit } => limit,
        },
        outstanding: 0,
        rest: 0,
        completions: Completions::default(),
        sheet,
        done: 0,
        unobserved: 0,
        mark_at: probe.next_mark(),
    };
    let ended = match plan.arrivals {
        Loop::Closed { depth } => runner.closed(&mut source, depth, observer, &mut probe)?,
        Loop::Open { limit } => runner.open(&mut source, limit, observer, &mut probe)?,
    };
    Ok((ended, runner.sheet))
}

impl<D: BlockDevice> Runner<'_, D> {
    fn closed(
        &mut self,
        source: &mut Source<'_>,
        depth: u32,
        observer: &mut dyn Observer,
        probe: &mut impl Probe<D>,
    ) -> Result<Ended, RunError> {
        loop {
            if !self.serve_at_once(source, depth, observer, probe)? {
                return Ok(Ended::Stopped);
            }
            while self.outstanding + self.rest < depth {
                let Some(request) = source.peek(self.device)? else { break };
                source.take(1);
                let now = self.device.now();
                self.submit(&request, now, source.taken, probe)?;
            }
            if self.outstanding == 0 {
                // The workload may have ended in a round that was served at once.
                let goes_on = self.rest == 0 || self.note_done(0, observer, probe);
                return Ok(if goes_on { Ended::Complete } else { Ended::Stopped });
            }
            if self.device.advance(&mut self.completions) == Progress::Idle {
                return Ok(Ended::Stuck);
            }
            if !self.record(observer, probe) {
                return Ok(Ended::Stopped);
            }
        }
    }

    fn open(
        &mut self,
        source: &mut Source<'_>,
        limit: u32,
        observer: &mut dyn Observer,
        probe: &mut impl Probe<D>,
    ) -> Result<Ended, RunError> {
        let latest = self.device.time_limit() - self.device.time_limit() / TIME_TO_SERVE;
        let mut armed = None;
        loop {
            let mut next = None;
            while self.outstanding < limit {
                let Some(request) = source.peek(self.device)? else { break };
                let arrival = self.sheet.started.saturating_add(request.arrival);
                if self.plan.timed && arrival > latest {
                    return Err(too_late(source.taken + 1, request.arrival, latest));
                }
                if self.plan.timed && arrival > self.device.now() {
                    next = Some(arrival);
                    break;
                }
                source.take(1);
                self.sheet.last_arrival = Some(request.arrival);
                if has_course(&request) {
                    self.sheet.course.arrives(request.arrival);
                }
                let arrival = if self.plan.timed { arrival } else { 0 };
                self.submit(&request, arrival, source.taken, probe)?;
            }
            if next.is_some() && next != armed {
                armed = next;
                if let Some(time) = next {
                    self.device.wake_at(time);
                }
            }
            if self.outstanding == 0 && next.is_none() {
                return Ok(Ended::Complete);
            }
            if self.device.advance(&mut self.completions) == Progress::Idle {
                return Ok(Ended::Stuck);
            }
            if !self.record(observer, probe) {
                return Ok(Ended::Stopped);
            }
        }
    }

    #[inline]
    fn submit(
        &mut self,
        request: &Request,
        arrival: Nanos,
        number: u64,
        probe: &mut impl Probe<D>,
    ) -> Result<(), RunError> {
        let sectors = self.device.sectors();
        if request.end_sector() > sectors {
            return Err(RunError::BeyondDrive { number, end: request.end_sector(), sectors });
        }
        if request.sectors == 0 && request.op != HostOp::Flush {
            return Err(RunError::Empty { number });
        }
        self.outstanding += 1;
        self.unobserved += u64::from(request.sectors >> self.page_shift).max(1);
        self.sheet.addresses.record(request.op, request.first_sector);
        let tag = if probe.is_unwritten(request) { UNWRITTEN_TAG } else { TAG };
        self.device.submit(tag, &Request { arrival, ..*request });
        Ok(())
    }

    /// Takes what completed into the sheet; `false`: the observer wants to stop.
    #[inline]
    fn record(&mut self, observer: &mut dyn Observer, probe: &mut impl Probe<D>) -> bool {
        let now = self.device.now();
        let Self { device, sheet, completions, outstanding, .. } = self;
        let counting = Counting {
            page_shift: self.page_shift,
            timed: self.plan.timed,
            places: self.places,
            is_unwritten: |done: &Completion| done.tag == UNWRITTEN_TAG,
        };
        let look = || Look { programs: probe.programs(device), free_blocks: probe.free_blocks(device) };
        sheet.take(completions, now, now - sheet.started, *outstanding, counting, look);
        let ended = self.completions.done.len();
        self.outstanding -= ended as u32;
        self.note_done(ended as u64, observer, probe)
    }

    /// So many requests more are done, and the rest of the last round; `false`: the observer wants to stop.
    #[inline]
    fn note_done(&mut self, requests: u64, observer: &mut dyn Observer, probe: &mut impl Probe<D>) -> bool {
        self.done += requests + u64::from(std::mem::take(&mut self.rest));
        if self.done >= self.mark_at {
            probe.mark(self.device, &self.sheet, self.done);
            self.mark_at = probe.next_mark();
        }
        self.unobserved += 1;
        if self.unobserved >= OBSERVE_EVERY {
            self.unobserved = 0;
            observer.look(&self.sheet);
            return observer.progress(self.done);
        }
        true
    }
}

#[cold]
fn too_late(number: u64, arrival: Nanos, limit: Nanos) -> RunError {
    RunError::TooLate { number, arrival: quantity::format_duration(arrival), limit: quantity::format_duration(limit) }
}

/// Pages a request touches; none for a flush.
#[inline]
pub(crate) fn pages_of(request: &Request, page_shift: u32) -> u64 {
    let last = request.end_sector() + (1 << page_shift) - 1;
    (last >> page_shift) - (request.first_sector >> page_shift)
}
