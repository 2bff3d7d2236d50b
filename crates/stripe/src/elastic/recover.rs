//! Rebuilding the map after a power cut.
//!
//! The newest sequence number of each page wins, in data and tombstones alike. A stripe counts if its parity and
//! all its pages are there, but for those of lost dies; pages of other stripes are as good as any as long as they
//! can be read, and are written once more. Nobody was told that they were safe, so older versions may be all that
//! is left of some; those have not been erased.

use super::stripes::ParityRecord;
use super::superblocks::{Role, STREAMS};
use super::trim::{Range, Tombstone, decode};
use super::{Elastic, LOST, TRIMMED, UNMAPPED};
use ftl::mapping::{FtlContext, RecoverError};
use nand::{Contents, Flash, FlashState, PageKind};
use units::{DieId, Ppn};

/// The newest version of a logical page found so far.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    /// How good it is among those of one sequence number.
    rank: Rank,
    entry: u32,
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
    /// A tombstone.
    Tombstone,
}

impl<F: Flash> Elastic<F> {
    /// From what a power cut left.
    ///
    /// # Errors
    /// Flash has no out-of-band areas.
    pub fn recover(context: &FtlContext<'_>, data: u32, spares: u32, image: &FlashState) -> Result<Self, RecoverError> {
        let contents = image.contents().ok_or(RecoverError::NoContents)?;
        let mut elastic = Self::new(context, data, spares);
        elastic.adopt_dies(image);
        elastic.blocks.adopt(image);
        let missing = elastic.adopt_stripes(image, contents);
        let newest = elastic.find_newest(image, contents);
        for (logical, sequence) in missing {
            elastic.sequence = elastic.sequence.max(sequence);
            if newest[logical as usize].sequence < sequence {
                elastic.doubted.insert(logical);
            }
        }
        elastic.adopt_newest(&newest);
        elastic.adopt_rebuild();
        Ok(elastic)
    }

    /// What lost dies had is rebuilt from here on: what has a page there is filled no further.
    fn adopt_rebuild(&mut self) {
        self.to_rebuild = self.blocks.torn();
        for stream in STREAMS {
            if self.blocks.open[stream as usize].is_some_and(|(superblock, _)| self.to_rebuild.contains(&superblock)) {
                self.blocks.close_open(stream);
            }
        }
    }

    /// Which dies are lost, and which spares have taken their places.
    fn adopt_dies(&mut self, image: &FlashState) {
        for spare in self.spares.clone() {
            let is_used = (0..image.geometry.blocks())
                .map(units::BlockId)
                .any(|block| image.geometry.die_of(block) == spare && image.block(block).done > 0);
            if is_used && !image.die_is_dead(spare) {
                self.spares.retain(|other| *other != spare);
                self.blocks.set_lost(spare, false);
            }
        }
        for die in (0..image.geometry.dies()).map(DieId).filter(|die| image.die_is_dead(*die)) {
            self.spares.retain(|spare| *spare != die);
            self.blocks.set_lost(die, true);
            self.deaths += 1;
            self.failed_dies += 1;
            self.blocks.widen();
        }
        let missing = self.usual_dies.saturating_sub(self.blocks.live_dies());
        for _ in 0..missing {
            let Some(spare) = self.spares.pop() else { break };
            self.blocks.set_lost(spare, false);
        }
    }

    /// Every page that was programmed and whose die is there.
    fn programmed<'a>(&'a self, image: &'a FlashState) -> impl Iterator<Item = (u32, Ppn)> + 'a {
        (0..self.blocks.count() * self.blocks.places).map(|place| (place, self.blocks.page(place))).filter(
            move |(place, page)| {
                let row = image.block(image.geometry.block_of(*page));
                !self.blocks.is_lost(*place)
                    && !row.is_bad()
                    && image.geometry.page_in_block(*page) < u32::from(row.done)
            },
        )
    }

    /// Finds the stripes that are complete as far as can be seen. Returns logical page and sequence number of what
    /// the others lack.
    fn adopt_stripes(&mut self, image: &FlashState, contents: &Contents) -> Vec<(u32, u64)> {
        let mut missing = Vec::new();
        let mut complete: Vec<(u32, Vec<u32>)> = Vec::new();
        for (place, page) in self.programmed(image) {
            let Some(record) = contents.record(page.0).and_then(ParityRecord::read) else { continue };
            let is_there = |&(member, logical, sequence): &(u32, u32, u64)| {
                let oob = contents.oob(self.blocks.page(member).0);
                let holds = matches!(oob.kind, PageKind::Data | PageKind::Lost)
                    && (oob.logical, oob.sequence) == (logical, sequence);
                self.blocks.is_lost(member) || holds
            };
            if contents.oob(page.0).kind != PageKind::Metadata {
                continue;
            }
            if record.members.iter().all(is_there) {
                complete.push((place, record.members.iter().map(|(member, ..)| *member).collect()));
            } else {
                missing.extend(
                    record
                        .members
                        .iter()
                        .filter(|member| !is_there(member))
                        .map(|(_, logical, sequence)| (*logical, *sequence)),
                );
            }
        }
        for (parity, members) in complete {
            self.blocks.set_role(parity, Role::Parity);
            for member in members {
                self.blocks.set_role(member, Role::Data);
            }
        }
        missing
    }

    fn find_newest(&mut self, image: &FlashState, contents: &Contents) -> Vec<Newest> {
        let mut newest = vec![Newest { sequence: 0, rank: Rank::Nothing, entry: UNMAPPED }; self.map.len()];
        let mut last = self.sequence;
        let mut note = |logical: u32, found: Newest| {
            let best = &mut newest[logical as usize];
            if (found.sequence, found.rank) > (best.sequence, best.rank) {
                *best = found;
            }
            last = last.max(found.sequence);
        };
        let mut tombstones: Vec<(u32, Vec<Range>)> = Vec::new();
        for (place, page) in self.programmed(image) {
            let oob = contents.oob(page.0);
            match oob.kind {
                PageKind::Data | PageKind::Lost => {
                    let rank = if self.blocks.role(place) == Role::Data { Rank::Covered } else { Rank::Alone };
                    note(oob.logical, Newest { sequence: oob.sequence, rank, entry: place });
                }
                PageKind::Metadata => {
                    let record = contents.record(page.0);
                    if let Some(record) = record.and_then(ParityRecord::read) {
                        let lost = record.members.iter().filter(|(member, ..)| {
                            self.blocks.is_lost(*member) && self.blocks.role(place) == Role::Parity
                        });
                        let lost: Vec<_> = lost.collect();
                        let rank = if lost.len() == 1 { Rank::Computed } else { Rank::Lost };
                        for &(member, logical, sequence) in lost {
                            note(logical, Newest { sequence, rank, entry: member });
                        }
                    } else if let Some(ranges) = record.and_then(decode) {
                        tombstones.push((place, ranges));
                    }
                }
                PageKind::Erased | PageKind::Torn => {}
            }
        }
        for (place, ranges) in tombstones {
            for range in &ranges {
                let found = Newest { sequence: range.sequence & !LOST, rank: Rank::Tombstone, entry: TRIMMED | place };
                (range.first..range.first + range.count).for_each(|logical| note(logical, found));
            }
            self.tombstones.insert(place, Tombstone { ranges, live: 0, twin: None, safe: true });
        }
        self.sequence = last;
        newest
    }

    /// Fills the map with what was found.
    fn adopt_newest(&mut self, newest: &[Newest]) {
        for (logical, newest) in (0..).zip(newest).filter(|(_, newest)| newest.rank != Rank::Nothing) {
            let entry = newest.entry;
            self.map[logical as usize] = entry;
            if entry >= TRIMMED {
                self.tombstones.get_mut(&(entry & !TRIMMED)).expect("it was found").live += 1;
                continue;
            }
            self.back[entry as usize] = logical;
            self.blocks.validate(entry);
            // Beside a lost die a parity may be there that cannot be seen; a new one does no harm.
            if newest.rank == Rank::Alone && self.blocks.live_dies() > 1 {
                self.repairs.push_back(entry);
            }
        }
        let (living, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.tombstones).into_iter().partition(|(_, tombstone)| tombstone.live > 0);
        for (place, mut tombstone) in living {
            let is_twin = |(other, twin): &&(u32, Tombstone)| {
                self.blocks.of(*other) == self.blocks.of(place) && twin.ranges == tombstone.ranges
            };
            tombstone.twin = others.iter().find(is_twin).map(|(twin, _)| *twin);
            for copy in [place].into_iter().chain(tombstone.twin) {
                self.back[copy as usize] = TRIMMED | place;
                self.blocks.validate(copy);
            }
            if tombstone.twin.is_none() {
                self.repairs.push_back(place);
            }
            self.tombstones.insert(place, tombstone);
        }
    }
}
