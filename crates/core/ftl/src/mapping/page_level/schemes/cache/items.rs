//! Single map entries in memory: found by logical page, dirty ones chained by translation page.

use super::{Index, NO_LPN};
use crate::mapping::page_level::scheme::TranslationShape;
use layer::recency::{Links, List};
use units::{Lpn, Tpn};

/// Cached entries. A slot number stays with its entry until that is removed.
#[derive(Clone, Debug)]
pub(in crate::mapping) struct ItemTable {
    shape: TranslationShape,
    /// Logical page of each slot; `NO_LPN` in free ones.
    logical: Vec<Lpn>,
    dirty: Vec<bool>,
    free: Vec<u32>,
    index: Index,
    /// Dirty entries of each translation page, and their links.
    dirty_of: Vec<List>,
    dirty_links: Links,
}

impl ItemTable {
    /// Room for `capacity` entries.
    pub fn new(shape: TranslationShape, capacity: u32) -> Self {
        let slots = capacity as usize;
        Self {
            shape,
            logical: vec![NO_LPN; slots],
            dirty: vec![false; slots],
            free: (0..capacity).rev().collect(),
            index: Index::new(slots),
            dirty_of: vec![List::default(); shape.count as usize],
            dirty_links: Links::new(slots),
        }
    }

    /// Entries it has room for.
    pub fn capacity(&self) -> u32 {
        self.logical.len() as u32
    }

    pub fn len(&self) -> u32 {
        self.capacity() - self.free.len() as u32
    }

    /// No entry more fits.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// The slot of a logical page.
    #[inline]
    pub fn find(&self, logical: Lpn) -> Option<u32> {
        self.index.find(logical)
    }

    /// The logical page of a slot.
    #[inline]
    pub fn logical(&self, slot: u32) -> Lpn {
        self.logical[slot as usize]
    }

    /// The translation page of a slot's entry.
    #[inline]
    pub fn page(&self, slot: u32) -> Tpn {
        self.shape.page_of(self.logical(slot))
    }

    /// Whether flash has an older version of the entry.
    #[inline]
    pub fn is_dirty(&self, slot: u32) -> bool {
        self.dirty[slot as usize]
    }

    /// Adds a clean entry.
    ///
    /// # Panics
    /// If there is no room.
    pub fn insert(&mut self, logical: Lpn) -> u32 {
        let slot = self.free.pop().expect("room was made before an entry was added");
        self.logical[slot as usize] = logical;
        self.index.insert(logical, slot);
        slot
    }

    /// Removes an entry, dirty or not.
    pub fn remove(&mut self, slot: u32) {
        self.clean(slot);
        self.index.remove(self.logical[slot as usize]);
        self.logical[slot as usize] = NO_LPN;
        self.free.push(slot);
    }

    #[inline]
    pub fn mark(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.dirty[slot as usize], true) {
            let page = self.page(slot);
            self.dirty_links.push_front(&mut self.dirty_of[page.index()], slot);
        }
    }

    /// The entry is on flash now.
    #[inline]
    pub fn clean(&mut self, slot: u32) {
        if std::mem::take(&mut self.dirty[slot as usize]) {
            let page = self.page(slot);
            self.dirty_links.remove(&mut self.dirty_of[page.index()], slot);
        }
    }

    /// All entries of a translation page are on flash now; returns how many were not.
    pub fn clean_page(&mut self, page: Tpn) -> u32 {
        let mut cleaned = 0;
        while let Some(slot) = self.dirty_of[page.index()].tail() {
            self.clean(slot);
            cleaned += 1;
        }
        cleaned
    }

    /// Removes all dirty entries of a translation page; returns how many those were.
    pub fn remove_dirty(&mut self, page: Tpn) -> u32 {
        let mut removed = 0;
        while let Some(slot) = self.dirty_of[page.index()].tail() {
            self.remove(slot);
            removed += 1;
        }
        removed
    }

    /// Brings what finding `logical` touches into the processor's cache.
    #[inline]
    pub fn prefetch(&self, logical: Lpn) {
        self.index.prefetch(logical);
    }

    /// Checks that index, chains and slots agree.
    ///
    /// # Errors
    /// The first slot where they do not, in words.
    pub fn check(&self) -> Result<(), String> {
        let mut chained = 0;
        for (page, list) in self.dirty_of.iter().enumerate() {
            for slot in self.dirty_links.check(list)? {
                chained += 1;
                if !self.is_dirty(slot) || self.page(slot).index() != page {
                    return Err(format!("slot {slot} is chained as dirty entry of translation page {page}"));
                }
            }
        }
        let dirty = self.dirty.iter().filter(|dirty| **dirty).count();
        if dirty != chained {
            return Err(format!("{dirty} cached entries are dirty, {chained} are chained"));
        }
        for (slot, &logical) in self.logical.iter().enumerate() {
            if logical != NO_LPN && self.find(logical) != Some(slot as u32) {
                return Err(format!("the entry of logical page {logical} in slot {slot} is not found"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn items_are_found_and_dirty_ones_chained(steps in prop::collection::vec((0..40_u32, 0..4_u8), 0..300)) {
            let shape = TranslationShape::new(40, 8);
            let mut table = ItemTable::new(shape, 12);
            let mut plain: BTreeMap<Lpn, bool> = BTreeMap::new();
            for (number, what) in steps {
                let logical = Lpn(number);
                match (what, table.find(logical)) {
                    (0, None) if !table.is_full() => { table.insert(logical); plain.insert(logical, false); }
                    (1, Some(slot)) => { table.remove(slot); plain.remove(&logical); }
                    (2, Some(slot)) => { table.mark(slot); plain.insert(logical, true); }
                    (3, _) => {
                        let page = shape.page_of(logical);
                        let dirty = plain.iter_mut().filter(|(item, dirty)| shape.page_of(**item) == page && **dirty);
                        let count = dirty.map(|(_, dirty)| *dirty = false).count();
                        prop_assert_eq!(table.clean_page(page), count as u32);
                    }
                    _ => {}
                }
                table.check().map_err(TestCaseError::fail)?;
                for logical in (0..40).map(Lpn) {
                    let found = table.find(logical).map(|slot| table.is_dirty(slot));
                    prop_assert_eq!(found, plain.get(&logical).copied());
                }
            }
        }
    }
}
