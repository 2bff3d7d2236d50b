//! What every driver of a host is to the world around it.

use crate::{Command, Done, FormatError, HostReport, OpenError, Submit};
use std::fmt::Debug;
use std::io;
use units::Nanos;

/// Fills sectors of 512 bytes from a device, beginning with the given one.
pub type ReadSectors<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// A driver of a host over one device: a state machine without clock, threads or I/O. Requests go in, commands come
/// out; completions go in, answers come out. The overview has a picture.
pub trait HostDriver: Debug + Send {
    /// Sectors that the host sees.
    fn sectors(&self) -> u64;

    /// Sectors of a page, the unit of the driver's map.
    fn page_sectors(&self) -> u32;

    /// Bytes of data a sector: 512, or 0 where there are no contents.
    fn cell_bytes(&self) -> u32;

    /// A request of the host at a time that is not before any other. `data` are the sectors of a write, of `cell_bytes`
    /// each, and empty for anything else. Any number of requests may be under way. Of writes and trims of the same
    /// page the one submitted last wins. A trim clears whole pages; what it covers of others is left as it is.
    ///
    /// # Panics
    /// Sectors are not the drive's, there are none where some are needed, or `data` has another length.
    fn submit(&mut self, now: Nanos, submit: Submit, data: &[u8]);

    /// The next thing to ask the device for; `None` if there is nothing for now.
    fn next_command(&mut self) -> Option<Command>;

    /// The data of a command that writes, until it is completed: `cell_bytes` a sector.
    fn command_data(&self, id: u32) -> &[u8];

    /// A command is completed. `data` are the sectors of a read that did not fail.
    ///
    /// # Panics
    /// There is no such command, or `data` is too short.
    fn completed(&mut self, now: Nanos, id: u32, failed: bool, data: &[u8]);

    /// The next answer. Ends what [`HostDriver::done_data`] tells.
    fn next_done(&mut self) -> Option<Done>;

    /// The data of the read that [`HostDriver::next_done`] returned last; nothing after anything else.
    fn done_data(&self) -> &[u8];

    /// When [`HostDriver::woken`] should be called; `None` if only requests and completions matter.
    fn wake_at(&self) -> Option<Nanos>;

    /// The time is now this.
    fn woken(&mut self, now: Nanos);

    /// What waits for others to be written together with them waits no longer, as if its time were over: for devices
    /// without time, where nothing else can happen any more.
    fn expire(&mut self);

    /// Requests that are not answered.
    fn outstanding(&self) -> usize;

    /// No request waits for an answer, all answers are taken, and no command is under way. Pages that were answered
    /// may still be in memory, see [`HostDriver::wake_at`].
    fn is_idle(&self) -> bool;

    /// Does what makes the next start short. Submit a flush before it if all that was answered is to be in it. Goes on
    /// as commands complete; [`HostDriver::is_idle`] says when it is over.
    fn tidy_up(&mut self);

    /// Counters, and how it stands.
    fn host_report(&self) -> HostReport;

    /// Whether all that the driver knows agrees.
    ///
    /// # Errors
    /// What does not.
    fn check(&self) -> Result<(), String>;
}

/// Options of a driver: which one, and how it comes onto a device.
pub trait DriverOptions: Copy + Debug {
    /// The driver.
    type Machine: HostDriver;

    /// Bytes of data a sector.
    fn cell_bytes(&self) -> u32;

    /// A fresh driver on a device of so many sectors, which `read` reads. Its first commands write the metadata.
    ///
    /// # Errors
    /// The options do not fit the device, or it cannot be read.
    fn format(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Self::Machine, FormatError>;

    /// The driver that was formatted before, on a device of so many sectors. Nothing is written until the host changes
    /// something. Of the options those count that are not the layout's.
    ///
    /// # Errors
    /// The device cannot be read, or holds no such drive that can be trusted.
    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Self::Machine, OpenError>;
}

/// One of the drivers there are.
#[derive(Debug)]
pub enum Machine {
    /// All writes go elsewhere, and stay there.
    Hard(Box<crate::Hard>),
    /// Writes go through a log to where they belong.
    LogCache(Box<crate::LogCache>),
}

impl std::ops::Deref for Machine {
    type Target = dyn HostDriver;

    fn deref(&self) -> &Self::Target {
        match self {
            Machine::Hard(hard) => &**hard,
            Machine::LogCache(log_cache) => &**log_cache,
        }
    }
}

impl std::ops::DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Machine::Hard(hard) => &mut **hard,
            Machine::LogCache(log_cache) => &mut **log_cache,
        }
    }
}
