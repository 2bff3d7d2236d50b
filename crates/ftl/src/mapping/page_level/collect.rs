//! Garbage collection and wear levelling: cursors over victims, a window of copies for each plane.

use super::PageMap;
use super::entry::Held;
use super::parameters::Frontiers;
use super::place::Stream;
use super::scheme::Scheme;
use super::state::Frontier;
use crate::gc::VictimView;
use nand::{Completion, CopyWay, Flash, FlashCore, Outcome, PageCopy};
use units::{BlockId, CAUSES, Cause, Ppn};

/// A block being emptied: the pages that were valid when it was chosen, and how far we are. A page
/// that became invalid since is skipped.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    pub victim: BlockId,
    pub cause: Cause,
    pages: Vec<u32>,
    next: usize,
}

impl Collection {
    pub fn export(&self) -> Vec<u32> {
        let head = [self.victim.0, self.cause.index() as u32, self.next as u32];
        head.into_iter().chain(self.pages.iter().copied()).collect()
    }

    pub fn import(numbers: &[u32]) -> Option<Self> {
        let [victim, cause, next, pages @ ..] = numbers else { return None };
        let cause = CAUSES[*cause as usize % CAUSES.len()];
        Some(Self { victim: BlockId(*victim), cause, pages: pages.to_vec(), next: *next as usize })
    }

    /// One more page is to be moved.
    pub fn add(&mut self, page: Ppn) {
        self.pages.push(page.0);
    }
}

/// Map entries fetched ahead of the copy that changes them.
const LOOK_AHEAD: usize = 16;
/// Full blocks a policy may choose, where one may not be moved, before it is not asked any more.
const FULL_PICKS: usize = 8;
/// Full blocks in a row, for each block of a plane, after which a policy is told that it goes in circles: one that
/// takes each in turn needs one, one that draws lots finds another block before but once in e^64 times, and one that
/// evens out wear needs as many as the wear differs.
const CIRCLES: u32 = 64;
/// Collections between two looks at the spread of wear.
const LEVEL_EVERY: u32 = 8;

/// How issuing copies ended.
enum Window {
    /// No more copies may be under way now.
    Full,
    /// There is no room for the next one.
    Stalled,
    /// All are issued.
    Emptied,
}

impl<S: Scheme> PageMap<S> {
    fn wanted_free(&self, lane: usize) -> u32 {
        let background = if self.idle { self.settings.background_free_blocks } else { 0 };
        // As long as a shared block has room nothing is short but what collection itself must have. Where a plane has
        // one block to spare, collecting for more would go on until nothing in it is invalid.
        let shares = !S::DEMAND && self.settings.frontiers == Frontiers::Shared && !self.lanes[lane].host.is_full();
        // Room that the host will need is made when it asks for it: until then nothing is due.
        let needed = if self.idle { 0 } else { (self.kept as u32).saturating_sub(u32::from(shares)) };
        background.max(self.settings.free_blocks).max(needed)
    }

    /// Goes on collecting in a plane as far as window and room allow.
    pub(super) fn collect<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        if S::PINNED && self.lanes[lane].dead {
            return;
        }
        loop {
            if self.lanes[lane].collection.is_none() && !self.begin_collection(flash, lane) {
                return;
            }
            match self.copy_window(flash, lane) {
                Window::Full => return,
                Window::Stalled => self.set_aside(flash, lane),
                Window::Emptied => {
                    if !self.end_collection(flash, lane) {
                        self.set_aside(flash, lane);
                    }
                }
            }
        }
    }

    /// The room a collection was promised is gone with a failed block: another victim may do with less.
    #[cold]
    fn set_aside<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let Some(collection) = self.lanes[lane].collection.take() else { return };
        self.release_promise(lane);
        self.put_back_victim(flash, collection.victim);
        self.lanes[lane].spare_list = collection.pages;
    }

    /// Chooses a victim if the plane needs one and there is room for what it holds.
    fn begin_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let Some((victim, cause)) = self.next_victim(flash, lane) else { return false };
        let failing = &mut self.lanes[lane].failing;
        match failing.iter().position(|failing| failing.block == victim) {
            Some(index) => {
                failing.remove(index);
            }
            None => self.pages.blocks.take(victim),
        }
        let mut pages = std::mem::take(&mut self.lanes[lane].spare_list);
        pages.clear();
        self.prefetch_back_entries(victim);
        self.pages.blocks.valid_pages(victim, &mut pages);
        for page in pages.iter().take(LOOK_AHEAD) {
            self.pages.prefetch_entry_of(Ppn(*page));
        }
        if S::DEMAND {
            self.promise(flash, lane, victim, &pages);
        }
        self.lanes[lane].collection = Some(Collection { victim, cause, pages, next: 0 });
        true
    }

    /// Brings the back entries of a whole block: 64 bytes hold 16 of them.
    fn prefetch_back_entries(&self, block: BlockId) {
        let first = block.index() * self.geometry.pages_per_block as usize;
        for page in (first..first + self.geometry.pages_per_block as usize).step_by(16) {
            self.pages.prefetch_back(page);
        }
    }

    /// Admission: every copy of a victim, and the trims that hold its pages, must find room without
    /// waiting for anything but erases already issued.
    fn admits<F: Flash>(&self, flash: &F, lane: usize, victim: BlockId) -> bool {
        if S::DEMAND {
            return self.admits_translation(flash, lane, victim, true);
        }
        self.admits_copies(flash, lane, victim)
    }

    /// As [`PageMap::admits`]; translation pages that change may stay behind for now.
    fn admits_copies<F: Flash>(&self, flash: &F, lane: usize, victim: BlockId) -> bool {
        if S::DEMAND {
            return self.admits_translation(flash, lane, victim, false);
        }
        let entry = &self.lanes[lane];
        let copies = if self.settings.frontiers == Frontiers::Shared { &entry.host } else { &entry.copies };
        let room = copies.room() + entry.free.len() as u32 * self.geometry.pages_per_block;
        let trims = !self.trims.is_empty() && flash.core().block(victim).pins > 0;
        // Tombstones may go to another lane.
        let leaving = if self.division.sheds && room < self.pages.blocks.valid_count(victim) + 1 {
            self.tombstones_in(victim)
        } else {
            0
        };
        room >= self.pages.blocks.valid_count(victim) - leaving + u32::from(trims)
    }

    fn next_victim<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<(BlockId, Cause)> {
        let entry = &self.lanes[lane];
        let wanted = entry.free.len() as u32 + entry.erasing <= self.wanted_free(lane) || !self.homeless.is_empty();
        let erasing = entry.erasing > 0;
        let settled = entry.failing.iter().find(|failing| {
            let row = flash.core().block(failing.block);
            u32::from(row.issued - row.done) <= failing.settled && self.admits(flash, lane, failing.block)
        });
        if let Some(failing) = settled
            && self.homeless.is_empty()
        {
            return Some((failing.block, Cause::Wear));
        }
        // Whoever waits for its turn has been refused room, and is told when an erase makes some anywhere.
        if !wanted || self.in_turn && self.homeless.is_empty() && self.another_collects(lane) {
            return None;
        }
        let (block, cause) = self.choose(flash, lane)?;
        if self.admits(flash, lane, block) && !self.pinned_by_homeless(block) {
            return Some((block, cause));
        }
        if erasing && self.homeless.is_empty() {
            return None; // an erase already issued will make room; failed programs may hold it up
        }
        // Nothing else will make room (this happens right after a power cut): the cheapest victim.
        let least = self.least_admitted(flash, lane);
        let found = least.or_else(|| self.evacuated(flash, lane)).map(|block| (block, Cause::Gc));
        if found.is_none() && self.reopen_closed(flash, lane) {
            return self.next_victim(flash, lane);
        }
        found
    }

    /// The blocks of a plane that collection may take and where no program is under way.
    fn settled<F: Flash>(&self, flash: &F, lane: usize) -> impl Iterator<Item = BlockId> + Clone {
        self.lanes[lane].blocks().filter(|block| {
            let row = flash.core().block(*block);
            self.pages.blocks.is_candidate(*block) && row.done == row.issued
        })
    }

    /// The block with the fewest valid pages among those whose copies find room.
    fn least_admitted<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let blocks = self.settled(flash, lane).filter(|block| !self.pinned_by_homeless(*block));
        let valid = |block: &BlockId| self.pages.blocks.valid_count(*block);
        // Mostly the first choice is admitted; asking every block would be slow.
        let least = blocks.clone().min_by_key(valid)?;
        if self.admits_copies(flash, lane, least) {
            return Some(least);
        }
        blocks.filter(|block| self.admits_copies(flash, lane, *block)).min_by_key(valid)
    }

    /// Goes on filling a block that a power cut left closed with pages to spare: all that is left
    /// when the blocks kept for collection failed. `false`: there is none, or other room will come.
    #[cold]
    fn reopen_closed<F: Flash>(&mut self, flash: &F, lane: usize) -> bool {
        let pages = self.geometry.pages_per_block;
        let entry = &self.lanes[lane];
        if !entry.free.is_empty() || entry.erasing > 0 || entry.in_flight > 0 {
            return false;
        }
        let blocks = self.settled(flash, lane).filter(|block| {
            let row = flash.core().block(*block);
            u32::from(row.done) < pages && !row.has_failed() && self.frontier(lane, self.stream_of(*block)).is_full()
        });
        let Some(block) = blocks.min_by_key(|block| flash.core().block(*block).done) else { return false };
        let stream = self.stream_of(block);
        self.reopen(flash.core(), lane, stream, block);
        true
    }

    /// The stream whose copies a block holds; all its valid pages are of one kind, or it has none.
    pub(super) fn stream_of(&self, block: BlockId) -> Stream {
        if !S::DEMAND {
            return self.data_stream();
        }
        let first = self.pages.blocks.valid_pages_of(block).next();
        first.map_or_else(|| self.data_stream(), |page| self.copy_stream(self.pages.back(Ppn(page))))
    }

    /// Makes a closed block with pages to spare the open block of a stream.
    pub(super) fn reopen(&mut self, core: &FlashCore, lane: usize, stream: Stream, block: BlockId) {
        self.pages.blocks.take(block);
        let frontier = Frontier::reopen(&self.geometry, block, u32::from(core.block(block).done));
        let old = std::mem::replace(self.frontier_mut(lane, stream), frontier);
        if let Some(closed) = old.block {
            self.pages.blocks.close(closed);
        }
    }

    /// The cheapest victim of a plane without any room, if other planes can take what it holds.
    fn evacuated<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        if self.lanes[lane].in_flight > 0 || S::PINNED {
            return None;
        }
        let pages = self.geometry.pages_per_block;
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != lane);
        let room: u32 = others.map(|(_, other)| (other.free.len().saturating_sub(self.kept) as u32) * pages).sum();
        let blocks = self.settled(flash, lane).filter(|block| !self.pinned_by_homeless(*block));
        let least = blocks.min_by_key(|block| self.pages.blocks.valid_count(*block))?;
        (self.pages.blocks.valid_count(least) < room.min(pages)).then_some(least)
    }

    fn choose<F: Flash>(&mut self, flash: &F, lane: usize) -> Option<(BlockId, Cause)> {
        // Moving a full block makes garbage of translation pages, which is worth collecting, which
        // gives room to move a full block: once is enough until the host has written.
        let may_move_full = !S::DEMAND || !self.lanes[lane].moved_full;
        if may_move_full && let Some(cold) = self.cold_block(flash, lane) {
            self.lanes[lane].moved_full = true;
            self.levelled_blocks += 1;
            return Some((cold, Cause::Wear));
        }
        let (first, count) = (self.lanes[lane].first, self.lanes[lane].count);
        // Blocks with programs still under way are no victims yet; they are set aside for this pick.
        let mut aside = Vec::new();
        let mut full = 0;
        let choice = loop {
            let view = VictimView {
                keys: self.pages.blocks.keys(first, count),
                closed_at: self.pages.blocks.closed_at(first, count),
                closings: self.pages.blocks.closings(),
                rows: &flash.core().blocks()[first.index()..first.index() + count as usize],
                pages_per_block: self.geometry.pages_per_block,
            };
            let Some(pick) = self.policy.pick(&view, &mut self.stream) else { break None };
            let block = BlockId(first.0 + pick as u32);
            assert!(self.pages.blocks.is_candidate(block), "the victim policy chose block {block}, no candidate");
            let row = flash.core().block(block);
            let gains = self.gains(lane, block);
            // A policy may waste a copy of a full block (random does), as long as some other block
            // has something to gain; otherwise collection would go round in circles.
            let least = || view.least_valid().and_then(|block| view.valid(block));
            let harmless = || least().is_some_and(|least| least < self.geometry.pages_per_block);
            if row.done == row.issued && (gains || may_move_full && harmless()) {
                let lane = &mut self.lanes[lane];
                lane.moved_full |= !gains;
                lane.full_in_a_row = if gains { 0 } else { lane.full_in_a_row + 1 };
                if lane.full_in_a_row > CIRCLES * count {
                    self.policy.goes_in_circles(lane.full_in_a_row, count);
                }
                break Some(block);
            }
            full += usize::from(!gains);
            if full == FULL_PICKS {
                break self.least_gaining(flash, lane);
            }
            self.pages.blocks.take(block);
            aside.push(block);
        };
        for block in aside {
            self.pages.blocks.put_back(block);
        }
        choice.map(|block| (block, Cause::Gc))
    }

    /// The block with the fewest valid pages, if one gives room.
    #[cold]
    fn least_gaining<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let mut blocks = self.settled(flash, lane);
        let least = blocks.clone().min_by_key(|block| self.pages.blocks.valid_count(*block))?;
        if self.pages.blocks.valid_count(least) < self.geometry.pages_per_block {
            return Some(least);
        }
        blocks.find(|block| self.gains(lane, *block))
    }

    /// The least worn closed block, when the plane's wear has drifted apart.
    fn cold_block<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let gap = self.settings.level_gap;
        if gap == 0 || !self.pages.blocks.closings().is_multiple_of(LEVEL_EVERY) {
            return None;
        }
        let erases = |block: BlockId| flash.core().block(block).erases;
        let most = self.lanes[lane].blocks().map(erases).max()?;
        let cold = self.settled(flash, lane).min_by_key(|block| erases(*block))?;
        (most - erases(cold) > gap).then_some(cold)
    }

    /// Issues copies until the window is full or the victim is empty.
    #[inline]
    fn copy_window<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Window {
        loop {
            let entry = &self.lanes[lane];
            let Some(collection) = &entry.collection else { return Window::Full };
            if entry.in_flight >= self.settings.window {
                return Window::Full;
            }
            let victim = collection.victim;
            let Some(&page) = collection.pages.get(collection.next) else {
                if self.next_update(flash, lane) {
                    continue;
                }
                // Old versions it waits for: it goes on when they are dropped.
                let waits = S::PINNED && self.pages.blocks.valid_count(victim) > 0;
                return if waits { Window::Full } else { Window::Emptied };
            };
            let cause = collection.cause;
            if let Some(&ahead) = collection.pages.get(collection.next + LOOK_AHEAD) {
                self.pages.prefetch_entry_of(Ppn(ahead));
            }
            if let Some(&further) = collection.pages.get(collection.next + 2 * LOOK_AHEAD) {
                self.pages.prefetch_back(further as usize);
            }
            let page = Ppn(page);
            if self.pages.blocks.is_valid(page) && !self.relocate(flash, lane, page, cause) {
                return Window::Stalled;
            }
            if let Some(collection) = &mut self.lanes[lane].collection {
                collection.next += 1;
            }
        }
    }

    /// Programs the next translation page that this plane's collection left behind the map. `false`:
    /// there is none, or no room; then it stays behind until a later collection, which is safe as long
    /// as memory knows.
    #[inline]
    fn next_update<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        if !S::DEMAND {
            return false;
        }
        let Some(page) = self.lanes[lane].updates.pop() else { return false };
        // Whatever programmed it meanwhile wrote all that is known.
        if !self.translation.awaits_update[page as usize] {
            return true;
        }
        if !self.update_after_collection(flash, lane, page) {
            self.lanes[lane].updates.push(page);
            return false;
        }
        true
    }

    /// Moves one valid page. `false`: no room.
    #[inline]
    fn relocate<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, cause: Cause) -> bool {
        let back = self.pages.back(page);
        let logical = match back.held() {
            Held::Tombstone(slot) => return self.relocate_tombstone(flash, lane, slot),
            Held::Version(logical) => logical,
        };
        if S::PINNED && self.pages.find(logical) != Some(page) {
            return self.meet_old(flash, lane, page).unwrap_or(true);
        }
        let Some(target) = self.copy_page(lane, back).or_else(|| self.page_elsewhere(lane, back)) else {
            return false;
        };
        self.pages.relocate(logical, page, target);
        self.note_relocation(lane, logical, target);
        self.issue_copy(flash, lane, page, target, cause);
        true
    }

    /// Copies a page to its new place, where the maps say it is.
    #[inline]
    pub(super) fn issue_copy<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, target: Ppn, cause: Cause) {
        let stays = self.settings.copyback && self.lane_of(target) == lane;
        let copy = PageCopy {
            from: page,
            to: target,
            logical: self.pages.back(target).bits(),
            cause,
            completion: Completion::Notify(lane as u32),
            way: if stays { CopyWay::Plane } else { CopyWay::Channel },
        };
        if flash.copy(self.owner, copy) != Outcome::Done {
            self.lanes[lane].in_flight += 1;
        }
    }

    /// All copies of the victim are issued: it is erased as soon as nothing pins it. `false`: trims
    /// that may hold its pages must be logged first and find no room now.
    fn end_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let Some(collection) = self.lanes[lane].collection.take() else { return false };
        let held = flash.core().block(collection.victim).pins > 0 && !self.trims.is_empty();
        if held && !self.log_trims(flash, Some(lane)) {
            self.lanes[lane].collection = Some(collection);
            return false;
        }
        self.release_promise(lane);
        debug_assert!(self.pages.blocks.valid_count(collection.victim) == 0, "an emptied victim has no valid page");
        self.lanes[lane].spare_list = collection.pages;
        self.lanes[lane].erasing += 1;
        if flash.core().breaks(nand::LawBroken::EarlyReuse) {
            self.empty_lanes -= usize::from(self.lanes[lane].free.is_empty());
            self.lanes[lane].free.push(collection.victim, 0, true);
        }
        if flash.erase(self.owner, collection.victim, collection.cause) == Outcome::Done {
            self.count_erased(flash, collection.victim);
        }
        if !self.homeless.is_empty() {
            self.house_homeless(flash); // what this collection was promised and did not need
        }
        true
    }

    fn count_erased<F: Flash>(&mut self, flash: &F, block: BlockId) {
        let lane = self.lane_of_block(block);
        let erases = flash.core().block(block).erases;
        self.lanes[lane].erasing -= 1;
        if !flash.core().breaks(nand::LawBroken::EarlyReuse) {
            self.empty_lanes -= usize::from(self.lanes[lane].free.is_empty());
            self.lanes[lane].free.push(block, erases, self.settings.level_dynamic);
        }
    }

    /// A block is free now.
    pub(super) fn erased<F: Flash>(&mut self, flash: &mut F, block: BlockId) {
        self.count_erased(flash, block);
        self.collect(flash, self.lane_of_block(block));
    }
}
