//! Power loss under programs, as a whole.
#![allow(missing_docs)]

mod lies;
mod log;
mod states;
