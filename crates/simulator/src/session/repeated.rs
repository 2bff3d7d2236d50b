//! A trace that is run several times: times go on one mean distance after its last request.

use super::SessionError;
use super::source::{Opened, WorkloadSource};
use metrics::RecordedLatency;
use trace::{Workload, WorkloadError};
use units::{Nanos, Request};

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
    /// A source, `times` times.
    pub fn open(source: WorkloadSource, times: u64) -> Result<Self, SessionError> {
        let inner = source.open()?;
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
            self.inner = self.source.reopen()?;
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining().zip(self.of_pass).map(|(now, of_pass)| now + self.left * of_pass)
    }

    fn recorded_latency(&self) -> Option<RecordedLatency> {
        self.recorded.or_else(|| self.inner.recorded_latency())
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
