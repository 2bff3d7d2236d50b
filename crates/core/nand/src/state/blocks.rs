//! Blocks: the programs and erases of each, the commands that need it, and how it is used.
//!
//! Protects: programs of a block go to its pages in order; pages are programmed to completion after they were issued,
//! and never more of them than the block has as it is used.

use super::FlashState;
use crate::NIL;
use crate::contents::KeptBlock;
use units::{BlockId, Geometry, Ppn};

/// State of one block. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Pages programmed to completion; those below can be read.
    pub done: u16,
    /// Pages for which a program was issued.
    pub issued: u16,
    /// Pages whose program has entered the queue of its die.
    pub(crate) entered: u16,
    pub(crate) flags: u16,
    /// Unfinished commands in the block, programs that supersede one of its pages, and holds.
    pins: u32,
    /// Commands of this block that cannot enter the die queue yet (intrusive list).
    pub(crate) parked: u32,
    /// The erase that waits for `pins` to reach zero.
    pub(crate) waiting_erase: u32,
    /// Erases completed since the drive was made.
    pub erases: u32,
}

/// Blocks up to which a count of free blocks is checked where debug assertions are on.
const CHECKED: usize = 1 << 16;
const ERASE_PENDING: u16 = 1;
pub(super) const FAILED: u16 = 2;
pub(super) const BAD: u16 = 4;
/// Pages of the block were passed over: its programs are in order, but not without gaps.
pub(super) const SKIPS: u16 = 8;
/// The block is programmed with one bit a cell.
pub(super) const SLC: u16 = 16;
/// The pages of the block are to be written anew.
pub(super) const REFRESH: u16 = 32;
/// States that do not keep a block from being programmed.
pub(super) const USABLE: u16 = SKIPS | SLC | REFRESH;

impl BlockRow {
    pub(super) const NEW: BlockRow =
        BlockRow { done: 0, issued: 0, entered: 0, flags: 0, pins: 0, parked: NIL, waiting_erase: NIL, erases: 0 };

    /// A block that nobody needs and nothing is under way in.
    pub(super) fn at_rest(done: u16, flags: u16, erases: u32) -> Self {
        Self { done, issued: done, entered: done, flags, erases, ..Self::NEW }
    }

    /// Unfinished commands in the block, programs that supersede one of its pages, and holds. The block is not erased
    /// before there are none.
    #[inline]
    pub fn pins(&self) -> u32 {
        self.pins
    }

    /// Somebody needs the block: it must not be erased before [`BlockRow::unpin`].
    #[inline]
    pub(crate) fn pin(&mut self) {
        self.pins += 1;
    }

    /// Takes a pin away. `true`: it was the last one.
    #[inline]
    pub(crate) fn unpin(&mut self) -> bool {
        debug_assert!(self.pins > 0, "the block has no pin to take away");
        self.pins -= 1;
        self.pins == 0
    }

    /// The block must not be used again.
    #[inline]
    pub fn is_bad(&self) -> bool {
        self.flags & BAD != 0
    }

    /// A program of the block failed: its pages can be read, nothing more can be programmed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.flags & FAILED != 0
    }

    /// An erase was issued and has not completed.
    #[inline]
    pub fn erase_pending(&self) -> bool {
        self.flags & ERASE_PENDING != 0
    }

    /// The block is erased, and can be programmed from its first page on.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.issued == 0 && !self.is_bad() && !self.has_failed() && !self.erase_pending()
    }

    /// The block is programmed with one bit a cell: it has fewer pages, which take their own times.
    #[inline]
    pub fn is_slc(&self) -> bool {
        self.flags & SLC != 0
    }

    /// The block was found to need writing anew since its erase.
    #[inline]
    pub fn is_refresh_due(&self) -> bool {
        self.flags & REFRESH != 0
    }

    /// Pages of the block were passed over.
    #[inline]
    pub(crate) fn has_gaps(&self) -> bool {
        self.flags & SKIPS != 0
    }

    pub(crate) fn set_failed(&mut self) {
        self.flags |= FAILED;
    }
}

/// Blocks that may be programmed with one bit a cell: fewer pages, and an endurance of their own.
#[derive(Clone, Debug)]
struct SlcMode {
    /// Bits that a cell holds otherwise.
    bits: u32,
    /// Erases that a block survives with one bit a cell; 0: it never wears out.
    endurance: u32,
    /// Erases of each block after it was used so.
    erases: Vec<u32>,
}

/// All blocks: see the module description.
#[derive(Clone, Debug)]
pub struct Blocks {
    geometry: Geometry,
    pub(super) rows: Vec<BlockRow>,
    /// Rows that are free.
    free: u32,
    /// Pages passed over that programs still on their way to the die have yet to reach: the block, the
    /// first such page and the page behind the last.
    pub(super) skips: Vec<(BlockId, u16, u16)>,
    slc: Option<Box<SlcMode>>,
    /// Erases that a block survives; 0: it never wears out.
    endurance: u32,
    /// A block has had all of them.
    worn_out: bool,
}

impl Blocks {
    /// Erased blocks that were never used.
    pub(super) fn new(geometry: Geometry) -> Self {
        let rows = units::table(geometry.blocks() as usize, BlockRow::NEW);
        Self { geometry, rows, free: geometry.blocks(), skips: Vec::new(), slc: None, endurance: 0, worn_out: false }
    }

    #[inline]
    pub(super) fn at(&mut self, block: BlockId) -> &mut BlockRow {
        &mut self.rows[block.index()]
    }

    /// How many blocks are erased and can be programmed.
    pub fn free(&self) -> u32 {
        debug_assert!(self.rows.len() > CHECKED || self.free == self.counted_free(), "free blocks are counted right");
        self.free
    }

    fn counted_free(&self) -> u32 {
        self.rows.iter().filter(|row| row.is_free()).count() as u32
    }

    /// Rows were changed in other ways than by commands.
    pub(super) fn count_free(&mut self) {
        self.free = self.counted_free();
    }

    /// A block is no longer free, if it `was` before a change.
    #[inline(always)]
    pub(super) fn taken(&mut self, was: bool) {
        self.free -= u32::from(was);
    }

    /// The erase of a block is issued.
    ///
    /// # Panics
    /// If an earlier one is pending.
    pub(crate) fn begin_erase(&mut self, block: BlockId) -> &mut BlockRow {
        let row = &mut self.rows[block.index()];
        assert!(!row.erase_pending(), "second erase of block {block} while the first is pending");
        self.free -= u32::from(row.is_free());
        row.flags |= ERASE_PENDING;
        row
    }

    /// The erase of a block will not be done.
    pub(crate) fn withdraw_erase(&mut self, block: BlockId) -> &mut BlockRow {
        let row = &mut self.rows[block.index()];
        row.flags &= !ERASE_PENDING;
        self.free += u32::from(row.is_free());
        row
    }

    /// Pages that a block has as it is used now.
    #[inline]
    pub(super) fn pages_of(&self, block: BlockId) -> u32 {
        match &self.slc {
            Some(slc) if self.rows[block.index()].is_slc() => self.geometry.pages_per_block / slc.bits,
            _ => self.geometry.pages_per_block,
        }
    }

    /// Whether a block keeps the laws of its pages.
    pub(super) fn is_in_order(&self, block: BlockId) -> bool {
        let row = &self.rows[block.index()];
        row.done <= row.issued && u32::from(row.issued) <= self.pages_of(block)
    }

    /// Lets blocks be programmed with one bit a cell, where a cell holds `bits` otherwise. `endurance`: erases that a
    /// block survives when it is used so; 0: it never wears out.
    ///
    /// # Panics
    /// If the pages of a block are no whole number of word lines.
    pub fn allow_slc(&mut self, bits: u32, endurance: u32) {
        assert!(self.geometry.pages_per_block.is_multiple_of(bits), "a block has whole word lines");
        self.slc = Some(Box::new(SlcMode { bits, endurance, erases: vec![0; self.rows.len()] }));
    }

    /// Bits of a cell that count as one where a block is used with one bit a cell.
    pub(crate) fn slc_bits(&self) -> u32 {
        self.slc.as_deref().map_or(1, |slc| slc.bits)
    }

    /// Whether nothing but pages passed over lies between the last program that entered the queue of its die
    /// and this one. The turn of its block is at this one then.
    #[cold]
    pub(crate) fn pass_gap(&mut self, block: BlockId, position: u16) -> bool {
        let next = self.rows[block.index()].entered;
        let Some(at) = self.skips.iter().position(|skip| *skip == (block, next, position)) else { return false };
        self.skips.swap_remove(at);
        self.rows[block.index()].entered = position;
        true
    }

    /// An erase of a block has completed.
    pub(super) fn erased(&mut self, block: BlockId) {
        let row = &mut self.rows[block.index()];
        let was_slc = row.is_slc();
        row.flags &= !(USABLE | ERASE_PENDING);
        self.free += 1;
        (row.done, row.issued, row.entered) = (0, 0, 0);
        row.erases += 1;
        if let Some(slc) = self.slc.as_deref_mut().filter(|_| was_slc) {
            slc.erases[block.index()] += 1;
        }
        self.worn_out |= self.is_worn_out(block);
    }

    /// A block survives so many erases from now on; 0: any number.
    pub(super) fn set_endurance(&mut self, erases: u32) {
        self.endurance = erases;
        self.look_for_worn_out();
    }

    /// Whether blocks survive a limited number of erases.
    pub(super) fn may_wear_out(&self) -> bool {
        self.endurance > 0
    }

    /// Whether a block has had all the erases that it survives: the next one fails.
    pub fn is_worn_out(&self, block: BlockId) -> bool {
        self.endurance > 0 && self.wear(block) >= self.endurance
    }

    /// Whether any block has had all the erases that it survives.
    pub(super) fn any_is_worn_out(&self) -> bool {
        self.worn_out
    }

    fn look_for_worn_out(&mut self) {
        self.worn_out = (0..self.rows.len() as u32).any(|block| self.is_worn_out(BlockId(block)));
    }

    /// All blocks were erased so many times before.
    pub fn wear_all(&mut self, erases: u32) {
        self.rows.iter_mut().for_each(|row| row.erases = erases);
        self.look_for_worn_out();
    }

    /// Erases of a block that wear it as much as all it had, including the ones with one bit a cell.
    pub(super) fn wear(&self, block: BlockId) -> u32 {
        let all = self.rows[block.index()].erases;
        let Some(slc) = self.slc.as_deref() else { return all };
        let gentle = slc.erases[block.index()];
        let counts_as = match slc.endurance {
            0 => 0,
            endurance => (u64::from(gentle) * u64::from(self.endurance) / u64::from(endurance)) as u32,
        };
        all - gentle + counts_as
    }

    /// Erases of each block after it was used with one bit a cell; empty where none can be.
    pub fn slc_erases(&self) -> &[u32] {
        self.slc.as_deref().map_or(&[], |slc| &slc.erases)
    }

    /// Takes back [`Blocks::slc_erases`]. `false`: it is of another number of blocks.
    pub fn import_slc_erases(&mut self, erases: Vec<u32>) -> bool {
        match self.slc.as_deref_mut() {
            Some(slc) if slc.erases.len() == erases.len() => slc.erases = erases,
            _ => return erases.is_empty(),
        }
        self.look_for_worn_out();
        true
    }

    /// The record of a block beside its pages.
    pub fn kept(&self, block: BlockId) -> KeptBlock {
        let row = &self.rows[block.index()];
        let slc_erases = self.slc_erases().get(block.index()).copied().unwrap_or(0);
        KeptBlock { erases: row.erases, slc_erases, is_slc: row.is_slc(), is_bad: row.is_bad() }
    }

    /// Puts back what a mirror was told of a block whose pages are restored: how many pages from its first were
    /// programmed, some passed over or not. Commands and waits of the earlier drive are forgotten.
    ///
    /// # Panics
    /// If a block has fewer pages.
    pub fn restore(&mut self, block: BlockId, done: u32, gaps: bool, kept: KeptBlock) {
        let pages = self.geometry.pages_per_block;
        assert!(done <= pages, "a block has {pages} pages, not {done}");
        let KeptBlock { erases, slc_erases, is_slc, is_bad } = kept;
        let done = done as u16;
        let flag = |flag, on| if on { flag } else { 0 };
        // How an erased block was to be used is in nobody's memory any more.
        let flags = flag(BAD, is_bad) | flag(SKIPS, gaps) | flag(SLC, is_slc && done > 0);
        let row = &mut self.rows[block.index()];
        self.free -= u32::from(row.is_free());
        *row = BlockRow::at_rest(done, flags, erases);
        self.free += u32::from(row.is_free());
        if let Some(slc) = self.slc.as_deref_mut() {
            slc.erases[block.index()] = slc_erases;
        }
        self.worn_out |= self.is_worn_out(block);
    }

    /// Done, flags and erases of each block, for a snapshot.
    pub(super) fn export(&self) -> Vec<[u32; 3]> {
        let row = |row: &BlockRow| [u32::from(row.done), u32::from(row.flags & !SKIPS), row.erases];
        self.rows.iter().map(row).collect()
    }

    /// Takes back what [`Blocks::export`] gave. `false`: the number of blocks or a page count does not fit this
    /// geometry, nothing was changed.
    pub(super) fn import(&mut self, rows: &[[u32; 3]]) -> bool {
        let fits = |row: &[u32; 3]| {
            row[0] <= self.geometry.pages_per_block && row[1] & !u32::from(BAD | FAILED | SLC | REFRESH) == 0
        };
        if rows.len() != self.rows.len() || !rows.iter().all(fits) {
            return false;
        }
        for (row, &[done, flags, erases]) in self.rows.iter_mut().zip(rows) {
            *row = BlockRow::at_rest(done as u16, flags as u16, erases);
        }
        self.count_free();
        self.look_for_worn_out();
        true
    }
}

/// The uses that a layer may give its blocks without a command: see [`crate::Flash::blocks_mut`].
pub struct BlockUse<'a>(pub(crate) &'a mut FlashState);

impl BlockUse<'_> {
    /// Keeps a block from being erased until [`crate::Flash::release`].
    #[inline]
    pub fn hold(self, block: BlockId) {
        self.0.row(block).pin();
    }

    /// The erased block is programmed with one bit a cell until it is erased again: it has fewer pages, at their own
    /// times ([`FlashState::pages_of`]).
    ///
    /// # Panics
    /// If the block is not erased, or cells always hold as much.
    pub fn use_slc(self, block: BlockId) {
        let is_allowed = self.0.blocks.slc.is_some();
        let row = self.0.row(block);
        assert!(is_allowed && row.issued == 0 && row.flags == 0, "block {block} cannot be used so now");
        row.flags |= SLC;
        self.0.reflect_block(block);
    }

    /// Passes over the erased pages of a block below `page`, which is programmed next: they stay erased until the block
    /// is, and are never read. An owner whose pages have places of their own within a block leaves gaps. Nobody else
    /// may: all others program the pages of a block one after the other.
    ///
    /// # Panics
    /// If a program was issued for the page, or for one behind it.
    pub fn skip_to(self, page: Ppn) {
        let Blocks { geometry, rows, free, skips, .. } = &mut self.0.blocks;
        let (block, position) = (geometry.block_of(page), geometry.page_in_block(page) as u16);
        let row = &mut rows[block.index()];
        assert!(row.issued <= position, "page {position} of block {block} is not beyond its next, {}", row.issued);
        let was_free = row.is_free();
        let from = std::mem::replace(&mut row.issued, position);
        if from == position {
            return;
        }
        *free -= u32::from(was_free);
        row.flags |= SKIPS;
        // Programs before the gap may still be on their way to the die.
        if row.entered == from || row.done == from {
            row.entered = position;
        } else if let Some(last) = skips.iter_mut().find(|skip| skip.0 == block && skip.2 == from) {
            last.2 = position;
        } else {
            skips.push((block, from, position));
        }
    }
}
