//! Addresses, geometry, quantities and the few enumerations every layer shares.
//!
//! This crate depends on nothing of ours. Addresses are distinct types so that a logical page
//! can never be used where a physical page is wanted; conversions between address kinds live
//! in [`Geometry`] and nowhere else.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod address;
mod cause;
mod geometry;
mod memory;
pub mod quantity;
mod request;
mod set;

pub use address::{BlockId, ChannelId, DieId, Lpn, Ppn, Tpn};
pub use cause::{CAUSES, Cause, DIE_CAUSES, FIRST_CAUSES, WAIT_KINDS, Wait};
pub use geometry::{Geometry, GeometryError, Organization, Reciprocal, Shape};
pub use memory::{prefetch, table, zeros};
pub use request::{HostOp, Request, SECTOR_BYTES};
pub use set::{members, word_masks};

/// Simulated time or a duration, in nanoseconds.
pub type Nanos = u64;

/// Nanoseconds of an hour.
pub const HOUR: Nanos = 3_600_000_000_000;
