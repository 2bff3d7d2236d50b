//! What pages hold: user data, out-of-band areas and the drive's own records.
//!
//! A sector holds one *cell*: 8 bytes when contents are stamps (a version number stands for the
//! data; the XOR of stamps is the stamp of a parity), 512 when they are real bytes. Nothing else
//! differs between the two, so recovery code is the same for both.
//!
//! Everything here changes when a command completes, never when it is issued, so a copy of this
//! structure is what a power cut leaves behind.

use crate::cells::Cells;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::BlockId;

/// What a drive stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentsKind {
    /// Nothing: pages have no contents and no out-of-band area (fastest; no recovery possible).
    None,
    /// An 8-byte version stamp a sector.
    Stamp,
    /// The 512 bytes of a sector; memory for blocks that hold something.
    Bytes,
}

/// What kind of page the out-of-band area says this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Never programmed since the last erase.
    Erased = 0,
    /// User data.
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
    /// What the page holds.
    pub kind: PageKind,
    /// Logical page (for [`PageKind::Data`]).
    pub logical: u32,
    /// Sequence number fixed when the map changed; a relocated page keeps its number.
    pub sequence: u64,
}

const ERASED: Oob = Oob { kind: PageKind::Erased, logical: u32::MAX, sequence: 0 };

/// A slot of the payload pool: one page worth of cells with a mask of the sectors meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadId(pub(crate) u32);

impl PayloadId {
    /// No payload: contents are off, or the command moves none.
    pub const NONE: PayloadId = PayloadId(u32::MAX);

    /// The slot `pages` after this one in the same run.
    #[inline]
    #[must_use]
    pub fn offset(self, pages: u32) -> PayloadId {
        if self == Self::NONE { self } else { PayloadId(self.0 + pages) }
    }
}

/// A record of the drive's own on its way to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(pub(crate) u32);

/// Keeps what flash holds outside of the program as well, in the order in which it comes about.
///
/// Nothing here can fail a command: a mirror that can no longer follow says so to whoever made it.
pub trait Mirror: std::fmt::Debug + Send + Sync {
    /// A page holds this now. A record stands for cells.
    fn page(&self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>);
    /// A block was erased and holds nothing, or is bad and must not be used again; with the erases it has had.
    fn block(&self, block: BlockId, erases: u32, bad: bool);
}

/// Cells of all pages, their out-of-band areas, and the payloads of operations in progress.
#[derive(Clone, Debug)]
pub struct Contents {
    sectors_per_page: usize,
    cell_bytes: usize,
    cells: Cells,
    oob: OobTable,
    records: BTreeMap<u32, Box<[u8]>>,
    pending_records: Vec<Option<Box<[u8]>>>,
    pool: Vec<u8>,
    masks: Vec<u64>,
    free_runs: BTreeMap<u32, Vec<u32>>,
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
            pending_records: Vec::new(),
            pool: Vec::new(),
            masks: Vec::new(),
            free_runs: BTreeMap::new(),
            mirror: None,
        }
    }

    /// Tells a mirror of every page and block that changes from now on.
    pub fn set_mirror(&mut self, mirror: Arc<dyn Mirror>) {
        self.mirror = Some(mirror);
    }

    #[inline]
    fn reflect(&self, page: u32) {
        if let Some(mirror) = &self.mirror {
            mirror.page(page, self.oob.get(page), self.cells.page(page), self.record(page));
        }
    }

    pub(crate) fn reflect_block(&self, block: BlockId, erases: u32, bad: bool) {
        if let Some(mirror) = &self.mirror {
            mirror.block(block, erases, bad);
        }
    }

    /// Puts back what a mirror was told of a page. Nothing is told of it again.
    pub fn restore_page(&mut self, page: u32, oob: Oob, cells: &[u8], record: Option<&[u8]>) {
        self.oob.set(page, oob);
        match record {
            Some(record) => {
                self.records.insert(page, record.into());
            }
            None => self.cells.page_mut(page).copy_from_slice(cells),
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

    /// All cells of a page.
    pub fn page(&self, page: u32) -> &[u8] {
        self.cells.page(page)
    }

    /// Takes a run of `pages` payload slots, all masks empty, cells unspecified.
    pub fn take_payload(&mut self, pages: u32) -> PayloadId {
        let run = pages.next_power_of_two();
        if let Some(start) = self.free_runs.get_mut(&run).and_then(Vec::pop) {
            self.masks[start as usize..(start + pages) as usize].fill(0);
            return PayloadId(start);
        }
        let start = self.masks.len() as u32;
        self.masks.resize(self.masks.len() + run as usize, 0);
        self.pool.resize(self.masks.len() * self.page_bytes(), 0);
        PayloadId(start)
    }

    /// Gives a run taken with [`Contents::take_payload`] back.
    pub fn release_payload(&mut self, payload: PayloadId, pages: u32) {
        debug_assert!(payload != PayloadId::NONE, "released a payload that was never taken");
        self.free_runs.entry(pages.next_power_of_two()).or_default().push(payload.0);
    }

    /// Says which sectors of the slot are meant.
    pub fn set_payload_mask(&mut self, payload: PayloadId, mask: u64) {
        self.masks[payload.0 as usize] = mask;
    }

    /// The sectors of the slot that are meant.
    pub fn payload_mask(&self, payload: PayloadId) -> u64 {
        self.masks[payload.0 as usize]
    }

    /// Cells of one payload slot.
    pub fn payload(&self, payload: PayloadId) -> &[u8] {
        let bytes = self.page_bytes();
        &self.pool[payload.0 as usize * bytes..][..bytes]
    }

    /// Cells of one payload slot, to be filled.
    pub fn payload_mut(&mut self, payload: PayloadId) -> &mut [u8] {
        let bytes = self.page_bytes();
        &mut self.pool[payload.0 as usize * bytes..][..bytes]
    }

    /// Stores a record until the program that carries it completes.
    pub fn take_record(&mut self, bytes: Box<[u8]>) -> RecordId {
        let slot = self.pending_records.iter().position(Option::is_none).unwrap_or_else(|| {
            self.pending_records.push(None);
            self.pending_records.len() - 1
        });
        self.pending_records[slot] = Some(bytes);
        RecordId(slot as u32)
    }

    /// Copies the sectors meant by `payload` from a page into the slot.
    pub(crate) fn read_into(&mut self, page: u32, payload: PayloadId) {
        let (cell, bytes) = (self.cell_bytes, self.page_bytes());
        let mask = self.masks[payload.0 as usize];
        let source = self.cells.page(page);
        let target = &mut self.pool[payload.0 as usize * bytes..][..bytes];
        copy_masked(source, target, mask, cell);
    }

    /// A slot of its own for what a program would have left in its page: the sectors `from` names
    /// over those of a base, which is a page or the slot of a program that failed before.
    pub(crate) fn keep(&mut self, from: PayloadId, base: Option<Result<u32, PayloadId>>) -> PayloadId {
        let kept = self.take_payload(1);
        let mut cells = match base {
            Some(Ok(page)) => self.page(page).to_vec(),
            Some(Err(slot)) => self.payload(slot).to_vec(),
            None => vec![0; self.page_bytes()],
        };
        copy_masked(self.payload(from), &mut cells, self.payload_mask(from), self.cell_bytes);
        self.payload_mut(kept).copy_from_slice(&cells);
        self.set_payload_mask(kept, u64::MAX >> (64 - self.sectors_per_page));
        kept
    }

    /// Fills in the sectors a slot does not name, as its program would have: from a base (a page, or
    /// the slot of a program that failed before) or with zeros.
    pub(crate) fn complete_payload(&mut self, payload: PayloadId, base: Option<Result<u32, PayloadId>>) {
        let whole = u64::MAX >> (64 - self.sectors_per_page);
        let missing = whole & !self.payload_mask(payload);
        let cells = match base {
            Some(Ok(page)) => self.page(page).to_vec(),
            Some(Err(slot)) => self.payload(slot).to_vec(),
            None => vec![0; self.page_bytes()],
        };
        let cell = self.cell_bytes;
        copy_masked(&cells, self.payload_mut(payload), missing, cell);
        self.set_payload_mask(payload, whole);
    }

    /// Copies the sectors meant by `to` from another slot; those `from` does not name are zero, as
    /// they will be in the page it is programmed to.
    pub(crate) fn copy_payload(&mut self, from: PayloadId, to: PayloadId) {
        let (cell, bytes) = (self.cell_bytes, self.page_bytes());
        let mask = self.masks[to.0 as usize];
        let source = self.payload(from).to_vec();
        let named = self.masks[from.0 as usize];
        let target = &mut self.pool[to.0 as usize * bytes..][..bytes];
        copy_masked(&source, target, mask & named, cell);
        copy_masked(&vec![0; bytes], target, mask & !named, cell);
    }

    /// Completes the program of a user page: cells of `base` where the payload names none.
    pub(crate) fn write_page(&mut self, page: u32, base: Option<u32>, payload: PayloadId, oob: Oob) {
        let (cell, bytes) = (self.cell_bytes, self.page_bytes());
        let mask = if payload == PayloadId::NONE { 0 } else { self.masks[payload.0 as usize] };
        let is_whole = mask.count_ones() as usize * cell == bytes;
        if !is_whole {
            match base {
                Some(base) => self.cells.copy(base, page),
                None => self.cells.page_mut(page).fill(0),
            }
        }
        if mask != 0 {
            let source = &self.pool[payload.0 as usize * bytes..][..bytes];
            copy_masked(source, self.cells.page_mut(page), mask, cell);
        }
        self.oob.set(page, oob);
        self.reflect(page);
    }

    /// Completes the program of a metadata page.
    pub(crate) fn write_record(&mut self, page: u32, record: RecordId, oob: Oob) {
        let bytes = self.pending_records[record.0 as usize].take().expect("a record is programmed once");
        self.records.insert(page, bytes);
        self.cells.page_mut(page).fill(0);
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

    pub(crate) fn erase(&mut self, first: u32, pages: u32) {
        self.oob.erase(first, pages);
        self.cells.erase(first, pages);
        let gone: Vec<u32> = self.records.range(first..first + pages).map(|(page, _)| *page).collect();
        for page in gone {
            self.records.remove(&page);
        }
    }

    /// Changes the cells of one slot by those of another, such as XOR for a parity. `from` and `into`
    /// differ.
    pub fn combine(&mut self, from: PayloadId, into: PayloadId, mut change: impl FnMut(&[u8], &mut [u8])) {
        let bytes = self.page_bytes();
        let (from, into) = (from.0 as usize * bytes, into.0 as usize * bytes);
        assert!(from != into, "a slot is combined with another one");
        if from < into {
            let (low, high) = self.pool.split_at_mut(into);
            change(&low[from..from + bytes], &mut high[..bytes]);
        } else {
            let (low, high) = self.pool.split_at_mut(from);
            change(&high[..bytes], &mut low[into..into + bytes]);
        }
    }

    /// Adds one slot to another, bit by bit.
    pub fn add(&mut self, from: PayloadId, into: PayloadId) {
        self.combine(from, into, |from, into| into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from));
    }

    /// Copies sectors from one slot to another. Masks stay as they are.
    pub fn copy_sectors(&mut self, from: PayloadId, to: PayloadId, mask: u64) {
        let bytes = self.page_bytes();
        let (from, to) = (from.0 as usize * bytes, to.0 as usize * bytes);
        let mut left = mask;
        while left != 0 {
            let at = left.trailing_zeros() as usize * self.cell_bytes;
            self.pool.copy_within(from + at..from + at + self.cell_bytes, to + at);
            left &= left - 1;
        }
    }

    /// Forgets everything that power keeps alive: records not yet on flash, and payloads but those in
    /// non-volatile memory.
    pub(crate) fn lose_volatile(&mut self, kept: &[(PayloadId, u64)]) {
        self.pending_records.clear();
        self.free_runs.clear();
        let kept: Vec<_> = kept.iter().filter(|(payload, _)| *payload != PayloadId::NONE).collect();
        if kept.is_empty() {
            self.pool.clear();
            self.masks.clear();
            return;
        }
        let is_kept = |slot: u32| kept.iter().any(|(payload, _)| payload.0 == slot);
        self.free_runs.insert(1, (0..self.masks.len() as u32).filter(|slot| !is_kept(*slot)).collect());
        for (payload, mask) in kept {
            self.masks[payload.0 as usize] = *mask;
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

fn copy_masked(source: &[u8], target: &mut [u8], mask: u64, cell: usize) {
    if mask.count_ones() as usize * cell == target.len() {
        target.copy_from_slice(source);
        return;
    }
    let mut left = mask;
    while left != 0 {
        let at = left.trailing_zeros() as usize * cell;
        target[at..at + cell].copy_from_slice(&source[at..at + cell]);
        left &= left - 1;
    }
}
