//! What each block wears during a measured run: at its beginning, about in its middle, at its end; and host bytes, erases and
//! valid pages in between.
//!
//! Protects: looking costs a copy of all erase counts each time the number of requests doubles, a sum over all blocks at some
//! 32 steps for each doubling, and changes nothing.

use super::Measurable;
use crate::DrivePlan;
use crate::clocked::Clocked;
use crate::drive::Drive;
use crate::run::{HostMeasurements, Probe as RunProbe};
use layer::LayerReport;
use metrics::{RunResult, WearStep, WearWindow};
use nand::FlashCore;
use units::{HostOp, Nanos};

/// Requests between two steps, at first.
const SPACING: u64 = 1;
/// Steps kept: when there are more, every second one goes, and the spacing doubles.
const STEPS: usize = 64;

/// Takes down wear during a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Erases of each block at the beginning.
    before: Vec<u32>,
    steps: Vec<WearStep>,
    spacing: u64,
    next_step: u64,
    next_copy: u64,
    /// The last two copies of all erase counts: the middle of the run is never before the older one.
    copies: [Option<Copy>; 2],
    /// When the last request arrived at its own time.
    last_arrival: Option<Nanos>,
}

/// Erases since the beginning, and of each block since the drive was made.
#[derive(Debug)]
struct Copy {
    total: u64,
    erases: Vec<u32>,
}

impl Default for Recorder {
    fn default() -> Self {
        let copies = [None, None];
        Self { before: Vec::new(), steps: Vec::new(), spacing: SPACING, next_step: SPACING, next_copy: SPACING, copies, last_arrival: None }
    }
}

fn erases(core: &FlashCore) -> Vec<u32> {
    core.blocks().iter().map(|row| row.erases).collect()
}

impl Recorder {
    /// The measured run begins, with counters at zero.
    pub fn begin(&mut self, core: &FlashCore) {
        self.before = erases(core);
    }

    /// The measured run has ended.
    pub fn end(&mut self, sheet: &HostMeasurements) {
        self.last_arrival = sheet.last_arrival;
    }

    fn mark<F: Clocked>(&mut self, drive: &Drive<F>, sheet: &HostMeasurements, done: u64) {
        let core = drive.flash().core();
        let total = FlashCore::total(&core.counters.erases);
        if done >= self.next_step {
            let mut reports: Vec<LayerReport> = Vec::new();
            drive.top().report(&mut reports);
            let live: u64 = reports.iter().flat_map(|report| &report.valid_pages).map(|pages| u64::from(*pages)).sum();
            let live_bytes = live * u64::from(core.geometry.page_bytes);
            self.steps.push(WearStep { host_bytes: sheet.totals[HostOp::Write.index()].bytes, erases: total, live_bytes });
            if self.steps.len() > STEPS {
                let mut index = 0;
                self.steps.retain(|_| {
                    index += 1;
                    index % 2 == 0
                });
                self.spacing *= 2;
            }
            self.next_step = done + self.spacing;
        }
        if done >= self.next_copy {
            let [_, last] = std::mem::take(&mut self.copies);
            self.copies = [last, Some(Copy { total, erases: erases(core) })];
            self.next_copy = done * 2;
        }
    }

    /// What was taken down, of a run that has ended with `result`.
    pub fn window(self, plan: &DrivePlan, result: &RunResult) -> WearWindow {
        let block_bytes = u64::from(plan.geometry.pages_per_block) * u64::from(plan.geometry.page_bytes);
        let end: u64 = result.erases.iter().zip(&self.before).filter_map(|(after, before)| after.map(|after| u64::from(after - before))).sum();
        let middle = self.copies.into_iter().flatten().min_by_key(|copy| copy.total.abs_diff(end / 2));
        let middle = middle.map_or_else(|| self.before.clone(), |copy| copy.erases);
        let blocks = self.before.iter().zip(middle).zip(&result.erases);
        let page_bytes = u64::from(plan.geometry.page_bytes);
        let at_end = result.valid.iter().map(|pages| u64::from(*pages) * page_bytes).sum();
        let second_half = &self.steps[self.steps.len() / 2..];
        let live_bytes = second_half.iter().map(|step| step.live_bytes).fold(at_end, u64::max);
        let requests = result.requests();
        WearWindow {
            erases: blocks.filter_map(|((before, middle), after)| after.map(|after| [*before, middle, after])).collect(),
            steps: self.steps,
            capacity_bytes: plan.host_sectors() * units::SECTOR_BYTES,
            arrivals_ns: self.last_arrival.filter(|_| requests > 1).map(|last| last as f64 * requests as f64 / (requests - 1) as f64),
            flash_bytes: u64::from(plan.geometry.blocks()) * block_bytes,
            block_bytes,
            live_bytes: if live_bytes > 0 { live_bytes } else { u64::from(plan.user_pages) * page_bytes },
        }
    }
}

/// Looks at programs for the series, and at wear if that is wanted.
#[derive(Debug)]
pub(super) struct Probe<'a> {
    /// Chips that act as one: each does what is counted once.
    pub chips: u64,
    pub recorder: Option<&'a mut Recorder>,
}

impl<D: Measurable> RunProbe<D> for Probe<'_> {
    fn programs(&self, device: &D) -> [u64; 3] {
        super::programs(device.drive()).map(|count| count * self.chips)
    }

    fn next_mark(&self) -> u64 {
        self.recorder.as_ref().map_or(u64::MAX, |recorder| recorder.next_step.min(recorder.next_copy))
    }

    fn mark(&mut self, device: &D, sheet: &HostMeasurements, done: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.mark(device.drive(), sheet, done);
        }
    }
}
