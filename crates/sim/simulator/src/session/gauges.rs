//! Contents of a drive's blocks, buffers and caches, sampled within a window of a run.
//!
//! Protects: a look costs a walk over all blocks; some hundred are kept of a window, some thousand are taken, and
//! none outside of it.

use crate::clocked::Clocked;
use crate::drive::Drive;
use layer::LayerReport;
use units::Nanos;

/// Most looks that are kept: with more of them every second one goes, and twice the time lies between two.
const LOOKS: usize = 400;
/// Time between the first looks, ns.
const FIRST: Nanos = 10_000;
/// Requests between two questions whether the window has begun.
const AHEAD: u64 = 64;

/// The contents at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// When, in the time of the drive.
    pub at: Nanos,
    /// Blocks that are erased and can be programmed.
    pub free_blocks: u64,
    /// Pages in write buffers that are not on flash; `None`: no layer has a buffer.
    pub dirty_pages: Option<u64>,
    /// Hits and misses of each layer's cache since the run began.
    pub caches: Vec<(&'static str, [u64; 2])>,
}

#[derive(Clone, Debug)]
pub(super) struct Gauges {
    window: [Nanos; 2],
    next_mark: u64,
    next_look: Nanos,
    /// Time between two looks, ns.
    step: Nanos,
    pub rows: Vec<Gauge>,
}

impl Gauges {
    /// Looks at a drive between two moments of its time.
    pub fn new(window: [Nanos; 2]) -> Self {
        Self { window, next_mark: 0, next_look: window[0], step: FIRST, rows: Vec::new() }
    }

    /// Requests that have to be done before the next mark.
    pub fn next_mark(&self) -> u64 {
        self.next_mark
    }

    /// `done` requests are done.
    pub fn mark<F: Clocked>(&mut self, drive: &Drive<F>, done: u64) {
        let (now, [from, to]) = (drive.flash().now(), self.window);
        self.next_mark = if now > to { u64::MAX } else { done + if now < from { AHEAD } else { 1 } };
        if now >= self.next_look && now <= to {
            self.rows.push(look(drive, now));
            if self.rows.len() > LOOKS {
                let mut number = 0;
                self.rows.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.step *= 2;
            }
            self.next_look = now + self.step;
        }
    }
}

fn look<F: Clocked>(drive: &Drive<F>, at: Nanos) -> Gauge {
    let mut reports: Vec<LayerReport> = Vec::new();
    drive.top().report(&mut reports);
    let free = drive.flash().state().blocks.free();
    let buffered = |report: &LayerReport| {
        let counted = ["pages_buffered", "block_pages_buffered"].map(|name| report.counters.get(name).copied());
        (counted != [None; 2]).then(|| counted.into_iter().flatten().sum::<u64>())
    };
    let dirty: Vec<u64> = reports.iter().filter_map(buffered).collect();
    Gauge {
        at,
        free_blocks: free.into(),
        dirty_pages: (!dirty.is_empty()).then(|| dirty.iter().sum()),
        caches: reports
            .iter()
            .filter_map(|report| report.cache.map(|(hits, misses)| (report.name, [hits, misses])))
            .collect(),
    }
}
