//! Trims: unmapped at once, logged as tombstones in the way of a write, done when those are on flash.
//!
//! A tombstone names consecutive pages of one logical block. It is valid as long as one of them was not
//! written since; a merge carries it along to the offset of the first of these, which is free there. Until
//! it is on flash it holds the blocks of the versions it ends, so that nothing older can surface.
//!
//! *Protects*: the entry of a trimmed page names a tombstone that counts it, and a tombstone's page is valid if and
//! only if it counts one.

use super::lbn::{Lbn, LogicalBlocks};
use super::{PAGES_LIMIT, TOMBSTONE};
use crate::mapping::common::{UNMAPPED, reach};
use crate::mapping::entry::{Back, Entry, Occupant, Place};
use crate::mapping::pages::Pages;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Completion, Flash, JoinId, Outcome, Owner, PageProgram, Program, ProgramFailure};
use std::collections::BTreeMap;
use units::{BlockId, Cause, Geometry, Lpn, Ppn};

/// Consecutive pages of one logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: Lpn,
    pub count: u32,
}

impl Range {
    pub fn pages(self) -> impl Iterator<Item = Lpn> {
        (self.first.0..self.first.0 + self.count).map(Lpn)
    }

    /// As a tombstone's record.
    fn encode(self) -> Box<[u8]> {
        [self.first.0, self.count].into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Reads a tombstone's record.
    pub fn decode(record: &[u8]) -> Option<Self> {
        let word = |at: usize| record.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        Some(Self { first: Lpn(word(0)?), count: word(4)? })
    }
}

/// Pages trimmed by one operation.
#[derive(Clone, Debug)]
struct Tombstone {
    range: Range,
    /// Pages not written since.
    live: u32,
    /// Blocks held until it is on flash.
    held: Vec<BlockId>,
}

/// The tombstones, by flash page.
pub(super) struct Trims {
    geometry: Geometry,
    owner: Owner,
    tombstones: BTreeMap<Ppn, Tombstone>,
    /// Pages trimmed since counting began.
    pub trimmed_pages: u64,
}

impl Trims {
    pub fn new(geometry: Geometry, owner: Owner) -> Self {
        assert!(geometry.pages() <= PAGES_LIMIT, "a token names a page of a tombstone: {} pages", geometry.pages());
        Self { geometry, owner, tombstones: BTreeMap::new(), trimmed_pages: 0 }
    }

    /// Unmaps pages and programs the tombstone that says so.
    pub fn bury<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, page: Ppn, range: Range, join: JoinId) {
        let sequence = pages.next_sequence();
        let mut tombstone = Tombstone { range, live: 0, held: Vec::new() };
        for logical in range.pages() {
            if let Some(old) = pages.find(logical) {
                let block = self.geometry.block_of(old);
                pages.drop(old);
                flash.blocks_mut().hold(block);
                tombstone.held.push(block);
                tombstone.live += 1;
                pages.unmap(logical, Entry::tombstone(page.0));
            }
        }
        self.trimmed_pages += u64::from(tombstone.live);
        pages.keep(page, Back::RECORD);
        self.tombstones.insert(page, tombstone);
        let record = flash.memory_mut().payloads.take_record(|| range.encode());
        let command = PageProgram {
            page,
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence,
            cause: Cause::Metadata,
            completion: Completion::Join(join),
            after: None,
        };
        reach(flash, page);
        flash.program(self.owner, command);
        if flash.await_program(self.owner, page, TOMBSTONE | page.0) == Outcome::Done {
            self.programmed(flash, page);
        }
    }

    /// The program of a tombstone completed or failed.
    pub fn programmed<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        if flash.state().is_programmed(page) {
            self.release(flash, page);
        }
    }

    /// A tombstone holds nothing any more: it is on flash, or is not needed.
    pub fn release<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let Some(tombstone) = self.tombstones.get_mut(&page) else { return };
        let (held, live) = (std::mem::take(&mut tombstone.held), tombstone.live);
        if live == 0 {
            self.tombstones.remove(&page);
        }
        for block in held {
            flash.release(block);
        }
    }

    /// The tombstones of a logical block that was just merged are on flash.
    pub fn release_all<F: Flash>(&mut self, flash: &mut F, lbns: LogicalBlocks, lbn: Lbn) {
        let of_block = |tombstone: &Tombstone| lbns.of(tombstone.range.first) == lbn && !tombstone.held.is_empty();
        let pages: Vec<Ppn> = self.tombstones.iter().filter(|entry| of_block(entry.1)).map(|entry| *entry.0).collect();
        for page in pages {
            self.release(flash, page);
        }
    }

    /// A page is written again after the trim of the tombstone at `page`.
    #[cold]
    pub fn leave(&mut self, pages: &mut Pages, page: Ppn) {
        let tombstone = self.tombstones.get_mut(&page).expect("a trimmed page has a tombstone");
        tombstone.live -= 1;
        if tombstone.live == 0 {
            // While it holds blocks it is not on flash, and may still come back as failed.
            if tombstone.held.is_empty() {
                self.tombstones.remove(&page);
            }
            pages.drop(page);
        }
    }

    /// A tombstone is programmed at another page, or goes back to where it was.
    pub fn relocate(&mut self, pages: &mut Pages, from: Ppn, to: Ppn) {
        let tombstone = self.tombstones.remove(&from).expect("it was found in the map");
        for logical in tombstone.range.pages() {
            if trimmed_by(pages, logical) == Some(from) {
                pages.unmap(logical, Entry::tombstone(to.0));
            }
        }
        self.tombstones.insert(to, tombstone);
        pages.stand_in(from, to);
    }

    /// A scan found that the tombstone at `page` trims a page.
    pub fn restore(&mut self, pages: &mut Pages, logical: Lpn, page: Ppn, range: Range) {
        pages.unmap(logical, Entry::tombstone(page.0));
        let tombstone = self.tombstones.entry(page).or_insert(Tombstone { range, live: 0, held: Vec::new() });
        tombstone.live += 1;
        if tombstone.live == 1 {
            pages.keep(page, Back::RECORD);
        }
    }

    /// The logical page that a valid page is a version of, or the first one that it trims.
    pub fn first_in(&self, pages: &Pages, page: Ppn) -> Option<Lpn> {
        match pages.back(page).occupant() {
            Occupant::Version(logical) => Some(logical),
            Occupant::Tombstone(_) => Some(self.tombstones.get(&page)?.range.first),
        }
    }

    /// The contents of a failed program: a version, or a tombstone of these pages.
    pub fn range_of(&self, failure: &ProgramFailure) -> Range {
        match self.tombstones.get(&failure.page) {
            Some(tombstone) if failure.logical == UNMAPPED => tombstone.range,
            _ => Range { first: Lpn(failure.logical), count: 1 },
        }
    }

    /// Tombstones that are valid.
    pub fn live(&self) -> u64 {
        self.tombstones.values().filter(|tombstone| tombstone.live > 0).count() as u64
    }

    /// Compares the live counts with the map, where `trimmed[page]` entries name each flash page as a tombstone.
    ///
    /// # Errors
    /// The first tombstone where they differ, in words.
    pub fn check(&self, pages: &Pages, trimmed: &[u32]) -> Result<(), String> {
        for (page, tombstone) in &self.tombstones {
            let (named, is_valid) = (trimmed[page.index()], pages.blocks().is_valid(*page));
            if named != tombstone.live || is_valid != (named > 0) {
                return Err(format!("tombstone at page {page} counts {} pages, the map names {named}", tombstone.live));
            }
        }
        let named = trimmed.iter().filter(|named| **named > 0).count() as u64;
        if named == self.live() {
            Ok(())
        } else {
            Err(format!("the map names {named} tombstones, not {}", self.live()))
        }
    }

    /// Whether all valid pages of a block are of one logical block, and at their own offsets if it is `in_place`.
    pub fn holds(&self, pages: &Pages, block: BlockId, lbns: LogicalBlocks, (lbn, in_place): (Lbn, bool)) -> bool {
        pages.valid_in(block).all(|page| {
            let is_own = |first: Lpn| {
                let at_own = lbns.offset(first) == self.geometry.page_in_block(page);
                lbns.of(first) == lbn && (!in_place || pages.back(page).is_tombstone() || at_own)
            };
            self.first_in(pages, page).is_some_and(is_own)
        })
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let rows = self.tombstones.iter().map(|(page, t)| [page.0, t.range.first.0, t.range.count, t.live]);
        writer.put("log.tombstones", rows);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        for [page, first, count, live] in reader.each::<[u32; 4]>("log.tombstones")? {
            let range = Range { first: Lpn(first), count };
            self.tombstones.insert(Ppn(page), Tombstone { range, live, held: Vec::new() });
        }
        Ok(())
    }
}

/// The tombstone that trims a page. In a map entry its slot is the number of its flash page.
#[inline]
pub(super) fn trimmed_by(pages: &Pages, logical: Lpn) -> Option<Ppn> {
    match pages.entry(logical).place() {
        Place::Tombstone(page) => Some(Ppn(page)),
        _ => None,
    }
}

/// Where the last thing that happened to a page is: its newest version or its tombstone.
#[inline]
pub(super) fn newest(pages: &Pages, logical: Lpn) -> Option<Ppn> {
    pages.entry(logical).page_or_slot().map(Ppn)
}

/// Whether a failed program was one of a tombstone.
pub(super) fn is_tombstone(failure: &ProgramFailure) -> bool {
    failure.logical == UNMAPPED
}
