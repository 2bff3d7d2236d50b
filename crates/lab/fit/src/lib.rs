//! Drives of today: figures measured on a real one, and figures of a simulated one in the same experiments.
//!
//! ```text
//! MeasuredDrive   a file: experiments with their figures and sources
//! Subject         a stack, scaled down, that does the same experiments
//! host            the clients that send requests and take latencies
//! fit             parameters of the stack, one after the other, from the figures that tell them
//! judge           measured figures beside modelled ones: fitted, predicted, missed, or forced
//! ```

mod curve;
mod doubts;
mod figure;
mod fio;
mod fitting;
mod form;
pub mod host;
mod judge;
mod keys;
mod known;
mod laws;
mod marks;
mod measured;
mod orderings;
mod parameter;
mod run;
mod search;
mod subject;

pub use curve::WINDOWS;
pub use figure::{FIGURES, Figure, Unit, find as find_figure};
pub use fio::{FromFio, Job, closed_from_fio, from_experiments, from_fio, offered_from_fio, transient};
pub use fitting::{FitError, Fitted, Watch, fit};
pub use form::MeasuredError;
pub use judge::{Judged, Verdict, count, judge};
pub use known::{KNOWN, KnownDrive};
pub use marks::{Forced, Mark};
pub use measured::{Area, Experiment, MeasuredDrive, Op, Order, Source, Work};
pub use parameter::{PARAMETERS, Parameter};
pub use subject::{Modelled, Named, Outcome, Subject, modelled, named};
