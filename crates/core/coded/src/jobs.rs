//! Writes that were accepted, and the lines they stand in.

use crate::base::NONE;
use crate::group::Elements;
use layer::{FlushLine, Slots, Waited};
use nand::{PayloadId, Ticket};
use units::Nanos;

/// Where a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Others of its line are before it.
    Waits,
    /// It reads what it needs.
    Read,
    /// It writes, or trims.
    Write,
    /// It writes code blocks.
    Codes,
    End,
}

/// A write or trim of one unit: a stripe block, or in lockstep a row of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Jobs begun before it have smaller numbers.
    pub serial: u64,
    pub op: u32,
    pub unit: u32,
    /// Where it stands in the queues of its banks, from its read to its program.
    pub ticket: Ticket,
    pub line: u32,
    pub next: u32,
    /// Of the first of a line: the last.
    pub tail: u32,
    pub phase: Phase,
    /// The phase has been begun.
    pub begun: bool,
    pub outstanding: u32,
    /// Pages of the unit given to the mapping in this phase.
    pub sent: u32,
    /// The mapping has taken some of its writes: its code blocks do not agree any more, or not yet again.
    pub touched: bool,
    pub failed: bool,
    /// It is among the jobs that found no room.
    pub stalled: bool,
    /// The gate let it through: its bank, or in lockstep all of them, work for nobody else until it is done.
    pub has_bank: bool,
    /// The needed pages could not be read: only the sectors that the host gave are written.
    pub partial: bool,
    /// Code blocks to be updated.
    pub codes: Elements,
    /// They have been computed.
    pub summed: bool,
    /// Pages of the unit as they will be, where contents are on.
    pub cells: PayloadId,
    /// Its data as it was, and its code blocks.
    pub old: PayloadId,
}

impl Job {
    /// The data that the host gave for a page of the unit is here and has not reached the mapping.
    pub fn holds(&self, page: u32) -> bool {
        match self.phase {
            Phase::Waits | Phase::Read => true,
            Phase::Write => !self.begun && page >= self.sent,
            Phase::Codes | Phase::End => false,
        }
    }

    /// The next phase is to be begun.
    pub fn turn_to(&mut self, phase: Phase) {
        debug_assert!(self.outstanding == 0 && self.phase != phase);
        (self.phase, self.begun, self.sent) = (phase, false, 0);
    }

    /// A step of its phase is done.
    pub fn note_step(&mut self, failed: bool) {
        match self.phase {
            Phase::Read => self.partial |= failed,
            _ => self.failed |= failed,
        }
    }
}

/// All jobs, and the lines they stand in. The first of each line is under way; the others wait.
#[derive(Debug)]
pub(crate) struct Jobs {
    all: Slots<Job>,
    /// First job of each line.
    heads: Vec<u32>,
    /// What each job has waited for.
    waited: Vec<Waited>,
    /// Flushes wait for jobs.
    pub flushes: FlushLine,
}

impl Jobs {
    pub fn new(lines: u32) -> Self {
        Self {
            all: Slots::default(),
            heads: units::table(lines as usize, NONE),
            waited: Vec::new(),
            flushes: FlushLine::default(),
        }
    }

    /// Nothing stands in a line.
    #[inline]
    pub fn is_idle(&self, line: u32) -> bool {
        self.heads[line as usize] == NONE
    }

    /// The first of a line has begun to change what is on flash.
    #[inline]
    pub fn is_touched(&self, line: u32) -> bool {
        let head = self.heads[line as usize];
        head != NONE && self.at(head).touched
    }

    /// No job is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.all.is_empty()
    }

    pub fn at(&self, number: u32) -> &Job {
        self.all.at(number)
    }

    pub fn at_mut(&mut self, number: u32) -> &mut Job {
        self.all.at_mut(number)
    }

    #[inline]
    pub fn waited(&mut self, number: u32) -> &mut Waited {
        &mut self.waited[number as usize]
    }

    pub fn begin(&mut self, op: u32, unit: u32, line: u32, ticket: Ticket, now: Nanos) -> u32 {
        let number = self.all.insert(Job {
            serial: self.flushes.begin(),
            op,
            unit,
            ticket,
            line,
            next: NONE,
            tail: NONE,
            phase: Phase::Waits,
            begun: false,
            outstanding: 0,
            sent: 0,
            touched: false,
            failed: false,
            stalled: false,
            has_bank: false,
            partial: false,
            codes: Elements::NONE,
            summed: false,
            cells: PayloadId::NONE,
            old: PayloadId::NONE,
        });
        self.waited.resize(self.all.numbers(), Waited::NOTHING);
        self.waited[number as usize] = Waited { began: now, since: now, ..Waited::NOTHING };
        let head = self.heads[line as usize];
        if head == NONE {
            self.heads[line as usize] = number;
            let job = self.at_mut(number);
            (job.phase, job.tail) = (Phase::Read, number);
        } else {
            let last = std::mem::replace(&mut self.at_mut(head).tail, number);
            self.at_mut(last).next = number;
        }
        number
    }

    /// The first of a line is done; the next one, whose turn it is.
    pub fn leave(&mut self, number: u32) -> u32 {
        let Job { line, next, tail, .. } = *self.at(number);
        debug_assert_eq!(self.heads[line as usize], number, "only the first of a line is under way");
        self.heads[line as usize] = next;
        if next != NONE {
            let job = self.at_mut(next);
            debug_assert_eq!(job.phase, Phase::Waits);
            (job.phase, job.tail) = (Phase::Read, tail);
        }
        next
    }

    /// Jobs in a line that are about `unit`, in order.
    pub fn of(&self, line: u32, unit: u32) -> impl Iterator<Item = &Job> {
        let at = |number: u32| (number != NONE).then(|| self.at(number));
        let all = std::iter::successors(at(self.heads[line as usize]), move |job| at(job.next));
        all.filter(move |job| job.unit == unit)
    }

    /// A job is done and out of its line.
    pub fn end(&mut self, number: u32) {
        let job = self.all.remove(number);
        self.flushes.end(job.serial);
    }
}
