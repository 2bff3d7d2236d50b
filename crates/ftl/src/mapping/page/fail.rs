//! Programs that fail: the data is placed again, the block is emptied and given up.

use super::PageMap;
use super::TRIMMED;
use super::parameters::Frontiers;
use super::state::Failing;
use nand::{Flash, Program, ProgramFailure};
use units::{BlockId, Ppn};

impl PageMap {
    pub(super) fn program_failed<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        self.give_up(self.geometry.block_of(failure.page));
        if self.homeless.is_empty() && self.house(flash, failure) {
            self.settle(failure);
        } else {
            self.homeless.push_back(*failure);
        }
        let lane = self.lane_of(failure.page);
        self.collect(flash, lane);
    }

    /// Stops programming into a block and lists it to be emptied.
    fn give_up(&mut self, block: BlockId) {
        let lane = self.geometry.lane_of(block) as usize;
        let entry = &mut self.lanes[lane];
        if entry.failing.iter().any(|failing| failing.block == block) {
            return;
        }
        entry.failing.push(Failing { block, settled: 0 });
        for frontier in [&mut entry.host, &mut entry.copies] {
            if frontier.block == Some(block) {
                *frontier = super::Frontier::NONE;
                return;
            }
        }
        if self.blocks.is_candidate(block) {
            self.blocks.take(block);
        }
    }

    /// A failed program has another place now, or needs none.
    fn settle(&mut self, failure: &ProgramFailure) {
        let block = self.geometry.block_of(failure.page);
        let failing = &mut self.lanes[self.geometry.lane_of(block) as usize].failing;
        let failing = failing.iter_mut().find(|failing| failing.block == block);
        failing.expect("a block is not emptied before its failed programs are settled").settled += 1;
    }

    /// Programs that found no room when they failed try again.
    pub(super) fn house_homeless<F: Flash>(&mut self, flash: &mut F) {
        while let Some(failure) = self.homeless.pop_front() {
            if !self.house(flash, &failure) {
                self.homeless.push_front(failure);
                return;
            }
            self.settle(&failure);
        }
    }

    /// Where a page can be read that may have failed and found no room: a copy where it was copied
    /// from. `None`: only the write that has not been acknowledged held it.
    #[inline]
    pub(super) fn readable(&self, page: Ppn) -> Option<Ppn> {
        if self.homeless.is_empty() { Some(page) } else { self.source_of_homeless(page) }
    }

    #[cold]
    fn source_of_homeless(&self, page: Ppn) -> Option<Ppn> {
        match self.homeless.iter().find(|failure| failure.page == page) {
            None => Some(page),
            Some(failure) if failure.what == Program::Copy => self.source_of_homeless(failure.supersedes?),
            Some(_) => None,
        }
    }

    /// A page for a failed program, leaving `kept` blocks free. It must not stand behind a write that
    /// waits for this very program, so in a block shared with the host only behind what is on flash.
    fn rescue_page<F: Flash>(&mut self, flash: &F, lane: usize, kept: usize) -> Option<Ppn> {
        let shared = self.settings.frontiers == Frontiers::Shared;
        let entry = &self.lanes[lane];
        let frontier = if shared { &entry.host } else { &entry.copies };
        let on_flash = |block: BlockId| {
            let row = flash.core().block(block);
            row.done == row.issued
        };
        let usable = if shared {
            frontier.next() == entry.rescued_to || frontier.block.is_some_and(on_flash)
        } else {
            kept == 0 || entry.collection.is_none()
        };
        if frontier.is_full() || !usable {
            if entry.free.len() <= kept || (!shared && !frontier.is_full()) {
                return None;
            }
            self.open_block(lane, !shared);
        }
        let entry = &mut self.lanes[lane];
        let page = if shared { entry.host.take() } else { entry.copies.take() };
        entry.rescued_to = page.0 + 1;
        Some(page)
    }

    /// Finds a new page for a failed program. `false`: there is no room in any plane.
    fn house<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) -> bool {
        let back = self.back[failure.page.index()];
        let is_tombstone = back & TRIMMED != 0;
        let entry = if is_tombstone { failure.page.0 } else { self.map[back as usize] };
        let newest = entry == failure.page.0;
        // An older version is still needed while what replaced it (a newer program, or a trim) is
        // not on flash yet; after that it is not.
        let needed = newest || flash.is_being_superseded(failure.page) || self.is_held(failure.page);
        if !needed {
            let readers_to = if entry < TRIMMED { Ppn(entry) } else { self.trimmed_page(entry) };
            flash.abandon(failure.id, readers_to);
            return true;
        }
        let start = self.lane_of(failure.page);
        let count = self.lanes.len();
        let lanes = (0..count).map(|step| (start + step) % count);
        // The block kept for collection is taken last.
        let target = lanes.clone().find_map(|lane| self.rescue_page(flash, lane, 1));
        let Some(target) = target.or_else(|| lanes.clone().find_map(|lane| self.rescue_page(flash, lane, 0))) else {
            return false;
        };
        if is_tombstone {
            self.move_tombstone(back & !TRIMMED, target);
            // Several writes may supersede one tombstone: all of them must keep its new block.
            while flash.retarget(failure.page, target) {}
        } else if newest {
            self.map[back as usize] = target.0;
            self.blocks.invalidate(failure.page);
            self.blocks.validate(target);
        } else {
            flash.retarget(failure.page, target);
            self.move_hold(flash, failure.page, target);
        }
        self.back[target.index()] = back;
        let outcome = flash.place_again(self.owner, failure.id, target);
        if is_tombstone {
            self.if_done_durable(flash, outcome, target, back & !TRIMMED);
        }
        true
    }
}
