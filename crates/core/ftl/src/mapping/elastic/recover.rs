//! Rebuilding the map after a power cut.
//!
//! The newest sequence number of each page wins, in data and tombstones alike. A stripe counts if its parity and
//! all its pages are there, but for those of lost dies; pages of other stripes are as good as any as long as they
//! can be read, and are written once more. Nobody was told that they were safe, so older versions may be all that
//! is left of some; those have not been erased.

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

/// The newest version of each logical page.
struct Found {
    newest: Vec<Newest>,
    /// The largest sequence number.
    last: u64,
}

impl Found {
    fn note(&mut self, logical: Lpn, found: Newest) {
        let best = &mut self.newest[logical.index()];
        if (found.sequence, found.rank) > (best.sequence, best.rank) {
            *best = found;
        }
        self.last = self.last.max(found.sequence);
    }
}

/// Whether a page on flash is this one.
fn is_of(oob: Oob, page: &CoveredPage) -> bool {
    matches!(oob.kind, PageKind::Data | PageKind::Lost)
        && (oob.logical, oob.sequence) == (page.logical.0, page.sequence)
}

/// Fills a log that knows nothing with what a power cut left.
///
/// # Errors
/// Flash has no out-of-band areas.
pub(super) fn recover(log: &mut Log, image: &FlashState) -> Result<(), RecoverError> {
    let contents = image.contents().ok_or(RecoverError::NoContents)?;
    log.grid.adopt(image);
    log.space.adopt(&log.grid, image, &mut log.pages);
    Recovery { log, image, contents }.recover();
    Ok(())
}

/// A log being filled.
struct Recovery<'a> {
    log: &'a mut Log,
    image: &'a FlashState,
    contents: &'a Contents,
}

impl Recovery<'_> {
    fn recover(&mut self) {
        let missing = self.adopt_stripes();
        let found = self.find_newest();
        self.log.pages.note_sequence(found.last);
        for CoveredPage { logical, sequence, .. } in missing {
            self.log.pages.note_sequence(sequence);
            if found.newest[logical.index()].sequence < sequence {
                self.log.repairs.doubt(logical);
            }
        }
        self.adopt_newest(&found.newest);
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
            let Some(record) =
                self.contents.record(page.0).and_then(|record| ParityRecord::read(&self.log.grid, record))
            else {
                continue;
            };
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

    fn find_newest(&mut self) -> Found {
        let nothing = Newest { sequence: 0, rank: Rank::Nothing, entry: Entry::NOWHERE };
        let newest = vec![nothing; self.log.pages.logical_pages() as usize];
        let mut found = Found { newest, last: self.log.pages.sequence() };
        let mut tombstones = Vec::new();
        for page in written(self.image) {
            let oob = self.contents.oob(page.0);
            let record = self.contents.record(page.0);
            match oob.kind {
                PageKind::Data | PageKind::Lost => {
                    let rank = if self.log.roles.of(page) == Role::Data { Rank::Covered } else { Rank::Alone };
                    let version = Newest { sequence: oob.sequence, rank, entry: Entry::page(page) };
                    found.note(Lpn(oob.logical), version);
                }
                PageKind::Metadata => {
                    if let Some(record) = record.and_then(|record| ParityRecord::read(&self.log.grid, record)) {
                        self.find_lost(page, &record, &mut found);
                    } else if let Some(ranges) = record.and_then(decode) {
                        tombstones.push((page, ranges));
                    }
                }
                PageKind::Erased | PageKind::Torn => {}
            }
        }
        for (page, ranges) in tombstones {
            let number = self.contents.oob(page.0).sequence;
            let slot = self.log.tombstones.add(page, number, ranges.clone(), 0, None);
            for range in ranges {
                let newest =
                    Newest { sequence: number_of(&range), rank: Rank::Tombstone, entry: Entry::tombstone(slot) };
                range.pages().for_each(|logical| found.note(logical, newest));
            }
        }
        found
    }

    /// Finds the pages of a stripe that are on lost dies.
    fn find_lost(&self, parity: Ppn, record: &ParityRecord<'_>, found: &mut Found) {
        if self.log.roles.of(parity) != Role::Parity {
            return;
        }
        let lost = || record.pages.iter().filter(|page| self.log.grid.is_lost(page.page));
        let rank = if lost().count() == 1 { Rank::Computed } else { Rank::Lost };
        for &CoveredPage { page, logical, sequence } in lost() {
            found.note(logical, Newest { sequence, rank, entry: Entry::page(page) });
        }
    }

    /// Fills the map with what was found.
    fn adopt_newest(&mut self, newest: &[Newest]) {
        for (logical, newest) in (0..).map(Lpn).zip(newest) {
            match newest.entry.place() {
                Place::InLog(_) | Place::Nowhere => {}
                Place::Tombstone(slot) => {
                    self.log.pages.unmap(logical, newest.entry);
                    self.log.tombstones.at(slot).live += 1;
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
