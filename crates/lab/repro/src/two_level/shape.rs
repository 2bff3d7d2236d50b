//! The shape of the writes of a trace.

use crate::error::StudyError;
use crate::load::Load;
use std::collections::BTreeMap;
use units::HostOp;

/// Writes by their length in sectors: all, and the writes that do not go on where the write before ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteShape {
    by_sectors: BTreeMap<u32, (u64, u64)>,
}

impl WriteShape {
    /// Of all writes of a workload on a drive of `sectors`.
    /// Errors: it cannot be read.
    pub fn of(load: &Load, sectors: u64) -> Result<Self, StudyError> {
        let mut workload = load.open(sectors)?;
        let (mut shape, mut end, mut batch) = (Self::default(), None, Vec::new());
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
