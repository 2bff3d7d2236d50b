//! The trace of the study: generated from its published statistics, or the user's file.

use super::NAMES;
use crate::error::StudyError;
use crate::file::TraceFile;
use crate::source::{Opened, Source, desktop_shape};
use crate::study::Options;
use std::collections::BTreeMap;
use trace::synthetic::{DesktopShape, build, desktop_ntfs};
use units::HostOp;

/// Requests of a day: eight hours of one each 32 ms.
const DAY: u64 = 900_000;
/// Requests of a month.
const MONTH: u64 = 30 * DAY;
/// Most requests that fill log blocks and buffers before anything is counted.
const WARM_UP: u64 = 2 * DAY;
/// Requests of an installation.
const INSTALLATION: u64 = 1_000_000;

/// A trace to be run.
#[derive(Debug)]
pub struct Trace {
    /// Its requests, those that are not counted included.
    pub source: Source,
    generator: Generator,
    /// Requests to run before anything is counted.
    pub warm_up: u64,
}

#[derive(Clone, Copy, Debug)]
enum Generator {
    Desktop(DesktopShape),
    SystemDisk,
}

/// The month on a laptop.
/// Errors: the user's file cannot be read.
pub fn desktop(options: &Options) -> Result<Trace, StudyError> {
    trace(options, NAMES[0], Generator::Desktop(desktop_shape(options)), MONTH)
}

/// Files copied and installed on a laptop.
/// Errors: the user's file cannot be read.
pub fn installation(options: &Options) -> Result<Trace, StudyError> {
    trace(options, NAMES[1], Generator::SystemDisk, INSTALLATION)
}

/// A trace whose first quarter, or so much of it as there is need for, warms the drive up.
fn trace(options: &Options, name: &str, generator: Generator, published: u64) -> Result<Trace, StudyError> {
    let file = TraceFile::given(options, name)?;
    let counted = options.scale.of(published);
    let (warm_up, requests) = match &file {
        Some(file) => (WARM_UP.min(file.summary.records.min(counted) / 4), counted),
        None => (WARM_UP.min(counted / 3), counted + WARM_UP.min(counted / 3)),
    };
    Ok(Trace { source: Source { file, requests, seed: options.seed }, generator, warm_up })
}

impl Trace {
    /// Its requests, for a drive of `sectors`.
    /// Errors: a file cannot be read or does not fit.
    pub fn open(&self, sectors: u64) -> Opened {
        self.source.open(sectors, |plain| match self.generator {
            Generator::Desktop(shape) => Ok(desktop_ntfs::shaped(plain, shape)?),
            Generator::SystemDisk => Ok(build("system-disk", plain)?),
        })
    }

    /// What its writes look like.
    pub fn shape(&self, sectors: u64) -> Result<WriteShape, StudyError> {
        let mut workload = self.open(sectors)?;
        let (mut shape, mut end, mut batch) = (WriteShape::default(), None, Vec::new());
        loop {
            batch.clear();
            workload.next_batch(&mut batch, 8192)?;
            if batch.is_empty() {
                return Ok(shape);
            }
            for request in batch.iter().filter(|request| request.op == HostOp::Write) {
                let count = shape.by_sectors.entry(request.sectors).or_default();
                count.0 += 1;
                count.1 += u64::from(end.is_some_and(|end| end != request.first_sector));
                end = Some(request.first_sector + u64::from(request.sectors));
            }
        }
    }
}

/// Writes by their length in sectors: all, and those that do not go on where the write before ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteShape {
    by_sectors: BTreeMap<u32, (u64, u64)>,
}

impl WriteShape {
    fn count(&self, sectors: std::ops::RangeInclusive<u32>) -> (u64, u64) {
        self.by_sectors.range(sectors).fold((0, 0), |sum, (_, count)| (sum.0 + count.0, sum.1 + count.1))
    }

    /// Writes of these lengths, % of writes.
    pub fn share(&self, sectors: std::ops::RangeInclusive<u32>) -> f64 {
        self.count(sectors).0 as f64 / self.count(0..=u32::MAX).0 as f64 * 100.0
    }

    /// Random ones among them, %; `None` where there are none.
    pub fn random(&self, sectors: std::ops::RangeInclusive<u32>) -> Option<f64> {
        let (all, random) = self.count(sectors);
        (all > 0).then(|| random as f64 / all as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_writes_and_random_is_what_does_not_go_on() {
        let by_sectors = BTreeMap::from([(1, (10, 5)), (8, (30, 24)), (64, (60, 6))]);
        let shape = WriteShape { by_sectors };
        assert!((shape.share(1..=8) - 40.0).abs() < 1e-9);
        assert!((shape.random(1..=8).unwrap() - 72.5).abs() < 1e-9);
        assert_eq!(shape.random(2..=7), None);
    }
}
