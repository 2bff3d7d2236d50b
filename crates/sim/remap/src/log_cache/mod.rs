//! A log cache of a host: writes gather in segments, go to a log in order, and later home, sorted.
//!
//! The host sees the device as it is, but for the log at its beginning. A write goes into a *segment* in memory, that
//! is written with one aligned command: a header that says which pages it holds, and their data. The oldest segments
//! are written back in batches: pages that were not replaced since go home, sorted, neighbours in one command.
//!
//! ```text
//! | superblock | segment | segment | segment ...      | home: the pages that the host sees ...  |
//!                header, data        a ring: number n
//!                                    at n mod segments
//!
//!    home      durable     completed    next          numbers of segments, in order
//! -----+-----------+------------+---------+-->
//!  at  | being written back     | being   | being
//!  home|   in batches           | written | filled
//! ```
//!
//! *Faithful to* Linux's dm-lc and dm-writeboost: a segment in memory, one sequential write for it with its metadata at
//! the head, all writes through the log, write-back of the oldest segments sorted by address, identity of cache and
//! home; a write that meets its page in the segment in memory replaces it there; answers from memory, and a flush
//! writes what is there.
//!
//! *Decided here*: the log is on the same device as the home, so there is one order of writes and one flush. A trim is
//! an entry without data and goes home as zeros, since a drive may ignore a trim of a part of its unit. What a fresh
//! drive reads is what the device held there: a map of what was ever written would cost writes of its own.
//!
//! *Simplified*: a segment that a flush or the time closed is padded to a superpage and the next one begins a new
//! segment, so many small flushes use up the ring, and a host that waits for its writes (`WriteCache::Through`) with
//! fewer of them under way than a segment holds waits for the timeout each time; nothing is kept in memory only to be
//! read; a trim of a part of a page does nothing.
//!
//! *Protects*, on a device that may lose or tear anything written since the last flush:
//!
//! - What was flushed is there. A flush of the host counts when all segments up to its own were written and the device
//!   was flushed behind them. A segment may be missing where a later one is there, because both were under way: nobody
//!   was told that the missing one is durable, and what the later one holds is newer still. Its header says up to which
//!   number all were durable when it was written: one of these that is missing was damaged, not cut off.
//! - Nothing old comes back. Headers carry the *tail*: all up to it are home, flushed. Reading begins behind the
//!   highest tail there is, and a segment is written over only when a durable header says that it is not needed. Had it
//!   sufficed that its pages are home, a power cut could tear it and leave an older one, written over at the same time,
//!   which would then hide newer pages at home. The last free segment is used only for a header that moves the tail.
//! - Only durable segments go home. A page of one is passed over only where a durable segment has a newer version:
//!   otherwise a power cut could take the newer one, and the older one had been written over.
//! - A page is replaced as a whole: home may be torn by a cut while the log still holds the page.
//! - One batch at a time, so that no older version overtakes a newer one on its way home; and no page is written home
//!   while a read of its home is under way.
//! - A start after a power cut writes a header without pages, alone in its sector, and flushes it before anything else.
//!   It ends what came before: a torn segment of an earlier life that a later torn write happens to complete is older
//!   than it.

mod back;
mod flush;
mod gather;
mod layout;
mod options;
mod recover;
mod report;
mod ring;

pub use layout::LogLayout;
pub use options::LogOptions;
pub use report::LogReport;

use crate::shell::host::{Completion, Host, Life};
use crate::{Driver, OpenError, PageWrite, Progress, ReadSectors, Source};
use back::Back;
use flush::Mark;
use gather::Gather;
use ring::{Line, Ring};
use std::io;
use std::ops::Range;
use units::Nanos;

/// The page is at home.
const HOME: u32 = u32::MAX;

/// What a command of the driver is for.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Pages of a segment that is written back.
    Load {
        /// The segment.
        segment: u32,
        /// First slot of it.
        slot: u32,
    },
    /// Pages on their way home.
    Home,
    /// A segment, by its number.
    Segment(u64),
    /// The superblock.
    Superblock,
    /// The header that begins a life.
    Begin,
    /// A flush.
    Flush,
}

/// A log cache over one device. See the description of this module.
#[derive(Debug)]
pub struct LogCache {
    layout: LogLayout,
    /// Identity of this format, in all its metadata.
    id: u64,
    ring: Ring,
    line: Line,
    gather: Gather,
    back: Back,
    /// The flush under way.
    flush: Option<Mark>,
    /// What begins a life is written, and has to be flushed.
    is_begun: bool,
}

impl LogCache {
    /// One that knows nothing yet.
    fn bare(layout: &LogLayout, options: &LogOptions, id: u64) -> Self {
        Self {
            layout: *layout,
            id,
            ring: Ring::new(layout, options.cell_bytes),
            line: Line::new(layout),
            gather: Gather::new(layout, options, id),
            back: Back::new(layout, options),
            flush: None,
            is_begun: false,
        }
    }

    /// The next segment may be written: no header needs what is there, and nobody reads it.
    fn next_is_there(&self, host: &Host<Work>) -> bool {
        let next = self.layout.segment_sector(self.layout.place_of(self.line.next()));
        self.line.is_in_window() && !host.is_read(next, self.layout.segment_sectors())
    }

    fn wants_write_back(&self, host: &Host<Work>) -> bool {
        let is_low = self.line.free() <= (self.layout.segments() / 4).max(2);
        match host.life() {
            Life::Ready => is_low || host.is_background(),
            // The header that begins a life has no room.
            Life::Wanted => !self.line.is_in_window(),
            Life::Lazy | Life::Beginning => false,
        }
    }
}

impl Driver for LogCache {
    type Options = LogOptions;
    type Work = Work;
    type Report = LogReport;

    const TRIM_TAKES_ROOM: bool = true;

    /// All pages read what the device holds.
    fn format(layout: LogLayout, options: &LogOptions, id: u64, host: &mut Host<Work>) -> Self {
        let mut cache = Self::bare(&layout, options, id);
        cache.write_superblock(host);
        cache
    }

    fn open(options: &LogOptions, device_sectors: u64, read: &mut ReadSectors) -> Result<Self, OpenError> {
        Self::opened(options, device_sectors, read)
    }

    fn fresh_id(layout: &LogLayout, read: &mut ReadSectors) -> io::Result<u64> {
        recover::fresh_id(layout, read)
    }

    fn layout(&self) -> &LogLayout {
        &self.layout
    }

    fn locate(&self, page: u32) -> Source {
        self.ring.locate(page)
    }

    /// An open segment has room always: it is closed when it has none.
    fn has_room(&self, host: &Host<Work>) -> bool {
        self.gather.is_open() || (self.next_is_there(host) && self.gather.has_memory(&self.ring, self.back.last()))
    }

    fn place(&mut self, host: &mut Host<Work>, write: PageWrite<'_>) {
        self.gather.place(host, &mut self.ring, &mut self.line, self.back.last(), write);
    }

    fn trim(&mut self, host: &mut Host<Work>, pages: Range<u32>) {
        self.gather.trim(host, &mut self.ring, &mut self.line, self.back.last(), pages);
    }

    fn gathering_since(&self) -> Option<Nanos> {
        self.gather.since(&self.ring)
    }

    fn close(&mut self, host: &mut Host<Work>) -> bool {
        self.gather.close(host, &mut self.ring, &mut self.line)
    }

    fn progress(&self) -> Progress {
        Progress { issued: self.line.next() - 1, durable: self.line.durable() }
    }

    fn completed(&mut self, host: &mut Host<Work>, work: Work, done: &Completion<'_>) {
        match work {
            Work::Load { segment, slot } => self.back.load_completed(host, &self.ring, (segment, slot), done),
            Work::Home => self.back.home_completed(host, done),
            Work::Segment(number) => self.gather.completed(host, &mut self.ring, &mut self.line, number, done),
            Work::Superblock | Work::Begin => self.begin_completed(host, work, done),
            Work::Flush => self.flush_completed(host, done.failed),
        }
    }

    fn pump_first(&mut self, host: &mut Host<Work>) -> bool {
        self.pump_begin(host)
    }

    fn pump_last(&mut self, host: &mut Host<Work>) -> bool {
        let wants = self.wants_write_back(host);
        self.back.pump(host, &mut self.ring, &mut self.line, wants) || self.pump_flush(host)
    }

    fn has_idle_work(&self, _host: &Host<Work>) -> bool {
        self.line.completed() > self.line.home()
    }

    /// Writes the log back.
    fn tidy_up(&mut self, host: &mut Host<Work>) {
        host.set_background(host.is_ready());
    }

    fn report(&self, host: &Host<Work>) -> LogReport {
        let (counts, gather, back) = (host.counts(), &self.gather, &self.back);
        LogReport {
            host_pages: counts.host_pages,
            overwritten_pages: gather.overwritten_pages,
            trims: gather.trims,
            merge_reads: counts.merge_reads,
            segments: gather.segments,
            data_pages: gather.data_pages,
            header_pages: gather.header_pages,
            pad_pages: gather.pad_pages,
            write_backs: back.write_backs,
            written_back_segments: back.segments,
            write_back_pages: back.pages,
            write_back_commands: back.commands,
            write_back_reads: back.reads,
            reads: counts.reads,
            reads_split: counts.reads_split,
            read_commands: counts.read_commands,
            memory_hits: counts.memory_hits,
            log_hits: counts.log_hits,
            home_hits: counts.home_hits,
            device_flushes: counts.device_flushes,
            host_flushes: counts.host_flushes,
            failed_commands: counts.failed_commands,
            free: self.line.free(),
            cached_pages: self.ring.cached_pages(),
            ram_bytes: host.ram_bytes() + self.ring.ram_bytes(),
            broken: host.is_broken(),
        }
    }

    /// Whether the map leads only to entries that are there and say so, numbers are in order, and every page is
    /// accounted for: those of the host are in segments or replaced others in memory.
    fn check(&self, host: &Host<Work>) -> Result<(), String> {
        let mut cached = 0;
        for (page, place) in (0..).zip(self.ring.map()).filter(|(_, place)| **place != HOME) {
            let (segment, entry) = self.ring.entry(*place);
            let number = self.ring.at(segment).number;
            let holds = (entry.page..entry.page + entry.pages).contains(&page);
            if !holds || number <= self.line.home() || number >= self.line.next() {
                return Err(format!("page {page} leads to {entry:?} of segment {number}"));
            }
            cached += 1;
        }
        let filling = u64::from(self.gather.filling(&self.ring));
        let report = self.report(host);
        let pages = report.data_pages + report.overwritten_pages + filling;
        if !self.line.is_sound() || cached != report.cached_pages || pages != report.host_pages {
            let line = &self.line;
            return Err(format!("{line:?}, {cached} pages cached, {filling} being gathered: {report:?}"));
        }
        Ok(())
    }
}
