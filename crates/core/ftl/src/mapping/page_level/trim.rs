//! Trims and flushes of the host, and what a trim that finds no room makes necessary.

use super::PageMap;
use super::place::WhenFull;
use super::scheme::Scheme;
use super::translation::Use;
use crate::mapping::common::answer;
use layer::{Answer, PageOp};
use nand::{Cancel, Flash, Outcome};
use units::{BlockId, Lpn};

impl<S: Scheme> PageMap<S> {
    pub(super) fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let full = self.geometry.full_mask();
        let sequence = self.pages.next_sequence();
        // Only looking entries up takes commands.
        let join = S::DEMAND.then(|| flash.open(op.owner, op.token, Cancel::Never));
        for index in 0..op.pages {
            let logical = op.at(index);
            // A trim is advice: a page trimmed in part keeps its contents.
            if op.mask_at(index, full) != full || self.pages.find(logical).is_none() {
                continue;
            }
            if !self.admits_trim(flash, logical) {
                self.starve(flash);
                let pending = join.is_some_and(|join| flash.close(join).0 != Outcome::Done);
                return Answer::Full { taken: index, pending };
            }
            if let Some(join) = join {
                self.translation.translate(
                    flash,
                    &mut self.pages,
                    &mut self.space,
                    &Use { op, index, join, room: true },
                );
            }
            // Read only now: making room may have moved the page.
            let entry = self.pages.entry(logical);
            let old = entry.on_flash().expect("it was there before room was made");
            if !(op.kept && self.kept.keep(logical, entry)) {
                self.pages.drop(old);
            }
            self.trims.add(flash, &mut self.pages, logical, old, sequence);
            self.trims.trimmed_pages += 1;
        }
        join.map_or(Answer::Done { failed: false }, |join| answer(flash, join))
    }

    /// Sees to it that a trim can be noted and its map entry changed. `false`: no room now.
    #[inline]
    fn admits_trim<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> bool {
        let noted = !self.trims.log_is_full() || self.log_trims(flash, WhenFull::ShedTombstones);
        noted && self.admits_access(flash, logical)
    }

    pub(super) fn submit_flush<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        if !self.trims.is_empty() && !self.log_trims(flash, WhenFull::ShedTombstones) {
            self.starve(flash);
            let (outcome, _) = flash.close(join);
            return Answer::Full { taken: 0, pending: outcome != Outcome::Done };
        }
        if self.waits_for_copies(flash) {
            let (outcome, _) = flash.close(join);
            return Answer::Full { taken: 0, pending: outcome != Outcome::Done };
        }
        self.fill_up(flash);
        flash.barrier(join);
        answer(flash, join)
    }

    /// Programs the trims gathered so far as tombstones, wherever the host may write. `false`: no room now.
    pub(super) fn log_trims<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> bool {
        self.trims.compact(flash, &self.pages);
        while self.trims.has_log() {
            let mut page = self.record_page(flash, when_full);
            // Where stripes wait for their trims, and collection for those stripes.
            if page.is_none() && self.trims.tombstones().have_copies() {
                page = self.space.record_page_beyond_collection(&mut self.pages);
            }
            let Some(page) = page else { return false };
            self.trims.program(flash, &mut self.pages, &mut self.space, page);
        }
        true
    }

    /// A lane is full, and some of what fills it are tombstones: other lanes have room for those, as each trim made
    /// some.
    #[cold]
    pub(super) fn shed_tombstones<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let here = |block: BlockId| self.space.lanes.of_block(block) == lane;
        for slot in self.trims.tombstones().slots_where(here) {
            if self.trims.tombstones().is_durable(slot)
                && !self.trims.relocate(flash, &mut self.pages, &mut self.space, lane, slot)
            {
                break;
            }
        }
        // The lane they go to may be full of them as well.
        self.log_trims(flash, WhenFull::GiveUp);
    }

    /// A tombstone was lost with its die: what it still trims goes back to the log, which is written as soon as
    /// there is room.
    pub(super) fn log_again<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let Some(lost) = self.trims.lose(flash, slot) else { return };
        for range in &lost.ranges {
            for logical in range.pages() {
                if !lost.trims(&self.pages, logical) {
                    continue;
                }
                if self.trims.log_is_full() {
                    self.log_trims(flash, WhenFull::ShedTombstones);
                }
                self.trims.return_to_log(flash, &mut self.pages, &lost, logical, range.sequence);
            }
        }
        self.log_trims(flash, WhenFull::ShedTombstones);
    }
}
