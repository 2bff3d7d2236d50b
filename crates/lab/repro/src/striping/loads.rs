//! The requests of the study, from the published facts of its trace or from the user's file, and their shape.

use crate::error::StudyError;
use crate::load::{Load, Opened};
use crate::study::Options;
use simulator::Fill;
use trace::{Workload, WorkloadError};
use units::{HostOp, Request, SECTOR_BYTES};

use super::TARGETS;
use super::drives::{BANKS, PAGE_BYTES, Place};

/// Requests of a day: eight hours of one each 32 ms.
pub const DAY: u64 = 900_000;
/// Sweeps are shorter than the rows of record.
const SWEEP: u64 = 8;
/// Sectors of a stretch of the drive that is in use or not.
const STRETCH: u64 = Fill::PAGES * PAGE_BYTES / SECTOR_BYTES;

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Length {
    /// That of the rows of record.
    Record,
    /// That of a point of a sweep.
    Sweep,
}

impl Length {
    pub const fn name(self) -> &'static str {
        match self {
            Length::Record => "of record",
            Length::Sweep => "a point of a sweep",
        }
    }
}

/// The trace of the study.
#[derive(Debug)]
pub struct Trace {
    load: Load,
    /// How often a point of a sweep fits into the rows of record.
    sweep: u64,
    /// Share of the drive in use, where a draw of a family decides it.
    share: Option<f64>,
}

/// The month on a small laptop.
/// Errors: the user's file cannot be read.
pub fn trace(options: &Options) -> Result<Trace, StudyError> {
    let mut load = Load::new(options, TARGETS.pattern("laptop"), options.seed)?;
    if !options.is_drawn() {
        return Ok(Trace { load, sweep: SWEEP, share: None });
    }
    load.warm_up = options.drawn("trace.warm_up", 100_000.0) as u64;
    load.requests = load.warm_up + options.drawn("trace.requests", 100_000.0) as u64;
    Ok(Trace { load, sweep: 1, share: Some(options.drawn("trace.in_use", 0.9)) })
}

impl Trace {
    /// The text in the column of workloads.
    pub fn label(&self) -> String {
        Load::label([&self.load])
    }

    /// Requests that come before the measured ones: the history that the first off-line phase needs.
    pub fn warm_up(&self) -> u64 {
        self.load.warm_up
    }

    /// Share of a drive that is in use, 0 to 1.
    pub fn share(&self, place: &Place) -> f64 {
        self.share.unwrap_or(place.used as f64 / 100.0)
    }

    /// Its requests for a drive of `sectors`. They go to the share that is in use.
    /// Errors: a file cannot be read or does not fit.
    pub fn open(&self, sectors: u64, place: &Place, length: Length) -> Opened {
        self.first(self.warm_up() + self.measured(length), sectors, self.share(place))
    }

    /// As many of its first requests.
    /// Errors: as [`Trace::open`].
    pub fn open_first(&self, sectors: u64, place: &Place, requests: u64) -> Opened {
        self.first(requests.min(self.load.requests), sectors, self.share(place))
    }

    /// As many as are measured, from the first on.
    /// Errors: as [`Trace::open`].
    pub fn open_again(&self, sectors: u64, place: &Place, length: Length) -> Opened {
        self.first(self.measured(length), sectors, self.share(place))
    }

    fn measured(&self, length: Length) -> u64 {
        let all = self.load.requests - self.warm_up();
        if length == Length::Record { all } else { all.div_ceil(self.sweep) }
    }

    fn first(&self, requests: u64, sectors: u64, share: f64) -> Opened {
        let used = Used::new(sectors, share);
        Ok(Box::new(Within { inner: self.load.first(requests, used.sectors())?, used }))
    }
}

/// The shape of a day of requests: figure 4 of the publication.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Stripe blocks read and written, by bank.
    pub banks: [[u64; BANKS as usize]; 2],
    /// Stripe blocks read, by zone.
    pub zones: Vec<u64>,
}

impl Shape {
    /// Deviation of a count over the banks, as a share of its mean: reads or writes.
    pub fn deviation(&self, op: usize) -> f64 {
        let counts = self.banks[op].map(|count| count as f64);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        variance.sqrt() / mean
    }

    /// Share of the reads that go to the busiest `share` of the zones, both 0 to 1.
    pub fn busiest(&self, share: f64) -> f64 {
        let mut counts = self.zones.clone();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let first = (counts.len() as f64 * share).round() as usize;
        counts[..first].iter().sum::<u64>() as f64 / counts.iter().sum::<u64>() as f64
    }
}

impl Trace {
    /// The shape of its first day on a drive of `sectors`.
    pub fn shape(&self, sectors: u64, zone_sectors: u64, place: &Place) -> Result<Shape, StudyError> {
        let mut workload = self.open(sectors, place, Length::Record)?;
        let mut shape = Shape { zones: vec![0; sectors.div_ceil(zone_sectors) as usize], ..Shape::default() };
        let block = place.pages * PAGE_BYTES / SECTOR_BYTES;
        let (mut left, mut batch) = (DAY, Vec::new());
        while left > 0 {
            batch.clear();
            workload.next_batch(&mut batch, left.min(8192) as usize)?;
            if batch.is_empty() {
                break;
            }
            left -= batch.len() as u64;
            for request in batch.iter().filter(|request| matches!(request.op, HostOp::Read | HostOp::Write)) {
                let last = request.first_sector + u64::from(request.sectors) - 1;
                for at in request.first_sector / block..=last / block {
                    shape.banks[usize::from(request.op == HostOp::Write)][(at % BANKS) as usize] += 1;
                    if request.op == HostOp::Read {
                        shape.zones[(at * block / zone_sectors) as usize] += 1;
                    }
                }
            }
        }
        Ok(shape)
    }
}

/// The stretches of a drive that are in use.
#[derive(Debug)]
struct Used {
    stretches: Vec<u64>,
}

impl Used {
    fn new(sectors: u64, share: f64) -> Self {
        let stretches = sectors / STRETCH;
        Self { stretches: (0..stretches).filter(|stretch| Fill::covers(stretch * Fill::PAGES, share)).collect() }
    }

    fn sectors(&self) -> u64 {
        self.stretches.len() as u64 * STRETCH
    }

    /// Where a request goes. One that would cross a stretch that is not in use ends before it.
    fn place(&self, first: u64, sectors: u32) -> (u64, u32) {
        let index = (first / STRETCH) as usize;
        let stretch = self.stretches[index];
        let together = self.stretches[index..].iter().zip(stretch..).take_while(|(found, expected)| *found == expected);
        let needed = (first % STRETCH + u64::from(sectors)).div_ceil(STRETCH);
        let room = together.take(needed as usize).count() as u64 * STRETCH - first % STRETCH;
        (stretch * STRETCH + first % STRETCH, u64::from(sectors).min(room) as u32)
    }
}

/// Requests to the stretches in use.
struct Within {
    inner: Box<dyn Workload + Send>,
    used: Used,
}

impl Workload for Within {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let from = batch.len();
        self.inner.next_batch(batch, limit)?;
        for request in batch[from..].iter_mut().filter(|request| request.op != HostOp::Flush) {
            (request.first_sector, request.sectors) = self.used.place(request.first_sector, request.sectors);
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_stay_where_the_drive_is_in_use_and_half_of_it_is_half_of_it() {
        let sectors = 64 * STRETCH;
        let used = Used::new(sectors, 0.5);
        assert_eq!(used.sectors(), sectors / 2);
        let is_used = |sector: u64| Fill::covers(sector / STRETCH * Fill::PAGES, 0.5);
        for first in (0..used.sectors() - 256).step_by(97) {
            let (place, sectors) = used.place(first, 256);
            assert!(sectors > 0 && (place..place + u64::from(sectors)).all(is_used), "{first}: {place}, {sectors}");
        }
        assert_eq!(Used::new(sectors, 1.0).place(1000, 256), (1000, 256));
    }

    #[test]
    fn shapes_say_how_even_something_is() {
        let shape = Shape { banks: [[5; 8], [0, 0, 0, 0, 0, 0, 0, 8]], zones: vec![1, 1, 7, 1, 0, 0, 0, 0, 0, 0] };
        assert!(shape.deviation(0).abs() < 1e-9 && (shape.deviation(1) - 7_f64.sqrt()).abs() < 1e-9);
        assert!((shape.busiest(0.1) - 0.7).abs() < 1e-9);
    }
}
