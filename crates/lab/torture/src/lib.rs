//! Power loss under a program: its requests to a drive are recorded once. From the recording, states that the drive may
//! hold after a cut at any moment are drawn and checked.
//!
//! ```text
//! program -> Recorder -> drive          Recording -> States::draw -> CrashState -> CutDisk -> check
//!            (once)                     (what was asked for, and answered, in order)   (thousands of times)
//!                                       simulated drive, at any of its events -> CutDisk -> check
//! ```
//! The program is two functions of this process ([`Torture::run`], or [`Torture::run_side_by_side`] on all cores), or
//! commands ([`Torture::run_commands`]).
//!
//! Faithful to: the promises of a drive with a volatile write cache ([`Guarantee`]); contents, order, flushes and FUA
//! as they were asked for. Simplified: of a request that was refused anything may be there.
//!
//! Protects: a state holds all that was promised to last, and of the rest only what was asked for before the cut.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod commands;
mod cut_disk;
mod drive_image;
mod explore;
pub mod fsyncs;
mod harness;
mod judge;
mod lies;
mod recording;
mod recording_file;
mod report;
mod search;
mod simulated;
mod states;
mod wrong_data;

pub use commands::{Commands, Mount};
pub use cut_disk::CutDisk;
pub use drive_image::DriveImage;
pub use explore::{Check, Exploration, Found, Limits, Verdict, explore, kind_in_words, outcome_in_words};
pub use harness::{MOST_BYTES, Torture, TortureError, Tried, check_memory, with_usual_settings};
pub use judge::FailedCheck;
pub use lies::Lie;
pub use recording::{Recorded, Recorder, Recording, Step, ask};
pub use report::{Asked, Report};
pub use simulated::explore_drive;
pub use states::{CrashState, Guarantee, NEVER, Outcome, Span, States};
pub use wrong_data::WrongData;
