//! Writes and trims: a unit at a time. The rest of a unit written in part is read first.
//!
//! A unit is a stripe block, or in lockstep a row of them. Writes of one unit, or where codes are updated of one group,
//! stand in a line and follow each other.
//!
//! ```text
//! accepted   code blocks of it are stale from now on, and what was read ahead of it is forgotten
//! Read       the pages the host did not give (and, where codes are updated, old data and codes)
//! Write      all pages of the unit
//! Codes      old code block + old data + new data, where codes are updated
//! ```
//! Faithful to: a write is one entry of its bank's queue, from the read of the pages that the host did not give to the
//! last program; a bank that cleans for it programs it next. Simplified: XOR takes no time; while a write waits for
//! other banks, as where codes are updated, and while what it waits for stands behind it, its bank goes on with others.
//! Protects: the mapping sees the writes of a unit in the order they were accepted in; no code block is read while a
//! source of it changes on flash.

use crate::base::{Asked, Base, NONE, Tag, Turn};
use crate::codes::Codes;
use crate::group::{Elements, GroupAt};
use crate::jobs::{Job, Jobs, Phase};
use crate::layout::{Place, ZoneLayout};
use crate::queue::Sub;
use crate::reads::Reads;
use crate::settings::{Queues, Settings, Stale};
use layer::{Answer, OpHandle, PageOp};
use nand::{Flash, PayloadId};
use std::collections::VecDeque;
use units::{Cause, HostOp, Lpn};

/// Counters of writes, for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteCounters {
    pub filled_up: u64,
    pub code_updates: u64,
}

/// Writes and trims that were accepted and are not done.
#[derive(Debug)]
pub(crate) struct Writes {
    pub counters: WriteCounters,
    layout: ZoneLayout,
    /// Stripe blocks of a unit, and its pages.
    unit_blocks: u32,
    unit_pages: u32,
    full_mask: u64,
    /// Code blocks are written with their sources: the writes of a group stand in one line.
    updates_codes: bool,
    jobs: Jobs,
    /// Jobs that can go on.
    ready: VecDeque<u32>,
}

impl Writes {
    pub fn new(layout: &ZoneLayout, settings: &Settings, full_mask: u64) -> Self {
        let updates_codes = settings.stale == Stale::Update && layout.code_zones > 0;
        let unit_blocks = if settings.queues == Queues::Lockstep { layout.banks } else { 1 };
        let lines =
            if updates_codes { layout.zones * layout.rows * layout.groups() } else { layout.blocks() / unit_blocks };
        Self {
            counters: WriteCounters::default(),
            layout: layout.clone(),
            unit_blocks,
            unit_pages: unit_blocks * layout.pages,
            full_mask,
            updates_codes,
            jobs: Jobs::new(lines),
            ready: VecDeque::new(),
        }
    }

    /// No job is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.jobs.is_quiet()
    }

    /// The first job that can go on.
    #[inline]
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// No job can go on.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.ready.is_empty()
    }

    /// Whether the first write of a group has begun to change what its code blocks are made of.
    #[inline]
    pub fn changes_codes_of(&self, at: GroupAt) -> bool {
        self.updates_codes && self.jobs.is_touched(self.layout.line(at))
    }

    /// Whether writes of a group were accepted and are not done.
    pub fn is_written_to(&self, at: GroupAt) -> bool {
        if self.jobs.is_quiet() {
            return false;
        }
        let mut blocks = (0..self.layout.group).map(|block| self.layout.block(self.layout.data_place(at, block)));
        blocks.any(|block| !self.jobs.is_idle(self.line_of(block)))
    }

    /// Whether writes or trims of a page of the host were accepted and may not have reached the mapping.
    pub fn is_waited_for(&self, page: Lpn) -> bool {
        !self.jobs.is_idle(self.line_of(self.unit_of(page)))
    }

    /// Begins a write or trim of the layer above. Its number.
    pub fn submit<F: Flash>(
        &mut self,
        reads: &mut Reads,
        codes: &mut Codes,
        turn: &mut Turn<'_, F>,
        op: &PageOp,
    ) -> u32 {
        let (first, last) = (self.unit_of(op.first), self.unit_of(op.at(op.pages - 1)));
        let number = turn.base.ops.begin(op, last - first + 1, *op);
        for block in first * self.unit_blocks..(last + 1) * self.unit_blocks {
            self.make_stale(reads, codes, turn, block);
        }
        for unit in first..=last {
            let ticket = turn.flash.take_ticket();
            let job = self.jobs.begin(number, unit, self.line_of(unit), ticket, turn.now());
            if self.jobs.at(job).phase == Phase::Read {
                self.ready.push_back(job);
            }
        }
        number
    }

    /// A write of a data block was accepted: code blocks made of it are stale, and so is what was read ahead of it.
    fn make_stale<F: Flash>(&self, reads: &mut Reads, codes: &mut Codes, turn: &mut Turn<'_, F>, block: u32) {
        let (at, block) = self.layout.group_at(self.layout.place(block));
        let made_of = codes.made_of(at, block);
        if !made_of.is_empty() {
            if !self.updates_codes {
                codes.set_agrees(at, made_of, false);
            }
            codes.spoil(at);
        }
        reads.drop_stale(turn, at, block, made_of);
    }

    /// A flush goes on to the mapping when the writes before it are done.
    pub fn submit_flush<F: Flash>(&mut self, turn: &mut Turn<'_, F>, op: &PageOp) -> Answer {
        if self.jobs.flushes.try_join(op) {
            return Answer::Pending(OpHandle(None));
        }
        let answer = turn.submit(op);
        turn.base.below.room.note(answer)
    }

    /// Passes the flushes on that no write is before any more.
    pub fn pass_flushes<F: Flash>(&mut self, turn: &mut Turn<'_, F>) {
        let Turn { flash, base, outbox, .. } = turn;
        self.jobs.flushes.pass(outbox, |op| base.below.submit(*flash, op));
    }

    /// There may be room in the mapping: jobs that found none can go on.
    pub fn wake_stalled<F: Flash>(&mut self, turn: &mut Turn<'_, F>) {
        self.ready.extend(std::iter::from_fn(|| turn.base.below.room.next_stalled()));
    }

    /// Answers a read of a block from writes that were accepted and have not reached the mapping. `true`: all of it.
    pub fn read<F: Flash>(&self, turn: &mut Turn<'_, F>, op: &PageOp, block: u32) -> bool {
        let unit = block / self.unit_blocks;
        let line = self.line_of(unit);
        if self.jobs.is_idle(line) {
            return false;
        }
        let mut all = true;
        for index in op.part(self.layout.first_of(block), self.layout.pages) {
            let (wanted, into) = (op.mask_at(index, self.full_mask), op.payload.offset(index));
            let mut held = 0;
            for job in self.jobs.of(line, unit) {
                let page = op.at(index) - self.first_of(unit);
                let (mask, from) = self.given(turn.base, job, page);
                let is_trim = is_trim(turn.base, job);
                if !job.holds(page) || is_trim && mask != self.full_mask {
                    continue; // a page trimmed in part keeps its contents
                }
                held |= mask;
                if is_trim {
                    turn.payloads().clear(into, mask & wanted);
                } else {
                    turn.payloads().copy(from, into, mask & wanted);
                }
            }
            turn.payloads().set_mask(into, wanted & !held);
            all &= wanted & !held == 0;
        }
        all
    }

    /// Takes a job as far as it gets.
    pub fn advance<F: Flash>(&mut self, reads: &mut Reads, codes: &mut Codes, turn: &mut Turn<'_, F>, number: u32) {
        if std::mem::take(&mut self.jobs.at_mut(number).stalled) {
            let waited = self.jobs.waited(number);
            waited.space += turn.now() - waited.since;
        }
        loop {
            let job = *self.jobs.at(number);
            if job.outstanding > 0 {
                return;
            }
            match job.phase {
                Phase::Waits => return,
                Phase::End => {
                    self.end_job(codes, turn, number);
                    return;
                }
                _ if !job.begun => {
                    if !self.enter_phase(reads, codes, turn, number) {
                        return;
                    }
                }
                phase => {
                    let next = match phase {
                        Phase::Read => Phase::Write,
                        Phase::Write if !job.codes.is_empty() => Phase::Codes,
                        _ => Phase::End,
                    };
                    self.jobs.at_mut(number).turn_to(next);
                }
            }
        }
    }

    /// Does what a phase begins with; its first one through the gate, if it takes banks. `false`: it waits.
    fn enter_phase<F: Flash>(
        &mut self,
        reads: &mut Reads,
        codes: &mut Codes,
        turn: &mut Turn<'_, F>,
        number: u32,
    ) -> bool {
        if self.jobs.at(number).phase == Phase::Read && !self.plan(codes, turn, number) {
            return true;
        }
        if turn.base.gate.is_open() || self.jobs.at(number).has_bank {
            self.do_phase(reads, codes, turn, number);
            return self.jobs.at(number).begun;
        }
        self.jobs.waited(number).since = turn.now();
        turn.base.gate.push(Sub::Job { number }, self.bank_of(number));
        false
    }

    /// The gate lets a job through.
    pub fn send_gated<F: Flash>(&mut self, reads: &mut Reads, codes: &mut Codes, turn: &mut Turn<'_, F>, number: u32) {
        let waited = self.jobs.waited(number);
        waited.queue += turn.now() - waited.since;
        turn.base.gate.enter(self.bank_of(number));
        self.jobs.at_mut(number).has_bank = true;
        self.do_phase(reads, codes, turn, number);
        if self.jobs.at(number).begun && self.jobs.at(number).outstanding == 0 {
            self.ready.push_back(number);
        }
    }

    fn do_phase<F: Flash>(&mut self, reads: &mut Reads, codes: &mut Codes, turn: &mut Turn<'_, F>, number: u32) {
        match self.jobs.at(number).phase {
            Phase::Read => self.read_rest(reads, codes, turn, number),
            Phase::Write => self.write_unit(reads, codes, turn, number),
            Phase::Codes => self.write_codes(reads, codes, turn, number),
            Phase::Waits | Phase::End => {}
        }
    }

    /// Decides what is to be read. `false`: nothing; the phase is over.
    fn plan<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, number: u32) -> bool {
        let mut job = *self.jobs.at(number);
        if self.updates_codes {
            let (at, block) = self.layout.group_at(self.layout.place(job.unit));
            job.codes = codes.made_of(at, block) & codes.agreeing(at);
        }
        let is_trim = is_trim(turn.base, &job);
        let is_whole = (0..self.unit_pages).all(|page| self.given(turn.base, &job, page).0 == self.full_mask);
        if !is_trim && !is_whole {
            job.cells = turn.payloads().take(self.unit_pages, self.full_mask);
            self.counters.filled_up += 1;
        }
        if !job.codes.is_empty() {
            job.old = turn.payloads().take(self.old_pages(&job), self.full_mask);
        }
        let reads = !job.codes.is_empty()
            || !is_trim && (0..self.unit_pages).any(|page| self.needs_reading(turn.base, &job, page));
        if !reads {
            self.clear(turn, &job);
            job.turn_to(Phase::Write);
        }
        *self.jobs.at_mut(number) = job;
        reads
    }

    /// The host did not give all of a page that there is.
    fn needs_reading<F: Flash>(&self, base: &Base<F>, job: &Job, page: u32) -> bool {
        self.given(base, job, page).0 != self.full_mask && base.below.is_written(self.page_below(job.unit, page))
    }

    /// What is not read is zeros.
    fn clear<F: Flash>(&self, turn: &mut Turn<'_, F>, job: &Job) {
        let payloads = turn.payloads();
        (0..self.unit_pages).for_each(|page| payloads.clear(job.cells.offset(page), self.full_mask));
    }

    fn read_rest<F: Flash>(&mut self, reads: &mut Reads, codes: &Codes, turn: &mut Turn<'_, F>, number: u32) {
        let job = *self.jobs.at(number);
        let pages = self.layout.pages;
        self.clear(turn, &job);
        self.jobs.at_mut(number).begun = true;
        let token = |element: u32| Tag::token(Asked::Job, number, element);
        if !job.codes.is_empty() {
            // What the host did not give is in the old data too.
            let (at, block) = self.layout.group_at(self.layout.place(job.unit));
            for (index, element) in (0..).zip((Elements::one(block) | job.codes).iter()) {
                let (first, into) = (codes.page(at, element), job.old.offset(index * pages));
                let op = turn.base.own_op(HostOp::Read, first..first + pages, into, Cause::Code, token(element));
                self.hand_down(reads, codes, turn, number, &op);
            }
            return;
        }
        for block in 0..self.unit_blocks {
            let in_block = block * pages..(block + 1) * pages;
            let mut needed = in_block.filter(|page| self.needs_reading(turn.base, &job, *page));
            let Some(from) = needed.next() else { continue };
            let to = needed.next_back().unwrap_or(from) + 1;
            let (first, into) = (self.page_below(job.unit, from), job.cells.offset(from));
            let token = token(self.element_of(job.unit, from));
            let op = turn.base.own_op(HostOp::Read, first..first + (to - from), into, Cause::Host, token);
            self.hand_down(reads, codes, turn, number, &op);
        }
    }

    /// Gives an operation of a job to the mapping. The pages taken, if not all.
    fn hand_down<F: Flash>(
        &mut self,
        reads: &mut Reads,
        codes: &Codes,
        turn: &mut Turn<'_, F>,
        number: u32,
        op: &PageOp,
    ) -> Option<u32> {
        let bank = self.bank_of_step(turn.base, number, Tag::of(op.token).index);
        turn.base.gate.enter(bank);
        turn.flash.show_ticket(Some(self.jobs.at(number).ticket));
        let answer = turn.submit(op);
        turn.flash.show_ticket(None);
        let job = self.jobs.at_mut(number);
        let writes = job.phase == Phase::Write && !matches!(answer, Answer::Full { taken: 0, .. });
        if self.updates_codes && writes && !std::mem::replace(&mut job.touched, true) {
            // Its code blocks change with it: who has not read it yet must not use them.
            let (at, block) = self.layout.group_at(self.layout.place(job.unit));
            reads.drop_stale(turn, at, block, codes.code.codes_of(block));
        }
        match answer {
            Answer::Done { failed } => {
                job.note_step(failed);
                turn.base.gate.leave(bank);
                None
            }
            Answer::Pending(_) => {
                job.outstanding += 1;
                None
            }
            Answer::Full { taken, pending, failed } => {
                job.note_step(failed);
                job.outstanding += u32::from(pending);
                job.stalled = true;
                self.jobs.waited(number).since = turn.now();
                if !pending {
                    turn.base.gate.leave(bank);
                }
                turn.base.below.room.stall(number);
                Some(taken)
            }
        }
    }

    /// A step of a job is done.
    pub fn step_done<F: Flash>(&mut self, turn: &mut Turn<'_, F>, number: u32, element: u32, failed: bool) {
        let bank = self.bank_of_step(turn.base, number, element);
        turn.base.gate.leave(bank);
        let job = self.jobs.at_mut(number);
        debug_assert!(job.outstanding > 0);
        job.note_step(failed);
        job.outstanding -= 1;
        if job.outstanding == 0 {
            if !job.stalled {
                self.ready.push_back(number);
            }
            self.jobs.waited(number).add_step(&turn.last_wait());
        }
    }

    /// Writes the unit, or trims of it what is to be trimmed, from where it got last time.
    fn write_unit<F: Flash>(&mut self, reads: &mut Reads, codes: &Codes, turn: &mut Turn<'_, F>, number: u32) {
        let job = *self.jobs.at(number);
        let is_trim = is_trim(turn.base, &job);
        if job.sent == 0 && !is_trim && job.cells != PayloadId::NONE {
            self.overlay(turn, &job);
        }
        for block in job.unit * self.unit_blocks..(job.unit + 1) * self.unit_blocks {
            let (at, block) = self.layout.group_at(self.layout.place(block));
            reads.outdate(at, block);
        }
        let mut page = job.sent;
        while page < self.unit_pages {
            let (mask, given) = self.given(turn.base, &job, page);
            let to = self.run_end(turn.base, &job, page);
            if mask == 0 && (job.partial || is_trim) {
                page = to;
                continue; // what could not be read, or is not trimmed, stays as it is
            }
            let first = self.page_below(job.unit, page);
            let payload = if job.cells == PayloadId::NONE || is_trim { given } else { job.cells.offset(page) };
            let cause = if mask == 0 { Cause::Padding } else { Cause::Host };
            let token = Tag::token(Asked::Job, number, self.element_of(job.unit, page));
            let asked = turn.base.ops.at(job.op).about;
            let op = turn.base.own_op(asked.op, first..first + (to - page), payload, cause, token);
            let mut op = PageOp { fua: asked.fua, request_sectors: asked.request_sectors, ..op };
            if mask != self.full_mask && (is_trim || job.partial) {
                (op.first_mask, op.last_mask) = (mask, mask);
                turn.payloads().set_mask(op.payload, mask);
            }
            if let Some(taken) = self.hand_down(reads, codes, turn, number, &op) {
                self.jobs.at_mut(number).sent = page + taken;
                return;
            }
            page = to;
        }
        let job = self.jobs.at_mut(number);
        (job.sent, job.begun) = (self.unit_pages, true);
    }

    /// Where the pages of a stripe block end, from `page` on, that are handed down together: all given whole, or none.
    fn run_end<F: Flash>(&self, base: &Base<F>, job: &Job, page: u32) -> u32 {
        let (mask, _) = self.given(base, job, page);
        if mask != self.full_mask && mask != 0 {
            return page + 1;
        }
        let end = (page / self.layout.pages + 1) * self.layout.pages;
        (page + 1..end).find(|page| self.given(base, job, *page).0 != mask).unwrap_or(end)
    }

    /// Puts what the host gave over what was read.
    fn overlay<F: Flash>(&self, turn: &mut Turn<'_, F>, job: &Job) {
        for page in 0..self.unit_pages {
            let (mask, from) = self.given(turn.base, job, page);
            if !job.codes.is_empty() && !job.partial {
                turn.payloads().copy(job.old.offset(page), job.cells.offset(page), self.full_mask);
            }
            if mask != 0 {
                turn.payloads().copy(from, job.cells.offset(page), mask);
            }
        }
    }

    /// Writes the code blocks anew: what they were, less the old data, plus the new.
    fn write_codes<F: Flash>(&mut self, reads: &mut Reads, codes: &mut Codes, turn: &mut Turn<'_, F>, number: u32) {
        let job = *self.jobs.at(number);
        let (at, _) = self.layout.group_at(self.layout.place(job.unit));
        if job.partial || job.failed {
            codes.set_agrees(at, job.codes, false);
            self.jobs.at_mut(number).begun = true;
            return;
        }
        if !job.summed {
            self.jobs.at_mut(number).summed = true;
            self.sum_codes(turn, &job);
            self.counters.code_updates += u64::from(job.codes.len());
        }
        let pages = self.layout.pages;
        let mut sent = job.sent;
        while sent < job.codes.len() * pages {
            let element = job.codes.iter().nth((sent / pages) as usize).expect("it is one of them");
            let (first, done) = (codes.page(at, element), sent % pages);
            let payload = job.old.offset(pages + sent);
            let token = Tag::token(Asked::Job, number, element);
            let op = turn.base.own_op(HostOp::Write, first + done..first + pages, payload, Cause::Code, token);
            if let Some(taken) = self.hand_down(reads, codes, turn, number, &op) {
                self.jobs.at_mut(number).sent = sent + taken;
                return;
            }
            sent += pages - done;
        }
        let job = self.jobs.at_mut(number);
        (job.sent, job.begun) = (sent, true);
    }

    /// Computes code blocks in place of what they were.
    fn sum_codes<F: Flash>(&self, turn: &mut Turn<'_, F>, job: &Job) {
        let is_trim = is_trim(turn.base, job);
        for page in 0..self.layout.pages {
            let (mask, given) = self.given(turn.base, job, page);
            if is_trim && mask != self.full_mask {
                continue; // a trim is advice: a page trimmed in part keeps its contents
            }
            let new = if job.cells == PayloadId::NONE { given } else { job.cells.offset(page) };
            for index in 1..=job.codes.len() {
                let into = job.old.offset(index * self.layout.pages + page);
                turn.payloads().add(job.old.offset(page), into);
                if !is_trim {
                    turn.payloads().add(new, into);
                }
            }
        }
    }

    /// A job is done: the next of its line begins.
    fn end_job<F: Flash>(&mut self, codes: &mut Codes, turn: &mut Turn<'_, F>, number: u32) {
        let job = *self.jobs.at(number);
        if job.failed {
            let (at, _) = self.layout.group_at(self.layout.place(job.unit));
            codes.set_agrees(at, job.codes, false);
        }
        if job.has_bank {
            turn.base.gate.leave(self.bank_of(number));
        }
        turn.payloads().release(job.cells, self.unit_pages);
        turn.payloads().release(job.old, self.old_pages(&job));
        let next = self.jobs.leave(number);
        if next != NONE {
            let waited = self.jobs.waited(next);
            waited.queue += turn.now() - waited.since;
            self.ready.push_back(next);
        }
        let wait = self.jobs.waited(number).in_all(turn.now());
        self.jobs.end(number);
        turn.parts_done_after(job.op, 1, job.failed, &wait);
    }

    /// Pages of the old data and code blocks of a job.
    fn old_pages(&self, job: &Job) -> u32 {
        self.unit_pages * (1 + job.codes.len())
    }

    /// The line of a unit.
    #[inline]
    fn line_of(&self, unit: u32) -> u32 {
        if !self.updates_codes {
            return unit;
        }
        self.layout.line(self.layout.group_at(self.layout.place(unit)).0)
    }

    /// Sectors of a page of the unit that the host gave, and the slot they are in.
    fn given<F: Flash>(&self, base: &Base<F>, job: &Job, page: u32) -> (u64, PayloadId) {
        let asked = &base.ops.at(job.op).about;
        match asked.part(self.first_of(job.unit) + page, 1).next() {
            Some(index) => (asked.mask_at(index, self.full_mask), asked.payload.offset(index)),
            None => (0, PayloadId::NONE),
        }
    }

    /// The place of the stripe block with a page of the unit.
    fn place_of(&self, unit: u32, page: u32) -> Place {
        self.layout.place(unit * self.unit_blocks + page / self.layout.pages)
    }

    /// The page of the mapping below with a page of the unit.
    fn page_below(&self, unit: u32, page: u32) -> Lpn {
        self.layout.below(self.first_of(unit) + page)
    }

    /// The unit with a page of the host.
    fn unit_of(&self, page: Lpn) -> u32 {
        page.0 / self.unit_pages
    }

    /// The first page of the host in a unit.
    fn first_of(&self, unit: u32) -> Lpn {
        Lpn(unit * self.unit_pages)
    }

    /// The element of its group that a page of the unit belongs to.
    fn element_of(&self, unit: u32, page: u32) -> u32 {
        self.layout.group_at(self.place_of(unit, page)).1
    }

    /// The bank that a job takes at the gate; in lockstep that is all of them.
    fn bank_of(&self, number: u32) -> u32 {
        self.place_of(self.jobs.at(number).unit, 0).bank
    }

    /// Bank of a step of a job about an element of its group; any will do in lockstep, and where the gate is open.
    fn bank_of_step<F: Flash>(&self, base: &Base<F>, number: u32, element: u32) -> u32 {
        if base.gate.is_open() {
            return 0;
        }
        let (at, _) = self.layout.group_at(self.place_of(self.jobs.at(number).unit, 0));
        self.layout.bank(at, element)
    }
}

fn is_trim<F: Flash>(base: &Base<F>, job: &Job) -> bool {
    base.ops.at(job.op).about.op == HostOp::Trim
}
