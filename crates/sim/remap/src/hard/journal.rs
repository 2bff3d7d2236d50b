//! The journal: records of the map become durable in cycles.
//!
//! A cycle is: flush the device, so that the data are there; write a journal superpage; flush again. A superpage that
//! is not full goes to one of two places in turn and is written again with more records later; so its last version is
//! never at risk. A full one goes to the ring. One superpage is written at a time: behind a power cut at most the last
//! one is missing.

use super::disk::{self, Entry, Head, NOWHERE, Stamp};
use super::gather::Record;
use super::space::Space;
use super::{Layout, Work};
use crate::shell::host::Host;
use std::collections::VecDeque;
use units::HostOp;

/// Records beyond those that are counted, for what is under way.
const SLACK: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// The data are being flushed.
    Before,
    /// A superpage is being written.
    Write,
    /// It is being flushed.
    After,
}

/// What makes records durable.
#[derive(Debug)]
struct Cycle {
    stage: Stage,
    /// Changes that it makes durable.
    changes: u64,
    /// Records that it makes durable.
    records: u64,
    /// Its number.
    number: u64,
    /// The last one that succeeded.
    finished: u64,
}

/// The superpage that is being filled.
#[derive(Debug)]
struct Filling {
    number: u64,
    /// Its records; the first `durable` are durable.
    records: Vec<Record>,
    durable: usize,
    /// Records before this superpage.
    before: u64,
}

/// Where superpages were written: the two places of those that are not full, then the ring.
#[derive(Debug)]
struct Places {
    /// Which of the two is next.
    tail: u64,
    /// Number of the last write of a superpage.
    version: u64,
    written: Vec<bool>,
}

impl Places {
    /// The place of the full superpage of this number.
    fn in_ring(&self, number: u64) -> usize {
        2 + (number % (self.written.len() as u64 - 2)) as usize
    }

    /// What is known of places when the next superpage to be full is this one.
    fn stamp(&self, number: u64) -> Stamp {
        let tails = [0, 1].map(|tail| if self.written[tail] { Stamp::TAILS[tail] } else { 0 });
        let ring = if self.written[self.in_ring(number)] { Stamp::RING } else { 0 };
        Stamp { version: self.version, known: tails[0] | tails[1] | ring }
    }
}

#[derive(Debug)]
pub(super) struct Journal {
    layout: Layout,
    id: u64,
    /// Number of the first superpage that the newest checkpoint needs.
    from: u64,
    filling: Filling,
    /// Records behind those of the superpage, committed and in their order.
    backlog: VecDeque<Record>,
    places: Places,
    cycle: Cycle,
    /// Superpages written.
    pub superpages: u64,
}

/// Where a checkpoint begins in the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// First journal superpage to be read over it.
    pub number: u64,
    /// Records that are not, because they were durable before it was begun.
    pub skip: u64,
    /// The journal as it was then.
    pub stamp: Stamp,
}

impl Journal {
    pub fn new(layout: &Layout, id: u64) -> Self {
        Self::resumed(layout, id, 0, 0, vec![false; 2 + layout.ring as usize])
    }

    /// One that goes on with superpages of this number, behind writes up to a version at places that were written.
    pub fn resumed(layout: &Layout, id: u64, number: u64, version: u64, written: Vec<bool>) -> Self {
        let records = Vec::with_capacity(layout.records());
        Self {
            layout: *layout,
            id,
            from: number,
            filling: Filling { number, records, durable: 0, before: 0 },
            backlog: VecDeque::new(),
            places: Places { tail: 0, version, written },
            cycle: Cycle { stage: Stage::Idle, changes: 0, records: 0, number: 0, finished: 0 },
            superpages: 0,
        }
    }

    /// The superpage that is being filled is full.
    fn is_full(&self) -> bool {
        self.filling.records.len() == self.layout.records()
    }

    /// The place of the superpage that is being written.
    fn target(&self) -> usize {
        if self.is_full() { self.places.in_ring(self.filling.number) } else { self.places.tail as usize }
    }

    /// Records committed so far.
    fn committed(&self) -> u64 {
        self.filling.before + (self.filling.records.len() + self.backlog.len()) as u64
    }

    /// Records that are durable.
    fn durable(&self) -> u64 {
        self.filling.before + self.filling.durable as u64
    }

    /// Where a checkpoint begins that is begun now.
    pub fn beginning(&self) -> Beginning {
        let is_under_way = self.filling.records.len() > self.filling.durable;
        let stamp = self.places.stamp(self.filling.number);
        let stamp = Stamp { version: stamp.version - u64::from(is_under_way && stamp.version > 0), ..stamp };
        Beginning { number: self.filling.number, skip: self.durable(), stamp }
    }

    /// A checkpoint is there: superpages before this one are not needed any more.
    pub fn begins_at(&mut self, number: u64) {
        self.from = number;
    }

    /// Superpages since the newest checkpoint.
    pub fn used(&self) -> u64 {
        self.filling.number - self.from
    }

    /// There is room for `more` records beyond the `made` ones, which are all that were made so far.
    pub fn has_records(&self, made: u64, more: u64) -> bool {
        let capacity = self.layout.records() as u64;
        let used = self.used() * capacity + self.filling.durable as u64 + (made - self.durable());
        let open = 2 * u64::from(self.layout.slots());
        used + more + open + SLACK <= (u64::from(self.layout.ring) - 1) * capacity
    }

    /// Records of a committed entry.
    pub fn take(&mut self, records: Vec<Record>) {
        self.backlog.extend(records);
    }

    /// The number of a cycle that begins later than now.
    pub fn next_cycle(&self) -> u64 {
        self.cycle.number + 1
    }

    /// The last cycle that succeeded.
    pub fn finished(&self) -> u64 {
        self.cycle.finished
    }

    /// Records are committed and not durable.
    pub fn has_pending(&self) -> bool {
        self.committed() > self.durable()
    }

    /// The records that are not durable could fill a superpage.
    pub fn fills_one(&self) -> bool {
        self.committed() - self.filling.before >= self.layout.records() as u64
    }

    /// Begins a cycle that makes durable what is written; false if one is under way.
    pub fn begin_cycle(&mut self, host: &mut Host<Work>) -> bool {
        if !self.is_idle() {
            return false;
        }
        (self.cycle.changes, self.cycle.records) = (host.written(), self.committed());
        self.cycle.stage = Stage::Before;
        self.cycle.number += 1;
        host.send(Work::Flush, HostOp::Flush, 0, 0);
        true
    }

    pub fn is_idle(&self) -> bool {
        self.cycle.stage == Stage::Idle
    }

    pub fn flush_completed(&mut self, host: &mut Host<Work>, space: &mut Space) {
        if self.cycle.stage == Stage::After {
            self.records_durable(host, space);
        }
        if self.durable() < self.cycle.records {
            self.write(host);
        } else {
            self.cycle_done(host);
        }
    }

    fn write(&mut self, host: &mut Host<Work>) {
        let capacity = self.layout.records();
        let filling = &mut self.filling;
        let most = (self.cycle.records - filling.before) as usize;
        let count = most.min(capacity).saturating_sub(filling.records.len());
        filling.records.extend(self.backlog.drain(..count));
        let full = self.is_full();
        debug_assert!(self.used() < u64::from(self.layout.ring));
        let Filling { number, before, .. } = self.filling;
        let superpage = if full { self.layout.ring_at(number) } else { self.layout.tail_at(self.places.tail) };
        self.places.version += 1;
        let mut stamp = self.places.stamp(number + u64::from(full));
        stamp.known |= if self.places.written[self.target()] { Stamp::OWN } else { 0 };
        self.cycle.stage = Stage::Write;
        let (sector, sectors) = (self.layout.sector_of(superpage), self.layout.superpage_sectors);
        let records = &self.filling.records;
        host.write_new(Work::Journal, sector, sectors, |bytes| {
            for (index, record) in records.iter().enumerate() {
                let entry = Entry { page: record.page, place: record.place, pages: record.pages };
                disk::put_entry(bytes, index, entry);
            }
            let head = Head { id: self.id, number, more: before, count: records.len() as u32 };
            disk::seal_journal(bytes, head, stamp, superpage);
        });
    }

    pub fn write_completed(&mut self, host: &mut Host<Work>, failed: bool) {
        if host.is_broken() {
            return;
        }
        if failed {
            // Whoever waited for it fails, and it is tried again when it is wanted again.
            self.cycle.stage = Stage::Idle;
            if !host.end_waiters(self.cycle.changes, true) {
                host.failed();
            }
            return;
        }
        self.superpages += 1;
        let target = self.target();
        self.places.written[target] = true;
        self.cycle.stage = Stage::After;
        host.send(Work::Flush, HostOp::Flush, 0, 0);
    }

    /// What was written is durable: virtual superpages that these records lead away from may become free.
    fn records_durable(&mut self, host: &mut Host<Work>, space: &mut Space) {
        let full = self.is_full();
        let filling = &mut self.filling;
        for record in &mut filling.records[filling.durable..] {
            let olds = std::mem::take(&mut record.olds);
            for old in std::iter::once(record.old).chain(olds).filter(|old| *old != NOWHERE) {
                space.left(host, old);
            }
        }
        if full {
            filling.number += 1;
            filling.before += filling.records.len() as u64;
            filling.durable = 0;
            filling.records.clear();
        } else {
            filling.durable = filling.records.len();
            self.places.tail ^= 1;
        }
    }

    fn cycle_done(&mut self, host: &mut Host<Work>) {
        self.cycle.stage = Stage::Idle;
        self.cycle.finished = self.cycle.number;
        host.set_durable(self.cycle.changes);
        host.succeeded();
    }
}
