//! Errors of a plan, or of running it.

use experiment::ThreadsError;
use simulator::config::ConfigError;
use std::io;

/// Why a sweep ended before all of it was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// A result cannot be written; the error names its file.
    #[error("{0}")]
    Write(#[from] io::Error),
    /// The system does not give the threads.
    #[error("{0}")]
    Threads(#[from] ThreadsError),
}

/// A plan that cannot be run. Every message names the place, the problem and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file cannot be read.
    #[error("{file}: {problem}")]
    File {
        file: String,
        /// What the system or the parser says.
        problem: String,
    },
    /// Something in it is not as it has to be.
    #[error("{file}: {place}: {problem}")]
    Plan {
        file: String,
        /// Part of the plan.
        place: String,
        /// What, and how to mend it.
        problem: String,
    },
    /// A stack, a key or a value.
    #[error("{file}: {problem}")]
    Config {
        file: String,
        /// What the configuration says.
        problem: ConfigError,
    },
    /// There are too many combinations.
    #[error(
        "{file}: it has {runs} runs, and {most} are the most; leave out values of axes, or draw some: {{ from, to, \
         random }}"
    )]
    Large {
        file: String,
        /// How many there are.
        runs: usize,
        /// How many there may be.
        most: usize,
    },
    /// No combination can be built.
    #[error("{file}: none of the {runs} combinations can be run; the first: {problem}")]
    Nothing {
        file: String,
        /// How many there are.
        runs: usize,
        /// Why the first cannot.
        problem: String,
    },
}
