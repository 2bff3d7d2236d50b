//! Why a study has no result.

use experiment::ThreadsError;
use layer::SnapshotError;
use simulator::ConfigError;
use simulator::run::RunError;
use trace::WorkloadError;
use trace::synthetic::SyntheticError;

/// Why a study has no result. The text says what, where, the limit and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A name or value the study does not take.
    #[error("{0}")]
    Usage(String),
    /// A configuration of the study cannot be used.
    #[error("{name}: {source}")]
    Config { name: String, source: ConfigError },
    /// A trace cannot be read or does not fit.
    #[error("{0}{hint}", hint = fit_hint(.0))]
    Workload(#[from] WorkloadError),
    /// A generator refuses its parameters.
    #[error(transparent)]
    Generator(#[from] SyntheticError),
    /// A workload asked for something the drive does not have.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Layers refuse a state they wrote themselves.
    #[error("a prepared state cannot be taken over: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The drive could not accept further writes.
    #[error(
        "{name}: no block can be reclaimed for further writes; use a larger --scale, whose drive has more spare blocks"
    )]
    Full { name: String },
    /// The system does not give the threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// A trace error names options by their short names; a study takes files as they are, onto its drive.
fn fit_hint(error: &WorkloadError) -> &'static str {
    let does_not_fit = matches!(error, WorkloadError::Trace(trace) if trace.to_string().contains("fit = "));
    if does_not_fit { " (here: --full gives the published drive)" } else { "" }
}
