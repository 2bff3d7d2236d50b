//! Reads: from memory what is there, sector by sector, and the rest from below.

use crate::buffered::{Asked, Buffered, Tag};
use crate::parameters::Area;
use crate::policy::Policy;
use crate::store::{NONE, State, Store};
use layer::{Answer, Op, Outbox, PageOp};
use nand::{Flash, PayloadId};
use units::Lpn;

/// Versions of a page in memory, the newest first. Several may be on their way one behind the other.
pub(crate) fn versions(store: &Store, logical: Lpn) -> impl Iterator<Item = u32> + use<'_> {
    let away =
        std::iter::successors(store.away(logical), |slot| Some(store.slot(*slot).older).filter(|slot| *slot != NONE));
    store.find(Area::Blocks, logical).into_iter().chain(store.find(Area::Pages, logical)).chain(away)
}

impl<F: Flash, P: Policy> Buffered<F, P> {
    pub fn submit_read(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        if !self.lost.is_empty() && self.wants_lost(op) {
            return Answer::Done { failed: true };
        }
        let in_memory = |logical| !self.is_absent(logical);
        if !P::KEEPS_READS && !op.all().any(in_memory) {
            self.counters.read_misses += u64::from(op.pages);
            return self.below.submit(flash, op);
        }
        let number = self.reads.begin(op, 0, *op);
        let mut index = 0;
        while index < op.pages {
            index += self.read_from(flash, op, index, number);
        }
        let read = *self.reads.at(number);
        let answer = self.reads.answer(number);
        if matches!(answer, Answer::Done { .. }) {
            self.fill(flash, number, &read);
        }
        answer
    }

    /// Reads page `index` of an operation, and what follows as far as it is read in the same way;
    /// returns how many pages that was.
    fn read_from(&mut self, flash: &mut F, op: &PageOp, index: u32, number: u32) -> u32 {
        let full = self.store.shape.full_mask;
        let mask = op.mask_at(index, full);
        let rest = self.copy_held(flash, op, index, mask);
        if rest == 0 {
            self.counters.read_hits += 1;
            return 1;
        }
        let mut below = PageOp {
            first: op.at(index),
            pages: 1,
            first_mask: rest,
            last_mask: rest,
            payload: op.payload.offset(index),
            owner: self.owner,
            token: Tag::token(Asked::Read, number, 0),
            cancellable: false,
            ..*op
        };
        if rest == mask {
            while index + below.pages < op.pages && self.is_absent(op.at(index) + below.pages) {
                below.pages += 1;
            }
            below.last_mask = op.mask_at(index + below.pages - 1, full);
        } else {
            flash.memory_mut().payloads.set_mask(below.payload, rest);
        }
        self.counters.read_misses += u64::from(below.pages);
        if P::KEEPS_READS {
            (0..below.pages).for_each(|page| self.reserve(flash, below.first + page, number));
        }
        match self.below.submit(flash, &below) {
            Answer::Done { failed } => self.reads.at_mut(number).failed |= failed,
            Answer::Pending(_) => self.reads.more_parts(number, 1),
            Answer::Full { .. } => unreachable!("reads always find room"),
        }
        below.pages
    }

    fn is_absent(&self, logical: Lpn) -> bool {
        Area::ALL.iter().all(|area| self.store.find(*area, logical).is_none()) && self.store.away(logical).is_none()
    }

    /// Copies the sectors of `mask` that are in memory; returns the sectors that are not.
    fn copy_held(&mut self, flash: &mut F, op: &PageOp, index: u32, mask: u64) -> u64 {
        let logical = op.at(index);
        let mut rest = mask;
        for slot in versions(&self.store, logical) {
            let entry = self.store.slot(slot);
            let given = entry.mask & rest;
            if given == 0 {
                continue;
            }
            flash.memory_mut().payloads.copy(entry.payload, op.payload.offset(index), given);
            rest &= !given;
        }
        if P::KEEPS_READS {
            for area in P::AREAS {
                if let Some(slot) = self.store.find(*area, logical) {
                    self.policy.read(&self.store, *area, slot);
                }
            }
        }
        rest
    }

    /// Makes room for a page that is being read, if a clean one can go for it.
    fn reserve(&mut self, flash: &mut F, logical: Lpn, number: u32) {
        if !self.is_absent(logical) {
            return;
        }
        while self.policy.is_full_of_reads() || !self.store.has_room(Area::Pages, logical, 1) {
            // A read does not wait for a write-back; without a clean page that can go this one is not kept.
            let Some(slot) = self.policy.read_victim(&self.store) else { return };
            self.forget(flash, Area::Pages, slot);
        }
        let slot = self.store.insert(flash.memory_mut(), Area::Pages, logical);
        self.store.slot_mut(slot).state = State::Filling(number);
        self.policy.put(&self.store, Area::Pages, slot, true);
    }

    /// What was read below is there: it fills the pages that were reserved for it.
    fn fill(&mut self, flash: &mut F, number: u32, read: &Op<PageOp>) {
        if !P::KEEPS_READS {
            return;
        }
        let PageOp { first, pages, payload, .. } = read.about;
        let full = self.store.shape.full_mask;
        for page in 0..pages {
            let Some(slot) = self.store.find(Area::Pages, first + page) else { continue };
            if self.store.slot(slot).state != State::Filling(number) {
                continue;
            }
            // Only whole pages are kept: what a part of one leaves out is not known.
            let whole = payload == PayloadId::NONE || flash.state().memory.payloads.mask(payload.offset(page)) == full;
            if read.failed || !whole {
                self.forget(flash, Area::Pages, slot);
                continue;
            }
            let own = self.store.slot(slot).payload;
            flash.memory_mut().payloads.copy(payload.offset(page), own, full);
            flash.memory_mut().payloads.set_mask(own, full);
            let entry = self.store.slot_mut(slot);
            (entry.state, entry.mask) = (State::Clean, full);
        }
    }

    /// A part of a read that was under way below is done.
    pub fn read_done(&mut self, flash: &mut F, number: u32, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        if let Some(read) = self.reads.part_done(number, 1, failed, wait, outbox) {
            self.fill(flash, number, &read);
        }
    }
}
