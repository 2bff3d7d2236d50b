//! Garbage collection and wear levelling: cursors over victims, a window of copies for each plane.

use super::PageMap;
use super::entry::Held;
use super::parameters::Frontiers;
use super::scheme::Scheme;
use super::space::admission::Emptying;
use crate::gc::VictimView;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Command, Completion, Flash, Outcome, PayloadId, Program, Read};
use units::{BlockId, CAUSES, Cause, Ppn};

/// A block being emptied: the pages that were valid when it was chosen, and how far we are. A page
/// that became invalid since is skipped.
#[derive(Clone, Debug)]
struct Collection {
    victim: BlockId,
    cause: Cause,
    pages: Vec<u32>,
    next: usize,
}

/// The collection of one lane. Only this file and what ends a copy writes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    collection: Option<Collection>,
    /// Copies under way, and translation pages that go with them.
    in_flight: u32,
    /// Translation pages to be programmed with the end of a collection.
    updates: Vec<u32>,
    /// A block without invalid pages was moved since the host last wrote here.
    moved_full: bool,
    /// Such blocks that the policy has chosen since it chose another one.
    full_in_a_row: u32,
    /// Memory of the last collection's page list, to be used again.
    spare_list: Vec<u32>,
}

impl Cursor {
    /// The block being emptied.
    #[inline]
    pub fn victim(&self) -> Option<BlockId> {
        self.collection.as_ref().map(|collection| collection.victim)
    }

    #[inline]
    pub fn copies_under_way(&self) -> u32 {
        self.in_flight
    }

    /// A block is being emptied, or copies of one are under way.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.collection.is_some()
    }

    /// One more page of `block` is to be moved. `false`: that block is not being emptied.
    pub fn add(&mut self, block: BlockId, page: Ppn) -> bool {
        let collection = self.collection.as_mut().filter(|collection| collection.victim == block);
        collection.map(|collection| collection.pages.push(page.0)).is_some()
    }

    /// A program of this collection was issued, and ends later unless it is `Done`.
    #[inline]
    pub fn issued(&mut self, outcome: Outcome) {
        self.in_flight += u32::from(outcome != Outcome::Done);
    }

    /// A program of this collection ended.
    pub fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// The host wrote here.
    #[inline]
    pub fn host_wrote(&mut self) {
        self.moved_full = false;
    }

    /// A translation page is to be programmed with the end of this collection.
    pub fn update_later(&mut self, page: u32) {
        self.updates.push(page);
    }

    /// Nothing more is collected here.
    pub fn lose(&mut self) {
        self.collection = None;
    }

    /// `promised`: translation pages that its lane promises it.
    pub fn save(&self, writer: &mut SnapshotWriter, promised: u32) {
        let numbers = |collection: &Collection| {
            let head = [collection.victim.0, collection.cause.index() as u32, collection.next as u32];
            head.into_iter().chain(collection.pages.iter().copied()).collect()
        };
        let collection: Vec<u32> = self.collection.as_ref().map(numbers).unwrap_or_default();
        writer.put_u32("lane.collection", collection.into_iter());
        let updates = [promised, u32::from(self.moved_full)].into_iter().chain(self.updates.iter().copied());
        writer.put_u32("lane.updates", updates.collect::<Vec<_>>().into_iter());
    }

    /// What [`Cursor::save`] wrote, and what was promised.
    pub fn load(reader: &mut SnapshotReader<'_>) -> Result<(Self, u32), SnapshotError> {
        let problem = "its promise is missing".to_owned();
        let collection = match reader.get_u32("lane.collection")?.as_slice() {
            [victim, cause, next, pages @ ..] => {
                let cause = CAUSES[*cause as usize % CAUSES.len()];
                Some(Collection { victim: BlockId(*victim), cause, pages: pages.to_vec(), next: *next as usize })
            }
            _ => None,
        };
        let updates = reader.get_u32("lane.updates")?;
        let [promised, moved_full, updates @ ..] = updates.as_slice() else {
            return Err(SnapshotError::Unfit { section: "lane", problem });
        };
        let (updates, moved_full) = (updates.to_vec(), *moved_full == 1);
        Ok((Self { collection, updates, moved_full, ..Self::default() }, *promised))
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
        let shares =
            !S::DEMAND && self.settings.frontiers == Frontiers::Shared && !self.space.lanes[lane].host_is_full();
        // Room that the host will need is made when it asks for it: until then nothing is due.
        let needed = if self.idle { 0 } else { (self.space.lanes.withheld() as u32).saturating_sub(u32::from(shares)) };
        background.max(self.settings.free_blocks).max(needed)
    }

    /// Goes on collecting in a plane as far as window and room allow.
    pub(super) fn collect<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        if S::PINNED && self.space.lanes[lane].is_dead() {
            return;
        }
        loop {
            if self.space.lanes[lane].cursor.victim().is_none() && !self.begin_collection(flash, lane) {
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
        let Some(collection) = self.space.lanes.cursor(lane).collection.take() else { return };
        self.space.release_promise(lane);
        self.space.lanes.put_back(&mut self.pages, flash.core(), collection.victim);
        self.space.lanes.cursor(lane).spare_list = collection.pages;
    }

    /// Chooses a victim if the plane needs one and there is room for what it holds.
    fn begin_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let Some((victim, cause)) = self.next_victim(flash, lane) else { return false };
        self.space.lanes.begin(&mut self.pages, victim);
        let mut pages = std::mem::take(&mut self.space.lanes.cursor(lane).spare_list);
        pages.clear();
        self.prefetch_back_entries(victim);
        self.pages.blocks().valid_pages(victim, &mut pages);
        for page in pages.iter().take(LOOK_AHEAD) {
            self.pages.prefetch_entry_of(Ppn(*page));
        }
        if S::DEMAND {
            self.promise(flash, lane, victim, &pages);
        }
        self.space.lanes.cursor(lane).collection = Some(Collection { victim, cause, pages, next: 0 });
        true
    }

    /// Brings the back entries of a whole block: 64 bytes hold 16 of them.
    fn prefetch_back_entries(&self, block: BlockId) {
        let first = block.index() * self.geometry.pages_per_block as usize;
        for page in (first..first + self.geometry.pages_per_block as usize).step_by(16) {
            self.pages.prefetch_back(page);
        }
    }

    /// A block of a lane that may be emptied.
    pub(super) fn emptying<F: Flash>(&self, flash: &F, lane: usize, block: BlockId) -> Emptying<'_, S> {
        let held = !self.trims.is_empty() && flash.core().block(block).pins > 0;
        Emptying { space: &self.space, pages: &self.pages, lane, block, held }
    }

    fn next_victim<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<(BlockId, Cause)> {
        let entry = &self.space.lanes[lane];
        let wanted = entry.free() as u32 + entry.erasing() <= self.wanted_free(lane) || !self.homeless.is_empty();
        let erasing = entry.erasing() > 0;
        let settled = entry.failing().iter().find(|failing| {
            let row = flash.core().block(failing.block);
            u32::from(row.issued - row.done) <= failing.settled
                && self.emptying(flash, lane, failing.block).is_admitted(true)
        });
        if let Some(failing) = settled
            && self.homeless.is_empty()
        {
            return Some((failing.block, Cause::Wear));
        }
        // Whoever waits for its turn has been refused room, and is told when an erase makes some anywhere.
        if !wanted || self.in_turn && self.homeless.is_empty() && self.space.lanes.another_collects(lane) {
            return None;
        }
        let (block, cause) = self.choose(flash, lane)?;
        if self.emptying(flash, lane, block).is_admitted(true) && !self.pinned_by_homeless(block) {
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
        self.space.lanes[lane].blocks().filter(|block| {
            let row = flash.core().block(*block);
            self.pages.blocks().is_candidate(*block) && row.done == row.issued
        })
    }

    /// The block with the fewest valid pages among those whose copies find room.
    fn least_admitted<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let blocks = self.settled(flash, lane).filter(|block| !self.pinned_by_homeless(*block));
        let valid = |block: &BlockId| self.pages.blocks().valid_count(*block);
        // Mostly the first choice is admitted; asking every block would be slow.
        let least = blocks.clone().min_by_key(valid)?;
        if self.emptying(flash, lane, least).is_admitted(false) {
            return Some(least);
        }
        blocks.filter(|block| self.emptying(flash, lane, *block).is_admitted(false)).min_by_key(valid)
    }

    /// Goes on filling a block that a power cut left closed with pages to spare: all that is left
    /// when the blocks kept for collection failed. `false`: there is none, or other room will come.
    #[cold]
    fn reopen_closed<F: Flash>(&mut self, flash: &F, lane: usize) -> bool {
        let pages = self.geometry.pages_per_block;
        let entry = &self.space.lanes[lane];
        if entry.free() > 0 || entry.is_reclaiming() {
            return false;
        }
        let blocks = self.settled(flash, lane).filter(|block| {
            let row = flash.core().block(*block);
            let stream = self.space.stream_of(&self.pages, *block);
            u32::from(row.done) < pages && !row.has_failed() && self.space.frontier(lane, stream).is_full()
        });
        let Some(block) = blocks.min_by_key(|block| flash.core().block(*block).done) else { return false };
        let stream = self.space.stream_of(&self.pages, block);
        self.space.reopen(&mut self.pages, flash.core(), lane, stream, block);
        true
    }

    /// The cheapest victim of a plane without any room, if other planes can take what it holds.
    fn evacuated<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        if self.space.lanes[lane].cursor.in_flight > 0 || S::PINNED {
            return None;
        }
        let pages = self.geometry.pages_per_block;
        let room = self.space.lanes.spare_blocks_beside(lane) as u32 * pages;
        let blocks = self.settled(flash, lane).filter(|block| !self.pinned_by_homeless(*block));
        let least = blocks.min_by_key(|block| self.pages.blocks().valid_count(*block))?;
        (self.pages.blocks().valid_count(least) < room.min(pages)).then_some(least)
    }

    fn choose<F: Flash>(&mut self, flash: &F, lane: usize) -> Option<(BlockId, Cause)> {
        // Moving a full block makes garbage of translation pages, which is worth collecting, which
        // gives room to move a full block: once is enough until the host has written.
        let may_move_full = !S::DEMAND || !self.space.lanes[lane].cursor.moved_full;
        if may_move_full && let Some(cold) = self.cold_block(flash, lane) {
            self.space.lanes.cursor(lane).moved_full = true;
            self.levelled_blocks += 1;
            return Some((cold, Cause::Wear));
        }
        let (first, count) = (self.space.lanes[lane].first(), self.space.lanes[lane].count());
        // Blocks with programs still under way are no victims yet; they are set aside for this pick.
        let mut aside = Vec::new();
        let mut full = 0;
        let choice = loop {
            let view = VictimView {
                keys: self.pages.blocks().keys(first, count),
                closed_at: self.pages.blocks().closed_at(first, count),
                closings: self.pages.blocks().closings(),
                rows: &flash.core().blocks()[first.index()..first.index() + count as usize],
                pages_per_block: self.geometry.pages_per_block,
            };
            let Some(pick) = self.policy.pick(&view, &mut self.stream) else { break None };
            let block = BlockId(first.0 + pick as u32);
            assert!(self.pages.blocks().is_candidate(block), "the victim policy chose block {block}, no candidate");
            let row = flash.core().block(block);
            let gains = self.space.gains(&self.pages, lane, block);
            // A policy may waste a copy of a full block (random does), as long as some other block
            // has something to gain; otherwise collection would go round in circles.
            let least = || view.least_valid().and_then(|block| view.valid(block));
            let harmless = || least().is_some_and(|least| least < self.geometry.pages_per_block);
            if row.done == row.issued && (gains || may_move_full && harmless()) {
                let cursor = self.space.lanes.cursor(lane);
                cursor.moved_full |= !gains;
                cursor.full_in_a_row = if gains { 0 } else { cursor.full_in_a_row + 1 };
                if cursor.full_in_a_row > CIRCLES * count {
                    self.policy.goes_in_circles(cursor.full_in_a_row, count);
                }
                break Some(block);
            }
            full += usize::from(!gains);
            if full == FULL_PICKS {
                break self.least_gaining(flash, lane);
            }
            self.pages.withdraw(block);
            aside.push(block);
        };
        for block in aside {
            self.pages.put_back(block);
        }
        choice.map(|block| (block, Cause::Gc))
    }

    /// The block with the fewest valid pages, if one gives room.
    #[cold]
    fn least_gaining<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let mut blocks = self.settled(flash, lane);
        let least = blocks.clone().min_by_key(|block| self.pages.blocks().valid_count(*block))?;
        if self.pages.blocks().valid_count(least) < self.geometry.pages_per_block {
            return Some(least);
        }
        blocks.find(|block| self.space.gains(&self.pages, lane, *block))
    }

    /// The least worn closed block, when the plane's wear has drifted apart.
    fn cold_block<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let gap = self.settings.level_gap;
        if gap == 0 || !self.pages.blocks().closings().is_multiple_of(LEVEL_EVERY) {
            return None;
        }
        let erases = |block: BlockId| flash.core().block(block).erases;
        let most = self.space.lanes[lane].blocks().map(erases).max()?;
        let cold = self.settled(flash, lane).min_by_key(|block| erases(*block))?;
        (most - erases(cold) > gap).then_some(cold)
    }

    /// Issues copies until the window is full or the victim is empty.
    #[inline]
    fn copy_window<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Window {
        loop {
            let cursor = &self.space.lanes[lane].cursor;
            let Some(collection) = &cursor.collection else { return Window::Full };
            if cursor.in_flight >= self.settings.window {
                return Window::Full;
            }
            let victim = collection.victim;
            let Some(&page) = collection.pages.get(collection.next) else {
                if self.next_update(flash, lane) {
                    continue;
                }
                // Old versions it waits for: it goes on when they are dropped.
                let waits = S::PINNED && self.pages.blocks().valid_count(victim) > 0;
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
            if self.pages.blocks().is_valid(page) && !self.relocate(flash, lane, page, cause) {
                return Window::Stalled;
            }
            if let Some(collection) = &mut self.space.lanes.cursor(lane).collection {
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
        let Some(page) = self.space.lanes.cursor(lane).updates.pop() else { return false };
        // Whatever programmed it meanwhile wrote all that is known.
        if !self.translation.awaits_update[page as usize] {
            return true;
        }
        if !self.update_after_collection(flash, lane, page) {
            self.space.lanes.cursor(lane).updates.push(page);
            return false;
        }
        true
    }

    /// Moves one valid page. `false`: no room.
    #[inline]
    fn relocate<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, cause: Cause) -> bool {
        let back = self.pages.back(page);
        let logical = match back.held() {
            Held::Tombstone(slot) => {
                return self.trims.relocate(flash, &mut self.pages, &mut self.space, lane, slot);
            }
            Held::Version(logical) => logical,
        };
        if S::PINNED && self.pages.find(logical) != Some(page) {
            if !self.kept.is_moved(logical, page) {
                return true;
            }
            let Some(target) = self.space.copy_page(&mut self.pages, lane, back) else { return false };
            self.kept.relocate(&mut self.pages, logical, page, target);
            self.issue_copy(flash, lane, page, target, cause);
            return true;
        }
        let target = self.space.copy_page(&mut self.pages, lane, back);
        let Some(target) = target.or_else(|| self.space.page_elsewhere(&mut self.pages, lane, back)) else {
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
        let mut command = Command {
            page: target,
            supersedes: Some(page),
            what: Program::Copy,
            logical: self.pages.back(target).bits(),
            sequence: 0, // a copy keeps the number of its source
            cause,
            completion: Completion::Notify(lane as u32),
            after: None,
        };
        let outcome = if self.settings.copyback && self.space.lanes.of(target) == lane {
            flash.copyback(self.owner, command)
        } else {
            let sectors = self.geometry.sectors_per_page() as u8;
            let read = Read { page, cause, sectors, payload: PayloadId::NONE, completion: None, after: None };
            command.after = flash.read(self.owner, read).pending();
            flash.program(self.owner, command)
        };
        self.space.lanes.cursor(lane).issued(outcome);
    }

    /// All copies of the victim are issued: it is erased as soon as nothing pins it. `false`: trims
    /// that may hold its pages must be logged first and find no room now.
    fn end_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let Some(collection) = self.space.lanes.cursor(lane).collection.take() else { return false };
        let held = flash.core().block(collection.victim).pins > 0 && !self.trims.is_empty();
        if held && !self.trims.log_in(flash, &mut self.pages, &mut self.space, lane) {
            self.space.lanes.cursor(lane).collection = Some(collection);
            return false;
        }
        self.space.release_promise(lane);
        debug_assert!(self.pages.blocks().valid_count(collection.victim) == 0, "an emptied victim has no valid page");
        self.space.lanes.cursor(lane).spare_list = collection.pages;
        self.space.lanes.erase_begins(collection.victim);
        if flash.core().breaks(nand::LawBroken::EarlyReuse) {
            self.space.lanes.free(collection.victim, 0);
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
        self.space.lanes.erase_ends(block);
        if !flash.core().breaks(nand::LawBroken::EarlyReuse) {
            self.space.lanes.free(block, flash.core().block(block).erases);
        }
    }

    /// A block is free now.
    pub(super) fn erased<F: Flash>(&mut self, flash: &mut F, block: BlockId) {
        self.count_erased(flash, block);
        self.collect(flash, self.space.lanes.of_block(block));
    }
}
