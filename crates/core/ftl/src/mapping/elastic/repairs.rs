//! Moving pages into new stripes: those collected, and those to be written once more because they have no parity, could
//! not be read, or were on a lost die.

use super::grid::Superblock;
use super::log::Log;
use super::parity::ParityRecord;
use super::space::Stream;
use super::stripes::Content;
use crate::mapping::entry::Occupant;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashState};
use std::collections::{BTreeSet, VecDeque};
use units::{Cause, Lpn, Ppn};

/// Pages that are left to be written once more.
#[derive(Debug, Default)]
pub(super) struct Repairs {
    /// Valid pages without a parity, or that could not be read.
    pages: VecDeque<Ppn>,
    /// Logical pages to be written anew because a power cut left an incomplete stripe with a later version of them:
    /// should the die where that is missing be lost, the stripe would look complete.
    doubted: BTreeSet<Lpn>,
    /// Superblocks with pages on lost dies, to be collected.
    to_rebuild: BTreeSet<Superblock>,
    /// Pages written once more at once.
    window: u32,
    /// Pages that got a parity, and superblocks whose pages are elsewhere now, since counting began.
    pub healed: u64,
    pub rebuilt: u64,
}

impl Repairs {
    /// Nothing is left to be written. `window`: most pages under way at once.
    pub fn new(window: u32) -> Self {
        Self { window, ..Self::default() }
    }

    /// A valid page has no parity.
    pub fn add(&mut self, page: Ppn) {
        self.pages.push_back(page);
    }

    /// A valid page could not be read.
    pub fn add_once(&mut self, page: Ppn) {
        if !self.pages.contains(&page) {
            self.pages.push_back(page);
        }
    }

    /// A power cut left a version of a page that may be taken for the newest one later.
    pub fn doubt(&mut self, logical: Lpn) {
        self.doubted.insert(logical);
    }

    /// Superblocks with pages on lost dies are to be collected.
    pub fn rebuild(&mut self, superblocks: BTreeSet<Superblock>) {
        self.to_rebuild.extend(superblocks);
    }

    /// Superblocks with pages on lost dies.
    pub fn to_rebuild(&self) -> &BTreeSet<Superblock> {
        &self.to_rebuild
    }

    /// Valid pages without a parity, or that could not be read.
    pub fn pages(&self) -> impl Iterator<Item = Ppn> {
        self.pages.iter().copied()
    }

    /// Pages are to be written once more.
    pub fn any(&self) -> bool {
        !self.pages.is_empty() || !self.doubted.is_empty()
    }

    /// Some page is to be written once more.
    pub fn any_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Pages to be written once more.
    pub fn left(&self) -> u64 {
        (self.pages.len() + self.doubted.len()) as u64
    }

    /// A superblock is erased.
    pub fn emptied(&mut self, superblock: Superblock) {
        self.rebuilt += u64::from(self.to_rebuild.remove(&superblock));
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("elastic.repairs", self.pages.iter().copied());
        writer.put("elastic.doubted", self.doubted.iter().copied());
        writer.put("elastic.to_rebuild", self.to_rebuild.iter().map(|superblock| superblock.0));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.pages = reader.each("elastic.repairs")?.collect();
        self.doubted = reader.each("elastic.doubted")?.collect();
        self.to_rebuild = reader.each("elastic.to_rebuild")?.map(Superblock).collect();
        Ok(())
    }
}

impl Log {
    /// Whether pages without a parity may be written once more. The last room is for collection, as far as there is
    /// something to gain: it frees more room than repairs take, one after each of many power cuts.
    pub fn may_repair(&self, state: &FlashState) -> bool {
        // A page in a gap has no parity, so that it would be written once more for ever.
        if !self.has_place(state, Stream::Copies) || self.space.fills_gaps(Stream::Copies) {
            return false;
        }
        let fewest = if self.space.free() == 0 {
            self.space.candidates(&self.pages).map(|victim| self.valid_count(victim)).min()
        } else {
            None
        };
        fewest.is_none_or(|fewest| {
            let takes = if self.space.is_pressed() { fewest } else { self.grid.with_parity(fewest) };
            let room = self.open_room(state);
            takes >= self.grid.live_pages() || takes > room || takes + self.grid.with_parity(1) <= room
        })
    }

    /// Pages without a parity get one, in another page, as far as there is room.
    pub fn pump_repairs<F: Flash>(&mut self, flash: &mut F) {
        while let Some(logical) = self.repairs.doubted.first().copied() {
            let is_busy = self.stripes.repairs() >= self.repairs.window || !self.may_repair(flash.state());
            if is_busy || !self.affirm(flash, logical) {
                return;
            }
            self.repairs.doubted.pop_first();
        }
        while let Some(page) = self.repairs.pages.front().copied() {
            if self.stripes.repairs() >= self.repairs.window || !self.may_repair(flash.state()) {
                return;
            }
            if self.pages.blocks().is_valid(page) {
                if !self.move_away(flash, page, Cause::Rebuild) {
                    return;
                }
                self.repairs.healed += 1;
            }
            self.repairs.pages.pop_front();
        }
    }

    /// Writes the newest version of a page once more, as the newest. `false`: there is no room.
    fn affirm<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> bool {
        let page = self.pages.find(logical);
        if page.is_some_and(|page| self.stripes.in_memory(page).is_some()) {
            return true; // somebody else does
        }
        let sequence = self.pages.next_sequence();
        match page {
            Some(page) => self.rewrite(flash, logical, page, sequence, Cause::Rebuild),
            None if self.is_gone(logical) => self.give_up(flash, logical, sequence),
            None => self.write_nothing(flash, logical, sequence),
        }
    }

    /// Writes what is at a page into a new stripe. `false`: there is no room.
    pub fn move_away<F: Flash>(&mut self, flash: &mut F, page: Ppn, cause: Cause) -> bool {
        match self.pages.back(page).occupant() {
            Occupant::Tombstone(slot) => self.merge_tombstones(flash, slot, page, cause),
            Occupant::Version(logical) => {
                let sequence = self.sequence_of(flash.state(), page);
                self.rewrite(flash, logical, page, sequence, cause)
            }
        }
    }

    /// Writes a page of data into a new stripe, with this sequence number. `false`: there is no room.
    pub fn rewrite<F: Flash>(&mut self, flash: &mut F, logical: Lpn, page: Ppn, sequence: u64, cause: Cause) -> bool {
        if !self.has_place(flash.state(), Stream::Copies) {
            return false;
        }
        let Some((cells, after)) = self.fetch(flash, page, cause, self.full_mask.count_ones() as u8) else {
            return self.give_up(flash, logical, sequence);
        };
        let content = Content::version(logical, sequence, cells, cause);
        let placed = self.put(flash, &content, after, Stream::Copies);
        if placed {
            self.counters.copied += 1;
        } else {
            flash.memory_mut().payloads.release(cells, 1);
        }
        placed
    }

    /// Sequence number of a page on flash: where it is not, its parity knows.
    fn sequence_of(&self, state: &FlashState, page: Ppn) -> u64 {
        let Some(contents) = state.contents() else { return 0 };
        if !self.grid.is_lost(page) {
            return contents.oob(page.0).sequence;
        }
        let stripe = self.roles.stripe_of(&self.grid, page);
        let record = stripe.and_then(|stripe| ParityRecord::read(&self.grid, contents, stripe.parity));
        let covered = record.map_or(Vec::new(), |record| record.pages);
        covered.iter().find(|covered| covered.page == page).map_or(self.pages.sequence(), |covered| covered.sequence)
    }
}
