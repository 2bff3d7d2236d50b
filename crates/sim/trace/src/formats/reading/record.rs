//! The normal form every format is brought to.

use units::HostOp;

use super::LostEvents;

/// One record of a trace, independent of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Arrival in nanoseconds. Parsers fill in the time of the file; [`super::Records`] hands it
    /// out relative to the first record, so it starts at 0 and never falls.
    pub time_ns: i64,
    /// Device within the trace: the number the file gives, or the order of first appearance where
    /// the file gives names. Each device has its own address space.
    pub device: u32,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Length in bytes; 0 only for a flush.
    pub length_bytes: u64,
    pub op: HostOp,
    /// Response time measured on the traced system, where the format has one.
    pub latency_ns: Option<u64>,
    /// Force unit access, where the format can tell; otherwise false.
    pub fua: bool,
}

impl TraceRecord {
    /// A record without latency and force unit access.
    pub fn new(time_ns: i64, device: u32, op: HostOp, offset_bytes: u64, length_bytes: u64) -> TraceRecord {
        TraceRecord { time_ns, device, offset_bytes, length_bytes, op, latency_ns: None, fua: false }
    }

    /// The byte after the last one.
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }
}

/// Treatment of a record that is earlier than the record before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Refuse the trace, naming the line.
    Error,
    /// Let it arrive together with the one before it.
    Clamp,
    /// Sort within a bounded window; earlier than the window reaches is refused, naming the line.
    Sort,
    /// Sort all of the trace before its first record is handed out: in memory up to 786,432 records, beyond that in a
    /// temporary file of 38 bytes a record.
    Whole,
}

impl Order {
    /// The name used on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Error => "error",
            Order::Clamp => "clamp",
            Order::Sort => "sort",
            Order::Whole => "whole",
        }
    }
}

/// Counts of records that were read and left out so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReadStatistics {
    /// Records read and kept.
    pub records: u64,
    /// Requests of size 0: they move no data.
    pub dropped_zero: u64,
    /// Lines without a character.
    pub dropped_blank: u64,
    /// Headers, comments and trailing summaries.
    pub dropped_comment: u64,
    /// Rows that are no request to replay: other trace points, unanswered requests, commands
    /// without an address, requests without a disk name beside some with one.
    pub dropped_other: u64,
    /// Lines that their parser refused ([`super::OddLines`]).
    pub dropped_odd: u64,
    /// 1 where the last line or record was cut short and left out.
    pub dropped_cut: u64,
    /// Response times below 0 or missing, of requests that were kept without one.
    pub dropped_latency: u64,
    /// Lost events, as the tracer reports them; `None` if it says nothing.
    pub lost: Option<LostEvents>,
    /// Records moved to an earlier place by `order = sort` and `order = whole`.
    pub reordered: u64,
    /// Records delayed to the time of the one before by `order = clamp`.
    pub clamped: u64,
    /// Gaps between two records that were cut to [`super::OpenOptions::gap_limit_ns`].
    pub gaps_cut: u64,
    /// Nanoseconds cut out of them in all; `u64::MAX` for 584 years and more.
    pub gaps_cut_ns: u64,
}

impl ReadStatistics {
    /// Recorded events: requests, and rows that are none.
    pub(crate) fn events(&self) -> u64 {
        self.records + self.dropped_zero + self.dropped_other - self.lost.map_or(0, |lost| lost.rows)
    }

    /// How many requests were moved or delayed, a sentence each. All of a trace that was sorted has a note of its own.
    pub(crate) fn order_notes(&self, order: Order) -> Vec<String> {
        let moved = if order == Order::Whole { 0 } else { self.reordered };
        let found = [
            (moved, "stood too late in the trace and were moved to their place in time (order = sort)."),
            (self.clamped, "were earlier than the one before and arrive together with it (order = clamp)."),
        ];
        let met = found.into_iter().filter(|(count, _)| *count > 0);
        met.map(|(count, text)| format!("{count} requests {text}")).collect()
    }

    /// That all of the trace was sorted, as a sentence, where `order` says so.
    pub(crate) fn whole_note(&self, order: Order) -> Option<String> {
        (order == Order::Whole).then(|| {
            format!(
                "All of the trace was sorted by time, and {} requests moved to an earlier place (workload.order = \
                 whole).",
                self.reordered
            )
        })
    }
}
