//! Merges: a logical block gets one data block again.
//!
//! A merge locks its logical block and begins when the newest version of each page is on flash, so
//! that copies have something to copy. Copies go to a free block at their own offsets, or, where the log
//! block holds the first pages in order, behind them.

use super::AWAITED;
use super::jobs::Merge;
use super::lbn::Lbn;
use super::tables::Tables;
use super::trims::newest;
use crate::mapping::common::{UNMAPPED, reach};
use nand::{CopyWay, Flash, Outcome, PageCopy};
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
    /// The cause of its copies and erases.
    pub fn cause(self) -> Cause {
        if self == Kind::Level { Cause::Wear } else { Cause::Merge }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MergeCounters {
    /// Switch, partial and full merges.
    pub merges: [u64; 3],
    pub copies: u64,
    /// Logical blocks moved to worn blocks.
    pub levelled: u64,
}

impl Tables {
    /// Merges a logical block. `true`: it has been done; otherwise it is under way, or waits for
    /// something that is.
    pub(in crate::mapping) fn merge<F: Flash>(&mut self, flash: &mut F, lbn: Lbn) -> bool {
        if self.jobs.is_locked(lbn) {
            return false;
        }
        let kind = self.merge_kind(flash, lbn);
        if kind == Kind::Switch {
            self.becomes_data(flash, lbn, Kind::Switch);
            return true;
        }
        self.begin(flash, lbn, kind)
    }

    /// Fills the log block of a logical block with copies up to `offset`. As [`Tables::merge`].
    pub(in crate::mapping) fn fill<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, offset: u32) -> bool {
        let next = self.blocks.table.log(lbn).map(|log| u32::from(flash.state().block(log).issued));
        next == Some(offset) || self.begin_to(flash, lbn, Kind::Fill, offset)
    }

    /// Merges a logical block in full, for any state of its log block. As [`Tables::merge`].
    pub(in crate::mapping) fn merge_full<F: Flash>(&mut self, flash: &mut F, lbn: Lbn) -> bool {
        !self.jobs.is_locked(lbn) && self.begin(flash, lbn, Kind::Full)
    }

    /// Logical blocks with valid pages in a block, some more than once.
    pub(in crate::mapping) fn logical_blocks_in(&self, block: BlockId) -> Vec<Lbn> {
        let mut blocks: Vec<Lbn> = self.pages.valid_in(block).map(|page| self.logical_block_of(page)).collect();
        blocks.dedup();
        blocks
    }

    /// A logical block with a valid page in a block that is not being merged.
    pub(in crate::mapping) fn next_to_merge(&self, block: BlockId) -> Option<Lbn> {
        let mut blocks = self.pages.valid_in(block).map(|page| self.logical_block_of(page));
        blocks.find(|lbn| !self.jobs.is_locked(*lbn))
    }

    /// Whether copies of pages of an empty block may still fail and go back to them.
    pub(in crate::mapping) fn may_be_returned_to<F: Flash>(&self, flash: &F, block: BlockId) -> bool {
        self.jobs.is_merging() || self.jobs.has_rescues() && flash.state().block(block).pins() > 0
    }

    /// The cheapest merge that will do.
    pub(super) fn merge_kind<F: Flash>(&self, flash: &F, lbn: Lbn) -> Kind {
        let Some(log) = self.blocks.table.log(lbn) else { return Kind::Full };
        let next = u32::from(flash.state().block(log).issued);
        let complete = next >= self.lbns.len(lbn);
        if !self.blocks.is_in_place(log) || !complete && !self.settings.fills_up() {
            return Kind::Full;
        }
        let below = |page: Ppn| self.geometry.page_in_block(page) < next || self.pages.back(page).is_tombstone();
        if self.blocks.table.data(lbn).is_some_and(|data| self.pages.valid_in(data).any(below)) {
            return Kind::Full;
        }
        if complete { Kind::Switch } else { Kind::Partial }
    }

    /// Begins a merge if it can. `true`: it has ended already.
    pub(super) fn begin<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, kind: Kind) -> bool {
        self.begin_to(flash, lbn, kind, self.geometry.pages_per_block)
    }

    /// As [`Tables::begin`], of the pages before the offset `end`.
    fn begin_to<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, kind: Kind, end: u32) -> bool {
        if !self.jobs.has_slot() || self.awaits_program(flash, lbn) {
            return false;
        }
        let target = match kind {
            Kind::Full | Kind::Level => self.blocks.take_target(flash, lbn, kind),
            _ => Some(self.blocks.table.log(lbn).expect("a log block is filled")),
        };
        let Some(target) = target else { return false };
        let next = u32::from(flash.state().block(target).issued);
        let slot = self.jobs.begin(Merge { lbn, kind, target, next, end, in_flight: 0 });
        self.go_on(flash, slot);
        !self.jobs.is_locked(lbn) // it stays locked if the target failed
    }

    /// Whether the newest version of some page of a logical block is still being programmed; then it is
    /// awaited. Programs that failed are placed by the merge.
    fn awaits_program<F: Flash>(&mut self, flash: &mut F, lbn: Lbn) -> bool {
        if self.jobs.is_awaiting(lbn) {
            return true;
        }
        let mut pages = self.lbns.pages_of(lbn).filter_map(|logical| newest(&self.pages, logical));
        let unfinished = pages.find(|page| !flash.state().is_programmed(*page) && !self.jobs.has_failed(lbn, *page));
        let Some(page) = unfinished else { return false };
        if flash.await_program(self.owner, page, AWAITED | lbn.0) != Outcome::Done {
            self.jobs.await_program(lbn);
        }
        true
    }

    /// A copy ended, or a failed program was placed.
    pub(super) fn copied<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        self.jobs.copied(slot);
        self.go_on(flash, slot);
    }

    /// Issues copies until the window is full or all are.
    fn go_on<F: Flash>(&mut self, flash: &mut F, slot: usize) {
        loop {
            let Some(merge) = self.jobs.merge(slot) else { return };
            let has_failed = flash.state().block(merge.target).has_failed();
            if has_failed || merge.next == merge.end {
                if merge.in_flight == 0 {
                    self.end(flash, slot, has_failed);
                }
                return;
            }
            if merge.in_flight >= self.settings.window {
                return;
            }
            let under_way = self.copy(flash, &merge, slot);
            self.jobs.advance(slot, under_way);
        }
    }

    /// Copies the page at the next offset, if it is anywhere but in the target. `true`: it is under way.
    fn copy<F: Flash>(&mut self, flash: &mut F, merge: &Merge, slot: usize) -> bool {
        let Some(logical) = self.lbns.page(merge.lbn, merge.next) else { return false };
        let entry = self.pages.entry(logical);
        let Some(from) = entry.page_or_slot().map(Ppn) else { return false };
        if self.geometry.block_of(from) == merge.target {
            return false;
        }
        let to = self.geometry.page_at(merge.target, merge.next);
        let is_version = entry.is_page();
        if is_version {
            self.pages.relocate(logical, from, to);
        } else {
            // It may be on flash though the event that says so has not been handled yet.
            self.trims.programmed(flash, from);
            self.trims.relocate(&mut self.pages, from, to);
        }
        if let Some(outcome) = self.place_failed(flash, merge.lbn, from, to) {
            return outcome != Outcome::Done && flash.await_program(self.owner, to, slot as u32) != Outcome::Done;
        }
        let cause = merge.kind.cause();
        self.counters.copies += u64::from(cause == Cause::Merge);
        let copy = PageCopy {
            from,
            to,
            logical: if is_version { logical.0 } else { UNMAPPED },
            cause,
            token: slot as u32,
            way: CopyWay::Channel,
        };
        reach(flash, to);
        flash.copy(self.owner, copy) != Outcome::Done
    }

    /// All copies are on flash, or the target failed and becomes one more block to be merged.
    fn end<F: Flash>(&mut self, flash: &mut F, slot: usize, has_failed: bool) {
        match self.jobs.end(slot, !has_failed) {
            Some(merge) if has_failed => self.give_up(flash, merge.target),
            Some(Merge { kind: Kind::Fill, .. }) | None => {}
            Some(Merge { lbn, kind: kind @ (Kind::Full | Kind::Level), target, .. }) => {
                self.replace_all(flash, lbn, target, kind);
            }
            Some(Merge { lbn, kind, .. }) => self.becomes_data(flash, lbn, kind),
        }
    }

    /// The log block of a logical block becomes its data block.
    fn becomes_data<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, kind: Kind) {
        let old = self.blocks.log_becomes_data(lbn);
        self.count(kind);
        if let Some(old) = old {
            self.erase_merged(flash, old, kind);
        }
    }

    /// The target of a merge or of a block written anew becomes the data block; all others are erased.
    pub(super) fn replace_all<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, target: BlockId, kind: Kind) {
        self.count(kind);
        self.settle_rescue(flash, lbn);
        if let Some(old) = self.blocks.target_becomes_data(lbn, target) {
            self.erase_merged(flash, old, kind);
        }
        if let Some(log) = self.blocks.detach_log(lbn) {
            self.erase_merged(flash, log, kind);
        }
        while let Some(block) = self.blocks.take_odd(lbn) {
            self.erase_merged(flash, block, kind);
        }
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Level => self.counters.levelled += 1,
            kind => self.counters.merges[kind as usize] += 1,
        }
    }

    /// Erases a block that a merge replaced and emptied.
    fn erase_merged<F: Flash>(&mut self, flash: &mut F, block: BlockId, kind: Kind) {
        debug_assert!(self.pages.is_empty(block), "block {block} is erased with valid pages");
        self.blocks.erase_merged(flash, block, kind);
    }

    /// Erases a shared log block that full merges have emptied.
    pub(in crate::mapping) fn erase_shared<F: Flash>(&mut self, flash: &mut F, block: BlockId) {
        self.erase_merged(flash, block, Kind::Full);
    }
}
