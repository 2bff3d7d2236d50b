//! The contents of pages: user data, out-of-band areas and the drive's own records.
//!
//! A sector holds one *cell*: 8 bytes when contents are stamps (a version number stands for the
//! data; the XOR of stamps is the stamp of a parity), 512 when they are real bytes. Nothing else
//! differs between the two, so recovery code is the same for both.
//!
//! Everything here changes when a command completes, never when it is issued, so a power cut leaves
//! a copy of this structure behind.

use crate::cells::Cells;
use crate::payloads::{PayloadId, Payloads, copy_masked};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::BlockId;

/// The contents that a drive stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentsKind {
    /// Nothing: pages have no contents and no out-of-band area (fastest; no recovery possible).
    None,
    /// An 8-byte version stamp a sector.
    Stamp,
    /// The 512 bytes of a sector; memory for blocks that hold something.
    Bytes,
}

/// The kind of a page by its out-of-band area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Never programmed since the last erase.
    Erased = 0,
    /// Data of the user.
    Data,
    /// The drive's own records (trim tombstones).
    Metadata,
    /// Half programmed when power went: neither data nor out-of-band area can be read.
    Torn,
    /// User data that can no longer be corrected; the out-of-band area is readable.
    Lost,
}

/// Out-of-band area of a page: enough to rebuild the maps after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oob {
    /// The kind of the page.
    pub kind: PageKind,
    /// Logical page (for [`PageKind::Data`]).
    pub logical: u32,
    /// Sequence number fixed when the map changed; a relocated page keeps its number.
    pub sequence: u64,
}

const ERASED: Oob = Oob { kind: PageKind::Erased, logical: u32::MAX, sequence: 0 };

/// Keeps the contents of flash outside of the program as well, in the order in which they come about.
///
/// Nothing here can fail a command: a mirror that can no longer follow says so to its maker.
pub trait Mirror: std::fmt::Debug + Send + Sync {
    /// A page holds this now. A record stands for cells; without cells the page reads as zeros.
    fn page(&self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>);
    /// A block was erased and holds nothing, is to be used in another way, or must not be used again.
    fn block(&self, block: BlockId, row: KeptBlock);
}

/// The record of a block beside its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptBlock {
    /// Erases it has had.
    pub erases: u32,
    /// Those after it was used with one bit a cell.
    pub slc_erases: u32,
    /// It is used so now.
    pub is_slc: bool,
    /// It must not be used again.
    pub is_bad: bool,
}

/// Cells and records of all pages, and their out-of-band areas. Only commands of flash write them.
#[derive(Clone, Debug)]
pub struct Contents {
    sectors_per_page: usize,
    cell_bytes: usize,
    cells: Cells,
    oob: OobTable,
    records: BTreeMap<u32, Box<[u8]>>,
    mirror: Option<Arc<dyn Mirror>>,
}

impl Contents {
    /// Contents of `pages`; memory for their cells is had for `pages_per_chunk` together.
    pub(crate) fn new(pages: usize, pages_per_chunk: usize, sectors_per_page: usize, cell_bytes: usize) -> Self {
        Self {
            sectors_per_page,
            cell_bytes,
            cells: Cells::new(pages, pages_per_chunk, sectors_per_page * cell_bytes),
            oob: OobTable::new(pages),
            records: BTreeMap::new(),
            mirror: None,
        }
    }

    /// Tells a mirror of every page and block that changes from now on.
    pub fn set_mirror(&mut self, mirror: Arc<dyn Mirror>) {
        self.mirror = Some(mirror);
    }

    /// No mirror is told of anything from now on.
    pub fn drop_mirror(&mut self) {
        self.mirror = None;
    }

    #[inline]
    fn reflect(&self, page: u32) {
        if let Some(mirror) = &self.mirror {
            let cells = if self.has_bytes(page) { self.cells.page(page) } else { &[] };
            mirror.page(page, self.oob.get(page), cells, self.record(page));
        }
    }

    pub(crate) fn reflect_block(&self, block: BlockId, row: KeptBlock) {
        if let Some(mirror) = &self.mirror {
            mirror.block(block, row);
        }
    }

    /// Puts back what a mirror was told of a page. Nothing is told of it again.
    pub fn restore_page(&mut self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>) {
        self.oob.set(page, oob);
        match record {
            Some(record) => {
                self.records.insert(page, record.into());
            }
            None if cells.is_empty() => self.cells.forget(page),
            None => self.cells.page_anew(page).copy_from_slice(cells),
        }
    }

    /// The same of a page whose bytes cannot be read.
    pub fn restore_oob(&mut self, page: u32, oob: Oob) {
        self.oob.set(page, oob);
    }

    fn page_bytes(&self) -> usize {
        self.sectors_per_page * self.cell_bytes
    }

    /// Bytes of a cell: 8 for stamps.
    pub fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Out-of-band area of a page.
    pub fn oob(&self, page: u32) -> Oob {
        self.oob.get(page)
    }

    /// The record a metadata page holds.
    pub fn record(&self, page: u32) -> Option<&[u8]> {
        self.records.get(&page).map(AsRef::as_ref)
    }

    /// Whether a page was programmed with bytes: without them (preconditioning programs such pages) it reads as zeros.
    #[inline]
    pub fn has_bytes(&self, page: u32) -> bool {
        self.cells.is_present(page)
    }

    /// All cells of a page.
    pub fn page(&self, page: u32) -> &[u8] {
        self.cells.page(page)
    }

    /// Copies the sectors that a payload means; a page without bytes leaves zeros that nobody wrote.
    pub(crate) fn read_into(&self, page: u32, payloads: &mut Payloads, into: PayloadId) {
        if self.has_bytes(page) {
            payloads.read(self.cells.page(page), into);
        } else {
            payloads.clear(into, payloads.mask(into));
        }
    }

    /// Completes the program of a user page: the sectors of `mask` come from `cells`, the others from `base`.
    pub(crate) fn write_page(&mut self, page: u32, base: Option<u32>, cells: &[u8], mask: u64, oob: Oob) {
        let (cell, bytes) = (self.cell_bytes, self.page_bytes());
        let is_whole = mask.count_ones() as usize * cell == bytes;
        if is_whole {
            self.cells.page_anew(page);
        } else {
            match base {
                Some(base) => self.cells.copy(base, page),
                None => self.cells.forget(page),
            }
        }
        if mask != 0 {
            copy_masked(cells, self.cells.page_mut(page), mask, cell);
        }
        self.oob.set(page, oob);
        self.reflect(page);
    }

    /// Completes the program of a metadata page.
    pub(crate) fn write_record(&mut self, page: u32, record: Box<[u8]>, oob: Oob) {
        self.records.insert(page, record);
        self.cells.forget(page);
        self.oob.set(page, oob);
        self.reflect(page);
    }

    /// Completes a relocation: cells, record and out-of-band area all move.
    pub(crate) fn copy_page(&mut self, from: u32, to: u32) {
        self.cells.copy(from, to);
        self.oob.set(to, self.oob.get(from));
        if let Some(record) = self.records.get(&from).cloned() {
            self.records.insert(to, record);
        }
        self.reflect(to);
    }

    pub(crate) fn set_oob_kind(&mut self, page: u32, kind: PageKind) {
        self.oob.set(page, Oob { kind, ..self.oob.get(page) });
        self.reflect(page);
    }

    /// Whether the data of a page is gone.
    pub(crate) fn is_lost(&self, page: u32) -> bool {
        self.oob.get(page).kind == PageKind::Lost
    }

    /// Data of a page is gone; nothing happens to a page without.
    pub(crate) fn lose(&mut self, page: u32) {
        if self.oob.get(page).kind == PageKind::Data {
            self.set_oob_kind(page, PageKind::Lost);
        }
    }

    /// A page that was said to be programmed never was.
    pub(crate) fn take_back(&mut self, page: u32) {
        self.oob.set(page, ERASED);
        self.records.remove(&page);
    }

    pub(crate) fn erase(&mut self, first: u32, pages: u32) {
        self.oob.erase(first, pages);
        self.cells.erase(first, pages);
        let gone: Vec<u32> = self.records.range(first..first + pages).map(|(page, _)| *page).collect();
        for page in gone {
            self.records.remove(&page);
        }
    }
}

/// Out-of-band areas, apart by what they hold and zero where erased, so that tables of a large drive take memory only
/// where it was programmed.
#[derive(Clone, Debug)]
struct OobTable {
    kinds: Vec<u8>,
    logical: Vec<u32>,
    sequences: Vec<u64>,
}

impl OobTable {
    fn new(pages: usize) -> Self {
        Self { kinds: vec![0; pages], logical: vec![0; pages], sequences: vec![0; pages] }
    }

    fn get(&self, page: u32) -> Oob {
        let page = page as usize;
        let kind = match self.kinds[page] {
            1 => PageKind::Data,
            2 => PageKind::Metadata,
            3 => PageKind::Torn,
            4 => PageKind::Lost,
            _ => return ERASED,
        };
        Oob { kind, logical: self.logical[page], sequence: self.sequences[page] }
    }

    fn set(&mut self, page: u32, oob: Oob) {
        let page = page as usize;
        (self.kinds[page], self.logical[page], self.sequences[page]) = (oob.kind as u8, oob.logical, oob.sequence);
    }

    fn erase(&mut self, first: u32, pages: u32) {
        self.kinds[first as usize..(first + pages) as usize].fill(PageKind::Erased as u8);
    }
}
