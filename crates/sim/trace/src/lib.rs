//! Workloads: trace files in every supported format, and synthetic generators.
//!
//! A workload yields batches of [`units::Request`]s in order of arrival. It never looks at the
//! drive, never reads a clock and draws only from its own seeded stream, so the same name,
//! parameters and seed give the same requests on every machine.

pub mod formats;
mod latency;
pub mod synthetic;

use metrics::RecordedLatency;
use units::Request;

/// A source of requests.
pub trait Workload {
    /// Appends up to `limit` further requests to `batch`, in order of arrival; leaves `batch`
    /// unchanged when the workload has ended.
    /// Errors: [`WorkloadError`] when a trace turns out to be malformed or unreadable at this point; what was appended
    /// before stays valid.
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError>;

    /// Number of requests still to come, where that is known (progress bars use it).
    fn remaining(&self) -> Option<u64> {
        None
    }

    /// Response times that were measured on the traced system, of the records handed out so far;
    /// `None` if the source has none.
    fn recorded_latency(&self) -> Option<RecordedLatency> {
        None
    }

    /// What of the source was left out, moved or changed so far, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why results say little about the system that the source stands for, if there is a reason so far.
    fn doubt(&self) -> Option<String> {
        None
    }
}

/// Why a workload cannot be opened or continued. The text names place, value, limit and remedy.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The file could not be opened or read.
    #[error("{path}: {source}")]
    Io {
        path: String,
        /// What the operating system or the decompressor said.
        source: std::io::Error,
    },
    /// A trace is malformed, unreadable or does not fit the options.
    #[error(transparent)]
    Trace(Box<formats::TraceError>),
}
