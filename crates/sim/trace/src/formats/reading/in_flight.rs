//! Requests of a trace that shows issue and completion as two rows, joined by device and tag.
//!
//! A request waits here for its completion, which tells its latency, and leaves in order of issue. One whose
//! completion never comes leaves without a latency, at the latest once its tag is used again or many wait behind it.

use std::collections::{BTreeMap, VecDeque};

use super::TraceRecord;
use super::fields::FieldResult;
use super::parser::{Sink, check};

/// Most requests that wait; queues of drives are shorter.
const WAITING_MAX: usize = 4096;

struct Waiting {
    record: TraceRecord,
    /// Nothing more is to come for it.
    is_settled: bool,
}

#[derive(Default)]
pub(crate) struct InFlight {
    /// In order of issue.
    waiting: VecDeque<Waiting>,
    /// Number of the first of them, counted from the start of the trace.
    first: u64,
    /// Device and tag to the number of the last request that had them.
    tags: BTreeMap<(u32, u64), u64>,
}

impl InFlight {
    /// Takes a request when it is issued.
    /// Errors: it ends beyond 64 bits.
    pub fn issue(&mut self, tag: u64, record: TraceRecord, sink: &mut Sink) -> FieldResult<()> {
        check(&record)?;
        let number = self.first + self.waiting.len() as u64;
        if let Some(lost) = self.tags.insert((record.device, tag), number) {
            self.settle(lost, None);
        }
        self.waiting.push_back(Waiting { record, is_settled: false });
        if self.waiting.len() > WAITING_MAX {
            self.settle(self.first, None);
        }
        self.pass_on(sink)
    }

    /// Takes note of a completion; one of a request from before the trace changes nothing.
    pub fn complete(&mut self, device: u32, tag: u64, time_ns: i64, sink: &mut Sink) -> FieldResult<()> {
        if let Some(number) = self.tags.remove(&(device, tag)) {
            self.settle(number, Some(time_ns));
        }
        self.pass_on(sink)
    }

    /// Hands over all that wait.
    pub fn finish(&mut self, sink: &mut Sink) -> FieldResult<()> {
        self.tags.clear();
        for waiting in std::mem::take(&mut self.waiting) {
            self.first += 1;
            sink.push(waiting.record)?;
        }
        Ok(())
    }

    fn settle(&mut self, number: u64, completed_ns: Option<i64>) {
        let place = number.checked_sub(self.first).map(|place| place as usize);
        let Some(waiting) = place.and_then(|place| self.waiting.get_mut(place)) else { return };
        waiting.is_settled = true;
        let latency = completed_ns.and_then(|completed| completed.checked_sub(waiting.record.time_ns));
        waiting.record.latency_ns = latency.and_then(|latency| u64::try_from(latency).ok());
    }

    fn pass_on(&mut self, sink: &mut Sink) -> FieldResult<()> {
        while self.waiting.front().is_some_and(|waiting| waiting.is_settled) {
            let Some(waiting) = self.waiting.pop_front() else { break };
            self.first += 1;
            sink.push(waiting.record)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use units::HostOp;

    use super::*;

    fn record(time_ns: i64) -> TraceRecord {
        TraceRecord::new(time_ns, 0, HostOp::Write, 0, 512)
    }

    fn found(sink: &mut Sink) -> Vec<(i64, Option<u64>)> {
        sink.records.drain(..).map(|record| (record.time_ns, record.latency_ns)).collect()
    }

    #[test]
    fn requests_leave_in_order_of_issue_with_the_latency_of_their_tag() {
        let (mut flight, mut sink) = (InFlight::default(), Sink::default());
        flight.issue(1, record(10), &mut sink).unwrap();
        flight.issue(2, record(20), &mut sink).unwrap();
        flight.complete(0, 2, 25, &mut sink).unwrap();
        flight.complete(1, 1, 26, &mut sink).unwrap();
        assert_eq!(found(&mut sink), [], "the first is under way, on another device than the completion");
        flight.complete(0, 1, 40, &mut sink).unwrap();
        flight.complete(0, 2, 50, &mut sink).unwrap();
        assert_eq!(found(&mut sink), [(10, Some(30)), (20, Some(5))]);
    }

    #[test]
    fn a_request_without_a_completion_holds_up_no_other() {
        let (mut flight, mut sink) = (InFlight::default(), Sink::default());
        flight.issue(1, record(10), &mut sink).unwrap();
        flight.issue(1, record(20), &mut sink).unwrap();
        assert_eq!(found(&mut sink), [(10, None)], "its tag was used again");
        for tag in 0..WAITING_MAX as u64 {
            flight.issue(100 + tag, record(30), &mut sink).unwrap();
        }
        assert_eq!(found(&mut sink), [(20, None)], "too many waited behind it");
        flight.complete(0, 1, 99, &mut sink).unwrap();
        flight.complete(0, 100, 31, &mut sink).unwrap();
        assert_eq!(found(&mut sink), [(30, Some(1))]);
        flight.finish(&mut sink).unwrap();
        assert_eq!(found(&mut sink).len(), WAITING_MAX - 1);
    }
}
