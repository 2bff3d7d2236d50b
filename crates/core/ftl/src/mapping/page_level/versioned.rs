//! The services of a mapping to the stripe layer above it: old versions, and lost dies.

use super::PageMap;
use super::access::{MapAccess, Sharing};
use super::entry::{Back, Entry, Occupant};
use super::old_versions::KeptVersions;
use layer::{Answer, Old, PageOp, Versioned};
use nand::{Flash, ProgramFailure};
use units::{DieId, Lpn};

impl<A: MapAccess> PageMap<A> {
    /// A program for a lost die will never be done.
    pub(super) fn lose_program<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let back = self.pages.back(failure.page);
        if let Occupant::Tombstone(slot) = back.occupant()
            && back != Back::NOTHING
        {
            self.log_again(flash, slot);
        }
        flash.abandon(failure.id, failure.page);
        self.groups.give_up(flash, failure.page);
    }
}

impl<F: Flash, A: MapAccess<Versions = KeptVersions>> Versioned<F> for PageMap<A> {
    fn drop_old(&mut self, flash: &mut F, logical: Lpn) {
        let Some(page) = self.versions.drop(logical) else { return };
        self.pages.drop(page);
        let block = self.geometry.block_of(page);
        let lane = self.space.lanes.of_block(block);
        if self.space.lanes[lane].cursor.victim() == Some(block) {
            self.collect(flash, lane);
        }
    }

    fn old(&self, logical: Lpn) -> Old {
        self.versions.version(logical)
    }

    fn is_written(&self, logical: Lpn) -> bool {
        self.pages.find(logical).is_some()
    }

    fn sequence(&self) -> u64 {
        self.pages.sequence()
    }

    fn sequence_of(&self, logical: Lpn) -> u64 {
        self.versions.sequence_of(logical)
    }

    fn write_as(&mut self, flash: &mut F, op: &PageOp, sequence: u64) -> Answer {
        self.submit_write(flash, op, Some(sequence))
    }

    fn still_refuses(&self, flash: &F, logical: Lpn) -> bool {
        // Without these, a refused write takes trims from memory, fills up programs, or ends an idle time.
        let is_quiet = self.trims.is_empty()
            && self.trims.tombstones().short().is_empty()
            && !flash.state().is_forgetful()
            && !self.collector.idle;
        let lanes = &self.space.lanes;
        is_quiet && self.starved && A::SHARING == Sharing::Data && lanes.is_making_room(lanes.home(logical))
    }

    fn take_wanted(&mut self, wanted: &mut Vec<Lpn>) {
        self.versions.take_wanted(wanted);
    }

    fn move_old(&mut self, flash: &mut F, logical: Lpn) {
        let Some(page) = self.versions.move_soon(logical) else { return };
        let block = self.geometry.block_of(page);
        let lane = self.space.lanes.of_block(block);
        if self.space.lanes.cursor(lane).add(block, page) {
            self.collect(flash, lane);
        }
    }

    fn lose_die(&mut self, flash: &mut F, die: DieId) {
        for lane in self.space.lanes.of_die(die) {
            self.space.lanes.lose(lane);
        }
        self.space.withhold(flash.state(), self.pages.logical_pages());
        for failure in self.homeless.take_all() {
            if self.space.lanes[self.space.lanes.of(failure.page)].is_dead() {
                self.lose_program(flash, &failure);
            } else {
                self.homeless.add(failure);
            }
        }
        let geometry = self.geometry;
        for slot in self.trims.tombstones().slots_where(|block| geometry.die_of(block) == die) {
            self.log_again(flash, slot);
        }
    }

    fn replace_die(&mut self, flash: &mut F, lost: DieId, spare: DieId) {
        let (from, to) = (self.space.lanes.of_die(lost), self.space.lanes.of_die(spare));
        self.space.lanes.replace(&from, &to);
        for logical in self.pages.all() {
            if let Some(page) = self.pages.find(logical).filter(|page| from.contains(&self.space.lanes.of(*page))) {
                self.pages.unmap(logical, Entry::NOWHERE);
                self.pages.drop(page);
            }
            let old = self.versions.page(logical).filter(|page| from.contains(&self.space.lanes.of(*page)));
            if let Some(page) = old.and_then(|_| self.versions.lose(logical)) {
                self.pages.drop(page);
            }
        }
        self.space.withhold(flash.state(), self.pages.logical_pages());
    }

    fn resume(&mut self, flash: &mut F) {
        self.trims.find_short();
        self.trims.complete_all_copies(flash, &mut self.pages, &mut self.space);
    }

    fn forget_old(&mut self, logical: Lpn) {
        if let Some(page) = self.versions.forget(logical) {
            self.pages.drop(page);
        }
    }
}
