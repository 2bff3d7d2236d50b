//! Drives measured from outside.
//!
//! ```text
//! Target: file, block device, NBD export
//!   Experiments  fio on it, one experiment after the other  -> fit::MeasuredDrive
//!   Superpage    random aligned writes of growing size      -> points, and their knee
//! ```
//!
//! ```
//! use measure::Superpage;
//! use simulator::Setting;
//!
//! let settings = vec![Setting::from_argument("drive.capacity=32MiB")?];
//! let probe = Superpage { settings, bytes: 1 << 20, ..Superpage::of("superpage") };
//! let found = probe.find(&mut |_| Box::new(()), &Default::default())?;
//! assert_eq!(found.knee(), Some(16 << 10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod experiments;
mod fio;
mod nbd_client;
mod superpage;
mod target;

pub use experiments::{Experiments, Plan};
pub use superpage::{Found, Superpage, Watchers};

use remap::target::TargetError;
use simulator::ConfigError;
use simulator::session::SessionError;

/// Why nothing, or no more, can be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// What was asked for cannot be done.
    #[error("{0}")]
    Usage(String),
    /// What the target holds would be lost, and nobody has said that it may.
    #[error("probing overwrites {0} at random places")]
    Overwrites(String),
    /// A file or device cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A stack cannot be simulated.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A simulation ended early.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The target or fio failed.
    #[error("{0}")]
    Failed(String),
    /// The caller wanted it to end.
    #[error("interrupted")]
    Interrupted,
}
