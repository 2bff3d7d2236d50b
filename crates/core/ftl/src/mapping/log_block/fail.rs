//! Programs that fail: the block is given up, its logical block is merged into another one.
//!
//! A copy that fails goes back to its source. Data of the host and tombstones stay in the controller,
//! which answers reads, until a full merge of their logical block programs them at their own offsets. A failed
//! version that is not the newest is not placed again: it is needed only until the newest one is on flash.

use super::lbn::Lbn;
use super::merge::Kind;
use super::tables::Tables;
use super::trims::{is_tombstone, newest};
use crate::mapping::common::reach;
use nand::{Flash, Outcome, Program, ProgramFailure};
use units::{BlockId, Lpn, Ppn};

impl Tables {
    pub(super) fn program_failed<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        self.give_up(flash, self.geometry.block_of(failure.page));
        if failure.what == Program::Copy {
            let source = failure.supersedes.expect("a copy has a source");
            if is_tombstone(failure) {
                self.trims.relocate(&mut self.pages, failure.page, source);
            } else {
                self.pages.relocate(Lpn(failure.logical), failure.page, source);
            }
            flash.abandon(failure.id, source);
            return;
        }
        self.jobs.failed(self.lbns.of(self.trims.range_of(failure).first), *failure);
    }

    /// Programs nothing more into a block, and has its logical block merged.
    pub(super) fn give_up<F: Flash>(&mut self, flash: &F, block: BlockId) {
        if let Some(lbn) = self.blocks.give_up(block, flash.state().block(block).has_failed()) {
            self.jobs.rescue(lbn, Some(block));
        }
    }

    /// Programs what was to go to `from` at `to`, if that program failed.
    pub(super) fn place_failed<F: Flash>(&mut self, flash: &mut F, lbn: Lbn, from: Ppn, to: Ppn) -> Option<Outcome> {
        let failure = self.jobs.take_failure(lbn, from)?;
        // Several programs may supersede one page: their pins go where its data goes.
        while flash.retarget(failure.page, to) {}
        reach(flash, to);
        Some(flash.place_again(failure.id, to))
    }

    /// Begins the merges that failures (or a power cut) made necessary, as far as there is room.
    #[cold]
    pub(super) fn pump_rescues<F: Flash>(&mut self, flash: &mut F) {
        for lbn in self.jobs.waiting_rescues() {
            // Failed programs whose newest version is on flash are given up.
            let is_needed = |failure: &ProgramFailure| {
                let pages = self.trims.range_of(failure).pages();
                pages.filter_map(|logical| newest(&self.pages, logical)).any(|page| !flash.state().is_programmed(page))
            };
            for failure in self.jobs.take_needless(lbn, is_needed) {
                self.abandon(flash, &failure);
            }
            if self.jobs.has_failures(lbn) || self.blocks.has_odd(lbn) {
                self.begin(flash, lbn, Kind::Full);
            } else {
                self.jobs.call_off_rescue(lbn);
            }
        }
    }

    fn abandon<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let readers_to = if is_tombstone(failure) {
            self.trims.release(flash, failure.page);
            failure.page
        } else {
            newest(&self.pages, Lpn(failure.logical)).expect("what failed was written or trimmed since")
        };
        flash.abandon(failure.id, readers_to);
    }

    /// A full merge has ended: everything newest is on flash.
    pub(super) fn settle_rescue<F: Flash>(&mut self, flash: &mut F, lbn: Lbn) {
        if let Some(failures) = self.jobs.settle_rescue(lbn) {
            for failure in &failures {
                self.abandon(flash, failure);
            }
            self.trims.release_all(flash, self.lbns, lbn);
        }
    }
}
