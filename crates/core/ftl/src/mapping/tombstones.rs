//! The tombstones on flash or on their way there, in slots that map entries name.

use super::ranges::Range;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use units::{BlockId, Geometry, Lpn, Ppn};

/// A tombstone page on flash or on its way there, changed by [`Tombstones`] alone. Where chips may
/// fail there are copies of it on other chips: map entries name the first, which counts for all.
#[derive(Clone, Debug)]
pub(crate) struct Tombstone {
    pub page: Ppn,
    /// Its sequence number, which its copies have as well.
    pub sequence: u64,
    /// Logical pages that are trimmed by this one and not written since.
    pub live: u32,
    /// Programs under way: its own, and and the first one counts its copies.
    pub waiting: u32,
    pub ranges: Vec<Range>,
    /// Pages whose blocks are held until this and its copies are durable.
    pub held: Vec<Ppn>,
    /// Slot of the first.
    pub first: u32,
    /// Of the first: slots of the others.
    pub copies: Vec<u32>,
}

/// Every tombstone that is still needed.
#[derive(Debug)]
pub(crate) struct Tombstones {
    geometry: Geometry,
    slots: Vec<Option<Tombstone>>,
    /// Slots without one, lowest first.
    free: BinaryHeap<Reverse<u32>>,
    /// Copies of each tombstone besides itself.
    extra: u32,
    /// Tombstones that have fewer, because there was no room on another chip or power was cut.
    short: BTreeSet<u32>,
}

impl Tombstones {
    /// None yet. `extra`: copies of each besides itself.
    pub fn new(geometry: Geometry, extra: u32) -> Self {
        Self { geometry, slots: Vec::new(), free: BinaryHeap::new(), extra, short: BTreeSet::new() }
    }

    /// Slots so far, with a tombstone or without.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    pub fn get(&self, slot: u32) -> Option<&Tombstone> {
        self.slots[slot as usize].as_ref()
    }

    #[inline]
    pub fn at(&self, slot: u32) -> &Tombstone {
        self.get(slot).expect("a map entry names a living tombstone")
    }

    #[inline]
    fn at_mut(&mut self, slot: u32) -> &mut Tombstone {
        self.slots[slot as usize].as_mut().expect("a map entry names a living tombstone")
    }

    /// All tombstones with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Tombstone)> {
        (0..).zip(&self.slots).filter_map(|(slot, tombstone)| Some((slot, tombstone.as_ref()?)))
    }

    /// Adds a tombstone, or a copy of the one in slot `first`. `waiting`: programs of it under way.
    pub fn add(&mut self, page: Ppn, sequence: u64, ranges: Vec<Range>, waiting: u32, first: Option<u32>) -> u32 {
        let slot = self.free.pop().map_or(self.slots.len() as u32, |Reverse(slot)| slot);
        if slot as usize == self.slots.len() {
            self.slots.push(None);
        }
        let tombstone = Tombstone {
            page,
            sequence,
            live: 0,
            waiting,
            ranges,
            held: Vec::new(),
            first: first.unwrap_or(slot),
            copies: Vec::new(),
        };
        self.slots[slot as usize] = Some(tombstone);
        if let Some(first) = first {
            self.join(slot, first);
            self.at_mut(first).waiting += waiting;
        }
        slot
    }

    /// The tombstone in slot `copy` is a copy of the one in slot `first`.
    pub fn join(&mut self, copy: u32, first: u32) {
        self.at_mut(copy).first = first;
        self.at_mut(first).copies.push(copy);
    }

    /// Takes the copies from a tombstone: their slots. A copy is removed where its last page goes, or by the caller who
    /// takes it.
    pub fn take_copies(&mut self, slot: u32) -> Vec<u32> {
        std::mem::take(&mut self.at_mut(slot).copies)
    }

    /// One more page is trimmed by a tombstone. `true`: it is the first one.
    #[inline]
    pub fn count_up(&mut self, slot: u32) -> bool {
        let tombstone = self.at_mut(slot);
        tombstone.live += 1;
        tombstone.live == 1
    }

    /// One page fewer is trimmed by a tombstone. `true`: it was the last one.
    #[inline]
    pub fn count_down(&mut self, slot: u32) -> bool {
        let tombstone = self.at_mut(slot);
        tombstone.live -= 1;
        tombstone.live == 0
    }

    /// A tombstone trims `live` pages, and keeps the blocks of the pages `held`.
    pub fn take_over(&mut self, slot: u32, live: u32, held: Vec<Ppn>) {
        let tombstone = self.at_mut(slot);
        (tombstone.live, tombstone.held) = (live, held);
    }

    /// Takes the pages whose blocks a tombstone keeps: they are the caller's to release.
    pub fn take_held(&mut self, slot: u32) -> Vec<Ppn> {
        std::mem::take(&mut self.at_mut(slot).held)
    }

    /// A page that a tombstone holds moves to another place. `false`: no tombstone holds it.
    pub fn move_held(&mut self, from: Ppn, to: Ppn) -> bool {
        let mut held = self.slots.iter_mut().flatten().flat_map(|tombstone| &mut tombstone.held);
        held.find(|page| **page == from).map(|page| *page = to).is_some()
    }

    /// A tombstone goes to another page; where it was.
    pub fn move_to(&mut self, slot: u32, page: Ppn) -> Ppn {
        std::mem::replace(&mut self.at_mut(slot).page, page)
    }

    /// One of the programs of a tombstone and its copies has ended.
    pub fn program_ends(&mut self, first: u32) {
        self.at_mut(first).waiting -= 1;
    }

    /// No program of a tombstone is under way.
    pub fn programs_end(&mut self, slot: u32) {
        self.at_mut(slot).waiting = 0;
    }

    /// A tombstone is needed no longer.
    pub fn remove(&mut self, slot: u32) {
        assert!(self.slots[slot as usize].take().is_some(), "tombstone {slot} is removed once");
        self.short.remove(&slot);
        self.free.push(Reverse(slot));
    }

    /// Forgets tombstones that trim nothing.
    pub fn remove_dead(&mut self) {
        let dead: Vec<u32> = self.iter().filter(|(_, tombstone)| tombstone.live == 0).map(|(slot, _)| slot).collect();
        for slot in dead {
            self.remove(slot);
        }
    }

    /// Slots of a tombstone and its copies.
    pub fn group(&self, slot: u32) -> Vec<u32> {
        let copies = self.at(slot).copies.iter().copied();
        std::iter::once(slot).chain(copies).collect()
    }

    /// Each has copies on other dies.
    #[inline]
    pub fn have_copies(&self) -> bool {
        self.extra > 0
    }

    /// Whether there are several of a tombstone.
    pub fn has_copies(&self, slot: u32) -> bool {
        self.get(slot).is_some_and(|tombstone| tombstone.first != slot || !tombstone.copies.is_empty())
    }

    /// Whether a tombstone is on flash, and so are its copies.
    pub fn is_durable(&self, slot: u32) -> bool {
        self.get(slot).is_some_and(|tombstone| tombstone.waiting == 0)
    }

    /// Slots of those still needed whose block is one of these.
    pub fn slots_where(&self, is_one: impl Fn(BlockId) -> bool) -> Vec<u32> {
        let needed = self.iter().filter(|(_, tombstone)| tombstone.live > 0);
        needed.filter(|(_, tombstone)| is_one(self.geometry.block_of(tombstone.page))).map(|(slot, _)| slot).collect()
    }

    /// Another tombstone, outside of `block`, with the trim of `logical` that `slot` holds.
    pub fn twin(&self, slot: u32, logical: Lpn, block: BlockId) -> Option<u32> {
        let names = |tombstone: &Tombstone| {
            let named = tombstone.ranges.iter().filter(|range| range.pages().any(|page| page == logical));
            named.map(|range| range.sequence).max()
        };
        let wanted = self.get(slot).and_then(names);
        let is_twin = |(slot, other): &(u32, &Tombstone)| {
            other.first == *slot && self.geometry.block_of(other.page) != block && names(other) == wanted
        };
        self.iter().find(is_twin).map(|(slot, _)| slot)
    }

    /// Copies of each tombstone besides itself.
    pub fn extra(&self) -> u32 {
        self.extra
    }

    /// Slots of tombstones that have too few copies.
    pub fn short(&self) -> &BTreeSet<u32> {
        &self.short
    }

    /// Notes whether a tombstone has too few copies.
    pub fn set_short(&mut self, slot: u32, is_short: bool) {
        if is_short {
            self.short.insert(slot);
        } else {
            self.short.remove(&slot);
        }
    }

    /// Finds tombstones that a power cut left with too few copies.
    pub fn find_short(&mut self) {
        let is_short = |(slot, tombstone): &(u32, &Tombstone)| {
            tombstone.live > 0 && tombstone.first == *slot && (tombstone.copies.len() as u32) < self.extra
        };
        self.short = self.iter().filter(is_short).map(|(slot, _)| slot).collect();
    }

    /// Compares the live counts with the map: `trimmed[slot]` map entries name each slot.
    ///
    /// # Errors
    /// The first slot where they differ, in words.
    pub fn check(&self, trimmed: &[u32]) -> Result<(), String> {
        for (slot, tombstone) in self.slots.iter().enumerate() {
            let first = tombstone.as_ref().map_or(slot, |tombstone| tombstone.first as usize);
            // A copy whose first is gone counts nothing any more.
            let (live, count) = (tombstone.as_ref().map_or(0, |t| t.live), trimmed[first]);
            if live != count && (slot == first || live != 0) {
                return Err(format!("tombstone {slot} counts {live} pages, the map names {count}"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("trims.slots", [self.slots.len() as u32]);
        for (slot, tombstone) in self.iter() {
            assert!(tombstone.waiting == 0, "a drive is drained before its state is saved");
            let Tombstone { page, sequence, live, first, .. } = *tombstone;
            writer.put("trims.head", [slot, page.0, live, first]);
            writer.put("trims.number", [sequence]);
            let numbers = tombstone.ranges.iter().flat_map(|r| [u64::from(r.first.0), u64::from(r.count), r.sequence]);
            writer.put("trims.ranges", numbers);
        }
        writer.put("trims.head", std::iter::empty::<u32>());
    }

    /// Reads what [`Tombstones::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "trims", problem: problem.to_owned() };
        let slots = reader.get::<u32>("trims.slots")?;
        let slots = slots.first().copied().ok_or_else(|| unfit("their number is missing"))? as usize;
        let mut tombstones: Vec<Option<Tombstone>> = vec![None; slots];
        loop {
            let head = reader.get::<u32>("trims.head")?;
            let &[slot, page, live, first] = head.as_slice() else { break };
            let sequence = *reader.get::<u64>("trims.number")?.first().ok_or_else(|| unfit("a number is missing"))?;
            let ranges = reader.get::<u64>("trims.ranges")?;
            let ranges = ranges.chunks_exact(3);
            let ranges =
                ranges.map(|r| Range { first: Lpn(r[0] as u32), count: r[1] as u32, sequence: r[2] }).collect();
            let place = tombstones.get_mut(slot as usize).ok_or_else(|| unfit("a slot is out of range"))?;
            let (held, copies) = (Vec::new(), Vec::new());
            *place = Some(Tombstone { page: Ppn(page), sequence, live, waiting: 0, ranges, held, first, copies });
        }
        for slot in 0..slots {
            let first = tombstones[slot].as_ref().map_or(slot, |tombstone| tombstone.first as usize);
            if first != slot {
                let first = tombstones.get_mut(first).and_then(Option::as_mut);
                first.ok_or_else(|| unfit("the first of several is missing"))?.copies.push(slot as u32);
            }
        }
        let free = (0..).zip(&tombstones).filter(|(_, tombstone)| tombstone.is_none());
        self.free = free.map(|(slot, _)| Reverse(slot)).collect();
        self.slots = tombstones;
        self.find_short();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use units::Shape;

    fn tombstones() -> Tombstones {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_die: 8,
            pages_per_block: 4,
            page_bytes: 512,
        };
        Tombstones::new(Geometry::new(shape).expect("a valid shape"), 1)
    }

    proptest! {
        #[test]
        fn slots_hold_what_was_put_there_until_it_is_removed(
            steps in prop::collection::vec((0..64_u32, 0..6_u8), 0..200),
        ) {
            let mut tombstones = tombstones();
            let mut plain = BTreeMap::<u32, (Ppn, u32)>::new();
            for (number, what) in steps {
                let living: Vec<u32> = plain.keys().copied().collect();
                let chosen = living.get(number as usize % living.len().max(1)).copied();
                match (what, chosen) {
                    (0, _) => {
                        let lowest = (0..u32::MAX).find(|slot| !plain.contains_key(slot)).expect("there are many");
                        let slot = tombstones.add(Ppn(number), u64::from(number), Vec::new(), 1, None);
                        prop_assert_eq!(slot, lowest, "the lowest free slot is taken");
                        prop_assert!(!tombstones.is_durable(slot), "its program is under way");
                        plain.insert(slot, (Ppn(number), 0));
                    }
                    (1, Some(slot)) => { tombstones.remove(slot); plain.remove(&slot); }
                    (2, Some(slot)) => {
                        tombstones.count_up(slot);
                        plain.get_mut(&slot).expect("it is there").1 += 1;
                    }
                    (3, Some(slot)) => {
                        tombstones.programs_end(slot);
                        prop_assert!(tombstones.is_durable(slot));
                    }
                    (4, Some(slot)) => {
                        tombstones.set_short(slot, number % 2 == 0);
                        prop_assert_eq!(tombstones.short().contains(&slot), number % 2 == 0);
                    }
                    (5, _) if number < 8 => {
                        tombstones.remove_dead();
                        plain.retain(|_, (_, live)| *live > 0);
                    }
                    _ => {}
                }
                let found = tombstones.iter().map(|(slot, tombstone)| (slot, (tombstone.page, tombstone.live)));
                prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), plain.clone());
                let needed = plain.iter().filter(|(_, (page, live))| page.0 < 32 && *live > 0).map(|(slot, _)| *slot);
                prop_assert_eq!(tombstones.slots_where(|block| block.0 < 8), needed.collect::<Vec<_>>());
                let are_there = tombstones.short().iter().all(|slot| plain.contains_key(slot));
                prop_assert!(are_there, "one that is gone is short");
                let mut trimmed = vec![0; tombstones.slots()];
                for (slot, (_, live)) in &plain {
                    trimmed[*slot as usize] = *live;
                }
                prop_assert_eq!(tombstones.check(&trimmed), Ok(()));
            }
        }
    }

    #[test]
    fn a_tombstone_is_durable_when_its_copies_are_and_they_are_one_group() {
        let mut tombstones = tombstones();
        let first = tombstones.add(Ppn(1), 7, Vec::new(), 1, None);
        let copy = tombstones.add(Ppn(33), 7, Vec::new(), 1, Some(first));
        assert_eq!((tombstones.at(first).waiting, tombstones.group(first)), (2, vec![first, copy]));
        assert!(tombstones.has_copies(first) && tombstones.has_copies(copy));
        tombstones.program_ends(first);
        assert!(!tombstones.is_durable(first), "the copy is not on flash");
        tombstones.program_ends(first);
        assert!(tombstones.is_durable(first));
    }
}
