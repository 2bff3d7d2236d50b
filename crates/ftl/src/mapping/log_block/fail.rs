//! Programs that fail: the block is given up, its logical block is merged into another one.
//!
//! A copy that fails goes back to its source. Data of the host and tombstones stay in the controller,
//! which answers reads, until a full merge of their logical block programs them at their own offsets. A failed
//! version that is not the newest is not placed again: it is needed only until the newest one is on flash.

use super::merge::Kind;
use super::state::Role;
use super::{LogMap, NONE, Scheme, TRIMMED, UNMAPPED};
use nand::{Flash, Outcome, Program, ProgramFailure};
use units::{BlockId, Ppn};

/// A logical block that must be merged in full before it is written again.
#[derive(Clone, Debug, Default)]
pub(super) struct Rescue {
    /// Failed programs of it that have no other place yet.
    pub failures: Vec<ProgramFailure>,
}

impl<S: Scheme> LogMap<S> {
    pub(super) fn program_failed<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        self.give_up(flash, self.geometry.block_of(failure.page));
        if failure.what == Program::Copy {
            let source = failure.supersedes.expect("a copy has a source");
            if failure.logical == UNMAPPED {
                self.move_tombstone(failure.page, source);
            } else {
                self.map[failure.logical as usize] = source.0;
                self.blocks.invalidate(failure.page);
                self.blocks.validate(source);
            }
            flash.failed(failure.id).abandon(source);
            return;
        }
        let first = if failure.logical == UNMAPPED { self.tombstones[&failure.page.0].first } else { failure.logical };
        let lbn = first / self.pages;
        self.locked[lbn as usize] = true;
        self.rescues.entry(lbn).or_default().failures.push(*failure);
    }

    /// Programs nothing more into a block, and has its logical block merged.
    pub(super) fn give_up<F: Flash>(&mut self, flash: &F, block: BlockId) {
        let lbn = self.owners[block.index()];
        if flash.state().block(block).has_failed() && self.failing.insert(block) {
            self.good -= 1;
        }
        match self.roles[block.index()] {
            Role::Data => self.data[lbn as usize] = NONE,
            Role::Log => {
                self.detach_log(lbn);
            }
            Role::Target => self.rewrites.retain(|rewrite| rewrite.target != block),
            _ => return, // a shared log block takes no more pages and is reclaimed in its turn
        }
        self.roles[block.index()] = Role::Odd;
        self.odd.push(block);
        self.rescue(lbn);
    }

    /// Has a logical block merged in full.
    pub(super) fn rescue(&mut self, lbn: u32) {
        self.locked[lbn as usize] = true;
        self.rescues.entry(lbn).or_default();
    }

    /// Whether the program of this page of a logical block failed and has no other place yet.
    pub(super) fn has_failed(&self, lbn: u32, page: Ppn) -> bool {
        self.rescues.get(&lbn).is_some_and(|rescue| rescue.failures.iter().any(|failure| failure.page == page))
    }

    /// Programs what was to go to `from` at `to`, if that program failed.
    pub(super) fn place_failed<F: Flash>(&mut self, flash: &mut F, lbn: u32, from: Ppn, to: Ppn) -> Option<Outcome> {
        let failures = &mut self.rescues.get_mut(&lbn)?.failures;
        let at = failures.iter().position(|failure| failure.page == from)?;
        let failure = failures.swap_remove(at);
        // Several programs may supersede one page: their pins go where its data goes.
        while flash.failed(failure.id).retarget(to) {}
        self.reach(flash, to);
        Some(flash.failed(failure.id).place_again(self.owner, to))
    }

    /// Begins the merges that failures (or a power cut) made necessary, as far as there is room.
    #[cold]
    pub(super) fn pump_rescues<F: Flash>(&mut self, flash: &mut F) {
        let waiting: Vec<u32> = self.rescues.keys().copied().collect();
        for lbn in waiting {
            if self.is_rewritten(lbn) || self.merges.iter().flatten().any(|merge| merge.lbn == lbn) {
                continue;
            }
            self.drop_needless(flash, lbn);
            let idle = self.rescues[&lbn].failures.is_empty();
            if idle && !self.odd.iter().any(|block| self.owners[block.index()] == lbn) {
                self.rescues.remove(&lbn);
                self.locked[lbn as usize] = false;
                self.room = true;
            } else {
                self.begin(flash, lbn, Kind::Full, self.pages);
            }
        }
    }

    /// Gives up failed programs whose newest version is on flash.
    fn drop_needless<F: Flash>(&mut self, flash: &mut F, lbn: u32) {
        let failures = std::mem::take(&mut self.rescues.entry(lbn).or_default().failures);
        let (kept, needless): (Vec<_>, Vec<_>) =
            failures.into_iter().partition(|failure| self.is_needed(flash, failure));
        self.rescues.entry(lbn).or_default().failures = kept;
        for failure in needless {
            self.abandon(flash, &failure);
        }
    }

    /// Whether some page a failed program stands for has no newer version on flash.
    fn is_needed<F: Flash>(&self, flash: &F, failure: &ProgramFailure) -> bool {
        let (first, count) = match self.tombstones.get(&failure.page.0) {
            Some(tombstone) if failure.logical == UNMAPPED => (tombstone.first, tombstone.count),
            _ => (failure.logical, 1),
        };
        (first..first + count).any(|logical| {
            let entry = self.map[logical as usize];
            entry != UNMAPPED && !self.is_on_flash(flash.state(), Ppn(entry & !TRIMMED))
        })
    }

    fn abandon<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let readers_to = if failure.logical == UNMAPPED {
            self.end_tombstone(flash, failure.page);
            failure.page
        } else {
            Ppn(self.map[failure.logical as usize] & !TRIMMED)
        };
        flash.failed(failure.id).abandon(readers_to);
    }

    /// A full merge has ended: everything newest is on flash.
    pub(super) fn settle_rescue<F: Flash>(&mut self, flash: &mut F, lbn: u32) {
        if let Some(rescue) = self.rescues.remove(&lbn) {
            for failure in &rescue.failures {
                self.abandon(flash, failure);
            }
            self.release_tombstones(flash, lbn);
        }
    }

    /// A block is bad now.
    pub(super) fn retire(&mut self, block: BlockId) {
        self.merged_away.remove(&block);
        if !self.failing.remove(&block) {
            self.good -= 1;
        }
        self.assign(block, Role::Bad, NONE);
        self.retired_blocks += 1;
        self.room = true;
    }
}
