//! Test equipment: random stacks, a random host, the crash campaign and checkers.
//!
//! Everything here is a function of a seed: a failure names the seed, the event and the simulated
//! time, and the one command that plays it again. A development dependency only.

pub mod crash;
mod host;
mod readback;
mod stack;
mod work;

pub use host::{Habits, Host};
pub use readback::{ReadBack, read_back, read_back_from, read_through};
pub use stack::{Faults, Layers, Stack};
pub use work::{Ended, can_serve, describe_blocks, drain, work};
