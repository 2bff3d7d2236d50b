//! Single map entries in memory, in two levels: the entries of a translation page form a node, and
//! nodes are ordered by the mean of the times at which their entries were last used.
//!
//! A use only raises the mean of its node, so the order of nodes is put right no earlier than the coldest
//! is asked for: the heap holds means that may be too low, never too high.

use super::{AgeHeap, Index, NO_LPN};
use crate::mapping::page_level::scheme::TranslationShape;
use layer::recency::{Links, List};
use std::cmp::Ordering;
use units::{Lpn, Tpn};

/// Cached entries by node. A slot number stays with its entry until that is removed.
#[derive(Clone, Debug)]
pub(in crate::mapping) struct NodeTable {
    shape: TranslationShape,
    entries: Vec<Entry>,
    free: Vec<u32>,
    index: Index,
    links: Links,
    /// Node of each translation page; without entries it is not cached.
    nodes: Vec<Node>,
    coldest_first: AgeHeap<Mean>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `NO_LPN` in free slots.
    logical: Lpn,
    dirty: bool,
    used: u64,
}

/// Both lists are in order of use, so that the oldest clean entry is found at once.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    clean: List,
    dirty: List,
    /// Sum of the times at which its entries were last used.
    used: u64,
}

impl Node {
    fn len(&self) -> u32 {
        self.clean.len() + self.dirty.len()
    }

    /// Mean time of the last use of the entries.
    fn mean(&self) -> Mean {
        Mean { used: self.used, entries: self.len() }
    }
}

/// A mean time of use, as the fraction that it is: rounded it would make nodes equal that are not.
#[derive(Clone, Copy, Debug)]
struct Mean {
    /// Sum of the times.
    used: u64,
    entries: u32,
}

impl Ord for Mean {
    fn cmp(&self, other: &Self) -> Ordering {
        let scaled = |mean: &Self, by: &Self| u128::from(mean.used) * u128::from(by.entries);
        scaled(self, other).cmp(&scaled(other, self))
    }
}

impl PartialOrd for Mean {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Mean {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Mean {}

impl NodeTable {
    /// Room for `capacity` entries.
    pub fn new(shape: TranslationShape, capacity: u32) -> Self {
        let slots = capacity as usize;
        Self {
            shape,
            entries: vec![Entry { logical: NO_LPN, dirty: false, used: 0 }; slots],
            free: (0..capacity).rev().collect(),
            index: Index::new(slots),
            links: Links::new(slots),
            nodes: vec![Node::default(); shape.count as usize],
            coldest_first: AgeHeap::new(shape.count as usize),
        }
    }

    /// Entries it has room for.
    pub fn capacity(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.capacity() - self.free.len() as u32
    }

    #[inline]
    pub fn nodes(&self) -> u32 {
        self.coldest_first.len() as u32
    }

    /// Whether entries of a translation page are in it.
    #[inline]
    pub fn has_node(&self, page: Tpn) -> bool {
        self.nodes[page.index()].len() > 0
    }

    /// The slot of a logical page.
    #[inline]
    pub fn find(&self, logical: Lpn) -> Option<u32> {
        self.index.find(logical)
    }

    /// Whether flash has an older version of the entry.
    #[inline]
    pub fn is_dirty(&self, slot: u32) -> bool {
        self.entries[slot as usize].dirty
    }

    /// Brings what finding `logical` touches into the processor's cache.
    #[inline]
    pub fn prefetch(&self, logical: Lpn) {
        self.index.prefetch(logical);
    }

    /// Adds an entry used at `now`, which is no earlier than any use in its node.
    ///
    /// # Panics
    /// If there is no room.
    pub fn insert(&mut self, logical: Lpn, now: u64, dirty: bool) -> u32 {
        let slot = self.free.pop().expect("room was made before an entry was added");
        self.entries[slot as usize] = Entry { logical, dirty, used: now };
        self.index.insert(logical, slot);
        let page = self.shape.page_of(logical);
        let node = &mut self.nodes[page.index()];
        if node.len() == 0 {
            self.coldest_first.push(page.0, Mean { used: now, entries: 1 }, page.0);
        }
        node.used += now;
        self.links.push_front(if dirty { &mut node.dirty } else { &mut node.clean }, slot);
        slot
    }

    /// An entry is used at `now`, which is no earlier than any use before.
    #[inline]
    pub fn touch(&mut self, slot: u32, now: u64) {
        let entry = &mut self.entries[slot as usize];
        let node = &mut self.nodes[self.shape.page_of(entry.logical).index()];
        node.used += now - entry.used;
        entry.used = now;
        self.links.touch(if entry.dirty { &mut node.dirty } else { &mut node.clean }, slot);
    }

    /// The entry changed, which is no use of it.
    #[inline]
    pub fn mark(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        if std::mem::replace(&mut entry.dirty, true) {
            return;
        }
        let page = self.shape.page_of(entry.logical);
        let node = &mut self.nodes[page.index()];
        self.links.remove(&mut node.clean, slot);
        let mut dirty = std::mem::take(&mut node.dirty);
        let start = dirty.head();
        self.put_by_use(&mut dirty, slot, start);
        self.nodes[page.index()].dirty = dirty;
    }

    /// Puts a slot in front of the first one from `start` to the tail that was not used after it.
    fn put_by_use(&mut self, list: &mut List, slot: u32, start: Option<u32>) {
        let used = self.entries[slot as usize].used;
        let mut behind = start;
        while let Some(other) = behind
            && self.entries[other as usize].used > used
        {
            behind = self.links.behind(other);
        }
        self.links.insert_before(list, slot, behind);
    }

    /// All entries of a translation page are on flash now.
    pub fn clean_page(&mut self, page: Tpn) {
        let Node { mut clean, mut dirty, .. } = self.nodes[page.index()];
        let mut place = clean.head();
        while let Some(slot) = dirty.head() {
            self.links.remove(&mut dirty, slot);
            self.entries[slot as usize].dirty = false;
            self.put_by_use(&mut clean, slot, place);
            place = self.links.behind(slot);
        }
        let node = &mut self.nodes[page.index()];
        (node.clean, node.dirty) = (clean, dirty);
    }

    /// The node with the lowest mean time of use; of several the one of the first translation page.
    pub fn coldest(&mut self) -> Option<Tpn> {
        loop {
            let (age, page) = self.coldest_first.first()?;
            let mean = self.nodes[page as usize].mean();
            if mean == age {
                return Some(Tpn(page));
            }
            self.coldest_first.set_age(page, mean);
        }
    }

    /// The least recently used clean entry of a node.
    #[inline]
    pub fn oldest_clean(&self, page: Tpn) -> Option<u32> {
        self.nodes[page.index()].clean.tail()
    }

    /// The least recently used dirty entry of a node.
    #[inline]
    pub fn oldest_dirty(&self, page: Tpn) -> Option<u32> {
        self.nodes[page.index()].dirty.tail()
    }

    /// The least recently used entry of a node; a clean one before a dirty one of the same time.
    pub fn oldest(&self, page: Tpn) -> Option<u32> {
        let both = [self.oldest_clean(page), self.oldest_dirty(page)];
        both.into_iter().flatten().min_by_key(|slot| self.entries[*slot as usize].used)
    }

    /// Removes an entry, dirty or not, and its node with the last one.
    pub fn remove(&mut self, slot: u32) {
        let Entry { logical, dirty, used } = self.entries[slot as usize];
        self.index.remove(logical);
        self.entries[slot as usize] = Entry { logical: NO_LPN, dirty: false, used: 0 };
        self.free.push(slot);
        let page = self.shape.page_of(logical);
        let node = &mut self.nodes[page.index()];
        self.links.remove(if dirty { &mut node.dirty } else { &mut node.clean }, slot);
        node.used -= used;
        if node.len() == 0 {
            self.coldest_first.remove(page.0);
        } else if self.coldest_first.age(page.0).is_some_and(|age| age > node.mean()) {
            self.coldest_first.set_age(page.0, node.mean());
        }
    }

    /// Logical page, time of use and dirtiness of all entries; inserted in this order into an empty
    /// table they give this one.
    pub fn export(&self) -> Vec<(Lpn, u64, bool)> {
        let slots = self
            .nodes
            .iter()
            .flat_map(|node| self.links.oldest_first(&node.clean).chain(self.links.oldest_first(&node.dirty)));
        let mut entries: Vec<Entry> = slots.map(|slot| self.entries[slot as usize]).collect();
        entries.sort_by_key(|entry| (self.shape.page_of(entry.logical), entry.used));
        entries.into_iter().map(|entry| (entry.logical, entry.used, entry.dirty)).collect()
    }

    /// Checks that index, nodes, their order and slots agree.
    ///
    /// # Errors
    /// The first place where they do not, in words.
    pub fn check(&self) -> Result<(), String> {
        let mut listed = 0;
        for (page, node) in self.nodes.iter().enumerate() {
            let page = Tpn(page as u32);
            let used = self.check_list(page, &node.clean, false)? + self.check_list(page, &node.dirty, true)?;
            if used != node.used {
                return Err(format!("the times of node {page} add up to {used}, not {}", node.used));
            }
            let mean = (node.len() > 0).then(|| node.mean());
            let age = self.coldest_first.age(page.0);
            if age.is_some() != mean.is_some() || age > mean {
                return Err(format!("node {page} is ordered by {age:?}, its mean time of use is {mean:?}"));
            }
            listed += node.len();
        }
        if listed == self.len() {
            Ok(())
        } else {
            Err(format!("{} entries are cached, {listed} are in nodes", self.len()))
        }
    }

    /// Checks one list of a node; the sum of its times of use.
    fn check_list(&self, page: Tpn, list: &List, dirty: bool) -> Result<u64, String> {
        let slots = self.links.check(list)?;
        for slot in &slots {
            let entry = self.entries[*slot as usize];
            if entry.logical == NO_LPN || self.find(entry.logical) != Some(*slot) {
                return Err(format!("the entry of logical page {} in slot {slot} is not found", entry.logical));
            }
            if self.shape.page_of(entry.logical) != page || entry.dirty != dirty {
                return Err(format!("logical page {} is in the wrong list of node {page}", entry.logical));
            }
        }
        let used = || slots.iter().map(|slot| self.entries[*slot as usize].used);
        if used().is_sorted() { Ok(used().sum()) } else { Err(format!("node {page} is not in order of use")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Logical page, time of use, dirty; in the order in which they came or were used.
    type Plain = Vec<(Lpn, u64, bool)>;

    fn coldest(plain: &Plain, shape: TranslationShape) -> Option<Tpn> {
        // A node has up to eight entries: 840 times the mean is a whole number.
        let mean = |page: Tpn| {
            let used: Vec<u64> =
                plain.iter().filter(|entry| shape.page_of(entry.0) == page).map(|entry| entry.1).collect();
            (!used.is_empty()).then(|| (840 * used.iter().sum::<u64>() / used.len() as u64, page))
        };
        shape.pages().filter_map(mean).min().map(|(_, page)| page)
    }

    fn oldest(plain: &Plain, shape: TranslationShape, page: Tpn, dirty: bool) -> Option<Lpn> {
        let mut own = plain.iter().filter(|entry| shape.page_of(entry.0) == page && entry.2 == dirty);
        own.next().map(|entry| entry.0)
    }

    proptest! {
        #[test]
        fn nodes_are_ordered_by_mean_use_and_entries_by_last_use(
            steps in prop::collection::vec((0..40_u32, 0..6_u8), 0..300),
        ) {
            let shape = TranslationShape::new(40, 8);
            let mut table = NodeTable::new(shape, 12);
            let mut plain = Plain::new();
            for (now, (number, what)) in steps.into_iter().enumerate() {
                let logical = Lpn(number);
                let (now, page) = (now as u64, shape.page_of(logical));
                let at = plain.iter().position(|entry| entry.0 == logical);
                match (what, table.find(logical), at) {
                    (0, None, None) if table.len() < 12 => {
                        table.insert(logical, now, number % 3 == 0);
                        plain.push((logical, now, number % 3 == 0));
                    }
                    (1, Some(slot), Some(at)) => { table.remove(slot); plain.remove(at); }
                    (2, Some(slot), Some(at)) => { table.mark(slot); plain[at].2 = true; }
                    (3, Some(slot), Some(at)) => {
                        table.touch(slot, now);
                        let entry = plain.remove(at);
                        plain.push((logical, now, entry.2));
                    }
                    (4, ..) => {
                        table.clean_page(page);
                        let of_page = plain.iter_mut().filter(|entry| shape.page_of(entry.0) == page);
                        of_page.for_each(|entry| entry.2 = false);
                    }
                    (5, ..) => prop_assert_eq!(table.coldest(), coldest(&plain, shape)),
                    _ => {}
                }
                table.check().map_err(TestCaseError::fail)?;
                let logical_of = |slot: u32| table.entries[slot as usize].logical;
                prop_assert_eq!(table.oldest_clean(page).map(logical_of), oldest(&plain, shape, page, false));
                prop_assert_eq!(table.oldest_dirty(page).map(logical_of), oldest(&plain, shape, page, true));
                let mut copy = NodeTable::new(shape, 12);
                for (logical, used, dirty) in table.export() {
                    copy.insert(logical, used, dirty);
                }
                copy.check().map_err(TestCaseError::fail)?;
                prop_assert_eq!(copy.export(), table.export());
                prop_assert_eq!(copy.coldest(), coldest(&plain, shape));
            }
        }
    }
}
