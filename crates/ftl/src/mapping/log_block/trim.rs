//! Trims: unmapped at once, logged as tombstones in the way of a write, done when those are on flash.
//!
//! A tombstone names consecutive pages of one logical block. It is valid as long as one of them was not
//! written since; a merge carries it along to the offset of the first of these, which is free there. Until
//! it is on flash it holds the blocks of the versions it ends, so that nothing older can surface.

use super::place::Put;
use super::{AWAITED, LogMap, Scheme, TOMBSTONE, TRIMMED, UNMAPPED};
use crate::mapping::common::answer;
use layer::{Answer, PageOp};
use nand::{Cancel, Completion, Flash, JoinId, Outcome, PageProgram, Program};
use units::{BlockId, Cause, Ppn};

/// Pages of one logical block trimmed by one operation.
#[derive(Clone, Debug)]
pub(super) struct Tombstone {
    pub first: u32,
    pub count: u32,
    /// Pages not written since.
    pub live: u32,
    /// Blocks held until it is on flash.
    pub held: Vec<BlockId>,
}

/// Writes a tombstone's record.
fn encode(first: u32, count: u32) -> Box<[u8]> {
    first.to_le_bytes().into_iter().chain(count.to_le_bytes()).collect()
}

/// First page and count of a tombstone's record.
pub(super) fn decode(record: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| record.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    Some((word(0)?, word(4)?))
}

impl<S: Scheme> LogMap<S> {
    pub(super) fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        self.pump(flash);
        let full = self.geometry.full_mask();
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let mut index = 0;
        while index < op.pages {
            let logical = op.first + index;
            let end = (op.pages).min((logical / self.pages + 1) * self.pages - op.first);
            // A trim is advice: a page trimmed in part keeps its contents.
            let trims =
                |index: &u32| op.mask_at(*index, full) == full && self.map[(op.first + index) as usize] < TRIMMED;
            if let Some(first) = (index..end).find(trims) {
                let last = (index..end).rfind(trims).unwrap_or(first);
                let Some(page) = self.place(flash, op.first + first, Put::Tombstone) else {
                    self.starved = true;
                    let (outcome, _) = flash.close(join);
                    return Answer::Full { taken: index, pending: outcome != Outcome::Done };
                };
                self.bury(flash, page, op.first + first, last - first + 1, join);
            }
            index = end;
        }
        answer(flash, join)
    }

    /// Unmaps pages and programs the tombstone that says so.
    fn bury<F: Flash>(&mut self, flash: &mut F, page: Ppn, first: u32, count: u32, join: JoinId) {
        let sequence = self.next_sequence();
        let mut tombstone = Tombstone { first, count, live: 0, held: Vec::new() };
        for logical in first..first + count {
            let old = self.map[logical as usize];
            if old < TRIMMED {
                let block = self.geometry.block_of(Ppn(old));
                self.blocks.invalidate(Ppn(old));
                flash.hold(block);
                tombstone.held.push(block);
                tombstone.live += 1;
                self.map[logical as usize] = TRIMMED | page.0;
            }
        }
        self.trimmed_pages += u64::from(tombstone.live);
        self.back[page.index()] = TRIMMED;
        self.blocks.validate(page);
        self.note_place(page, first);
        self.tombstones.insert(page.0, tombstone);
        let record = flash.memory_mut().payloads.take_record(|| encode(first, count));
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
        self.program(flash, command);
        if flash.await_program(self.owner, page, TOMBSTONE | page.0) == Outcome::Done {
            self.tombstone_ended(flash, page.0);
        }
    }

    /// The program of a tombstone completed or failed.
    pub(super) fn tombstone_ended<F: Flash>(&mut self, flash: &mut F, page: u32) {
        if self.is_on_flash(flash.state(), Ppn(page)) {
            self.end_tombstone(flash, Ppn(page));
        }
    }

    /// A tombstone holds nothing any more: it is on flash, or is not needed.
    pub(super) fn end_tombstone<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let Some(tombstone) = self.tombstones.get_mut(&page.0) else { return };
        let (held, live) = (std::mem::take(&mut tombstone.held), tombstone.live);
        if live == 0 {
            self.tombstones.remove(&page.0);
        }
        for block in held {
            flash.release(block);
        }
    }

    /// A page is written for the first time, or again after a trim: what that supersedes.
    #[inline]
    pub(super) fn leave_trim(&mut self, entry: u32) -> Option<Ppn> {
        if entry == UNMAPPED { None } else { Some(self.leave_tombstone(Ppn(entry & !TRIMMED))) }
    }

    #[cold]
    fn leave_tombstone(&mut self, page: Ppn) -> Ppn {
        let tombstone = self.tombstones.get_mut(&page.0).expect("a trimmed page has a tombstone");
        tombstone.live -= 1;
        if tombstone.live == 0 {
            // While it holds blocks it is not on flash, and may still come back as failed.
            if tombstone.held.is_empty() {
                self.tombstones.remove(&page.0);
            }
            self.blocks.invalidate(page);
        }
        page
    }

    /// A tombstone is programmed at another page, or goes back to where it was.
    pub(super) fn move_tombstone(&mut self, from: Ppn, to: Ppn) {
        let tombstone = self.tombstones.remove(&from.0).expect("it was found in the map");
        for logical in tombstone.first..tombstone.first + tombstone.count {
            if self.map[logical as usize] == TRIMMED | from.0 {
                self.map[logical as usize] = TRIMMED | to.0;
            }
        }
        self.tombstones.insert(to.0, tombstone);
        self.back[to.index()] = TRIMMED;
        self.blocks.invalidate(from);
        self.blocks.validate(to);
    }

    /// The tombstones of a logical block that was just merged are on flash.
    pub(super) fn release_tombstones<F: Flash>(&mut self, flash: &mut F, lbn: u32) {
        let of_block = |tombstone: &Tombstone| tombstone.first / self.pages == lbn && !tombstone.held.is_empty();
        let pages: Vec<u32> = self.tombstones.iter().filter(|entry| of_block(entry.1)).map(|entry| *entry.0).collect();
        for page in pages {
            self.end_tombstone(flash, Ppn(page));
        }
    }
}

const _: () = assert!(TOMBSTONE & AWAITED != 0);
