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

/// What a cycle makes durable.
#[derive(Clone, Copy, Debug)]
struct Mark {
    entries: u64,
    records: u64,
}

#[derive(Debug)]
pub(super) struct Journal {
    layout: Layout,
    id: u64,
    /// Number of the superpage that is being filled.
    number: u64,
    /// Number of the first one that the newest checkpoint needs.
    from: u64,
    /// Its records; the first `sent` are durable.
    records: Vec<Record>,
    sent: usize,
    /// Records behind them, committed and in their order.
    backlog: VecDeque<Record>,
    /// Records before this superpage.
    before: u64,
    /// Which of the two places is next.
    place: u64,
    /// Number of the last write of a superpage.
    version: u64,
    /// Places that were written before: the two, then the ring's.
    written: Vec<bool>,
    stage: Stage,
    mark: Mark,
    /// Cycles begun, and the last one that succeeded.
    cycle: u64,
    finished: u64,
    /// Records committed and durable so far.
    committed: u64,
    durable: u64,
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
        Self {
            layout: *layout,
            id,
            number: 0,
            from: 0,
            records: Vec::with_capacity(layout.records()),
            sent: 0,
            backlog: VecDeque::new(),
            before: 0,
            place: 0,
            version: 0,
            written: vec![false; 2 + layout.ring as usize],
            stage: Stage::Idle,
            mark: Mark { entries: 0, records: 0 },
            cycle: 0,
            finished: 0,
            committed: 0,
            durable: 0,
            superpages: 0,
        }
    }

    /// One that goes on with superpages of this number, behind writes up to a version at places that were written.
    pub fn resumed(layout: &Layout, id: u64, number: u64, version: u64, written: Vec<bool>) -> Self {
        Self { number, from: number, version, written, ..Self::new(layout, id) }
    }

    /// Where the superpage of this number is among the places when it is full.
    fn in_ring(&self, number: u64) -> usize {
        2 + (number % (self.written.len() as u64 - 2)) as usize
    }

    /// The superpage that is being filled is full.
    fn is_full(&self) -> bool {
        self.records.len() == self.layout.records()
    }

    /// The place of the superpage that is being written.
    fn target(&self) -> usize {
        if self.is_full() { self.in_ring(self.number) } else { self.place as usize }
    }

    /// What is known of places when the next superpage to be full is this one.
    fn stamp(&self, number: u64) -> Stamp {
        let tails = [0, 1].map(|tail| if self.written[tail] { Stamp::TAILS[tail] } else { 0 });
        let ring = if self.written[self.in_ring(number)] { Stamp::RING } else { 0 };
        Stamp { version: self.version, known: tails[0] | tails[1] | ring }
    }

    /// Where a checkpoint begins that is begun now.
    pub fn beginning(&self) -> Beginning {
        let is_under_way = self.records.len() > self.sent;
        let stamp = self.stamp(self.number);
        let stamp = Stamp { version: stamp.version - u64::from(is_under_way && stamp.version > 0), ..stamp };
        Beginning { number: self.number, skip: self.before + self.sent as u64, stamp }
    }

    /// A checkpoint is there: superpages before this one are not needed any more.
    pub fn begins_at(&mut self, number: u64) {
        self.from = number;
    }

    /// Superpages since the newest checkpoint.
    pub fn used(&self) -> u64 {
        self.number - self.from
    }

    /// There is room for `more` records beyond the `made` ones, which are all that were made so far.
    pub fn has_records(&self, made: u64, more: u64) -> bool {
        let capacity = self.layout.records() as u64;
        let used = self.used() * capacity + self.sent as u64 + (made - self.durable);
        let open = 2 * u64::from(self.layout.slots());
        used + more + open + SLACK <= (u64::from(self.layout.ring) - 1) * capacity
    }

    /// Records of a committed entry.
    pub fn take(&mut self, records: Vec<Record>) {
        self.committed += records.len() as u64;
        self.backlog.extend(records);
    }

    /// The number of a cycle that begins later than now.
    pub fn next_cycle(&self) -> u64 {
        self.cycle + 1
    }

    /// The last cycle that succeeded.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// Records are committed and not durable.
    pub fn has_pending(&self) -> bool {
        self.committed > self.durable
    }

    /// A superpage could be filled with what is not durable.
    pub fn fills_one(&self) -> bool {
        self.committed - self.durable + self.sent as u64 >= self.layout.records() as u64
    }

    /// Begins a cycle that makes durable what is written; false if one is under way.
    pub fn begin_cycle(&mut self, host: &mut Host<Work>) -> bool {
        if self.stage != Stage::Idle {
            return false;
        }
        self.stage = Stage::Before;
        self.mark = Mark { entries: host.written(), records: self.committed };
        self.cycle += 1;
        host.send(Work::Flush, HostOp::Flush, 0, 0);
        true
    }

    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    pub fn flush_completed(&mut self, host: &mut Host<Work>, space: &mut Space) {
        if self.stage == Stage::After {
            self.records_durable(host, space);
        }
        if self.durable < self.mark.records {
            self.write(host);
        } else {
            self.cycle_done(host);
        }
    }

    fn write(&mut self, host: &mut Host<Work>) {
        let capacity = self.layout.records();
        let most = (self.mark.records - self.durable) as usize + self.sent;
        let count = most.min(capacity).saturating_sub(self.records.len());
        self.records.extend(self.backlog.drain(..count));
        let full = self.is_full();
        debug_assert!(self.used() < u64::from(self.layout.ring));
        let superpage = if full { self.layout.ring_at(self.number) } else { self.layout.tail_at(self.place) };
        let buffer = host.buffers.take();
        self.version += 1;
        let mut stamp = self.stamp(self.number + u64::from(full));
        stamp.known |= if self.written[self.target()] { Stamp::OWN } else { 0 };
        let bytes = host.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            for (index, record) in self.records.iter().enumerate() {
                let entry = Entry { page: record.page, place: record.place, pages: record.pages };
                disk::put_entry(bytes, index, entry);
            }
            let count = self.records.len() as u32;
            let head = Head { id: self.id, number: self.number, more: self.before, count };
            disk::seal_journal(bytes, head, stamp, superpage);
        }
        self.stage = Stage::Write;
        host.write(Work::Journal, (buffer, 0), self.layout.sector_of(superpage), self.layout.superpage_sectors);
    }

    pub fn write_completed(&mut self, host: &mut Host<Work>, failed: bool) {
        if host.is_broken() {
            return;
        }
        if failed {
            // Whoever waited for it fails, and it is tried again when it is wanted again.
            self.stage = Stage::Idle;
            if !host.end_waiters(self.mark.entries, true) {
                host.failed();
            }
            return;
        }
        self.superpages += 1;
        let target = self.target();
        self.written[target] = true;
        self.stage = Stage::After;
        host.send(Work::Flush, HostOp::Flush, 0, 0);
    }

    /// What was written is durable: virtual superpages that these records lead away from may become free.
    fn records_durable(&mut self, host: &mut Host<Work>, space: &mut Space) {
        for record in &mut self.records[self.sent..] {
            let olds = std::mem::take(&mut record.olds);
            for old in std::iter::once(record.old).chain(olds).filter(|old| *old != NOWHERE) {
                space.left(host, old);
            }
        }
        self.durable += (self.records.len() - self.sent) as u64;
        if self.is_full() {
            self.number += 1;
            self.before += self.records.len() as u64;
            self.sent = 0;
            self.records.clear();
        } else {
            self.sent = self.records.len();
            self.place ^= 1;
        }
    }

    fn cycle_done(&mut self, host: &mut Host<Work>) {
        self.stage = Stage::Idle;
        self.finished = self.cycle;
        host.set_durable(self.mark.entries);
        host.succeeded();
    }
}
