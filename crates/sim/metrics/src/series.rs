//! Time series of bounded size: when the table is full, neighbouring intervals are merged and the
//! interval doubles, so a run of any length gives between 200 and 400 points.

use serde::{Deserialize, Serialize};
use units::{DIE_CAUSES, HostOp, Nanos, WAIT_KINDS};

/// Most intervals kept.
const POINTS: usize = 400;
/// First interval, ns.
const FIRST_INTERVAL: Nanos = 100_000;

/// Sums over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Requests completed, by [`HostOp::index`].
    pub requests: [u64; 4],
    /// Reads of pages that hold nothing, which `requests` does not count.
    pub unwritten: u64,
    /// Bytes moved, reads then writes.
    pub bytes: [u64; 2],
    /// Sum of latencies, reads then writes, ns.
    pub latency_sum: [u64; 2],
    /// Longest latency, reads then writes, ns.
    pub latency_max: [u64; 2],
    /// Requests under way, integrated over time: divided by the interval, the mean queue depth.
    pub occupancy: u64,
    /// Fewest requests under way at any time of the interval; `None`: no time passed.
    pub fewest: Option<u32>,
    /// Flash programs by [`units::Cause::index`].
    pub programs: [u64; DIE_CAUSES],
    /// Waiting of reads and writes, by root cause, indexed by
    /// [`units::Wait::index`]; sums, ns.
    pub waited: [u64; WAIT_KINDS],
    /// Blocks that are erased and can be programmed, at the end of the interval; the fewest, where intervals were
    /// merged. `None`: nobody counted them.
    pub free_blocks: Option<u32>,
}

impl Sample {
    fn add(&mut self, other: &Sample) {
        for (a, b) in self.requests.iter_mut().zip(other.requests) {
            *a += b;
        }
        for index in 0..2 {
            self.bytes[index] += other.bytes[index];
            self.latency_sum[index] += other.latency_sum[index];
            self.latency_max[index] = self.latency_max[index].max(other.latency_max[index]);
        }
        for (a, b) in self.programs.iter_mut().zip(other.programs) {
            *a += b;
        }
        for (a, b) in self.waited.iter_mut().zip(other.waited) {
            *a += b;
        }
        self.occupancy += other.occupancy;
        self.fewest = self.fewest.into_iter().chain(other.fewest).min();
        self.unwritten += other.unwritten;
        self.free_blocks = self.free_blocks.into_iter().chain(other.free_blocks).min();
    }
}

/// The state of a drive at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Flash programs so far, by [`units::Cause::index`].
    pub programs: [u64; DIE_CAUSES],
    /// Blocks that are erased and can be programmed; `None`: nobody counted them.
    pub free_blocks: Option<u32>,
}

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Nanos,
    done: Vec<Sample>,
    current: Sample,
    current_end: Nanos,
    /// Up to when the requests under way have been integrated.
    integrated: Nanos,
    programs_before: [u64; DIE_CAUSES],
}

impl Default for Series {
    fn default() -> Self {
        Self {
            interval: FIRST_INTERVAL,
            done: Vec::with_capacity(POINTS),
            current: Sample::default(),
            current_end: FIRST_INTERVAL,
            integrated: 0,
            programs_before: [0; DIE_CAUSES],
        }
    }
}

impl Series {
    /// Whether `now` lies beyond the current interval, so that [`Series::roll`] is due.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        now >= self.current_end
    }

    /// `outstanding` requests have been under way since the last call, within the current interval.
    #[inline]
    pub fn elapse(&mut self, now: Nanos, outstanding: u32) {
        if now > self.integrated {
            self.current.occupancy += (now - self.integrated) * u64::from(outstanding);
            self.current.fewest = Some(self.current.fewest.map_or(outstanding, |fewest| fewest.min(outstanding)));
            self.integrated = now;
        }
    }

    /// Closes intervals up to `now`; `look` has the present state of the drive, and `outstanding` requests have been
    /// under way since the last call.
    pub fn roll(&mut self, now: Nanos, look: Look, outstanding: u32) {
        self.close(look.programs);
        while now >= self.current_end {
            if self.done.len() == POINTS {
                self.halve();
                continue;
            }
            self.elapse(self.current_end, outstanding);
            self.current.free_blocks = look.free_blocks;
            self.done.push(std::mem::take(&mut self.current));
            self.current_end += self.interval;
        }
    }

    fn close(&mut self, programs: [u64; DIE_CAUSES]) {
        for (sum, (now, before)) in self.current.programs.iter_mut().zip(programs.iter().zip(self.programs_before)) {
            *sum += now - before;
        }
        self.programs_before = programs;
    }

    fn halve(&mut self) {
        let merged = self.done.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair.get(1).into_iter().for_each(|second| sum.add(second));
            sum
        });
        self.done = merged.collect();
        self.interval *= 2;
        self.current_end = (self.done.len() as u64 + 1) * self.interval;
    }

    /// Where what a read or write of this interval waited for is added, by root cause; other operations have no place.
    #[inline]
    pub fn waited(&mut self, op: HostOp) -> Option<&mut [u64; WAIT_KINDS]> {
        (op.index() < 2).then_some(&mut self.current.waited)
    }

    /// Adds a completed request.
    #[inline]
    pub fn record(&mut self, op: HostOp, latency: Nanos, bytes: u64) {
        let sample = &mut self.current;
        sample.requests[op.index()] += 1;
        if op.index() < 2 {
            sample.bytes[op.index()] += bytes;
            sample.latency_sum[op.index()] += latency;
            sample.latency_max[op.index()] = sample.latency_max[op.index()].max(latency);
        }
    }

    /// Adds a completed read of pages that hold nothing.
    #[inline]
    pub fn record_unwritten(&mut self) {
        self.current.unwritten += 1;
    }

    /// Interval, ns, and all samples of a finished run, whose drive shows `look` at its end.
    pub fn finish(mut self, look: Look) -> (Nanos, Vec<Sample>) {
        self.close(look.programs);
        if self.current != Sample::default() {
            self.current.free_blocks = look.free_blocks;
            self.done.push(self.current);
        }
        (self.interval, self.done)
    }
}

/// Requests over time and address.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddressMap {
    pub bins: usize,
    /// Sectors of an address bin.
    pub sectors_per_bin: u64,
    /// Requests a row covers.
    pub requests_per_row: u64,
    bin_shift: u32,
    in_row: u64,
    rows: Vec<Vec<[u32; 2]>>,
}

const MAP_ROWS: usize = 128;
const MAP_BINS: u64 = 128;

impl AddressMap {
    /// A map over a drive of `sectors`.
    pub fn new(sectors: u64) -> Self {
        // A power of two, so that finding the bin is a shift.
        let sectors_per_bin = sectors.div_ceil(MAP_BINS).next_power_of_two();
        let bin_shift = sectors_per_bin.trailing_zeros();
        let bins = sectors.div_ceil(sectors_per_bin).max(1) as usize;
        Self { bins, sectors_per_bin, requests_per_row: 16, bin_shift, in_row: 0, rows: vec![vec![[0; 2]; bins]] }
    }

    /// Adds a request. Rows hold equal numbers of requests, so that a pause in the workload does not
    /// squeeze the rest into a few rows.
    #[inline]
    pub fn record(&mut self, op: HostOp, first_sector: u64) {
        if op.index() > 1 {
            return;
        }
        if self.in_row == self.requests_per_row {
            self.next_row();
        }
        self.in_row += 1;
        let bin = (first_sector >> self.bin_shift) as usize;
        if let (Some(row), true) = (self.rows.last_mut(), bin < self.bins) {
            row[bin][op.index()] += 1;
        }
    }

    fn next_row(&mut self) {
        self.in_row = 0;
        if self.rows.len() == MAP_ROWS {
            let merged = self.rows.chunks(2).map(|pair| {
                let sum = |bin: usize, op: usize| pair.iter().map(|row| row[bin][op]).sum();
                (0..self.bins).map(|bin| [sum(bin, 0), sum(bin, 1)]).collect()
            });
            self.rows = merged.collect();
            self.requests_per_row *= 2;
        }
        self.rows.push(vec![[0; 2]; self.bins]);
    }

    /// Counts of one kind (0 reads, 1 writes), row after row.
    pub fn counts(&self, op: usize) -> Vec<u32> {
        self.rows.iter().flatten().map(|bin| bin[op]).collect()
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_intervals_merge() {
        let mut series = Series::default();
        let look = |programs, free| Look { programs, free_blocks: Some(free) };
        for step in 0..10_000_u64 {
            let now = step * 77_777;
            if series.is_over(now) {
                series.roll(now, look(std::array::from_fn(|cause| cause as u64 * step), 20_000 - step as u32), 3);
            }
            series.elapse(now, 3);
            series.record(HostOp::Write, 5, 4096);
        }
        let (interval, samples) = series.finish(look(std::array::from_fn(|cause| cause as u64 * 10_000), 10_000));
        for sample in &samples[..samples.len() - 1] {
            assert_eq!(sample.occupancy, 3 * interval, "three requests are under way all the time");
            assert_eq!(sample.fewest, Some(3));
        }
        assert!(samples.len() <= POINTS && samples.len() >= POINTS / 4, "{}", samples.len());
        assert!(interval.is_multiple_of(FIRST_INTERVAL));
        assert_eq!(samples.iter().map(|s| s.requests[1]).sum::<u64>(), 10_000);
        let free: Vec<u32> = samples.iter().filter_map(|sample| sample.free_blocks).collect();
        assert!(free.len() == samples.len() && free.is_sorted_by(|before, after| before > after), "{free:?}");
        for cause in 0..DIE_CAUSES {
            assert_eq!(samples.iter().map(|s| s.programs[cause]).sum::<u64>(), cause as u64 * 10_000);
        }
    }

    #[test]
    fn the_address_map_keeps_every_request() {
        let mut map = AddressMap::new(1000);
        for request in 0..100_000_u64 {
            map.record(HostOp::Read, request % 1000);
        }
        assert!(map.rows() <= MAP_ROWS);
        assert_eq!(map.counts(0).iter().sum::<u32>(), 100_000);
        assert_eq!(map.counts(1).iter().sum::<u32>(), 0);
    }
}
