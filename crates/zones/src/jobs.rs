//! Writes that were accepted, and the lines they stand in.

use crate::layout::ZoneLayout;
use crate::zoned::NONE;
use layer::{Serials, Waited};
use nand::PayloadId;
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
    /// It is done.
    End,
}

/// A write or trim of one unit: a stripe block, or in lockstep a row of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Jobs begun before it have smaller numbers.
    pub serial: u64,
    pub op: u32,
    pub unit: u32,
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
    /// The mapping has taken something of what it writes: its code blocks do not agree any more, or not yet again.
    pub touched: bool,
    pub failed: bool,
    /// It is among those that found no room.
    pub stalled: bool,
    /// What was to be read could not be: only what the host gave is written.
    pub partial: bool,
    /// Code blocks to be updated, as elements.
    pub codes: u32,
    /// They have been computed.
    pub summed: bool,
    /// Pages of the unit as they will be, where contents are on.
    pub cells: PayloadId,
    /// Its data as it was, and its code blocks.
    pub old: PayloadId,
}

/// All jobs, and the lines they stand in.
#[derive(Debug)]
pub(crate) struct Jobs {
    all: Vec<Job>,
    free: Vec<u32>,
    /// First job of each line.
    heads: Vec<u32>,
    /// Stripe blocks of a unit.
    pub unit: u32,
    pub active: u32,
    serials: Serials,
    /// What each job has waited for.
    waited: Vec<Waited>,
}

impl Jobs {
    pub fn new(layout: &ZoneLayout, unit: u32, rows: bool) -> Self {
        let lines = if rows { layout.zones * layout.rows * layout.groups() } else { layout.blocks() / unit };
        Self {
            all: Vec::new(),
            free: Vec::new(),
            heads: units::table(lines as usize, NONE),
            unit,
            active: 0,
            serials: Serials::default(),
            waited: Vec::new(),
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

    /// Whether a job begun no later than `serial` is not done.
    pub fn any_up_to(&self, serial: u64) -> bool {
        self.serials.any_up_to(serial)
    }

    pub fn at(&self, number: u32) -> &Job {
        &self.all[number as usize]
    }

    pub fn at_mut(&mut self, number: u32) -> &mut Job {
        &mut self.all[number as usize]
    }

    /// Number of the last job begun.
    pub fn last_serial(&self) -> u64 {
        self.serials.last()
    }

    #[inline]
    pub fn waited(&mut self, number: u32) -> &mut Waited {
        &mut self.waited[number as usize]
    }

    pub fn begin(&mut self, op: u32, unit: u32, line: u32, now: Nanos) -> u32 {
        self.active += 1;
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        let job = Job {
            serial: self.serials.begin(),
            op,
            unit,
            line,
            next: NONE,
            tail: number,
            phase: Phase::Waits,
            begun: false,
            outstanding: 0,
            sent: 0,
            touched: false,
            failed: false,
            stalled: false,
            partial: false,
            codes: 0,
            summed: false,
            cells: PayloadId::NONE,
            old: PayloadId::NONE,
        };
        if number as usize == self.all.len() {
            self.all.push(job);
            self.waited.push(Waited::NOTHING);
        } else {
            self.all[number as usize] = job;
        }
        self.waited[number as usize] = Waited { began: now, since: now, ..Waited::NOTHING };
        let head = self.heads[line as usize];
        if head == NONE {
            self.heads[line as usize] = number;
            self.all[number as usize].phase = Phase::Read;
        } else {
            let last = std::mem::replace(&mut self.all[head as usize].tail, number);
            self.all[last as usize].next = number;
        }
        number
    }

    /// The first of a line is done; the next one.
    pub fn leave(&mut self, number: u32) -> u32 {
        let Job { line, next, tail, .. } = self.all[number as usize];
        self.heads[line as usize] = next;
        if next != NONE {
            self.all[next as usize].tail = tail;
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
        self.serials.end(self.all[number as usize].serial);
        self.free.push(number);
        self.active -= 1;
    }
}
