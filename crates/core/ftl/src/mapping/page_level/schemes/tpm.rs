//! `tpm`: translation pages are cached whole, and each has a write pointer of its own.
//!
//! Faithful to: "Optimizing Translation Information Management in NAND Flash Memory Storage Systems" (ASP-DAC 2012),
//! sections III.B to III.D. A cache holds translation pages, found through their directory. Clean ones are dropped
//! without a write-back, and dirty ones are programmed without reading them first. Each translation page has one
//! write pointer for its data, and all translation pages share one. Data is collected into the write pointer of its
//! translation page, with a swap block when that pointer is full. At most one translation page is programmed for each
//! collected data block. A write programs its data first.
//! Simplified: recency alone decides which page leaves the cache. The free blocks and the swap block belong to a
//! plane, and planes take turns. The publication tells neither the choice of the collected block nor the recovery
//! after a power cut. Both are the drive's own.
//! Protects: no data block holds pages of two translation pages; the cache stays within its budget.

use super::cache::NONE;
use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use layer::recency::{Links, List};
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::{Lpn, Ppn, Tpn};

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "whole translation pages are cached, each with a write pointer of its own for its data";
    let when = "Use it for writes in order or in few regions: a collection then changes one translation page at \
                most. Each translation page takes an open block, so uniform writes need much spare flash.";
    page_level::mapping::<Translation<Tpm>>("tpm", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let mut parameters = page_level::demand();
    // A plane is left where the block of a translation page is full.
    parameters.retain(|parameter| parameter.key != page_level::RUN_PAGES);
    parameters.push(Parameter::new(
        "ftl.tpm.clean_first",
        ParameterKind::Count { min: 0, max: 1_000_000 },
        "0",
        "Least recently used translation pages among which the oldest clean page is evicted first, if there is one; \
         0: always the least recently used page.",
    ));
    parameters
}

const NO_TPN: Tpn = Tpn(NONE);

/// The cache: one slot for each translation page that fits.
pub(crate) struct Tpm {
    shape: TranslationShape,
    /// Slot of each translation page.
    slot_of: Vec<u32>,
    /// Translation page of each slot, and how often its entries changed since it was read.
    slots: Vec<(Tpn, u32)>,
    capacity: u32,
    recency: List,
    links: Links,
    clean_first: u32,
}

impl Tpm {
    fn page_bytes(shape: TranslationShape) -> u64 {
        u64::from(shape.entries()) * 4
    }

    fn slot(&self, logical: Lpn) -> Option<u32> {
        let slot = self.slot_of[self.shape.page_of(logical).index()];
        (slot != NONE).then_some(slot)
    }

    fn is_clean(&self, slot: u32) -> bool {
        self.slots[slot as usize].1 == 0
    }

    /// The slot to be emptied.
    fn victim(&self) -> u32 {
        let oldest = self.recency.tail().expect("a full cache has a least recently used page");
        let mut candidates = self.links.oldest_first(&self.recency).take(self.clean_first as usize);
        candidates.find(|slot| self.is_clean(*slot)).unwrap_or(oldest)
    }

    /// A slot for one more page; what is in it leaves.
    fn make_room(&mut self, plan: &mut Plan) -> u32 {
        if (self.slots.len() as u32) < self.capacity {
            self.slots.push((NO_TPN, 0));
            return self.slots.len() as u32 - 1;
        }
        let slot = self.victim();
        let (page, updates) = self.slots[slot as usize];
        if updates > 0 {
            plan.write_back(page, true);
        }
        self.slot_of[page.index()] = NONE;
        self.links.remove(&mut self.recency, slot);
        slot
    }

    fn insert(&mut self, slot: u32, page: Tpn, updates: u32) {
        self.slots[slot as usize] = (page, updates);
        self.slot_of[page.index()] = slot;
        self.links.push_front(&mut self.recency, slot);
    }
}

impl Scheme for Tpm {
    const OWN_BLOCKS: bool = true;
    const DATA_FIRST: bool = true;
    /// Two page numbers of four bytes, and a cache index of two.
    const DIRECTORY_BYTES: u64 = 10;

    fn least_bytes(shape: TranslationShape, _: &Values) -> u64 {
        Self::page_bytes(shape)
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let capacity = (budget / Self::page_bytes(shape)).min(u64::from(shape.count)) as u32;
        Self {
            shape,
            slot_of: vec![NONE; shape.count as usize],
            slots: Vec::with_capacity(capacity as usize),
            capacity,
            recency: List::default(),
            links: Links::new(capacity as usize),
            clean_first: values.whole("ftl.tpm.clean_first") as u32,
        }
    }

    #[inline]
    fn is_free(&self, logical: Lpn) -> bool {
        self.slot(logical).is_some()
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        let change = u32::from(access.change);
        if let Some(slot) = self.slot(access.logical) {
            plan.hit = true;
            self.links.touch(&mut self.recency, slot);
            let updates = &mut self.slots[slot as usize].1;
            *updates = updates.saturating_add(change);
            return;
        }
        let page = self.shape.page_of(access.logical);
        let slot = self.make_room(plan);
        self.insert(slot, page, change);
        plan.fetch = Some(page);
    }

    #[inline]
    fn relocated(&mut self, logical: Lpn, _: Ppn) -> bool {
        let Some(slot) = self.slot(logical) else { return false };
        let updates = &mut self.slots[slot as usize].1;
        *updates = updates.saturating_add(1);
        true
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.slot(logical).is_some_and(|slot| !self.is_clean(slot))
    }

    fn programmed(&mut self, page: Tpn) {
        let slot = self.slot_of[page.index()];
        if slot != NONE {
            self.slots[slot as usize].1 = 0;
        }
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        units::prefetch(&self.slot_of, self.shape.page_of(logical).index());
    }

    fn cached_bytes(&self) -> u64 {
        self.slots.len() as u64 * Self::page_bytes(self.shape)
    }

    fn check(&self) -> Result<(), String> {
        let slots = self.links.check(&self.recency)?;
        let misplaced = slots.iter().find(|slot| self.slot_of[self.slots[**slot as usize].0.index()] != **slot);
        match misplaced {
            Some(slot) => Err(format!("translation page {} is not in slot {slot}", self.slots[*slot as usize].0)),
            None if slots.len() != self.slots.len() => {
                Err(format!("{} of {} slots are listed", slots.len(), self.slots.len()))
            }
            None => Ok(()),
        }
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        let oldest_first = self.links.oldest_first(&self.recency).map(|slot| self.slots[slot as usize]);
        writer.put("tpm.cache", oldest_first.map(|(page, updates)| [page.0, updates]));
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let cached: Vec<[u32; 2]> = reader.get("tpm.cache")?;
        if cached.len() > self.capacity as usize || cached.iter().any(|[page, _]| *page >= self.shape.count) {
            let problem = "the cache or the translation pages are of another size";
            return Err(SnapshotError::unfit("tpm.cache", problem));
        }
        self.slot_of.fill(NONE);
        self.slots.clear();
        self.recency = List::default();
        for [page, updates] in cached {
            self.slots.push((NO_TPN, 0));
            self.insert(self.slots.len() as u32 - 1, Tpn(page), updates);
        }
        Ok(())
    }
}
