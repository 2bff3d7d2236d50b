//! Whole drives: layers assembled from a configuration, the host interface, runs over a workload.
//!
//! The only crate that names every layer, and the only one that reads configuration files.

mod array;
mod block_device;
mod build;
mod clocked;
pub mod config;
mod drive;
mod errors;
mod host_queue;
mod in_use;
mod memory;
mod oracle;
mod promises;
mod remapped;
pub mod run;
mod scale;
mod serial;
pub mod session;
mod spare;
mod state;

pub use array::Array;
pub use block_device::{BlockDevice, Completion, Completions, Progress};
pub use build::{DrivePlan, Service, reserve_blocks};
pub use clocked::Clocked;
pub use config::{Config, ConfigError, Setting};
pub use drive::{Drive, HOST_TIMERS, HostOptions};
pub use memory::{MemoryClaim, TooLittleMemory, spare_addresses, threads_that_fit};
pub use oracle::Oracle;
pub use promises::Promises;
pub use remapped::{Driver, Remapped};
pub use scale::MissingSpare;
pub use serial::SerialDrive;
pub use spare::Spare;
pub use state::{DriveState, Fill};
