//! Measurements from outside of the simulator, for the benchmark and for tests.

pub mod serving;
