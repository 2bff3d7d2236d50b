//! Power loss under programs, as a whole.

mod lies;
mod log;
mod states;
