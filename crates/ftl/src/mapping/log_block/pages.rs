//! Which flash page each logical page is on, and what each flash page holds.
//!
//! *Protects*: the newest version of a logical page is a valid page that names it, and no other page is valid but
//! tombstones. Only this file writes the maps and makes pages valid or invalid.

use crate::blocks::BlockTable;
use crate::mapping::entry::{Back, Entry, Place};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashCore, PageKind};
use std::collections::BTreeMap;
use units::{BlockId, Geometry, Lpn, Ppn};

/// The map, the back map and what is valid. 4 bytes a logical page, 4 bytes and a bit a flash page.
pub(in crate::mapping) struct Pages {
    geometry: Geometry,
    /// Of each logical page. A tombstone's slot is the number of its flash page.
    map: Vec<Entry>,
    /// Of each flash page; meaningful while the page is valid.
    back: Vec<Back>,
    valid: BlockTable,
    /// Number of the newest version or trim.
    sequence: u64,
}

impl Pages {
    /// Nothing is written.
    pub fn new(geometry: Geometry, logical_pages: u32) -> Self {
        Self {
            geometry,
            map: units::table(logical_pages as usize, Entry::NOWHERE),
            back: units::table(geometry.pages() as usize, Back::NOTHING),
            valid: BlockTable::new(geometry),
            sequence: 1,
        }
    }

    /// The number of the next version or trim.
    #[inline(always)]
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Numbers up to this one were given.
    pub fn note_sequence(&mut self, given: u64) {
        self.sequence = self.sequence.max(given);
    }

    /// The flash page with the newest version, if there is one.
    #[inline(always)]
    pub fn find(&self, logical: Lpn) -> Option<Ppn> {
        self.map[logical.index()].on_flash()
    }

    /// As [`Pages::find`], of a page that may not be there.
    #[inline]
    pub fn find_soon(&self, logical: usize) -> Option<Ppn> {
        self.map.get(logical)?.on_flash()
    }

    /// The tombstone that trims a page.
    #[inline]
    pub fn tombstone(&self, logical: Lpn) -> Option<Ppn> {
        match self.map[logical.index()].place() {
            Place::Tombstone(page) => Some(Ppn(page)),
            _ => None,
        }
    }

    /// Where the last thing that happened to a page is: its newest version or its tombstone.
    #[inline]
    pub fn newest(&self, logical: Lpn) -> Option<Ppn> {
        self.find(logical).or_else(|| self.tombstone(logical))
    }

    #[inline]
    pub fn back(&self, page: Ppn) -> Back {
        self.back[page.index()]
    }

    /// Which pages are valid.
    #[inline]
    pub fn valid(&self) -> &BlockTable {
        &self.valid
    }

    /// The valid pages of a block.
    pub fn valid_in(&self, block: BlockId) -> impl Iterator<Item = Ppn> {
        self.valid.valid_pages_of(block).map(Ppn)
    }

    /// Whether a block holds no valid page.
    pub fn is_empty(&self, block: BlockId) -> bool {
        self.valid.valid_count(block) == 0
    }

    /// The newest version goes to `page`. What it replaces is the caller's to drop.
    #[inline(always)]
    pub fn place(&mut self, logical: Lpn, page: Ppn) {
        self.map[logical.index()] = Entry::page(page);
        self.back[page.index()] = Back::data(logical);
        self.valid.validate(page);
    }

    /// The newest version moves from one page to another.
    #[inline]
    pub fn relocate(&mut self, logical: Lpn, from: Ppn, to: Ppn) {
        self.valid.invalidate(from);
        self.place(logical, to);
    }

    /// A tombstone trims a page; its last version is the caller's to drop.
    pub fn trim(&mut self, logical: Lpn, tombstone: Ppn) {
        self.map[logical.index()] = Entry::tombstone(tombstone.0);
    }

    /// A page holds a tombstone that is needed.
    pub fn keep_tombstone(&mut self, page: Ppn) {
        self.back[page.index()] = Back::RECORD;
        self.valid.validate(page);
    }

    /// Nobody needs what a page holds.
    #[inline(always)]
    pub fn drop(&mut self, page: Ppn) {
        self.valid.invalidate(page);
    }

    #[inline]
    pub fn prefetch_entry(&self, logical: usize) {
        units::prefetch(&self.map, logical);
    }

    /// Every newest version is on a valid page of its own. Returns the pages each tombstone trims.
    ///
    /// # Errors
    /// What breaks the law, in words.
    pub fn check(&self, core: &FlashCore) -> Result<BTreeMap<Ppn, u32>, String> {
        let valid = self.valid.check()?;
        let mut mapped = 0_u64;
        let mut trimmed = BTreeMap::new();
        for logical in (0..self.map.len() as u32).map(Lpn) {
            let Some(page) = self.newest(logical) else { continue };
            if self.geometry.page_in_block(page) >= u32::from(core.block(self.geometry.block_of(page)).issued) {
                return Err(format!("logical page {logical} maps to page {page}, never programmed"));
            }
            if self.find(logical).is_none() {
                *trimmed.entry(page).or_insert(0) += 1;
                continue;
            }
            mapped += 1;
            if !self.valid.is_valid(page) || self.back(page) != Back::data(logical) {
                return Err(format!("logical page {logical} maps to page {page}, which is not its own"));
            }
            let Some(contents) = core.contents.as_deref().filter(|_| is_on_flash(core, page)) else { continue };
            let oob = contents.oob(page.0);
            if oob.logical != logical.0 || !matches!(oob.kind, PageKind::Data | PageKind::Lost) {
                return Err(format!("logical page {logical} maps to page {page}, which holds {oob:?}"));
            }
        }
        mapped += trimmed.len() as u64;
        if valid != mapped {
            return Err(format!("{valid} valid pages, but {mapped} mapped pages and tombstones"));
        }
        Ok(trimmed)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u32("log.map", self.map.iter().map(|entry| entry.bits()));
        writer.put_u32("log.back", self.back.iter().map(|back| back.bits()));
        self.valid.save(writer);
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let (map, back) = (reader.get_u32("log.map")?, reader.get_u32("log.back")?);
        if map.len() != self.map.len() || back.len() != self.back.len() {
            return Err(super::unfit("the number of pages differs"));
        }
        self.valid.load(reader)?;
        // Written in place: the tables are laid out for random access.
        self.map.iter_mut().zip(map).for_each(|(entry, bits)| *entry = Entry::from_bits(bits));
        self.back.iter_mut().zip(back).for_each(|(back, bits)| *back = Back::from_bits(bits));
        Ok(())
    }
}

/// Whether the program of a page has completed.
pub(super) fn is_on_flash(core: &FlashCore, page: Ppn) -> bool {
    core.geometry.page_in_block(page) < u32::from(core.block(core.geometry.block_of(page)).done)
}

/// Passes over the pages of a block before the one that is programmed next.
#[inline]
pub(super) fn reach<F: Flash>(flash: &mut F, geometry: &Geometry, page: Ppn) {
    let issued = flash.core().block(geometry.block_of(page)).issued;
    if geometry.page_in_block(page) != u32::from(issued) {
        flash.skip_to(page);
    }
}
