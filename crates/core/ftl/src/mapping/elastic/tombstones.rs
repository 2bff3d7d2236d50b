//! The tombstones on flash or on their way there: what says of a page that there is nothing of it.
//!
//! A tombstone names the pages it trims; it is valid as long as one of them was not written since, and it has a twin
//! on another die. A page that is lost for good is named by a tombstone as well, which says so.
//!
//! *Protects*: as many map entries name a tombstone as it counts, and one that nothing names is dropped as soon as it
//! is on flash.

use super::entry::{At, Place};
use super::grid::Grid;
use super::pages::Pages;
use super::unfit;
use crate::mapping::ranges::{self, RANGE_BYTES, Range};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use std::collections::BTreeMap;
use units::Lpn;

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
    twin: Option<Place>,
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
    all: BTreeMap<Place, Tombstone>,
    /// Ranges that fit a page.
    capacity: usize,
}

impl Tombstones {
    /// None, on pages of this size.
    pub fn new(page_bytes: u32) -> Self {
        Self { all: BTreeMap::new(), capacity: (page_bytes as usize - 1) / RANGE_BYTES }
    }

    fn at(&mut self, place: Place) -> &mut Tombstone {
        self.all.get_mut(&place).expect("a map entry names a living tombstone")
    }

    /// What the tombstone at `place` names.
    pub fn ranges(&self, place: Place) -> &[Range] {
        &self.all[&place].ranges
    }

    /// A tombstone is on its way to flash.
    pub fn add(&mut self, pages: &mut Pages, place: Place, tombstone: Tombstone) {
        pages.enter_tombstone(place, place);
        self.all.insert(place, tombstone);
    }

    /// The twin of a tombstone is on its way to flash.
    pub fn add_twin(&mut self, pages: &mut Pages, place: Place, twin: Place) {
        pages.enter_tombstone(twin, place);
        self.at(place).twin = Some(twin);
    }

    /// One page fewer is named by a tombstone. The last one makes it invalid, unless it is still being written:
    /// until it is safe somebody may wait for it.
    pub fn bury(&mut self, pages: &mut Pages, place: Place) {
        let tombstone = self.at(place);
        tombstone.live -= 1;
        if tombstone.live == 0 && tombstone.safe {
            self.drop(pages, place);
        }
    }

    /// A tombstone is needed no longer, or not there.
    pub fn drop(&mut self, pages: &mut Pages, place: Place) -> Tombstone {
        let tombstone = self.all.remove(&place).expect("a living tombstone");
        [place].into_iter().chain(tombstone.twin).for_each(|copy| pages.invalidate(copy));
        tombstone
    }

    /// Both copies are on flash.
    pub fn is_safe(&mut self, pages: &mut Pages, place: Place) {
        let tombstone = self.at(place);
        tombstone.safe = true;
        if tombstone.live == 0 {
            self.drop(pages, place);
        }
    }

    /// Whether nothing is left of a page: it reads as an error until it is written again.
    #[inline]
    pub fn is_gone(&self, pages: &Pages, logical: Lpn) -> bool {
        let At::Tombstone(place) = pages.entry(logical).at() else { return false };
        let names = |range: &&Range| (range.first.0..range.first.0 + range.count).contains(&logical.0);
        let ranges = self.ranges(place).iter().filter(names);
        ranges.max_by_key(|range| number_of(range)).is_some_and(|range| range.sequence & LOST != 0)
    }

    /// What as many of these tombstones as fit a page still name.
    pub fn merged(&self, pages: &Pages, places: &[Place]) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for place in places {
            let left = self.ranges_left(pages, *place);
            if !ranges.is_empty() && ranges.len() + left.len() > self.capacity {
                break;
            }
            ranges.extend(left);
        }
        ranges
    }

    /// What a tombstone still names, in no more ranges than it has.
    fn ranges_left(&self, pages: &Pages, place: Place) -> Vec<Range> {
        let mut left: Vec<Range> = Vec::new();
        for range in self.ranges(place) {
            for logical in range.pages().filter(|logical| pages.names(*logical, place)) {
                match left.last_mut() {
                    Some(last) if last.first.0 + last.count == logical.0 && last.sequence == range.sequence => {
                        last.count += 1;
                    }
                    _ => left.push(Range { first: logical, count: 1, sequence: range.sequence }),
                }
            }
        }
        if left.len() > self.capacity { self.ranges(place).to_vec() } else { left }
    }

    /// One that was found on flash after a power cut.
    pub fn found(&mut self, place: Place, ranges: Vec<Range>) {
        self.all.insert(place, Tombstone { ranges, live: 0, twin: None, safe: true });
    }

    /// A map entry was found to name a tombstone.
    pub fn count(&mut self, place: Place) {
        self.at(place).live += 1;
    }

    /// After a power cut: keeps the tombstones that name something. Returns the places of tombstones without a twin.
    pub fn adopt(&mut self, grid: &Grid, pages: &mut Pages) -> Vec<Place> {
        let (living, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.all).into_iter().partition(|(_, tombstone)| tombstone.live > 0);
        let mut alone = Vec::new();
        for (place, tombstone) in living {
            let is_twin = |(other, twin): &&(Place, Tombstone)| {
                // One that was written again may have left copies on its own die.
                grid.of(*other) == grid.of(place)
                    && grid.die_of(*other) != grid.die_of(place)
                    && twin.ranges == tombstone.ranges
            };
            let twin = others.iter().find(is_twin).map(|(twin, _)| *twin);
            self.add(pages, place, tombstone);
            match twin {
                Some(twin) => self.add_twin(pages, place, twin),
                None => alone.push(place),
            }
        }
        alone
    }

    /// Places of tombstones and their twins.
    ///
    /// # Errors
    /// A tombstone counts other pages than map to it.
    pub fn check(&self, pages: &Pages) -> Result<u64, String> {
        let mut named = BTreeMap::<Place, u32>::new();
        for (_, entry) in pages.entries() {
            if let At::Tombstone(place) = entry.at() {
                *named.entry(place).or_default() += 1;
            }
        }
        let mut places = 0;
        for (place, tombstone) in &self.all {
            places += 1 + u64::from(tombstone.twin.is_some());
            let named = named.get(place).copied().unwrap_or(0);
            if named != tombstone.live || named == 0 && tombstone.safe {
                return Err(format!("the tombstone at {place:?} counts {} pages, {named} map to it", tombstone.live));
            }
        }
        Ok(places)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        for (place, tombstone) in &self.all {
            let twin = tombstone.twin.map_or(u32::MAX, |twin| twin.0);
            writer.put_u32("elastic.tombstone", [place.0, tombstone.live, twin].into_iter());
            let numbers = tombstone.ranges.iter().flat_map(|r| [u64::from(r.first.0), u64::from(r.count), r.sequence]);
            writer.put_u64("elastic.ranges", numbers.collect::<Vec<_>>().into_iter());
        }
        writer.put_u32("elastic.tombstone", std::iter::empty());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.all.clear();
        loop {
            let head = reader.get_u32("elastic.tombstone")?;
            let &[place, live, twin] = head.as_slice() else { return Ok(()) };
            let numbers = reader.get_u64("elastic.ranges")?;
            if numbers.len() % 3 != 0 {
                return Err(unfit("a tombstone is cut short"));
            }
            let ranges = numbers.chunks_exact(3);
            let ranges = ranges.map(|r| Range { first: Lpn(r[0] as u32), count: r[1] as u32, sequence: r[2] });
            let twin = (twin != u32::MAX).then_some(Place(twin));
            self.all.insert(Place(place), Tombstone { ranges: ranges.collect(), live, twin, safe: true });
        }
    }
}
