//! Old versions of pages, kept for a stripe layer: what a parity that is not up to date still covers.
//!
//! A page that is kept stays valid in its block, so it is counted, moved and protected like any other. When
//! collection meets it, it says so and waits for it to be dropped, or moves it (`stripe.semi_valid`).
//!
//! ```text
//! map     -> newest version      back entry of both: the logical page
//! old     -> kept version        a page in `old` is never in `map`
//! ```

use super::scheme::Scheme;
use super::{PageMap, TRIMMED, UNMAPPED};
use crate::mapping::common::{written_blocks, written_pages};
use crate::mapping::{FtlContext, Stripes};
use layer::{Answer, Old, SnapshotError, SnapshotReader, PageOp, SnapshotWriter, Versioned};
use nand::{Contents, Flash, FlashCore, PageKind, ProgramFailure};
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, DieId, Ppn};

/// Entry of a page whose old version was never written, or trimmed.
const ZERO: u32 = TRIMMED;

/// In a sequence number on flash: the parity covers nothing of the page, whatever older versions of it are there.
pub(super) const FRESH: u64 = 1 << 63;

/// What a logical page of a mapping was when power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Never written, or on a chip that is lost.
    Nothing,
    /// Its newest version carries this sequence number.
    Written(u64),
    /// It was trimmed, by a tombstone with this number.
    Trimmed(u64),
}

/// Old versions by logical page.
#[derive(Clone, Debug, Default)]
pub(super) struct OldVersions {
    /// A flash page, `ZERO`, or `UNMAPPED` for none; empty where nothing is ever kept.
    table: Vec<u32>,
    /// Flash pages in it.
    pages: u64,
    /// Collection moves them at once instead of waiting.
    moves: bool,
    /// Logical pages of which it does in any case.
    to_be_moved: BTreeSet<u32>,
    wanted: Vec<u32>,
    /// Sequence number of the newest version of each page, as its out-of-band area has it or will have it.
    numbers: Vec<u64>,
}

impl OldVersions {
    pub fn new(stripes: Option<Stripes<'_>>, logical_pages: usize, has_contents: bool) -> Self {
        let Some(stripes) = stripes else { return Self::default() };
        let numbers = if has_contents { vec![0; logical_pages] } else { Vec::new() };
        Self { table: units::table(logical_pages, UNMAPPED), moves: stripes.moves_old, numbers, ..Self::default() }
    }

    /// A page is written with this number.
    #[inline]
    pub fn number(&mut self, logical: u32, sequence: u64) {
        if let Some(number) = self.numbers.get_mut(logical as usize) {
            *number = sequence;
        }
    }

    /// What `logical` mapped to until now is its old version, if it has none. `true`: the page stays valid.
    #[inline]
    pub fn keep(&mut self, logical: u32, entry: u32) -> bool {
        let old = &mut self.table[logical as usize];
        if *old != UNMAPPED {
            return false;
        }
        let mapped = entry < TRIMMED;
        *old = if mapped { entry } else { ZERO };
        self.pages += u64::from(mapped);
        mapped
    }

    /// Brings the place of `logical` into the processor's cache.
    #[inline]
    pub fn prefetch(&self, logical: usize) {
        units::prefetch(&self.table, logical);
    }

    /// The number of a write as it goes to flash.
    #[inline]
    pub fn mark(&self, logical: u32, sequence: u64) -> u64 {
        if self.table[logical as usize] == ZERO { sequence | FRESH } else { sequence }
    }

    /// The entry to read for the old version, if there is one.
    #[inline]
    pub fn entry(&self, logical: u32) -> Option<u32> {
        self.table.get(logical as usize).copied().filter(|entry| *entry != UNMAPPED)
    }

    /// Valid pages that are nobody's newest version.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    fn is(&self, logical: u32, page: Ppn) -> bool {
        self.table.get(logical as usize) == Some(&page.0)
    }

    /// Bytes a controller needs for it.
    pub fn ram_bytes(&self) -> u64 {
        self.table.len() as u64 * 4
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u32("page.old", self.table.iter().copied());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let table = reader.get_u32("page.old")?;
        if table.len() != self.table.len() {
            let problem = "the number of pages differs".to_owned();
            return Err(SnapshotError::Unfit { section: "page.old", problem });
        }
        self.pages = table.iter().filter(|entry| **entry < TRIMMED).count() as u64;
        self.table = table;
        Ok(())
    }
}

/// Copies of old versions that were not chosen, by logical page.
pub(super) type OldCopies = BTreeMap<u32, Vec<u32>>;

impl<S: Scheme> PageMap<S> {
    /// Collection met a valid page that is not the newest version. `None`: it stays where it is until it
    /// is dropped; otherwise whether it found room elsewhere in the plane.
    pub(super) fn meet_old<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn) -> Option<bool> {
        let logical = self.back[page.index()];
        debug_assert!(self.old.is(logical, page), "a valid page is the newest version or kept");
        let collection = self.lanes[lane].collection.as_ref().expect("a page is met by a collection");
        let cause = collection.cause;
        if !self.old.moves && !self.old.to_be_moved.contains(&logical) {
            self.old.wanted.push(logical);
            return None;
        }
        let Some(target) = self.copy_page(lane, logical) else { return Some(false) };
        self.old.to_be_moved.remove(&logical);
        self.old.table[logical as usize] = target.0;
        self.back[target.index()] = logical;
        self.blocks.invalidate(page);
        self.blocks.validate(target);
        self.issue_copy(flash, lane, page, target, cause);
        Some(true)
    }

    /// A copy of an old version failed: the page it was made from stands for it again. `false`: it was no old version.
    pub(super) fn return_old(&mut self, failure: &ProgramFailure, source: Ppn) -> bool {
        let logical = self.back[failure.page.index()];
        if !self.old.is(logical, failure.page) {
            return false;
        }
        self.old.table[logical as usize] = source.0;
        self.back[source.index()] = logical;
        self.blocks.invalidate(failure.page);
        self.blocks.validate(source);
        true
    }

    /// Every kept page is valid, its own and not the newest version.
    pub(super) fn check_old(&self) -> Result<(), String> {
        let mut pages = 0;
        for (logical, &entry) in self.old.table.iter().enumerate() {
            if entry >= TRIMMED {
                continue;
            }
            pages += 1;
            if !self.blocks.is_valid(Ppn(entry)) || self.back[entry as usize] != logical as u32 || self.map[logical] == entry {
                return Err(format!("the old version of logical page {logical} is page {entry}, which is not its own"));
            }
        }
        if pages == self.old.pages { Ok(()) } else { Err(format!("{pages} old versions, but {} counted", self.old.pages)) }
    }

    /// Finds old versions after a power cut: of every page newer than its parity, the newest one that is not.
    /// `found`: what each logical page is, `fresh`: number of its newest version if that says that nothing of it is
    /// covered. Returns copies of them that were not chosen.
    pub(super) fn recover_old(&mut self, context: &FtlContext<'_>, image: &FlashCore, found: &[Found], fresh: &[u64]) -> OldCopies {
        let mut copies = OldCopies::new();
        let (Some(stripes), Some(contents)) = (context.stripes, image.contents.as_deref()) else { return copies };
        self.sequence = self.sequence.max(stripes.given);
        let bounds = self.bounds(&stripes, image, contents, found);
        let mut best = vec![0_u64; self.map.len()];
        for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
            let oob = contents.oob(page.0);
            let logical = oob.logical as usize;
            let sequence = oob.sequence & !FRESH;
            let covered = matches!(oob.kind, PageKind::Data | PageKind::Lost)
                && bounds[logical].is_some_and(|bound| sequence <= bound && fresh[logical] <= bound);
            if !covered || sequence < best[logical] {
                continue;
            }
            let others = copies.entry(oob.logical).or_default();
            if sequence > best[logical] {
                others.clear();
            } else {
                others.push(self.old.table[logical]);
            }
            (best[logical], self.old.table[logical]) = (sequence, page.0);
        }
        for (logical, bound) in bounds.iter().enumerate() {
            let entry = self.old.table[logical];
            if bound.is_none() {
                continue;
            }
            if entry == UNMAPPED {
                self.old.table[logical] = ZERO;
                continue;
            }
            self.back[entry as usize] = logical as u32;
            self.blocks.validate(Ppn(entry));
            self.old.pages += 1;
        }
        copies.retain(|_, others| !others.is_empty());
        for (logical, found) in (0..).zip(found) {
            if let Found::Written(sequence) = found {
                self.old.number(logical, *sequence);
            }
        }
        copies
    }

    /// Of each page that is newer than its parity, the sequence number of that parity. Of several parities, the
    /// newest number that all of them had: power may have been cut between one and the other, more than once.
    fn bounds(&self, stripes: &Stripes<'_>, image: &FlashCore, contents: &Contents, found: &[Found]) -> Vec<Option<u64>> {
        let number = |logical: u32| match found[logical as usize] {
            Found::Nothing => 0,
            Found::Written(sequence) | Found::Trimmed(sequence) => sequence,
        };
        let live = |logical: u32| {
            let parities = stripes.shape.parities(logical).into_iter().flatten();
            parities.filter(|parity| !self.lanes[self.home(*parity)].dead)
        };
        let is_torn = |logical: &u32| live(*logical).any(|parity| parity == *logical) && live(*logical).any(|parity| number(parity) != number(*logical));
        // Before the first one there was nothing.
        let mut torn: BTreeMap<u32, BTreeSet<u64>> = (0..self.map.len() as u32).filter(is_torn).map(|logical| (logical, [0].into())).collect();
        if !torn.is_empty() {
            for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
                let oob = contents.oob(page.0);
                if let Some(numbers) = torn.get_mut(&oob.logical).filter(|_| matches!(oob.kind, PageKind::Data | PageKind::Lost)) {
                    numbers.insert(oob.sequence & !FRESH);
                }
            }
        }
        let bound = |logical: u32| {
            let common = |first: u32| match torn.get(&first) {
                Some(numbers) => numbers.iter().rev().copied().find(|number| live(first).all(|other| torn[&other].contains(number))),
                None => Some(number(first)),
            };
            let bound = stripes.shape.covered_until(logical).or_else(|| common(live(logical).next()?))?;
            (number(logical) > bound).then_some(bound)
        };
        (0..self.map.len() as u32).map(bound).collect()
    }

    /// Whether a page holds an old version.
    pub(super) fn is_old(&self, page: u32) -> bool {
        self.old.is(self.back[page as usize], Ppn(page))
    }

    /// Another copy of an old version, outside of `block`.
    pub(super) fn other_old(&self, page: u32, block: BlockId, copies: &OldCopies) -> Option<u32> {
        let others = copies.get(&self.back[page as usize])?;
        others.iter().copied().find(|copy| self.geometry.block_of(Ppn(*copy)) != block)
    }

    /// Lets another copy of an old version stand for it.
    pub(super) fn exchange_old(&mut self, page: u32, other: u32) {
        let logical = self.back[page as usize];
        self.old.table[logical as usize] = other;
        self.back[other as usize] = logical;
        self.blocks.invalidate(Ppn(page));
        self.blocks.validate(Ppn(other));
    }

    /// Lanes of a die.
    pub(super) fn lanes_of_die(&self, die: DieId) -> std::ops::Range<usize> {
        let lanes = (self.division.lanes / self.geometry.dies()) as usize;
        die.index() * lanes..(die.index() + 1) * lanes
    }

    /// Forgets what a plane of a lost die had under way or to give.
    pub(super) fn close_lane(&mut self, lane: usize) {
        let entry = &mut self.lanes[lane];
        self.empty_lanes += usize::from(!entry.free.is_empty());
        entry.lose();
    }

    /// A program for a lost die will never be done.
    pub(super) fn lose_program<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let back = self.back[failure.page.index()];
        if back & TRIMMED != 0 && back != UNMAPPED {
            self.log_again(flash, back & !TRIMMED);
        }
        flash.abandon(failure.id, failure.page);
    }
}

impl<F: Flash, S: Scheme> Versioned<F> for PageMap<S> {
    fn drop_old(&mut self, flash: &mut F, logical: u32) {
        let entry = std::mem::replace(&mut self.old.table[logical as usize], UNMAPPED);
        if entry >= TRIMMED {
            return;
        }
        self.old.pages -= 1;
        self.old.to_be_moved.remove(&logical);
        self.blocks.invalidate(Ppn(entry));
        let block = self.geometry.block_of(Ppn(entry));
        let lane = self.lane_of_block(block);
        if self.lanes[lane].collection.as_ref().is_some_and(|collection| collection.victim == block) {
            self.collect(flash, lane);
        }
    }

    fn old(&self, logical: u32) -> Old {
        match self.old.entry(logical) {
            None => Old::None,
            Some(ZERO) => Old::Zero,
            Some(_) => Old::Page,
        }
    }

    fn is_written(&self, logical: u32) -> bool {
        self.map[logical as usize] < TRIMMED
    }

    fn place_of(&self, logical: u32) -> Option<Ppn> {
        let entry = self.map[logical as usize];
        (entry < TRIMMED).then_some(Ppn(entry))
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn sequence_of(&self, logical: u32) -> u64 {
        self.old.numbers.get(logical as usize).copied().unwrap_or(0)
    }

    fn write_as(&mut self, flash: &mut F, op: &PageOp, sequence: u64) -> Answer {
        self.as_old_as = Some(sequence);
        let answer = self.submit_write(flash, op);
        self.as_old_as = None;
        answer
    }

    fn take_wanted(&mut self, wanted: &mut Vec<u32>) {
        wanted.append(&mut self.old.wanted);
    }

    fn move_old(&mut self, flash: &mut F, logical: u32) {
        let Some(entry) = self.old.entry(logical).filter(|entry| *entry < TRIMMED) else { return };
        self.old.to_be_moved.insert(logical);
        let block = self.geometry.block_of(Ppn(entry));
        let lane = self.geometry.lane_of(block) as usize;
        if let Some(collection) = self.lanes[lane].collection.as_mut().filter(|collection| collection.victim == block) {
            collection.add(Ppn(entry));
            self.collect(flash, lane);
        }
    }

    fn lose_die(&mut self, flash: &mut F, die: DieId) {
        for lane in self.lanes_of_die(die) {
            self.close_lane(lane);
        }
        self.keep_reserve(flash.core());
        for failure in std::mem::take(&mut self.homeless) {
            if self.lanes[self.lane_of(failure.page)].dead {
                self.lose_program(flash, &failure);
            } else {
                self.homeless.push_back(failure);
            }
        }
        let geometry = self.geometry;
        for slot in self.trims.slots_where(|block| geometry.die_of(block) == die, &geometry) {
            self.log_again(flash, slot);
        }
    }

    fn replace_die(&mut self, flash: &mut F, lost: DieId, spare: DieId) {
        let (from, to) = (self.lanes_of_die(lost), self.lanes_of_die(spare));
        for lane in &mut self.order {
            if from.contains(&(*lane as usize)) {
                *lane = (*lane as usize - from.start + to.start) as u32;
            }
        }
        for logical in 0..self.map.len() {
            let entry = self.map[logical];
            if entry < TRIMMED && from.contains(&self.lane_of(Ppn(entry))) {
                self.map[logical] = UNMAPPED;
                self.blocks.invalidate(Ppn(entry));
            }
            let old = self.old.table[logical];
            if old < TRIMMED && from.contains(&self.lane_of(Ppn(old))) {
                self.old.table[logical] = UNMAPPED;
                self.old.pages -= 1;
                self.blocks.invalidate(Ppn(old));
            }
        }
        self.keep_reserve(flash.core());
    }

    fn resume(&mut self, flash: &mut F) {
        self.trims.find_short();
        self.complete_all_copies(flash);
    }

    fn forget_old(&mut self, logical: u32) {
        let entry = std::mem::replace(&mut self.old.table[logical as usize], ZERO);
        if entry < TRIMMED {
            self.old.pages -= 1;
            self.blocks.invalidate(Ppn(entry));
        }
    }
}
