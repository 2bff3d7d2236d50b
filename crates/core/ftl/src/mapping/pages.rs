//! Which flash page each logical page is on, and the contents of each flash page.
//!
//! *Protects*: the newest version of a logical page is a valid page that names it, and no other page is valid but
//! tombstones and old versions that are kept. Only this file writes the maps and makes pages valid or invalid.

use super::entry::{Back, Entry, Place};
use crate::blocks::BlockTable;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use units::{BlockId, Geometry, Lpn, Ppn};

/// The map, the back map and what is valid. 4 bytes a logical page, 4 bytes and a bit a flash page.
pub(super) struct Pages {
    geometry: Geometry,
    /// [`Entry::word`] of each logical page: the user's, then the translation pages.
    map: Vec<u32>,
    /// [`Back::word`] of each flash page; meaningful while the page is valid or being placed.
    back: Vec<u32>,
    /// What is valid, and which blocks may be collected.
    blocks: BlockTable,
    /// Number of the newest version or trim.
    sequence: u64,
}

impl Pages {
    pub fn new(geometry: Geometry, logical_pages: u32) -> Self {
        Self {
            geometry,
            map: units::zeros(logical_pages as usize),
            back: units::zeros(geometry.pages() as usize),
            blocks: BlockTable::new(geometry),
            sequence: 1,
        }
    }

    /// Valid pages, and blocks that may be collected.
    #[inline(always)]
    pub fn blocks(&self) -> &BlockTable {
        &self.blocks
    }

    /// Nothing more is programmed into a block: it may be collected.
    pub fn close(&mut self, block: BlockId) {
        self.blocks.close(block);
    }

    /// A block is closed as the one of this number.
    pub fn close_as(&mut self, block: BlockId, closed_at: u32) {
        self.blocks.close_as(block, closed_at);
    }

    /// So many blocks were closed before.
    pub fn note_closings(&mut self, closings: u32) {
        self.blocks.note_closings(closings);
    }

    /// A closed block is opened again, emptied or given up: it may not be chosen.
    pub fn withdraw(&mut self, block: BlockId) {
        self.blocks.take(block);
    }

    /// A block withdrawn may be chosen again, as old as it was.
    pub fn put_back(&mut self, block: BlockId) {
        self.blocks.put_back(block);
    }

    /// The valid pages of a block.
    pub fn valid_in(&self, block: BlockId) -> impl Iterator<Item = Ppn> {
        self.blocks.valid_pages_of(block).map(Ppn)
    }

    /// Whether a block holds no valid page.
    pub fn is_empty(&self, block: BlockId) -> bool {
        self.blocks.valid_count(block) == 0
    }

    /// Tombstones in a block that are still needed.
    pub fn tombstones_in(&self, block: BlockId) -> u32 {
        self.valid_in(block).filter(|page| self.back(*page).is_tombstone()).count() as u32
    }

    /// The number of the next version or trim.
    #[inline(always)]
    pub fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// The number given last.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Numbers up to this one were given.
    pub fn note_sequence(&mut self, given: u64) {
        self.sequence = self.sequence.max(given);
    }

    /// Logical pages, translation pages included.
    #[inline]
    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    pub fn all(&self) -> impl Iterator<Item = Lpn> + use<> {
        (0..self.map.len() as u32).map(Lpn)
    }

    #[inline(always)]
    pub fn entry(&self, logical: Lpn) -> Entry {
        Entry::from_word(self.map[logical.index()])
    }

    /// The flash page with the newest version, if there is one.
    #[inline(always)]
    pub fn find(&self, logical: Lpn) -> Option<Ppn> {
        self.entry(logical).on_flash()
    }

    /// As [`Pages::find`], of a page that may not be there.
    #[inline]
    pub fn find_soon(&self, logical: usize) -> Option<Ppn> {
        Entry::from_word(*self.map.get(logical)?).on_flash()
    }

    #[inline(always)]
    pub fn back(&self, page: Ppn) -> Back {
        Back::from_word(self.back[page.index()])
    }

    /// The contents of the pages of a block, `count` of them from its first one on.
    pub fn backs(&self, first: Ppn, count: usize) -> impl Iterator<Item = Back> {
        self.back[first.index()..first.index() + count].iter().map(|word| Back::from_word(*word))
    }

    /// The newest version goes to `page`. The caller drops the replaced version.
    #[inline(always)]
    pub fn place(&mut self, logical: Lpn, page: Ppn) {
        self.point(logical, page);
        self.hold(logical, page);
    }

    /// The half of [`Pages::place`] that writes the map.
    #[inline(always)]
    pub fn point(&mut self, logical: Lpn, page: Ppn) {
        self.map[logical.index()] = Entry::page(page).word();
    }

    /// The other half of [`Pages::place`].
    #[inline(always)]
    pub fn hold(&mut self, logical: Lpn, page: Ppn) {
        self.back[page.index()] = Back::data(logical).word();
        self.blocks.validate(page);
    }

    /// The newest version moves from one page to another.
    #[inline(always)]
    pub fn relocate(&mut self, logical: Lpn, from: Ppn, to: Ppn) {
        debug_assert!(self.find(logical) == Some(from), "logical page {logical} moves from where it is not");
        self.map[logical.index()] = Entry::page(to).word();
        self.back[to.index()] = Back::data(logical).word();
        self.blocks.invalidate(from);
        self.blocks.validate(to);
    }

    /// How many of these pages of a block, from the first on, are newest versions to be moved: valid, in ascending
    /// order, no tombstone. Their map entries are brought into the cache. Where no old version is kept.
    #[inline]
    pub fn movable(&self, pages: &[u32]) -> usize {
        let mut least = 0;
        let moves = |page: &&u32| {
            let back = self.back(Ppn(**page));
            units::prefetch(&self.map, back.bits() as usize);
            let is_next = **page >= std::mem::replace(&mut least, **page);
            is_next && !back.is_tombstone() && self.blocks.is_valid(Ppn(**page))
        };
        pages.iter().take_while(moves).count()
    }

    /// Newest versions of one block, as [`Pages::movable`] finds them, move to the pages of another block from `to` on.
    pub fn relocate_run(&mut self, from: &[u32], to: Ppn) {
        for (target, page) in (to.0..).map(Ppn).zip(from) {
            let word = self.back[*page as usize];
            let logical = Back::from_word(word).bits();
            debug_assert!(self.find(Lpn(logical)) == Some(Ppn(*page)), "page {page} is not the newest version");
            self.map[logical as usize] = Entry::page(target).word();
            self.back[target.index()] = word;
        }
        self.blocks.move_run(from, to);
    }

    /// `to` holds what `from` held, be it an old version or a tombstone.
    pub fn stand_in(&mut self, from: Ppn, to: Ppn) {
        debug_assert!(self.blocks.is_valid(from), "page {from} holds nothing that another page could hold for it");
        self.back[to.index()] = self.back[from.index()];
        self.blocks.invalidate(from);
        self.blocks.validate(to);
    }

    /// A page that is no newest version holds something.
    pub fn label(&mut self, page: Ppn, back: Back) {
        self.back[page.index()] = back.word();
    }

    /// As [`Pages::label`], and the page is valid.
    pub fn keep(&mut self, page: Ppn, back: Back) {
        self.label(page, back);
        self.blocks.validate(page);
    }

    /// Nobody needs what a page holds.
    #[inline(always)]
    pub fn drop(&mut self, page: Ppn) {
        self.blocks.invalidate(page);
    }

    /// A logical page is trimmed, or nowhere any more; its last version is the caller's to drop.
    #[inline]
    pub fn unmap(&mut self, logical: Lpn, entry: Entry) {
        debug_assert!(!entry.is_page(), "an entry that names a page is written as that page is placed");
        self.map[logical.index()] = entry.word();
    }

    #[inline]
    pub fn prefetch_entry(&self, logical: usize) {
        units::prefetch(&self.map, logical);
    }

    #[inline]
    pub fn prefetch_back(&self, page: usize) {
        units::prefetch(&self.back, page);
    }

    /// Brings what the pages of a block hold: 64 bytes are 16 of them.
    pub fn prefetch_backs_of(&self, block: BlockId) {
        let first = block.index() * self.geometry.pages_per_block as usize;
        for page in (first..first + self.geometry.pages_per_block as usize).step_by(16) {
            self.prefetch_back(page);
        }
    }

    /// Brings the entry of the contents of a page.
    #[inline]
    pub fn prefetch_entry_of(&self, page: Ppn) {
        units::prefetch(&self.map, self.back(page).bits() as usize);
    }

    /// Bytes of the map.
    pub fn map_bytes(&self) -> u64 {
        self.map.len() as u64 * 4
    }

    /// Every newest version is on a page of its own that was programmed. Returns the pages mapped, and adds to
    /// `trimmed` what each tombstone trims.
    ///
    /// # Errors
    /// The first logical page that breaks the law, in words.
    pub fn check(&self, state: &FlashState, trimmed: &mut [u32]) -> Result<u64, String> {
        let mut mapped = 0;
        for logical in self.all() {
            match self.entry(logical).place() {
                Place::Page(page) => {
                    mapped += 1;
                    if !self.blocks.is_valid(page) || self.back(page) != Back::data(logical) {
                        return Err(format!("logical page {logical} maps to page {page}, which is not its own"));
                    }
                    let block = self.geometry.block_of(page);
                    // A lost die shows nothing of its pages; stripes compute them.
                    let is_seen = !state.die_is_dead(self.geometry.die_of(block));
                    if is_seen && self.geometry.page_in_block(page) >= u32::from(state.block(block).issued) {
                        return Err(format!("logical page {logical} maps to page {page}, never programmed"));
                    }
                }
                Place::Tombstone(slot) => trimmed[slot as usize] += 1,
                Place::InLog(_) | Place::Nowhere => {}
            }
        }
        Ok(mapped)
    }

    /// `map_section`, `back_section`: what the maps are called in the snapshot.
    pub fn save(&mut self, writer: &mut SnapshotWriter, [map_section, back_section]: [&'static str; 2]) {
        writer.put_table(map_section, &mut self.map);
        writer.put_table(back_section, &mut self.back);
        self.blocks.save(writer);
    }

    /// Reads what [`Pages::save`] wrote.
    pub fn load(
        &mut self,
        reader: &mut SnapshotReader<'_>,
        [map_section, back_section]: [&'static str; 2],
    ) -> Result<(), SnapshotError> {
        reader.table(map_section, &mut self.map)?;
        reader.table(back_section, &mut self.back)?;
        self.blocks.load(reader)
    }
}
