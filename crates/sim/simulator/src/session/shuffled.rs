//! A pass over a trace whose writes come in another order than the trace has.
//!
//! Faithful to: when requests arrive, which of them read, write, trim and flush, and which pages are written how often.
//! Simplified: a write takes the place of any other one, so what the trace says of heat over time is lost, and a trim
//! may come before the write it was for. Protects: writes that go on where another one ended stay together and in
//! order, so what was written in sequence still is.

use super::source::Opened;
use engine::random::Stream;
use metrics::RecordedLatency;
use trace::formats::Streams;
use trace::{Workload, WorkloadError};
use units::{HostOp, Request};

/// Requests that are put into a new order together. A longer pass is taken in pieces of as many, because all of them
/// are in memory: about 60 bytes each.
const WINDOW: usize = 1 << 21;
/// Requests taken from the workload at once.
const STEP: usize = 1 << 12;
/// No further write.
const END: u32 = u32::MAX;

/// A workload whose writes change places.
pub(super) struct Shuffled {
    inner: Opened,
    stream: Stream,
    window: Vec<Request>,
    next: usize,
}

impl Shuffled {
    /// The requests of `inner` in an order drawn from `stream`.
    pub fn new(inner: Opened, stream: Stream) -> Self {
        Self { inner, stream, window: Vec::new(), next: 0 }
    }

    fn refill(&mut self) -> Result<(), WorkloadError> {
        self.window.clear();
        self.next = 0;
        while self.window.len() < WINDOW {
            let before = self.window.len();
            self.inner.next_batch(&mut self.window, STEP)?;
            if self.window.len() == before {
                break;
            }
        }
        reorder(&mut self.window, &mut self.stream);
        Ok(())
    }
}

impl Workload for Shuffled {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        if self.next == self.window.len() {
            self.refill()?;
        }
        let end = self.window.len().min(self.next.saturating_add(limit));
        batch.extend_from_slice(&self.window[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining().map(|left| left + (self.window.len() - self.next) as u64)
    }

    fn recorded_latency(&self) -> Option<RecordedLatency> {
        self.inner.recorded_latency()
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn doubt(&self) -> Option<String> {
        self.inner.doubt()
    }
}

/// Gives the writes among the requests other places: runs of them in an order that is drawn.
fn reorder(requests: &mut [Request], stream: &mut Stream) {
    let writes: Vec<Request> = requests.iter().filter(|request| request.op == HostOp::Write).copied().collect();
    let Runs { mut heads, next } = Runs::of(&writes);
    stream.shuffle(&mut heads);
    let mut places = requests.iter_mut().filter(|request| request.op == HostOp::Write);
    for head in heads {
        let mut at = head;
        while at != END {
            let place = places.next().expect("as many places as writes");
            *place = Request { arrival: place.arrival, ..writes[at as usize] };
            at = next[at as usize];
        }
    }
}

/// Writes by their runs.
struct Runs {
    /// The first write of each run.
    heads: Vec<u32>,
    /// Of each write the one that goes on where it ends.
    next: Vec<u32>,
}

impl Runs {
    fn of(writes: &[Request]) -> Self {
        let mut runs = Self { heads: Vec::new(), next: vec![END; writes.len()] };
        let mut streams = Streams::default();
        let mut tails = [END; Streams::MOST];
        for (at, write) in (0..).zip(writes) {
            let (stream, goes_on) = streams.follow(0, write.first_sector, write.end_sector());
            if goes_on {
                runs.next[tails[stream] as usize] = at;
            } else {
                runs.heads.push(at);
            }
            tails[stream] = at;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Given(Vec<Request>);

    impl Workload for Given {
        fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
            batch.extend(self.0.drain(..limit.min(self.0.len())));
            Ok(())
        }
    }

    fn request(arrival: u64, op: HostOp, first_sector: u64) -> Request {
        Request { arrival, first_sector, sectors: 8, op, fua: false }
    }

    fn shuffled(requests: &[Request], seed: u64) -> Vec<Request> {
        let mut workload = Shuffled::new(Box::new(Given(requests.to_vec())), Stream::new(seed, "test"));
        let mut all = Vec::new();
        while all.len() < requests.len() {
            let before = all.len();
            workload.next_batch(&mut all, 7).unwrap();
            assert!(all.len() > before);
        }
        workload.next_batch(&mut all, 7).unwrap();
        all
    }

    #[test]
    fn writes_change_places_and_times_reads_and_trims_do_not() {
        let op = |at: u64| [HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Trim][at as usize % 4];
        let given: Vec<Request> = (0..400).map(|at| request(at * 10, op(at), at * 16)).collect();
        let all = shuffled(&given, 1);
        assert_eq!(all.len(), given.len());
        let mut moved = 0;
        for (before, after) in given.iter().zip(&all) {
            assert_eq!((before.arrival, before.op), (after.arrival, after.op));
            moved += usize::from(before.first_sector != after.first_sector);
            assert!(before.op == HostOp::Write || before == after);
        }
        assert!(moved > 150, "{moved} of 200 writes");
        let places = |requests: &[Request]| {
            let mut places: Vec<u64> = requests.iter().map(|request| request.first_sector).collect();
            places.sort_unstable();
            places
        };
        assert_eq!(places(&all), places(&given));
        assert_eq!(shuffled(&given, 1), all);
        assert_ne!(shuffled(&given, 2), all);
    }

    #[test]
    fn what_was_written_in_sequence_still_is() {
        let given: Vec<Request> = (0..100).map(|at| request(at, HostOp::Write, at * 8)).collect();
        assert_eq!(shuffled(&given, 1), given);
        // Two at a time: each of them stays in order.
        let both: Vec<Request> = (0..100).map(|at| request(at, HostOp::Write, at / 2 * 8 + at % 2 * 10_000)).collect();
        let all = shuffled(&both, 1);
        for low in [true, false] {
            let of = |requests: &[Request]| {
                let places = requests.iter().map(|request| request.first_sector);
                places.filter(|place| (*place < 10_000) == low).collect::<Vec<_>>()
            };
            assert_eq!(of(&all), of(&both));
        }
    }
}
