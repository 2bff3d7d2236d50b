//! Why a session has no result.

use super::Phase;
use crate::config::ConfigError;
use crate::run::RunError;
use layer::SnapshotError;
use trace::WorkloadError;

/// Why a session has no result. The text says what, where, the limit and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No generator and no file of this name.
    #[error(
        "`{name}` is neither a built-in workload nor a file{hint}; `nandarium list workloads` names the built-in ones, \
         and a trace file needs its path"
    )]
    NoWorkload {
        name: String,
        /// `; did you mean …`, or nothing.
        hint: String,
    },
    /// A generator refuses its parameters.
    #[error("{problem}{key}")]
    Generator {
        problem: String,
        /// The configuration key to look at.
        key: String,
    },
    /// Requests in memory that the drive cannot serve.
    #[error("{problem}")]
    Given {
        /// Which one, and why.
        problem: String,
    },
    /// A trace cannot be read or does not fit.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The workload asked for something the drive does not have.
    #[error(transparent)]
    Run(RunError),
    /// There is nothing that a timeline could show.
    #[error("{problem}")]
    Timeline {
        /// Why, and what to change.
        problem: String,
    },
    /// The trace would have to be read several times.
    #[error(
        "drive.precondition = steady runs the workload several times, and standard input can be read only once; save \
         the trace to a file"
    )]
    SteadyNeedsFile,
    /// Wear would follow from repeating a trace in the same order, and not from a load.
    #[error("no life is told: {problem}")]
    InOneOrder {
        /// Why, and what to set.
        problem: String,
    },
    /// Write amplification did not become steady.
    #[error(
        "write amplification did not become steady within {rounds} rounds: the last five were {last}; steady means: \
         their range is at most 20 % of their mean and the slope of their trend line over the five at most 10 % (at \
         this drive size a round is {round_bytes} of host writes). Use drive.precondition = overwrite, or a workload \
         that does not change over time"
    )]
    NotSteady {
        rounds: usize,
        /// The last five values.
        last: String,
        /// Host writes of a round, as text.
        round_bytes: String,
    },
    /// The drive could not be brought into its initial state.
    #[error(
        "the drive is {what} while it is preconditioned ({phase}): no block can be reclaimed for further writes; \
         {remedy}"
    )]
    Stuck {
        /// `full` or `worn out`.
        what: &'static str,
        phase: &'static str,
        remedy: &'static str,
    },
    /// The user stopped it before anything was measured.
    #[error(
        "interrupted while the drive was brought into its initial state; nothing was measured; run it again, with \
         drive.precondition = none for a drive that is new"
    )]
    Interrupted,
    /// A read returned something it must not return.
    #[error(
        "integrity violation: {problem}; this is a defect of the simulated stack, please report it with the \
         configuration"
    )]
    Integrity {
        /// The sector, and the versions that were expected and found.
        problem: String,
    },
    /// Layers refuse the state they were given.
    #[error("the preconditioned state cannot be taken over: {0}")]
    Snapshot(#[from] SnapshotError),
}

impl From<RunError> for SessionError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Workload(error) => SessionError::Workload(error),
            other => SessionError::Run(other),
        }
    }
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Fill => "filling",
            Phase::Overwrite => "overwriting",
            Phase::Steady => "reaching steady state",
            Phase::WarmUp => "warming up",
            Phase::Rest => "resting",
            Phase::Measure => "measuring",
        }
    }
}
