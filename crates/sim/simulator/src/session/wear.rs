//! Wear of each block during a measured run: at its beginning, about after each quarter, at its end; and host bytes,
//! erases and valid pages in between.
//!
//! Protects: looking costs a copy of all erase counts some 8 times and a sum over all blocks some 32 times for each
//! doubling of the number of requests, and changes nothing.

use crate::DrivePlan;
use crate::clocked::Clocked;
use crate::drive::Drive;
use crate::run::HostMeasurements;
use layer::LayerReport;
use metrics::{RunResult, WearStep, WearWindow};
use nand::{Counters, FlashState};
use units::{HostOp, Nanos};

/// Most steps kept, and most copies of all erase counts.
const STEPS: usize = 64;
const COPIES: usize = 16;

/// Takes down wear during a run.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Erases of each block at the beginning.
    before: Vec<u32>,
    steps: Spaced<WearStep>,
    copies: Spaced<Copy>,
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
        Self { before: Vec::new(), steps: Spaced::new(STEPS), copies: Spaced::new(COPIES), last_arrival: None }
    }
}

/// Rows taken at even distances of requests: when there are too many, the distance doubles, and rows nearer than that
/// go.
#[derive(Debug)]
struct Spaced<T> {
    /// Requests done, and the row.
    rows: Vec<(u64, T)>,
    most: usize,
    spacing: u64,
    next: u64,
}

impl<T> Spaced<T> {
    fn new(most: usize) -> Self {
        Self { rows: Vec::with_capacity(most + 1), most, spacing: 1, next: 1 }
    }

    fn push(&mut self, done: u64, row: T) {
        self.rows.push((done, row));
        while self.rows.len() > self.most {
            self.spacing *= 2;
            // Requests may complete many at a time: then a row is later than its multiple of the spacing, or stands for
            // several.
            let (spacing, mut last) = (self.spacing, 0);
            self.rows.retain(|(done, _)| std::mem::replace(&mut last, done / spacing) < done / spacing);
        }
        self.next = (done / self.spacing + 1) * self.spacing;
    }

    fn rows(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().map(|(_, row)| row)
    }
}

fn erases(state: &FlashState) -> Vec<u32> {
    state.blocks().iter().map(|row| row.erases).collect()
}

impl Recorder {
    /// The measured run begins, with counters at zero.
    pub fn begin(&mut self, state: &FlashState) {
        self.before = erases(state);
    }

    /// The measured run has ended.
    pub fn end(&mut self, sheet: &HostMeasurements) {
        self.last_arrival = sheet.last_arrival;
    }

    /// Requests that have to be done before the next mark.
    pub fn next_mark(&self) -> u64 {
        self.steps.next.min(self.copies.next)
    }

    /// `done` requests are done.
    pub fn mark<F: Clocked>(&mut self, drive: &Drive<F>, sheet: &HostMeasurements, done: u64) {
        let state = drive.flash().state();
        let total = Counters::total(&state.counters.erases);
        if done >= self.steps.next {
            let mut reports: Vec<LayerReport> = Vec::new();
            drive.top().report(&mut reports);
            let live: u64 = reports.iter().flat_map(|report| &report.valid_pages).map(|pages| u64::from(*pages)).sum();
            let live_bytes = live * u64::from(state.geometry.page_bytes);
            self.steps.push(
                done,
                WearStep { host_bytes: sheet.totals[HostOp::Write.index()].bytes, erases: total, live_bytes },
            );
        }
        if done >= self.copies.next {
            self.copies.push(done, Copy { total, erases: erases(state) });
        }
    }

    /// What was taken down, of a run that has ended with `result`.
    pub fn window(self, plan: &DrivePlan, result: &RunResult) -> WearWindow {
        let block_bytes = u64::from(plan.geometry.pages_per_block) * u64::from(plan.geometry.page_bytes);
        let end: u64 = result
            .erases
            .iter()
            .zip(&self.before)
            .filter_map(|(after, before)| after.map(|after| u64::from(after - before)))
            .sum();
        let quarters = [1, 2, 3].map(|quarter| {
            let nearest = self.copies.rows().min_by_key(|copy| copy.total.abs_diff(end * quarter / 4));
            nearest.map_or(&self.before, |copy| &copy.erases)
        });
        let block = |(index, after): (usize, &Option<u32>)| {
            let [first, second, third] = quarters.map(|erases| erases[index]);
            after.map(|after| [self.before[index], first, second, third, after])
        };
        let erases = result.erases.iter().enumerate().filter_map(block).collect();
        let page_bytes = u64::from(plan.geometry.page_bytes);
        let at_end = result.valid.iter().map(|pages| u64::from(*pages) * page_bytes).sum();
        let steps: Vec<WearStep> = self.steps.rows().copied().collect();
        let live_bytes = steps[steps.len() / 2..].iter().map(|step| step.live_bytes).fold(at_end, u64::max);
        let requests = result.requests();
        WearWindow {
            erases,
            steps,
            capacity_bytes: plan.host_sectors() * units::SECTOR_BYTES,
            arrivals_ns: self
                .last_arrival
                .filter(|_| requests > 1)
                .map(|last| last as f64 * requests as f64 / (requests - 1) as f64),
            flash_bytes: u64::from(plan.geometry.blocks()) * block_bytes,
            spare_pages: plan.spare_pages(),
            block_bytes,
            scale: plan.scale.times,
            writes_once: false,
            passes: None,
            live_bytes: if live_bytes > 0 { live_bytes } else { u64::from(plan.user_pages) * page_bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_evenly_apart_where_requests_complete_many_at_a_time() {
        for batch in [1, 7, 1000] {
            let mut spaced = Spaced::new(16);
            for done in (1..=400).map(|index| index * batch) {
                if done >= spaced.next {
                    spaced.push(done, done);
                }
            }
            let rows: Vec<u64> = spaced.rows().copied().collect();
            let gaps: Vec<u64> = rows.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(
                (8..=16).contains(&rows.len()) && gaps.iter().max().unwrap() - gaps.iter().min().unwrap() <= 2 * batch,
                "{rows:?}"
            );
            assert!(rows[0] <= gaps[0] + batch && 400 * batch - rows[rows.len() - 1] <= gaps[0], "{rows:?}");
        }
    }
}
