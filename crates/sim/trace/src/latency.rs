//! Latencies that were measured on the traced system, where a trace has them.

use metrics::{Histogram, Latencies, RecordedLatency};
use units::HostOp;

use crate::formats::TraceRecord;

/// Counts latencies; a trace without any costs one comparison a record.
#[derive(Default)]
pub(crate) struct LatencyTally {
    /// By [`HostOp::index`], made when the first latency comes.
    histograms: [Option<Histogram>; HostOp::ALL.len()],
}

impl LatencyTally {
    /// Counts the latency of a record that has one.
    #[inline]
    pub fn add(&mut self, record: &TraceRecord) {
        if let Some(latency_ns) = record.latency_ns {
            self.histograms[record.op.index()].get_or_insert_default().record(latency_ns);
        }
    }

    /// Latencies of `op` so far.
    pub fn of(&self, op: HostOp) -> Option<Latencies> {
        self.histograms[op.index()].as_ref().and_then(Latencies::of)
    }

    /// All of them; `None` if no record had one.
    pub fn all(&self) -> Option<RecordedLatency> {
        self.histograms.iter().any(Option::is_some).then(|| RecordedLatency {
            read: self.of(HostOp::Read),
            write: self.of(HostOp::Write),
            trim: self.of(HostOp::Trim),
            flush: self.of(HostOp::Flush),
        })
    }
}
