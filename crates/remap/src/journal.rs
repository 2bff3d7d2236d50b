//! The journal: records of the map become durable in cycles.
//!
//! A cycle is: flush the device, so that the data are there; write a journal superpage; flush again. A superpage that
//! is not full goes to one of two places in turn and is written again with more records later; so its last version is
//! never at risk. A full one goes to the ring. One superpage is written at a time: behind a power cut at most the last
//! one is missing.

use crate::checkpoint::Stage as CheckpointStage;
use crate::disk::{self, Entry, Head, NOWHERE, Stamp};
use crate::hard::{Hard, Work};
use crate::write::Record;
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

#[derive(Debug)]
pub(crate) struct Journal {
    /// Number of the superpage that is being filled.
    pub number: u64,
    /// Number of the first one that the newest checkpoint needs.
    pub from: u64,
    /// Its records; the first `sent` are durable.
    records: Vec<Record>,
    sent: usize,
    /// Records behind them, committed and in their order.
    pub backlog: VecDeque<Record>,
    /// Records of a full superpage.
    capacity: usize,
    /// Records before this superpage.
    before: u64,
    /// Which of the two places is next.
    place: u64,
    /// Number of the last write of a superpage.
    pub version: u64,
    /// Places that were written before: the two, then the ring's.
    pub written: Vec<bool>,
    pub buffer: Option<u32>,
    stage: Stage,
    /// Entries and records that the cycle makes durable.
    mark: (u64, u64),
    /// Cycles begun, and the last one that succeeded.
    pub cycle: u64,
    pub finished: u64,
    /// Records made, committed and durable so far.
    pub assigned: u64,
    pub committed: u64,
    pub durable: u64,
    /// Someone asked for a checkpoint.
    pub wants_checkpoint: bool,
}

impl Journal {
    pub fn new(capacity: usize, ring: u32) -> Self {
        Self {
            number: 0,
            from: 0,
            records: Vec::with_capacity(capacity),
            sent: 0,
            backlog: VecDeque::new(),
            capacity,
            before: 0,
            place: 0,
            version: 0,
            written: vec![false; 2 + ring as usize],
            buffer: None,
            stage: Stage::Idle,
            mark: (0, 0),
            cycle: 0,
            finished: 0,
            assigned: 0,
            committed: 0,
            durable: 0,
            wants_checkpoint: false,
        }
    }

    /// Where the superpage of this number is among the places when it is full.
    fn in_ring(&self, number: u64) -> usize {
        2 + (number % (self.written.len() as u64 - 2)) as usize
    }

    /// The place of the superpage that is being written.
    fn target(&self) -> usize {
        if self.records.len() == self.capacity { self.in_ring(self.number) } else { self.place as usize }
    }

    /// The stamp of what is durable.
    pub fn durable_stamp(&self) -> Stamp {
        let is_under_way = self.records.len() > self.sent;
        let stamp = self.stamp(self.number);
        Stamp { version: stamp.version - u64::from(is_under_way && stamp.version > 0), ..stamp }
    }

    /// What is known of places when the next superpage to be full is this one.
    fn stamp(&self, number: u64) -> Stamp {
        let tails = [0, 1].map(|tail| if self.written[tail] { Stamp::TAILS[tail] } else { 0 });
        let ring = if self.written[self.in_ring(number)] { Stamp::RING } else { 0 };
        Stamp { version: self.version, known: tails[0] | tails[1] | ring }
    }

    /// Records in superpages since the drive was opened that are durable.
    pub fn recorded(&self) -> u64 {
        self.before + self.sent as u64
    }
}

impl Hard {
    /// The journal has room for so many records more than are made already.
    pub(crate) fn has_records(&self, more: usize) -> bool {
        let Journal { number, from, sent, capacity, assigned, durable, .. } = self.journal;
        let slots = u64::from(self.layout.slots());
        let copies = self.victims.len() as u64 * slots;
        let used = (number - from) * capacity as u64 + sent as u64 + (assigned - durable);
        used + more as u64 + copies + 2 * slots + SLACK <= (u64::from(self.layout.ring) - 1) * capacity as u64
    }

    /// Makes durable what was answered.
    pub(crate) fn flush(&mut self, request: u32) {
        self.counts.host_flushes += 1;
        if self.counts.broken {
            self.front.end(request, true);
            return;
        }
        self.issue_host();
        let target = self.issued();
        self.front.requests.at(request).target = target;
        if self.durable >= target {
            self.front.end(request, false);
        } else {
            self.waiters.push(request);
        }
    }

    /// Begins a cycle if one is wanted.
    pub(crate) fn pump_journal(&mut self) -> bool {
        self.journal.stage == Stage::Idle && self.wants_cycle() && self.begin_cycle()
    }

    pub(crate) fn begin_cycle(&mut self) -> bool {
        if self.journal.stage != Stage::Idle {
            return false;
        }
        self.journal.stage = Stage::Before;
        self.journal.mark = (self.committed, self.journal.committed);
        self.journal.cycle += 1;
        self.send(Work::Flush, HostOp::Flush, 0, 0);
        true
    }

    fn wants_cycle(&self) -> bool {
        let waits =
            |request: &u32| self.front.requests.get(*request).is_some_and(|request| request.target <= self.committed);
        if self.waiters.iter().any(waits) {
            return true;
        }
        if let Some(CheckpointStage::Settle { target, .. }) =
            self.checkpoint.as_ref().map(|checkpoint| checkpoint.stage)
        {
            return target <= self.committed;
        }
        let pending = self.journal.committed - self.journal.durable;
        let frees = self.space.empty > 0 && (self.space.free() <= self.options.var_free || self.background);
        pending > 0 && (frees || pending + self.journal.sent as u64 >= self.journal.capacity as u64)
    }

    pub(crate) fn flush_completed(&mut self, failed: bool) {
        if self.counts.broken {
            return;
        }
        if failed {
            // Trying again would prove nothing: an operating system may take what a flush failed to write for written,
            // so that the next flush succeeds though the data never reach the device.
            self.break_down();
            return;
        }
        if self.journal.stage == Stage::After {
            self.records_durable();
        }
        if self.journal.durable < self.journal.mark.1 {
            self.write_journal();
        } else {
            self.cycle_done();
        }
    }

    fn write_journal(&mut self) {
        let journal = &mut self.journal;
        let most = (journal.mark.1 - journal.durable) as usize + journal.sent;
        let count = most.min(journal.capacity).saturating_sub(journal.records.len());
        journal.records.extend(journal.backlog.drain(..count));
        let full = journal.records.len() == journal.capacity;
        debug_assert!(journal.number - journal.from < u64::from(self.layout.ring));
        let superpage = if full { self.layout.ring_at(journal.number) } else { self.layout.tail_at(journal.place) };
        let buffer = self.buffers.take();
        journal.buffer = Some(buffer);
        journal.version += 1;
        let mut stamp = journal.stamp(journal.number + u64::from(full));
        stamp.known |= if journal.written[journal.target()] { Stamp::OWN } else { 0 };
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            for (index, record) in journal.records.iter().enumerate() {
                let entry = Entry { page: record.page, place: record.place, pages: record.pages };
                disk::put_entry(bytes, index, entry);
            }
            let count = journal.records.len() as u32;
            disk::seal_journal(bytes, Head { id: self.id, number: journal.number, more: journal.before, count }, stamp);
        }
        journal.stage = Stage::Write;
        self.send(Work::Journal, HostOp::Write, self.layout.sector_of(superpage), self.layout.superpage_sectors);
    }

    pub(crate) fn journal_completed(&mut self, failed: bool) {
        let buffer = self.journal.buffer.take().expect("a journal superpage is being written");
        self.buffers.release(buffer);
        if self.counts.broken {
            return;
        }
        if failed {
            self.cycle_failed();
            return;
        }
        self.counts.journal_superpages += 1;
        let target = self.journal.target();
        self.journal.written[target] = true;
        self.journal.stage = Stage::After;
        self.send(Work::Flush, HostOp::Flush, 0, 0);
    }

    /// What was written is durable: virtual superpages that these records lead away from may become free.
    fn records_durable(&mut self) {
        let mut records = std::mem::take(&mut self.journal.records);
        let slots = self.layout.slots();
        for record in &mut records[self.journal.sent..] {
            let olds = std::mem::take(&mut record.olds);
            for old in std::iter::once(record.old).chain(olds).filter(|old| *old != NOWHERE) {
                let settled = self.space.left(old);
                self.settled(old / slots, settled);
            }
        }
        let journal = &mut self.journal;
        journal.durable += (records.len() - journal.sent) as u64;
        if records.len() == journal.capacity {
            journal.number += 1;
            journal.before += records.len() as u64;
            journal.sent = 0;
            records.clear();
        } else {
            journal.sent = records.len();
            journal.place ^= 1;
        }
        journal.records = records;
    }

    fn cycle_done(&mut self) {
        self.journal.stage = Stage::Idle;
        self.journal.finished = self.journal.cycle;
        self.failures = 0;
        self.durable = self.journal.mark.0;
        self.end_waiters(false);
    }

    /// A superpage could not be written: whoever waited for it fails, and it is tried again when it is wanted again.
    fn cycle_failed(&mut self) {
        self.journal.stage = Stage::Idle;
        if !self.end_waiters(true) {
            self.failure();
        }
    }

    /// Answers those who wait for no more than this cycle; whether there were any.
    fn end_waiters(&mut self, failed: bool) -> bool {
        let mark = self.journal.mark.0;
        let mut waiters = std::mem::take(&mut self.waiters);
        let before = waiters.len();
        waiters.retain(|request| {
            let waits = self.front.requests.at(*request).target > mark;
            if !waits {
                self.front.end(*request, failed);
            }
            waits
        });
        // Nothing was added meanwhile.
        let ended = waiters.len() < before;
        self.waiters = waiters;
        ended
    }
}
