//! The work of a stripe: one job at a time, the others wait in line behind it.

use crate::stalled::Stalled;
use crate::token::Asked;
use crate::trims::Trims;
use layer::{FlushLine, Slots};
use nand::PayloadId;
use std::collections::VecDeque;
use units::{Lpn, members};

/// Stands for no job or stripe.
pub(crate) const NONE: u32 = u32::MAX;

/// The purpose of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Writes or trims data pages.
    Write,
    /// Brings the parity on flash up to date; the number is an index of [`crate::striped::Counters::commits`].
    Commit(Reason),
    /// Reads a data page that is not simply there.
    Read,
    /// Brings what a lost chip held to its spare.
    Rebuild,
}

/// Why a stripe is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Another one needs its place.
    Replacement = 0,
    /// Collection is about to erase an old version.
    Collection = 1,
    /// The host has nothing to do.
    Idle = 2,
    /// A power cut came between data and parity: the parity is computed from all data pages.
    Repair = 3,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// More pages of its group are coming.
    Gathering,
    Start,
    /// It reads what it needs before it may write.
    Before,
    /// It writes its data pages.
    Data,
    /// Its trims are on their way to flash.
    Trims,
    /// All its data is on flash.
    Written,
    /// It reads what the new parity is made of.
    Commit,
    /// Trims it relies on are on their way to flash.
    Log,
    /// It writes the new parity.
    Parity,
    /// It reads the page it is about, or what stands for it.
    Fetch,
    /// It writes a page again that could not be read.
    Heal,
    /// It reads what stands for lost pages.
    Restore,
    /// It writes those to the spare chip.
    Refill,
    End,
}

/// The pages of a stripe that a job reads, as sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shards {
    /// Newest versions of data pages.
    pub newest: u64,
    /// Data pages in the version that the parity on flash covers, where their old version is kept.
    pub old: u64,
    /// Rows of the parity on flash.
    pub parity: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub kind: Kind,
    pub phase: Phase,
    pub stripe: u32,
    /// The job behind it in line.
    pub next: u32,
    /// Jobs begun before it have smaller numbers.
    pub serial: u64,
    /// Data pages it is about.
    pub pages: u64,
    /// Data pages that were newer than the parity when it began.
    pub newer_before: u64,
    /// Of its pages, the ones that are trimmed.
    pub trims: u64,
    /// Data pages (or rows) given to the mapping in the phase under way.
    pub issued: u64,
    pub outstanding: u32,
    /// It is in the list of jobs that go on, or of jobs that wait for room.
    pub queued: bool,
    /// It waits for room, or for an entry of the cache.
    pub stalled: bool,
    /// The page that the mapping had no room for when the job was last taken up.
    pub refused: Option<Lpn>,
    pub entry: u32,
    /// The needed pages, and the present ones.
    pub want: Shards,
    pub have: Shards,
    /// Pages whose sum is the new parity, besides the parity in memory; of a rebuild, the pages it writes.
    pub sum: Shards,
    /// Data pages and rows that could not be read.
    pub lost: (u64, u64),
    /// The new parity is computed from the newest version of every page.
    pub whole: bool,
    pub failed: bool,
    /// Pages read from flash for the parity that is not counted yet.
    pub commit_reads: u32,
    /// Number of the parity's write.
    pub sequence: u64,
    /// Of a rebuild: how often dies had been lost or replaced when it was planned.
    pub chips_known: u32,
}

impl Job {
    pub fn new(kind: Kind, stripe: u32, pages: u64) -> Self {
        Self {
            kind,
            phase: Phase::Start,
            stripe,
            next: NONE,
            serial: 0,
            pages,
            newer_before: 0,
            trims: 0,
            issued: 0,
            outstanding: 0,
            commit_reads: 0,
            queued: false,
            stalled: false,
            refused: None,
            entry: NONE,
            want: Shards::default(),
            have: Shards::default(),
            sum: Shards::default(),
            lost: (0, 0),
            whole: false,
            failed: false,
            sequence: 0,
            chips_known: 0,
        }
    }
}

/// A page of a job that somebody asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The operation it belongs to.
    pub op: u32,
    /// Its cells, and the sectors of them that are meant.
    pub payload: PayloadId,
    pub mask: u64,
    /// The whole page as it will be on flash.
    pub whole: PayloadId,
}

const NO_PART: Part = Part { op: NONE, payload: PayloadId::NONE, mask: 0, whole: PayloadId::NONE };

/// All jobs, with the pages they hold in memory.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(super) all: Slots<Job>,
    parts: Vec<Part>,
    cells: Vec<PayloadId>,
    data: usize,
    parity: usize,
    /// The job whose turn it is, of each stripe.
    pub(super) heads: Vec<u32>,
    /// Jobs that can go on.
    pub(super) ready: VecDeque<u32>,
    /// Jobs that wait for room.
    pub stalled: Stalled,
    /// A group of pages that is not complete.
    pub(super) gathering: u32,
    /// Jobs whose trims have to be on flash.
    pub trims: Trims,
    /// Flushes of the host wait for jobs.
    pub flushes: FlushLine,
}

/// A page that a job holds in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Newest version of a data page.
    Newest(u32),
    /// What the parity on flash covers of it.
    Old(u32),
    /// A row of the parity on flash.
    Parity(u32),
    /// A row of the new parity.
    Fresh(u32),
    /// A data page as it will be written.
    Whole(u32),
}

impl Jobs {
    pub fn new(data: u32, parity: u32, stripes: u32) -> Self {
        let (data, parity) = (data as usize, parity as usize);
        Self {
            all: Slots::default(),
            parts: Vec::new(),
            cells: Vec::new(),
            data,
            parity,
            heads: units::table(stripes as usize, NONE),
            ready: VecDeque::new(),
            stalled: Stalled::default(),
            gathering: NONE,
            trims: Trims::default(),
            flushes: FlushLine::default(),
        }
    }

    fn stride(&self) -> usize {
        3 * self.data + 2 * self.parity
    }

    pub fn begin(&mut self, mut job: Job) -> u32 {
        job.serial = self.flushes.begin();
        let number = self.all.insert(job);
        let numbers = self.all.numbers();
        self.parts.resize(numbers * self.data, NO_PART);
        self.cells.resize(numbers * self.stride(), PayloadId::NONE);
        number
    }

    pub fn end(&mut self, number: u32) -> Job {
        let job = self.all.remove(number);
        self.flushes.end(job.serial);
        job
    }

    /// No job is under way.
    pub fn is_quiet(&self) -> bool {
        self.all.is_empty()
    }

    #[inline]
    pub fn at(&self, number: u32) -> &Job {
        self.all.at(number)
    }

    #[inline]
    pub fn at_mut(&mut self, number: u32) -> &mut Job {
        self.all.at_mut(number)
    }

    #[inline]
    pub fn part(&self, number: u32, index: u32) -> &Part {
        &self.parts[number as usize * self.data + index as usize]
    }

    #[inline]
    pub fn part_mut(&mut self, number: u32, index: u32) -> &mut Part {
        &mut self.parts[number as usize * self.data + index as usize]
    }

    fn place(&self, number: u32, cell: Cell) -> usize {
        let (data, parity) = (self.data, self.parity);
        number as usize * self.stride()
            + match cell {
                Cell::Newest(index) => index as usize,
                Cell::Old(index) => data + index as usize,
                Cell::Whole(index) => 2 * data + index as usize,
                Cell::Parity(row) => 3 * data + row as usize,
                Cell::Fresh(row) => 3 * data + parity + row as usize,
            }
    }

    pub fn cell(&self, number: u32, cell: Cell) -> PayloadId {
        self.cells[self.place(number, cell)]
    }

    pub fn set_cell(&mut self, number: u32, cell: Cell, payload: PayloadId) {
        let place = self.place(number, cell);
        self.cells[place] = payload;
    }

    /// Every page the job holds, which it holds no longer.
    pub fn take_cells(&mut self, number: u32) -> impl Iterator<Item = PayloadId> + use<'_> {
        let stride = self.stride();
        let first = number as usize * stride;
        let cells = self.cells[first..first + stride].iter_mut();
        cells.map(|cell| std::mem::replace(cell, PayloadId::NONE)).filter(|cell| *cell != PayloadId::NONE)
    }

    /// Data pages whose newest version the job itself has just written.
    pub fn in_memory(&self, number: u32) -> u64 {
        let job = self.at(number);
        if job.kind == Kind::Write { job.pages } else { 0 }
    }

    /// Pages of a job that are written in part.
    pub fn partial(&self, number: u32, full: u64) -> u64 {
        let Job { pages, trims, .. } = *self.at(number);
        let partial = members(pages & !trims).filter(|index| self.part(number, *index).mask != full);
        partial.map(|index| 1 << index).sum()
    }

    /// A page that a job reads is there, or cannot be read.
    pub fn read_ended(&mut self, number: u32, kind: Asked, index: u32, failed: bool) {
        let job = self.at_mut(number);
        let (have, lost) = match kind {
            Asked::Newest => (&mut job.have.newest, &mut job.lost.0),
            Asked::Old => (&mut job.have.old, &mut job.lost.0),
            _ => (&mut job.have.parity, &mut job.lost.1),
        };
        *(if failed { lost } else { have }) |= 1 << index;
    }
}
