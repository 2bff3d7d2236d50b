//! What is told about a trace, and writing it out again.

mod convert;
mod summary;

pub use convert::write_nandarium;
pub use summary::{DeviceSummary, OpSummary, SizeSummary, TraceSummary, summarise};
