//! What each block wears during a measured run: at its beginning, about in its middle, at its end; and erases over
//! host bytes in between.
//!
//! Protects: looking costs a copy of all erase counts each time the number of requests doubles, and changes nothing.

use super::Measurable;
use crate::DrivePlan;
use crate::run::{HostMeasurements, Probe as RunProbe};
use metrics::{RunResult, WearWindow};
use nand::{Flash as _, FlashCore};
use units::HostOp;

/// Requests between two steps, at first.
const SPACING: u64 = 256;
/// Steps kept: when there are more, every second one goes, and the spacing doubles.
const STEPS: usize = 64;

/// Takes down wear during a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Erases of each block at the beginning.
    before: Vec<u32>,
    /// Bytes the host had written, erases since the beginning.
    steps: Vec<(u64, u64)>,
    spacing: u64,
    next_step: u64,
    next_copy: u64,
    /// The last two copies of all erase counts: the middle of the run is never before the older one.
    copies: [Option<Copy>; 2],
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
        Self { before: Vec::new(), steps: Vec::new(), spacing: SPACING, next_step: SPACING, next_copy: SPACING, copies }
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

    fn mark(&mut self, core: &FlashCore, sheet: &HostMeasurements, done: u64) {
        let total = FlashCore::total(&core.counters.erases);
        if done >= self.next_step {
            self.steps.push((sheet.totals[HostOp::Write.index()].bytes, total));
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
        let live_pages: u64 = result.valid.iter().map(|pages| u64::from(*pages)).sum();
        WearWindow {
            erases: blocks.filter_map(|((before, middle), after)| after.map(|after| [*before, middle, after])).collect(),
            steps: self.steps,
            capacity_bytes: plan.host_sectors() * units::SECTOR_BYTES,
            flash_bytes: u64::from(plan.geometry.blocks()) * block_bytes,
            block_bytes,
            live_bytes: if live_pages > 0 { live_pages } else { u64::from(plan.user_pages) } * u64::from(plan.geometry.page_bytes),
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
            recorder.mark(device.drive().flash().core(), sheet, done);
        }
    }
}
