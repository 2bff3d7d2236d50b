//! Bringing the parity on flash up to date.
//!
//! ```text
//! by change   parity in memory + parity on flash + old versions of the newer pages    k + 1 reads
//! by rest     parity in memory + newest versions of all other pages                   N - k reads
//! full        the full parity in memory                                               none
//! whole       newest versions of all pages, as far as memory does not hold them       up to N reads
//! ```
//! Order: read, program the parity, then at one moment: old versions are dropped, the entry leaves memory. A power
//! cut before that moment finds an orphan parity page and everything else as it was.

use crate::array::Array;
use crate::jobs::{Cell, Job, Kind, NONE, Phase, Reason, Shards};
use crate::load::Loaded;
use crate::scheme::Delay;
use crate::striped::Striped;
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::Answer;
use nand::Flash;
use units::{Cause, members};

impl<F: Flash> Striped<F> {
    /// A job begins that is nothing but a commit.
    pub fn start_commit(&mut self, number: u32) -> bool {
        let Job { kind, stripe, .. } = *self.work.jobs.at(number);
        let entry = self.work.array.cache.find(stripe);
        let whole = kind == Kind::Commit(Reason::Repair);
        let job = self.work.jobs.at_mut(number);
        if entry.is_none() && !whole {
            job.phase = Phase::End; // somebody else did it
            return true;
        }
        (job.entry, job.whole, job.phase) = (entry.unwrap_or(NONE), whole, Phase::Commit);
        if let Kind::Commit(reason) = kind {
            self.work.array.counters.commits[reason as usize] += 1;
        }
        self.work.plan_commit(number);
        true
    }
}

impl<F: Flash> Work<F> {
    /// Chooses the way to compute the new parity and the pages to read for it.
    pub fn plan_commit(&mut self, number: u32) {
        let Job { entry, whole, .. } = *self.jobs.at(number);
        let all = self.array.layout.all();
        let (lost, lost_rows) = self.lost_to(number);
        let rows = ((1 << self.array.layout.parity) - 1) & !self.array.lost_members(self.jobs.at(number).stripe).1;
        let mut want = Shards::default();
        if rows == 0 || entry != NONE && self.array.cache.at(entry).full && !whole {
            let job = self.jobs.at_mut(number);
            (job.want, job.sum) = (want, want);
            return;
        }
        let newer = if entry == NONE { 0 } else { self.array.cache.at(entry).newer };
        let (by_change, by_rest) = self.array.scheme.commit_reads(self.array.layout.data, newer.count_ones());
        let idle = self.array.scheme.delay == Delay::Idle;
        let may_change = newer & lost == 0 && rows & lost_rows == 0;
        let may_rest = lost & !(if idle { 0 } else { newer }) == 0;
        let mut is_whole = false;
        if whole || !may_change && !may_rest {
            want.newest = all & !self.jobs.in_memory(number);
            is_whole = true;
        } else if may_change && (by_change <= by_rest || !may_rest || self.array.modifies() && newer != all) {
            (want.parity, want.old) = (rows, newer);
            want.newest = if idle { newer } else { 0 };
        } else {
            want.newest = if idle { all & !self.jobs.in_memory(number) } else { all & !newer };
            is_whole = idle;
        }
        let job = self.jobs.at_mut(number);
        (job.want, job.sum, job.whole) = (want, want, is_whole);
    }

    /// Counts what a commit has read, and sees to it that it was no more than needed.
    pub fn count_reads(&mut self, number: u32) {
        let job = self.jobs.at_mut(number);
        let (reads, whole) = (std::mem::take(&mut job.commit_reads), job.whole); // a rebuild may commit again
        let (lost, lost_rows) = self.lost_to(number);
        if lost | lost_rows == 0 && !whole && self.array.scheme.delay != Delay::Idle {
            let layout = &self.array.layout;
            let bound = if self.array.modifies() {
                layout.data - 1 + layout.parity
            } else {
                u32::midpoint(layout.data, layout.parity) // ceil(N / 2) with one parity
            };
            assert!(reads <= bound, "a commit has read {reads} pages, never more than {bound} are needed");
        }
        self.array.counters.commit_reads += u64::from(reads);
        self.array.counters.most_commit_reads = self.array.counters.most_commit_reads.max(u64::from(reads));
    }

    /// Reads what is needed and computes the parity.
    pub fn commit(&mut self, flash: &mut F, number: u32) -> bool {
        loop {
            match self.load(flash, number) {
                Loaded::Waits => return false,
                Loaded::Ready => break,
                Loaded::Lost if self.jobs.at(number).whole => self.give_up_lost(flash, number),
                Loaded::Lost => self.plan_commit(number), // something turned out unreadable meanwhile
            }
        }
        self.count_reads(number);
        let stripe = self.jobs.at(number).stripe;
        let (_, lost_rows) = self.array.lost_members(stripe);
        for row in 0..self.array.layout.parity {
            if lost_rows >> row & 1 == 0 {
                self.compute_row(flash, number, row);
            }
        }
        let job = self.jobs.at_mut(number);
        (job.phase, job.issued, job.sequence) = (Phase::Log, 0, 0);
        true
    }

    /// A page that is lost for good reads as an error from now on; the parity takes zeros for it.
    #[cold]
    pub fn give_up_lost(&mut self, flash: &mut F, number: u32) {
        let (lost, _) = self.lost_to(number);
        let Job { stripe, want, have, .. } = *self.jobs.at(number);
        for index in members(want.newest & lost & !have.newest) {
            let page = self.array.take_page(flash);
            self.jobs.set_cell(number, Cell::Newest(index), page);
            self.jobs.at_mut(number).have.newest |= 1 << index;
            self.array.give_up(flash, stripe, index);
        }
    }

    /// Computes a row of the new parity.
    pub fn compute_row(&mut self, flash: &mut F, number: u32, row: u32) {
        let Job { entry, sum, whole, pages, trims, kind, .. } = *self.jobs.at(number);
        let fresh = self.array.take_page(flash);
        self.jobs.set_cell(number, Cell::Fresh(row), fresh);
        let full = entry != NONE && self.array.cache.at(entry).full;
        if entry != NONE && !whole && (full || self.array.scheme.gathers()) {
            flash.memory_mut().payloads.copy(
                self.array.cache.at(entry).parity[row as usize],
                fresh,
                self.array.full_mask,
            );
        }
        if sum.parity >> row & 1 == 1 {
            flash.memory_mut().payloads.add(self.jobs.cell(number, Cell::Parity(row)), fresh);
        }
        members(sum.old)
            .for_each(|index| self.array.add(flash, row, index, self.jobs.cell(number, Cell::Old(index)), fresh));
        members(sum.newest)
            .for_each(|index| self.array.add(flash, row, index, self.jobs.cell(number, Cell::Newest(index)), fresh));
        if whole && kind == Kind::Write {
            for index in members(pages & !trims) {
                let new = self.jobs.part(number, index).whole;
                self.array.add(flash, row, index, new, fresh);
            }
        }
    }

    /// Programs the rows of the new parity. `false`: no room, or they are under way.
    pub fn write_parity(&mut self, flash: &mut F, number: u32) -> bool {
        let Job { stripe, issued, sequence, kind, .. } = *self.jobs.at(number);
        let (_, lost_rows) = self.array.lost_members(stripe);
        let mut sequence = sequence;
        for row in 0..self.array.layout.parity {
            if (issued | lost_rows) >> row & 1 == 1 {
                continue;
            }
            let page = self.array.layout.parity_page(stripe, row);
            let fresh = self.jobs.cell(number, Cell::Fresh(row));
            let cause = if kind == Kind::Rebuild { Cause::Rebuild } else { Cause::Parity };
            // Rows of one parity carry one number; with two, the old ones stay until both are there.
            let kept = self.array.layout.parity > 1;
            let op =
                layer::PageOp { kept, ..self.array.page_op(page, fresh, cause, Tag::token(Asked::Fresh, number, row)) };
            let answer = match sequence {
                0 => self.array.below.submit(flash, &op),
                sequence => self.array.below.write_as(flash, &op, sequence),
            };
            if matches!(answer, Answer::Full { .. }) {
                self.stall(number, Some(page));
                return false;
            }
            if sequence == 0 {
                sequence = self.array.below.sequence();
            }
            let job = self.jobs.at_mut(number);
            job.sequence = sequence;
            job.issued |= 1 << row;
            if matches!(answer, Answer::Pending(_)) {
                job.outstanding += 1;
            }
        }
        if self.jobs.at(number).outstanding > 0 {
            return false;
        }
        self.committed(flash, number);
        true
    }

    /// The parity on flash covers the newest version of every page.
    pub fn committed(&mut self, flash: &mut F, number: u32) {
        let Job { stripe, entry, kind, whole, .. } = *self.jobs.at(number);
        let kept = if whole { self.array.layout.all() } else { self.array.with_kept(entry) };
        self.array.drop_old_of(flash, stripe, kept);
        // A parity has an old version where there are two, or where power was cut when a new one was on flash and its
        // entry still in memory.
        for row in 0..self.array.layout.parity {
            self.array.below.drop_old(flash, self.array.layout.parity_page(stripe, row));
        }
        if entry != NONE {
            self.array.drop_entry(flash, entry);
        }
        self.way.clear(stripe);
        self.array.torn.mend(&mut flash.memory_mut().nvram, stripe);
        let job = self.jobs.at_mut(number);
        job.entry = NONE;
        job.phase = if kind == Kind::Rebuild { Phase::Restore } else { Phase::End };
        if kind == Kind::Rebuild {
            // What was read belongs to the parity that was.
            job.have = Shards::default();
            self.release_cells(flash, number);
            self.plan_restore(number);
        }
    }

    /// A job needs what it holds in memory no longer.
    pub fn release_cells(&mut self, flash: &mut F, number: u32) {
        let payloads = &mut flash.memory_mut().payloads;
        self.jobs.take_cells(number).for_each(|cell| payloads.release(cell, 1));
    }
}

impl<F: Flash> Array<F> {
    /// An update of a full parity always reads what it replaces.
    pub fn modifies(&self) -> bool {
        self.settings.modifies && self.scheme.updates()
    }

    /// Data pages that may have an old version, of the stripe with this entry: the newer ones. Not so where a parity in
    /// memory stands for the one on flash, or memory knows nothing.
    fn with_kept(&self, entry: u32) -> u64 {
        let entry = (entry != NONE).then(|| self.cache.at(entry)).filter(|entry| !entry.full);
        entry.map_or(self.layout.all(), |entry| entry.newer)
    }

    /// Old versions of these data pages are needed no longer.
    pub fn drop_old_of(&mut self, flash: &mut F, stripe: u32, pages: u64) {
        for index in members(pages) {
            self.below.drop_old(flash, self.layout.data_page(stripe, index));
        }
        self.freed = true;
    }

    /// A stripe leaves memory.
    pub fn drop_entry(&mut self, flash: &mut F, entry: u32) {
        let entry = self.cache.remove(entry);
        let memory = flash.memory_mut();
        entry.places.into_iter().flatten().for_each(|place| memory.nvram.remove(place));
        entry.parity.into_iter().for_each(|page| memory.payloads.release(page, 1));
    }
}
