//! Trims and flushes of the host, and the work of a trim that finds no room.

use super::PageMap;
use super::access::{MapAccess, Use};
use super::old_versions::OldVersions;
use super::place::{NoRoom, WhenFull};
use crate::mapping::common::answer;
use layer::{Answer, PageOp};
use nand::{Awaits, Cancel, Flash};
use units::{BlockId, Lpn};

impl<A: MapAccess> PageMap<A> {
    pub(super) fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let full = self.geometry.full_mask();
        let sequence = self.pages.next_sequence();
        let join = flash.open(op.owner, op.token, Cancel::Never);
        for index in 0..op.pages {
            let logical = op.at(index);
            // A trim is advice: a page trimmed in part keeps its contents.
            if op.mask_at(index, full) != full || self.pages.find(logical).is_none() {
                continue;
            }
            if let Err(why) = self.make_trim_room(flash, logical)
                && !(self.starve(flash, why) && self.make_trim_room(flash, logical).is_ok())
            {
                return answer(flash, join, Awaits::Commands).full(index);
            }
            self.access.translate(flash, &mut self.pages, &mut self.space, &Use { op, index, join, room: true });
            // Read only now: making room may have moved the page.
            let entry = self.pages.entry(logical);
            let old = entry.on_flash().expect("it was there before room was made");
            if !self.versions.trim(logical, entry, op.kept) {
                self.pages.drop(old);
            }
            self.trims.add(flash, &mut self.pages, logical, old, sequence);
            self.trims.trimmed_pages += 1;
        }
        answer(flash, join, Awaits::Commands)
    }

    /// Sees to it that a trim can be noted and its map entry changed.
    #[inline]
    fn make_trim_room<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Result<(), NoRoom> {
        if self.trims.log_is_full() {
            self.log_trims(flash, WhenFull::ShedTombstones)?;
        }
        A::make_entry_room(self, flash, logical).then_some(()).ok_or(NoRoom::Full)
    }

    pub(super) fn submit_flush<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let logged = if self.trims.is_empty() { Ok(()) } else { self.log_trims(flash, WhenFull::ShedTombstones) };
        if let Err(why) = logged
            && !(self.starve(flash, why) && self.log_trims(flash, WhenFull::ShedTombstones).is_ok())
        {
            return answer(flash, join, Awaits::Commands).full(0);
        }
        if self.waits_for_copies(flash) {
            return answer(flash, join, Awaits::Commands).full(0);
        }
        self.fill_up(flash);
        answer(flash, join, Awaits::AllPrograms)
    }

    /// Programs the trims gathered so far as tombstones, wherever the host may write.
    ///
    /// # Errors
    /// The reason for missing room; the remaining ones stay in the log.
    pub(super) fn log_trims<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> Result<(), NoRoom> {
        self.trims.compact(flash, &self.pages);
        while self.trims.has_log() {
            let mut page = self.page_for_record(flash, when_full);
            // Where stripes wait for their trims, and collection for those stripes.
            if page.is_err() && self.trims.tombstones().have_copies() {
                page = self.space.record_page_beyond_collection(&mut self.pages).ok_or(NoRoom::Full);
            }
            let page = page?;
            self.trims.program(flash, &mut self.pages, &mut self.space, page);
        }
        Ok(())
    }

    /// A lane is full, partly of tombstones: other lanes have room for these, as each trim made some.
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
        let _ = self.log_trims(flash, WhenFull::GiveUp);
    }

    /// A tombstone was lost with its die: its live trims go back to the log, which is written as soon as there is room.
    pub(super) fn log_again<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let Some(lost) = self.trims.lose(flash, slot) else { return };
        for range in &lost.ranges {
            for logical in range.pages() {
                if !lost.trims(&self.pages, logical) {
                    continue;
                }
                if self.trims.log_is_full() {
                    let _ = self.log_trims(flash, WhenFull::ShedTombstones);
                }
                self.trims.return_to_log(flash, &mut self.pages, &lost, logical, range.sequence);
            }
        }
        let _ = self.log_trims(flash, WhenFull::ShedTombstones);
    }
}
