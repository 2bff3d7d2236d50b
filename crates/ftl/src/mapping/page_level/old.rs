//! Old versions of pages, kept for a stripe layer: what a parity that is not up to date still covers.
//!
//! A page that is kept stays valid in its block, so it is counted, moved and protected like any other. When
//! collection meets it, it says so and waits for it to be dropped, or moves it (`stripe.semi_valid`).
//!
//! ```text
//! map     -> newest version      back entry of both: the logical page
//! old     -> kept version        a page in `old` is never in `map`
//! ```

use super::PageMap;
use super::entry::{Back, Entry, Held};
use super::scheme::Scheme;
use crate::mapping::common::{written_blocks, written_pages};
use crate::mapping::{FtlContext, Stripes};
use layer::{Answer, Old, PageOp, SnapshotError, SnapshotReader, SnapshotWriter, Versioned};
use nand::{Contents, Flash, FlashCore, PageKind, ProgramFailure};
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, Cause, DieId, Lpn, Ppn};

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
    /// A flash page, [`Entry::ZEROS`] of a page that was never written or trimmed, or [`Entry::NOWHERE`] for none;
    /// empty where nothing is ever kept.
    table: Vec<Entry>,
    /// Flash pages in it.
    pages: u64,
    /// Collection moves them at once instead of waiting.
    moves: bool,
    /// Logical pages of which it does in any case.
    to_be_moved: BTreeSet<Lpn>,
    wanted: Vec<u32>,
    /// Sequence number of the newest version of each page, as its out-of-band area has it or will have it.
    numbers: Vec<u64>,
}

impl OldVersions {
    pub fn new(stripes: Option<Stripes<'_>>, logical_pages: usize, has_contents: bool) -> Self {
        let Some(stripes) = stripes else { return Self::default() };
        let numbers = if has_contents { vec![0; logical_pages] } else { Vec::new() };
        Self {
            table: units::table(logical_pages, Entry::NOWHERE),
            moves: stripes.moves_old,
            numbers,
            ..Self::default()
        }
    }

    /// A page is written with this number.
    #[inline]
    pub fn number(&mut self, logical: Lpn, sequence: u64) {
        if let Some(number) = self.numbers.get_mut(logical.index()) {
            *number = sequence;
        }
    }

    /// What `logical` mapped to until now is its old version, if it has none. `true`: the page stays valid.
    #[inline]
    pub fn keep(&mut self, logical: Lpn, entry: Entry) -> bool {
        let old = &mut self.table[logical.index()];
        if *old != Entry::NOWHERE {
            return false;
        }
        let mapped = entry.is_page();
        *old = if mapped { entry } else { Entry::ZEROS };
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
    pub fn mark(&self, logical: Lpn, sequence: u64) -> u64 {
        if self.table[logical.index()] == Entry::ZEROS { sequence | FRESH } else { sequence }
    }

    /// The entry to read for the old version, if there is one.
    #[inline]
    pub fn entry(&self, logical: Lpn) -> Option<Entry> {
        self.table.get(logical.index()).copied().filter(|entry| *entry != Entry::NOWHERE)
    }

    /// Valid pages that are nobody's newest version.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    fn is(&self, logical: Lpn, page: Ppn) -> bool {
        self.table.get(logical.index()) == Some(&Entry::page(page))
    }

    /// Bytes a controller needs for it.
    pub fn ram_bytes(&self) -> u64 {
        self.table.len() as u64 * 4
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u32("page.old", self.table.iter().map(|entry| entry.bits()));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let table = reader.get_u32("page.old")?;
        if table.len() != self.table.len() {
            let problem = "the number of pages differs".to_owned();
            return Err(SnapshotError::Unfit { section: "page.old", problem });
        }
        self.table = table.into_iter().map(Entry::from_bits).collect();
        self.pages = self.table.iter().filter(|entry| entry.is_page()).count() as u64;
        Ok(())
    }
}

/// Copies of old versions that were not chosen, by logical page.
pub(super) type OldCopies = BTreeMap<Lpn, Vec<Ppn>>;

impl<S: Scheme> PageMap<S> {
    /// Collection met a valid page that is not the newest version. `None`: it stays where it is until it
    /// is dropped; otherwise whether it found room elsewhere in the plane.
    pub(super) fn meet_old<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, cause: Cause) -> Option<bool> {
        let back = self.pages.back(page);
        let logical = back.logical()?;
        debug_assert!(self.old.is(logical, page), "a valid page is the newest version or kept");
        if !self.old.moves && !self.old.to_be_moved.contains(&logical) {
            self.old.wanted.push(logical.0);
            return None;
        }
        let Some(target) = self.space.copy_page(&mut self.pages, lane, back) else { return Some(false) };
        self.old.to_be_moved.remove(&logical);
        self.old.table[logical.index()] = Entry::page(target);
        self.pages.stand_in(page, target);
        self.issue_copy(flash, lane, page, target, cause);
        Some(true)
    }

    /// A copy of an old version failed: the page it was made from stands for it again. `false`: it was no old version.
    pub(super) fn return_old(&mut self, failure: &ProgramFailure, source: Ppn) -> bool {
        let logical = self.pages.back(failure.page).logical().filter(|logical| self.old.is(*logical, failure.page));
        if let Some(logical) = logical {
            self.old.table[logical.index()] = Entry::page(source);
            self.pages.stand_in(failure.page, source);
        }
        logical.is_some()
    }

    /// Every kept page is valid, its own and not the newest version.
    pub(super) fn check_old(&self) -> Result<(), String> {
        let mut pages = 0;
        for (logical, entry) in (0..).map(Lpn).zip(&self.old.table) {
            let Some(page) = entry.on_flash() else { continue };
            pages += 1;
            if !self.pages.blocks().is_valid(page)
                || self.pages.back(page) != Back::data(logical)
                || self.pages.find(logical) == Some(page)
            {
                return Err(format!("the old version of logical page {logical} is page {page}, which is not its own"));
            }
        }
        if pages == self.old.pages {
            Ok(())
        } else {
            Err(format!("{pages} old versions, but {} counted", self.old.pages))
        }
    }

    /// Finds old versions after a power cut: of every page newer than its parity, the newest one that is not.
    /// `found`: what each logical page is, `fresh`: number of its newest version if that says that nothing of it is
    /// covered. Returns copies of them that were not chosen.
    pub(super) fn recover_old(
        &mut self,
        context: &FtlContext<'_>,
        image: &FlashCore,
        found: &[Found],
        fresh: &[u64],
    ) -> OldCopies {
        let mut copies = OldCopies::new();
        let (Some(stripes), Some(contents)) = (context.stripes, image.contents.as_deref()) else { return copies };
        self.sequence = self.sequence.max(stripes.given);
        let bounds = self.bounds(&stripes, image, contents, found);
        let mut best = vec![0_u64; self.pages.logical_pages() as usize];
        for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
            let oob = contents.oob(page.0);
            let logical = oob.logical as usize;
            let sequence = oob.sequence & !FRESH;
            let covered = matches!(oob.kind, PageKind::Data | PageKind::Lost)
                && bounds[logical].is_some_and(|bound| sequence <= bound && fresh[logical] <= bound);
            if !covered || sequence < best[logical] {
                continue;
            }
            let others = copies.entry(Lpn(oob.logical)).or_default();
            if sequence > best[logical] {
                others.clear();
            } else {
                others.extend(self.old.table[logical].on_flash());
            }
            (best[logical], self.old.table[logical]) = (sequence, Entry::page(page));
        }
        for (logical, bound) in bounds.iter().enumerate() {
            let entry = self.old.table[logical];
            if bound.is_none() {
                continue;
            }
            let Some(page) = entry.on_flash() else {
                self.old.table[logical] = Entry::ZEROS;
                continue;
            };
            self.pages.keep(page, Back::data(Lpn(logical as u32)));
            self.old.pages += 1;
        }
        copies.retain(|_, others| !others.is_empty());
        for (logical, found) in (0..).map(Lpn).zip(found) {
            if let Found::Written(sequence) = found {
                self.old.number(logical, *sequence);
            }
        }
        copies
    }

    /// Of each page that is newer than its parity, the sequence number of that parity. Of several parities, the
    /// newest number that all of them had: power may have been cut between one and the other, more than once.
    fn bounds(
        &self,
        stripes: &Stripes<'_>,
        image: &FlashCore,
        contents: &Contents,
        found: &[Found],
    ) -> Vec<Option<u64>> {
        let number = |logical: u32| match found[logical as usize] {
            Found::Nothing => 0,
            Found::Written(sequence) | Found::Trimmed(sequence) => sequence,
        };
        let live = |logical: u32| {
            let parities = stripes.shape.parities(logical).into_iter().flatten();
            parities.filter(|parity| !self.space.lanes[self.space.lanes.home(Lpn(*parity))].is_dead())
        };
        let is_torn = |logical: &u32| {
            live(*logical).any(|parity| parity == *logical)
                && live(*logical).any(|parity| number(parity) != number(*logical))
        };
        // Before the first one there was nothing.
        let mut torn: BTreeMap<u32, BTreeSet<u64>> =
            (0..self.pages.logical_pages()).filter(is_torn).map(|logical| (logical, [0].into())).collect();
        if !torn.is_empty() {
            for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
                let oob = contents.oob(page.0);
                if let Some(numbers) =
                    torn.get_mut(&oob.logical).filter(|_| matches!(oob.kind, PageKind::Data | PageKind::Lost))
                {
                    numbers.insert(oob.sequence & !FRESH);
                }
            }
        }
        let bound = |logical: u32| {
            let common = |first: u32| match torn.get(&first) {
                Some(numbers) => {
                    numbers.iter().rev().copied().find(|number| live(first).all(|other| torn[&other].contains(number)))
                }
                None => Some(number(first)),
            };
            let bound = stripes.shape.covered_until(logical).or_else(|| common(live(logical).next()?))?;
            (number(logical) > bound).then_some(bound)
        };
        (0..self.pages.logical_pages()).map(bound).collect()
    }

    /// Whether a page holds an old version.
    pub(super) fn is_old(&self, page: Ppn) -> bool {
        self.pages.back(page).logical().is_some_and(|logical| self.old.is(logical, page))
    }

    /// Another copy of an old version, outside of `block`.
    pub(super) fn other_old(&self, logical: Lpn, block: BlockId, copies: &OldCopies) -> Option<Ppn> {
        copies.get(&logical)?.iter().copied().find(|copy| self.geometry.block_of(*copy) != block)
    }

    /// Lets another copy of an old version stand for it.
    pub(super) fn exchange_old(&mut self, page: Ppn, other: Ppn) {
        if let Some(logical) = self.pages.back(page).logical() {
            self.old.table[logical.index()] = Entry::page(other);
            self.pages.stand_in(page, other);
        }
    }

    /// A program for a lost die will never be done.
    pub(super) fn lose_program<F: Flash>(&mut self, flash: &mut F, failure: &ProgramFailure) {
        let back = self.pages.back(failure.page);
        if let Held::Tombstone(slot) = back.held()
            && back != Back::NOTHING
        {
            self.log_again(flash, slot);
        }
        flash.abandon(failure.id, failure.page);
    }
}

impl<F: Flash, S: Scheme> Versioned<F> for PageMap<S> {
    fn drop_old(&mut self, flash: &mut F, logical: u32) {
        let entry = std::mem::replace(&mut self.old.table[logical as usize], Entry::NOWHERE);
        let Some(page) = entry.on_flash() else { return };
        self.old.pages -= 1;
        self.old.to_be_moved.remove(&Lpn(logical));
        self.pages.drop(page);
        let block = self.geometry.block_of(page);
        let lane = self.space.lanes.of_block(block);
        if self.space.lanes[lane].cursor.victim() == Some(block) {
            self.collect(flash, lane);
        }
    }

    fn old(&self, logical: u32) -> Old {
        match self.old.entry(Lpn(logical)) {
            None => Old::None,
            Some(Entry::ZEROS) => Old::Zero,
            Some(_) => Old::Page,
        }
    }

    fn is_written(&self, logical: u32) -> bool {
        self.pages.find(Lpn(logical)).is_some()
    }

    fn place_of(&self, logical: u32) -> Option<Ppn> {
        self.pages.find(Lpn(logical))
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn sequence_of(&self, logical: u32) -> u64 {
        self.old.numbers.get(logical as usize).copied().unwrap_or(0)
    }

    fn write_as(&mut self, flash: &mut F, op: &PageOp, sequence: u64) -> Answer {
        self.submit_write(flash, op, Some(sequence))
    }

    fn take_wanted(&mut self, wanted: &mut Vec<u32>) {
        wanted.append(&mut self.old.wanted);
    }

    fn move_old(&mut self, flash: &mut F, logical: u32) {
        let Some(page) = self.old.entry(Lpn(logical)).and_then(Entry::on_flash) else { return };
        self.old.to_be_moved.insert(Lpn(logical));
        let block = self.geometry.block_of(page);
        let lane = self.space.lanes.of_block(block);
        if self.space.lanes.cursor(lane).add(block, page) {
            self.collect(flash, lane);
        }
    }

    fn lose_die(&mut self, flash: &mut F, die: DieId) {
        for lane in self.space.lanes.of_die(die) {
            self.space.lanes.lose(lane);
        }
        self.space.withhold(flash.core(), self.pages.logical_pages());
        for failure in std::mem::take(&mut self.homeless) {
            if self.space.lanes[self.space.lanes.of(failure.page)].is_dead() {
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
        let (from, to) = (self.space.lanes.of_die(lost), self.space.lanes.of_die(spare));
        self.space.lanes.replace(&from, &to);
        for logical in self.pages.all() {
            if let Some(page) = self.pages.find(logical).filter(|page| from.contains(&self.space.lanes.of(*page))) {
                self.pages.unmap(logical, Entry::NOWHERE);
                self.pages.drop(page);
            }
            let old = self.old.table[logical.index()].on_flash();
            if let Some(page) = old.filter(|page| from.contains(&self.space.lanes.of(*page))) {
                self.old.table[logical.index()] = Entry::NOWHERE;
                self.old.pages -= 1;
                self.pages.drop(page);
            }
        }
        self.space.withhold(flash.core(), self.pages.logical_pages());
    }

    fn resume(&mut self, flash: &mut F) {
        self.trims.find_short();
        self.complete_all_copies(flash);
    }

    fn forget_old(&mut self, logical: u32) {
        let entry = std::mem::replace(&mut self.old.table[logical as usize], Entry::ZEROS);
        if let Some(page) = entry.on_flash() {
            self.old.pages -= 1;
            self.pages.drop(page);
        }
    }
}
