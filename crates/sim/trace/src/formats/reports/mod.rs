//! Reports about a trace, and writing it out again.

mod arrivals;
mod convert;
mod pattern;
mod rewrites;
mod summary;

pub use arrivals::{GapSummary, PeakSummary};
pub use convert::write_nandarium;
pub use pattern::{Streams, WritePattern, WriteSurvey};
pub use summary::{DeviceSummary, OpSummary, SizeSummary, TraceSummary, summarise};
