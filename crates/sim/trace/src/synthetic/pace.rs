//! From single accesses to batches of requests: the request count, the arrival times and the
//! flushes, which are the same for every generator.
//!
//! Protects: arrival times never fall, no request leaves the footprint, and the accesses of a
//! workload do not depend on its arrival times, which are drawn from a stream of their own.

use engine::random::Stream;
use units::{HostOp, Nanos, Request};

use super::parameters::WorkloadParameters;
use crate::{Workload, WorkloadError};

/// Operation and address, without time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub first_sector: u64,
    /// Number of sectors, at least 1.
    pub sectors: u32,
    /// Read, write or trim.
    pub op: HostOp,
}

/// A generator of accesses that never ends.
pub(super) trait Source {
    fn next_access(&mut self) -> Access;
}

/// One phase of an arrival process: with probability `share` the gap is exponential with `mean_ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapPhase {
    /// Probability, 0 to 1; the shares of a process add up to 1.
    pub share: f64,
    /// Mean gap in nanoseconds; 0 makes a burst.
    pub mean_ns: f64,
}

/// A published arrival process: a mixture of exponential gaps with regular long idle times.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrivalProcess {
    /// The mixture; empty when nothing is known.
    pub phases: &'static [GapPhase],
    /// Requests between two long idle times; 0 for none.
    pub session_requests: u64,
    /// Length of a long idle time in nanoseconds.
    pub idle_ns: f64,
}

impl ArrivalProcess {
    /// A workload of which nothing about time was published.
    pub const UNKNOWN: Self = Self { phases: &[], session_requests: 0, idle_ns: 0.0 };
    /// Poisson arrivals with a mean of 1 ns, to be stretched.
    const POISSON: Self = Self { phases: &[GapPhase { share: 1.0, mean_ns: 1.0 }], session_requests: 0, idle_ns: 0.0 };

    fn mean_ns(&self) -> f64 {
        self.phases.iter().map(|phase| phase.share * phase.mean_ns).sum()
    }
}

/// The clock of a workload.
#[derive(Debug)]
struct Arrivals {
    process: ArrivalProcess,
    stretch: f64,
    random: Stream,
    requests: u64,
    now: Nanos,
}

impl Arrivals {
    fn next(&mut self) -> Nanos {
        let mut gap_ns = self.gap_ns();
        self.requests += 1;
        if self.process.session_requests > 0 && self.requests.is_multiple_of(self.process.session_requests) {
            gap_ns += self.process.idle_ns;
        }
        // Rounded to the nearest nanosecond; saturation would take 584 years.
        self.now = self.now.saturating_add(libm::round(gap_ns * self.stretch) as Nanos);
        self.now
    }

    fn gap_ns(&mut self) -> f64 {
        let mut share = self.random.unit();
        let phases = self.process.phases;
        let phase = phases.iter().find(|phase| {
            share -= phase.share;
            share < 0.0
        });
        let mean_ns = phase.or(phases.last()).map_or(0.0, |phase| phase.mean_ns);
        if mean_ns == 0.0 {
            return 0.0;
        }
        // 1 - unit() is above 0, so the logarithm is finite.
        -libm::log(1.0 - self.random.unit()) * mean_ns
    }
}

/// A source with a length, arrival times and flushes: a complete workload.
#[derive(Debug)]
pub(super) struct Paced<S> {
    source: S,
    remaining: u64,
    arrivals: Option<Arrivals>,
    flush_every: u64,
    until_flush: u64,
    footprint_sectors: u64,
}

impl<S: Source> Paced<S> {
    /// Paces `source` as `parameters` say; `process` describes the arrivals of `name`.
    pub fn new(name: &str, parameters: &WorkloadParameters, process: ArrivalProcess, source: S) -> Self {
        Self {
            source,
            remaining: parameters.requests,
            arrivals: arrivals(name, parameters, process),
            flush_every: parameters.flush_every,
            until_flush: parameters.flush_every,
            footprint_sectors: parameters.footprint_sectors(),
        }
    }

    #[inline]
    fn next_request(&mut self) -> Request {
        let arrival = self.arrivals.as_mut().map_or(0, Arrivals::next);
        if self.flush_every > 0 {
            if self.until_flush == 0 {
                self.until_flush = self.flush_every;
                return Request { arrival, first_sector: 0, sectors: 0, op: HostOp::Flush, fua: false };
            }
            self.until_flush -= 1;
        }
        let Access { first_sector, sectors, op } = self.source.next_access();
        debug_assert!(sectors > 0, "an access of no sectors");
        debug_assert!(
            first_sector + u64::from(sectors) <= self.footprint_sectors,
            "sectors {first_sector}+{sectors} leave a footprint of {}",
            self.footprint_sectors
        );
        Request { arrival, first_sector, sectors, op, fua: false }
    }
}

impl<S: Source> Workload for Paced<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let count = usize::try_from(self.remaining).map_or(limit, |remaining| remaining.min(limit));
        // Extending by a counted range writes without a capacity check per request.
        batch.extend((0..count).map(|_| self.next_request()));
        if self.remaining != u64::MAX {
            self.remaining -= count as u64;
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        (self.remaining != u64::MAX).then_some(self.remaining)
    }
}

/// The clock that `parameters` ask for, or none when everything arrives at time 0.
fn arrivals(name: &str, parameters: &WorkloadParameters, process: ArrivalProcess) -> Option<Arrivals> {
    let mean_ns = parameters.mean_interarrival_ns.map(|mean_ns| mean_ns as f64);
    if mean_ns == Some(0.0) {
        return None;
    }
    let (process, stretch) = match (process.phases.is_empty(), mean_ns) {
        (true, None) => return None,
        (true, Some(mean_ns)) => (ArrivalProcess::POISSON, mean_ns),
        (false, None) => (process, 1.0),
        (false, Some(mean_ns)) => (process, mean_ns / process.mean_ns()),
    };
    let random = Stream::new(parameters.seed, &format!("workload.{name}.arrivals"));
    Some(Arrivals { process, stretch, random, requests: 0, now: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter(u64);

    impl Source for Counter {
        fn next_access(&mut self) -> Access {
            self.0 += 1;
            Access { first_sector: self.0 - 1, sectors: 1, op: HostOp::Write }
        }
    }

    fn paced(parameters: &WorkloadParameters) -> Vec<Request> {
        let mut workload = Paced::new("test", parameters, ArrivalProcess::UNKNOWN, Counter(0));
        let mut batch = Vec::new();
        while workload.remaining() != Some(0) {
            workload.next_batch(&mut batch, 7).unwrap();
        }
        batch
    }

    #[test]
    fn a_flush_follows_each_group() {
        let parameters = WorkloadParameters { flush_every: 3, ..WorkloadParameters::new(100, 9) };
        let ops: Vec<_> = paced(&parameters).iter().map(|request| request.op).collect();
        let (w, f) = (HostOp::Write, HostOp::Flush);
        assert_eq!(ops, [w, w, w, f, w, w, w, f, w]);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_asked_for() {
        let requests = 200_000;
        let parameters =
            WorkloadParameters { mean_interarrival_ns: Some(5_000), ..WorkloadParameters::new(1 << 20, requests) };
        let batch = paced(&parameters);
        let mean = batch.last().unwrap().arrival as f64 / requests as f64;
        assert!((mean / 5_000.0 - 1.0).abs() < 0.01, "mean gap {mean} ns");
        assert!(batch.is_sorted_by_key(|request| request.arrival));
    }
}
