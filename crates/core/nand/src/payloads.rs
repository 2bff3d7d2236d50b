//! Payloads: pages of cells in the memory of the controller, on their way between host, layers and flash; and the
//! drive's own records on their way to a page.
//!
//! Without contents there are none: [`Payloads::take`] gives [`PayloadId::NONE`], and copying, clearing or releasing
//! that does nothing. So layers need not ask whether contents are on.

use std::collections::BTreeMap;

/// A payload: one page of cells, with a mask of the sectors meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadId(pub(crate) u32);

impl PayloadId {
    /// No payload: contents are off, or the command moves none.
    pub const NONE: PayloadId = PayloadId(u32::MAX);

    /// The payload `pages` after this one in the same run.
    #[inline]
    #[must_use]
    pub fn offset(self, pages: u32) -> PayloadId {
        if self == Self::NONE { self } else { PayloadId(self.0 + pages) }
    }
}

/// A record of the drive's own on its way to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(pub(crate) u32);

/// All payloads: see the module description.
#[derive(Clone, Debug)]
pub struct Payloads {
    sectors_per_page: usize,
    cell_bytes: usize,
    pool: Vec<u8>,
    masks: Vec<u64>,
    /// Payloads all of whose cells are zeros that nobody wrote: a page programmed with one of them has no bytes.
    blank: Vec<bool>,
    free_runs: BTreeMap<u32, Vec<u32>>,
    records: Vec<Option<Box<[u8]>>>,
}

impl Payloads {
    /// Payloads of pages with cells of `cell_bytes`; 0 where contents are off.
    pub(crate) fn new(sectors_per_page: usize, cell_bytes: usize) -> Self {
        let (pool, masks, blank, records) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { sectors_per_page, cell_bytes, pool, masks, blank, free_runs: BTreeMap::new(), records }
    }

    fn page_bytes(&self) -> usize {
        self.sectors_per_page * self.cell_bytes
    }

    fn range(&self, payload: PayloadId) -> std::ops::Range<usize> {
        let first = payload.0 as usize * self.page_bytes();
        first..first + self.page_bytes()
    }

    /// Bytes of a cell: 8 for stamps, 0 where contents are off.
    pub fn cell_bytes(&self) -> usize {
        self.cell_bytes
    }

    /// Takes `pages` payloads in a row, with the sectors of `mask` meant in each. Their cells are what was left there.
    #[inline]
    pub fn take(&mut self, pages: u32, mask: u64) -> PayloadId {
        if self.cell_bytes == 0 { PayloadId::NONE } else { self.take_run(pages, mask) }
    }

    fn take_run(&mut self, pages: u32, mask: u64) -> PayloadId {
        let run = pages.next_power_of_two();
        let start = self.free_runs.get_mut(&run).and_then(Vec::pop).unwrap_or_else(|| {
            let start = self.masks.len() as u32;
            self.masks.resize(self.masks.len() + run as usize, 0);
            self.blank.resize(self.masks.len(), false);
            self.pool.resize(self.masks.len() * self.page_bytes(), 0);
            start
        });
        self.masks[start as usize..(start + pages) as usize].fill(mask);
        self.blank[start as usize..(start + pages) as usize].fill(false);
        PayloadId(start)
    }

    /// Gives back as many payloads in a row as were taken.
    #[inline]
    pub fn release(&mut self, payload: PayloadId, pages: u32) {
        if payload != PayloadId::NONE {
            self.release_run(payload, pages);
        }
    }

    fn release_run(&mut self, first: PayloadId, pages: u32) {
        self.free_runs.entry(pages.next_power_of_two()).or_default().push(first.0);
    }

    /// Says which sectors are meant.
    #[inline]
    pub fn set_mask(&mut self, payload: PayloadId, mask: u64) {
        if payload != PayloadId::NONE {
            self.masks[payload.0 as usize] = mask;
        }
    }

    /// The sectors that are meant; none of no payload.
    #[inline]
    pub fn mask(&self, payload: PayloadId) -> u64 {
        if payload == PayloadId::NONE { 0 } else { self.masks[payload.0 as usize] }
    }

    /// All sectors of a page.
    fn whole(&self) -> u64 {
        u64::MAX >> (64 - self.sectors_per_page)
    }

    /// Whether all its cells are zeros that nobody wrote, such as a trim leaves.
    #[inline]
    pub fn is_blank(&self, payload: PayloadId) -> bool {
        payload != PayloadId::NONE && self.blank[payload.0 as usize]
    }

    /// Its cells; nothing where contents are off.
    ///
    /// # Panics
    /// If contents are on and it is none.
    pub fn cells(&self, payload: PayloadId) -> &[u8] {
        &self.pool[self.range(payload)]
    }

    /// Its cells, to be filled.
    ///
    /// # Panics
    /// As [`Payloads::cells`].
    pub fn cells_mut(&mut self, payload: PayloadId) -> &mut [u8] {
        self.blank[payload.0 as usize] = false;
        let range = self.range(payload);
        &mut self.pool[range]
    }

    /// Fills sectors with zeros. The mask stays as it is, here and below.
    #[inline]
    pub fn clear(&mut self, payload: PayloadId, mask: u64) {
        if payload != PayloadId::NONE {
            self.clear_sectors(payload, mask);
        }
    }

    fn clear_sectors(&mut self, payload: PayloadId, mask: u64) {
        let (bytes, is_blank) = (self.cell_bytes, self.is_blank(payload) || mask == self.whole());
        let cells = self.cells_mut(payload).chunks_exact_mut(bytes).enumerate();
        cells.filter(|(sector, _)| mask >> sector & 1 == 1).for_each(|(_, cell)| cell.fill(0));
        self.blank[payload.0 as usize] = is_blank;
    }

    /// Copies sectors from one payload to another.
    #[inline]
    pub fn copy(&mut self, from: PayloadId, into: PayloadId, mask: u64) {
        if from != PayloadId::NONE && into != PayloadId::NONE {
            self.copy_sectors(from, into, mask);
        }
    }

    fn copy_sectors(&mut self, from: PayloadId, into: PayloadId, mask: u64) {
        let is_whole = self.is_blank(into) || mask == self.whole();
        self.blank[into.0 as usize] = self.is_blank(from) && is_whole;
        let (from, into) = (self.range(from).start, self.range(into).start);
        let mut left = mask;
        while left != 0 {
            let at = left.trailing_zeros() as usize * self.cell_bytes;
            self.pool.copy_within(from + at..from + at + self.cell_bytes, into + at);
            left &= left - 1;
        }
    }

    /// Changes one payload by another, such as by a sum with coefficients for a parity: zeros change nothing.
    ///
    /// # Panics
    /// If they are the same.
    #[inline]
    pub fn combine(&mut self, from: PayloadId, into: PayloadId, mut change: impl FnMut(&[u8], &mut [u8])) {
        if from == PayloadId::NONE || into == PayloadId::NONE {
            return;
        }
        assert!(from != into, "a payload is combined with another one");
        self.blank[into.0 as usize] &= self.blank[from.0 as usize];
        let (from, into) = (self.range(from), self.range(into));
        if from.start < into.start {
            let (low, high) = self.pool.split_at_mut(into.start);
            change(&low[from], &mut high[..into.len()]);
        } else {
            let (low, high) = self.pool.split_at_mut(from.start);
            change(&high[..from.len()], &mut low[into]);
        }
    }

    /// Adds one payload to another, bit by bit.
    #[inline]
    pub fn add(&mut self, from: PayloadId, into: PayloadId) {
        self.combine(from, into, |from, into| into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from));
    }

    /// Keeps a record until the program that carries it completes. Nothing is made where contents are off.
    pub fn take_record(&mut self, make: impl FnOnce() -> Box<[u8]>) -> Option<RecordId> {
        if self.cell_bytes == 0 {
            return None;
        }
        let slot = self.records.iter().position(Option::is_none).unwrap_or_else(|| {
            self.records.push(None);
            self.records.len() - 1
        });
        self.records[slot] = Some(make());
        Some(RecordId(slot as u32))
    }

    /// The record that a page holds from now on.
    pub(crate) fn program_record(&mut self, record: RecordId) -> Box<[u8]> {
        self.records[record.0 as usize].take().expect("a record is programmed once")
    }

    /// Copies the sectors that `into` means from a page of flash.
    #[inline]
    pub(crate) fn read(&mut self, page: &[u8], into: PayloadId) {
        let (mask, cell) = (self.mask(into), self.cell_bytes);
        copy_masked(page, self.cells_mut(into), mask, cell);
    }

    /// Fills in the sectors that are not meant from the page the payload was to be laid over, as its program would
    /// have. All sectors are meant then.
    pub(crate) fn lay_over(&mut self, payload: PayloadId, base: &[u8]) {
        let (missing, cell) = (self.whole() & !self.mask(payload), self.cell_bytes);
        copy_masked(base, self.cells_mut(payload), missing, cell);
        self.set_mask(payload, self.whole());
    }

    /// A payload of its own for the page as its program would have left it: the sectors `from` means over the sectors
    /// of `base`.
    pub(crate) fn keep(&mut self, from: PayloadId, base: &[u8]) -> PayloadId {
        let kept = self.take(1, self.mask(from));
        self.copy(from, kept, self.mask(from));
        self.lay_over(kept, base);
        kept
    }

    /// Copies the sectors that `into` means from another payload; those `from` does not mean are zero, as they will be
    /// in the page it is programmed to.
    pub(crate) fn read_from(&mut self, from: PayloadId, into: PayloadId) {
        if from != PayloadId::NONE && into != PayloadId::NONE {
            let (wanted, given) = (self.mask(into), self.mask(from));
            self.copy(from, into, wanted & given);
            self.clear(into, wanted & !given);
        }
    }

    /// Power is gone, and records and payloads with it. Non-volatile memory keeps the payloads it names: `kept`, with
    /// the sectors held.
    pub(crate) fn lose_all_but(&mut self, kept: &[(PayloadId, u64)]) {
        self.records.clear();
        self.free_runs.clear();
        let kept: Vec<_> = kept.iter().filter(|(payload, _)| *payload != PayloadId::NONE).collect();
        if kept.is_empty() {
            self.pool.clear();
            self.masks.clear();
            self.blank.clear();
            return;
        }
        let is_kept = |slot: u32| kept.iter().any(|(payload, _)| payload.0 == slot);
        self.free_runs.insert(1, (0..self.masks.len() as u32).filter(|slot| !is_kept(*slot)).collect());
        for (payload, mask) in kept {
            self.masks[payload.0 as usize] = *mask;
        }
    }
}

pub(crate) fn copy_masked(source: &[u8], target: &mut [u8], mask: u64, cell: usize) {
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
