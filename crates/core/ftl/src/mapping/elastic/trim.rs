//! Trims: a tombstone and a copy of it on another die are written at once. Collection writes those it meets as one.

use super::entry::{At, Entry, Held, Place};
use super::log::Log;
use super::space::Stream;
use super::stripes::{Content, Waits};
use super::tombstones::{Tombstone, encode, lost_at, number_of};
use crate::mapping::ranges::Range;
use nand::Flash;
use std::collections::BTreeSet;
use units::{Cause, Lpn};

impl Log {
    /// Whether a map entry stands for a page that is lost.
    #[inline]
    pub fn is_gone(&self, logical: Lpn) -> bool {
        self.tombstones.is_gone(&self.pages, logical)
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
        let Some(place) = self.next_place(flash, stream) else { return false };
        let stripe = self.stripe_at(place, stream);
        let (mut live, mut replaced) = (0, BTreeSet::new());
        for logical in ranges.iter().flat_map(|range| range.pages()) {
            if !is_meant(self.pages.entry(logical)) {
                continue;
            }
            let old = self.pages.trim(logical, place);
            replaced.extend(old.place().map(|old| self.grid.of(old)));
            if let At::Tombstone(old) = old.at() {
                self.tombstones.bury(&mut self.pages, old);
            }
            live += 1;
        }
        for superblock in replaced {
            let hold = Some(self.space.hold(superblock));
            self.stripes.join(stripe, Waits { op: None, hold });
        }
        self.write_tombstone(flash, place, Tombstone::new(ranges, live), content, stream);
        true
    }

    fn write_tombstone<F: Flash>(
        &mut self,
        flash: &mut F,
        place: Place,
        tombstone: Tombstone,
        content: &Content,
        stream: Stream,
    ) {
        let stripe = self.stripe_at(place, stream);
        let record = flash.state().contents().map(|_| encode(&tombstone.ranges));
        self.tombstones.add(&mut self.pages, place, tombstone);
        self.stripes.add(stripe, place, *content);
        self.program_record(flash, stripe, place, record, Cause::Metadata);
        self.close_stripe(flash, stream);
        if let Some(twin) = self.stripes.at(stripe).parity {
            self.tombstones.add_twin(&mut self.pages, place, twin);
        }
    }

    /// A tombstone that could not be written finds another place.
    pub fn move_tombstone<F: Flash>(&mut self, flash: &mut F, from: Place, content: &Content) -> Option<Place> {
        self.close_stripe(flash, Stream::Copies);
        let place = self.next_place(flash, Stream::Copies)?;
        let tombstone = self.tombstones.drop(&mut self.pages, from).again();
        for logical in tombstone.ranges.iter().flat_map(|range| range.pages()) {
            if self.pages.names(logical, from) {
                self.pages.trim(logical, place);
            }
        }
        self.write_tombstone(flash, place, tombstone, content, Stream::Copies);
        Some(place)
    }

    /// Writes as many tombstones of a superblock as fit a page as one, that of `first` among them. `false`: there is
    /// no room.
    pub fn merge_tombstones<F: Flash>(&mut self, flash: &mut F, first: Place, place: Place, cause: Cause) -> bool {
        let named = self.pages.valid_in(self.grid.of(place)).filter_map(|place| match self.pages.held(place) {
            Held::Tombstone(named) if named != first => Some(named),
            _ => None,
        });
        let others: BTreeSet<Place> = named.collect();
        let places: Vec<Place> = std::iter::once(first).chain(others).collect();
        let ranges = self.tombstones.merged(&self.pages, &places);
        let content = Content::tombstone(ranges.iter().map(number_of).max().unwrap_or(0), cause);
        let is_meant = |entry: Entry| matches!(entry.at(), At::Tombstone(place) if places.contains(&place));
        self.bury(flash, ranges, &content, Stream::Copies, is_meant)
    }

    /// Says that there is nothing of a page. `false`: there is no room to say so.
    pub fn write_nothing<F: Flash>(&mut self, flash: &mut F, logical: Lpn, sequence: u64) -> bool {
        let content = Content::tombstone(number_of(&Range { first: logical, count: 1, sequence }), Cause::Rebuild);
        self.bury(flash, vec![Range { first: logical, count: 1, sequence }], &content, Stream::Copies, |_| true)
    }

    /// Nothing is left of a page: it reads as an error until it is written again. `false`: there is no room to say so.
    pub fn give_up<F: Flash>(&mut self, flash: &mut F, logical: Lpn, sequence: u64) -> bool {
        let placed = self.write_nothing(flash, logical, lost_at(sequence));
        self.counters.lost += u64::from(placed);
        placed
    }
}
