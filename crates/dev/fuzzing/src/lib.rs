//! The fuzz targets: the readers of each input, and the laws that must hold for any bytes.
//!
//! The folder `fuzz/` runs the targets under libFuzzer. The tests of this crate run them on damaged samples in every
//! build.

mod nbd_conversation;
mod stack_file;
mod strace_log;
mod trace_detect;
mod trace_read;
mod trace_replay;

pub use nbd_conversation::nbd_conversation;
pub use stack_file::stack_file;
pub use strace_log::strace_log;
pub use trace_detect::trace_detect;
pub use trace_read::trace_read;
pub use trace_replay::trace_replay;
