//! Common code of all readers: opening, splitting, numbers, order of time, detection, errors.
//!
//! ```text
//!   file or stdin -> input (packings) -> buffer (lines or frames)
//!        -> parser of the format (behind a dialect, or of named columns; odd lines, lost events)
//!        -> reorder (time) -> Records -> caller
//! ```

#[cfg(any(feature = "tar", feature = "zip"))]
mod archive;
pub(crate) mod buffer;
pub(crate) mod cells;
mod choose;
mod codecs;
mod detect;
mod dialect;
mod error;
pub(crate) mod extents;
pub(crate) mod fields;
pub(crate) mod gaps;
pub(crate) mod in_flight;
mod input;
mod lost;
#[cfg(any(feature = "bzip2", feature = "gzip", feature = "lz4"))]
mod members;
pub(crate) mod number;
mod odd;
#[cfg(feature = "parquet")]
mod parquet_rows;
pub(crate) mod parser;
mod record;
mod records;
mod reorder;
pub(crate) mod rwbs;
pub(crate) mod steps;
mod tar;
pub(crate) mod tokens;
mod unknown;
mod whole;
#[cfg(feature = "zip")]
mod zip_file;

pub use detect::detect;
pub use error::{Malformed, OddLinesError, TraceError};
pub use fields::{FieldError, FieldResult, field_error};
pub use gaps::long_duration;
pub use lost::LostEvents;
pub use odd::{OddLine, OddLines};
pub use parser::{FrameParser, LineParser, Parser, Sink};
pub use record::{Order, ReadStatistics, TraceRecord};
pub use records::{OpenOptions, Records, open, open_reader, read_in_order};
