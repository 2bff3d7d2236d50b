//! Drivers of a host: small random writes become aligned writes, remapped (HARD) or through a log.
//!
//! Drives that map superpages have to read and modify where less is written. These drivers stand above one. [`Hard`]
//! gathers pages in *virtual superpages*, writes each with one aligned command, and keeps a map; virtual superpages
//! with few valid pages are reclaimed (VAR). [`LogCache`] gathers pages in larger segments of a log and writes them
//! home later, sorted; its module tells how. The following sections are about [`Hard`].
//!
//! A driver ([`Driver`]) stands in a [`Shell`], which takes requests apart, completes parts of pages, numbers changes,
//! lets requests wait and answers them. Together they are a state machine ([`HostDriver`]): requests of the host go in,
//! commands for the device come out, completions go in, answers come out. It has no clock, no threads and does no I/O,
//! so it runs over a simulated drive as over a real one, with contents or without. [`Blocking`] runs it over a file, a
//! block device or memory.
//!
//! ```text
//! submit -> next_command, command_data -> device -> completed -> next_done, done_data      wake_at -> woken
//! ```
//!
//! ```
//! use remap::{Blocking, Options};
//!
//! let mut drive = Blocking::format(vec![0; 2 << 20], &Options::default())?;
//! drive.write(3, &[7; 512], false)?;
//! drive.write(1000, &[8; 4096], false)?;
//! drive.flush()?;
//!
//! // The power fails, and the drive is opened again.
//! let mut drive = Blocking::open(drive.into_store(), &Options::default())?;
//! let mut sectors = [0; 1024];
//! drive.read(3, &mut sectors)?;
//! assert_eq!((sectors[0], sectors[512]), (7, 0));
//! drive.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On the device, in superpages; `C` is the map's size, 4 bytes a page:
//!
//! ```text
//! | superblock | head, C pieces | head, C pieces | 2 tails | ring of 3C + 8 | virtual superpages ...      |
//!   layout, id   checkpoint       checkpoint       journal:   journal: full    4 pages of 4 KiB each,
//!                of even number   of odd number    not full   superpages       of which the host sees 90 %
//! ```
//!
//! A journal superpage of 16 KiB has room for 1020 records. It is written before it is full where the host waits for a
//! flush, or reclamation for virtual superpages that are free only when the journal leads away from them: with 5 % held
//! back it carries 112 records, with 10 % 261 (uniform 4 KiB writes, 200,000 requests, 256 MiB; with 1 GiB 370 and
//! 405). That is 12 % and 4.3 % of the bytes that the host writes (with 1 GiB 3.7 % and 2.7 %).
//!
//! *Faithful to* the paper (Jang and Shin, ITCS 2011): the map, the list of virtual superpages, merging of small writes
//! into writes of a superpage, old pages invalid at once, reclamation of superpages with most invalid pages into a free
//! one.
//!
//! *Decided here*, where the paper is silent: the share held back, the timeout, pads, the order of allocation, all of
//! the journal, and recovery. States are explicit: the paper says of its status field both that it shows allocated ones
//! and that a set one is free.
//!
//! *Simplified*: a trim of a part of a page does nothing; one page of 4 KiB is the unit of the map whatever the file
//! system uses; virtual superpages set aside after failed writes are tried again after a restart.
//!
//! *Protects*: the device below may have a volatile cache that a power cut empties of any sectors written since the
//! last flush. A write acknowledged before an acknowledged flush reads as that version or a newer one. A page is
//! replaced as a whole, but for `bypass`. Data are flushed before the journal leads to them; the journal is flushed
//! before a virtual superpage that it leads away from is written again. Metadata carry checksums and the identity of
//! their format. Contents do not.

mod blocking;
mod disk;
mod driver;
mod errors;
mod hard;
mod log_cache;
pub mod parameters;
pub mod probe;
mod report;
mod shape;
mod shell;
mod store;
mod table;
pub mod target;

pub use blocking::Blocking;
pub use driver::{
    Driver, DriverOptions, HostDriver, LayoutOf, PageWrite, ReadSectors, Site, Source, Terms, WriteCache,
};
pub use errors::{FormatError, LayoutError, OpenError};
pub use hard::{Hard, Layout, Options, OtherCheckpoint, Partial, Recovered, Start};
pub use log_cache::{LogCache, LogLayout, LogOptions};
pub use report::{Counter, HostCounts, HostReport};
pub use shape::Shape;
pub use shell::Shell;
pub use shell::buffers::Buffers;
pub use shell::front::Front;
pub use shell::host::{Completion, Host, Life, RequestId};
pub use shell::request::{Command, Done, Submit};
pub use store::BlockStore;
pub use table::{DriverPlan, HOST_DRIVERS, HostDriverEntry, KEY, Plan, RemapPlan, keys, plan};
