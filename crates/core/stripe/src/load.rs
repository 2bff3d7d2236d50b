//! Reading what a job needs of a stripe, and computing what cannot be read.
//!
//! Two equations hold at every moment, row by row:
//!
//! ```text
//! parity on flash   = sum of what it covers: the old version of a page that is newer, the newest of all others
//! parity in memory  = sum of the newest versions of the newer pages         (where the scheme has one)
//! full parity in memory = sum of what it covers                            (stands for the first equation)
//! ```
//! A lost page that is newer follows from the second, any other one from the first.

use crate::array::Array;
use crate::jobs::{Cell, Job, Shards};
use crate::scheme::Delay;
use crate::work::Work;
use layer::Old;
use nand::{Flash, PayloadId};
use units::{Cause, Lpn, members};

/// How far reading got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// Reads are under way.
    Waits,
    /// Everything wanted is there.
    Ready,
    /// Something wanted can neither be read nor computed.
    Lost,
}

impl<F: Flash> Work<F> {
    /// Lost data pages and rows of the stripe, with the pages that the job itself could not read.
    pub fn lost_to(&self, number: u32) -> (u64, u64) {
        let job = self.jobs.at(number);
        let (pages, rows) = self.array.lost_members(job.stripe);
        (pages | job.lost.0, rows | job.lost.1)
    }

    /// Reads what the job wants and has not; lost pages are computed from other pages.
    pub fn load(&mut self, flash: &mut F, number: u32) -> Loaded {
        loop {
            let job = *self.jobs.at(number);
            if job.outstanding > 0 {
                return Loaded::Waits;
            }
            let lost = self.lost_to(number);
            if job.want.old & lost.0 & !job.have.old != 0 || job.want.parity & lost.1 & !job.have.parity != 0 {
                return Loaded::Lost;
            }
            let missing = job.want.newest & lost.0 & !job.have.newest;
            let mut want = job.want;
            if missing != 0 && !self.want_substitutes(number, missing, lost, &mut want) {
                return Loaded::Lost;
            }
            let (newest, old) = (want.newest & !job.have.newest & !lost.0, want.old & !job.have.old);
            let parity = want.parity & !job.have.parity;
            if newest | old | parity == 0 {
                if missing != 0 {
                    self.compute(flash, number, missing, lost);
                }
                return Loaded::Ready;
            }
            for index in members(newest) {
                let cause = self.array.cause_of(&job, index, missing != 0);
                self.read(flash, number, Cell::Newest(index), cause);
            }
            let cause = if missing == 0 { Cause::Parity } else { Cause::Rebuild };
            members(old).for_each(|index| self.read(flash, number, Cell::Old(index), cause));
            members(parity).for_each(|row| self.read(flash, number, Cell::Parity(row), cause));
        }
    }

    /// Adds to `want` the pages from which the missing ones follow. `false`: there are too few.
    pub fn want_substitutes(&self, number: u32, missing: u64, lost: (u64, u64), want: &mut Shards) -> bool {
        let (by_memory, by_flash) = self.split_missing(number, missing);
        let Job { stripe, .. } = *self.jobs.at(number);
        let rows = (1_u64 << self.array.layout.parity) - 1;
        if by_flash != 0 {
            let live = self.array.layout.all() & !lost.0;
            let old = self.array.with_old(stripe, live);
            let unknown = lost.0.count_ones();
            let full = self.array.full_entry(stripe).is_some();
            let mut take = 0;
            for row in members(rows & !lost.1) {
                if u64::count_ones(take) < unknown {
                    take |= 1 << row;
                }
            }
            if u64::count_ones(if full { rows } else { take }) < unknown {
                return false;
            }
            want.old |= old;
            want.newest |= live & !old;
            want.parity |= if full { 0 } else { take };
        }
        if by_memory != 0 {
            let newer = self.array.newer_of(stripe);
            if !self.array.scheme.gathers() || u64::count_ones(newer & lost.0) > self.array.layout.parity {
                return false;
            }
            want.newest |= newer & !lost.0;
        }
        true
    }

    /// Missing pages that follow from the parity in memory, and missing pages that follow from the parity on flash.
    pub fn split_missing(&self, number: u32, missing: u64) -> (u64, u64) {
        if self.array.scheme.delay == Delay::Full || self.array.full_entry(self.jobs.at(number).stripe).is_some() {
            return (0, missing);
        }
        let newer = self.array.newer_of(self.jobs.at(number).stripe);
        (missing & newer, missing & !newer)
    }

    /// Computes missing pages from what was read.
    pub fn compute(&mut self, flash: &mut F, number: u32, missing: u64, lost: (u64, u64)) {
        let (by_memory, by_flash) = self.split_missing(number, missing);
        let stripe = self.jobs.at(number).stripe;
        for index in members(missing) {
            let page = self.array.take_page(flash);
            self.jobs.set_cell(number, Cell::Newest(index), page);
        }
        self.jobs.at_mut(number).have.newest |= missing;
        self.array.counters.degraded_reads += u64::from(missing.count_ones());
        if by_flash != 0 {
            let old = self.array.with_old(stripe, self.array.layout.all() & !lost.0);
            let data = |index: u32| {
                let cell = if old >> index & 1 == 1 { Cell::Old(index) } else { Cell::Newest(index) };
                (lost.0 >> index & 1 == 0).then(|| self.jobs.cell(number, cell))
            };
            let shards: Vec<_> = (0..self.array.layout.data).map(data).collect();
            let full = self.array.full_entry(stripe);
            let row = |row: u32| match full {
                Some(entry) => Some(self.array.cache.at(entry).parity[row as usize]),
                None => (self.jobs.at(number).have.parity >> row & 1 == 1)
                    .then(|| self.jobs.cell(number, Cell::Parity(row))),
            };
            let rows: Vec<_> = (0..self.array.layout.parity).map(row).collect();
            self.solve(flash, number, by_flash, &[shards, rows].concat(), 0);
        }
        if by_memory != 0 {
            let newer = self.array.newer_of(stripe);
            let data = |index: u32| (lost.0 & newer) >> index & 1 == 0;
            let shards: Vec<_> = (0..self.array.layout.data)
                .map(|index| data(index).then(|| self.jobs.cell(number, Cell::Newest(index))))
                .collect();
            let entry = self.array.cache.find(stripe).expect("a newer page has an entry");
            let rows: Vec<_> = (0..self.array.layout.parity)
                .map(|row| Some(self.array.cache.at(entry).parity[row as usize]))
                .collect();
            self.solve(flash, number, by_memory, &[shards, rows].concat(), self.array.layout.all() & !newer);
        }
    }

    /// Solves one equation for some pages; `zeros`: data pages that are no part of it.
    pub fn solve(&mut self, flash: &mut F, number: u32, wanted: u64, shards: &[Option<PayloadId>], zeros: u64) {
        let first = self.jobs.cell(number, Cell::Newest(wanted.trailing_zeros()));
        if first == PayloadId::NONE {
            return;
        }
        let payloads = &mut flash.memory_mut().payloads;
        let bytes = payloads.cells(first).len();
        let shard = |(index, payload): (u32, &Option<PayloadId>)| {
            if zeros >> index & 1 == 1 && index < self.array.layout.data {
                return Some(vec![0; bytes]);
            }
            payload.map(|payload| payloads.cells(payload).to_vec())
        };
        let mut shards: Vec<Option<Vec<u8>>> = (0..).zip(shards).map(shard).collect();
        assert!(self.array.code.solve(&mut shards), "enough pages were read to compute the missing ones");
        for index in members(wanted) {
            let into = self.jobs.cell(number, Cell::Newest(index));
            let found = shards[index as usize].as_deref().expect("solved for");
            payloads.cells_mut(into).copy_from_slice(found);
        }
    }
}

impl<F: Flash> Array<F> {
    /// Data pages and rows of a stripe whose chip is lost.
    #[inline]
    pub fn lost_members(&self, stripe: u32) -> (u64, u64) {
        if self.chips.all_there() { (0, 0) } else { self.chips.lost_members(&self.layout, stripe) }
    }

    /// Of data pages, the ones whose old version the parity covers.
    pub fn with_old(&self, stripe: u32, pages: u64) -> u64 {
        let has_old = |index: &u32| self.below.old(self.layout.data_page(stripe, *index)) != Old::None;
        members(pages).filter(has_old).map(|index| 1 << index).sum()
    }

    /// Whether flash holds a page of the mapping, or its kept version: pages that it does not hold are zeros, without a
    /// read.
    pub fn is_on_flash(&self, page: Lpn, kept: bool) -> bool {
        match self.below.old(page) {
            Old::Page if kept => true,
            Old::Zero if kept => false,
            _ => self.below.is_written(page),
        }
    }

    /// Why the newest version of a page is read.
    pub fn cause_of(&self, job: &Job, index: u32, computes: bool) -> Cause {
        use crate::jobs::{Kind, Phase};
        let of_parity = if job.whole { 0 } else { job.newer_before };
        let only_merged =
            job.phase == Phase::Before && job.pages & !of_parity >> index & 1 == 1 && self.scheme.delay != Delay::Full;
        match job.kind {
            _ if computes => Cause::Rebuild,
            Kind::Read => Cause::Host,
            Kind::Rebuild => Cause::Rebuild,
            Kind::Write if only_merged && self.scheme.delay != Delay::AtOnce => Cause::Padding,
            Kind::Write | Kind::Commit(_) => Cause::Parity,
        }
    }

    /// Pages of a stripe newer than its parity, as far as memory knows.
    pub fn newer_of(&self, stripe: u32) -> u64 {
        self.cache.find(stripe).map_or(0, |entry| self.cache.at(entry).newer)
    }

    /// The entry of a stripe whose full parity is in memory.
    pub fn full_entry(&self, stripe: u32) -> Option<u32> {
        self.cache.find(stripe).filter(|entry| self.cache.at(*entry).full)
    }

    /// Adds a page to a row of a parity, where contents are on.
    #[inline]
    pub fn add(&self, flash: &mut F, row: u32, index: u32, from: PayloadId, into: PayloadId) {
        flash.memory_mut().payloads.combine(from, into, |from, into| self.code.add(row, index, from, into));
    }
}
