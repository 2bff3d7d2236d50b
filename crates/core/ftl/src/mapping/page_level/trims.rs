//! Trims: unmapped at once, logged on flash as tombstones, never answered with an older version.
//!
//! A trimmed page keeps a hold on the block of its last version until the tombstone that names it
//! is on flash. Then a power cut finds either the last version or the tombstone, and nothing older
//! can surface. A tombstone page is valid as long as one of its logical pages is still trimmed;
//! when its block is collected, its live entries simply go back to the log.
//!
//! *Protects*: each map entry of a trimmed page names a trim in the log or a tombstone that counts it; a tombstone
//! page is valid if and only if it counts one.

use super::Heard;
use super::entry::{Back, Entry, Place};
use super::pages::Pages;
use super::space::Space;
use crate::FtlContext;
use crate::mapping::common::UNMAPPED;
use crate::mapping::ranges::{self, RANGE_BYTES, Range, encode};
use crate::mapping::tombstones::{Tombstone, Tombstones};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, LawBroken, Outcome, Owner, PageProgram, PayloadId, Program, Read, RecordId};
use units::{BlockId, Cause, Geometry, Lpn, Ppn};

/// A trimmed page whose tombstone is not on flash yet.
#[derive(Clone, Copy, Debug)]
struct PendingPage {
    /// Where its last version (or its last tombstone) is; `None` once it was written again.
    old: Option<Ppn>,
    /// Number of the trim, to tell it from earlier ones of the same page still in the log.
    sequence: u64,
}

/// A tombstone whose page is gone: its trims go back to the log.
pub(crate) struct LostTombstone {
    slot: u32,
    page: Ppn,
    pub ranges: Vec<Range>,
}

/// Trims not yet logged, and tombstones.
pub(crate) struct Trims {
    pub(super) geometry: Geometry,
    owner: Owner,
    /// Pages trimmed since the log was last empty, by the number that map entries name.
    pending: Vec<PendingPage>,
    /// The log: the contents of the next tombstones.
    pub(super) ranges: Vec<Range>,
    /// Most ranges of a tombstone.
    pub(super) capacity: usize,
    pub(super) tombstones: Tombstones,
    /// Tombstone pages that are valid.
    live_pages: u64,
    /// Pages whose blocks stay held until what is in the log now is on flash, because their own tombstone was lost.
    pub(super) carried: Vec<Ppn>,
    /// Pages the host trimmed since counting began.
    pub trimmed_pages: u64,
}

impl Trims {
    pub fn new(context: &FtlContext<'_>) -> Self {
        let geometry = context.geometry;
        Self {
            geometry,
            owner: context.owner,
            pending: Vec::new(),
            ranges: Vec::new(),
            capacity: geometry.page_bytes as usize / RANGE_BYTES,
            tombstones: Tombstones::new(geometry, context.stripes.map_or(0, |stripes| stripes.may_fail)),
            live_pages: 0,
            carried: Vec::new(),
            trimmed_pages: 0,
        }
    }

    /// No trim waits for its tombstone.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The log holds as much as a tombstone can say.
    #[inline]
    pub fn log_is_full(&self) -> bool {
        self.ranges.len() >= self.capacity
    }

    /// Something in the log is still to be programmed.
    pub fn has_log(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Tombstone pages that are valid.
    pub fn live_pages(&self) -> u64 {
        self.live_pages
    }

    #[inline]
    pub fn tombstones(&self) -> &Tombstones {
        &self.tombstones
    }

    /// Bytes a controller needs for it.
    pub fn ram_bytes(&self) -> u64 {
        let ranges: usize = self.tombstones.iter().map(|(_, tombstone)| tombstone.ranges.len()).sum();
        ((ranges + self.ranges.len()) * RANGE_BYTES + self.pending.len() * 4) as u64
    }

    pub(super) fn hold<F: Flash>(&self, flash: &mut F, page: Ppn) {
        if !flash.state().breaks(LawBroken::TrimHoldsOff) {
            flash.blocks_mut().hold(self.geometry.block_of(page));
        }
    }

    pub(super) fn release<F: Flash>(&self, flash: &mut F, page: Ppn) {
        if !flash.state().breaks(LawBroken::TrimHoldsOff) {
            flash.release(self.geometry.block_of(page));
        }
    }

    /// Unmaps a page whose last version (or last tombstone) is at `old`, which stays held.
    pub fn add<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, logical: Lpn, old: Ppn, sequence: u64) {
        self.hold(flash, old);
        pages.unmap(logical, Entry::in_log(self.pending.len() as u32));
        self.pending.push(PendingPage { old: Some(old), sequence });
        ranges::push(&mut self.ranges, logical, sequence);
    }

    /// A trimmed page is written again: the flash page that the new version supersedes, and the
    /// block whose hold its program replaces.
    pub fn leave<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, place: Place) -> (Ppn, Option<BlockId>) {
        match place {
            Place::InLog(number) => {
                let old = self.pending[number as usize].old.take().expect("a page leaves the log once");
                (old, Some(self.geometry.block_of(old)))
            }
            Place::Tombstone(slot) => {
                let page = self.tombstones.at(slot).page;
                self.bury(flash, pages, slot);
                (page, None)
            }
            Place::Page(_) | Place::Nowhere => unreachable!("the page is trimmed"),
        }
    }

    /// One page fewer is trimmed by this tombstone and its copies; the last one makes their pages invalid.
    fn bury<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, slot: u32) {
        let is_last = self.count_down(pages, slot);
        for index in 0..self.tombstones.at(slot).copies.len() {
            let copy = self.tombstones.at(slot).copies[index];
            if self.count_down(pages, copy) && self.tombstones.is_durable(copy) {
                self.tombstones.remove(copy);
            }
        }
        if is_last {
            self.tombstones.take_copies(slot);
            self.settle(flash, slot);
        }
    }

    /// One page fewer is trimmed by a restored tombstone, which is kept for the rest of the recovery and has no
    /// copies.
    pub fn bury_restored(&mut self, pages: &mut Pages, slot: u32) {
        self.count_down(pages, slot);
    }

    /// One page fewer is trimmed by this tombstone. `true`: it was the last one.
    fn count_down(&mut self, pages: &mut Pages, slot: u32) -> bool {
        let is_last = self.tombstones.count_down(slot);
        if is_last {
            pages.drop(self.tombstones.at(slot).page);
            self.live_pages -= 1;
        }
        is_last
    }

    /// One more page is trimmed by a restored tombstone and its copies.
    pub fn revive(&mut self, pages: &mut Pages, slot: u32) {
        for slot in self.tombstones.group(slot) {
            if self.tombstones.count_up(slot) {
                pages.keep(self.tombstones.at(slot).page, Back::tombstone(slot));
                self.live_pages += 1;
            }
        }
    }

    /// Takes a tombstone found on flash after a power cut; `first`: one with the same number found before.
    pub fn restore(&mut self, page: Ppn, sequence: u64, ranges: Vec<Range>, first: Option<u32>) -> u32 {
        self.tombstones.add(page, sequence, ranges, 0, first)
    }

    /// Forgets restored tombstones that trim nothing.
    pub fn remove_dead(&mut self) {
        self.tombstones.remove_dead();
    }

    /// For each page trimmed by the restored tombstone `slot`: the page, and the slot of one in another block that says
    /// the same. `None`: there is a page without one.
    pub fn twins(&self, pages: &Pages, block: BlockId, slot: u32) -> Option<Vec<(Lpn, u32)>> {
        if self.tombstones.has_copies(slot) {
            return None; // they stay together
        }
        let trimmed = pages.all().filter(|logical| pages.entry(*logical) == Entry::tombstone(slot));
        trimmed.map(|logical| Some((logical, self.tombstones.twin(slot, logical, block)?))).collect()
    }

    /// Drops from the log what was written again since: a tombstone must name a page once, with the
    /// number of its last trim, or a version between two trims would outlive the second.
    pub fn compact<F: Flash>(&mut self, flash: &mut F, pages: &Pages) {
        let ranges = std::mem::take(&mut self.ranges);
        for range in ranges {
            for logical in range.pages() {
                if self.is_pending(pages, logical, range.sequence) {
                    ranges::push(&mut self.ranges, logical, range.sequence);
                }
            }
        }
        if self.ranges.is_empty() {
            // Nothing of the log is left to be written, so nothing has to wait for it.
            self.pending.clear();
            for page in std::mem::take(&mut self.carried) {
                self.release(flash, page);
            }
        }
    }

    /// Whether the last thing that happened to a page is the trim `sequence`, not logged yet.
    fn is_pending(&self, pages: &Pages, logical: Lpn, sequence: u64) -> bool {
        match pages.entry(logical).place() {
            Place::InLog(number) => self.pending[number as usize].sequence == sequence,
            _ => false,
        }
    }

    /// Programs the trims gathered so far as tombstones, into the lane that is collected. `false`: no room now.
    pub fn log_in<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space, lane: usize) -> bool {
        self.compact(flash, pages);
        while self.has_log() {
            let Some(page) = space.collection_record_page(pages, lane) else { return false };
            self.program(flash, pages, space, page);
        }
        true
    }

    /// Programs one tombstone with the contents of the log, and its copies as far as there is room.
    pub fn program<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space, page: Ppn) {
        let count = self.ranges.len().min(self.capacity);
        let rest = self.ranges.split_off(count);
        let ranges = std::mem::replace(&mut self.ranges, rest);
        let record = record(flash, &ranges);
        let slot = self.tombstones.add(page, pages.next_sequence(), ranges, 1, None);
        self.move_pending(pages, slot);
        self.issue(flash, pages, slot, record);
        self.complete_copies(flash, pages, space, slot);
    }

    /// Programs a tombstone or a copy of one.
    pub(super) fn issue<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, slot: u32, record: Option<RecordId>) {
        let tombstone = self.tombstones.at(slot);
        let (page, sequence) = (tombstone.page, tombstone.sequence);
        if tombstone.live > 0 {
            self.live_pages += 1;
            pages.keep(page, Back::tombstone(slot));
        } else {
            pages.label(page, Back::tombstone(slot));
        }
        let command = PageProgram {
            page,
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence,
            cause: Cause::Metadata,
            completion: Heard::Tombstone.notify(slot),
            after: None,
        };
        let outcome = flash.program(self.owner, command);
        self.issued(flash, outcome, slot);
    }

    /// The program of a tombstone was issued: if it is done it is on flash, unless it failed there.
    pub fn issued<F: Flash>(&mut self, flash: &mut F, outcome: Outcome, slot: u32) {
        let page = self.tombstones.at(slot).page;
        let done = flash.state().block(self.geometry.block_of(page)).done;
        if outcome == Outcome::Done && self.geometry.page_in_block(page) < u32::from(done) {
            self.durable(flash, slot);
        }
    }

    /// The pages of the tombstone's ranges now point to it; it takes over their holds.
    fn move_pending(&mut self, pages: &mut Pages, slot: u32) {
        let ranges = self.tombstones.at(slot).ranges.clone();
        let (mut live, mut held) = (0, Vec::new());
        for range in &ranges {
            for logical in range.pages() {
                let Place::InLog(number) = pages.entry(logical).place() else { unreachable!("the log was compacted") };
                debug_assert!(self.is_pending(pages, logical, range.sequence), "the log was compacted");
                held.extend(self.pending[number as usize].old.take());
                pages.unmap(logical, Entry::tombstone(slot));
                live += 1;
            }
        }
        if self.ranges.is_empty() {
            self.pending.clear();
            held.append(&mut self.carried);
        }
        self.tombstones.take_over(slot, live, held);
    }

    /// A tombstone is on flash: the pages it trims may go once its copies are as well.
    pub fn durable<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let &Tombstone { first, live, .. } = self.tombstones.at(slot);
        if first != slot {
            self.tombstones.programs_end(slot);
            if live == 0 {
                self.tombstones.remove(slot);
            }
        }
        self.tombstones.program_ends(first);
        self.settle(flash, first);
    }

    /// A tombstone that is on flash with all its copies, or that trims nothing any more, holds nothing.
    pub(super) fn settle<F: Flash>(&mut self, flash: &mut F, first: u32) {
        let is_short = self.tombstones.short().contains(&first);
        let tombstone = self.tombstones.at(first);
        let is_dead = tombstone.live == 0;
        if tombstone.waiting > 0 || is_short && !is_dead {
            return;
        }
        let held = self.tombstones.take_held(first);
        if is_dead {
            self.tombstones.remove(first);
        }
        for page in held {
            self.release(flash, page);
        }
    }

    /// Collection reached a tombstone: its live trims go back to the log, which is written before the victim's erase
    /// can start because the victim is held. `false`: the log has no room for it.
    pub fn relocate<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &mut Pages,
        space: &mut Space,
        lane: usize,
        slot: u32,
    ) -> bool {
        if self.log_is_full() && !self.log_in(flash, pages, space, lane) {
            return false;
        }
        let lost = self.lost_at(slot);
        let page = lost.page;
        // It is on flash, though the event that says so may not have been handled yet.
        debug_assert!(flash.state().is_programmed(page), "a victim is fully on flash");
        let read = Read {
            page,
            cause: Cause::Metadata,
            sectors: self.geometry.sectors_per_page() as u8,
            payload: PayloadId::NONE,
            completion: None,
            after: None,
        };
        flash.read(self.owner, read);
        self.keep_copies(flash, lost.slot);
        for range in &lost.ranges {
            for logical in range.pages() {
                if lost.trims(pages, logical) {
                    self.return_to_log(flash, pages, &lost, logical, range.sequence);
                }
            }
        }
        true
    }

    fn lost_at(&self, slot: u32) -> LostTombstone {
        let tombstone = self.tombstones.at(slot);
        LostTombstone { slot: tombstone.first, page: tombstone.page, ranges: tombstone.ranges.clone() }
    }

    /// A page trimmed by a tombstone that goes is trimmed by the log again.
    pub fn return_to_log<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &mut Pages,
        lost: &LostTombstone,
        logical: Lpn,
        sequence: u64,
    ) {
        self.add(flash, pages, logical, lost.page, sequence);
        self.bury(flash, pages, lost.slot);
    }

    /// A tombstone was lost with its die, if it was still needed: its pages are to be returned to the log.
    pub fn lose<F: Flash>(&mut self, flash: &mut F, slot: u32) -> Option<LostTombstone> {
        self.tombstones.get(slot)?;
        let lost = self.lost_at(slot);
        self.carried.extend(self.tombstones.take_held(lost.slot));
        self.keep_copies(flash, lost.slot);
        Some(lost)
    }

    /// Whether a trim not yet on flash holds `page`.
    pub fn is_held(&self, page: Ppn) -> bool {
        let held = self.tombstones.iter().flat_map(|(_, tombstone)| &tombstone.held);
        self.pending.iter().filter_map(|pending| pending.old.as_ref()).chain(held).any(|held| *held == page)
    }

    /// The page of a held version moved because its program failed.
    pub fn move_hold<F: Flash>(&mut self, flash: &mut F, from: Ppn, to: Ppn) {
        let mut pending = self.pending.iter_mut().filter_map(|pending| pending.old.as_mut());
        let is_pending = pending.find(|place| **place == from).map(|place| *place = to).is_some();
        if is_pending || self.tombstones.move_held(from, to) {
            flash.blocks_mut().hold(self.geometry.block_of(to));
            flash.release(self.geometry.block_of(from));
        }
    }

    /// The page that says what a logical page is: its newest version, its tombstone, or the last version while its
    /// trim is not logged.
    pub fn page_that_stands_for(&self, pages: &Pages, logical: Lpn) -> Ppn {
        let page = match pages.entry(logical).place() {
            Place::Page(page) => Some(page),
            Place::InLog(number) => self.pending[number as usize].old,
            Place::Tombstone(slot) => self.tombstones.get(slot).map(|tombstone| tombstone.page),
            Place::Nowhere => None,
        };
        page.expect("an older version of the page is on flash")
    }

    /// The tombstone in `slot` is to be programmed at another page.
    pub fn move_tombstone(&mut self, pages: &mut Pages, slot: u32, to: Ppn) {
        let from = self.tombstones.move_to(slot, to);
        if self.tombstones.at(slot).live > 0 {
            pages.stand_in(from, to);
        } else {
            pages.label(to, Back::tombstone(slot));
        }
    }

    /// Tombstones count what the map says: `trimmed[slot]` map entries name each slot.
    ///
    /// # Errors
    /// The first law broken, in words.
    pub fn check(&self, trimmed: &[u32]) -> Result<(), String> {
        let live = self.tombstones.iter().filter(|(_, tombstone)| tombstone.live > 0).count() as u64;
        if live != self.live_pages {
            return Err(format!("{live} tombstones trim something, but {} are counted", self.live_pages));
        }
        self.tombstones.check(trimmed)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.pending.is_empty(), "a drive is flushed before its state is saved");
        self.tombstones.save(writer);
    }

    /// Reads what [`Trims::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.tombstones.load(reader)?;
        self.live_pages = self.tombstones.iter().filter(|(_, tombstone)| tombstone.live > 0).count() as u64;
        self.pending.clear();
        self.ranges.clear();
        Ok(())
    }
}

impl LostTombstone {
    /// It still trims `logical`.
    pub fn trims(&self, pages: &Pages, logical: Lpn) -> bool {
        pages.entry(logical) == Entry::tombstone(self.slot)
    }
}

/// The bytes of a tombstone, where flash keeps contents.
pub(super) fn record<F: Flash>(flash: &mut F, ranges: &[Range]) -> Option<RecordId> {
    flash.memory_mut().payloads.take_record(|| encode(ranges))
}
