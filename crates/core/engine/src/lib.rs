//! The event queue and the seeded random streams. This crate does not know that flash exists and
//! never reads a wall clock or the operating system's entropy.

mod events;
pub mod random;

pub use events::EventQueue;
