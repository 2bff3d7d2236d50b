//! Copies of tombstones on other dies, where a die may be lost.
//!
//! Where there is no room for a copy it follows later. Until then no version that the tombstone replaces is erased:
//! should its die be lost, a power cut still finds a trim or the last version. Only where nothing else can ever make
//! room are those blocks let go.

use super::PageMap;
use super::access::MapAccess;
use super::pages::Pages;
use super::place::NoRoom;
use super::space::Space;
use super::trims::{Trims, record};
use nand::{Flash, LawBroken};
use units::DieId;

impl Trims {
    /// Writes the copies that a tombstone still lacks, as far as there is room on other dies.
    pub(super) fn complete_copies<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space, slot: u32) {
        let dies = space.lanes.living().count() as u32 / self.geometry.planes_per_die;
        let wanted = self.tombstones.extra().min(dies.saturating_sub(1));
        loop {
            let Some(tombstone) = self.tombstones.get(slot) else { return };
            if tombstone.copies.len() as u32 >= wanted || tombstone.live == 0 {
                self.tombstones.set_short(slot, false);
                self.settle(flash, slot);
                return;
            }
            let (ranges, sequence, live) = (tombstone.ranges.clone(), tombstone.sequence, tombstone.live);
            let group = self.tombstones.group(slot).into_iter();
            let taken: Vec<DieId> =
                group.map(|slot| self.geometry.die_of(self.geometry.block_of(self.tombstones.at(slot).page))).collect();
            let Some(page) = space.record_page_off(pages, &taken) else {
                self.tombstones.set_short(slot, true); // until there is
                return;
            };
            let record = record(flash, &ranges);
            let copy = self.tombstones.add(page, sequence, ranges, 1, Some(slot));
            self.tombstones.take_over(copy, live, Vec::new());
            self.issue(flash, pages, copy, record);
        }
    }

    /// Writes the copies that tombstones lack.
    #[cold]
    pub fn complete_all_copies<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space) {
        for slot in self.tombstones.short().iter().copied().collect::<Vec<_>>() {
            self.complete_copies(flash, pages, space, slot);
        }
    }

    /// Finds the tombstones that a power cut left with too few copies.
    pub fn find_short(&mut self) {
        self.tombstones.find_short();
    }

    /// The trims of a tombstone go back to the log: until they are on flash, none of its copies may be erased, as a die
    /// may be lost meanwhile.
    pub(super) fn keep_copies<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        if self.tombstones.at(slot).copies.is_empty() || flash.state().breaks(LawBroken::TrimHoldsOff) {
            return;
        }
        for slot in self.tombstones.group(slot) {
            let page = self.tombstones.at(slot).page;
            self.hold(flash, page);
            self.carried.push(page);
        }
    }

    /// A tombstone without all its copies keeps blocks from being erased.
    #[inline]
    pub fn holds_for_copies(&self) -> bool {
        let mut short = self.tombstones.short().iter();
        short.any(|slot| self.tombstones.get(*slot).is_some_and(|tombstone| !tombstone.held.is_empty()))
    }

    /// Blocks that tombstones on flash without all their copies keep from being erased are let go.
    #[cold]
    pub fn let_go<F: Flash>(&mut self, flash: &mut F) {
        let mut short = self.tombstones.short().clone();
        short.retain(|slot| self.tombstones.is_durable(*slot));
        for slot in short {
            for page in self.tombstones.take_held(slot) {
                self.release(flash, page);
            }
        }
    }

    /// Where nothing else makes room. A lost die took tombstones; their trims hold up erases until they are written
    /// again. They go into what is kept for collection, which waits for those erases, and are written together.
    /// Returns whether there may be room now.
    #[cold]
    pub fn make_way<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space) -> bool {
        let is_collecting = space.lanes.iter().any(|lane| lane.cursor.is_busy());
        if !is_collecting && !self.is_empty() {
            let living: Vec<usize> = space.lanes.living().collect();
            return living.into_iter().any(|lane| self.log_in(flash, pages, space, lane));
        }
        !space.lanes.are_reclaiming() && self.merge(flash, pages, space)
    }

    /// Writes tombstones of few pages together, with the copies of all of them as one: where dies may be lost each
    /// takes several pages, and in a block of nothing else collection gains nothing. Whether there were several.
    #[cold]
    fn merge<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space) -> bool {
        let durable = self
            .tombstones
            .iter()
            .filter(|(slot, tombstone)| tombstone.first == *slot && tombstone.live > 0 && tombstone.waiting == 0);
        let mut few: Vec<(usize, u32)> = durable.map(|(slot, tombstone)| (tombstone.ranges.len(), slot)).collect();
        few.sort_unstable();
        let mut ranges = self.ranges.len();
        few.retain(|(count, _)| {
            ranges += count;
            ranges <= self.capacity
        });
        let lane = space.lanes.living().next();
        let Some(lane) = lane.filter(|_| few.len() > 1) else { return false };
        for (_, slot) in few {
            self.relocate(flash, pages, space, lane, slot);
        }
        self.log_in(flash, pages, space, lane);
        true
    }
}

impl<A: MapAccess> PageMap<A> {
    /// Copies or erases are under way, and not all of them wait for a tombstone's copies: their end will be heard.
    pub(super) fn is_making_room<F: Flash>(&self, flash: &F) -> bool {
        let lanes = &self.space.lanes;
        lanes.are_reclaiming() && !(self.trims.holds_for_copies() && lanes.all_wait_for_pins(flash.state()))
    }

    /// Tombstones take less room, where several have copies. `false`: they already take as little as they can.
    pub(super) fn tombstones_make_way<F: Flash>(&mut self, flash: &mut F) -> bool {
        self.trims.tombstones().have_copies() && self.trims.make_way(flash, &mut self.pages, &mut self.space)
    }

    /// Some tombstone has too few copies, and work under way may make room for them.
    #[inline]
    pub(super) fn waits_for_copies<F: Flash>(&mut self, flash: &mut F) -> bool {
        if self.trims.tombstones().short().is_empty() {
            return false;
        }
        self.trims.complete_all_copies(flash, &mut self.pages, &mut self.space);
        if self.trims.tombstones().short().is_empty() {
            return false;
        }
        self.starve(flash, NoRoom::Full);
        self.awaiting_programs || self.is_making_room(flash)
    }
}
