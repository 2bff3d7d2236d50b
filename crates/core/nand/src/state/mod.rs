//! The common ground of counted and timed flash: states of blocks and the laws of their pages, contents, counters,
//! events; and the memory of the controller beside them.
//!
//! A layer may look at all of it and write the memory. The rest is written by flash itself, and by the drive that owns
//! it: it takes events, resets counters, restores an image and lets things fail (`state_mut`, which layers cannot call
//! because they are generic over [`crate::Flash`]).
//!
//! Owners: [`Blocks`] programs, erases and uses of blocks, [`Contents`] the contents of pages, [`Ageing`] cells that
//! err, `Faults` commands that fail, [`Memory`] data that are not in cells. [`FlashState`] has the work that needs
//! several of them: the completion of a command, and the laws it keeps.

mod ageing;
mod blocks;
mod cut;
mod laws;
mod plain;

pub use ageing::{Ageing, AgeingOptions, Ages, Correction, ErrorRate, RefreshLimits, lost_share};
pub use blocks::{BlockRow, BlockUse, Blocks};
pub use cut::Running;
pub(crate) use cut::UnsettledPages;
pub use laws::LawBroken;

use crate::contents::{Contents, ContentsKind, Oob, PageKind};
use crate::fault::{FaultPlan, Faults};
use crate::flash::{Event, Owner, PageProgram, Program};
use crate::memory::Memory;
use crate::payloads::{PayloadId, Payloads};
use blocks::{BAD, FAILED, REFRESH, SKIPS, USABLE};
use serde::{Deserialize, Serialize};
use units::{BlockId, CAUSES, Cause, DIE_CAUSES, DieId, Geometry, Ppn};

/// Bytes of a version stamp.
const STAMP_BYTES: usize = 8;

/// Flash commands completed, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Page reads by cause.
    pub reads: [u64; DIE_CAUSES],
    /// Page programs by cause.
    pub programs: [u64; DIE_CAUSES],
    /// Block erases by cause.
    pub erases: [u64; DIE_CAUSES],
    /// Reads of operations taken back after one of their reads had begun.
    pub wasted_reads: u64,
    /// Reads answered from the controller because their page was still being programmed.
    pub in_flight_reads: u64,
    /// Programs that failed, of any cause.
    pub failed_programs: u64,
    /// Erases that failed, of any cause.
    pub failed_erases: u64,
    /// Reads whose data could not be corrected.
    pub failed_reads: u64,
}

impl Counters {
    /// Sum of a counter over all causes.
    pub fn total(counter: &[u64; DIE_CAUSES]) -> u64 {
        CAUSES.iter().map(|cause| counter[cause.index()]).sum()
    }
}

/// The common state of all implementations of [`crate::Flash`]: see the module description.
#[derive(Clone, Debug)]
pub struct FlashState {
    /// Shape of the array.
    pub geometry: Geometry,
    contents: Option<Box<Contents>>,
    /// Commands completed so far.
    pub counters: Counters,
    /// Events that happened and were not taken yet.
    pub events: Vec<(Owner, Event)>,
    /// Memory of the controller.
    pub memory: Memory,
    /// States of blocks, and how they are used.
    pub blocks: Blocks,
    /// Cells as they wear, age and are read.
    pub ageing: Ageing,
    /// Pages that count as programmed may be in memory that a power cut takes.
    pub(crate) forgetful: bool,
    /// Pages hold nothing, and no program or read fails or errs: neither needs a second look.
    plain: bool,
    taken_back: u64,
    hash: u64,
    faults: Faults,
    broken: Option<LawBroken>,
}

impl FlashState {
    /// Flash as it leaves the factory: all blocks erased.
    pub fn new(geometry: Geometry, contents: ContentsKind) -> Self {
        let (pages, sectors) = (geometry.pages() as usize, geometry.sectors_per_page() as usize);
        let contents = match contents {
            ContentsKind::None => None,
            ContentsKind::Stamp => Some(Contents::new(pages, pages, sectors, STAMP_BYTES)),
            ContentsKind::Bytes => {
                Some(Contents::new(pages, geometry.pages_per_block as usize, sectors, units::SECTOR_BYTES as usize))
            }
        };
        let contents = contents.map(Box::new);
        let contents_are_off = contents.is_none();
        let payloads = Payloads::new(sectors, contents.as_deref().map_or(0, Contents::cell_bytes));
        Self {
            geometry,
            contents,
            counters: Counters::default(),
            events: Vec::with_capacity(256),
            memory: Memory::new(payloads),
            blocks: Blocks::new(geometry),
            ageing: Ageing::NONE,
            forgetful: false,
            plain: contents_are_off,
            taken_back: 0,
            hash: 0,
            faults: Faults::new(FaultPlan::default(), 0),
            broken: None,
        }
    }

    /// The contents of pages; nothing where contents are off.
    #[inline]
    pub fn contents(&self) -> Option<&Contents> {
        self.contents.as_deref()
    }

    /// The contents of pages, for the drive to restore or reflect.
    pub fn contents_mut(&mut self) -> Option<&mut Contents> {
        self.contents.as_deref_mut()
    }

    /// Whether pages hold anything.
    #[inline]
    pub fn holds_contents(&self) -> bool {
        self.contents.is_some()
    }

    /// Sets which commands fail from now on.
    pub fn set_faults(&mut self, plan: FaultPlan, seed: u64) {
        self.blocks.set_endurance(plan.endurance);
        self.faults = Faults::new(plan, seed);
        self.look_again();
    }

    /// Something that decides whether commands are plain has changed.
    fn look_again(&mut self) {
        self.plain = self.contents.is_none() && !self.faults.active && !self.ageing.is_on();
    }

    /// Chances that a program fails, that an erase does, and that a page turns out uncorrectable, from now on.
    pub fn set_fault_chances(&mut self, chances: [f64; 3]) {
        self.faults.set_chances(chances);
        self.look_again();
    }

    /// Whether pages hold nothing and no program or read fails or errs: neither needs a second look.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether any command may fail, now or when blocks are worn out.
    pub(crate) fn may_fail(&self) -> bool {
        self.faults.active || self.blocks.may_wear_out()
    }

    /// Whether a layer keeps a block for one that fails: commands fail by chance or in blocks and dies that are bad, or
    /// a block has had all the erases that it survives. The next erase of that block fails, after all that is
    /// programmed into it before.
    pub fn expects_failures(&self) -> bool {
        self.blocks.any_is_worn_out() || self.faults.may_fail_unworn()
    }

    /// Lets a die die now: from here on each of its commands fails.
    pub fn kill_die(&mut self, die: DieId) {
        self.faults.kill(die);
        self.look_again();
    }

    /// Whether a die is dead.
    pub fn die_is_dead(&self, die: DieId) -> bool {
        self.faults.active && self.faults.dead(die)
    }

    /// Makes a programmed page uncorrectable: its data is gone, its out-of-band area stays. Nothing
    /// happens where contents are off or the page was not programmed.
    pub fn lose_page(&mut self, page: Ppn) {
        if let Some(contents) = self.contents.as_deref_mut() {
            contents.lose(page.0);
        }
    }

    /// As [`FlashState::lose_page`] for every page of a block.
    pub fn lose_block(&mut self, block: BlockId) {
        (0..self.geometry.pages_per_block).for_each(|page| self.lose_page(self.geometry.page_at(block, page)));
    }

    /// Whether the data of a programmed page cannot be read: it is uncorrectable, or its die is dead.
    pub(crate) fn is_unreadable(&self, page: Ppn) -> bool {
        self.block_is_dead(page)
            || self.contents().is_some_and(|contents| contents.is_lost(page.0))
            || self.is_beyond_correction(page)
    }

    /// Whether the page sits on a dead die.
    #[inline]
    pub(crate) fn block_is_dead(&self, page: Ppn) -> bool {
        self.faults.active && self.faults.dead(self.geometry.die_of(self.geometry.block_of(page)))
    }

    /// Breaks a law, to show that the crash campaign notices.
    #[cfg(debug_assertions)]
    pub fn break_law(&mut self, law: LawBroken) {
        self.broken = Some(law);
    }

    /// Whether a law is broken on purpose; constant `false` in an ordinary build.
    #[inline(always)]
    pub fn breaks(&self, law: LawBroken) -> bool {
        cfg!(debug_assertions) && self.broken == Some(law)
    }

    /// State of a block.
    #[inline]
    pub fn block(&self, block: BlockId) -> &BlockRow {
        &self.blocks.rows[block.index()]
    }

    /// Whether the program of a page has completed, so that it can be read.
    #[inline]
    pub fn is_programmed(&self, page: Ppn) -> bool {
        self.is_programmed_in(self.geometry.block_of(page), page)
    }

    /// The same of a page whose block is known.
    #[inline]
    pub(crate) fn is_programmed_in(&self, block: BlockId, page: Ppn) -> bool {
        self.geometry.page_within(block, page) < u32::from(self.block(block).done)
    }

    /// States of all blocks.
    #[inline]
    pub fn blocks(&self) -> &[BlockRow] {
        &self.blocks.rows
    }

    #[inline]
    pub(crate) fn row(&mut self, block: BlockId) -> &mut BlockRow {
        self.blocks.at(block)
    }

    /// Hash over completed commands, with their times where there is time; counted flash leaves out reads, and erases
    /// that had to wait. Two runs over the same kind of flash with the same hash did the same.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Mixes a number into the result hash.
    #[inline]
    pub fn mix(&mut self, number: u64) {
        self.hash = (self.hash.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// Forgets counters and hash (after preconditioning).
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.taken_back = 0;
        self.hash = 0;
    }

    /// Marks a block as unusable from the factory or by its owner.
    ///
    /// # Panics
    /// If commands of the block are unfinished.
    pub fn mark_bad(&mut self, block: BlockId) {
        let row = self.blocks.at(block);
        assert!(row.pins() == 0, "block {block} was marked bad with {} unfinished commands", row.pins());
        let was_free = row.is_free();
        row.flags = BAD;
        self.blocks.taken(was_free);
        self.reflect_block(block);
    }

    /// Law 11: a program goes to an erased page, in order, in a usable block.
    #[inline(always)]
    pub(crate) fn claim_page(&mut self, page: Ppn) -> BlockId {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page);
        let breaks_reuse = self.breaks(LawBroken::EarlyReuse);
        let row = self.blocks.at(block);
        assert!(
            u32::from(row.issued) == position && (row.flags & !(FAILED | USABLE) == 0 || breaks_reuse),
            "program of page {position} of block {block}: next page is {}, flags {:#x}",
            row.issued,
            row.flags,
        );
        let was_free = position == 0 && row.is_free();
        row.issued += 1;
        row.pin();
        self.blocks.taken(was_free);
        block
    }

    /// Completes the program of a page whose block has reached it.
    #[inline(always)]
    pub(crate) fn count_program(&mut self, page: Ppn, cause: Cause) {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page);
        let row = self.blocks.at(block);
        let in_order = u32::from(row.done) == position || row.flags & SKIPS != 0 && u32::from(row.done) < position;
        assert!(in_order, "page {position} of block {block} completed out of order");
        let is_first = row.done == 0;
        row.done = position as u16 + 1;
        debug_assert!(self.blocks.is_in_order(block) || self.broken.is_some(), "{:?}", self.block(block));
        if is_first && !self.plain {
            self.ageing.begin(block);
        }
        self.counters.programs[cause.index()] += 1;
    }

    /// Whether a page may read as anything but zeros: its program is under way, it was programmed with bytes, or what
    /// it holds cannot be read.
    pub fn may_hold_bytes(&self, page: Ppn) -> bool {
        let Some(contents) = self.contents() else { return true };
        !self.is_programmed(page) || contents.has_bytes(page.0) || contents.oob(page.0).kind != PageKind::Data
    }

    /// Puts into a page what its program brought.
    #[cold]
    #[inline(never)]
    pub(crate) fn store(&mut self, page: Ppn, content: PageContent) {
        if content.base_lost && self.contents.is_none() {
            self.ageing.note_lost(page);
        }
        let Some(contents) = self.contents.as_deref_mut() else { return };
        let payloads = &mut self.memory.payloads;
        let (what, base, mut oob) = (content.what, content.supersedes, content.oob);
        if cfg!(debug_assertions) && self.broken == Some(LawBroken::SequenceAtCompletion) {
            oob.sequence = self.counters.programs.iter().sum();
        }
        match what {
            Program::Data { payload, merge } => {
                let base = base.filter(|_| merge).map(|page| page.0);
                if payload == PayloadId::NONE || payloads.is_blank(payload) && base.is_none() {
                    contents.write_page(page.0, base, &[], 0, oob);
                } else {
                    contents.write_page(page.0, base, payloads.cells(payload), payloads.mask(payload), oob);
                }
            }
            Program::Copy => contents.copy_page(base.expect("a copy has a source").0, page.0),
            Program::Record(Some(record)) => contents.write_record(page.0, payloads.program_record(record), oob),
            Program::Record(None) => contents.write_page(page.0, None, &[], 0, oob),
        }
        let lost = content.base_lost || (what != Program::Copy && self.faults.active && self.faults.data_lost());
        if lost && oob.kind == PageKind::Data {
            contents.set_oob_kind(page.0, PageKind::Lost);
        }
    }

    /// The cells a program is to be laid over that does not bring all of its page.
    pub(crate) fn base_cells(&self, base: Base) -> Vec<u8> {
        match base {
            Base::Page(page) => self.contents().map_or(Vec::new(), |contents| contents.page(page.0).to_vec()),
            Base::Payload(payload) => self.memory.payloads.cells(payload).to_vec(),
            Base::Zeros => vec![0; self.geometry.sectors_per_page() as usize * self.memory.payloads.cell_bytes()],
        }
    }

    /// Completes a read; `true` when the data cannot be corrected.
    #[inline(always)]
    pub(crate) fn complete_read(&mut self, page: Ppn, cause: Cause, payload: PayloadId) -> bool {
        self.counters.reads[cause.index()] += 1;
        debug_assert!(self.may_be_read(page), "read of page {page}, which is not programmed");
        if self.plain {
            return false;
        }
        self.complete_read_carefully(page, cause, payload)
    }

    /// Whether a page may be read, as all laws have it.
    fn may_be_read(&self, page: Ppn) -> bool {
        let broken = [LawBroken::PinsOff, LawBroken::EarlyReuse, LawBroken::TrimHoldsOff];
        self.is_programmed(page) || self.block_is_dead(page) || broken.into_iter().any(|law| self.breaks(law))
    }

    #[inline(never)]
    fn complete_read_carefully(&mut self, page: Ppn, cause: Cause, payload: PayloadId) -> bool {
        if self.block_is_dead(page)
            || !cause.is_own() && self.is_beyond_correction(page)
            || self.contents().is_some_and(|contents| contents.is_lost(page.0))
        {
            self.counters.failed_reads += 1;
            return true;
        }
        if payload != PayloadId::NONE
            && let Some(contents) = self.contents.as_deref()
        {
            contents.read_into(page.0, &mut self.memory.payloads, payload);
        }
        false
    }

    /// Reads a page that is in the controller's memory; `true` when its data cannot be read.
    pub(crate) fn read_held(&mut self, page: Ppn, payload: PayloadId) -> bool {
        self.counters.in_flight_reads += 1;
        let lost = self.contents().is_some_and(|contents| contents.is_lost(page.0));
        self.counters.failed_reads += u64::from(lost);
        if !lost
            && payload != PayloadId::NONE
            && let Some(contents) = self.contents.as_deref()
        {
            contents.read_into(page.0, &mut self.memory.payloads, payload);
        }
        lost
    }

    #[inline(always)]
    pub(crate) fn program_fails(&mut self, block: BlockId) -> bool {
        if !self.faults.active {
            return false;
        }
        let fails = self.faults.program_fails(block, self.geometry.die_of(block));
        self.counters.failed_programs += u64::from(fails);
        fails
    }

    /// Completes an erase; `false` when it failed and the block is bad now.
    pub(crate) fn complete_erase(&mut self, block: BlockId, cause: Cause) -> bool {
        let die = self.geometry.die_of(block);
        let pages = self.geometry.pages_per_block;
        let wear = self.blocks.wear(block);
        let row = self.blocks.at(block);
        assert!(row.pins() == 0 || self.broken.is_some(), "block {block} erased with {} pins", row.pins());
        if row.has_failed() || self.faults.erase_fails(block, die, wear) {
            self.counters.failed_erases += 1;
            row.flags = BAD;
            self.reflect_block(block);
            return false;
        }
        self.blocks.erased(block);
        self.counters.erases[cause.index()] += 1;
        self.ageing.end(block.0 * pages..(block.0 + 1) * pages);
        if let Some(contents) = self.contents.as_deref_mut() {
            contents.erase(block.0 * pages, pages);
            self.reflect_block(block);
        }
        true
    }

    /// Pages that a block has as it is used now.
    #[inline]
    pub fn pages_of(&self, block: BlockId) -> u32 {
        self.blocks.pages_of(block)
    }

    /// Pages that one program of a block writes, as the block is used now.
    #[inline]
    pub fn program_pages(&self, block: BlockId) -> u32 {
        let bits = if self.block(block).is_slc() { self.blocks.slc_bits() } else { 1 };
        self.geometry.pages_per_program() / bits
    }

    /// Block states as numbers, for a snapshot: done, flags and erases of each block, then the
    /// state of the fault stream.
    pub fn export(&self) -> (Vec<[u32; 3]>, [u64; 4]) {
        (self.blocks.export(), self.faults.state())
    }

    /// Restores what [`FlashState::export`] gave. `false`: the number of blocks or a page count
    /// does not fit this geometry, nothing was changed.
    pub fn import(&mut self, rows: &[[u32; 3]], faults: [u64; 4]) -> bool {
        let fits = self.blocks.import(rows);
        if fits {
            self.faults.set_state(faults);
        }
        fits
    }

    /// Tells the mirror, if there is one, what a block is now.
    fn reflect_block(&self, block: BlockId) {
        if let Some(contents) = self.contents() {
            contents.reflect_block(block, self.blocks.kept(block));
        }
    }

    /// Lets cells err from now on. `page_bytes`: bytes of a physical page; `seed` decides which pages are better than
    /// others.
    pub fn let_err(&mut self, options: AgeingOptions, page_bytes: u32, seed: u64) {
        self.ageing = Ageing::new(options, &self.geometry, page_bytes, seed);
        self.look_again();
    }

    /// Raw bit error rate of a block's pages now; 0 where cells do not err.
    pub fn error_rate(&self, block: BlockId) -> f64 {
        self.ageing.error_rate(block, self.blocks.wear(block))
    }

    /// Times the read of a page must be repeated now until it can be corrected; beyond the limit, never.
    fn retries_needed(&self, page: Ppn) -> u32 {
        let block = self.geometry.block_of(page);
        let row = self.block(block);
        if row.is_slc() { 0 } else { self.ageing.retries_needed(page, block, self.blocks.wear(block), row.erases) }
    }

    /// Times the read of a page is repeated now.
    pub(crate) fn retries(&self, page: Ppn) -> u32 {
        self.retries_needed(page).min(self.ageing.most_retries())
    }

    /// Whether the user data of a page cannot be corrected any more, however often it is read.
    fn is_beyond_correction(&self, page: Ppn) -> bool {
        if !self.ageing.is_on() {
            return false;
        }
        let is_users = self.contents().is_none_or(|contents| contents.oob(page.0).kind == PageKind::Data);
        is_users && (self.ageing.has_lost(page) || self.retries_needed(page) > self.ageing.most_retries())
    }

    /// A read of a page of `owner` disturbs its block, which hears of it once if the block is to be written anew.
    #[cold]
    #[inline(never)]
    pub(crate) fn disturb(&mut self, owner: Owner, page: Ppn, retries: u32) {
        let block = self.geometry.block_of(page);
        let is_due = self.ageing.disturb(block, retries);
        let row = self.row(block);
        if is_due && !row.is_slc() && !row.is_refresh_due() {
            row.flags |= REFRESH;
            self.events.push((owner, Event::RefreshDue { block }));
        }
    }

    /// Whether a block that holds something is to be written anew by now, whether or not somebody read it.
    pub fn must_refresh(&self, block: BlockId) -> bool {
        let row = self.block(block);
        row.done > 0 && !row.is_slc() && self.ageing.is_due(block)
    }
}

/// The contents below a program that does not bring all of its page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// A page of flash.
    Page(Ppn),
    /// The payload of a program that failed and has no place yet.
    Payload(PayloadId),
    /// Nothing was there: zeros are read.
    Zeros,
}

/// The contents of a page when its program completes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageContent {
    pub what: Program,
    pub supersedes: Option<Ppn>,
    pub oob: Oob,
    /// The page it is built on could not be read.
    pub base_lost: bool,
}

impl PageContent {
    pub fn of(command: &PageProgram, base_lost: bool) -> Self {
        let PageProgram { supersedes, what, logical, sequence, .. } = *command;
        let kind = if matches!(what, Program::Record(_)) { PageKind::Metadata } else { PageKind::Data };
        Self { what, supersedes, oob: Oob { kind, logical, sequence }, base_lost }
    }
}
