//! Uses of blocks: what their owner may say of them without a command.

use super::{FlashState, SKIPS};
use units::{BlockId, Ppn};

/// What a layer may say of its blocks: see [`crate::Flash::blocks_mut`].
pub struct BlockUse<'a>(pub(crate) &'a mut FlashState);

impl BlockUse<'_> {
    /// Keeps a block from being erased until [`crate::Flash::release`].
    #[inline]
    pub fn hold(self, block: BlockId) {
        self.0.row(block).pins += 1;
    }

    /// The erased block is programmed with one bit a cell until it is erased again: it has fewer pages, at their own
    /// times ([`FlashState::pages_of`]).
    ///
    /// # Panics
    /// If the block is not erased, or cells always hold as much.
    pub fn use_slc(self, block: BlockId) {
        self.0.use_slc(block);
    }

    /// Passes over the erased pages of a block below `page`, which is programmed next: they stay erased until the block
    /// is, and are never read. An owner whose pages have places of their own within a block leaves gaps. Nobody else
    /// may: the strict order of [`FlashState::claim_page`] holds for all others.
    ///
    /// # Panics
    /// If a program was issued for the page, or for one behind it.
    pub fn skip_to(self, page: Ppn) {
        let (block, position) = (self.0.geometry.block_of(page), self.0.geometry.page_in_block(page) as u16);
        let row = self.0.row(block);
        assert!(row.issued <= position, "page {position} of block {block} is not beyond its next, {}", row.issued);
        let from = std::mem::replace(&mut row.issued, position);
        if from == position {
            return;
        }
        row.flags |= SKIPS;
        // Programs before the gap may still be on their way to the die.
        if row.entered == from || row.done == from {
            row.entered = position;
        } else if let Some(last) = self.0.skips.iter_mut().find(|skip| skip.0 == block && skip.2 == from) {
            last.2 = position;
        } else {
            self.0.skips.push((block, from, position));
        }
    }
}

impl FlashState {
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
