//! Merges: a logical block gets one data block again.
//!
//! A merge locks its logical block and begins when the newest version of each page is on flash, so
//! that copies have something to copy. Copies go to a free block at their own offsets, or, where the log
//! block holds the first pages in order, behind them.

use super::state::Role;
use super::{AWAITED, LogMap, NONE, Scheme, TRIMMED, UNMAPPED};
use nand::{Completion, CopyWay, Flash, Outcome, PageCopy};
use units::{BlockId, Cause, Ppn};

/// How a logical block is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The log block is complete and becomes the data block.
    Switch,
    /// The log block is filled up with copies and becomes the data block.
    Partial,
    /// All pages are copied to a free block.
    Full,
    /// The log block is filled with copies up to a page of the host.
    Fill,
    /// Cold pages are copied to a worn block.
    Level,
}

impl Kind {
    /// What its copies and erases are counted as.
    fn cause(self) -> Cause {
        if self == Kind::Level { Cause::Wear } else { Cause::Merge }
    }
}

/// What merges did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MergeCounters {
    /// Switch, partial and full merges.
    pub merges: [u64; 3],
    /// Pages they copied.
    pub copies: u64,
    /// Blocks they erased.
    pub erases: [u64; 3],
    /// Logical blocks moved to worn blocks.
    pub levelled: u64,
}

/// A merge under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub lbn: u32,
    pub kind: Kind,
    pub target: BlockId,
    /// Next offset to copy, and the one behind the last.
    next: u32,
    end: u32,
    /// Programs of it under way.
    in_flight: u32,
}

impl<S: Scheme> LogMap<S> {
    /// Merges a logical block. `true`: it has been done; otherwise it is under way, or waits for
    /// something that is.
    pub(in crate::mapping) fn merge<F: Flash>(&mut self, flash: &mut F, lbn: u32) -> bool {
        if self.locked[lbn as usize] {
            return false;
        }
        let kind = self.merge_kind(flash, lbn);
        if kind == Kind::Switch {
            self.becomes_data(flash, lbn, Kind::Switch);
            return true;
        }
        self.begin(flash, lbn, kind, self.pages)
    }

    /// Fills the log block of a logical block with copies up to `offset`. As [`LogMap::merge`].
    pub(in crate::mapping) fn fill<F: Flash>(&mut self, flash: &mut F, lbn: u32, offset: u32) -> bool {
        let next = self.own_log(lbn).map(|log| u32::from(flash.state().block(log).issued));
        if next == Some(offset) {
            return true;
        }
        self.begin(flash, lbn, Kind::Fill, offset)
    }

    /// Merges a logical block in full, whatever its log block looks like. As [`LogMap::merge`].
    pub(in crate::mapping) fn merge_full<F: Flash>(&mut self, flash: &mut F, lbn: u32) -> bool {
        !self.locked[lbn as usize] && self.begin(flash, lbn, Kind::Full, self.pages)
    }

    /// Logical blocks with valid pages in a block, some more than once.
    pub(in crate::mapping) fn logical_blocks_in(&self, block: BlockId) -> Vec<u32> {
        let mut blocks: Vec<u32> = self.blocks.valid_pages_of(block).map(|page| self.logical_block_of(page)).collect();
        blocks.dedup();
        blocks
    }

    /// A logical block with a valid page in a block that is not being merged.
    pub(in crate::mapping) fn next_to_merge(&self, block: BlockId) -> Option<u32> {
        let mut blocks = self.blocks.valid_pages_of(block).map(|page| self.logical_block_of(page));
        blocks.find(|lbn| !self.locked[*lbn as usize])
    }

    /// Whether a block holds no valid page.
    pub(in crate::mapping) fn is_empty(&self, block: BlockId) -> bool {
        self.blocks.valid_count(block) == 0
    }

    /// The logical block of a valid page.
    fn logical_block_of(&self, page: u32) -> u32 {
        let back = self.back[page as usize];
        if back & TRIMMED == 0 { back / self.pages } else { self.tombstones[&page].first / self.pages }
    }

    /// Whether a logical block can be merged without a free block.
    pub(super) fn needs_no_block<F: Flash>(&self, flash: &F, lbn: u32) -> bool {
        self.merge_kind(flash, lbn) != Kind::Full
    }

    /// Whether copies of pages of an empty block may still fail and go back to them.
    pub(in crate::mapping) fn may_be_returned_to<F: Flash>(&self, flash: &F, block: BlockId) -> bool {
        self.active > 0 || !self.rescues.is_empty() && flash.state().block(block).pins > 0
    }

    /// The cheapest merge that will do.
    fn merge_kind<F: Flash>(&self, flash: &F, lbn: u32) -> Kind {
        let Some(log) = self.own_log(lbn) else { return Kind::Full };
        let next = u32::from(flash.state().block(log).issued);
        let complete = next >= self.pages.min(self.map.len() as u32 - lbn * self.pages);
        if !self.in_place[log.index()] || !complete && !self.settings.partial_merge && !S::IN_PLACE {
            return Kind::Full;
        }
        let data = self.data[lbn as usize];
        let below =
            |page: u32| self.geometry.page_in_block(Ppn(page)) < next || self.back[page as usize] & TRIMMED != 0;
        if data != NONE && self.blocks.valid_pages_of(BlockId(data)).any(below) {
            return Kind::Full;
        }
        if complete { Kind::Switch } else { Kind::Partial }
    }

    /// Begins a merge if it can. `true`: it has ended already.
    pub(super) fn begin<F: Flash>(&mut self, flash: &mut F, lbn: u32, kind: Kind, end: u32) -> bool {
        if self.active as usize == self.merges.len() || self.awaits_program(flash, lbn) {
            return false;
        }
        let target = match kind {
            Kind::Full | Kind::Level => {
                let taken = if kind == Kind::Full { self.free.take() } else { self.take_worn(flash) };
                let Some(target) = taken else { return false };
                self.assign(target, Role::Target, lbn);
                target
            }
            _ => self.own_log(lbn).expect("a log block is filled"),
        };
        let next = u32::from(flash.state().block(target).issued);
        let slot = self.merges.iter().position(Option::is_none).expect("merges under way are counted");
        self.locked[lbn as usize] = true;
        self.active += 1;
        self.merges[slot] = Some(Merge { lbn, kind, target, next, end, in_flight: 0 });
        self.go_on(flash, slot);
        !self.locked[lbn as usize] // it stays locked if the target failed
    }

    /// Whether the newest version of some page of a logical block is still being programmed; then it is
    /// awaited. Programs that failed are placed by the merge.
    fn awaits_program<F: Flash>(&mut self, flash: &mut F, lbn: u32) -> bool {
        if self.awaiting.contains(&lbn) {
            return true;
        }
        let Some(page) = self.unfinished(flash, lbn) else { return false };
        if flash.await_program(self.owner, page, AWAITED | lbn) != Outcome::Done {
            self.awaiting.insert(lbn);
        }
        true
    }

    /// A page of a logical block whose newest version is on its way to flash.
    fn unfinished<F: Flash>(&self, flash: &F, lbn: u32) -> Option<Ppn> {
        let first = lbn * self.pages;
        let end = (first + self.pages).min(self.map.len() as u32);
        let newest = (first..end).map(|logical| self.map[logical as usize]).filter(|entry| *entry != UNMAPPED);
        let mut pages = newest.map(|entry| Ppn(entry & !TRIMMED));
        pages.find(|page| !self.is_on_flash(flash.state(), *page) && !self.has_failed(lbn, *page))
    }

    /// Whether the program of a page has completed.
    pub(super) fn is_on_flash(&self, state: &nand::FlashState, page: Ppn) -> bool {
        self.geometry.page_in_block(page) < u32::from(state.block(self.geometry.block_of(page)).done)
    }

    /// A copy ended, or a failed program was placed.
    pub(super) fn copied<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        if let Some(merge) = &mut self.merges[slot] {
            merge.in_flight -= 1;
        }
        self.go_on(flash, slot);
    }

    /// Issues copies until the window is full or all are.
    fn go_on<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        loop {
            let Some(merge) = self.merges[slot] else { return };
            if flash.state().block(merge.target).has_failed() {
                if merge.in_flight == 0 {
                    self.dissolve(flash, slot);
                }
                return;
            }
            if merge.in_flight >= self.settings.window {
                return;
            }
            if merge.next == merge.end {
                if merge.in_flight == 0 {
                    self.end(flash, slot);
                }
                return;
            }
            let under_way = self.copy(flash, &merge, slot);
            if let Some(merge) = &mut self.merges[slot] {
                merge.next += 1;
                merge.in_flight += u32::from(under_way);
            }
        }
    }

    /// Copies the page at the next offset, if it is anywhere but in the target. `true`: it is under way.
    fn copy<F: Flash>(&mut self, flash: &mut F, merge: &Merge, slot: usize) -> bool {
        let logical = merge.lbn * self.pages + merge.next;
        let entry = self.map.get(logical as usize).copied().unwrap_or(UNMAPPED);
        let from = Ppn(entry & !TRIMMED);
        if entry == UNMAPPED || self.geometry.block_of(from) == merge.target {
            return false;
        }
        let to = self.geometry.page_at(merge.target, merge.next);
        if entry & TRIMMED == 0 {
            self.map[logical as usize] = to.0;
            self.back[to.index()] = logical;
            self.blocks.invalidate(from);
            self.blocks.validate(to);
        } else {
            // It may be on flash though the event that says so has not been handled yet.
            self.tombstone_ended(flash, from.0);
            self.move_tombstone(from, to);
        }
        if let Some(outcome) = self.place_failed(flash, merge.lbn, from, to) {
            return outcome != Outcome::Done && flash.await_program(self.owner, to, slot as u32) != Outcome::Done;
        }
        let cause = merge.kind.cause();
        self.counters.copies += u64::from(cause == Cause::Merge);
        let copy = PageCopy {
            from,
            to,
            logical: if entry & TRIMMED == 0 { logical } else { UNMAPPED },
            cause,
            completion: Completion::Notify(slot as u32),
            way: CopyWay::Channel,
        };
        self.reach(flash, to);
        flash.copy(self.owner, copy) != Outcome::Done
    }

    /// All copies are on flash.
    fn end<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        let Some(merge) = self.merges[slot].take() else { return };
        self.active -= 1;
        self.locked[merge.lbn as usize] = false;
        self.room = true;
        match merge.kind {
            Kind::Fill => {}
            kind @ (Kind::Full | Kind::Level) => self.replace_all(flash, merge.lbn, merge.target, kind),
            kind => self.becomes_data(flash, merge.lbn, kind),
        }
    }

    /// The log block of a logical block becomes its data block.
    fn becomes_data<F: Flash>(&mut self, flash: &mut F, lbn: u32, kind: Kind) {
        let log = self.detach_log(lbn).expect("it has a log block");
        let old = std::mem::replace(&mut self.data[lbn as usize], log.0);
        self.roles[log.index()] = Role::Data;
        self.count(kind);
        if old != NONE {
            self.erase_merged(flash, BlockId(old), kind);
        }
    }

    /// The target of a merge or of a block written anew becomes the data block; all others are erased.
    pub(super) fn replace_all<F: Flash>(&mut self, flash: &mut F, lbn: u32, target: BlockId, kind: Kind) {
        self.count(kind);
        self.settle_rescue(flash, lbn);
        self.roles[target.index()] = Role::Data;
        let old = std::mem::replace(&mut self.data[lbn as usize], target.0);
        if old != NONE {
            self.erase_merged(flash, BlockId(old), kind);
        }
        if let Some(log) = self.detach_log(lbn) {
            self.erase_merged(flash, log, kind);
        }
        let mut at = 0;
        while at < self.odd.len() {
            if self.owners[self.odd[at].index()] == lbn {
                let block = self.odd.swap_remove(at);
                self.erase_merged(flash, block, kind);
            } else {
                at += 1;
            }
        }
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Level => self.counters.levelled += 1,
            kind => self.counters.merges[kind as usize] += 1,
        }
    }

    fn erase_merged<F: Flash>(&mut self, flash: &mut F, block: BlockId, kind: Kind) {
        if kind != Kind::Level {
            self.merged_away.insert(block, kind);
        }
        self.erase(flash, block, kind.cause());
    }

    /// Erases a shared log block that full merges have emptied.
    pub(in crate::mapping) fn erase_shared<F: Flash>(&mut self, flash: &mut F, block: BlockId) {
        self.erase_merged(flash, block, Kind::Full);
    }

    /// The target of a merge failed: it becomes one more block to be merged.
    fn dissolve<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        let Some(merge) = self.merges[slot].take() else { return };
        self.active -= 1;
        self.give_up(flash, merge.target);
    }
}
