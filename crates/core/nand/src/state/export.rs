//! States of blocks as numbers, for a snapshot or a mirror.

use super::{BAD, BlockRow, FAILED, FlashState, REFRESH, SKIPS, SLC};
use crate::contents::KeptBlock;
use units::BlockId;

impl FlashState {
    /// Block states as numbers, for a snapshot: done, flags and erases of each block, then the
    /// state of the fault stream.
    pub fn export(&self) -> (Vec<[u32; 3]>, [u64; 4]) {
        let rows = self.blocks.iter().map(|row| [u32::from(row.done), u32::from(row.flags & !SKIPS), row.erases]);
        (rows.collect(), self.faults.state())
    }

    /// Tells the mirror, if there is one, what a block is now.
    pub(super) fn reflect_block(&self, block: BlockId) {
        if let Some(contents) = self.contents() {
            contents.reflect_block(block, self.kept_block(block));
        }
    }

    /// What is kept of a block beside its pages.
    pub fn kept_block(&self, block: BlockId) -> KeptBlock {
        let row = self.block(block);
        let slc_erases = self.slc_erases().get(block.index()).copied().unwrap_or(0);
        KeptBlock { erases: row.erases, slc_erases, is_slc: row.is_slc(), is_bad: row.is_bad() }
    }

    /// Puts back what a mirror was told of a block whose pages are restored: how many pages from its first were
    /// programmed, some passed over or not. What the drive of then ran or waited for is forgotten.
    ///
    /// # Panics
    /// If a block has fewer pages.
    pub fn restore_block(&mut self, block: BlockId, done: u32, gaps: bool, kept: KeptBlock) {
        assert!(
            done <= self.geometry.pages_per_block,
            "a block has {} pages, not {done}",
            self.geometry.pages_per_block
        );
        let KeptBlock { erases, slc_erases, is_slc, is_bad } = kept;
        let done = done as u16;
        let flag = |flag, on| if on { flag } else { 0 };
        // How an erased block was to be used is in nobody's memory any more.
        let flags = flag(BAD, is_bad) | flag(SKIPS, gaps) | flag(SLC, is_slc && done > 0);
        self.blocks[block.index()] = BlockRow { done, issued: done, entered: done, flags, erases, ..BlockRow::NEW };
        if let Some(slc) = self.slc.as_deref_mut() {
            slc.erases[block.index()] = slc_erases;
        }
    }

    /// Restores what [`FlashState::export`] gave. `false`: the number of blocks or a page count
    /// does not fit this geometry, nothing was changed.
    pub fn import(&mut self, rows: &[[u32; 3]], faults: [u64; 4]) -> bool {
        let fits = |row: &[u32; 3]| {
            row[0] <= self.geometry.pages_per_block && row[1] & !u32::from(BAD | FAILED | SLC | REFRESH) == 0
        };
        if rows.len() != self.blocks.len() || !rows.iter().all(fits) {
            return false;
        }
        for (row, &[done, flags, erases]) in self.blocks.iter_mut().zip(rows) {
            let done = done as u16;
            *row = BlockRow { done, issued: done, entered: done, flags: flags as u16, erases, ..BlockRow::NEW };
        }
        self.faults.set_state(faults);
        true
    }
}
