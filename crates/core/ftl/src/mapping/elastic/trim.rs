//! Trims: a tombstone and a copy of it on another die are written at once. Collection writes those it meets as one.

use super::log::Log;
use super::space::Stream;
use super::stripes::{Content, Waits};
use super::tombstones::{Tombstone, encode, lost_at, number_of};
use crate::mapping::entry::{Entry, Held, Place};
use crate::mapping::ranges::Range;
use nand::Flash;
use std::collections::BTreeSet;
use units::{Cause, Lpn, Ppn};

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
        let Some(page) = self.next_page(flash, stream) else { return false };
        let stripe = self.stripe_at(page, stream);
        let (mut live, mut replaced) = (0, BTreeSet::new());
        for logical in ranges.iter().flat_map(|range| range.pages()) {
            if !is_meant(self.pages.entry(logical)) {
                continue;
            }
            let old = self.supersede(logical);
            replaced.extend(old.page_or_slot().map(|old| self.grid.of(Ppn(old))));
            self.pages.unmap(logical, Entry::tombstone(page.0));
            live += 1;
        }
        for superblock in replaced {
            let hold = Some(self.space.hold(superblock));
            self.stripes.join(stripe, Waits { op: None, hold });
        }
        self.write_tombstone(flash, page, Tombstone::new(ranges, live), content, stream);
        true
    }

    fn write_tombstone<F: Flash>(
        &mut self,
        flash: &mut F,
        page: Ppn,
        tombstone: Tombstone,
        content: &Content,
        stream: Stream,
    ) {
        let stripe = self.stripe_at(page, stream);
        let record = flash.state().contents().map(|_| encode(&tombstone.ranges));
        self.tombstones.add(&mut self.pages, page, tombstone);
        self.stripes.add(stripe, page, *content);
        self.program_record(flash, stripe, page, record, Cause::Metadata);
        self.close_stripe(flash, stream);
        if let Some(twin) = self.stripes.at(stripe).parity {
            self.tombstones.add_twin(&mut self.pages, page, twin);
        }
    }

    /// A tombstone that could not be written finds another place.
    pub fn move_tombstone<F: Flash>(&mut self, flash: &mut F, from: Ppn, content: &Content) -> Option<Ppn> {
        self.close_stripe(flash, Stream::Copies);
        let page = self.next_page(flash, Stream::Copies)?;
        let tombstone = self.tombstones.drop(&mut self.pages, from).again();
        for logical in tombstone.ranges.iter().flat_map(|range| range.pages()) {
            if self.pages.entry(logical) == Entry::tombstone(from.0) {
                self.pages.unmap(logical, Entry::tombstone(page.0));
            }
        }
        self.write_tombstone(flash, page, tombstone, content, Stream::Copies);
        Some(page)
    }

    /// Writes as many tombstones of a superblock as fit a page as one, that of `first` among them. `false`: there is
    /// no room.
    pub fn merge_tombstones<F: Flash>(&mut self, flash: &mut F, first: Ppn, page: Ppn, cause: Cause) -> bool {
        let here = self.grid.valid_in(&self.pages, self.grid.of(page));
        let named = here.filter_map(|page| match self.pages.back(page).held() {
            Held::Tombstone(named) if named != first.0 => Some(Ppn(named)),
            _ => None,
        });
        let mut others: Vec<Ppn> = named.collect();
        others.sort_unstable_by_key(|page| self.grid.position(*page));
        others.dedup();
        let merged: Vec<Ppn> = std::iter::once(first).chain(others).collect();
        let ranges = self.tombstones.merged(&self.pages, &merged);
        let content = Content::tombstone(ranges.iter().map(number_of).max().unwrap_or(0), cause);
        let is_meant = |entry: Entry| matches!(entry.place(), Place::Tombstone(page) if merged.contains(&Ppn(page)));
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
