//! A whole logical block is written anew: its pages go to a free block, which becomes the data block.
//!
//! The layer above says so beforehand; the blocks replaced are erased when the last page has been issued, and
//! nothing is copied. That is a switch which erases the old data block, and the log block if there is one.

use super::Put;
use super::merge::Kind;
use super::tables::Tables;
use nand::Flash;
use units::{Lpn, Ppn};

impl Tables {
    /// The pages `first..first + pages` come next, in order. `false`: there is no block to take now.
    pub(super) fn begin_rewrite<F: Flash>(&mut self, flash: &mut F, first: Lpn, pages: u32) -> bool {
        self.pump(flash);
        let lbn = self.lbns.of(first);
        if self.lbns.offset(first) != 0 || pages != self.lbns.len(lbn) {
            return true;
        }
        if self.jobs.is_locked(lbn) {
            return false;
        }
        if self.blocks.table.data(lbn).is_none() && self.blocks.table.log(lbn).is_none() {
            return true; // nothing to replace
        }
        match self.blocks.open_target(flash, lbn) {
            Some(target) => {
                self.jobs.begin_rewrite(lbn, target);
                true
            }
            None => !self.is_making_room(), // if nothing is, the pages go where any others would
        }
    }

    /// The page's place in the block its logical block is written to. `None`: its logical block is merged.
    #[cold]
    pub(super) fn place_rewritten<F: Flash>(&self, flash: &F, logical: Lpn, put: Put) -> Option<Ppn> {
        let target = self.jobs.rewritten_to(self.lbns.of(logical))?;
        let (offset, next) = (self.lbns.offset(logical), u32::from(flash.state().block(target).issued));
        debug_assert!(put == Put::Data && offset == next, "a block is written anew in order");
        (put == Put::Data && offset == next).then(|| self.geometry.page_at(target, offset))
    }

    /// A page of a logical block that is written anew was issued: after the last one the other blocks go.
    #[cold]
    pub(super) fn note_rewritten<F: Flash>(&mut self, flash: &mut F, logical: Lpn) {
        let lbn = self.lbns.of(logical);
        if self.lbns.offset(logical) + 1 < self.lbns.len(lbn) {
            return;
        }
        let Some(target) = self.jobs.end_rewrite(lbn) else { return };
        if self.jobs.is_to_rescue(lbn) {
            // A program of an older version failed: a merge settles everything.
            self.blocks.make_odd(target, lbn);
        } else {
            self.replace_all(flash, lbn, target, Kind::Switch);
        }
    }
}
