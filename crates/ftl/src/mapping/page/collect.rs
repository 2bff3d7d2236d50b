//! Garbage collection and wear levelling: cursors over victims, a window of copies for each plane.

use super::parameters::Frontiers;
use super::{Frontier, PageMap, TRIMMED};
use crate::gc::VictimView;
use nand::{Command, Completion, Flash, Outcome, PayloadId, Program, Read};
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

    /// One more page is to be moved: its copy failed.
    pub fn add(&mut self, page: Ppn) {
        self.pages.push(page.0);
    }
}

/// Map entries fetched ahead of the copy that changes them.
const LOOK_AHEAD: usize = 16;
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

impl PageMap {
    fn wanted_free(&self) -> u32 {
        let background = if self.idle { self.settings.background_free_blocks } else { 0 };
        background.max(self.settings.free_blocks).max(self.kept as u32)
    }

    /// Goes on collecting in a plane as far as window and room allow.
    pub(super) fn collect<F: Flash>(&mut self, flash: &mut F, lane: usize) {
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
            None => self.blocks.take(victim),
        }
        let mut pages = std::mem::take(&mut self.lanes[lane].spare_list);
        pages.clear();
        self.prefetch_back_entries(victim);
        self.blocks.valid_pages(victim, &mut pages);
        for page in pages.iter().take(LOOK_AHEAD) {
            self.prefetch_back(*page);
        }
        self.lanes[lane].collection = Some(Collection { victim, cause, pages, next: 0 });
        true
    }

    /// Brings the back entries of a whole block: 64 bytes hold 16 of them.
    fn prefetch_back_entries(&self, block: BlockId) {
        let first = block.index() * self.geometry.pages_per_block as usize;
        for page in (first..first + self.geometry.pages_per_block as usize).step_by(16) {
            units::prefetch(&self.back, page);
        }
    }

    /// Admission: every copy of a victim, and the trims that hold its pages, must find room without
    /// waiting for anything but erases already issued.
    fn admits<F: Flash>(&self, flash: &F, lane: usize, victim: BlockId) -> bool {
        let entry = &self.lanes[lane];
        let copies = if self.settings.frontiers == Frontiers::Shared { &entry.host } else { &entry.copies };
        let room = copies.room() + entry.free.len() as u32 * self.geometry.pages_per_block;
        let trims = !self.trims.is_empty() && flash.core().block(victim).pins > 0;
        room >= self.blocks.valid_count(victim) + u32::from(trims)
    }

    fn next_victim<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<(BlockId, Cause)> {
        let entry = &self.lanes[lane];
        let wanted = entry.free.len() as u32 + entry.erasing <= self.wanted_free() || !self.homeless.is_empty();
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
        if !wanted {
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
        let (first, count) = (self.lanes[lane].first, self.lanes[lane].count);
        let blocks = (first.0..first.0 + count).map(BlockId).filter(|block| {
            let row = flash.core().block(*block);
            self.blocks.is_candidate(*block)
                && row.done == row.issued
                && self.admits(flash, lane, *block)
                && !self.pinned_by_homeless(*block)
        });
        let least = blocks.min_by_key(|block| self.blocks.valid_count(*block));
        let found = least.or_else(|| self.evacuated(flash, lane)).map(|block| (block, Cause::Gc));
        if found.is_none() && self.reopen_closed(flash, lane) {
            return self.next_victim(flash, lane);
        }
        found
    }

    /// Goes on filling a block that a power cut left closed with pages to spare: all that is left
    /// when the blocks kept for collection failed. `false`: there is none, or other room will come.
    #[cold]
    fn reopen_closed<F: Flash>(&mut self, flash: &F, lane: usize) -> bool {
        let pages = self.geometry.pages_per_block;
        let shared = self.settings.frontiers == Frontiers::Shared;
        let entry = &self.lanes[lane];
        let full = if shared { entry.host.is_full() } else { entry.copies.is_full() };
        if !full || !entry.free.is_empty() || entry.erasing > 0 || entry.in_flight > 0 {
            return false;
        }
        let blocks = (entry.first.0..entry.first.0 + entry.count).map(BlockId).filter(|block| {
            let row = flash.core().block(*block);
            let open = row.done == row.issued && u32::from(row.done) < pages && !row.has_failed();
            self.blocks.is_candidate(*block) && open
        });
        let Some(block) = blocks.min_by_key(|block| flash.core().block(*block).done) else { return false };
        self.blocks.take(block);
        let frontier = Frontier::reopen(&self.geometry, block, u32::from(flash.core().block(block).done));
        let entry = &mut self.lanes[lane];
        let old = std::mem::replace(if shared { &mut entry.host } else { &mut entry.copies }, frontier);
        if let Some(closed) = old.block {
            self.blocks.close(closed);
        }
        true
    }

    /// The cheapest victim of a plane without any room, if other planes can take what it holds.
    fn evacuated<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        if self.lanes[lane].in_flight > 0 {
            return None;
        }
        let pages = self.geometry.pages_per_block;
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != lane);
        let room: u32 = others.map(|(_, other)| (other.free.len().saturating_sub(self.kept) as u32) * pages).sum();
        let (first, count) = (self.lanes[lane].first, self.lanes[lane].count);
        let blocks = (first.0..first.0 + count).map(BlockId).filter(|block| {
            let row = flash.core().block(*block);
            self.blocks.is_candidate(*block) && row.done == row.issued && !self.pinned_by_homeless(*block)
        });
        let least = blocks.min_by_key(|block| self.blocks.valid_count(*block))?;
        (self.blocks.valid_count(least) < room.min(pages)).then_some(least)
    }

    /// A page in another plane than `lane`, from what that one can spare. Collects nothing.
    pub(super) fn page_elsewhere(&mut self, lane: usize) -> Option<Ppn> {
        let count = self.lanes.len();
        (1..count).find_map(|step| self.page_to_spare((lane + step) % count))
    }

    /// A page of this plane that is promised to no collection. Collects nothing.
    pub(super) fn page_to_spare(&mut self, lane: usize) -> Option<Ppn> {
        let shared = self.settings.frontiers == Frontiers::Shared;
        let entry = &mut self.lanes[lane];
        let spare_block = entry.free.len() > self.kept;
        if !entry.host.is_full() && (!shared || spare_block) {
            return Some(entry.host.take());
        }
        if !entry.host.is_full() || !spare_block {
            return None;
        }
        self.open_block(lane, false);
        Some(self.lanes[lane].host.take())
    }

    #[inline]
    fn prefetch_back(&self, page: u32) {
        let back = self.back[page as usize];
        units::prefetch(&self.map, back as usize);
    }

    fn choose<F: Flash>(&mut self, flash: &F, lane: usize) -> Option<(BlockId, Cause)> {
        if let Some(cold) = self.cold_block(flash, lane) {
            self.levelled_blocks += 1;
            return Some((cold, Cause::Wear));
        }
        let (first, count) = (self.lanes[lane].first, self.lanes[lane].count);
        // Blocks with programs still under way are no victims yet; they are set aside for this pick.
        let mut aside = Vec::new();
        let choice = loop {
            let view = VictimView {
                keys: self.blocks.keys(first, count),
                closed_at: self.blocks.closed_at(first, count),
                closings: self.blocks.closings(),
                rows: &flash.core().blocks()[first.index()..first.index() + count as usize],
                pages_per_block: self.geometry.pages_per_block,
            };
            let Some(pick) = self.policy.pick(&view, &mut self.stream) else { break None };
            let block = BlockId(first.0 + pick as u32);
            assert!(self.blocks.is_candidate(block), "the victim policy chose block {block}, no candidate");
            let row = flash.core().block(block);
            let gains = self.blocks.valid_count(block) < self.geometry.pages_per_block;
            // A policy may waste a copy of a full block (random does), as long as some other block
            // has something to gain; otherwise collection would go round in circles.
            let least = || view.least_valid().and_then(|block| view.valid(block));
            let harmless = || least().is_some_and(|least| least < self.geometry.pages_per_block);
            if row.done == row.issued && (gains || harmless()) {
                break Some(block);
            }
            self.blocks.take(block);
            aside.push(block);
        };
        for block in aside {
            self.blocks.put_back(block);
        }
        choice.map(|block| (block, Cause::Gc))
    }

    /// The least worn closed block, when the plane's wear has drifted apart.
    fn cold_block<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let gap = self.settings.level_gap;
        if gap == 0 || !self.blocks.closings().is_multiple_of(LEVEL_EVERY) {
            return None;
        }
        let blocks = (self.lanes[lane].first.0..self.lanes[lane].first.0 + self.lanes[lane].count).map(BlockId);
        let erases = |block: BlockId| flash.core().block(block).erases;
        let most = blocks.clone().map(erases).max()?;
        let candidates = blocks.filter(|block| {
            let row = flash.core().block(*block);
            self.blocks.is_candidate(*block) && row.done == row.issued
        });
        let cold = candidates.min_by_key(|block| erases(*block))?;
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
            let Some(&page) = collection.pages.get(collection.next) else { return Window::Emptied };
            let cause = collection.cause;
            if let Some(&ahead) = collection.pages.get(collection.next + LOOK_AHEAD) {
                self.prefetch_back(ahead);
            }
            if let Some(&further) = collection.pages.get(collection.next + 2 * LOOK_AHEAD) {
                units::prefetch(&self.back, further as usize);
            }
            let page = Ppn(page);
            if self.blocks.is_valid(page) && !self.relocate(flash, lane, page, cause) {
                return Window::Stalled;
            }
            if let Some(collection) = &mut self.lanes[lane].collection {
                collection.next += 1;
            }
        }
    }

    /// A page for a copy or a record of this plane.
    pub(super) fn copy_page(&mut self, lane: usize) -> Option<Ppn> {
        let shared = self.settings.frontiers == Frontiers::Shared;
        let entry = &self.lanes[lane];
        let frontier = if shared { &entry.host } else { &entry.copies };
        if frontier.is_full() {
            if entry.free.is_empty() {
                return None;
            }
            self.open_block(lane, !shared);
        }
        let entry = &mut self.lanes[lane];
        Some(if shared { entry.host.take() } else { entry.copies.take() })
    }

    /// Moves one valid page. `false`: no room.
    #[inline]
    fn relocate<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, cause: Cause) -> bool {
        let logical = self.back[page.index()];
        if logical & TRIMMED != 0 {
            return self.relocate_tombstone(flash, lane, logical & !TRIMMED);
        }
        let Some(target) = self.copy_page(lane).or_else(|| self.page_elsewhere(lane)) else { return false };
        debug_assert!(self.map[logical as usize] == page.0, "a valid page is mapped");
        self.map[logical as usize] = target.0;
        self.back[target.index()] = logical;
        self.blocks.invalidate(page);
        self.blocks.validate(target);
        let mut command = Command {
            page: target,
            supersedes: Some(page),
            what: Program::Copy,
            logical,
            sequence: 0, // a copy keeps the number of its source
            cause,
            completion: Completion::Notify(lane as u32),
            after: None,
        };
        let outcome = if self.settings.copyback && self.lane_of(target) == lane {
            flash.copyback(self.owner, command)
        } else {
            let sectors = self.geometry.sectors_per_page() as u8;
            let read = Read { page, cause, sectors, payload: PayloadId::NONE, completion: None, after: None };
            command.after = flash.read(self.owner, read).pending();
            flash.program(self.owner, command)
        };
        if outcome != Outcome::Done {
            self.lanes[lane].in_flight += 1;
        }
        true
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
        debug_assert!(self.blocks.valid_count(collection.victim) == 0, "an emptied victim has no valid page");
        self.lanes[lane].spare_list = collection.pages;
        self.lanes[lane].erasing += 1;
        if flash.core().breaks(nand::LawBroken::EarlyReuse) {
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
        let lane = self.geometry.lane_of(block) as usize;
        let erases = flash.core().block(block).erases;
        self.lanes[lane].erasing -= 1;
        if !flash.core().breaks(nand::LawBroken::EarlyReuse) {
            self.lanes[lane].free.push(block, erases, self.settings.level_dynamic);
        }
    }

    /// A block is free now.
    pub(super) fn erased<F: Flash>(&mut self, flash: &mut F, block: BlockId) {
        self.count_erased(flash, block);
        self.collect(flash, self.geometry.lane_of(block) as usize);
    }
}
