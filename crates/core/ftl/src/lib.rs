//! Flash translation layers: mapping, allocation, garbage collection, wear levelling, recovery.
//!
//! An FTL sees flash only through [`nand::Flash`] and never computes a latency.

pub mod alloc;
mod blocks;
pub mod gc;
#[deny(missing_docs)]
#[warn(clippy::missing_errors_doc)]
pub mod mapping;

pub use blocks::BlockTable;
pub use mapping::{FtlContext, Mapping, RecoverError};
