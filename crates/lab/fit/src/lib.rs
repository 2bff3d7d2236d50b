//! Drives of today: what was measured on a real one, and what a simulated one makes of the same experiments.
//!
//! ```text
//! MeasuredDrive   a file: experiments with their figures and sources
//! Subject         a stack, scaled down, that does the same experiments
//! host            the clients that send requests and take latencies
//! fit             parameters of the stack, one after the other, from the figures that tell them
//! ```

mod curve;
mod figure;
mod fio;
mod fitting;
pub mod host;
mod known;
mod measured;
mod parameter;
mod subject;

pub use curve::WINDOWS;
pub use figure::{FIGURES, Figure, Unit, find as find_figure};
pub use fio::{closed_from_fio, from_experiments, from_fio, offered_from_fio, transient};
pub use fitting::{FitError, Fitted, Watch, fit};
pub use known::{KNOWN, KnownDrive};
pub use measured::{Experiment, MeasuredDrive, MeasuredError, Order, Source, Work};
pub use parameter::{PARAMETERS, Parameter};
pub use subject::{Modelled, Named, Outcome, Subject, modelled, named};
