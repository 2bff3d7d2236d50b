//! Response times that were measured on the traced system, where a trace has them.

use metrics::Histogram;
use units::HostOp;

use crate::formats::TraceRecord;

/// Response times of one kind of operation. Percentiles are within 1/64 of the exact ones.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LatencySummary {
    /// Records with a response time.
    pub count: u64,
    /// Arithmetic mean, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: u64,
    /// 99 %, ns.
    pub p99_ns: u64,
    /// 99.9 %, ns.
    pub p999_ns: u64,
    /// Longest, ns.
    pub max_ns: u64,
}

/// Response times by operation; `None` for an operation that no record has one of.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct RecordedLatency {
    /// Of reads.
    pub read: Option<LatencySummary>,
    /// Of writes.
    pub write: Option<LatencySummary>,
    /// Of trims.
    pub trim: Option<LatencySummary>,
    /// Of flushes.
    pub flush: Option<LatencySummary>,
}

/// Counts response times; a trace without any costs one comparison a record.
#[derive(Default)]
pub(crate) struct LatencyTally {
    /// By [`HostOp::index`], made when the first response time comes.
    histograms: [Option<Histogram>; HostOp::ALL.len()],
}

impl LatencyTally {
    /// Counts the response time of a record that has one.
    #[inline]
    pub fn add(&mut self, record: &TraceRecord) {
        if let Some(latency_ns) = record.latency_ns {
            self.histograms[record.op.index()].get_or_insert_default().record(latency_ns);
        }
    }

    /// Response times of `op` so far.
    pub fn of(&self, op: HostOp) -> Option<LatencySummary> {
        let histogram = self.histograms[op.index()].as_ref()?;
        Some(LatencySummary {
            count: histogram.count(),
            mean_ns: histogram.mean(),
            p50_ns: histogram.percentile(0.5),
            p99_ns: histogram.percentile(0.99),
            p999_ns: histogram.percentile(0.999),
            max_ns: histogram.max(),
        })
    }

    /// All of them; `None` if no record had a response time.
    pub fn all(&self) -> Option<RecordedLatency> {
        self.histograms.iter().any(Option::is_some).then(|| RecordedLatency {
            read: self.of(HostOp::Read),
            write: self.of(HostOp::Write),
            trim: self.of(HostOp::Trim),
            flush: self.of(HostOp::Flush),
        })
    }
}
