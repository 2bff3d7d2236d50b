//! A trace that is run several times: times go on one mean distance after its last request.
//!
//! Protects: repeated in the same order, a trace that writes most pages once has them die in the order in which
//! they were written; whole blocks are empty by themselves, and a drive seems to live several times too long. The
//! overwrites of the trace itself tell whether this happens. Passes in new orders are the remedy.

use super::SessionError;
use super::source::{Opened, WorkloadSource};
use crate::DrivePlan;
use layer::{Choices, Parameter, ParameterKind as Kind};
use metrics::RecordedLatency;
use trace::formats::WritePattern;
use trace::{Workload, WorkloadError};
use units::{Nanos, Request};

/// Order of the requests of a trace in its further passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatOrder {
    /// That of the trace.
    Same,
    /// A new one for each pass.
    Shuffle,
}

/// Order of the requests of a trace in its further passes, by name.
pub(crate) const REPEAT_ORDER: Choices<RepeatOrder> = Choices {
    key: "workload.repeat_order",
    table: &[
        (
            "same",
            "every pass has the order of the trace: right for a trace that overwrites its own pages. Pages that only \
             the repetition overwrites become invalid in the order in which they were written, which costs no \
             collection",
            RepeatOrder::Same,
        ),
        (
            "shuffle",
            "the writes of each further pass change places with each other, as workload.seed draws: right for a trace \
             that writes each address about once. Arrival times, reads, trims and flushes stay, and writes that \
             continue each other stay together. A pass of more than 2,097,152 requests is shuffled in pieces of that \
             length",
            RepeatOrder::Shuffle,
        ),
    ],
};

pub(crate) const TIMES_KEY: Parameter = Parameter::new(
    "workload.repeat",
    Kind::Count { min: 1, max: 1_000_000 },
    "1",
    "How often a trace is run, one pass after the other. Use it where a trace is too short to wear or to fill a \
     drive. The times of each pass continue where the pass before it ended.",
)
.example("3");
pub(crate) const ORDER_KEY: Parameter = Parameter::new(
    REPEAT_ORDER.key,
    Kind::Choice(|| REPEAT_ORDER.named()),
    "same",
    "Order of the writes in the second and later passes of a trace that is run several times (workload.repeat).",
);

/// Where more than this share of the written bytes goes to pages that a pass writes once, these pages decide the write
/// amplification. Measured: half of all bytes on such pages, beside a ring of 61 pages, have 2.6 in the same order and
/// 5.0 in new ones; four fifths have 2.5 and 6.0.
const MUCH: f64 = 0.4;
/// Where more than this share does, write amplification may be told too low.
const SOME: f64 = 0.1;

/// The fate of pages where a trace is run again in the same order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Echo {
    /// The trace overwrites its own pages as well, in orders of its own.
    Own,
    /// Some pages die in the order in which they were written: this share of the bytes goes to pages written once.
    Partly(f64),
    /// So many do that they decide.
    Alone {
        /// The share of the bytes that goes to pages written once.
        share: f64,
        /// Bytes that a pass writes.
        pass_bytes: u64,
    },
}

impl Echo {
    /// The effect of a trace's writes on a drive. Writes in sequence, block after block, die in order whoever
    /// overwrites them: a new order of the passes keeps them together.
    pub fn of(pattern: WritePattern, plan: &DrivePlan) -> Self {
        let geometry = &plan.geometry;
        let blocks = u64::from(geometry.planes()) * u64::from(geometry.pages_per_block);
        let is_in_sequence = pattern.run_bytes >= (blocks * u64::from(geometry.page_bytes)) as f64;
        match pattern.once {
            _ if is_in_sequence => Self::Own,
            share if share > MUCH => Self::Alone { share, pass_bytes: pattern.bytes },
            share if share > SOME => Self::Partly(share),
            _ => Self::Own,
        }
    }

    /// The note on `times` passes in the same order.
    pub fn note(self, times: u64) -> Option<String> {
        let key = REPEAT_ORDER.key;
        let shuffle = REPEAT_ORDER.name_of(RepeatOrder::Shuffle);
        match self {
            Self::Own => None,
            Self::Partly(share) => Some(format!(
                "The trace writes {:.0} % of its bytes to pages that it writes only once. Only workload.repeat = \
                 {times} overwrites these pages, in the same order in each pass, so write amplification may be too \
                 low. Set {key} = {shuffle} to compare.",
                share * 100.0
            )),
            Self::Alone { share, .. } => Some(format!(
                "The trace writes {:.0} % of its bytes to pages that it writes only once. Only workload.repeat = \
                 {times} overwrites these pages, in the same order in each pass: they become invalid in the order in \
                 which they were written. Write amplification is too low, and a life would be too long. Set {key} = \
                 {shuffle}, which gives each further pass a new order.",
                share * 100.0
            )),
        }
    }
}

/// A source opened again when it ends.
pub(super) struct Repeated {
    source: WorkloadSource,
    inner: Opened,
    /// Passes in all, and after this one.
    times: u64,
    left: u64,
    /// Requests of a pass, where that is known.
    of_pass: Option<u64>,
    /// When this pass began, when its last request arrived, and its requests.
    began: Nanos,
    last: Nanos,
    requests: u64,
    /// Recorded response times of a whole pass; all passes have the same.
    recorded: Option<RecordedLatency>,
}

impl Repeated {
    /// The passes of a source, `times` of them.
    pub fn open(source: WorkloadSource, times: u64) -> Result<Self, SessionError> {
        let inner = source.open_pass(0)?;
        let of_pass = inner.remaining();
        Ok(Self { source, inner, times, left: times - 1, of_pass, began: 0, last: 0, requests: 0, recorded: None })
    }
}

impl Workload for Repeated {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        loop {
            let first = batch.len();
            self.inner.next_batch(batch, limit)?;
            for request in &mut batch[first..] {
                request.arrival = request.arrival.saturating_add(self.began);
                self.last = request.arrival;
                self.requests += 1;
            }
            if batch.len() > first || limit == 0 || self.left == 0 {
                return Ok(());
            }
            self.left -= 1;
            self.began = self.last.saturating_add((self.last - self.began) / self.requests.saturating_sub(1).max(1));
            self.requests = 0;
            self.recorded = self.inner.recorded_latency();
            self.inner = self.source.reopen(self.times - 1 - self.left)?;
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining().zip(self.of_pass).map(|(now, of_pass)| now + self.left * of_pass)
    }

    fn recorded_latency(&self) -> Option<RecordedLatency> {
        self.recorded.or_else(|| self.inner.recorded_latency())
    }

    fn doubt(&self) -> Option<String> {
        self.inner.doubt()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.inner.notes();
        if self.left > 0 {
            let all = self
                .of_pass
                .map_or_else(String::new, |of_pass| format!("; all of them have {} requests", of_pass * self.times));
            notes.push(format!(
                "Only {} of {} passes of the trace were begun (workload.repeat){all}.",
                self.times - self.left,
                self.times
            ));
        }
        notes
    }
}
