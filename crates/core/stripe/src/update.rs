//! Writes and trims of data pages, up to the point where all of it is on flash.

use crate::array::Array;
use crate::jobs::{Cell, Job, Kind, Phase, Shards};
use crate::load::Loaded;
use crate::scheme::Delay;
use crate::striped::{Striped, Wanted};
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::{Answer, Old, Outbox, PageOp};
use nand::{Flash, PayloadId};
use units::{Cause, HostOp, members};

impl<F: Flash> Striped<F> {
    pub fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let number = self.ops.begin(op, op.pages, Wanted { op: *op, again: false });
        for index in 0..op.pages {
            let (stripe, at) = self.work.array.layout.place(op.first + index);
            let job = self.work.jobs.job_for(stripe, at);
            let trim = op.op == HostOp::Trim;
            let entry = self.work.jobs.at_mut(job);
            entry.pages |= 1 << at;
            entry.trims |= u64::from(trim) << at;
            let part = self.work.jobs.part_mut(job, at);
            (part.op, part.payload) = (number, op.payload.offset(index));
            part.mask = op.mask_at(index, self.work.array.full_mask);
            part.whole = PayloadId::NONE;
        }
        if !op.more {
            self.work.jobs.close_group();
        }
        self.settle(flash, outbox);
        self.ops.answer(number)
    }

    /// A job begins. `false`: it waits for something.
    pub fn start(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) -> bool {
        match self.work.jobs.at(number).kind {
            Kind::Write => self.start_write(flash, number, outbox),
            Kind::Commit(_) => self.start_commit(number),
            Kind::Read => {
                self.start_read(flash, number);
                true
            }
            Kind::Rebuild => self.start_rebuild(flash, number),
        }
    }

    fn start_write(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) -> bool {
        self.drop_idle_trims(number, outbox);
        if self.work.jobs.at(number).pages == 0 {
            self.work.jobs.at_mut(number).phase = Phase::End;
            return true;
        }
        if !self.acquire(flash, number) {
            return false;
        }
        let job = *self.work.jobs.at(number);
        let newer = self.work.array.cache.at(job.entry).newer;
        self.work.array.count_write(&job, newer);
        let partial = self.work.jobs.partial(number, self.work.array.full_mask);
        // A full stripe needs nothing of what it replaces: see `rely_on_memory`.
        let replaces = self.work.array.scheme.gathers()
            && newer != 0
            && job.pages == self.work.array.layout.all()
            && job.trims == 0;
        let want = match self.work.array.scheme.delay {
            Delay::Full => self.work.plan_full(number),
            Delay::AtOnce | Delay::Partial if !replaces => job.pages & newer,
            Delay::AtOnce | Delay::Partial | Delay::Idle => 0,
        };
        let job = self.work.jobs.at_mut(number);
        job.whole |= replaces;
        (job.want.newest, job.newer_before, job.phase) = (want | partial, newer, Phase::Before);
        true
    }

    /// Trims of pages that hold nothing, or that are meant only in part, are done.
    fn drop_idle_trims(&mut self, number: u32, outbox: &mut Outbox) {
        let Job { stripe, trims, .. } = *self.work.jobs.at(number);
        for index in members(trims) {
            let part = *self.work.jobs.part(number, index);
            let page = self.work.array.layout.data_page(stripe, index);
            // What a lost chip holds is not known below.
            let written =
                self.work.array.below.is_written(page) || self.work.array.lost_members(stripe).0 >> index & 1 == 1;
            if part.mask == self.work.array.full_mask && written {
                continue;
            }
            let job = self.work.jobs.at_mut(number);
            job.pages &= !(1 << index);
            job.trims &= !(1 << index);
            self.pages_done(part.op, 1, false, outbox);
        }
    }
}

impl<F: Flash> Work<F> {
    /// How a full parity in memory is brought up to date: the data pages that have to be read.
    pub fn plan_full(&mut self, number: u32) -> u64 {
        let job = *self.jobs.at(number);
        let all = self.array.layout.all();
        let (pages, others) = (job.pages, all & !job.pages);
        let cached = self.array.cache.at(job.entry).full;
        let (lost, lost_rows) = self.lost_to(number);
        let reads_parity = !cached || !self.array.settings.cached_parity;
        let by_change = pages.count_ones() + u32::from(reads_parity);
        // Without the old parity, or what it covers of these pages, it is computed from all pages: others that are
        // lost as well are lost for good.
        let may_change = pages & lost == 0 && (cached || lost_rows == 0);
        let rest_is_less = if self.array.modifies() { others == 0 } else { others.count_ones() <= by_change };
        let whole = !may_change || lost & others == 0 && rest_is_less;
        let job = self.jobs.at_mut(number);
        job.whole = whole;
        job.want.parity = u64::from(!whole && reads_parity && lost_rows == 0);
        if whole { others } else { pages }
    }

    /// Loads and completes the pages that must be known before anything may be written.
    /// 1. The wanted pages are loaded. If one of them is lost, a full parity is planned in another way; without one the
    ///    write is refused.
    /// 2. A write to lost chips is refused if the parities that are left cannot remember it, or if it keeps sectors
    ///    that are gone.
    /// 3. Pages written in part are completed with loaded sectors.
    /// 4. The data may be written.
    pub fn before(&mut self, flash: &mut F, number: u32) -> bool {
        loop {
            match self.load(flash, number) {
                Loaded::Waits => return false,
                Loaded::Ready => break,
                Loaded::Lost if self.array.scheme.delay == Delay::Full && self.jobs.at(number).whole => {
                    self.give_up_lost(flash, number);
                }
                // The parity to start from, or a page it covers, turned out to be lost: there is another way.
                Loaded::Lost if self.array.scheme.delay == Delay::Full => {
                    let before = self.jobs.at(number).want;
                    let newest = self.plan_full(number) | self.jobs.partial(number, self.array.full_mask);
                    let job = self.jobs.at_mut(number);
                    job.want.newest = newest;
                    if job.want == before {
                        self.refuse(flash, number); // there is none
                        return true;
                    }
                }
                Loaded::Lost => {
                    self.refuse(flash, number);
                    return true;
                }
            }
        }
        let Job { stripe, pages, trims, .. } = *self.jobs.at(number);
        let (lost, lost_rows) = self.array.lost_members(stripe);
        if pages & lost != 0 && lost.count_ones() + lost_rows.count_ones() > self.array.layout.parity {
            self.refuse(flash, number); // nothing would remember what is written to a lost chip
            return true;
        }
        if self.array.has_gone(stripe, self.jobs.partial(number, self.array.full_mask)) {
            self.refuse(flash, number);
            return true;
        }
        for index in members(pages & !trims) {
            let part = *self.jobs.part(number, index);
            let mut whole = part.payload;
            if part.mask != self.array.full_mask && whole != PayloadId::NONE {
                whole = self.array.take_page(flash);
                self.jobs.set_cell(number, Cell::Whole(index), whole);
                let newest = self.jobs.cell(number, Cell::Newest(index));
                flash.memory_mut().payloads.copy(newest, whole, self.array.full_mask);
                flash.memory_mut().payloads.copy(part.payload, whole, part.mask);
            }
            self.jobs.part_mut(number, index).whole = whole;
        }
        let job = self.jobs.at_mut(number);
        (job.phase, job.issued) = (Phase::Data, 0);
        true
    }

    /// Too much is lost to write these pages: their other sectors, or the parity that protects other pages.
    #[cold]
    pub fn refuse(&mut self, flash: &mut F, number: u32) {
        let entry = self.jobs.at(number).entry;
        if self.array.cache.at(entry).newer == 0 {
            self.array.drop_entry(flash, entry); // it was entered for this write
        }
        let job = self.jobs.at_mut(number);
        (job.failed, job.phase) = (true, Phase::End);
    }

    /// Gives the pages to the mapping. `false`: it has no room, or they are under way.
    /// 1. A page of a lost chip is remembered by the parity alone.
    /// 2. Any other page is submitted, and its old version is kept; without room the job waits.
    /// 3. Of a full stripe over newer pages, the pages that are not newer go first; when they are on flash, the parity
    ///    in memory takes the place of the one on flash, and the others follow.
    /// 4. After the last page come the trims, or the parity.
    pub fn write_data(&mut self, flash: &mut F, number: u32) -> bool {
        let Job { stripe, pages, trims, issued, .. } = *self.jobs.at(number);
        let (lost, _) = self.array.lost_members(stripe);
        let now = self.may_be_written(number);
        for index in members(now & !trims & !issued) {
            if lost >> index & 1 == 1 {
                // Its chip is gone: the parity alone remembers it.
                self.jobs.at_mut(number).issued |= 1 << index;
                self.array.counters.degraded_writes += 1;
                self.data_written(flash, number, index);
                continue;
            }
            let whole = self.jobs.part(number, index).whole;
            let page = self.array.layout.data_page(stripe, index);
            let op = layer::PageOp {
                kept: true,
                ..self.array.page_op(page, whole, Cause::Host, Tag::token(Asked::Data, number, index))
            };
            match self.array.below.submit(flash, &op) {
                Answer::Full { .. } => {
                    self.stall(number, Some(page));
                    return false;
                }
                Answer::Done { .. } => {
                    self.jobs.at_mut(number).issued |= 1 << index;
                    self.data_written(flash, number, index);
                }
                Answer::Pending(_) => {
                    let job = self.jobs.at_mut(number);
                    job.issued |= 1 << index;
                    job.outstanding += 1;
                }
            }
        }
        if now != pages {
            if self.jobs.at(number).outstanding == 0 {
                self.rely_on_memory(flash, number);
            }
            return true;
        }
        self.jobs.at_mut(number).phase = if trims == 0 { Phase::Written } else { Phase::Trims };
        true
    }

    /// Pages of a job that may be written now. Of a full stripe over newer pages those come first that are not newer.
    pub fn may_be_written(&self, number: u32) -> u64 {
        let Job { entry, pages, whole, newer_before, .. } = *self.jobs.at(number);
        let relies = self.array.scheme.gathers() && whole && !self.array.cache.at(entry).full;
        if relies { pages & !newer_before } else { pages }
    }

    /// Every page is newer than the parity on flash, so the one in memory covers the whole stripe: it takes the place
    /// of the other, and the pages written next leave it and the versions it covers as they are. After a power cut it
    /// tells the contents of a lost page, without a read of versions that are being replaced.
    pub fn rely_on_memory(&mut self, flash: &mut F, number: u32) {
        let Job { stripe, entry, .. } = *self.jobs.at(number);
        let covered = self.array.below.sequence();
        let cached = self.array.cache.at_mut(entry);
        (cached.full, cached.newer, cached.covered) = (true, self.array.layout.all(), covered);
        // What it covers of a trimmed page is nothing, though the tombstone may get a later number.
        cached.zeros = cached.trims;
        self.array.remember(flash, entry);
        self.array.drop_old_of(flash, stripe, self.array.layout.all());
    }

    /// A page of a job is on flash, or trimmed there: it is newer than the parity, and memory says so.
    pub fn data_written(&mut self, flash: &mut F, number: u32, index: u32) {
        let Job { stripe, entry, trims, .. } = *self.jobs.at(number);
        self.array.forget_gone(flash, stripe, index);
        let page = self.array.layout.data_page(stripe, index);
        let before = self.array.cache.at(entry).newer >> index & 1 == 1;
        if self.array.scheme.gathers() && !self.array.cache.at(entry).full {
            let newest = self.jobs.cell(number, Cell::Newest(index));
            let whole = self.jobs.part(number, index).whole;
            for row in 0..self.array.layout.parity {
                let into = self.array.cache.at(entry).parity[row as usize];
                if before {
                    self.array.add(flash, row, index, newest, into);
                }
                if trims >> index & 1 == 0 {
                    self.array.add(flash, row, index, whole, into);
                }
            }
        }
        let had_nothing = self.array.below.old(page) == Old::Zero;
        let cached = self.array.cache.at_mut(entry);
        cached.newer |= 1 << index;
        let is_trim = trims >> index & 1;
        cached.trims = cached.trims & !(1 << index) | is_trim << index;
        if !before {
            cached.zeros |= u64::from(had_nothing) << index;
        }
        if self.array.scheme.delay != Delay::Full {
            self.array.remember(flash, entry);
        }
    }

    /// All data of a job is on flash.
    pub fn written(&mut self, flash: &mut F, number: u32) -> bool {
        let Job { stripe, entry, pages, .. } = *self.jobs.at(number);
        if self.array.scheme.delay != Delay::Partial {
            self.trims_written(flash, number);
        }
        if self.array.scheme.delay == Delay::Full {
            self.update_full(flash, number);
        }
        self.put_by(flash, number);
        // Without a parity in memory nothing would remember a page whose chip is lost.
        let unsafe_now = self.array.scheme.delay == Delay::Idle && pages & self.array.lost_members(stripe).0 != 0;
        let commits = self.array.cache.at(entry).transient || pages == self.array.layout.all() || unsafe_now;
        let job = self.jobs.at_mut(number);
        job.issued = 0;
        if commits {
            job.phase = Phase::Commit;
            self.array.counters.commits_with_writes += 1;
            self.plan_commit(number);
        } else {
            job.phase = Phase::End;
            self.array.cache.touch(entry);
        }
        true
    }

    /// The versions read of the pages just written are their newest no longer. Where the parity on flash covers such a
    /// version, it need not be read again.
    pub fn put_by(&mut self, flash: &mut F, number: u32) {
        let Job { pages, have, newer_before, .. } = *self.jobs.at(number);
        for index in members(pages & have.newest) {
            let page = self.jobs.cell(number, Cell::Newest(index));
            self.jobs.set_cell(number, Cell::Newest(index), PayloadId::NONE);
            if newer_before >> index & 1 == 0 {
                self.jobs.set_cell(number, Cell::Old(index), page);
                self.jobs.at_mut(number).have.old |= 1 << index;
            } else {
                flash.memory_mut().payloads.release(page, 1);
            }
        }
        let job = self.jobs.at_mut(number);
        job.have.newest &= !pages;
        (job.want, job.have.parity) = (Shards::default(), 0);
    }

    /// The full parity in memory now covers the newest versions: old ones are needed no longer.
    pub fn update_full(&mut self, flash: &mut F, number: u32) {
        let Job { stripe, entry, pages, trims, whole, have, .. } = *self.jobs.at(number);
        let parity = self.array.cache.at(entry).parity[0];
        if whole {
            flash.memory_mut().payloads.clear(parity, self.array.full_mask);
            for index in members(self.array.layout.all() & !pages) {
                let newest = self.jobs.cell(number, Cell::Newest(index));
                self.array.add(flash, 0, index, newest, parity);
            }
        } else {
            if have.parity & 1 == 1 && !self.array.cache.at(entry).full {
                let old = self.jobs.cell(number, Cell::Parity(0));
                self.array.add(flash, 0, 0, old, parity);
            }
            for index in members(pages) {
                let newest = self.jobs.cell(number, Cell::Newest(index));
                self.array.add(flash, 0, index, newest, parity);
            }
        }
        for index in members(pages & !trims) {
            let new = self.jobs.part(number, index).whole;
            self.array.add(flash, 0, index, new, parity);
        }
        self.array.cache.at_mut(entry).full = true;
        self.array.remember(flash, entry);
        self.array.drop_old_of(flash, stripe, pages);
    }
}

impl<F: Flash> Array<F> {
    /// Counts which case of an update each page is. A full stripe is none: its parity is written with it.
    pub fn count_write(&mut self, job: &Job, newer: u64) {
        if job.pages == self.layout.all() {
            self.counters.full_stripes += 1;
            return;
        }
        for index in members(job.pages) {
            let case = if newer == 0 { 0 } else { 1 + usize::from(newer >> index & 1 == 1) };
            self.counters.cases[case] += 1;
        }
    }
}
