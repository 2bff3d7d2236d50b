//! Commands that take effect where they are issued: pages hold nothing, and no program or read fails or
//! errs. An erase of a worn-out block may fail.
//!
//! Protects: law 11, as in the long way of a command.

use super::FlashState;
use super::blocks::USABLE;
use crate::flash::CopyRun;
use units::{Cause, Ppn};

impl FlashState {
    /// Programs a page at once where nothing can go wrong: no contents, no program fails, a usable block.
    /// `false`: nothing was done, take the careful way.
    #[inline(always)]
    pub(crate) fn program_plain(&mut self, page: Ppn, cause: Cause) -> bool {
        if !self.fill_plain(page, 1) {
            return false;
        }
        self.counters.programs[cause.index()] += 1;
        self.mix(u64::from(page.0));
        true
    }

    /// The next `count` pages of a block, from `page` on, are programmed. `false`: nothing was done.
    #[inline(always)]
    fn fill_plain(&mut self, page: Ppn, count: u16) -> bool {
        let block = self.geometry.block_of(page);
        let row = self.blocks.at(block);
        if !self.plain || row.flags & !USABLE != 0 {
            return false;
        }
        let next = block.0 * self.geometry.pages_per_block + u32::from(row.issued);
        assert!(next == page.0, "program of page {page} of block {block}, but page {next} is next");
        let was_free = row.issued == 0;
        row.issued += count;
        row.done = row.issued;
        self.blocks.taken(was_free);
        true
    }

    /// Copies pages at once where nothing can go wrong, as [`FlashState::program_plain`] programs one. `false`: nothing
    /// was done.
    pub(crate) fn copy_plain(&mut self, run: &CopyRun<'_>) -> bool {
        let CopyRun { from, to, cause, .. } = *run;
        let count = from.len() as u32;
        let room = self.geometry.pages_per_block - self.geometry.page_in_block(to);
        assert!(count <= room, "{count} copies to page {to} leave its block");
        if !self.fill_plain(to, count as u16) {
            return false;
        }
        debug_assert!(from.iter().all(|page| self.may_be_read(Ppn(*page))), "a page is copied that is not programmed");
        self.counters.reads[cause.index()] += u64::from(count);
        self.counters.programs[cause.index()] += u64::from(count);
        (to.0..to.0 + count).for_each(|page| self.mix(u64::from(page)));
        true
    }
}
