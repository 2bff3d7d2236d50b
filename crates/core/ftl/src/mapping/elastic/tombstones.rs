//! The tombstones on flash or on their way there: what says of a page that there is nothing of it.
//!
//! A tombstone names the pages it trims; it is valid as long as one of them was not written since, and it has a twin
//! on another die. A page that is lost for good is named by a tombstone as well, which says so.
//!
//! *Protects*: as many map entries name a tombstone as it counts, and one that nothing names is dropped as soon as it
//! is on flash.

use super::grid::Grid;
use super::unfit;
use crate::mapping::entry::{Back, Entry, Place};
use crate::mapping::pages::Pages;
use crate::mapping::ranges::{self, RANGE_BYTES, Range};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use std::collections::BTreeMap;
use units::{Lpn, Ppn};

/// How a tombstone begins, to tell it from a parity.
const MARK: u8 = 2;
/// In a sequence number of a tombstone's range: the pages are not trimmed but lost.
const LOST: u64 = 1 << 63;

/// The number under which a page is lost.
pub(super) fn lost_at(sequence: u64) -> u64 {
    sequence | LOST
}

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

/// Pages that are nowhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Tombstone {
    pub ranges: Vec<Range>,
    /// Pages not written since.
    pub live: u32,
    twin: Option<Ppn>,
    /// It and its twin are on flash.
    safe: bool,
}

impl Tombstone {
    /// One that is yet to be written.
    pub fn new(ranges: Vec<Range>, live: u32) -> Self {
        Self { ranges, live, twin: None, safe: false }
    }

    /// The same, to be written in another place.
    pub fn again(self) -> Self {
        Self { twin: None, ..self }
    }
}

/// Every tombstone that is still needed.
#[derive(Debug)]
pub(super) struct Tombstones {
    all: BTreeMap<Ppn, Tombstone>,
    /// Ranges that fit a page.
    capacity: usize,
}

impl Tombstones {
    /// None, on pages of this size.
    pub fn new(page_bytes: u32) -> Self {
        Self { all: BTreeMap::new(), capacity: (page_bytes as usize - 1) / RANGE_BYTES }
    }

    fn at(&mut self, page: Ppn) -> &mut Tombstone {
        self.all.get_mut(&page).expect("a map entry names a living tombstone")
    }

    /// What the tombstone at `page` names.
    pub fn ranges(&self, page: Ppn) -> &[Range] {
        &self.all[&page].ranges
    }

    /// A tombstone is on its way to flash.
    pub fn add(&mut self, pages: &mut Pages, page: Ppn, tombstone: Tombstone) {
        pages.keep(page, Back::tombstone(page.0));
        self.all.insert(page, tombstone);
    }

    /// The twin of a tombstone is on its way to flash.
    pub fn add_twin(&mut self, pages: &mut Pages, page: Ppn, twin: Ppn) {
        pages.keep(twin, Back::tombstone(page.0));
        self.at(page).twin = Some(twin);
    }

    /// One page fewer is named by a tombstone. The last one makes it invalid, unless it is still being written:
    /// until it is safe somebody may wait for it.
    pub fn bury(&mut self, pages: &mut Pages, page: Ppn) {
        let tombstone = self.at(page);
        tombstone.live -= 1;
        if tombstone.live == 0 && tombstone.safe {
            self.drop(pages, page);
        }
    }

    /// A tombstone is needed no longer, or not there.
    pub fn drop(&mut self, pages: &mut Pages, page: Ppn) -> Tombstone {
        let tombstone = self.all.remove(&page).expect("a living tombstone");
        [page].into_iter().chain(tombstone.twin).for_each(|copy| pages.drop(copy));
        tombstone
    }

    /// Both copies are on flash.
    pub fn is_safe(&mut self, pages: &mut Pages, page: Ppn) {
        let tombstone = self.at(page);
        tombstone.safe = true;
        if tombstone.live == 0 {
            self.drop(pages, page);
        }
    }

    /// Whether nothing is left of a page: it reads as an error until it is written again.
    #[inline]
    pub fn is_gone(&self, pages: &Pages, logical: Lpn) -> bool {
        let Place::Tombstone(page) = pages.entry(logical).place() else { return false };
        let names = |range: &&Range| (range.first.0..range.first.0 + range.count).contains(&logical.0);
        let ranges = self.ranges(Ppn(page)).iter().filter(names);
        ranges.max_by_key(|range| number_of(range)).is_some_and(|range| range.sequence & LOST != 0)
    }

    /// What as many of these tombstones as fit a page still name.
    pub fn merged(&self, pages: &Pages, tombstones: &[Ppn]) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for page in tombstones {
            let left = self.ranges_left(pages, *page);
            if !ranges.is_empty() && ranges.len() + left.len() > self.capacity {
                break;
            }
            ranges.extend(left);
        }
        ranges
    }

    /// What a tombstone still names, in no more ranges than it has.
    fn ranges_left(&self, pages: &Pages, page: Ppn) -> Vec<Range> {
        let mut left: Vec<Range> = Vec::new();
        for range in self.ranges(page) {
            for logical in range.pages().filter(|logical| pages.entry(*logical) == Entry::tombstone(page.0)) {
                match left.last_mut() {
                    Some(last) if last.first.0 + last.count == logical.0 && last.sequence == range.sequence => {
                        last.count += 1;
                    }
                    _ => left.push(Range { first: logical, count: 1, sequence: range.sequence }),
                }
            }
        }
        if left.len() > self.capacity { self.ranges(page).to_vec() } else { left }
    }

    /// One that was found on flash after a power cut.
    pub fn found(&mut self, page: Ppn, ranges: Vec<Range>) {
        self.all.insert(page, Tombstone { ranges, live: 0, twin: None, safe: true });
    }

    /// A map entry was found to name a tombstone.
    pub fn count(&mut self, page: Ppn) {
        self.at(page).live += 1;
    }

    /// After a power cut: keeps the tombstones that name something. Returns the places of tombstones without a twin.
    pub fn adopt(&mut self, grid: &Grid, pages: &mut Pages) -> Vec<Ppn> {
        let (living, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.all).into_iter().partition(|(_, tombstone)| tombstone.live > 0);
        let mut alone = Vec::new();
        for (page, tombstone) in living {
            let is_twin = |(other, twin): &&(Ppn, Tombstone)| {
                // One that was written again may have left copies on its own die.
                grid.of(*other) == grid.of(page)
                    && grid.die_of(*other) != grid.die_of(page)
                    && twin.ranges == tombstone.ranges
            };
            let twin = others.iter().find(is_twin).map(|(twin, _)| *twin);
            self.add(pages, page, tombstone);
            match twin {
                Some(twin) => self.add_twin(pages, page, twin),
                None => alone.push(page),
            }
        }
        alone
    }

    /// Compares the counts with the map, where `trimmed[page]` entries name each flash page as a tombstone. Pages of
    /// tombstones and their twins.
    ///
    /// # Errors
    /// A tombstone counts other pages than map to it.
    pub fn check(&self, trimmed: &[u32]) -> Result<u64, String> {
        let mut valid = 0;
        for (page, tombstone) in &self.all {
            valid += 1 + u64::from(tombstone.twin.is_some());
            let named = trimmed[page.index()];
            if named != tombstone.live || named == 0 && tombstone.safe {
                return Err(format!("the tombstone at {page:?} counts {} pages, {named} map to it", tombstone.live));
            }
        }
        Ok(valid)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        for (page, tombstone) in &self.all {
            let twin = tombstone.twin.map_or(u32::MAX, |twin| twin.0);
            writer.put_u32("elastic.tombstone", [page.0, tombstone.live, twin].into_iter());
            let numbers = tombstone.ranges.iter().flat_map(|r| [u64::from(r.first.0), u64::from(r.count), r.sequence]);
            writer.put_u64("elastic.ranges", numbers.collect::<Vec<_>>().into_iter());
        }
        writer.put_u32("elastic.tombstone", std::iter::empty());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.all.clear();
        loop {
            let head = reader.get_u32("elastic.tombstone")?;
            let &[page, live, twin] = head.as_slice() else { return Ok(()) };
            let numbers = reader.get_u64("elastic.ranges")?;
            if numbers.len() % 3 != 0 {
                return Err(unfit("a tombstone is cut short"));
            }
            let ranges = numbers.chunks_exact(3);
            let ranges = ranges.map(|r| Range { first: Lpn(r[0] as u32), count: r[1] as u32, sequence: r[2] });
            let twin = (twin != u32::MAX).then_some(Ppn(twin));
            self.all.insert(Ppn(page), Tombstone { ranges: ranges.collect(), live, twin, safe: true });
        }
    }
}
