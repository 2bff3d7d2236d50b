//! Why a run has no life.

use super::pace::TREND_MAX;
use super::{BLOCKS_MIN, FILLING_MAX};
use crate::report::NoWaf;

/// Why a run has no answer.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LifetimeError {
    #[error("the host wrote nothing, and the drive lives for ever on reads; choose a workload with writes")]
    NoWrites,
    /// Too little was erased.
    #[error(
        "the window is too short: the average block was erased {erases:.2} times in it, and at least once is needed; \
         run {factor:.1} times as many requests or more"
    )]
    TooShort {
        /// Erases of the average block.
        erases: f64,
        /// How many times longer the window has to be, for two erases.
        factor: f64,
    },
    /// The host wrote so little that the run has no write amplification, and a life follows from that.
    #[error(
        "the host wrote less than the spare flash holds. So garbage collection only cleaned up the state that the \
         drive began in, and neither write amplification nor a life follows. Run {factor:.1} times as many requests \
         or more"
    )]
    TooFewWrites {
        /// How many times longer the window has to be.
        factor: f64,
    },
    /// Nothing was erased, so not even how long a window would have to be can be told.
    #[error(
        "no block was erased in the window, and the average block has to be erased at least once; write several times \
         the drive's capacity"
    )]
    NoErases,
    /// The rate of erases was still on its way.
    #[error(
        "the drive is not near a steady state: in the last quarter of the window blocks were erased {by:.0} % {how} \
         often for each byte than in the quarter before. A life can be told up to {limit:.0} %. Run four \
         times as many requests",
        by = (change - 1.0).abs() * 100.0, how = if *change > 1.0 { "more" } else { "less" }, limit = TREND_MAX * 100.0
    )]
    Unsteady {
        /// Rate of erases in the last quarter over that in the one before.
        change: f64,
    },
    /// Data were still growing into the spare space.
    #[error(
        "the drive was still filling up: in the last quarter of the window it held {by:.1} % of its capacity more \
         than in the quarter before. A life can be told up to {limit:.0} %. Run four times as many \
         requests", by = grown * 100.0, limit = FILLING_MAX * 100.0)]
    Filling {
        /// By how much, as a share of the capacity.
        grown: f64,
    },
    #[error(
        "the drive has {blocks} blocks in use, and their spread says something from {BLOCKS_MIN} on; choose a smaller \
         flash.pages_per_block or a larger drive.capacity"
    )]
    TooFew {
        /// Blocks that are not bad.
        blocks: usize,
    },
    /// Blocks reached the end of their life in the window.
    #[error(
        "the window is too long for the endurance: the most worn block was erased {most} times, and blocks survive \
         {endurance} erases (flash.endurance); run fewer requests, or precondition less"
    )]
    Worn {
        /// Erases of the most worn block.
        most: u32,
        /// Erases that a block survives.
        endurance: u32,
    },
}

impl LifetimeError {
    /// The reason in a word or two, beside the dash of a table.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoWrites => NoWaf::NoWrites.name(),
            Self::TooFewWrites { .. } => NoWaf::TooFewWrites.name(),
            Self::TooShort { .. } | Self::NoErases => "too few erases",
            Self::Unsteady { .. } => "not steady",
            Self::Filling { .. } => "still filling",
            Self::TooFew { .. } => "too few blocks",
            Self::Worn { .. } => "run too long",
        }
    }
}
