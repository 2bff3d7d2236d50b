//! A whole logical block is written anew: its pages go to a free block, which becomes the data block.
//!
//! The layer above says so beforehand; the blocks replaced are erased when the last page has been issued, and
//! nothing is copied. That is a switch which erases the old data block, and the log block if there is one.

use super::merge::Kind;
use super::place::Put;
use super::state::Role;
use super::{LogMap, Scheme};
use layer::Answer;
use nand::Flash;
use units::{BlockId, Ppn};

/// A logical block being written anew, and the block its pages go to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewrite {
    pub lbn: u32,
    pub target: BlockId,
}

impl<S: Scheme> LogMap<S> {
    /// The pages `first..first + pages` come next, in order. `Full`: there is no block to take now.
    pub(super) fn begin_rewrite<F: Flash>(&mut self, flash: &mut F, first: u32, pages: u32) -> Answer {
        self.pump(flash);
        let (lbn, offset) = self.split(first);
        if offset != 0 || pages != self.pages.min(self.map.len() as u32 - first) {
            return Answer::Done { failed: false };
        }
        let full = Answer::Full { taken: 0, pending: false };
        if self.locked[lbn as usize] {
            self.starved = true;
            return full;
        }
        if !self.has_data(lbn) && self.own_log(lbn).is_none() {
            return Answer::Done { failed: false }; // nothing to replace
        }
        match self.take_for_host(flash) {
            Some(target) => {
                self.assign(target, Role::Target, lbn);
                self.locked[lbn as usize] = true;
                self.rewrites.push(Rewrite { lbn, target });
                Answer::Done { failed: false }
            }
            None if self.is_making_room() => {
                self.starved = true;
                full
            }
            None => Answer::Done { failed: false }, // the pages go where any others would
        }
    }

    pub(super) fn is_rewritten(&self, lbn: u32) -> bool {
        self.rewrites.iter().any(|rewrite| rewrite.lbn == lbn)
    }

    /// The page's place in the block its logical block is written to. `None`: its logical block is merged.
    #[cold]
    pub(super) fn place_rewritten<F: Flash>(&mut self, flash: &F, logical: u32, put: Put) -> Option<Ppn> {
        let (lbn, offset) = self.split(logical);
        let rewrite = self.rewrites.iter().find(|rewrite| rewrite.lbn == lbn)?;
        let next = u32::from(flash.state().block(rewrite.target).issued);
        debug_assert!(put == Put::Data && offset == next, "a block is written anew in order");
        (put == Put::Data && offset == next).then(|| self.geometry.page_at(rewrite.target, offset))
    }

    /// A page of a logical block that is written anew was issued: after the last one the other blocks go.
    #[cold]
    pub(super) fn note_rewritten<F: Flash>(&mut self, flash: &mut F, logical: u32) {
        let (lbn, _) = self.split(logical);
        let end = ((lbn + 1) * self.pages).min(self.map.len() as u32);
        let Some(at) = self.rewrites.iter().position(|rewrite| rewrite.lbn == lbn) else { return };
        if logical + 1 < end {
            return;
        }
        let Rewrite { target, .. } = self.rewrites.swap_remove(at);
        self.room = true;
        if self.rescues.contains_key(&lbn) {
            // A program of an older version failed: a merge settles everything.
            self.roles[target.index()] = Role::Odd;
            self.odd.push(target);
            return;
        }
        self.locked[lbn as usize] = false;
        self.replace_all(flash, lbn, target, Kind::Switch);
    }
}
