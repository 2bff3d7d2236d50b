//! Rebuilding the map after a power cut.
//!
//! The newest sequence number of each page wins, in data and tombstones alike. A stripe counts if its parity and all
//! its pages are there, except on lost dies; pages of other stripes are as good as any as long as they can be read, and
//! are written once more. Nobody was told that they were safe, so older versions may be all that is left of some; these
//! have not been erased.

use super::log::Log;
use super::parity::{CoveredPage, ParityRecord};
use super::roles::Role;
use super::space::STREAMS;
use super::trim::{decode, number_of};
use crate::mapping::RecoverError;
use crate::mapping::common::written;
use crate::mapping::entry::{Entry, Place};
use nand::{Contents, FlashState, Oob, PageKind};
use units::{Lpn, Ppn};

/// The newest version of a logical page found so far.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    /// How good it is among those of one sequence number.
    rank: Rank,
    entry: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Nothing,
    /// A page of a stripe that has lost too many to compute it.
    Lost,
    /// A page without a stripe.
    Alone,
    /// A page to be computed from others of its stripe.
    Computed,
    /// A page that can be read, of a stripe.
    Covered,
    Tombstone,
}

/// Whether a page on flash is this one.
fn is_of(oob: Oob, page: &CoveredPage) -> bool {
    matches!(oob.kind, PageKind::Data | PageKind::Lost)
        && (oob.logical, oob.sequence) == (page.logical.0, page.sequence)
}

/// Fills a log that knows nothing from flash after a power cut.
///
/// # Errors
/// Flash has no out-of-band areas.
pub(super) fn recover(log: &mut Log, image: &FlashState) -> Result<(), RecoverError> {
    let contents = image.contents().ok_or(RecoverError::NoContents)?;
    log.space.adopt(&log.grid, image, &mut log.pages);
    let nothing = Newest { sequence: 0, rank: Rank::Nothing, entry: Entry::NOWHERE };
    let newest = vec![nothing; log.pages.logical_pages() as usize];
    Recovery { log, image, contents, newest }.recover();
    Ok(())
}

/// A log being filled.
struct Recovery<'a> {
    log: &'a mut Log,
    image: &'a FlashState,
    contents: &'a Contents,
    /// The newest version of each logical page found so far.
    newest: Vec<Newest>,
}

impl Recovery<'_> {
    fn recover(&mut self) {
        let missing = self.adopt_stripes();
        self.find_newest();
        for CoveredPage { logical, sequence, .. } in missing {
            self.log.pages.note_sequence(sequence);
            if self.newest[logical.index()].sequence < sequence {
                self.log.repairs.doubt(logical);
            }
        }
        self.adopt_newest();
        self.adopt_rebuild();
    }

    /// What lost dies had is rebuilt from here on: what has a page there is filled no further.
    fn adopt_rebuild(&mut self) {
        let torn =
            self.log.space.in_use().filter(|superblock| self.log.roles.is_torn(&self.log.grid, *superblock)).collect();
        self.log.repairs.rebuild(torn);
        for stream in STREAMS {
            let open = self.log.space.open(stream);
            if open.is_some_and(|open| self.log.repairs.to_rebuild().contains(&open.superblock)) {
                self.log.space.close_open(&mut self.log.pages, stream);
            }
        }
    }

    /// Finds the stripes that are complete as far as can be seen. Returns what the others lack.
    fn adopt_stripes(&mut self) -> Vec<CoveredPage> {
        let (mut missing, mut complete) = (Vec::new(), Vec::new());
        for page in written(self.image) {
            let Some(record) = ParityRecord::read(&self.log.grid, self.contents, page) else { continue };
            if self.contents.oob(page.0).kind != PageKind::Metadata {
                continue;
            }
            let is_lost = |covered: &CoveredPage| self.log.grid.is_lost(covered.page);
            let is_there = |covered: &CoveredPage| is_of(self.contents.oob(covered.page.0), covered);
            if record.pages.iter().all(|page| is_lost(page) || is_there(page)) {
                complete.push((page, record.pages));
            } else {
                // What a lost die may have had of such a stripe counts for nothing either.
                missing.extend(record.pages.iter().copied().filter(|page| is_lost(page) || !is_there(page)));
            }
        }
        for (parity, pages) in complete {
            self.log.roles.enter(pages.iter().map(|covered| covered.page), parity);
        }
        missing
    }

    /// A version, a tombstone or what a parity says of a page was found.
    fn note(&mut self, logical: Lpn, sequence: u64, rank: Rank, entry: Entry) {
        self.log.pages.note_sequence(sequence);
        let best = &mut self.newest[logical.index()];
        if (sequence, rank) > (best.sequence, best.rank) {
            *best = Newest { sequence, rank, entry };
        }
    }

    fn find_newest(&mut self) {
        for page in written(self.image) {
            let Oob { kind, logical, sequence, .. } = self.contents.oob(page.0);
            match kind {
                PageKind::Data | PageKind::Lost => {
                    let rank = if self.log.roles.of(page) == Role::Data { Rank::Covered } else { Rank::Alone };
                    self.note(Lpn(logical), sequence, rank, Entry::page(page));
                }
                PageKind::Metadata if self.log.roles.of(page) == Role::Parity => self.find_lost(page),
                PageKind::Metadata => {
                    let Some(ranges) = self.contents.record(page.0).and_then(decode) else { continue };
                    let slot = self.log.tombstones.add(page, sequence, ranges.clone(), 0, None);
                    for range in ranges {
                        let (number, entry) = (number_of(&range), Entry::tombstone(slot));
                        range.pages().for_each(|logical| self.note(logical, number, Rank::Tombstone, entry));
                    }
                }
                PageKind::Erased | PageKind::Torn => {}
            }
        }
    }

    /// Finds the pages of a stripe that are on lost dies.
    fn find_lost(&mut self, parity: Ppn) {
        let record = ParityRecord::read(&self.log.grid, self.contents, parity).expect("it is known as a parity");
        let lost = record.pages.into_iter().filter(|covered| self.log.grid.is_lost(covered.page));
        let lost: Vec<CoveredPage> = lost.collect();
        let rank = if lost.len() == 1 { Rank::Computed } else { Rank::Lost };
        for CoveredPage { page, logical, sequence } in lost {
            self.note(logical, sequence, rank, Entry::page(page));
        }
    }

    /// Fills the map with what was found.
    fn adopt_newest(&mut self) {
        for (logical, newest) in (0..).map(Lpn).zip(&self.newest) {
            match newest.entry.place() {
                Place::InLog(_) | Place::Nowhere => {}
                Place::Tombstone(slot) => {
                    self.log.pages.unmap(logical, newest.entry);
                    self.log.tombstones.count_up(slot);
                }
                Place::Page(page) => {
                    self.log.pages.place(logical, page);
                    // Beside a lost die a parity may be there that cannot be seen; a new one does no harm.
                    if newest.rank == Rank::Alone && self.log.grid.live_dies() > 1 {
                        self.log.repairs.add(page);
                    }
                }
            }
        }
        self.log.adopt_tombstones();
    }
}
