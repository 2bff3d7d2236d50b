//! Work under way on logical blocks: merges, pages written anew, merges that failures made necessary.
//!
//! *Protects*: a logical block that is merged or written anew is locked, and each locked one is under way or to be
//! rescued. Only this file locks and unlocks.

use super::lbn::Lbn;
use super::merge::Kind;
use super::unfit;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::ProgramFailure;
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, Ppn};

/// A merge under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub lbn: Lbn,
    pub kind: Kind,
    pub target: BlockId,
    /// Next offset to copy, and the one behind the last.
    pub next: u32,
    pub end: u32,
    /// Programs of it under way.
    pub in_flight: u32,
}

pub(super) struct Jobs {
    merges: Vec<Option<Merge>>,
    /// Merges under way.
    active: u32,
    /// Logical blocks being written anew, and the block their pages go to.
    rewrites: BTreeMap<Lbn, BlockId>,
    /// Logical blocks that must be merged in full, and failed programs of them that have no other place yet.
    rescues: BTreeMap<Lbn, Vec<ProgramFailure>>,
    /// Logical blocks that take no writes because of any of these.
    locked: Vec<bool>,
    /// Logical blocks for which a program is awaited.
    awaiting: BTreeSet<Lbn>,
    /// Something ended, which may give room.
    pub has_ended: bool,
}

impl Jobs {
    /// Nothing is under way. `most`: merges at once.
    pub fn new(most: u32, logical_blocks: u32) -> Self {
        Self {
            merges: vec![None; most as usize],
            active: 0,
            rewrites: BTreeMap::new(),
            rescues: BTreeMap::new(),
            locked: vec![false; logical_blocks as usize],
            awaiting: BTreeSet::new(),
            has_ended: false,
        }
    }

    /// Whether a logical block takes no writes.
    #[inline(always)]
    pub fn is_locked(&self, lbn: Lbn) -> bool {
        self.locked[lbn.index()]
    }

    /// Whether anything is under way, or awaited.
    pub fn is_busy(&self) -> bool {
        self.is_merging() || !self.awaiting.is_empty() || self.has_rescues() || self.has_rewrites()
    }

    /// Whether something has ended since this was asked.
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    fn unlock(&mut self, lbn: Lbn) {
        self.locked[lbn.index()] = false;
        self.has_ended = true;
    }

    pub fn is_merging(&self) -> bool {
        self.active > 0
    }

    /// Whether another merge may begin.
    pub fn has_slot(&self) -> bool {
        (self.active as usize) < self.merges.len()
    }

    /// A merge begins; returns its slot.
    pub fn begin(&mut self, merge: Merge) -> usize {
        let slot = self.merges.iter().position(Option::is_none).expect("merges under way are counted");
        self.locked[merge.lbn.index()] = true;
        self.active += 1;
        self.merges[slot] = Some(merge);
        slot
    }

    #[inline]
    pub fn merge(&self, slot: usize) -> Option<Merge> {
        self.merges[slot]
    }

    /// The next page of a merge was dealt with; `under_way`: its program was issued.
    #[inline]
    pub fn advance(&mut self, slot: usize, under_way: bool) {
        if let Some(merge) = &mut self.merges[slot] {
            merge.next += 1;
            merge.in_flight += u32::from(under_way);
        }
    }

    /// A program of a merge ended.
    #[inline]
    pub fn copied(&mut self, slot: usize) {
        if let Some(merge) = &mut self.merges[slot] {
            merge.in_flight -= 1;
        }
    }

    /// A merge ends. `unlocks`: its logical block takes writes again.
    pub fn end(&mut self, slot: usize, unlocks: bool) -> Option<Merge> {
        let merge = self.merges[slot].take()?;
        self.active -= 1;
        if unlocks {
            self.unlock(merge.lbn);
        }
        Some(merge)
    }

    /// Logical blocks being merged or written anew, and where to.
    pub fn targets(&self) -> impl Iterator<Item = (Lbn, BlockId)> {
        let rewrites = self.rewrites.iter().map(|(lbn, target)| (*lbn, *target));
        rewrites.chain(self.merges.iter().flatten().map(|merge| (merge.lbn, merge.target)))
    }

    #[inline]
    pub fn has_rewrites(&self) -> bool {
        !self.rewrites.is_empty()
    }

    /// A logical block is written anew.
    pub fn begin_rewrite(&mut self, lbn: Lbn, target: BlockId) {
        self.locked[lbn.index()] = true;
        self.rewrites.insert(lbn, target);
    }

    /// The block that a logical block is written to.
    pub fn rewritten_to(&self, lbn: Lbn) -> Option<BlockId> {
        self.rewrites.get(&lbn).copied()
    }

    /// A logical block has been written anew; returns the block it was written to. It stays locked if it is to be
    /// rescued.
    pub fn end_rewrite(&mut self, lbn: Lbn) -> Option<BlockId> {
        let target = self.rewrites.remove(&lbn)?;
        self.has_ended = true;
        self.locked[lbn.index()] = self.is_to_rescue(lbn);
        Some(target)
    }

    /// Has a logical block merged in full, because `block` takes no more pages.
    pub fn rescue(&mut self, lbn: Lbn, block: Option<BlockId>) {
        self.rewrites.retain(|_, target| Some(*target) != block);
        self.failures(lbn);
    }

    /// Failed programs of a logical block, which is merged in full.
    fn failures(&mut self, lbn: Lbn) -> &mut Vec<ProgramFailure> {
        self.locked[lbn.index()] = true;
        self.rescues.entry(lbn).or_default()
    }

    /// A program of a logical block failed, which is merged in full therefore.
    pub fn failed(&mut self, lbn: Lbn, failure: ProgramFailure) {
        self.failures(lbn).push(failure);
    }

    #[inline]
    pub fn has_rescues(&self) -> bool {
        !self.rescues.is_empty()
    }

    pub fn is_to_rescue(&self, lbn: Lbn) -> bool {
        self.rescues.contains_key(&lbn)
    }

    /// Logical blocks to be rescued for which nothing is under way.
    pub fn waiting_rescues(&self) -> Vec<Lbn> {
        let is_waiting = |lbn: &Lbn| !self.targets().any(|target| target.0 == *lbn);
        self.rescues.keys().copied().filter(is_waiting).collect()
    }

    /// Whether the program of this page of a logical block failed and has no other place yet.
    pub fn has_failed(&self, lbn: Lbn, page: Ppn) -> bool {
        self.rescues.get(&lbn).is_some_and(|failures| failures.iter().any(|failure| failure.page == page))
    }

    /// Takes the failed program of a page, to give it another place.
    pub fn take_failure(&mut self, lbn: Lbn, page: Ppn) -> Option<ProgramFailure> {
        let failures = self.rescues.get_mut(&lbn)?;
        let at = failures.iter().position(|failure| failure.page == page)?;
        Some(failures.swap_remove(at))
    }

    /// Takes the failed programs of a logical block that nobody needs.
    pub fn take_needless(&mut self, lbn: Lbn, is_needed: impl Fn(&ProgramFailure) -> bool) -> Vec<ProgramFailure> {
        let Some(failures) = self.rescues.get_mut(&lbn) else { return Vec::new() };
        failures.extract_if(.., |failure| !is_needed(failure)).collect()
    }

    /// Whether a failed program of a logical block has no other place yet.
    pub fn has_failures(&self, lbn: Lbn) -> bool {
        self.rescues.get(&lbn).is_some_and(|failures| !failures.is_empty())
    }

    /// There is nothing to rescue.
    pub fn call_off_rescue(&mut self, lbn: Lbn) {
        self.rescues.remove(&lbn);
        self.unlock(lbn);
    }

    /// A logical block was merged in full: the failed programs that are left, if it was to be rescued.
    pub fn settle_rescue(&mut self, lbn: Lbn) -> Option<Vec<ProgramFailure>> {
        self.rescues.remove(&lbn)
    }

    pub fn is_awaiting(&self, lbn: Lbn) -> bool {
        self.awaiting.contains(&lbn)
    }

    /// A program of a logical block must end before it is merged.
    pub fn await_program(&mut self, lbn: Lbn) {
        self.awaiting.insert(lbn);
    }

    /// An awaited program has ended.
    pub fn awaited(&mut self, lbn: Lbn) {
        self.awaiting.remove(&lbn);
        self.has_ended = true;
    }

    /// # Errors
    /// The first logical block that is locked or not, in words.
    pub fn check(&self) -> Result<(), String> {
        let slots = self.merges.iter().flatten().count();
        if slots != self.active as usize {
            return Err(format!("{} merges are counted, {slots} are under way", self.active));
        }
        for (lbn, is_locked) in (0..).map(Lbn).zip(&self.locked) {
            let is_target = self.targets().any(|target| target.0 == lbn);
            if is_target && !is_locked || *is_locked && !is_target && !self.is_to_rescue(lbn) {
                return Err(format!("logical block {lbn} is locked: {is_locked}, under way: {is_target}"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.active == 0 && self.rewrites.is_empty(), "a drive is drained before its state is saved");
        writer.put("log.rescues", self.rescues.keys().map(|lbn| lbn.0));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        for lbn in reader.each::<u32>("log.rescues")? {
            if lbn as usize >= self.locked.len() {
                return Err(unfit("a logical block is out of range"));
            }
            self.rescue(Lbn(lbn), None);
        }
        Ok(())
    }
}
