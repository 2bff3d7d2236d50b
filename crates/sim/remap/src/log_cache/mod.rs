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
//! Faithful to: Linux's dm-lc and dm-writeboost. A segment is in memory, and one sequential write stores it with its
//! metadata at the head. All writes pass through the log. The oldest segments are written back sorted by address. Cache
//! and home have an identity. A write that meets its page in the segment in memory replaces it there. Reads are
//! answered from memory where they can be, and a flush writes the segment in memory.
//!
//! Decided here: the log is on the same device as the home, so there is one order of writes and one flush. A trim is an
//! entry without data and goes home as zeros, since a drive may ignore a trim of a part of its unit. A fresh drive
//! reads the old contents of the device: a map of written pages would cost writes of its own.
//!
//! Simplified: a segment that a flush or the time closed is padded to a superpage, and the next one begins a new
//! segment. So many small flushes use up the ring. A host that waits for its writes (`WriteCache::Through`) with fewer
//! of them under way than a segment holds waits for the timeout each time. Nothing is kept in memory only to be read.
//! A trim of a part of a page does nothing.
//!
//! Protects: these laws hold on a device that may lose or tear anything written since the last flush.
//! - Flushed data is there. A flush of the host counts when all segments up to its own were written and the device was
//!   flushed behind them. A segment may be missing where a later one is there, because both were under way. No request
//!   was told that the missing one is durable, and the later one holds newer data. Its header says up to which number
//!   all were durable when it was written. A segment up to this number that is missing was damaged, not cut off.
//! - Nothing old comes back. Headers carry the *tail*: all segments up to it are home, flushed. Reading begins behind
//!   the highest tail there is, and a segment is written over only when a durable header says that it is not needed.
//!   If it sufficed that its pages are home, a power cut could tear it and leave an older one, written over at the
//!   same time. The older one would then hide newer pages at home. The last free segment is used only for a header
//!   that moves the tail.
//! - Only durable segments go home. A page of a durable segment is passed over only where a durable segment has a newer
//!   version. Otherwise a power cut could take the newer one after the older one had been written over.
//! - A page is replaced as a whole: home may be torn by a cut while the log still holds the page.
//! - One batch is written at a time, so that no older version overtakes a newer one on its way home. No page is written
//!   home while a read of its home is under way.
//! - A start after a power cut writes a header without pages, alone in its sector, and flushes it before anything else.
//!   It ends the life before: a torn segment of an earlier life that a later torn write happens to complete is older
//!   than it.

mod back;
mod flush;
mod layout;
mod options;
mod recover;
mod ring;

pub use layout::LogLayout;
pub use options::LogOptions;

use crate::disk;
use crate::shell::host::{Completion, Host, RequestId};
use crate::{Counter, Driver, OpenError, PageWrite, ReadSectors, Source};
use back::Batch;
use flush::Mark;
use layout::{Entry, Header};
use ring::{Line, Ring};
use std::io;
use std::ops::Range;
use units::{Nanos, SECTOR_BYTES};

/// The page is at home.
const HOME: u32 = u32::MAX;

/// The purpose of a command of the driver.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Pages of a segment that is written back.
    Load,
    /// Pages on their way home.
    Home,
    /// A segment, by its number.
    Segment(u64),
    Superblock,
    /// The header that begins a life.
    Begin,
    Flush,
}

/// The segment that is being filled.
#[derive(Debug)]
struct Open {
    segment: u32,
    /// When its first entry came.
    since: Nanos,
    /// Who waits for it.
    owners: Vec<RequestId>,
}

/// What it counts itself; the shell counts the rest.
#[derive(Debug, Default)]
struct Counts {
    /// Pages that replaced one of the segment in memory, and so never reach the log twice.
    overwritten_pages: u64,
    /// Trims that the log recorded.
    trims: u64,
    /// Segments written, full or not.
    segments: u64,
    data_pages: u64,
    /// Pages behind their data, up to a whole superpage.
    pad_pages: u64,
    /// Batches of segments that were written back.
    write_backs: u64,
    written_back_segments: u64,
    /// Pages written home, those that were trimmed as zeros.
    write_back_pages: u64,
    write_back_commands: u64,
    /// Commands that read them from the log first.
    write_back_reads: u64,
}

/// A log cache over one device. See the description of this module.
#[derive(Debug)]
pub struct LogCache {
    layout: LogLayout,
    options: LogOptions,
    /// Identity of this format, in all its metadata.
    id: u64,
    ring: Ring,
    line: Line,
    open: Option<Open>,
    /// What is written back.
    batch: Option<Batch>,
    /// The flush under way.
    flush: Option<Mark>,
    /// What begins a life is written, and has to be flushed.
    is_begun: bool,
    counts: Counts,
}

impl LogCache {
    /// Where things are on the device.
    pub fn layout(&self) -> &LogLayout {
        &self.layout
    }

    /// One that knows nothing yet.
    fn bare(layout: &LogLayout, options: &LogOptions, id: u64) -> Self {
        Self {
            layout: *layout,
            options: *options,
            id,
            ring: Ring::new(layout, options.terms.cell_bytes),
            line: Line::resumed(layout, 0, 0),
            open: None,
            batch: None,
            flush: None,
            is_begun: false,
            counts: Counts::default(),
        }
    }

    /// The next segment may be written: no header needs what is there, and nobody reads it.
    fn next_is_there(&self, host: &Host<Work>) -> bool {
        let next = self.layout.segment_sector(self.layout.place_of(self.line.next));
        self.line.is_in_window() && !host.is_read(next, self.layout.segment_sectors())
    }

    /// As many segments are in memory as may be.
    fn memory_is_full(&self) -> bool {
        self.ring.in_memory >= self.options.terms.buffers.max(2)
    }

    /// The segment in memory that can be forgotten: those that are written back are needed.
    fn oldest_kept(&self) -> Option<u32> {
        self.ring.oldest_kept(self.batch.as_ref().map_or(0, |batch| batch.last))
    }

    /// The slot of the open segment that holds a page: it can be replaced there, as nobody has seen it yet.
    fn gathered(&self, page: u32) -> Option<u32> {
        let place = self.ring.map()[page as usize];
        let (segment, entry) = (place != HOME).then(|| self.ring.entry(place))?;
        entry.slot.filter(|_| self.open.as_ref().is_some_and(|open| open.segment == segment))
    }

    /// The segment that is being filled, or another one.
    fn open(&mut self, host: &mut Host<Work>) -> u32 {
        if let Some(open) = &self.open {
            return open.segment;
        }
        if self.memory_is_full() {
            let segment = self.oldest_kept().expect("there is memory");
            self.ring.forget(host, segment);
        }
        let segment = self.ring.begin(host, self.line.begin());
        self.open = Some(Open { segment, since: host.now(), owners: Vec::new() });
        segment
    }

    fn close_full(&mut self, host: &mut Host<Work>, open: u32) {
        let segment = self.ring.at(open);
        if segment.filled == self.layout.slots() || segment.entries.len() == self.layout.entries() as usize {
            self.close(host);
        }
    }

    /// The header of a segment that is written now.
    fn header(&self, number: u64, durable: u64, data: &[u8], entries: Vec<Entry>) -> Header {
        let Line { home: tail, base, .. } = self.line;
        Header { id: self.id, number, tail, base, durable, data_checksum: crc32fast::hash(data), entries }
    }

    /// The write of a segment is done.
    fn segment_completed(&mut self, host: &mut Host<Work>, number: u64, done: &Completion) {
        if done.failed {
            if !host.is_broken() {
                host.retry(Work::Segment(number), done);
            }
            return;
        }
        self.ring.keep(number);
        host.wrote(number);
    }
}

impl Driver for LogCache {
    type Options = LogOptions;
    type Work = Work;

    const TRIM_TAKES_ROOM: bool = true;

    /// All pages read what the device holds.
    fn format(layout: LogLayout, options: &LogOptions, id: u64, host: &mut Host<Work>) -> Self {
        let mut cache = Self::bare(&layout, options, id);
        host.resume(0, 0);
        cache.write_superblock(host);
        cache
    }

    fn open(
        options: &LogOptions,
        device_sectors: u64,
        read: &mut ReadSectors,
    ) -> Result<(Self, Host<Work>), OpenError> {
        Self::opened(options, device_sectors, read)
    }

    fn fresh_id(layout: &LogLayout, read: &mut ReadSectors) -> io::Result<u64> {
        let segments = (0..layout.segments()).map(|segment| layout.segment_sector(segment));
        let id_of = |bytes: &[u8]| {
            let superblock = disk::any_id(&bytes[..SECTOR_BYTES as usize]);
            superblock.or_else(|| Header::of(bytes, layout).map(|header| header.id))
        };
        disk::fresh_id(std::iter::once(0).chain(segments), layout.header_bytes(), id_of, read)
    }

    fn locate(&self, page: u32) -> Source {
        self.ring.locate(page)
    }

    /// An open segment has room always: it is closed when it has none.
    fn has_room(&self, host: &Host<Work>) -> bool {
        let has_memory = || !self.memory_is_full() || self.oldest_kept().is_some();
        self.open.is_some() || (self.next_is_there(host) && has_memory())
    }

    /// Puts a page into the segment in memory.
    fn place(&mut self, host: &mut Host<Work>, write: PageWrite<'_>) {
        let PageWrite { page, data, owner, .. } = write;
        let found = self.gathered(page);
        let open = self.open(host);
        self.counts.overwritten_pages += u64::from(found.is_some());
        let slot = found.unwrap_or_else(|| self.ring.enter(open, page..page + 1, true));
        let (buffer, at) = (self.ring.at(open).held(), self.ring.offset(slot));
        host.buffers.get_mut(buffer)[at..at + data.len()].copy_from_slice(data);
        self.open.as_mut().expect("it is open").owners.extend(owner);
        self.close_full(host, open);
    }

    /// Records that whole pages are zeros.
    fn trim(&mut self, host: &mut Host<Work>, pages: Range<u32>) {
        let open = self.open(host);
        self.counts.trims += 1;
        self.ring.enter(open, pages, false);
        self.close_full(host, open);
    }

    fn gathering_since(&self) -> Option<Nanos> {
        self.open.as_ref().map(|open| open.since)
    }

    /// Writes the open segment.
    fn close(&mut self, host: &mut Host<Work>) -> bool {
        let Some(Open { segment: open, owners, .. }) = self.open.take() else { return false };
        let (layout, data) = (self.layout, self.ring.offset(0));
        let segment = self.ring.at(open);
        let (number, filled, buffer) = (segment.number, segment.filled, segment.held());
        let issued = host.issue(owners);
        debug_assert!(number == issued, "segments are written in the order of their numbers");
        let (end, durable) = (data + host.bytes(filled * layout.page_sectors), host.durable());
        let bytes = host.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            self.header(number, durable, &bytes[data..end], segment.entries.clone()).put(bytes);
        }
        self.line.tell_home(number);
        let sectors = layout.written_sectors(filled);
        self.counts.segments += 1;
        self.counts.data_pages += u64::from(filled);
        self.counts.pad_pages += u64::from(sectors.div_ceil(layout.page_sectors) - filled - layout.header_pages());
        host.write(Work::Segment(number), (buffer, 0), layout.segment_sector(open), sectors);
        true
    }

    fn completed(&mut self, host: &mut Host<Work>, work: Work, done: &Completion) {
        match work {
            Work::Load => self.load_completed(host, done),
            Work::Home => self.home_completed(host, done),
            Work::Segment(number) => self.segment_completed(host, number, done),
            Work::Superblock | Work::Begin => self.begin_completed(host, work, done),
            Work::Flush => self.flush_completed(host),
        }
    }

    fn pump_first(&mut self, host: &mut Host<Work>) -> bool {
        self.pump_begin(host)
    }

    fn pump_last(&mut self, host: &mut Host<Work>) -> bool {
        self.pump_back(host) || self.pump_flush(host)
    }

    fn has_idle_work(&self, host: &Host<Work>) -> bool {
        host.written() > self.line.home
    }

    /// Writes the log back.
    fn tidy_up(&mut self, host: &mut Host<Work>) {
        host.set_background(host.is_ready());
    }

    fn counters(&self, host: &Host<Work>) -> Vec<Counter> {
        let (counts, own) = (host.counts(), &self.counts);
        vec![
            Counter::sum("host_pages", counts.host_pages),
            Counter::sum("overwritten_pages", own.overwritten_pages),
            Counter::sum("trims", own.trims),
            Counter::sum("merge_reads", counts.merge_reads),
            Counter::sum("segments", own.segments),
            Counter::sum("data_pages", own.data_pages),
            Counter::sum("header_pages", own.segments * u64::from(self.layout.header_pages())),
            Counter::sum("pad_pages", own.pad_pages),
            Counter::sum("write_backs", own.write_backs),
            Counter::sum("written_back_segments", own.written_back_segments),
            Counter::sum("write_back_pages", own.write_back_pages),
            Counter::sum("write_back_commands", own.write_back_commands),
            Counter::sum("write_back_reads", own.write_back_reads),
            Counter::sum("reads", counts.reads),
            Counter::sum("reads_split", counts.reads_split),
            Counter::sum("read_commands", counts.read_commands),
            Counter::sum("memory_hits", counts.memory_hits),
            Counter::sum("log_hits", counts.log_hits),
            Counter::sum("home_hits", counts.home_hits),
            Counter::sum("device_flushes", counts.device_flushes),
            Counter::sum("host_flushes", counts.host_flushes),
            Counter::sum("failed_commands", counts.failed_commands),
            Counter::now("free", self.line.free().into()),
            Counter::now("cached_pages", self.ring.cached_pages.into()),
            Counter::now("broken", host.is_broken().into()),
        ]
    }

    fn ram_bytes(&self) -> u64 {
        self.ring.ram_bytes()
    }

    /// Whether the map leads only to entries that are there and say so, numbers are in order, and every page is
    /// accounted for: those of the host are in segments or replaced others in memory.
    fn check(&self, host: &Host<Work>) -> Result<(), String> {
        let mut cached = 0;
        for (page, place) in (0..).zip(self.ring.map()).filter(|(_, place)| **place != HOME) {
            let (segment, entry) = self.ring.entry(*place);
            let number = self.ring.at(segment).number;
            if !entry.pages().contains(&page) || number <= self.line.home || number >= self.line.next {
                return Err(format!("page {page} leads to {entry:?} of segment {number}"));
            }
            cached += 1;
        }
        let filling = self.open.as_ref().map_or(0, |open| u64::from(self.ring.at(open.segment).filled));
        let pages = self.counts.data_pages + self.counts.overwritten_pages + filling;
        if !self.line.is_sound(host) || cached != self.ring.cached_pages || pages != host.counts().host_pages {
            let (line, counters) = (&self.line, self.counters(host));
            return Err(format!("{line:?}, {cached} pages cached, {filling} being gathered: {counters:?}"));
        }
        Ok(())
    }
}
