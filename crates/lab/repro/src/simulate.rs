//! One drive of a study: brought into a state in counted time, then measured with or without time.
//!
//! Protects: a measurement begins with all counters at zero on a state that does not depend on what
//! else runs; one simulation is one thread and repeats exactly.

use crate::error::StudyError;
use serde::{Deserialize, Serialize};

use experiment::Monitor;
use layer::LayerReport;
use metrics::{Histogram, OpTotals};
use nand::{CountedFlash, Counters, Flash, FlashState, TimedFlash};
use simulator::config::Config;
use simulator::run::{self, Ended, HostMeasurements, Loop, Observer, RunPlan};
use simulator::{BlockDevice, Clocked, Completions, Drive, DrivePlan, DriveState, Fill, Progress, Setting};
use std::collections::BTreeMap;
use trace::Workload;
use units::{Cause, DIE_CAUSES, HostOp, Request};

/// A drive to be simulated.
#[derive(Debug)]
pub struct Bench {
    name: String,
    plan: DrivePlan,
}

/// Times from arrival to the end of requests of one kind, ns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Response {
    /// Mean; no number where there were none.
    pub mean: f64,
    /// Times that 99, 99.9 and 99.99 % of the requests do not exceed.
    pub tail: [u64; 3],
}

impl Response {
    fn of(histogram: &Histogram) -> Self {
        Self { mean: mean(histogram), tail: [0.99, 0.999, 0.9999].map(|share| histogram.percentile(share)) }
    }
}

/// No requests take no time, but no zero either.
fn mean(histogram: &Histogram) -> f64 {
    if histogram.count() > 0 { histogram.mean() } else { f64::NAN }
}

/// Counts and times of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// Reads and writes completed.
    pub requests: u64,
    /// Pages the host wrote.
    pub host_page_writes: u64,
    /// Mean time from arrival to the end of a read or write, ns; no number in counted time.
    pub response_ns: f64,
    /// The same for reads alone, with percentiles.
    pub reads: Response,
    /// The same for writes alone.
    pub writes: Response,
    /// Flash commands by cause.
    pub flash: Counters,
    /// Time of all flash commands one after the other, without transfers, ns.
    pub flash_ns: f64,
    /// Hits and misses of the mapping's cache.
    pub cache: (u64, u64),
    /// Merges of a hybrid mapping: switch, partial, full.
    pub merges: [u64; 3],
    /// Further counters of the mapping.
    pub counters: BTreeMap<String, u64>,
    /// Bytes of memory a controller would need for the mapping.
    pub ram_bytes: u64,
    /// Counters of the write buffer; none without one.
    pub buffer: BTreeMap<String, u64>,
    /// Bytes of memory a controller would need for the write buffer, data included.
    pub buffer_ram_bytes: u64,
    /// Counters of the stripes; none without them.
    pub stripe: BTreeMap<String, u64>,
    /// Counters of the zones; none without them.
    pub zones: BTreeMap<String, u64>,
    /// Virtual time from the first to the last request, ns; 0 in counted time.
    pub elapsed_ns: u64,
    /// Hash over everything simulated.
    pub hash: u64,
}

impl Measurement {
    /// Share of cache hits, 0 to 1; `None` when nothing was looked up.
    pub fn hit_ratio(&self) -> Option<f64> {
        let (hits, misses) = self.cache;
        (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
    }

    /// A counter of the mapping; 0 where it has none of this name.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Reads and programs of translation pages: by misses, evictions and the collection of data, and
    /// two for each copy that the collection of translation blocks makes.
    pub fn translation_operations(&self) -> u64 {
        let mapping = Cause::Mapping.index();
        self.flash.reads[mapping] + self.flash.programs[mapping] + 2 * self.counter("translation_copies")
    }

    /// A counter of the write buffer; 0 where there is none of this name.
    pub fn buffer_counter(&self, name: &str) -> u64 {
        self.buffer.get(name).copied().unwrap_or(0)
    }

    /// A counter of the stripes; 0 where there is none of this name.
    pub fn stripe_counter(&self, name: &str) -> u64 {
        self.stripe.get(name).copied().unwrap_or(0)
    }

    /// A counter of the zones; 0 where there is none of this name.
    pub fn zones_counter(&self, name: &str) -> u64 {
        self.zones.get(name).copied().unwrap_or(0)
    }

    /// Blocks erased, for any cause.
    pub fn erases(&self) -> u64 {
        Counters::total(&self.flash.erases)
    }
}

/// Stops a run when the user wants to.
pub(crate) struct Watch<'a>(pub &'a dyn Monitor);

impl Observer for Watch<'_> {
    fn progress(&mut self, _: u64) -> bool {
        !self.0.is_stopped()
    }
}

impl Bench {
    /// The drive that `settings` describe; `name` stands for it in messages.
    /// Errors: an unknown key, a value out of range, values that do not fit together, too little memory.
    pub fn new(name: &str, settings: &[(&str, String)]) -> Result<Self, StudyError> {
        let unusable = |source| StudyError::Config { name: name.to_owned(), source };
        let setting = |(key, value): &(&str, String)| Setting::new(key, value, "the study");
        let settings: Vec<Setting> = settings.iter().map(setting).collect();
        let config = Config::resolve(name.to_owned(), &settings).map_err(unusable)?;
        let plan = DrivePlan::new(config).map_err(unusable)?;
        plan.check_memory(false).map_err(unusable)?;
        Ok(Self { name: name.to_owned(), plan })
    }

    /// Sectors the user sees.
    pub fn sectors(&self) -> u64 {
        self.plan.host_sectors()
    }

    /// The plan that its drives are built from.
    pub(crate) fn plan(&self) -> &DrivePlan {
        &self.plan
    }

    /// A factory-fresh drive in virtual time, without a driver of the host.
    pub(crate) fn factory_fresh(&self) -> Drive<TimedFlash> {
        self.plan.assemble(self.plan.timed(self.plan.fresh_state()))
    }

    /// The value of a key that counts something.
    pub fn whole(&self, key: &str) -> u64 {
        self.plan.config.values.whole(key)
    }

    /// Pages of flash, spare ones included.
    pub fn flash_pages(&self) -> u64 {
        u64::from(self.plan.geometry.pages())
    }

    /// A factory-fresh drive in counted time.
    pub fn fresh(&self) -> Drive<CountedFlash> {
        self.plan.assemble(CountedFlash::new(self.plan.fresh_state()))
    }

    /// A drive that was written once in order.
    /// Errors: the drive is too small for its mapping, or the user stopped.
    pub fn filled(&self, monitor: &dyn Monitor) -> Result<DriveState, StudyError> {
        self.filled_to(1.0, monitor)
    }

    /// A drive that was written evenly: the same share of each stretch, 0 to 1.
    pub fn filled_to(&self, share: f64, monitor: &dyn Monitor) -> Result<DriveState, StudyError> {
        let mut drive = self.fresh();
        // Of chips in lockstep the same addresses as of single ones.
        let mut fill = Fill::of(drive.sectors(), self.plan.array.chip_page_sectors(), share);
        self.pour(&mut drive, &mut fill, u64::MAX, monitor)?;
        Ok(DriveState::of(&mut drive))
    }

    /// A drive whose first `sectors` were written in order.
    pub fn filled_first(&self, sectors: u64, monitor: &dyn Monitor) -> Result<DriveState, StudyError> {
        let mut drive = self.fresh();
        self.pour(&mut drive, &mut Fill::of(sectors, self.plan.array.chip_page_sectors(), 1.0), u64::MAX, monitor)?;
        Ok(DriveState::of(&mut drive))
    }

    /// The state after `workload` was run on `state` until the drive has begun to erase: its spare
    /// blocks are used up. A workload that ends is opened again by `reopen`.
    /// Errors: the workload fails or never makes the drive erase, the drive cannot go on, or the user stopped.
    pub fn aged(
        &self,
        state: &DriveState,
        mut reopen: impl FnMut() -> Result<Box<dyn Workload + Send>, StudyError>,
        monitor: &dyn Monitor,
    ) -> Result<DriveState, StudyError> {
        let mut drive = self.load(state, CountedFlash::new)?;
        let step = (u64::from(self.plan.user_pages) / 256).max(16);
        let mut workload = reopen()?;
        loop {
            let erases = |drive: &Drive<CountedFlash>| Counters::total(&drive.flash().state().counters.erases);
            let before = Counters::total(&drive.flash().state().counters.programs);
            let done = self.pour(&mut drive, &mut *workload, step, monitor)?;
            if erases(&drive) > 0 {
                return Ok(DriveState::of(&mut drive));
            }
            if done < step {
                if Counters::total(&drive.flash().state().counters.programs) == before {
                    let name = &self.name;
                    return Err(StudyError::Usage(format!(
                        "{name}: a trace without writes cannot use up the spare blocks"
                    )));
                }
                workload = reopen()?;
            }
        }
    }

    /// The state after `workload` was run on `state` to its end.
    /// Errors: the workload fails, the drive cannot go on, or the user stopped.
    pub fn used(
        &self,
        state: &DriveState,
        workload: &mut dyn Workload,
        monitor: &dyn Monitor,
    ) -> Result<DriveState, StudyError> {
        self.warmed(state, workload, u64::MAX, monitor)
    }

    /// The state after the next `requests` requests of `workload` were run on `state`.
    pub fn warmed(
        &self,
        state: &DriveState,
        workload: &mut dyn Workload,
        requests: u64,
        monitor: &dyn Monitor,
    ) -> Result<DriveState, StudyError> {
        self.warmed_on(self.load(state, CountedFlash::new)?, workload, requests, monitor)
    }

    /// As [`Bench::warmed`], on a drive as it is.
    pub fn warmed_on(
        &self,
        mut drive: Drive<CountedFlash>,
        workload: &mut dyn Workload,
        requests: u64,
        monitor: &dyn Monitor,
    ) -> Result<DriveState, StudyError> {
        self.pour(&mut drive, workload, requests, monitor)?;
        Ok(DriveState::of(&mut drive))
    }

    /// Runs `workload` on `state` one request after the other, without time.
    /// Errors: the workload fails, the drive cannot go on, or the user stopped.
    pub fn count(
        &self,
        state: &DriveState,
        workload: &mut dyn Workload,
        monitor: &dyn Monitor,
    ) -> Result<Measurement, StudyError> {
        let mut drive = self.load(state, CountedFlash::new)?;
        let sheet = self.run(&mut drive, workload, u64::MAX, Loop::Closed { depth: 1 }, monitor)?;
        Ok(self.measurement(&drive, &sheet))
    }

    /// Runs `workload` on `state` at its own times.
    pub fn time(
        &self,
        state: &DriveState,
        workload: &mut dyn Workload,
        monitor: &dyn Monitor,
    ) -> Result<Measurement, StudyError> {
        let limit = self.plan.config.values.whole("host.queue_limit") as u32;
        let mut drive = self.load(state, |flash| self.plan.timed(flash))?;
        drive.prepare();
        let sheet = self.run(&mut drive, workload, u64::MAX, Loop::Open { limit }, monitor)?;
        Ok(self.measurement(&drive, &sheet))
    }

    /// Runs `workload` on `state` in virtual time with `depth` requests always under way.
    pub fn race(
        &self,
        state: &DriveState,
        workload: &mut dyn Workload,
        depth: u32,
        monitor: &dyn Monitor,
    ) -> Result<Measurement, StudyError> {
        let mut drive = self.load(state, |flash| self.plan.timed(flash))?;
        let sheet = self.run(&mut drive, workload, u64::MAX, Loop::Closed { depth }, monitor)?;
        Ok(self.measurement(&drive, &sheet))
    }

    /// The counters of a drive so far, requests left out.
    pub fn counters<F: Clocked>(drive: &Drive<F>) -> Measurement {
        let mut reports: Vec<LayerReport> = Vec::new();
        drive.top().report(&mut reports);
        let mut layer = |name| {
            let at = reports.iter().position(|report| report.name == name);
            at.map_or_else(LayerReport::default, |at| reports.swap_remove(at))
        };
        let (report, buffer, stripe, zones) = (layer("ftl"), layer("buffer"), layer("stripe"), layer("coded"));
        let flash = drive.flash().state();
        let named = |counters: BTreeMap<&'static str, u64>| {
            counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
        };
        Measurement {
            flash: flash.counters.clone(),
            cache: report.cache.unwrap_or((0, 0)),
            merges: report.merges,
            counters: named(report.counters),
            ram_bytes: report.ram_bytes,
            buffer: named(buffer.counters),
            buffer_ram_bytes: buffer.ram_bytes,
            stripe: named(stripe.counters),
            zones: named(zones.counters),
            hash: flash.hash(),
            ..Measurement::default()
        }
    }

    /// Runs a workload to its end, measuring nothing; returns the requests completed.
    fn pour(
        &self,
        drive: &mut Drive<CountedFlash>,
        workload: &mut dyn Workload,
        limit: u64,
        monitor: &dyn Monitor,
    ) -> Result<u64, StudyError> {
        let sheet = self.run(drive, workload, limit, Loop::Closed { depth: 1 }, monitor)?;
        Ok(sheet.totals.iter().map(|op| op.requests).sum())
    }

    fn run<F: Clocked>(
        &self,
        drive: &mut Drive<F>,
        workload: &mut dyn Workload,
        limit: u64,
        arrivals: Loop,
        monitor: &dyn Monitor,
    ) -> Result<HostMeasurements, StudyError> {
        let sectors_per_page = self.plan.array.chip_page_sectors();
        let plan = RunPlan { arrivals, limit, sectors_per_page, timed: F::HAS_TIME };
        match run::run(drive, workload, plan, &mut Watch(monitor), |_| [0; DIE_CAUSES])? {
            (Ended::Complete, sheet) => Ok(sheet),
            (Ended::Stopped, _) => Err(StudyError::Interrupted),
            (Ended::Stuck, _) => Err(StudyError::Full { name: self.name.clone() }),
        }
    }

    fn load<F: Clocked>(
        &self,
        state: &DriveState,
        flash: impl FnOnce(FlashState) -> F,
    ) -> Result<Drive<F>, StudyError> {
        Ok(state.resume(&self.plan, self.plan.fresh_state(), flash)?)
    }

    fn measurement<F: Clocked>(&self, drive: &Drive<F>, sheet: &HostMeasurements) -> Measurement {
        let [read, write] = [HostOp::Read, HostOp::Write].map(HostOp::index);
        let OpTotals { requests: reads, .. } = sheet.totals[read];
        let OpTotals { requests: writes, pages, .. } = sheet.totals[write];
        let [read, write] = [read, write].map(|op| sheet.latency[op].histogram());
        let mut latency = read.clone();
        latency.merge(write);
        let measurement = Bench::counters(drive);
        let time = |counts, each| Counters::total(counts) as f64 * each as f64;
        let (flash, part) = (&measurement.flash, &self.plan.part);
        let flash_ns = time(&flash.reads, part.read_ns)
            + time(&flash.programs, part.program_ns)
            + time(&flash.erases, part.erase_ns);
        Measurement {
            requests: reads + writes,
            host_page_writes: pages,
            response_ns: mean(&latency),
            reads: Response::of(read),
            writes: Response::of(write),
            elapsed_ns: sheet.ended - sheet.started,
            flash_ns,
            ..measurement
        }
    }
}

/// Serves one request to its end and says what it cost.
pub(crate) fn serve(drive: &mut Drive<CountedFlash>, request: &Request) -> Measurement {
    drive.flash_mut().state_mut().reset_counters();
    drive.top_mut().reset_counters();
    drive.submit(0, request);
    let mut completions = Completions::default();
    while drive.outstanding() > 0 {
        assert!(drive.advance(&mut completions) == Progress::Worked, "a request of a small drive never ends");
    }
    Bench::counters(drive)
}
