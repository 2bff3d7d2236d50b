//! Latency of one kind of request, with the reasons for waiting summed in each latency bucket: the
//! slowest 1 % can be explained without keeping anything for each request.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};
use units::{HostOp, Nanos, WAIT_KINDS, Wait};

/// Latency histogram and waiting times by bucket.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LatencyRecorder {
    histogram: Histogram,
    /// The row of `waits` of each bucket; 0: nothing waited in it. The buckets are thousands and a row has hundreds of
    /// bytes, so that rows for all would take longer than a short run.
    rows: Vec<u16>,
    /// Direct and root waiting of a bucket; the first row stays zero.
    waits: Vec<[[Nanos; 2]; WAIT_KINDS]>,
    /// Sum of the latencies of each bucket: what is left after waiting must not be rounding.
    sums: Vec<Nanos>,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self {
            histogram: Histogram::default(),
            rows: vec![0; Histogram::buckets()],
            waits: vec![[[0; 2]; WAIT_KINDS]],
            sums: vec![0; Histogram::buckets()],
        }
    }
}

/// Latencies of one kind of request, ns: as simulated, or as a trace recorded them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Requests that have one.
    pub count: u64,
    pub mean: f64,
    /// Median; as all percentiles at most 1/64 above the exact one, and `None` where fewer than ten requests lie beyond
    /// it.
    pub p50: Option<Nanos>,
    pub p90: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub p999: Option<Nanos>,
    pub p9999: Option<Nanos>,
    pub max: Nanos,
}

impl Latencies {
    /// Of these latencies; `None` if there are none.
    pub fn of(latencies: &Histogram) -> Option<Self> {
        let [p50, p90, p99, p999, p9999] = crate::PERCENTILES.map(|(_, share)| latencies.supported(share));
        let count = latencies.count();
        (count > 0).then(|| Self { count, mean: latencies.mean(), p50, p90, p99, p999, p9999, max: latencies.max() })
    }
}

/// Latencies that a trace recorded, by operation; `None` for an operation that none was recorded of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedLatency {
    pub read: Option<Latencies>,
    pub write: Option<Latencies>,
    pub trim: Option<Latencies>,
    pub flush: Option<Latencies>,
}

impl RecordedLatency {
    /// The figures of an operation.
    pub fn of(&self, op: HostOp) -> Option<Latencies> {
        match op {
            HostOp::Read => self.read,
            HostOp::Write => self.write,
            HostOp::Trim => self.trim,
            HostOp::Flush => self.flush,
        }
    }
}

/// The causes of a request's waiting.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    /// Nanoseconds by direct blocker and by root cause, indexed by [`Wait::index`].
    pub entries: &'a [[Nanos; 2]; WAIT_KINDS],
    /// Bit k is set where entry k counts; the others mean nothing.
    pub kinds: u32,
}

#[inline(always)]
fn charge(
    sums: &mut [[Nanos; 2]; WAIT_KINDS],
    roots: &mut Option<&mut [u64; WAIT_KINDS]>,
    kind: usize,
    [direct, root]: [Nanos; 2],
) {
    sums[kind] = [sums[kind][0] + direct, sums[kind][1] + root];
    if let Some(roots) = roots {
        roots[kind] += root;
    }
}

/// Means over the slowest requests, ns a request.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    pub requests: u64,
    /// Latency that those requests have at least, ns.
    pub latency: f64,
    /// Waiting by direct blocker, indexed by [`Wait::index`].
    pub direct: [f64; WAIT_KINDS],
    /// Waiting by root cause.
    pub root: [f64; WAIT_KINDS],
}

impl Tail {
    /// Latency that was no waiting: the request's own commands and transfers.
    pub fn service(&self) -> f64 {
        self.latency - self.direct.iter().sum::<f64>()
    }
}

impl LatencyRecorder {
    /// Adds a request: its latency, the causes of its waiting since the drive took it, and its time in the host's
    /// queue.
    #[inline]
    pub fn record(&mut self, latency: Nanos, waits: Option<Waits<'_>>, queue: Nanos) {
        self.record_with(latency, waits, None);
        self.record_queue(latency, queue, None, None);
    }

    /// The same of a request that did not stand in the host's queue. All it waited for is added to `roots` as well, by
    /// root cause.
    #[inline]
    pub fn record_with(&mut self, latency: Nanos, waits: Option<Waits<'_>>, mut roots: Option<&mut [u64; WAIT_KINDS]>) {
        let bucket = self.histogram.record(latency);
        self.sums[bucket] += latency;
        if let Some(waits) = waits.filter(|waits| waits.kinds != 0) {
            let sums = self.waits_mut(bucket);
            let mut kinds = waits.kinds;
            while kinds != 0 {
                let kind = kinds.trailing_zeros() as usize;
                charge(sums, &mut roots, kind, waits.entries[kind]);
                kinds &= kinds - 1;
            }
        }
    }

    /// Adds the time that a request recorded with this latency stood in the host's queue, to `roots` as well.
    /// `by_root`: the same time by root cause, if that is known; otherwise the queue stands for itself.
    #[cold]
    pub fn record_queue(
        &mut self,
        latency: Nanos,
        queue: Nanos,
        by_root: Option<&[Nanos; WAIT_KINDS]>,
        mut roots: Option<&mut [u64; WAIT_KINDS]>,
    ) {
        let sums = self.waits_mut(Histogram::bucket(latency));
        charge(sums, &mut roots, Wait::Queue.index(), [queue, if by_root.is_some() { 0 } else { queue }]);
        for (kind, root) in by_root.into_iter().flatten().enumerate() {
            charge(sums, &mut roots, kind, [0, *root]);
        }
    }

    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    pub fn merge(&mut self, other: &LatencyRecorder) {
        self.histogram.merge(&other.histogram);
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine += theirs;
        }
        for (bucket, _) in other.rows.iter().enumerate().filter(|(_, row)| **row != 0) {
            let mine = self.waits_mut(bucket).as_flattened_mut();
            for (a, b) in mine.iter_mut().zip(other.waits_of(bucket).as_flattened()) {
                *a += b;
            }
        }
    }

    fn waits_of(&self, bucket: usize) -> &[[Nanos; 2]; WAIT_KINDS] {
        &self.waits[usize::from(self.rows[bucket])]
    }

    #[inline]
    fn waits_mut(&mut self, bucket: usize) -> &mut [[Nanos; 2]; WAIT_KINDS] {
        if self.rows[bucket] == 0 {
            self.add_row(bucket);
        }
        &mut self.waits[usize::from(self.rows[bucket])]
    }

    #[cold]
    fn add_row(&mut self, bucket: usize) {
        self.rows[bucket] = self.waits.len() as u16;
        self.waits.push([[0; 2]; WAIT_KINDS]);
    }

    /// Waiting of all requests together by direct blocker and by root cause, ns, indexed by [`Wait::index`].
    pub fn waited(&self) -> [[Nanos; 2]; WAIT_KINDS] {
        let mut sums = [[0; 2]; WAIT_KINDS];
        for (bucket, _) in self.histogram.filled() {
            for (sum, [direct, root]) in sums.iter_mut().zip(self.waits_of(bucket)) {
                *sum = [sum[0] + direct, sum[1] + root];
            }
        }
        sums
    }

    /// Means over the slowest `share` of the requests (1 is all), rounded up to a whole request. Of the fastest bucket
    /// among these only as many requests count as are wanted, each with the mean of that bucket.
    pub fn tail(&self, share: f64) -> Tail {
        let wanted = (self.histogram.count() as f64 * share).ceil() as u64;
        let mut tail = Tail::default();
        for (bucket, count) in self.histogram.filled().rev() {
            if tail.requests >= wanted {
                break;
            }
            let taken = count.min(wanted - tail.requests);
            let part = taken as f64 / count as f64;
            tail.requests += taken;
            tail.latency += self.sums[bucket] as f64 * part;
            for kind in 0..WAIT_KINDS {
                let [direct, root] = self.waits_of(bucket)[kind];
                tail.direct[kind] += direct as f64 * part;
                tail.root[kind] += root as f64 * part;
            }
        }
        let requests = tail.requests.max(1) as f64;
        tail.latency /= requests;
        for sum in tail.direct.iter_mut().chain(&mut tail.root) {
            *sum /= requests;
        }
        tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_explained_by_the_slow_requests_alone() {
        let mut recorder = LatencyRecorder::default();
        let mut entries = [[0; 2]; WAIT_KINDS];
        entries[units::Cause::Gc.index()] = [900, 0];
        entries[Wait::Space.index()] = [40, 40];
        for _ in 0..99 {
            recorder.record(100, None, 0);
        }
        let waits = Waits { entries: &entries, kinds: 1 << units::Cause::Gc.index() | 1 << Wait::Space.index() };
        recorder.record(1000, Some(waits), 0);
        let all = recorder.tail(1.0);
        let slow = recorder.tail(0.01);
        assert!((all.direct[units::Cause::Gc.index()] - 9.0).abs() < 1e-9);
        assert_eq!(slow.requests, 1);
        assert!((slow.latency - 1000.0).abs() < 1e-9, "exact, not the bound of its bucket");
        assert!((slow.service() - 60.0).abs() < 1e-9);
        assert!((slow.direct[units::Cause::Gc.index()] - 900.0).abs() < 1e-9);
        assert!((slow.direct[Wait::Space.index()] - 40.0).abs() < 1e-9);
    }

    /// Each run made rows for all buckets: 3 MB, which took longer than a small run.
    #[test]
    fn a_recorder_has_rows_for_buckets_that_waited_and_merges_those_of_others() {
        let mut entries = [[0; 2]; WAIT_KINDS];
        let bus = Wait::Bus.index();
        entries[bus] = [30, 20];
        let record = |recorder: &mut LatencyRecorder, latencies: &[Nanos]| {
            for latency in latencies {
                recorder.record(*latency, Some(Waits { entries: &entries, kinds: 1 << bus }), 0);
            }
        };
        let [mut one, mut other, mut all] = std::array::from_fn(|_| LatencyRecorder::default());
        assert_eq!(one.waits.len(), 1);
        record(&mut one, &[1_000_000, 50, 50]);
        record(&mut other, &[50, 4_000, 1_000_000]);
        record(&mut all, &[1_000_000, 50, 50, 50, 4_000, 1_000_000]);
        assert_eq!(one.waits.len(), 3, "two buckets waited");
        one.merge(&other);
        assert_eq!(one.waited(), all.waited());
        for share in [0.1, 0.4, 1.0] {
            assert_eq!(one.tail(share).root[bus].to_bits(), all.tail(share).root[bus].to_bits());
        }
        assert_eq!(one.waits[0], [[0; 2]; WAIT_KINDS], "the row of all others stays zero");
    }

    #[test]
    fn the_slowest_percent_is_no_more_than_that_although_all_latencies_share_a_bucket() {
        let mut recorder = LatencyRecorder::default();
        for _ in 0..500 {
            recorder.record(100, None, 30);
        }
        let slow = recorder.tail(0.01);
        assert_eq!(slow.requests, 5);
        assert!((slow.latency - 100.0).abs() < 1e-9 && (slow.service() - 70.0).abs() < 1e-9, "{slow:?}");
    }
}
