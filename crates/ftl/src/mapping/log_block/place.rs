//! Where pages go: in place, or to log blocks; and where blocks come from.

use super::state::Role;
use super::{AWAITED, LogMap, NOBODY, NONE, Scheme};
use nand::Flash;
use units::{BlockId, Cause, Ppn};

/// What is to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mapping) enum Put {
    /// A page of the host.
    Data,
    /// A tombstone.
    Tombstone,
}

/// What a data block says to a page.
pub(in crate::mapping) enum InPlace {
    /// Its place is still erased.
    Page(Ppn),
    /// Its place is taken.
    Taken,
    /// There is no data block, and none can be opened now.
    Wait,
}

impl<S: Scheme> LogMap<S> {
    /// Where to program a page, if there is room.
    #[inline]
    pub(super) fn place<F: Flash>(&mut self, flash: &mut F, logical: u32, put: Put) -> Option<Ppn> {
        let (lbn, _) = self.split(logical);
        if self.locked[lbn as usize] {
            return self.place_rewritten(flash, logical, put);
        }
        loop {
            let page = S::place(self, flash, logical, put);
            if page.is_some() || !self.relieve(flash) {
                return page;
            }
        }
    }

    /// There is no room, and nothing under way will make any (power cuts may have left more log blocks than
    /// there should be, or failures fewer others): a merge will. `true`: it has been done at once.
    #[cold]
    fn relieve<F: Flash>(&mut self, flash: &mut F) -> bool {
        if self.is_making_room() || self.free.len() > self.kept(flash) {
            return false;
        }
        let cheap = self.log_owners().find(|lbn| self.needs_no_block(flash, *lbn));
        match cheap.or_else(|| self.log_owners().next()) {
            Some(lbn) => self.merge(flash, lbn),
            None => S::reclaim(self, flash),
        }
    }

    /// Whether something under way will give room.
    pub(super) fn is_making_room(&self) -> bool {
        let erasing = self.erasing > 0 || !self.garbage.is_empty();
        self.active > 0 || erasing || !self.awaiting.is_empty() || !self.rescues.is_empty() || !self.rewrites.is_empty()
    }

    /// A page's place in the data block of its logical block, which is opened if there is none.
    #[inline]
    pub(in crate::mapping) fn place_in_data<F: Flash>(&mut self, flash: &mut F, logical: u32) -> InPlace {
        let (lbn, offset) = self.split(logical);
        let mut block = self.data[lbn as usize];
        if block == NONE {
            let Some(opened) = self.take_for_host(flash) else { return InPlace::Wait };
            self.assign(opened, Role::Data, lbn);
            self.data[lbn as usize] = opened.0;
            block = opened.0;
        }
        let block = BlockId(block);
        if offset >= u32::from(flash.state().block(block).issued) {
            InPlace::Page(self.geometry.page_at(block, offset))
        } else {
            InPlace::Taken
        }
    }

    /// The log block of a logical block.
    #[inline]
    pub(in crate::mapping) fn own_log(&self, lbn: u32) -> Option<BlockId> {
        let block = self.log[lbn as usize];
        (block != NONE).then_some(BlockId(block))
    }

    /// Whether a logical block has a data block.
    #[inline]
    pub(in crate::mapping) fn has_data(&self, lbn: u32) -> bool {
        self.data[lbn as usize] != NONE
    }

    /// The next page of a block, if it has one.
    #[inline]
    pub(in crate::mapping) fn next_page<F: Flash>(&self, flash: &F, block: BlockId) -> Option<Ppn> {
        let row = flash.state().block(block);
        let next = u32::from(row.issued);
        (next < self.pages && !row.has_failed()).then(|| self.geometry.page_at(block, next))
    }

    /// A page's offset in its block.
    #[inline]
    pub(in crate::mapping) fn offset_of(&self, page: Ppn) -> u32 {
        self.geometry.page_in_block(page)
    }

    /// The page at an offset of the log block of a logical block that is not being merged.
    pub(in crate::mapping) fn page_of_log(&self, lbn: u32, offset: u32) -> Option<Ppn> {
        let log = self.own_log(lbn).filter(|_| !self.locked[lbn as usize])?;
        Some(self.geometry.page_at(log, offset))
    }

    /// Gives a logical block a log block of its own. `None`: there is none to give now.
    pub(in crate::mapping) fn open_log<F: Flash>(&mut self, flash: &mut F, lbn: u32) -> Option<BlockId> {
        debug_assert!(self.log[lbn as usize] == NONE, "a logical block has one log block");
        let block = self.take_for_host(flash)?;
        self.assign(block, Role::Log, lbn);
        self.log[lbn as usize] = block.0;
        self.links.push_front(&mut self.logs, lbn);
        Some(block)
    }

    /// A free block for logs shared by logical blocks.
    pub(in crate::mapping) fn open_shared<F: Flash>(&mut self, flash: &mut F) -> Option<BlockId> {
        let block = self.take_for_host(flash)?;
        self.assign(block, Role::Shared, NONE);
        Some(block)
    }

    /// A log block was written to.
    #[inline]
    pub(in crate::mapping) fn touch_log(&mut self, lbn: u32) {
        self.links.touch(&mut self.logs, lbn);
    }

    /// Logical blocks with log blocks of their own.
    pub(in crate::mapping) fn own_log_count(&self) -> u32 {
        self.logs.len()
    }

    /// Logical blocks with log blocks, the one whose log block was opened or touched longest ago first,
    /// without those being merged.
    pub(in crate::mapping) fn log_owners(&self) -> impl Iterator<Item = u32> + use<'_, S> {
        self.links.oldest_first(&self.logs).filter(|lbn| !self.locked[*lbn as usize])
    }

    /// Log blocks the drive may have: as many as asked for, and as failures leave.
    pub(in crate::mapping) fn log_limit<F: Flash>(&self, flash: &F) -> u32 {
        let wanted = self.settings.log_blocks.or(S::DEFAULT_LOGS).unwrap_or(u32::MAX);
        // Where blocks may fail, the target of a merge may as well.
        let kept = self.settings.merge_blocks + u32::from(flash.state().may_fail());
        let spare = self.good.saturating_sub(self.data.len() as u32 + kept);
        let least = self.good.saturating_sub(self.data.len() as u32 + self.settings.merge_blocks);
        wanted.min(spare.max(least.min(S::LEAST_LOGS)))
    }

    /// A free block, unless it must stay for a merge.
    pub(super) fn take_for_host<F: Flash>(&mut self, flash: &F) -> Option<BlockId> {
        (self.free.len() > self.kept(flash)).then(|| self.free.take()).flatten()
    }

    /// Free blocks the host does not get.
    pub(super) fn kept<F: Flash>(&self, flash: &F) -> u32 {
        if flash.state().may_fail() { self.settings.merge_blocks } else { 1 }
    }

    pub(super) fn assign(&mut self, block: BlockId, role: Role, lbn: u32) {
        self.roles[block.index()] = role;
        self.owners[block.index()] = lbn;
        self.in_place[block.index()] = true;
    }

    /// Notes whether a page is programmed at its own offset.
    #[inline]
    pub(super) fn note_place(&mut self, page: Ppn, logical: u32) {
        let block = self.geometry.block_of(page);
        if self.geometry.page_in_block(page) != logical % self.pages {
            self.in_place[block.index()] = false;
        }
    }

    /// Takes a log block away from its logical block.
    pub(super) fn detach_log(&mut self, lbn: u32) -> Option<BlockId> {
        let block = self.own_log(lbn)?;
        self.log[lbn as usize] = NONE;
        self.links.remove(&mut self.logs, lbn);
        Some(block)
    }

    /// Erases a block without valid pages, as soon as nothing pins it. Programs of it that nobody needs any
    /// more may still be on their way to the die; no program enters a block whose erase was issued, so they
    /// go first.
    pub(in crate::mapping) fn erase<F: Flash>(&mut self, flash: &mut F, block: BlockId, cause: Cause) {
        debug_assert!(self.blocks.valid_count(block) == 0, "block {block} is erased with valid pages");
        let row = flash.state().block(block);
        if row.done != row.issued && !row.has_failed() {
            let last = self.geometry.page_at(block, u32::from(row.issued) - 1);
            self.assign(block, Role::Garbage, NONE);
            self.garbage.push(block);
            flash.await_program(self.owner, last, AWAITED | NOBODY);
            return;
        }
        self.assign(block, Role::Erasing, NONE);
        self.erasing += 1;
        if flash.erase(self.owner, block, cause) == nand::Outcome::Done {
            self.erasing -= 1;
            self.set_free(block);
        }
    }

    /// Erases what could not be erased before.
    #[cold]
    pub(super) fn erase_garbage<F: Flash>(&mut self, flash: &mut F) {
        for block in std::mem::take(&mut self.garbage) {
            let row = flash.state().block(block);
            if row.done == row.issued || row.has_failed() {
                self.erase(flash, block, Cause::Merge);
            } else {
                self.garbage.push(block);
            }
        }
    }

    /// A block is free now.
    pub(super) fn set_free(&mut self, block: BlockId) {
        if let Some(kind) = self.merged_away.remove(&block) {
            self.counters.erases[kind as usize] += 1;
        }
        self.assign(block, Role::Free, NONE);
        self.free.push(&self.geometry, block);
        self.room = true;
        self.freed += 1;
    }
}
