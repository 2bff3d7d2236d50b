//! The requests of the study: generated from what was published of its trace, or the user's file.

use super::NAMES;
use crate::error::StudyError;
use crate::file::TraceFile;
use crate::source::{Opened, Source};
use crate::study::Options;
use device::Fill;
use trace::synthetic::build;
use trace::{Workload, WorkloadError};
use units::{HostOp, Request, SECTOR_BYTES};

use super::drives::{BANKS, PAGE_BYTES};

/// Requests of a day: eight hours of one each 32 ms.
pub const DAY: u64 = 900_000;
/// Requests of a month.
const MONTH: u64 = 30 * DAY;
/// Sweeps are shorter than the rows of record.
const SWEEP: u64 = 4;
/// Sectors of a stretch of the drive that is in use or not.
const STRETCH: u64 = Fill::PAGES * PAGE_BYTES / SECTOR_BYTES;

/// The trace of the study.
#[derive(Debug)]
pub struct Trace {
    source: Source,
    /// Requests that come before those that are measured: the history that the first off-line phase needs.
    pub warm_up: u64,
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Length {
    /// That of the rows of record.
    Record,
    /// That of a point of a sweep.
    Sweep,
}

/// The month on a small laptop.
///
/// # Errors
/// The user's file cannot be read.
pub fn trace(options: &Options) -> Result<Trace, StudyError> {
    let file = TraceFile::given(options, NAMES[0])?;
    let measured = options.scale.of(MONTH);
    let warm_up = DAY.min(measured);
    let (warm_up, requests) = match &file {
        Some(file) => (warm_up.min(file.summary.records.min(measured) / 4), measured),
        None => (warm_up, measured + warm_up),
    };
    Ok(Trace { source: Source { file, requests, seed: options.seed }, warm_up })
}

impl Trace {
    /// What stands in the column of workloads.
    pub fn label(&self) -> String {
        Source::label([&self.source])
    }

    /// Its requests for a drive of `sectors` of which a share is in use: they go to that share alone.
    ///
    /// # Errors
    /// A file cannot be read or does not fit.
    pub fn open(&self, sectors: u64, share: f64, length: Length) -> Opened {
        let used = Used::new(sectors, share);
        let requests = match length {
            Length::Record => self.source.requests,
            Length::Sweep => self.warm_up + (self.source.requests - self.warm_up).div_ceil(SWEEP),
        };
        let source = Source { file: None, requests, seed: self.source.seed };
        let inner = match &self.source.file {
            Some(file) => file.open(used.sectors(), requests)?,
            None => source.open(used.sectors(), |plain| Ok(build("umpc", plain)?))?,
        };
        Ok(Box::new(Within { inner, used }))
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
