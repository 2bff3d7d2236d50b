//! The three views of a driver of a host: from the world around it, from its shell, and before there is a device.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

use crate::shell::front::Front;
use crate::shell::host::{Completion, Host, Life, RequestId};
use crate::{Counter, HostReport, LayoutError, OpenError, Shape, Submit};
use layer::{Parameter, Values};
use std::fmt::Debug;
use std::io;
use std::ops::Range;
use units::Nanos;

/// Fills sectors of 512 bytes from a device, beginning with the given one.
pub type ReadSectors<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// The layout of a driver.
pub type LayoutOf<D> = <<D as Driver>::Options as DriverOptions>::Layout;

/// A driver of a host over one device: a state machine without clock, threads or I/O. Requests go in, commands come
/// out; completions go in, answers come out. The overview has a picture.
pub trait HostDriver: Debug + Send {
    /// Its requests, answers and commands, and what there is to know of it.
    fn front(&self) -> &Front;

    /// The same, to take answers and commands.
    fn front_mut(&mut self) -> &mut Front;

    /// A request of the host at a time that is not before any other. `data` are the sectors of a write, of `cell_bytes`
    /// each, and empty for anything else. Any number of requests may be under way. Of writes and trims of the same
    /// page the one submitted last wins. A trim clears whole pages; what it covers of others is left as it is.
    ///
    /// # Panics
    /// Sectors are not the drive's, there are none where some are needed, or `data` has another length.
    fn submit(&mut self, now: Nanos, submit: Submit, data: &[u8]);

    /// The data of a command that writes, until it is completed: `cell_bytes` a sector.
    fn command_data(&self, id: u32) -> &[u8];

    /// A command is completed. `data` are the sectors of a read that did not fail.
    ///
    /// # Panics
    /// There is no such command, or `data` is too short.
    fn completed(&mut self, now: Nanos, id: u32, failed: bool, data: &[u8]);

    /// When [`HostDriver::woken`] should be called; `None` if only requests and completions matter.
    fn wake_at(&self) -> Option<Nanos>;

    /// The time is now this.
    fn woken(&mut self, now: Nanos);

    /// Where the contents of a page of the host are; what was not answered may count already or not yet.
    fn locate(&self, page: u32) -> Source;

    /// What waits for others to be written together with them waits no longer, as if its time were over: for devices
    /// without time, where nothing else can happen any more.
    fn expire(&mut self);

    /// Does what makes the next start short. Submit a flush before it if all that was answered is to be in it. Goes on
    /// as commands complete; [`Front::is_idle`] says when it is over.
    fn tidy_up(&mut self);

    /// Counters, and how it stands.
    fn report(&self) -> HostReport;

    /// Whether all that the driver knows agrees.
    ///
    /// # Errors
    /// What does not.
    fn check(&self) -> Result<(), String>;
}

/// When a write of the host is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCache {
    /// When the device has completed the write of what it was gathered in.
    #[default]
    Through,
    /// When its data are in memory.
    Volatile,
}

/// The options that every driver has. The first two belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Sectors of a page, the unit of the map: a power of two, 1 to 128.
    pub page_sectors: u32,
    /// Sectors of a superpage, which writes of the driver are multiples of: a power of two, at least a page, 2 to 8192.
    pub superpage_sectors: u32,
    /// Bytes of data a sector: 512, or 0 where a simulation has no contents.
    pub cell_bytes: u32,
    /// How long a page waits for others before what it was gathered in is written all the same, nanoseconds.
    pub timeout_ns: Nanos,
    /// How long no request came, and none is under way, before the host is idle, nanoseconds.
    pub idle_after_ns: Nanos,
    /// When a write is answered.
    pub write_cache: WriteCache,
    /// A page is replaced as a whole by every write, also where power is cut. [`crate::Hard`] writes whole superpages
    /// in place where this is false and one virtual superpage holds exactly them. A power cut can leave some of their
    /// sectors old.
    pub replaces_pages: bool,
    /// Virtual superpages or segments of the host that are held in memory at most, written or being filled: 2 or more.
    pub buffers: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            page_sectors: 8,
            superpage_sectors: 32,
            cell_bytes: 512,
            timeout_ns: 2_000_000,
            idle_after_ns: 100_000_000,
            write_cache: WriteCache::Through,
            replaces_pages: true,
            buffers: 64,
        }
    }
}

impl Terms {
    /// Options of a small shape: see [`DriverOptions::small`].
    pub fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self {
        let page_sectors = [1, 1, 2, 4][dice(4) as usize];
        let superpage_sectors = (page_sectors * [1, 2, 4, 4, 4, 8][dice(6) as usize]).max(2);
        Self { page_sectors, superpage_sectors, timeout_ns: 1000, idle_after_ns: 5000, ..Self::default() }
    }
}

/// The drive that a driver stands on.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Sectors of the device.
    pub sectors: u64,
    /// Bytes of the unit that it maps: smaller writes cost it a read.
    pub unit_bytes: u64,
    /// Bytes of data that a sector holds: 512, or 0 where a simulation has no contents.
    pub cell_bytes: u32,
}

/// Options of a driver: its properties before a device exists.
pub trait DriverOptions: Copy + Debug + Send + Sync + 'static {
    /// The driver that is built from these options.
    type Driver: Driver<Options = Self>;
    /// Where it puts things.
    type Layout: Copy + Debug + Send + Sync + Into<Shape>;

    /// Its name in a configuration.
    const NAME: &'static str;
    /// Its idea, in a line.
    const DOC: &'static str;
    /// When to use it and at which cost, in a sentence or two.
    const WHEN: &'static str;
    /// The purpose of the part of the drive that the host does not see, as a clause.
    const KEEPS: &'static str;
    /// The key to lower where a drive is too small for it.
    const SIZE_KEY: &'static str;
    /// Its difference where no two commands are under way at once, a sentence; `None`: nothing that changes
    /// what is written.
    const ALONE: Option<&'static str> = None;

    /// The keys it reads, in display order. Keys that several drivers read are in [`crate::parameters`].
    fn parameters() -> Vec<Parameter>;

    /// What a configuration asks for over a drive.
    ///
    /// # Errors
    /// In words, where values do not fit each other.
    fn of(values: &Values, site: &Site) -> Result<Self, String>;

    /// What they say that every driver's say.
    fn terms(&self) -> &Terms;

    /// The layout on a device of `device_sectors`.
    ///
    /// # Errors
    /// The options do not fit the device.
    fn layout(&self, device_sectors: u64) -> Result<Self::Layout, LayoutError>;

    /// Options of a small shape, for the model with power cuts: `dice(n)` draws a number below `n`.
    fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self;
}

/// Where the contents of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It reads as zeros.
    Zeros,
    /// In a buffer, from this byte on.
    Memory {
        /// Number of the buffer.
        buffer: u32,
        /// First byte within the buffer.
        at: usize,
    },
    /// On the device, from this sector on.
    Device {
        /// First sector of the page.
        sector: u64,
        /// Pages in a row are read by one command where this number is the same.
        part: u32,
    },
}

/// Whole pages to be written.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite<'a> {
    /// The first page.
    pub page: u32,
    /// Pages.
    pub pages: u32,
    /// Their data.
    pub data: &'a [u8],
    /// The requests to tell when it is on the device ([`Host::issue`]); nobody where it is answered already.
    pub owner: Option<RequestId>,
}

/// A driver of a host in its [`crate::Shell`]: it says where pages are, places them, makes them durable, and cleans up.
///
/// The shell asks only for what can be: pages are placed and requests begin in a life that is
/// [ready](crate::Life::Ready).
pub trait Driver: Debug + Send + Sized + 'static {
    /// What the user chooses of the driver.
    type Options: DriverOptions<Driver = Self>;
    /// What a command of its own is for.
    type Work: Copy + Debug + Send;

    /// A trim is begun as a whole, when there is room for it and no write of its pages waits. Otherwise it is begun at
    /// once, and pages that have writes waiting are trimmed in their turn.
    const TRIM_TAKES_ROOM: bool = false;

    /// A fresh driver, whose life is [wanted](crate::Life::Wanted): it may send the commands that write its first
    /// metadata at once.
    fn format(layout: LayoutOf<Self>, options: &Self::Options, id: u64, host: &mut Host<Self::Work>) -> Self;

    /// The driver that a device of so many sectors holds, and its host ([`Host::found`]). Of `options` those count that
    /// are not the layout's.
    ///
    /// # Errors
    /// The device cannot be read, or holds no such driver that can be trusted.
    fn open(
        options: &Self::Options,
        device_sectors: u64,
        read: &mut ReadSectors,
    ) -> Result<(Self, Host<Self::Work>), OpenError>;

    /// An identity for a new driver, which no metadata have that it would look at: any where it writes none.
    ///
    /// # Errors
    /// The device cannot be read.
    fn fresh_id(_layout: &LayoutOf<Self>, _read: &mut ReadSectors) -> io::Result<u64> {
        Ok(0)
    }

    /// Where a page is now.
    fn locate(&self, page: u32) -> Source;

    /// A read of the host has ended that [`Host::is_read`] told of.
    fn read_ended(&mut self, _host: &mut Host<Self::Work>, _first_sector: u64, _sectors: u32) {}

    /// Requests that change something may begin.
    fn admits(&self, _host: &Host<Self::Work>) -> bool {
        true
    }

    /// A page can be placed.
    fn has_room(&self, host: &Host<Self::Work>) -> bool;

    /// Takes a page. There is room.
    fn place(&mut self, host: &mut Host<Self::Work>, write: PageWrite<'_>);

    /// Writes pages from the beginning of `write` on where they are already; how many of them, 0 if that cannot be.
    fn place_in_place(&mut self, _host: &mut Host<Self::Work>, _write: PageWrite<'_>) -> u32 {
        0
    }

    /// Pages read zeros from now on; the range may be empty.
    fn trim(&mut self, host: &mut Host<Self::Work>, pages: Range<u32>);

    /// Since when the oldest page waits for others to be written with it; `None`: none does.
    fn gathering_since(&self) -> Option<Nanos> {
        None
    }

    /// Writes what is gathered as it is; false if there is nothing.
    fn close(&mut self, _host: &mut Host<Self::Work>) -> bool {
        false
    }

    /// A command of its own is completed. Of flushes it hears only where they did not fail and nothing has broken down.
    /// A flush that failed breaks it down, without another try, which would prove nothing: an operating system may take
    /// what a flush failed to write for written, so that the next flush succeeds though the data never reach the
    /// device.
    fn completed(&mut self, host: &mut Host<Self::Work>, work: Self::Work, done: &Completion);

    /// Does one thing that goes before pages that wait for room; false if there is nothing to do. A life that is wanted
    /// begins here where nothing has to be written for that.
    fn pump_first(&mut self, host: &mut Host<Self::Work>) -> bool {
        let begins = host.life() == Life::Wanted;
        if begins {
            host.set_ready();
        }
        begins
    }

    /// Does one thing for which nothing else is left to do; false if there is nothing.
    fn pump_last(&mut self, host: &mut Host<Self::Work>) -> bool;

    /// There is something worth doing while the host is idle.
    fn has_idle_work(&self, _host: &Host<Self::Work>) -> bool {
        false
    }

    /// Does what makes the next start short, as [`HostDriver::tidy_up`] says.
    fn tidy_up(&mut self, _host: &mut Host<Self::Work>) {}

    /// What it counted, and how it stands, in display order. What the shell counts is among it where it matters.
    fn counters(&self, host: &Host<Self::Work>) -> Vec<Counter>;

    /// Bytes of memory of its tables.
    fn ram_bytes(&self) -> u64 {
        0
    }

    /// Whether all that it knows agrees.
    ///
    /// # Errors
    /// What does not.
    fn check(&self, _host: &Host<Self::Work>) -> Result<(), String> {
        Ok(())
    }
}
