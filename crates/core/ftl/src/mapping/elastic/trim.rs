//! Trims: a tombstone and a copy of it on another die are written at once. Collection writes those it meets as one.
//!
//! A tombstone names the pages it trims; it and its copy are valid as long as one of them was not written since. A page
//! that is lost for good is named by a tombstone as well, which says so.
//!
//! *Protects*: as many map entries name a tombstone as it counts, and one that nothing names is dropped as soon as it
//! is on flash.

use super::log::Log;
use super::space::Stream;
use super::stripes::{Content, Waits};
use crate::mapping::entry::{Back, Entry, Occupant, Place};
use crate::mapping::ranges::{self, RANGE_BYTES, Range};
use nand::Flash;
use std::collections::BTreeSet;
use units::{Cause, Lpn, Ppn};

/// How a tombstone begins, to tell it from a parity.
const MARK: u8 = 2;
/// In a sequence number of a tombstone's range: the pages are not trimmed but lost.
const LOST: u64 = 1 << 63;

/// The number of a range, whether its pages are trimmed or lost.
pub(super) fn number_of(range: &Range) -> u64 {
    range.sequence & !LOST
}

/// Writes a tombstone's record.
pub(super) fn encode(ranges: &[Range]) -> Box<[u8]> {
    [&[MARK], &*ranges::encode(ranges)].concat().into()
}

/// Reads a tombstone's record; nothing if it is none.
pub(super) fn decode(record: &[u8]) -> Option<Vec<Range>> {
    let (&MARK, ranges) = record.split_first()? else { return None };
    Some(ranges::decode(ranges))
}

impl Log {
    /// Whether nothing is left of a page: it reads as an error until it is written again.
    #[inline]
    pub fn is_gone(&self, logical: Lpn) -> bool {
        let Place::Tombstone(slot) = self.pages.entry(logical).place() else { return false };
        let names = |range: &&Range| (range.first.0..range.first.0 + range.count).contains(&logical.0);
        let ranges = self.ranges(slot).iter().filter(names);
        ranges.max_by_key(|range| number_of(range)).is_some_and(|range| range.sequence & LOST != 0)
    }

    /// What a tombstone names.
    fn ranges(&self, slot: u32) -> &[Range] {
        &self.tombstones.get(slot).expect("a map entry names a living tombstone").ranges
    }

    /// The slot of the tombstone that is at `page`, or whose copy is there.
    fn tombstone_at(&self, page: Ppn) -> u32 {
        match self.pages.back(page).occupant() {
            Occupant::Tombstone(slot) => slot,
            Occupant::Version(_) => unreachable!("a tombstone was written to page {page}"),
        }
    }

    /// The record of the copy of the tombstone at `page`.
    pub fn copied_record(&self, page: Ppn) -> Box<[u8]> {
        encode(self.ranges(self.tombstone_at(page)))
    }

    /// Writes a tombstone of consecutive pages that were written before. `false`: there is no room.
    pub fn trim<F: Flash>(&mut self, flash: &mut F, range: Range, op: u32) -> bool {
        let waits = Waits { op: Some(op), hold: None };
        let content = Content { waits, ..Content::tombstone(range.sequence, Cause::Metadata) };
        let placed = self.bury(flash, vec![range], &content, Stream::Host, |entry| entry != Entry::NOWHERE);
        self.counters.trimmed += if placed { u64::from(range.count) } else { 0 };
        placed
    }

    /// Writes a tombstone and its copy: of the pages it names, those whose map entries are meant are nowhere from
    /// now on. `false`: there is no room.
    fn bury<F: Flash>(
        &mut self,
        flash: &mut F,
        ranges: Vec<Range>,
        content: &Content,
        stream: Stream,
        is_meant: impl Fn(Entry) -> bool,
    ) -> bool {
        self.close_stripe(flash, stream);
        let Some(page) = self.next_page(flash, stream) else { return false };
        let stripe = self.stripe_at(page, stream);
        let slot = self.tombstones.add(page, content.sequence, ranges.clone(), 1, None);
        self.pages.keep(page, Back::tombstone(slot));
        let mut replaced = BTreeSet::new();
        for logical in ranges.into_iter().flat_map(Range::pages) {
            if is_meant(self.pages.entry(logical)) {
                replaced.extend(self.supersede(logical).map(|old| self.grid.of(old)));
                self.pages.unmap(logical, Entry::tombstone(slot));
                self.tombstones.count_up(slot);
            }
        }
        for superblock in replaced {
            let hold = Some(self.space.hold(superblock));
            self.stripes.join(stripe, Waits { op: None, hold });
        }
        self.write_tombstone(flash, slot, content, stream);
        true
    }

    /// Programs a tombstone and its copy.
    fn write_tombstone<F: Flash>(&mut self, flash: &mut F, slot: u32, content: &Content, stream: Stream) {
        let page = self.tombstones.at(slot).page;
        let stripe = self.stripe_at(page, stream);
        let record = flash.state().contents().map(|_| encode(self.ranges(slot)));
        self.stripes.add(stripe, page, *content);
        self.program_record(flash, stripe, page, record, Cause::Metadata);
        self.close_stripe(flash, stream);
        if let Some(copy) = self.stripes.at(stripe).parity {
            self.tombstones.add(copy, content.sequence, Vec::new(), 0, Some(slot));
            self.pages.keep(copy, Back::tombstone(slot));
        }
    }

    /// A map entry names a tombstone no longer. The last one makes it invalid, unless it is still being written: until
    /// it is safe somebody may wait for it.
    pub fn unbury(&mut self, slot: u32) {
        self.tombstones.count_down(slot);
        self.drop_idle(slot);
    }

    /// The tombstone at `page` and its copy are on flash.
    pub fn tombstone_written(&mut self, page: Ppn) {
        let slot = self.tombstone_at(page);
        self.tombstones.programs_end(slot);
        self.drop_idle(slot);
    }

    /// Drops a tombstone that nothing names or waits for.
    fn drop_idle(&mut self, slot: u32) {
        let tombstone = self.tombstones.at(slot);
        if tombstone.live > 0 || tombstone.waiting > 0 {
            return;
        }
        let page = tombstone.page;
        self.drop_copies(slot);
        self.pages.drop(page);
        self.tombstones.remove(slot);
    }

    fn drop_copies(&mut self, slot: u32) {
        for copy in self.tombstones.take_copies(slot) {
            self.pages.drop(self.tombstones.at(copy).page);
            self.tombstones.remove(copy);
        }
    }

    /// A tombstone that could not be written finds another place.
    pub fn move_tombstone<F: Flash>(&mut self, flash: &mut F, from: Ppn, content: &Content) -> Option<Ppn> {
        self.close_stripe(flash, Stream::Copies);
        let page = self.next_page(flash, Stream::Copies)?;
        let slot = self.tombstone_at(from);
        self.drop_copies(slot);
        self.pages.stand_in(from, page);
        self.tombstones.move_to(slot, page);
        self.write_tombstone(flash, slot, content, Stream::Copies);
        Some(page)
    }

    /// Writes as many tombstones of the superblock of `page` as fit a page as one, the one in slot `first` among them.
    /// `false`: there is no room.
    pub fn merge_tombstones<F: Flash>(&mut self, flash: &mut F, first: u32, page: Ppn, cause: Cause) -> bool {
        let here = self.grid.valid_in(&self.pages, self.grid.of(page)).map(|page| self.pages.back(page).occupant());
        let slots = here.filter_map(|held| match held {
            Occupant::Tombstone(slot) if slot != first => Some(slot),
            _ => None,
        });
        let mut slots: Vec<u32> = slots.collect();
        slots.sort_unstable_by_key(|slot| self.tombstones.get(*slot).map(|other| self.grid.position(other.page)));
        slots.dedup();
        slots.insert(0, first);
        let ranges = self.merged(&slots);
        let content = Content::tombstone(ranges.iter().map(number_of).max().unwrap_or(0), cause);
        let is_meant = |entry: Entry| matches!(entry.place(), Place::Tombstone(slot) if slots.contains(&slot));
        self.bury(flash, ranges, &content, Stream::Copies, is_meant)
    }

    /// What as many of these tombstones as fit a page still name.
    fn merged(&self, slots: &[u32]) -> Vec<Range> {
        let capacity = (self.grid.page_bytes() - 1) / RANGE_BYTES;
        let mut ranges: Vec<Range> = Vec::new();
        for slot in slots {
            let mut left = Vec::new();
            for range in self.ranges(*slot) {
                let named = range.pages().filter(|logical| self.pages.entry(*logical) == Entry::tombstone(*slot));
                named.for_each(|logical| ranges::push(&mut left, logical, range.sequence));
            }
            let left = if left.len() > capacity { self.ranges(*slot).to_vec() } else { left };
            if !ranges.is_empty() && ranges.len() + left.len() > capacity {
                break;
            }
            ranges.extend(left);
        }
        ranges
    }

    /// Says that there is nothing of a page. `false`: there is no room to say so.
    pub fn write_nothing<F: Flash>(&mut self, flash: &mut F, logical: Lpn, sequence: u64) -> bool {
        let content = Content::tombstone(sequence & !LOST, Cause::Rebuild);
        self.bury(flash, vec![Range { first: logical, count: 1, sequence }], &content, Stream::Copies, |_| true)
    }

    /// Nothing is left of a page: it reads as an error until it is written again. `false`: there is no room to say so.
    pub fn give_up<F: Flash>(&mut self, flash: &mut F, logical: Lpn, sequence: u64) -> bool {
        let placed = self.write_nothing(flash, logical, sequence | LOST);
        self.counters.lost += u64::from(placed);
        placed
    }

    /// After a power cut: of the tombstones found, keeps the ones that map entries name, each with its copy. One
    /// without a copy is written once more.
    pub fn adopt_tombstones(&mut self) {
        let found: Vec<(u32, Ppn)> = self.tombstones.iter().map(|(slot, found)| (slot, found.page)).collect();
        let (living, mut others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(slot, _)| self.tombstones.at(*slot).live > 0);
        for (slot, page) in living {
            self.pages.keep(page, Back::tombstone(slot));
            let copy = others.iter().position(|&(other, at)| {
                // One that was written again may have left copies on its own die.
                self.grid.of(at) == self.grid.of(page)
                    && self.grid.die_of(at) != self.grid.die_of(page)
                    && self.ranges(other) == self.ranges(slot)
            });
            let Some(copy) = copy else {
                self.repairs.add(page);
                continue;
            };
            let (copy, at) = others.remove(copy);
            self.tombstones.join(copy, slot);
            self.pages.keep(at, Back::tombstone(slot));
        }
        for (slot, _) in others {
            self.tombstones.remove(slot);
        }
    }
}
