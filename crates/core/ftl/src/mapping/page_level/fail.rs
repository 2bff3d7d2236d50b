//! Programs that fail: the data is placed again, the block is emptied and given up.
//!
//! A copy that fails is never without a home: its source is still on flash and pinned, so the map
//! goes back to it and collection tries again. Only user data and tombstones need another page. Until
//! they have one they hold up nobody but erases, flushes and their own operation: flash answers reads
//! from the controller, and every lane collects for them as far as it can without them.

use super::PageMap;
use super::access::MapAccess;
use super::entry::Occupant;
use super::old_versions::OldVersions;
use super::place::NoRoom;
use nand::{Flash, Program, ProgramFailure};
use std::collections::VecDeque;
use units::{BlockId, Cause, Geometry, Ppn};

/// Programs that failed and found no room yet.
pub(crate) struct Homeless {
    geometry: Geometry,
    failures: VecDeque<ProgramFailure>,
}

impl Homeless {
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, failures: VecDeque::new() }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    pub fn len(&self) -> usize {
        self.failures.len()
    }

    /// One more has no room.
    pub fn add(&mut self, failure: ProgramFailure) {
        self.failures.push_back(failure);
    }

    /// The one that waits longest.
    pub fn take(&mut self) -> Option<ProgramFailure> {
        self.failures.pop_front()
    }

    pub fn take_all(&mut self) -> VecDeque<ProgramFailure> {
        std::mem::take(&mut self.failures)
    }

    /// Whether one supersedes a page of this block, whose erase must wait for it.
    pub fn pins(&self, block: BlockId) -> bool {
        let supersedes = |failure: &ProgramFailure| failure.supersedes.map(|page| self.geometry.block_of(page));
        self.failures.iter().any(|failure| supersedes(failure) == Some(block))
    }
}

impl<A: MapAccess> PageMap<A> {
    pub(super) fn program_failed<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let block = self.geometry.block_of(failure.page);
        if self.space.lanes[self.space.lanes.of_block(block)].is_dead() {
            self.lose_program(flash, failure);
            return;
        }
        self.space.give_up(&mut self.pages, block);
        self.space.withhold(flash.state(), self.pages.logical_pages());
        // Data that completes a block has that cause as well; a page that fills up a program holds nothing.
        if failure.cause == Cause::Padding && matches!(failure.what, Program::Record(_)) {
            flash.abandon(failure.id, failure.page);
            self.space.lanes.settle(block);
        } else if failure.what == Program::Copy {
            self.return_copy(flash, failure);
            self.space.lanes.settle(block);
        } else if self.house(flash, failure) {
            self.space.lanes.settle(block);
        } else {
            self.homeless.add(*failure);
        }
        self.collect(flash, self.space.lanes.of_block(block));
        self.collect_for_homeless(flash);
        // A flush may wait for it that filled up programs long ago.
        self.fill_up(flash);
    }

    /// The page a failed copy was made from stands for it again.
    fn return_copy<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let source = failure.supersedes.expect("a copy has a source");
        let held = self.trims.is_held(failure.page);
        let newest =
            self.pages.back(failure.page).logical().filter(|logical| self.pages.find(*logical) == Some(failure.page));
        if let Some(logical) = newest {
            self.pages.relocate(logical, failure.page, source);
            let lane = self.space.lanes.of(source);
            self.access.entry_changed(&mut self.space, lane, logical, source);
            self.go_back_to(flash, source);
        } else if self.versions.return_copy(&mut self.pages, failure.page, source) {
            self.go_back_to(flash, source);
        } else if held {
            self.trims.move_hold(flash, failure.page, source);
            self.go_back_to(flash, source);
        } else {
            flash.retarget(failure.page, source);
        }
        self.groups.move_hold(flash, failure.page, source);
        flash.abandon(failure.id, source);
    }

    /// A page of a block that was being emptied is needed again. The copy that failed still pins the
    /// block, so its erase has not begun.
    fn go_back_to<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let block = self.geometry.block_of(page);
        if flash.take_back_erase(block) {
            self.space.lanes.erase_ends(block);
            if let Some(slc) = &mut self.slc {
                slc.note_erase_taken_back(flash.state(), self.space.lanes.of_block(block), block);
            }
            self.space.lanes.put_back(&mut self.pages, flash.state(), block);
        } else {
            let lane = self.space.lanes.of_block(block);
            self.space.lanes.cursor(lane).add(block, page);
        }
    }

    /// Programs that found no room when they failed try again.
    #[cold]
    pub(super) fn house_homeless<F: Flash>(&mut self, flash: &mut F) {
        for _ in 0..self.homeless.len() {
            let Some(failure) = self.homeless.take() else { break };
            if self.house(flash, &failure) {
                self.space.lanes.settle(self.geometry.block_of(failure.page));
            } else {
                self.homeless.add(failure);
            }
        }
        // A flush may wait for them that filled up programs long ago.
        self.fill_up(flash);
    }

    /// Programs without a home try again, and every lane makes what room it can for those left; when
    /// none is left, blocks that failed are emptied.
    #[inline]
    pub(super) fn collect_for_homeless<F: Flash>(&mut self, flash: &mut F) {
        if self.homeless.is_empty() {
            return;
        }
        self.house_homeless(flash);
        for lane in 0..self.space.lanes.len() {
            self.collect(flash, lane);
        }
        self.house_homeless(flash);
        if !self.homeless.is_empty() && self.trims.holds_for_copies() {
            self.starve(flash, NoRoom::Full);
        }
    }

    /// A trim or a group that is not on flash yet may bring this page back.
    fn is_held(&self, page: Ppn) -> bool {
        self.trims.is_held(page) || self.groups.is_held(page)
    }

    /// Finds a new page for a failed program. `false`: there is no room in any lane.
    /// 1. A version that something newer on flash stands for is given up.
    /// 2. Otherwise a page is looked for, from its own lane on: first among those to spare, then among those kept for
    ///    collection. A page with a home stays in its lane.
    /// 3. A tombstone moves, with all writes that supersede it.
    /// 4. The newest version of a page moves, and the map with it.
    /// 5. An older version moves, and what supersedes it supersedes the new place.
    /// 6. The program is issued again.
    fn house<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) -> bool {
        let back = self.pages.back(failure.page);
        let newest = back.logical().is_none_or(|logical| self.pages.find(logical) == Some(failure.page));
        // An older version is still needed while what replaced it (a newer program, or a trim) is
        // not on flash yet; after that it is not.
        let needed = newest || flash.failure(failure.id).is_superseded || self.is_held(failure.page);
        if let Some(logical) = back.logical().filter(|_| !needed) {
            let readers_to = self.trims.page_that_stands_for(&self.pages, logical);
            flash.abandon(failure.id, readers_to);
            self.groups.give_up(flash, failure.page);
            return true;
        }
        let start = self.space.lanes.of(failure.page);
        let count = self.space.lanes.len();
        let lanes = (0..self.space.lanes_open_to(back)).map(|step| (start + step) % count);
        // What is kept for collection is taken last.
        let spared = lanes.clone().find_map(|lane| self.space.page_to_spare(&mut self.pages, lane, back));
        let rescued = || lanes.clone().find_map(|lane| self.space.rescue_page(&mut self.pages, lane, back));
        let Some(target) = spared.or_else(rescued) else { return false };
        match back.occupant() {
            Occupant::Tombstone(slot) => {
                self.trims.move_tombstone(&mut self.pages, slot, target);
                // Several writes may supersede one tombstone: all of them must keep its new block.
                while flash.retarget(failure.page, target) {}
            }
            Occupant::Version(logical) if newest => {
                self.pages.relocate(logical, failure.page, target);
                let lane = self.space.lanes.of(target);
                self.access.entry_changed(&mut self.space, lane, logical, target);
            }
            Occupant::Version(_) => {
                flash.retarget(failure.page, target);
                self.trims.move_hold(flash, failure.page, target);
                self.pages.label(target, back);
            }
        }
        self.groups.move_hold(flash, failure.page, target);
        let group = self.groups.move_part(failure.page, target);
        let outcome = flash.place_again(failure.id, target);
        if let Some(group) = group {
            self.await_part(flash, group, target);
        }
        if let Occupant::Tombstone(slot) = back.occupant() {
            self.trims.issued(flash, outcome, slot);
        }
        true
    }
}
