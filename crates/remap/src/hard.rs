//! The state machine: requests in, commands out; completions in, answers out.

use crate::buffers::Buffers;
use crate::checkpoint::{Checkpoint, Startup};
use crate::front::Front;
use crate::journal::Journal;
use crate::reclaim::Victim;
use crate::recover::{Recovered, fresh_id};
use crate::request::{HeldBack, Job};
use crate::space::{Settled, Space};
use crate::write::{Entry, InMemory, Open};
use crate::{
    Command, Done, DriverOptions, FormatError, HostDriver, HostReport, Layout, OpenError, Options, ReadSectors, Report,
    Submit,
};
use std::collections::{BTreeMap, VecDeque};
use units::{HostOp, Nanos};

/// Failures in a row after which nothing is tried any more.
const MOST_FAILURES: u32 = 8;

/// What a command is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// A read of the host: where its data go.
    Read { request: u32, cell: usize, first: u32, last: u32 },
    /// The old contents of a page of which a part is written.
    Merge { page: u32, superpage: u32 },
    /// Pages of a victim.
    Copy { superpage: u32, slot: u32 },
    /// Data, by the number of the entry.
    Data(u64),
    /// A free virtual superpage is trimmed.
    Trim(u32),
    /// A flush for the journal.
    Flush,
    /// A journal superpage.
    Journal,
    /// The superblock or a piece of a checkpoint.
    Piece { buffer: u32 },
    /// The head of a checkpoint.
    Head { buffer: u32 },
    /// The flush behind it.
    HeadFlush,
}

/// A remapping driver over one device. See the overview.
#[derive(Debug)]
pub struct Hard {
    pub(crate) layout: Layout,
    pub(crate) options: Options,
    /// Identity of this format, in all its metadata.
    pub(crate) id: u64,
    pub(crate) now: Nanos,
    pub(crate) space: Space,
    pub(crate) buffers: Buffers,
    pub(crate) front: Front<Work>,
    /// Commands that are no reads of the host.
    pub(crate) busy: u32,
    pub(crate) host: Option<Open>,
    pub(crate) copies: Option<Open>,
    /// Virtual superpages whose data are in memory.
    pub(crate) memory: BTreeMap<u32, InMemory>,
    /// How many of them hold data of the host.
    pub(crate) host_buffers: u32,
    /// What was issued and is not committed, in the order of issue.
    pub(crate) entries: VecDeque<Entry>,
    /// Entries that were completed in their turn: the number of the first one in `entries`.
    pub(crate) committed: u64,
    /// Entries that are durable.
    pub(crate) durable: u64,
    /// Pages that have writes waiting, oldest first.
    pub(crate) locks: BTreeMap<u32, VecDeque<Job>>,
    /// Of these pages, those that wait only for room.
    pub(crate) ready: VecDeque<u32>,
    /// Requests that are not begun.
    pub(crate) held: VecDeque<HeldBack>,
    /// The virtual superpage of the host is to be written now.
    pub(crate) close_host: bool,
    pub(crate) victims: Vec<Victim>,
    /// Reclamation runs because the host is idle.
    pub(crate) background: bool,
    pub(crate) last_request: Nanos,
    pub(crate) journal: Journal,
    pub(crate) startup: Startup,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Number of the next checkpoint.
    pub(crate) checkpoint_number: u64,
    /// Pages of the host when the last one was begun.
    pub(crate) checkpoint_pages: u64,
    /// Requests that wait to be durable.
    pub(crate) waiters: Vec<u32>,
    pub(crate) failures: u32,
    pub(crate) counts: Report,
    /// What it was opened from.
    pub(crate) recovered: Option<Recovered>,
}

impl Hard {
    /// A fresh drive: all pages read zeros, or with [`crate::Start::Identity`] what the device holds. The first
    /// commands write the metadata; until they are completed, writes and trims wait. `id` must differ from that of any
    /// drive that the device held before, or old metadata might be taken for new.
    ///
    /// # Panics
    /// `cell_bytes` is neither 0 nor 512.
    pub fn format(layout: Layout, options: &Options, id: u64) -> Self {
        let mut hard = Self::bare(layout, options, id);
        if layout.start == crate::Start::Identity {
            (0..layout.pages).for_each(|page| hard.space.map[page as usize] = page);
        }
        assert!(hard.space.rebuild(), "the first map is sound");
        hard.startup = Startup::Format;
        hard.pump();
        hard
    }

    /// One that knows nothing yet.
    pub(crate) fn bare(layout: Layout, options: &Options, id: u64) -> Self {
        assert!([0, 512].contains(&options.cell_bytes), "a sector has 512 bytes of data or none");
        let mut options = *options;
        options.var_free = options.var_free.clamp(1, layout.most_var_free());
        Self {
            layout,
            options,
            id,
            now: 0,
            space: Space::new(&layout),
            buffers: Buffers::new(layout.superpage_sectors as usize * options.cell_bytes as usize),
            front: Front::default(),
            busy: 0,
            host: None,
            copies: None,
            memory: BTreeMap::new(),
            host_buffers: 0,
            entries: VecDeque::new(),
            // One entry before the first: so that the first flush reaches the device.
            committed: 1,
            durable: 0,
            locks: BTreeMap::new(),
            ready: VecDeque::new(),
            held: VecDeque::new(),
            close_host: false,
            victims: Vec::new(),
            background: false,
            last_request: 0,
            journal: Journal::new(layout.records(), layout.ring),
            startup: Startup::Lazy,
            checkpoint: None,
            checkpoint_number: 1,
            checkpoint_pages: 0,
            waiters: Vec::new(),
            failures: 0,
            counts: Report::default(),
            recovered: None,
        }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What its map was made from, if it was opened and not formatted.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    /// A checkpoint is written, so that the next start reads no journal. Submit a flush before it if all that was
    /// answered is to be in it. Goes on as commands complete; [`HostDriver::is_idle`] says when it is over.
    pub fn write_checkpoint(&mut self) {
        if self.startup == Startup::Lazy && !self.counts.broken {
            self.startup = Startup::Running;
        }
        self.journal.wants_checkpoint = true;
        self.pump();
    }

    /// Counters, and how it stands.
    pub fn report(&self) -> Report {
        let room = |open: &Option<Open>| open.as_ref().map_or(0, |open| u64::from(self.layout.slots() - open.filled));
        let waiting: usize = self.held.iter().map(|held| held.data.len()).sum();
        Report {
            open_slots: room(&self.host) + room(&self.copies),
            free: self.space.free(),
            empty: self.space.empty,
            aside: self.space.aside,
            mapped_pages: self.space.mapped,
            ram_bytes: self.space.ram_bytes() + self.buffers.ram_bytes() + waiting as u64,
            ..self.counts
        }
    }

    /// A command for the device.
    pub(crate) fn send(&mut self, work: Work, op: HostOp, first_sector: u64, sectors: u32) {
        if !matches!(work, Work::Read { .. }) {
            self.busy += 1;
        }
        if op == HostOp::Flush {
            self.counts.device_flushes += 1;
        }
        self.front.send(work, op, first_sector, sectors);
    }

    /// A part of a request is done.
    pub(crate) fn part_done(&mut self, request: u32, failed: bool) {
        if !self.front.part_done(request, failed) {
            return;
        }
        let entry = self.front.requests.at(request);
        if entry.fua && !entry.failed && matches!(entry.op, HostOp::Write | HostOp::Trim) {
            if entry.op == HostOp::Trim {
                self.issue_host();
                self.front.requests.at(request).target = self.issued();
            }
            self.waiters.push(request);
        } else {
            let failed = entry.failed;
            self.front.end(request, failed);
        }
    }

    pub(crate) fn settled(&mut self, superpage: u32, settled: Settled) {
        if settled == Settled::Freed && self.options.trim && !self.counts.broken {
            self.space.trim(superpage);
            let sector = self.layout.sector_of_page(superpage * self.layout.slots());
            self.send(Work::Trim(superpage), HostOp::Trim, sector, self.layout.superpage_sectors);
        }
    }

    pub(crate) fn unpin(&mut self, superpage: u32) {
        let settled = self.space.unpin(superpage);
        self.settled(superpage, settled);
    }

    /// Counts a failure; too many in a row are the end.
    pub(crate) fn failure(&mut self) {
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            self.break_down();
        }
    }

    /// Nothing is written any more. What was answered and is not durable stays readable from memory; flushes fail.
    pub(crate) fn break_down(&mut self) {
        self.counts.broken = true;
        self.locks.clear();
        self.ready.clear();
        self.held.clear();
        self.waiters.clear();
        self.checkpoint = None;
        self.front.end_changes();
        let opens = self.host.iter_mut().chain(&mut self.copies).map(|open| &mut open.owners);
        let entries = self.entries.iter_mut().map(|entry| &mut entry.owners);
        opens.chain(entries).for_each(|owners| owners.fill(crate::write::NOBODY));
    }

    /// Goes on with whatever can go on.
    pub(crate) fn pump(&mut self) {
        while !self.counts.broken {
            let steps = [
                Self::pump_held,
                // Before the host's pages are placed: they would take all that a write of the journal freed.
                Self::pump_reclaim,
                Self::pump_ready,
                Self::pump_close,
                Self::pump_checkpoint,
                Self::pump_journal,
                Self::pump_stuck,
            ];
            // From the beginning again after each that did something: `pump_stuck` is for when nothing else can.
            if !steps.into_iter().any(|step| step(self)) {
                return;
            }
        }
    }
}

impl HostDriver for Hard {
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
                if self.held.is_empty() && self.admits() {
                    self.begin(request, first_sector, sectors, data);
                } else {
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
        match work {
            Work::Data(number) => self.entry_data(*number, command.sectors),
            Work::Piece { buffer } | Work::Head { buffer } => self.buffers.get(*buffer),
            Work::Journal => self.buffers.get(self.journal.buffer.expect("a journal superpage is being written")),
            _ => &[],
        }
    }

    fn completed(&mut self, now: Nanos, id: u32, failed: bool, data: &[u8]) {
        self.now = self.now.max(now);
        let (work, command) = self.front.commands.remove(id);
        self.counts.failed_commands += u64::from(failed);
        if !matches!(work, Work::Read { .. }) {
            self.busy -= 1;
        }
        match work {
            Work::Read { request, cell, first, last } => {
                (first..=last).for_each(|superpage| self.unpin(superpage));
                self.read_completed(request, cell, failed, command.sectors, data);
            }
            Work::Merge { page, superpage } => {
                self.unpin(superpage);
                self.merge_completed(page, failed, data);
            }
            Work::Copy { superpage, slot } => self.copy_completed(superpage, slot, &command, failed, data),
            Work::Data(number) => self.data_completed(number, failed),
            Work::Trim(superpage) => self.space.trimmed(superpage),
            Work::Flush => self.flush_completed(failed),
            Work::Journal => self.journal_completed(failed),
            Work::Piece { buffer } => {
                self.buffers.release(buffer);
                self.piece_completed(failed);
            }
            Work::Head { buffer } => {
                self.buffers.release(buffer);
                self.head_completed(failed);
            }
            Work::HeadFlush => self.head_flushed(failed),
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
        let timeout =
            self.host.as_ref().filter(|open| open.has_unissued()).map(|open| open.since + self.options.timeout_ns);
        let idle = (self.outstanding() == 0 && !self.background && self.short_of_free())
            .then_some(self.last_request + self.options.idle_after_ns);
        timeout.into_iter().chain(idle).min()
    }

    fn woken(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        if self
            .host
            .as_ref()
            .is_some_and(|open| open.has_unissued() && self.now >= open.since + self.options.timeout_ns)
        {
            self.close_host = true;
        }
        let idle = self.outstanding() == 0 && self.now >= self.last_request + self.options.idle_after_ns;
        if idle && !self.counts.broken && self.short_of_free() {
            self.background = true;
        }
        self.pump();
    }

    fn expire(&mut self) {
        self.close_host |= self.host.as_ref().is_some_and(Open::has_unissued);
        self.pump();
    }

    fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    fn is_idle(&self) -> bool {
        self.front.is_idle()
    }

    /// See [`Hard::write_checkpoint`].
    fn tidy_up(&mut self) {
        self.write_checkpoint();
    }

    fn host_report(&self) -> HostReport {
        HostReport::Hard(self.report())
    }

    /// Whether the map, its reverse, the counts and the states agree, and every slot is accounted for: host pages,
    /// copies, pages written again and pads fill the virtual superpages taken, but for what is still open.
    fn check(&self) -> Result<(), String> {
        self.space.check()?;
        let report = self.report();
        let pages = report.host_pages + report.var_copies + report.moved_pages + report.pad_pages + report.open_slots;
        let slots = report.superpages * u64::from(self.layout.slots());
        if pages != slots {
            return Err(format!("{pages} pages for {slots} slots: {report:?}"));
        }
        Ok(())
    }
}

impl DriverOptions for Options {
    type Machine = Hard;

    fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    /// With [`crate::Start::Identity`] what the device holds is read where the layout puts it.
    fn format(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Hard, FormatError> {
        let layout = Layout::new(self, device_sectors)?;
        let id = fresh_id(&layout, read)?;
        Ok(Hard::format(layout, self, id))
    }

    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Hard, OpenError> {
        Hard::open(self, device_sectors, read)
    }
}
