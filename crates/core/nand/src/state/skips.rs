//! Pages that are passed over: places in a block that stay erased.

use super::{FlashState, SKIPS};
use units::{BlockId, Ppn};

impl FlashState {
    /// Passes over the erased pages of a block below `page`: they stay erased until the block is, and
    /// are never read. Only where programs are issued in order of pages anyway; the strict order of
    /// [`FlashState::claim_page`] holds for all others.
    pub(crate) fn pass_over(&mut self, page: Ppn) -> (BlockId, u16, u16) {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page) as u16;
        let row = &mut self.blocks[block.index()];
        assert!(row.issued <= position, "page {position} of block {block} is not beyond its next, {}", row.issued);
        let from = row.issued;
        if from < position {
            row.flags |= SKIPS;
            row.issued = position;
        }
        (block, from, position)
    }

    /// As [`FlashState::pass_over`], where programs before `page` may still be on their way to the die.
    pub(crate) fn pass_over_in_turn(&mut self, page: Ppn) {
        let (block, from, to) = self.pass_over(page);
        let row = &mut self.blocks[block.index()];
        if from == to {
            return;
        }
        if row.entered == from {
            row.entered = to;
        } else if let Some(last) = self.skips.iter_mut().find(|skip| skip.0 == block && skip.2 == from) {
            last.2 = to;
        } else {
            self.skips.push((block, from, to));
        }
    }

    /// Whether nothing but pages passed over lies between the last program that entered the queue of its die
    /// and this one, which may then enter as well.
    #[cold]
    pub(crate) fn jumps(&mut self, block: BlockId, position: u16) -> bool {
        let next = self.blocks[block.index()].entered;
        let Some(at) = self.skips.iter().position(|skip| *skip == (block, next, position)) else { return false };
        self.skips.swap_remove(at);
        self.blocks[block.index()].entered = position;
        true
    }
}
