//! What is trimmed and not on flash yet, and the tombstones that are.

use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use units::{BlockId, Ppn};

/// Bytes of one entry of a tombstone: first page, count, sequence number.
const RANGE_BYTES: usize = 16;

/// Consecutive logical pages trimmed by one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub count: u32,
    pub sequence: u64,
}

/// A trimmed page whose tombstone is not on flash yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPage {
    /// Where its last version (or its last tombstone) is; `UNMAPPED` once it was written again.
    pub old: u32,
    /// Number of the trim, to tell it from earlier ones of the same page still in the log.
    pub sequence: u64,
}

/// A tombstone page on flash or on its way there. Where chips may fail there are copies of it on other chips: map
/// entries name the first, which counts for all.
#[derive(Clone, Debug)]
pub(super) struct Tombstone {
    pub page: u32,
    /// Its sequence number, which its copies have as well.
    pub sequence: u64,
    /// Logical pages that are trimmed by this one and not written since.
    pub live: u32,
    /// Programs under way: its own, and of the first those of the copies.
    pub waiting: u32,
    pub ranges: Vec<Range>,
    /// Pages whose blocks are held until this and its copies are durable.
    pub held: Vec<u32>,
    /// Slot of the first.
    pub first: u32,
    /// Of the first: slots of the others.
    pub copies: Vec<u32>,
}

/// Trims not yet logged, and tombstones.
#[derive(Clone, Debug)]
pub(super) struct TrimLog {
    pub pending: Vec<PendingPage>,
    pub ranges: Vec<Range>,
    pub tombstones: Vec<Option<Tombstone>>,
    /// Slots without one, lowest first.
    free: BinaryHeap<Reverse<u32>>,
    pub live_pages: u64,
    pub capacity: usize,
    /// Tombstones of a full lane are being moved.
    pub shedding: bool,
    /// Copies of each tombstone besides itself.
    pub extra: u32,
    /// Tombstones that have fewer, because there was no room on another chip or power was cut.
    pub short: BTreeSet<u32>,
    /// Pages whose blocks stay held until what is in the log now is on flash, because their own tombstone was lost.
    pub carried: Vec<u32>,
}

impl TrimLog {
    pub fn new(page_bytes: u32, extra: u32) -> Self {
        let capacity = page_bytes as usize / RANGE_BYTES;
        Self {
            pending: Vec::new(),
            ranges: Vec::new(),
            tombstones: Vec::new(),
            free: BinaryHeap::new(),
            live_pages: 0,
            capacity,
            shedding: false,
            extra,
            short: BTreeSet::new(),
            carried: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub fn slots(&self) -> usize {
        self.tombstones.len()
    }

    /// Tombstones still needed whose page is one of these.
    pub fn slots_where(&self, is_one: impl Fn(BlockId) -> bool, geometry: &units::Geometry) -> Vec<u32> {
        let slots = (0..).zip(&self.tombstones).filter_map(|(slot, tombstone)| Some((slot, tombstone.as_ref()?)));
        let lost = slots.filter(|(_, tombstone)| tombstone.live > 0 && is_one(geometry.block_of(Ppn(tombstone.page))));
        lost.map(|(slot, _)| slot).collect()
    }

    /// Finds the tombstones of which a power cut left too few copies.
    pub fn find_short(&mut self) {
        let slots = (0..).zip(&self.tombstones).filter_map(|(slot, tombstone)| Some((slot, tombstone.as_ref()?)));
        let is_short = |(slot, tombstone): &(u32, &Tombstone)| {
            tombstone.live > 0 && tombstone.first == *slot && (tombstone.copies.len() as u32) < self.extra
        };
        self.short = slots.filter(is_short).map(|(slot, _)| slot).collect();
    }

    /// Tombstone pages that are valid.
    pub fn live_pages(&self) -> u64 {
        self.live_pages
    }

    pub fn ram_bytes(&self) -> u64 {
        let ranges: usize = self.tombstones.iter().flatten().map(|t| t.ranges.len()).sum();
        ((ranges + self.ranges.len()) * RANGE_BYTES + self.pending.len() * 4) as u64
    }

    /// Compares the live counts with what the map says.
    pub fn check(&self, trimmed: &[u32]) -> Result<(), String> {
        for (slot, tombstone) in self.tombstones.iter().enumerate() {
            let first = tombstone.as_ref().map_or(slot, |tombstone| tombstone.first as usize);
            // A copy whose first is gone counts nothing any more.
            let (live, count) = (tombstone.as_ref().map_or(0, |t| t.live), trimmed[first]);
            if live != count && (slot == first || live != 0) {
                return Err(format!("tombstone {slot} counts {live} pages, the map names {count}"));
            }
        }
        Ok(())
    }

    pub fn add_range(&mut self, logical: u32, sequence: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.first + last.count == logical && last.sequence == sequence => last.count += 1,
            _ => self.ranges.push(Range { first: logical, count: 1, sequence }),
        }
    }

    pub fn insert(&mut self, tombstone: Tombstone) -> u32 {
        let slot = self.free.pop().map_or(self.tombstones.len() as u32, |Reverse(slot)| slot);
        if slot as usize == self.tombstones.len() {
            self.tombstones.push(None);
        }
        self.tombstones[slot as usize] = Some(tombstone);
        slot
    }

    /// A tombstone is needed no longer.
    pub fn remove(&mut self, slot: u32) {
        self.tombstones[slot as usize] = None;
        self.short.remove(&slot);
        self.free.push(Reverse(slot));
    }

    pub fn at(&mut self, slot: u32) -> &mut Tombstone {
        self.tombstones[slot as usize].as_mut().expect("a map entry names a living tombstone")
    }

    /// Adds a tombstone, or a copy of the one in slot `first`.
    pub fn add(&mut self, (page, sequence): (Ppn, u64), ranges: Vec<Range>, waiting: u32, first: Option<u32>) -> u32 {
        let tombstone = Tombstone {
            page: page.0,
            sequence,
            live: 0,
            waiting,
            ranges,
            held: Vec::new(),
            first: 0,
            copies: Vec::new(),
        };
        let slot = self.insert(tombstone);
        self.at(slot).first = first.unwrap_or(slot);
        if let Some(first) = first {
            self.at(first).copies.push(slot);
            self.at(first).waiting += waiting;
        }
        slot
    }

    /// Takes a tombstone found on flash after a power cut; `first`: one with the same number found before.
    pub fn restore(&mut self, page: Ppn, sequence: u64, ranges: Vec<Range>, first: Option<u32>) -> u32 {
        self.add((page, sequence), ranges, 0, first)
    }

    /// A tombstone and its copies.
    pub fn group(&mut self, slot: u32) -> Vec<u32> {
        let copies = self.at(slot).copies.iter().copied();
        std::iter::once(slot).chain(copies).collect()
    }

    /// Whether there are several of a tombstone.
    pub fn has_copies(&self, slot: u32) -> bool {
        self.tombstones[slot as usize]
            .as_ref()
            .is_some_and(|tombstone| tombstone.first != slot || !tombstone.copies.is_empty())
    }

    /// Whether a tombstone is on flash, and so are its copies.
    pub fn is_durable(&self, slot: u32) -> bool {
        self.tombstones[slot as usize].as_ref().is_some_and(|tombstone| tombstone.waiting == 0)
    }

    /// Counts one more trimmed page for a restored tombstone and its copies; those that count their first, by
    /// slot and page.
    pub fn revive(&mut self, slot: u32) -> Vec<(u32, Ppn)> {
        let mut revived = Vec::new();
        for slot in self.group(slot) {
            let tombstone = self.at(slot);
            tombstone.live += 1;
            if tombstone.live == 1 {
                revived.push((slot, Ppn(tombstone.page)));
                self.live_pages += 1;
            }
        }
        revived
    }

    /// Another tombstone, at a page `fits` accepts, with the trim of `logical` that `slot` holds.
    pub fn twin(&self, slot: u32, logical: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let names = |tombstone: &Tombstone| {
            let named = tombstone.ranges.iter().filter(|r| (r.first..r.first + r.count).contains(&logical));
            named.map(|range| range.sequence).max()
        };
        let wanted = self.tombstones[slot as usize].as_ref().and_then(names);
        let mut others = (0..).zip(&self.tombstones);
        let twin = others.find(|(slot, other)| {
            other.as_ref().is_some_and(|other| other.first == *slot && fits(other.page) && names(other) == wanted)
        });
        twin.map(|(slot, _)| slot)
    }

    /// Forgets restored tombstones that trim nothing.
    pub fn drop_dead(&mut self) {
        let slots = (0..).zip(&self.tombstones);
        let dead = slots.filter(|(_, tombstone)| tombstone.as_ref().is_some_and(|tombstone| tombstone.live == 0));
        for slot in dead.map(|(slot, _)| slot).collect::<Vec<_>>() {
            self.remove(slot);
        }
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.pending.is_empty(), "a drive is flushed before its state is saved");
        writer.put_u32("trims.slots", [self.tombstones.len() as u32].into_iter());
        for (slot, tombstone) in self.tombstones.iter().enumerate() {
            let Some(tombstone) = tombstone else { continue };
            assert!(tombstone.waiting == 0, "a drive is drained before its state is saved");
            let Tombstone { page, sequence, live, first, .. } = *tombstone;
            writer.put_u32("trims.head", [slot as u32, page, live, first].into_iter());
            writer.put_u64("trims.number", [sequence].into_iter());
            let numbers = tombstone.ranges.iter().flat_map(|r| [u64::from(r.first), u64::from(r.count), r.sequence]);
            writer.put_u64("trims.ranges", numbers.collect::<Vec<_>>().into_iter());
        }
        writer.put_u32("trims.head", std::iter::empty());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "trims", problem: problem.to_owned() };
        let slots = reader.get_u32("trims.slots")?;
        let slots = slots.first().copied().ok_or_else(|| unfit("their number is missing"))? as usize;
        let mut tombstones = vec![None; slots];
        let mut live_pages = 0;
        loop {
            let head = reader.get_u32("trims.head")?;
            let &[slot, page, live, first] = head.as_slice() else { break };
            let sequence = *reader.get_u64("trims.number")?.first().ok_or_else(|| unfit("a number is missing"))?;
            let ranges = reader.get_u64("trims.ranges")?;
            let ranges = ranges
                .chunks_exact(3)
                .map(|r| Range { first: r[0] as u32, count: r[1] as u32, sequence: r[2] })
                .collect();
            let place = tombstones.get_mut(slot as usize).ok_or_else(|| unfit("a slot is out of range"))?;
            let held = Vec::new();
            *place = Some(Tombstone { page, sequence, live, waiting: 0, ranges, held, first, copies: Vec::new() });
            live_pages += u64::from(live > 0);
        }
        for slot in 0..slots {
            let first = tombstones[slot].as_ref().map_or(slot, |tombstone: &Tombstone| tombstone.first as usize);
            if first != slot {
                let first = tombstones.get_mut(first).and_then(Option::as_mut);
                first.ok_or_else(|| unfit("the first of several is missing"))?.copies.push(slot as u32);
            }
        }
        self.free = (0..)
            .zip(&tombstones)
            .filter(|(_, tombstone)| tombstone.is_none())
            .map(|(slot, _)| Reverse(slot))
            .collect();
        (self.tombstones, self.live_pages) = (tombstones, live_pages);
        self.find_short();
        self.pending.clear();
        self.ranges.clear();
        Ok(())
    }
}

/// Writes ranges as a tombstone's record.
pub(super) fn encode(ranges: &[Range]) -> Box<[u8]> {
    let bytes = ranges.iter().flat_map(|range| {
        let words = [range.first.to_le_bytes(), range.count.to_le_bytes()];
        words.into_iter().flatten().chain(range.sequence.to_le_bytes())
    });
    bytes.collect()
}

/// Reads a tombstone's record.
pub(super) fn decode(record: &[u8]) -> Vec<Range> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let ranges = record.chunks_exact(RANGE_BYTES).map(|entry| Range {
        first: word(&entry[..4]),
        count: word(&entry[4..8]),
        sequence: u64::from_le_bytes(entry[8..].try_into().expect("eight bytes")),
    });
    ranges.collect()
}
