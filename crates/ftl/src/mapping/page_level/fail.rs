//! Programs that fail: the data is placed again, the block is emptied and given up.
//!
//! A copy that fails is never without a home: what it copied is still on flash and pinned, so the map
//! goes back to it and collection tries again. Only user data and tombstones need another page. Until
//! they have one they hold up nobody but erases, flushes and their own operation: flash answers reads
//! from the controller, and every plane collects for them what it can without them.

use super::PageMap;
use super::entry::{Back, Held};
use super::parameters::{kept, least_reserve};
use super::scheme::Scheme;
use super::state::{Failing, Frontier};
use crate::alloc::Placement;
use nand::{Flash, FlashCore, Program, ProgramFailure};
use units::{BlockId, Ppn};

impl<S: Scheme> PageMap<S> {
    pub(super) fn program_failed<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let block = self.geometry.block_of(failure.page);
        if self.lanes[self.lane_of_block(block)].dead {
            self.lose_program(flash, failure);
            return;
        }
        self.give_up(block);
        self.keep_reserve(flash.core());
        if failure.what == Program::Copy {
            self.return_copy(flash, failure);
            self.settle(failure);
        } else if self.house(flash, failure) {
            self.settle(failure);
        } else {
            self.homeless.push_back(*failure);
        }
        self.collect(flash, self.lane_of_block(block));
        self.collect_for_homeless(flash);
    }

    /// Where blocks may fail, the one kept for collection may as well: as long as there are blocks to
    /// spare each plane keeps a second.
    pub(super) fn keep_reserve(&mut self, core: &FlashCore) {
        self.kept = kept::<S>() as usize;
        if !core.may_fail() {
            return;
        }
        let reserve = least_reserve::<S>(self.settings.frontiers);
        let rooms = self.order.iter().map(|lane| &self.lanes[*lane as usize]).filter(|lane| !lane.dead).map(|lane| {
            let blocks = (lane.first.0..lane.first.0 + lane.count).map(|block| core.block(BlockId(block)));
            let usable = blocks.filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
            usable.saturating_sub(reserve + 1) * self.geometry.pages_per_block
        });
        let pages = self.pages.logical_pages();
        let spare = match self.settings.placement {
            Placement::Static => rooms.min() >= Some(pages.div_ceil(self.order.len() as u32)),
            Placement::Dynamic => rooms.sum::<u32>() >= pages,
        };
        self.kept += usize::from(spare);
    }

    /// Stops programming into a block and lists it to be emptied.
    fn give_up(&mut self, block: BlockId) {
        let lane = self.lane_of_block(block);
        let entry = &mut self.lanes[lane];
        if entry.failing.iter().any(|failing| failing.block == block) {
            return;
        }
        entry.failing.push(Failing { block, settled: 0 });
        let translation = self.translation.frontiers.iter_mut().chain(&mut self.translation.own);
        for frontier in [&mut entry.host, &mut entry.copies].into_iter().chain(translation) {
            if frontier.block == Some(block) {
                *frontier = Frontier::NONE;
                return;
            }
        }
        if self.pages.blocks.is_candidate(block) {
            self.pages.blocks.take(block);
        }
    }

    /// A failed program has another place now, or needs none.
    fn settle(&mut self, failure: &ProgramFailure) {
        let block = self.geometry.block_of(failure.page);
        let lane = self.lane_of_block(block);
        let failing = &mut self.lanes[lane].failing;
        let failing = failing.iter_mut().find(|failing| failing.block == block);
        failing.expect("a block is not emptied before its failed programs are settled").settled += 1;
    }

    /// The page a failed copy was made from stands for it again.
    fn return_copy<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let source = failure.supersedes.expect("a copy has a source");
        let held = self.is_held(failure.page);
        let newest =
            self.pages.back(failure.page).logical().filter(|logical| self.pages.find(*logical) == Some(failure.page));
        if let Some(logical) = newest {
            self.pages.relocate(logical, failure.page, source);
            self.entry_changed(self.lane_of(source), logical, source);
            self.go_back_to(flash, source);
        } else if self.return_old(failure, source) {
            self.go_back_to(flash, source);
        } else if held {
            self.move_hold(flash, failure.page, source);
            self.go_back_to(flash, source);
        } else {
            flash.failed(failure.id).retarget(source);
        }
        flash.failed(failure.id).abandon(source);
    }

    /// A page of a block that was being emptied is needed again. The copy that failed still pins the
    /// block, so its erase has not begun.
    fn go_back_to<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let block = self.geometry.block_of(page);
        let lane = self.lane_of_block(block);
        if flash.take_back_erase(block) {
            self.lanes[lane].erasing -= 1;
            self.put_back_victim(flash, block);
        } else if let Some(collection) = &mut self.lanes[lane].collection
            && collection.victim == block
        {
            collection.add(page);
        }
    }

    /// A victim not emptied may be chosen again.
    pub(super) fn put_back_victim<F: Flash>(&mut self, flash: &F, block: BlockId) {
        let row = flash.core().block(block);
        if row.has_failed() {
            let settled = u32::from(row.issued - row.done);
            let lane = self.lane_of_block(block);
            self.lanes[lane].failing.push(Failing { block, settled });
        } else {
            self.pages.blocks.put_back(block);
        }
    }

    /// Programs that found no room when they failed try again.
    #[cold]
    pub(super) fn house_homeless<F: Flash>(&mut self, flash: &mut F) {
        for _ in 0..self.homeless.len() {
            let Some(failure) = self.homeless.pop_front() else { return };
            if self.house(flash, &failure) {
                self.settle(&failure);
            } else {
                self.homeless.push_back(failure);
            }
        }
    }

    /// Programs without a home try again, and every plane makes what room it can for those left; when
    /// none is left, blocks that failed are emptied.
    #[inline]
    pub(super) fn collect_for_homeless<F: Flash>(&mut self, flash: &mut F) {
        if self.homeless.is_empty() {
            return;
        }
        self.house_homeless(flash);
        for lane in 0..self.lanes.len() {
            self.collect(flash, lane);
        }
        self.house_homeless(flash);
    }

    /// Whether a program without a home supersedes a page of this block, whose erase must wait for it.
    pub(super) fn pinned_by_homeless(&self, block: BlockId) -> bool {
        let supersedes = |failure: &ProgramFailure| failure.supersedes.map(|page| self.geometry.block_of(page));
        self.homeless.iter().any(|failure| supersedes(failure) == Some(block))
    }

    /// A page of this plane for a failed program beyond what its collection was promised: when that
    /// ends there is more room than before.
    fn rescue_page(&mut self, lane: usize, back: Back) -> Option<Ppn> {
        let entry = &self.lanes[lane];
        let copies = self.frontier(lane, self.copy_stream(back));
        let room = copies.room() + entry.free.len() as u32 * self.geometry.pages_per_block;
        let promised =
            entry.collection.as_ref().map_or(0, |collection| self.pages.blocks.valid_count(collection.victim));
        if room > promised + entry.promised { self.copy_page(lane, back) } else { None }
    }

    /// Finds a new page for a failed program. `false`: there is no room in any plane.
    fn house<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) -> bool {
        let back = self.pages.back(failure.page);
        let newest = back.logical().is_none_or(|logical| self.pages.find(logical) == Some(failure.page));
        // An older version is still needed while what replaced it (a newer program, or a trim) is
        // not on flash yet; after that it is not.
        let needed = newest || flash.failed(failure.id).is_superseded() || self.is_held(failure.page);
        if let Some(logical) = back.logical().filter(|_| !needed) {
            let readers_to = self.page_that_stands_for(logical);
            flash.failed(failure.id).abandon(readers_to);
            return true;
        }
        let start = self.lane_of(failure.page);
        let count = self.lanes.len();
        let steps = if S::PINNED && !back.is_tombstone() { 1 } else { count };
        let lanes = (0..steps).map(|step| (start + step) % count);
        // What is kept for collection is taken last.
        let target = lanes.clone().find_map(|lane| self.page_to_spare(lane, back));
        let Some(target) = target.or_else(|| lanes.clone().find_map(|lane| self.rescue_page(lane, back))) else {
            return false;
        };
        match back.held() {
            Held::Tombstone(slot) => {
                self.move_tombstone(slot, target);
                // Several writes may supersede one tombstone: all of them must keep its new block.
                while flash.failed(failure.id).retarget(target) {}
            }
            Held::Version(logical) if newest => {
                self.pages.relocate(logical, failure.page, target);
                self.entry_changed(self.lane_of(target), logical, target);
            }
            Held::Version(_) => {
                flash.failed(failure.id).retarget(target);
                self.move_hold(flash, failure.page, target);
                self.pages.label(target, back);
            }
        }
        let outcome = flash.failed(failure.id).place_again(self.owner, target);
        if let Held::Tombstone(slot) = back.held() {
            self.if_done_durable(flash, outcome, target, slot);
        }
        true
    }
}
