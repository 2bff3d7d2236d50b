//! Writes and trims: a stripe block at a time, with what it covers of one read first.
//!
//! ```text
//! accepted   code blocks of it are stale from now on, and what was read ahead of it is forgotten
//! Read       the pages the host did not give (and, where codes are updated, old data and codes)
//! Write      all pages of the block
//! Codes      old code block + old data + new data, where codes are updated
//! ```
//! Writes of one block, or where codes are updated of one group of a row, follow each other.

use crate::jobs::{Job, Phase};
use crate::layout::Place;
use crate::queue::Sub;
use crate::zoned::{Asked, NONE, Tag, Zoned};
use layer::{Answer, Outbox, PageOp};
use nand::{Flash, PayloadId};
use units::{Cause, HostOp, members};

impl<F: Flash> Zoned<F> {
    pub fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let unit_pages = self.unit_pages();
        let (first, last) = (op.first / unit_pages, (op.first + op.pages - 1) / unit_pages);
        let number = self.ops.begin(op, last - first + 1, *op);
        for unit in first..=last {
            for block in unit * self.jobs.unit..(unit + 1) * self.jobs.unit {
                let place = self.layout.place(block);
                self.make_stale(flash, place);
            }
        }
        for unit in first..=last {
            let line = self.line_of(unit);
            let job = self.jobs.begin(number, unit, line, flash.now());
            if self.jobs.at(job).phase == Phase::Read {
                self.ready.push_back(job);
            }
        }
        self.settle(flash, outbox);
        self.ops.answer(number)
    }

    /// The line of a unit.
    #[inline]
    fn line_of(&self, unit: u32) -> u32 {
        if !self.rows_in_line {
            return unit;
        }
        let Place { zone, row, bank } = self.layout.place(unit);
        self.layout.line(zone, row, bank / self.layout.group)
    }

    /// Answers a read of a block from writes that were accepted and have not reached the mapping. `true`: all of it.
    pub fn read_from_jobs(&self, flash: &mut F, op: &PageOp, block: u32) -> bool {
        let unit = block / self.jobs.unit;
        let line = self.line_of(unit);
        if self.jobs.is_idle(line) {
            return false;
        }
        let first = block * self.layout.pages;
        let mut all = true;
        for logical in first.max(op.first)..(first + self.layout.pages).min(op.first + op.pages) {
            let index = logical - op.first;
            let (wanted, into) = (op.mask_at(index, self.full_mask), op.payload.offset(index));
            let mut held = 0;
            for job in self.jobs.of(line, unit) {
                let page = logical - unit * self.unit_pages();
                let waits = match job.phase {
                    Phase::Waits | Phase::Read => true,
                    Phase::Write => !job.begun && page >= job.sent,
                    Phase::Codes | Phase::End => false,
                };
                let (mask, from) = self.given(job, page);
                let is_trim = self.is_trim(job);
                if !waits || is_trim && mask != self.full_mask {
                    continue; // a page trimmed in part keeps its contents
                }
                held |= mask;
                if is_trim {
                    flash.memory_mut().payloads.clear(into, mask & wanted);
                } else {
                    flash.memory_mut().payloads.copy(from, into, mask & wanted);
                }
            }
            flash.memory_mut().payloads.set_mask(into, wanted & !held);
            all &= wanted & !held == 0;
        }
        all
    }

    /// Whether writes or trims of a page of the host were accepted and may not have reached the mapping.
    pub fn is_waited_for(&self, page: u32) -> bool {
        !self.jobs.is_idle(self.line_of(page / self.unit_pages()))
    }

    /// The page of the mapping below with a page of the host.
    pub fn page_of(&self, page: u32) -> u32 {
        self.page_below(page / self.unit_pages(), page % self.unit_pages())
    }

    #[inline]
    fn unit_pages(&self) -> u32 {
        self.jobs.unit * self.layout.pages
    }

    /// Sectors of a page of the unit that the host gave, and the slot they are in.
    fn given(&self, job: &Job, page: u32) -> (u64, PayloadId) {
        let asked = &self.ops.at(job.op).about;
        let logical = job.unit * self.unit_pages() + page;
        if !(asked.first..asked.first + asked.pages).contains(&logical) {
            return (0, PayloadId::NONE);
        }
        let index = logical - asked.first;
        (asked.mask_at(index, self.full_mask), asked.payload.offset(index))
    }

    /// The page of the mapping below with a page of the unit.
    fn page_below(&self, unit: u32, page: u32) -> u32 {
        let Place { zone, row, bank } = self.layout.place(unit * self.jobs.unit + page / self.layout.pages);
        self.layout.page(zone, row, bank) + page % self.layout.pages
    }

    fn bank_of(&self, unit: u32, page: u32) -> u32 {
        self.layout.place(unit * self.jobs.unit + page / self.layout.pages).bank
    }

    fn is_trim(&self, job: &Job) -> bool {
        self.ops.at(job.op).about.op == HostOp::Trim
    }

    /// Takes a job as far as it gets.
    pub fn advance(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        if std::mem::take(&mut self.jobs.at_mut(number).stalled) {
            let waited = self.jobs.waited(number);
            waited.space += flash.now() - waited.since;
        }
        loop {
            let job = *self.jobs.at(number);
            if job.outstanding > 0 {
                return;
            }
            match job.phase {
                Phase::Waits => return,
                Phase::End => {
                    self.end_job(flash, number, outbox);
                    return;
                }
                _ if !job.begun => {
                    if !self.enter_phase(flash, number) {
                        return;
                    }
                }
                phase => {
                    let next = match phase {
                        Phase::Read => Phase::Write,
                        Phase::Write if job.codes != 0 => Phase::Codes,
                        _ => Phase::End,
                    };
                    let job = self.jobs.at_mut(number);
                    (job.phase, job.begun, job.sent) = (next, false, 0);
                }
            }
        }
    }

    /// Does what a phase begins with; through the gate, if it takes banks. `false`: it waits.
    fn enter_phase(&mut self, flash: &mut F, number: u32) -> bool {
        let phase = self.jobs.at(number).phase;
        if phase == Phase::Read && !self.plan(flash, number) {
            return true;
        }
        if self.gate.is_open() {
            self.do_phase(flash, number);
            return self.jobs.at(number).begun;
        }
        let bank = self.bank_of(self.jobs.at(number).unit, 0);
        self.jobs.waited(number).since = flash.now();
        self.gate.push(Sub::Job { number }, bank);
        false
    }

    /// The gate lets a job through.
    pub fn send_job(&mut self, flash: &mut F, number: u32) {
        let waited = self.jobs.waited(number);
        waited.queue += flash.now() - waited.since;
        self.do_phase(flash, number);
        if self.jobs.at(number).begun && self.jobs.at(number).outstanding == 0 {
            self.ready.push_back(number);
        }
    }

    fn do_phase(&mut self, flash: &mut F, number: u32) {
        match self.jobs.at(number).phase {
            Phase::Read => self.read_rest(flash, number),
            Phase::Write => self.write_unit(flash, number),
            Phase::Codes => self.write_codes(flash, number),
            Phase::Waits | Phase::End => {}
        }
    }

    /// Decides what is to be read. `false`: nothing; the phase is over.
    fn plan(&mut self, flash: &mut F, number: u32) -> bool {
        let job = *self.jobs.at(number);
        let pages = self.unit_pages();
        let whole = (0..pages).all(|page| self.given(&job, page).0 == self.full_mask);
        let job = self.jobs.at_mut(number);
        if self.rows_in_line {
            let Place { zone, row, bank } = self.layout.place(job.unit);
            let (group, block) = (bank / self.layout.group, bank % self.layout.group);
            let code_zone = self.code_of[zone as usize];
            if code_zone != NONE {
                let codes = members(self.known.code().codes_of(1 << block));
                let agreeing = codes.filter(|element| self.agrees(code_zone, row, group, element - self.layout.group));
                let codes = agreeing.fold(0, |set, element| set | 1 << element);
                self.jobs.at_mut(number).codes = codes;
            }
        }
        let job = *self.jobs.at(number);
        if !self.is_trim(&job) && !whole {
            self.jobs.at_mut(number).cells = flash.memory_mut().payloads.take(pages, self.full_mask);
            self.counters.filled_up_writes += 1;
        }
        if job.codes != 0 {
            self.jobs.at_mut(number).old =
                flash.memory_mut().payloads.take(pages * (1 + job.codes.count_ones()), self.full_mask);
            return true;
        }
        let rest = !self.is_trim(&job) && (0..pages).any(|page| self.needs_reading(&job, page));
        if !rest {
            self.clear(flash, number);
            let job = self.jobs.at_mut(number);
            (job.phase, job.begun) = (Phase::Write, false);
        }
        rest
    }

    /// The host did not give all of a page that there is.
    fn needs_reading(&self, job: &Job, page: u32) -> bool {
        self.given(job, page).0 != self.full_mask && self.below.is_written(self.page_below(job.unit, page))
    }

    /// What is not read is zeros.
    fn clear(&self, flash: &mut F, number: u32) {
        let cells = self.jobs.at(number).cells;
        let payloads = &mut flash.memory_mut().payloads;
        (0..self.unit_pages()).for_each(|page| payloads.clear(cells.offset(page), self.full_mask));
    }

    fn read_rest(&mut self, flash: &mut F, number: u32) {
        self.clear(flash, number);
        let job = *self.jobs.at(number);
        let pages = self.layout.pages;
        self.jobs.at_mut(number).begun = true;
        for block in 0..self.jobs.unit {
            let range = block * pages..(block + 1) * pages;
            let element = self.element_of(job.unit, range.start);
            if job.codes != 0 {
                let first = self.page_below(job.unit, range.start);
                self.read_for(flash, [number, element], first, pages, job.old, Cause::Code);
                // What the host did not give is in there too.
                continue;
            }
            let mut needed = range.clone().filter(|page| self.needs_reading(&job, *page));
            let Some(from) = needed.next() else { continue };
            let to = needed.next_back().unwrap_or(from) + 1;
            let first = self.page_below(job.unit, from);
            self.read_for(flash, [number, element], first, to - from, job.cells.offset(from), Cause::Host);
        }
        if job.codes != 0 {
            let Place { zone, row, bank } = self.layout.place(job.unit);
            for (index, element) in (1..).zip(members(job.codes)) {
                let (_, first) = self.element_page(zone, row, bank / self.layout.group, element);
                self.read_for(flash, [number, element], first, pages, job.old.offset(index * pages), Cause::Code);
            }
        }
    }

    fn read_for(
        &mut self,
        flash: &mut F,
        [number, element]: [u32; 2],
        first: u32,
        pages: u32,
        into: PayloadId,
        cause: Cause,
    ) {
        let op = self.own_op(HostOp::Read, first, pages, into, cause, Tag::token(Asked::Job, number, element));
        let op = PageOp { cancellable: false, ..op };
        self.hand_down(flash, number, &op);
    }

    /// The element of its group that a page of the unit belongs to.
    fn element_of(&self, unit: u32, page: u32) -> u32 {
        self.bank_of(unit, page) % self.layout.group
    }

    /// Bank of an element of the group that a job belongs to; in lockstep any will do.
    fn bank_of_element(&self, number: u32, element: u32) -> u32 {
        let Place { zone, row, bank } = self.layout.place(self.jobs.at(number).unit * self.jobs.unit);
        self.element_page(zone, row, bank / self.layout.group, element).0
    }

    /// Gives an operation of a job to the mapping. The pages taken, if not all.
    fn hand_down(&mut self, flash: &mut F, number: u32, op: &PageOp) -> Option<u32> {
        let element = Tag::of(op.token).index;
        let bank = if self.gate.is_open() { 0 } else { self.bank_of_element(number, element) };
        self.gate.enter(bank);
        let answer = self.below.submit(flash, op);
        let job = self.jobs.at_mut(number);
        let writes = job.phase == Phase::Write && !matches!(answer, Answer::Full { taken: 0, .. });
        if self.rows_in_line && writes && !std::mem::replace(&mut job.touched, true) {
            let place = self.layout.place(job.unit);
            self.begin_update(flash, place);
        }
        let job = self.jobs.at_mut(number);
        match answer {
            Answer::Done { failed } => {
                self.step_failed(number, failed);
                self.gate.leave(bank);
                None
            }
            Answer::Pending(_) => {
                job.outstanding += 1;
                None
            }
            Answer::Full { taken, pending } => {
                job.outstanding += u32::from(pending);
                job.stalled = true;
                self.jobs.waited(number).since = flash.now();
                if !pending {
                    self.gate.leave(bank);
                }
                self.below.room.stall(number);
                Some(taken)
            }
        }
    }

    fn step_failed(&mut self, number: u32, failed: bool) {
        let job = self.jobs.at_mut(number);
        match job.phase {
            Phase::Read => job.partial |= failed,
            _ => job.failed |= failed,
        }
    }

    /// A step of a job is done.
    pub fn job_step_done(&mut self, flash: &F, number: u32, element: u32, failed: bool) {
        if !self.gate.is_open() {
            self.gate.leave(self.bank_of_element(number, element));
        }
        self.step_failed(number, failed);
        let job = self.jobs.at_mut(number);
        job.outstanding -= 1;
        if job.outstanding == 0 {
            if !job.stalled {
                self.ready.push_back(number);
            }
            let wait = self.last_wait(flash);
            self.jobs.waited(number).add_step(&wait);
        }
    }

    /// Puts what the host gave over what was read.
    fn overlay(&mut self, flash: &mut F, number: u32) {
        let job = *self.jobs.at(number);
        for page in 0..self.unit_pages() {
            let (mask, from) = self.given(&job, page);
            if job.codes != 0 && !job.partial {
                flash.memory_mut().payloads.copy(job.old.offset(page), job.cells.offset(page), self.full_mask);
            }
            if mask != 0 {
                flash.memory_mut().payloads.copy(from, job.cells.offset(page), mask);
            }
        }
    }

    /// Writes the unit, or trims of it what is to be trimmed, from where it got last time.
    fn write_unit(&mut self, flash: &mut F, number: u32) {
        let job = *self.jobs.at(number);
        let is_trim = self.is_trim(&job);
        if job.sent == 0 && !is_trim && job.cells != PayloadId::NONE {
            self.overlay(flash, number);
        }
        for block in job.unit * self.jobs.unit..(job.unit + 1) * self.jobs.unit {
            self.make_outdated(self.layout.place(block));
        }
        let asked = self.ops.at(job.op).about;
        let filled = self.jobs.at(number).cells;
        let total = self.unit_pages();
        let mut page = job.sent;
        while page < total {
            let (mask, payload) = self.given(&job, page);
            let end = (page / self.layout.pages + 1) * self.layout.pages;
            let mut to = page + 1;
            if mask == self.full_mask {
                while to < end && self.given(&job, to).0 == self.full_mask {
                    to += 1;
                }
            } else if mask == 0 {
                while to < end && self.given(&job, to).0 == 0 {
                    to += 1;
                }
            }
            if mask == 0 && (job.partial || is_trim) {
                page = to;
                continue; // what could not be read, or is not trimmed, stays as it is
            }
            let first = self.page_below(job.unit, page);
            let element = self.element_of(job.unit, page);
            let payload = if filled == PayloadId::NONE || is_trim { payload } else { filled.offset(page) };
            let cause = if mask == 0 { Cause::Padding } else { Cause::Host };
            let op = self.own_op(asked.op, first, to - page, payload, cause, Tag::token(Asked::Job, number, element));
            let mut op = PageOp { fua: asked.fua, request_sectors: asked.request_sectors, ..op };
            if mask != self.full_mask && (is_trim || job.partial) {
                (op.first_mask, op.last_mask) = (mask, mask);
                flash.memory_mut().payloads.set_mask(op.payload, mask);
            }
            if let Some(taken) = self.hand_down(flash, number, &op) {
                self.jobs.at_mut(number).sent = page + taken;
                return;
            }
            page = to;
        }
        let job = self.jobs.at_mut(number);
        (job.sent, job.begun) = (total, true);
    }

    /// Writes the code blocks anew: what they were, less the old data, plus the new.
    fn write_codes(&mut self, flash: &mut F, number: u32) {
        let job = *self.jobs.at(number);
        let Place { zone, row, bank } = self.layout.place(job.unit);
        let (group, pages) = (bank / self.layout.group, self.layout.pages);
        if job.partial || job.failed {
            self.forget_codes(number);
            self.jobs.at_mut(number).begun = true;
            return;
        }
        if !job.summed {
            self.jobs.at_mut(number).summed = true;
            self.sum_codes(flash, number);
            self.counters.code_updates += u64::from(job.codes.count_ones());
        }
        let all = job.codes.count_ones() * pages;
        let mut sent = job.sent;
        while sent < all {
            let element = members(job.codes).nth((sent / pages) as usize).expect("it is one of them");
            let (_, first) = self.element_page(zone, row, group, element);
            let (done, left) = (sent % pages, pages - sent % pages);
            let payload = job.old.offset(pages + sent);
            let op = self.own_op(
                HostOp::Write,
                first + done,
                left,
                payload,
                Cause::Code,
                Tag::token(Asked::Job, number, element),
            );
            if let Some(taken) = self.hand_down(flash, number, &op) {
                self.jobs.at_mut(number).sent = sent + taken;
                return;
            }
            sent += left;
        }
        let job = self.jobs.at_mut(number);
        (job.sent, job.begun) = (sent, true);
    }

    fn forget_codes(&mut self, number: u32) {
        let job = *self.jobs.at(number);
        let Place { zone, row, bank } = self.layout.place(job.unit);
        let (group, code_zone) = (bank / self.layout.group, self.code_of[zone as usize]);
        if code_zone != NONE {
            members(job.codes)
                .for_each(|element| self.set_agrees(code_zone, row, group, element - self.layout.group, false));
        }
    }

    /// Computes code blocks in place of what they were.
    fn sum_codes(&mut self, flash: &mut F, number: u32) {
        let job = *self.jobs.at(number);
        let is_trim = self.is_trim(&job);
        let payloads = &mut flash.memory_mut().payloads;
        for page in 0..self.layout.pages {
            let (mask, given) = self.given(&job, page);
            if is_trim && mask != self.full_mask {
                continue; // a trim is advice: a page trimmed in part keeps its contents
            }
            let new = if job.cells == PayloadId::NONE { given } else { job.cells.offset(page) };
            for index in 1..=job.codes.count_ones() {
                let into = job.old.offset(index * self.layout.pages + page);
                payloads.add(job.old.offset(page), into);
                if !is_trim {
                    payloads.add(new, into);
                }
            }
        }
    }

    /// A job is done: the next of its line begins.
    fn end_job(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        let job = *self.jobs.at(number);
        if job.failed && job.codes != 0 {
            self.forget_codes(number);
        }
        flash.memory_mut().payloads.release(job.cells, self.unit_pages());
        flash.memory_mut().payloads.release(job.old, self.unit_pages() * (1 + job.codes.count_ones()));
        let next = self.jobs.leave(number);
        if next != NONE {
            self.jobs.at_mut(next).phase = Phase::Read;
            let waited = self.jobs.waited(next);
            waited.queue += flash.now() - waited.since;
            self.ready.push_back(next);
        }
        let wait = self.jobs.waited(number).in_all(flash.now());
        self.jobs.end(number);
        self.parts_done_after(flash, &wait, [job.op, 1], job.failed, outbox);
    }
}
