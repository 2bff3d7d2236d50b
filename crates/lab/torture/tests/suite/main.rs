//! Power loss under programs, as a whole.

mod commands;
mod fsyncs;
mod lies;
mod log;
mod shards;
mod side_by_side;
mod states;
mod threads;
