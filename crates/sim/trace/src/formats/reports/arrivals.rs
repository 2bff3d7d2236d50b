//! How requests arrive: the busiest seconds and the longest pause.

use units::HostOp;

use super::super::TraceRecord;

/// The busiest of the seconds that follow each other from the first record on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PeakSummary {
    /// Arrivals in one second: requests, or bytes of reads and writes.
    pub per_second: u64,
    /// When the second begins, in nanoseconds after the first record.
    pub at_ns: u64,
}

/// The longest time between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GapSummary {
    /// How long, in nanoseconds.
    pub gap_ns: u64,
    /// When it begins, in nanoseconds after the first record.
    pub at_ns: u64,
    /// Number of the record before it in order of time, from 1.
    pub after_record: u64,
}

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;

/// Keeps one second and the records of all before it.
#[derive(Default)]
pub(super) struct Arrivals {
    records: u64,
    last_ns: u64,
    /// The second under way, and what arrived in it.
    second: u64,
    requests: u64,
    bytes: u64,
    peak_requests: (u64, u64),
    peak_bytes: (u64, u64),
    longest: Option<GapSummary>,
    /// Gaps longer than a minute.
    pub over_minute: u64,
}

impl Arrivals {
    pub fn add(&mut self, record: &TraceRecord) {
        let time_ns = record.time_ns.unsigned_abs();
        if self.records > 0 {
            self.gap(time_ns - self.last_ns);
        }
        if time_ns - self.second * SECOND_NS >= SECOND_NS {
            self.second = time_ns / SECOND_NS;
            (self.requests, self.bytes) = (0, 0);
        }
        self.records += 1;
        self.last_ns = time_ns;
        self.requests += 1;
        if matches!(record.op, HostOp::Read | HostOp::Write) {
            self.bytes = self.bytes.saturating_add(record.length_bytes);
        }
        if self.requests > self.peak_requests.0 {
            self.peak_requests = (self.requests, self.second);
        }
        if self.bytes > self.peak_bytes.0 {
            self.peak_bytes = (self.bytes, self.second);
        }
    }

    fn gap(&mut self, gap_ns: u64) {
        self.over_minute += u64::from(gap_ns > MINUTE_NS);
        if self.longest.is_none_or(|longest| gap_ns > longest.gap_ns) {
            self.longest = Some(GapSummary { gap_ns, at_ns: self.last_ns, after_record: self.records });
        }
    }

    /// `None` for a trace without times.
    pub fn peak_requests(&self) -> Option<PeakSummary> {
        self.peak(self.peak_requests)
    }

    /// `None` for a trace without times, or without data.
    pub fn peak_bytes(&self) -> Option<PeakSummary> {
        self.peak(self.peak_bytes)
    }

    fn peak(&self, (per_second, second): (u64, u64)) -> Option<PeakSummary> {
        let timed = self.last_ns > 0 && per_second > 0;
        timed.then(|| PeakSummary { per_second, at_ns: second * SECOND_NS })
    }

    /// `None` for fewer than two records, or without times.
    pub fn longest_gap(&self) -> Option<GapSummary> {
        self.longest.filter(|longest| longest.gap_ns > 0)
    }
}
