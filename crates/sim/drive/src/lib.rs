//! A drive in the program that tests what is written for drives: real bytes, stalls, faults and power cuts.
//!
//! ```
//! use drive::{Drive, DriveError};
//!
//! /// Appends a record to a log of one-sector records: its length, then its bytes.
//! fn append(drive: &mut Drive, place: u64, record: &[u8]) -> Result<(), DriveError> {
//!     let mut sector = [0; 512];
//!     sector[0] = record.len() as u8;
//!     sector[1..=record.len()].copy_from_slice(record);
//!     drive.write(place * 512, &sector)?;
//!     drive.flush() // without this the test below fails
//! }
//!
//! // A small drive with a volatile write buffer: what is not flushed may be lost with power.
//! let settings = ["drive.capacity=4MiB", "flash.channels=1", "flash.dies_per_channel=1",
//!     "flash.pages_per_block=16", "drive.over_provisioning=100%", "buffer.kind=page-lru", "buffer.size=64KiB"];
//! for seed in 0..50 {
//!     let mut drive = Drive::new("page", &settings)?;
//!     // Power goes in the middle of something, another thing with every seed.
//!     drive.cut_power_after(7 * seed, seed);
//!     let mut acknowledged = 0;
//!     while append(&mut drive, acknowledged, format!("record {acknowledged}").as_bytes()).is_ok() {
//!         acknowledged += 1;
//!     }
//!     drive.reopen()?;
//!     for place in 0..acknowledged {
//!         let mut sector = [0; 512];
//!         drive.read(place * 512, &mut sector)?;
//!         let wanted = format!("record {place}");
//!         assert_eq!(&sector[1..=usize::from(sector[0])], wanted.as_bytes(), "seed {seed} lost record {place}");
//!     }
//! }
//! # Ok::<(), DriveError>(())
//! ```
//!
//! Any stack will do. Time is simulated: a call returns at once, and [`Drive::now`] says how long it took. The same
//! calls with the same seeds give the same drive, to the last bit.
//!
//! [`ByteDrive`] is a drive for programs that read and write files. With the feature `embedded-storage` it is NOR flash
//! as well, and with `block-device-driver` a [`Drive`] is a block device of that crate.
//!
//! Faithful to: the promises of the simulated drive. A write is acknowledged where the stack says so (in flash, or in a
//! volatile or non-volatile buffer); after a power cut the layers rebuild themselves from flash alone. Simplified: a
//! call is one request, served before the call returns; [`Drive::submit`] and [`Drive::advance`] keep several under
//! way. Protects: nothing acknowledged and flushed is lost but by faults, which are errors and never other data.
//! [`Fault::Host`] lies outside of this law: it changes requests and answers between the host and the drive, and
//! [`Drive::take_fault_log`] tells each of them.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod byte_drive;
#[cfg(any(feature = "block-device-driver", feature = "embedded-storage"))]
mod embedded;
mod error;
mod extents;
mod faults;
mod host;
mod image;
mod left_by_cut;
mod measure;
mod requests;
mod settings;
mod under_faults;
mod watched;

pub use byte_drive::ByteDrive;
#[cfg(feature = "embedded-storage")]
pub use embedded::NorError;
pub use error::DriveError;
pub use extents::Extent;
pub use faults::{
    ActiveFault, CLAUSES, Effect, FAULTS, Fault, FaultKind, HostFault, Injected, MOST_OLDER_BYTES, Selection,
};
pub use image::{FileDamage, FlashFile};
pub use left_by_cut::LeftByCut;
pub use measure::Smart;
pub use metrics::{LatencyRecorder, NoWaf, OpTotals, RunResult, Unwritten};
pub use requests::Drive;
pub use simulator::{Completions, Promises};
pub use watched::{BlockMaps, Blocks, Pulse};
