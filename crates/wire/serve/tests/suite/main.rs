//! The loop of sockets in front of a target of the tests' own: commands, limits, the end.

mod control;
mod ending;
mod limits;
mod rig;
mod status;
mod watching;
