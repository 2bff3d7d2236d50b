//! Phases of a benchmark of one file: each takes every record once.

use engine::random::Stream;
use trace::{Workload, WorkloadError};
use units::{HostOp, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The file is written in order.
    Write,
    /// It is read in order.
    Read,
    /// Its records are read in random order.
    RandomRead,
    /// Its records are written in random order.
    RandomWrite,
    /// In order, after that.
    ReadAgain,
    /// At random, after that.
    RandomReadAgain,
}

/// All phases in the order of the benchmark, and two that show what reads cost after random writes.
pub const PHASES: [Phase; 6] =
    [Phase::Write, Phase::Read, Phase::RandomRead, Phase::RandomWrite, Phase::ReadAgain, Phase::RandomReadAgain];

/// Requests of a phase.
#[derive(Debug)]
pub struct Records {
    op: HostOp,
    sectors: u32,
    count: u64,
    next: u64,
    /// Where records are taken from; `None`: in order.
    order: Option<Vec<u32>>,
    /// A flush has still to follow.
    flush: bool,
}

impl Records {
    /// A phase over a file at the beginning of the drive; sectors of the file and of a record.
    pub fn new(phase: Phase, file: u64, sectors: u32, seed: u64) -> Self {
        let count = file / u64::from(sectors);
        let is_write = matches!(phase, Phase::Write | Phase::RandomWrite);
        let is_random = matches!(phase, Phase::RandomRead | Phase::RandomWrite | Phase::RandomReadAgain);
        let op = if is_write { HostOp::Write } else { HostOp::Read };
        let order = is_random.then(|| shuffled(count as u32, &mut Stream::new(seed, &format!("hard.{phase:?}"))));
        Self { op, sectors, count, next: 0, order, flush: is_write }
    }
}

/// Numbers below `count` in random order.
fn shuffled(count: u32, stream: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    stream.shuffle(&mut order);
    order
}

impl Workload for Records {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let request = |op, first_sector, sectors| Request { arrival: 0, first_sector, sectors, op, fua: false };
        let end = (self.next + limit as u64).min(self.count);
        for number in self.next..end {
            let record = self.order.as_ref().map_or(number, |order| u64::from(order[number as usize]));
            batch.push(request(self.op, record * u64::from(self.sectors), self.sectors));
        }
        let room = limit as u64 - (end - self.next);
        self.next = end;
        if room > 0 && end == self.count && std::mem::take(&mut self.flush) {
            batch.push(request(HostOp::Flush, 0, 0));
        }
        Ok(())
    }
}

/// Pages of 4 KiB at independent random places, and then a flush.
#[derive(Debug)]
pub struct Scattered {
    stream: Stream,
    pages: u64,
    left: u64,
    flush: bool,
}

impl Scattered {
    /// Sectors of a page.
    const SECTORS: u32 = 8;

    /// `count` writes to a drive of `sectors`.
    pub fn new(sectors: u64, count: u64, seed: u64, name: &str) -> Self {
        Self { stream: Stream::new(seed, name), pages: sectors / u64::from(Self::SECTORS), left: count, flush: true }
    }
}

impl Workload for Scattered {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let sectors = Self::SECTORS;
        let count = self.left.min(limit as u64);
        for _ in 0..count {
            let first_sector = self.stream.below(self.pages) * u64::from(sectors);
            batch.push(Request { arrival: 0, first_sector, sectors, op: HostOp::Write, fua: false });
        }
        self.left -= count;
        if count < limit as u64 && std::mem::take(&mut self.flush) {
            batch.push(Request { arrival: 0, first_sector: 0, sectors: 0, op: HostOp::Flush, fua: false });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_takes_each_record_once_and_writes_end_with_a_flush() {
        for phase in PHASES {
            let mut records = Records::new(phase, 1000, 8, 3);
            let mut batch = Vec::new();
            for _ in 0..20 {
                records.next_batch(&mut batch, 10).unwrap();
            }
            let flushes = batch.iter().filter(|request| request.op == HostOp::Flush).count();
            assert_eq!(flushes, usize::from(matches!(phase, Phase::Write | Phase::RandomWrite)));
            assert!(flushes == 0 || batch.last().unwrap().op == HostOp::Flush);
            let mut places: Vec<u64> =
                batch.iter().filter(|request| request.sectors > 0).map(|request| request.first_sector / 8).collect();
            let in_order = places.is_sorted();
            assert_eq!(in_order, matches!(phase, Phase::Write | Phase::Read | Phase::ReadAgain), "{phase:?}");
            places.sort_unstable();
            assert_eq!(places, (0..125).collect::<Vec<_>>());
        }
    }
}
