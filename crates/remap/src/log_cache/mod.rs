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
mod layout;
mod options;
mod read;
mod recover;
mod write;

pub use layout::LogLayout;
pub use options::{LogOptions, LogReport};

use crate::buffers::Buffers;
use crate::front::Front;
use crate::request::{HeldBack, Job};
use crate::{Command, Done, DriverOptions, FormatError, HostDriver, HostReport, OpenError, ReadSectors, Submit};
use back::Batch;
use flush::Mark;
use layout::Entry;
use std::collections::{BTreeMap, VecDeque};
use units::{HostOp, Nanos};

/// The page is at home.
const HOME: u32 = u32::MAX;
/// Failures in a row, of one command or of flushes, after which nothing is tried any more.
const MOST_FAILURES: u32 = 8;

/// What a command is for. `segment`: which one it reads, `None` where it reads the home.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A read of the host: where its data go.
    Read {
        request: u32,
        cell: usize,
        segment: Option<u32>,
    },
    /// The old contents of a page of which a part is written.
    Merge {
        page: u32,
        segment: Option<u32>,
    },
    /// Pages of a segment that is written back.
    Load {
        segment: u32,
        slot: u32,
        tries: u32,
    },
    /// Pages on their way home.
    Home {
        buffer: u32,
        tries: u32,
    },
    /// A segment of this number.
    Segment {
        number: u64,
        tries: u32,
    },
    /// The superblock.
    Superblock {
        buffer: u32,
    },
    /// The header that begins a life.
    Begin {
        buffer: u32,
    },
    Flush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Filling,
    Writing,
    Written,
}

/// A segment of the ring.
#[derive(Debug)]
struct Segment {
    /// 0: none.
    number: u64,
    state: State,
    entries: Vec<Entry>,
    /// Slots that hold data.
    filled: u32,
    /// All of it, if it is in memory.
    buffer: Option<u32>,
    /// Who waits for it.
    owners: Vec<u32>,
    /// Reads of it under way.
    pins: u32,
    /// When its first entry came.
    since: Nanos,
}

/// What has to be done before the host may change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Startup {
    /// A header that begins a life, as soon as the host wants to change something.
    Lazy,
    /// It is wanted.
    Wanted,
    /// It, or the superblock, is being written.
    Writing,
    /// It has to be flushed.
    Written,
    /// Nothing.
    Ready,
}

/// A log cache over one device. See the description of this module.
#[derive(Debug)]
pub struct LogCache {
    layout: LogLayout,
    options: LogOptions,
    /// Identity of this format, in all its metadata.
    id: u64,
    now: Nanos,
    front: Front<Work>,
    buffers: Buffers,
    /// Where each page is: [`HOME`], or segment x entries of one + entry.
    map: Vec<u32>,
    segments: Vec<Segment>,
    /// The one that is being filled.
    open: Option<u32>,
    /// Number of the segment that is opened next.
    next: u64,
    /// First number of this life.
    base: u64,
    /// All up to this one are written.
    completed: u64,
    /// All up to this one are durable.
    durable: u64,
    /// All up to this one are home, and that is durable.
    home: u64,
    /// All up to this one may be written over: a durable header says that they are home.
    tail: u64,
    /// Tails of headers that are not durable, by the number of their segment.
    tails: VecDeque<(u64, u64)>,
    /// Segments that are in memory and written, oldest first.
    kept: VecDeque<u32>,
    /// Segments in memory.
    in_memory: u32,
    batch: Option<Batch>,
    /// The log is written back because the host is idle.
    background: bool,
    last_request: Nanos,
    /// Reads of the home under way, first sector and sectors.
    home_reads: Vec<(u64, u32)>,
    /// Pages that have writes waiting, oldest first.
    locks: BTreeMap<u32, VecDeque<Job>>,
    /// Of these pages, those that wait only for room.
    ready: VecDeque<u32>,
    /// Requests that are not begun.
    held: VecDeque<HeldBack>,
    /// The open segment is to be written now.
    close_wanted: bool,
    /// The flush under way.
    flush: Option<Mark>,
    /// Requests that wait to be durable.
    waiters: Vec<u32>,
    startup: Startup,
    failures: u32,
    counts: LogReport,
}

impl LogCache {
    /// A log cache on a fresh device: all pages read what the device holds. The first commands write the metadata;
    /// until they are completed, writes and trims wait. `id` must differ from that of any log cache that the device
    /// held before, or old metadata might be taken for new.
    ///
    /// # Panics
    /// `cell_bytes` is neither 0 nor 512.
    pub fn format(layout: LogLayout, options: &LogOptions, id: u64) -> Self {
        let mut cache = Self::bare(layout, options, id);
        cache.write_superblock();
        cache.pump();
        cache
    }

    /// One that knows nothing yet.
    fn bare(layout: LogLayout, options: &LogOptions, id: u64) -> Self {
        assert!([0, 512].contains(&options.cell_bytes), "a sector has 512 bytes of data or none");
        let bytes = if options.cell_bytes == 0 { 0 } else { layout.segment_bytes() };
        let segment = || Segment {
            number: 0,
            state: State::Written,
            entries: Vec::new(),
            filled: 0,
            buffer: None,
            owners: Vec::new(),
            pins: 0,
            since: 0,
        };
        Self {
            layout,
            options: *options,
            id,
            now: 0,
            front: Front::default(),
            buffers: Buffers::new(bytes),
            map: vec![HOME; layout.pages() as usize],
            segments: (0..layout.segments()).map(|_| segment()).collect(),
            open: None,
            next: 1,
            base: 1,
            completed: 0,
            durable: 0,
            home: 0,
            tail: 0,
            tails: VecDeque::new(),
            kept: VecDeque::new(),
            in_memory: 0,
            batch: None,
            background: false,
            last_request: 0,
            home_reads: Vec::new(),
            locks: BTreeMap::new(),
            ready: VecDeque::new(),
            held: VecDeque::new(),
            close_wanted: false,
            flush: None,
            waiters: Vec::new(),
            startup: Startup::Lazy,
            failures: 0,
            counts: LogReport::default(),
        }
    }

    /// The layout.
    pub fn layout(&self) -> &LogLayout {
        &self.layout
    }

    /// Counters, and how it stands.
    pub fn report(&self) -> LogReport {
        let waiting: usize = self.held.iter().map(|held| held.data.len()).sum();
        let entries: usize = self.segments.iter().map(|segment| segment.entries.len() * size_of::<Entry>()).sum();
        let tables = self.map.len() * size_of::<u32>() + self.segments.len() * size_of::<Segment>();
        LogReport {
            free: self.free(),
            ram_bytes: self.buffers.ram_bytes() + (waiting + entries + tables) as u64,
            ..self.counts
        }
    }

    fn page_bytes(&self) -> usize {
        self.layout.page_sectors() as usize * self.options.cell_bytes as usize
    }

    /// Where in a segment's buffer a slot is.
    fn offset(&self, slot: u32) -> usize {
        (self.layout.header_pages() + slot) as usize * self.page_bytes()
    }

    /// The segment and the entry of a place that is not home.
    fn entry(&self, place: u32) -> (u32, Entry) {
        let entries = self.layout.entries();
        let segment = place / entries;
        (segment, self.segments[segment as usize].entries[(place % entries) as usize])
    }

    /// The segment of this number.
    fn segment(&mut self, number: u64) -> &mut Segment {
        &mut self.segments[self.layout.place_of(number) as usize]
    }

    /// Where a page is from now on.
    fn map_to(&mut self, page: u32, place: u32) {
        let old = std::mem::replace(&mut self.map[page as usize], place);
        self.counts.cached_pages += u32::from(old == HOME);
        self.counts.cached_pages -= u32::from(place == HOME);
    }

    fn send(&mut self, work: Work, op: HostOp, first_sector: u64, sectors: u32) {
        self.counts.device_flushes += u64::from(op == HostOp::Flush);
        self.front.send(work, op, first_sector, sectors);
    }

    /// A part of a request is done.
    fn part_done(&mut self, request: u32, failed: bool) {
        if !self.front.part_done(request, failed) {
            return;
        }
        let entry = self.front.requests.at(request);
        if entry.failed || !entry.fua || entry.op == HostOp::Read {
            let failed = entry.failed;
            self.front.end(request, failed);
            return;
        }
        if entry.op == HostOp::Trim {
            // Writes wait for their segments anyway.
            self.close();
            self.front.requests.at(request).target = self.next - 1;
        }
        self.wait_until_durable(request);
    }

    /// A failure; too many in a row are the end.
    fn failure(&mut self) {
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            self.break_down();
        }
    }

    /// Nothing is written any more. What was answered stays readable where it is; flushes fail.
    fn break_down(&mut self) {
        self.counts.broken = true;
        self.locks.clear();
        self.ready.clear();
        self.held.clear();
        self.waiters.clear();
        self.front.end_changes();
        self.segments.iter_mut().for_each(|segment| segment.owners.clear());
    }

    /// Goes on with whatever can go on.
    fn pump(&mut self) {
        let steps =
            [Self::pump_begin, Self::pump_held, Self::pump_ready, Self::pump_close, Self::pump_back, Self::pump_flush];
        while !self.counts.broken && steps.into_iter().any(|step| step(self)) {}
    }
}

impl HostDriver for LogCache {
    fn sectors(&self) -> u64 {
        self.layout.sectors()
    }

    fn page_sectors(&self) -> u32 {
        self.layout.page_sectors()
    }

    fn cell_bytes(&self) -> u32 {
        self.options.cell_bytes
    }

    fn submit(&mut self, now: Nanos, submit: Submit, data: &[u8]) {
        let Submit { op, first_sector, sectors, .. } = submit;
        let request = self.front.open(&submit, data.len(), self.options.cell_bytes, self.layout.sectors());
        self.now = self.now.max(now);
        (self.last_request, self.background) = (self.now, false);
        match op {
            HostOp::Read => self.read(request, first_sector, sectors),
            HostOp::Flush => self.flush(request),
            HostOp::Write | HostOp::Trim if self.counts.broken => self.front.end(request, true),
            HostOp::Write | HostOp::Trim => {
                if !self.held.is_empty() || !self.begin(request, first_sector, sectors, data) {
                    self.held.push_back(HeldBack { request, first_sector, sectors, data: data.to_vec() });
                }
            }
        }
        self.pump();
    }

    fn next_command(&mut self) -> Option<Command> {
        self.front.next_command()
    }

    fn command_data(&self, id: u32) -> &[u8] {
        let Some((work, command)) = self.front.commands.get(id) else { return &[] };
        let buffer = match work {
            Work::Segment { number, .. } => {
                self.segments[self.layout.place_of(*number) as usize].buffer.expect("what is written is in memory")
            }
            Work::Home { buffer, .. } | Work::Superblock { buffer } | Work::Begin { buffer } => *buffer,
            Work::Read { .. } | Work::Merge { .. } | Work::Load { .. } | Work::Flush => return &[],
        };
        &self.buffers.get(buffer)[..command.sectors as usize * self.options.cell_bytes as usize]
    }

    fn completed(&mut self, now: Nanos, id: u32, failed: bool, data: &[u8]) {
        self.now = self.now.max(now);
        let (work, command) = self.front.commands.remove(id);
        self.counts.failed_commands += u64::from(failed);
        match work {
            Work::Read { request, cell, segment } => {
                self.let_go(segment, &command);
                self.read_completed(request, cell, failed, command.sectors, data);
            }
            Work::Merge { page, segment } => {
                self.let_go(segment, &command);
                self.merge_completed(page, failed, data);
            }
            Work::Load { segment, slot, tries } => self.load_completed((segment, slot, tries), &command, failed, data),
            Work::Home { buffer, tries } => self.home_completed((buffer, tries), &command, failed),
            Work::Segment { number, tries } => self.segment_completed((number, tries), &command, failed),
            Work::Superblock { buffer } | Work::Begin { buffer } => {
                self.begin_completed(work, buffer, &command, failed);
            }
            Work::Flush => self.flush_completed(failed),
        }
        self.pump();
    }

    fn next_done(&mut self) -> Option<Done> {
        self.front.next_done()
    }

    fn done_data(&self) -> &[u8] {
        self.front.done_data()
    }

    fn wake_at(&self) -> Option<Nanos> {
        if self.counts.broken {
            return None;
        }
        let timeout = self.open.map(|open| self.segments[open as usize].since + self.options.timeout_ns);
        let idle =
            (self.outstanding() == 0 && self.has_idle_work()).then_some(self.last_request + self.options.idle_after_ns);
        timeout.into_iter().chain(idle).min()
    }

    fn woken(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        let since = self.open.map(|open| self.segments[open as usize].since);
        self.close_wanted |= since.is_some_and(|since| self.now >= since + self.options.timeout_ns);
        let idle = self.outstanding() == 0 && self.now >= self.last_request + self.options.idle_after_ns;
        self.background |= idle && self.has_idle_work();
        self.pump();
    }

    fn expire(&mut self) {
        self.close_wanted |= self.open.is_some();
        self.pump();
    }

    fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    fn is_idle(&self) -> bool {
        self.front.is_idle()
    }

    /// Writes the log back.
    fn tidy_up(&mut self) {
        self.background = self.startup == Startup::Ready;
        self.pump();
    }

    fn host_report(&self) -> HostReport {
        HostReport::LogCache(self.report())
    }

    /// Whether the map leads only to entries that are there and say so, numbers are in order, and every page is
    /// accounted for: those of the host are in segments or replaced others in memory.
    fn check(&self) -> Result<(), String> {
        let mut cached = 0;
        for (page, place) in (0..).zip(&self.map).filter(|(_, place)| **place != HOME) {
            let (segment, entry) = self.entry(*place);
            let number = self.segments[segment as usize].number;
            let holds = (entry.page..entry.page + entry.pages).contains(&page);
            if !holds || number <= self.home || number >= self.next {
                return Err(format!("page {page} leads to {entry:?} of segment {number}"));
            }
            cached += 1;
        }
        let numbers = [self.tail, self.home, self.durable, self.completed, self.next];
        let filling = self.open.map_or(0, |open| u64::from(self.segments[open as usize].filled));
        let report = self.report();
        let pages = report.data_pages + report.overwritten_pages + filling;
        if !numbers.is_sorted() || cached != report.cached_pages || pages != report.host_pages {
            return Err(format!("{numbers:?}, {cached} pages cached, {filling} being gathered: {report:?}"));
        }
        Ok(())
    }
}

impl DriverOptions for LogOptions {
    type Machine = LogCache;

    fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    fn format(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<LogCache, FormatError> {
        let layout = LogLayout::new(self, device_sectors)?;
        let id = recover::fresh_id(&layout, read)?;
        Ok(LogCache::format(layout, self, id))
    }

    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<LogCache, OpenError> {
        LogCache::open(self, device_sectors, read)
    }
}
