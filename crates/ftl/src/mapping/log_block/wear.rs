//! Static wear levelling: what is never written moves to worn blocks, so that the blocks under it wear as well.

use super::merge::Kind;
use super::{LogMap, NONE, Scheme};
use nand::Flash;
use units::BlockId;

/// Blocks freed between two looks at the spread of wear.
const LEVEL_EVERY: u32 = 8;

impl<S: Scheme> LogMap<S> {
    /// Moves the logical block whose data block is least worn, if wear has drifted apart.
    #[cold]
    pub(super) fn level<F: Flash>(&mut self, flash: &mut F) {
        self.freed = 0;
        let wear = |block: u32| flash.state().block(BlockId(block)).erases;
        let most = (0..self.geometry.blocks()).map(wear).max().unwrap_or(0);
        let is_cold = |lbn: &u32| {
            let at = *lbn as usize;
            self.data[at] != NONE && self.log[at] == NONE && !self.locked[at]
        };
        let coldest = (0..self.data.len() as u32).filter(is_cold).min_by_key(|lbn| wear(self.data[*lbn as usize]));
        let Some(coldest) = coldest else { return };
        if most - wear(self.data[coldest as usize]) > self.settings.level_gap {
            self.begin(flash, coldest, Kind::Level, self.pages);
        }
    }

    /// Whether it is time to look at the spread of wear.
    #[inline]
    pub(super) fn is_to_level(&self) -> bool {
        self.settings.level_gap > 0 && self.freed >= LEVEL_EVERY
    }

    /// The most worn free block, unless it must stay for a merge.
    pub(super) fn take_worn<F: Flash>(&mut self, flash: &F) -> Option<BlockId> {
        let is_spare = self.free.len() > self.kept(flash);
        is_spare.then(|| self.free.take_worn(|block| flash.state().block(block).erases)).flatten()
    }
}
