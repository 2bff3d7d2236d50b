//! Programs of several pages: the controller keeps pages in memory, protected or not, until a program is full.
//!
//! Faithful to: one program for consecutive pages of a block; a page is safe, and said to be programmed, when it is in
//! that memory; reads of it are answered from there. A power cut finds it there again.
//! Where that memory is not protected, a page is said to be programmed as before, but a power cut takes it back until
//! it is in the cells; so what it supersedes stays, and flushes and records of the drive's own wait for its program.
//! The waiters of a page are known only while the flash is served. So flash that is served again (from a file, after
//! preconditioning, after a power cut) has every page that counts as programmed in its cells: a later power cut takes
//! none of them.
//! Simplified: a program moves over the channel one physical page after the other, and others may use the channel in
//! between; memory is one pool for the whole drive.
//! Protects: the order of pages in a block; no more pages in memory than there is room for, and some program under way
//! whenever others wait for room.

use super::chips::Chips;
use super::commands::{Kind, Slot, State, What, flag};
use super::schedule::{Due, Schedule};
use crate::NIL;
use crate::flash::{PageProgram, Program};
use crate::memory::Held;
use crate::state::{BlockRow, FlashState, LawBroken, UnsettledPages};
use std::collections::VecDeque;
use units::{BlockId, Geometry, Ppn};

/// Memory for pages on their way into cells.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    /// Pages of a program.
    program: u32,
    /// Pages there is room for, and those that are there.
    room: u32,
    used: u32,
    /// Programs that are full and have not ended.
    under_way: u32,
    blocks: Vec<Gathered>,
    /// Programs of pages that wait for room, in the order of their turn, and reads that may not pass them.
    waiting: VecDeque<u32>,
    /// Programs of pages that have room, and reads of pages in memory: they end one after the other, at once, but not
    /// while a layer gives commands.
    ending: VecDeque<u32>,
    /// What waits until pages are in the cells, for each page of a block that is not, in order; nothing where memory
    /// is protected.
    debts: Vec<VecDeque<Debt>>,
}

/// Operations that wait until a page is in the cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Debt {
    /// The page it supersedes, whose block is pinned; or NIL.
    pub old: u32,
    /// The epoch whose barriers wait for it.
    pub epoch: Option<u8>,
    /// The command whose end is told then; or NIL.
    pub record: u32,
}

impl Debt {
    const NONE: Debt = Debt { old: NIL, epoch: None, record: NIL };
}

/// What memory holds of a block.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    /// Pages below are in the cells.
    in_cells: u16,
    /// Pages of the program that is not full yet.
    held: u16,
    /// Pages before those whose cells have had the first of two passes.
    passed: u16,
}

impl Gather {
    /// Memory for `room` pages. Protected memory has the pages it held of blocks that were being filled; where flash
    /// was without time until now these are the pages that their last programs lack. Memory that forgets has nothing.
    pub fn new(state: &mut FlashState, room: u32, forgets: bool) -> Self {
        let program = state.geometry.pages_per_program();
        let left = std::mem::take(&mut state.memory.held);
        let slc = program / state.blocks.slc_bits();
        let of_row = |row: &BlockRow| if row.is_slc() { slc } else { program };
        let lacking = |row: &BlockRow| if row.is_bad() { 0 } else { row.done % of_row(row) as u16 };
        let has_none = forgets && !state.breaks(LawBroken::GuessesMemory);
        let of = |(block, row): (usize, &BlockRow)| {
            let of_done = || Held { unfilled: lacking(row), passed: 0 };
            // A held page without its debts would be lost although nothing waits for it.
            let found = if has_none { Held::default() } else { left.get(block).copied().unwrap_or_else(of_done) };
            let held = found.unfilled.min(row.done);
            let passed = found.passed.min(row.done - held);
            Gathered { in_cells: row.done - held - passed, held, passed }
        };
        let rows = if program > 1 { state.blocks() } else { &[] };
        let blocks: Vec<Gathered> = rows.iter().enumerate().map(of).collect();
        let used = blocks.iter().map(|block| u32::from(block.held + block.passed)).sum();
        let of_held =
            |block: &Gathered| std::iter::repeat_n(Debt::NONE, usize::from(block.held + block.passed)).collect();
        let debts: Vec<_> = if forgets { blocks.iter().map(of_held).collect() } else { Vec::new() };
        state.forgetful = !debts.is_empty();
        let (waiting, ending) = (VecDeque::new(), VecDeque::new());
        Self { program, room, used, under_way: 0, blocks, waiting, ending, debts }
    }

    /// Whether programs have several pages.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.program > 1
    }

    /// Whether a power cut takes what is not in the cells.
    #[inline]
    pub fn forgets(&self) -> bool {
        !self.debts.is_empty()
    }

    /// The pages that a power cut finds in memory.
    pub fn unsettled(&self) -> UnsettledPages {
        if !self.forgets() {
            return UnsettledPages::Kept(self.held());
        }
        let owing = (0..self.debts.len()).filter(|block| !self.debts[*block].is_empty());
        let in_cells = |block: usize| (BlockId(block as u32), u32::from(self.blocks[block].in_cells));
        UnsettledPages::Lost(owing.map(in_cells).collect())
    }

    /// Whether a page that was programmed is in memory and not in the cells.
    #[inline]
    pub fn holds(&self, geometry: &Geometry, page: Ppn) -> bool {
        geometry.page_in_block(page) >= u32::from(self.blocks[geometry.block_of(page).index()].in_cells)
    }

    /// The held pages of each block.
    pub fn held(&self) -> Vec<Held> {
        self.blocks.iter().map(|block| Held { unfilled: block.held, passed: block.passed }).collect()
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.used >= self.room
    }

    /// A page has room from now on.
    #[inline]
    pub fn take_room(&mut self) {
        debug_assert!(!self.is_full(), "{} pages have room for {}", self.used, self.room);
        self.used += 1;
    }

    /// Pages need no room any more.
    #[inline]
    pub fn free_room(&mut self, pages: u32) {
        debug_assert!(pages <= self.used, "{pages} pages give back room, and {} have any", self.used);
        self.used -= pages;
    }

    /// Whether pages wait for room.
    pub fn has_line(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Commands that find room when so many pages give theirs back.
    pub fn admitted_soon(&self, pages: u32) -> impl Iterator<Item = u32> {
        self.waiting.iter().copied().take(pages as usize)
    }

    /// The next command that waits for room, if there is any.
    pub fn next_admitted(&mut self) -> Option<u32> {
        if self.is_full() { None } else { self.waiting.pop_front() }
    }

    /// The next command that needs nothing but memory.
    pub fn next_ending(&mut self, schedule: &mut Schedule) -> Option<u32> {
        let id = self.ending.pop_front()?;
        if !self.ending.is_empty() {
            schedule.arm(Due::Memory, 0);
        }
        Some(id)
    }

    /// A program has ended, and so many pages of its block are in the cells by that.
    pub fn end_program(&mut self, block: BlockId, in_cells: Option<u16>) {
        self.under_way -= 1;
        if let Some(in_cells) = in_cells {
            self.blocks[block.index()].in_cells = in_cells;
        }
    }

    /// Forgets what is held of a block, of which so many pages are in the cells; returns how many were held.
    pub fn forget(&mut self, block: BlockId, in_cells: u16) -> u32 {
        let Gathered { held, passed, .. } =
            std::mem::replace(&mut self.blocks[block.index()], Gathered { in_cells, held: 0, passed: 0 });
        u32::from(held + passed)
    }

    /// A command that waits for room or for its end is taken back, or goes back to its owner.
    pub fn leave(&mut self, id: u32, kind: Kind) {
        let before = self.ending.len();
        self.ending.retain(|ending| *ending != id);
        let had_room = kind != Kind::Read && self.ending.len() < before;
        self.free_room(u32::from(had_room));
        self.waiting.retain(|waiting| *waiting != id);
    }

    /// Notes what waits until a page taken in at once is in the cells. `false`: that needs a command.
    pub fn owe_at_once(&mut self, chips: &mut Chips, command: &PageProgram) -> bool {
        if matches!(command.what, Program::Record(_)) {
            return false;
        }
        let geometry = chips.state.geometry;
        if let Some(old) = command.supersedes
            && !chips.state.breaks(LawBroken::PinsOff)
        {
            chips.state.row(geometry.block_of(old)).pin();
        }
        let is_awaited = command.what != Program::Copy && !chips.state.breaks(LawBroken::FlushSkipsGather);
        let epoch = is_awaited.then(|| chips.commands.barriers.issued());
        let debt = Debt { old: command.supersedes.map_or(NIL, |page| page.0), epoch, record: NIL };
        self.debts[geometry.block_of(command.page).index()].push_back(debt);
        true
    }

    /// A page taken in leaves behind what waits until it is in the cells. `true`: its command ends then as well.
    pub fn owe(&mut self, chips: &mut Chips, id: u32, slot: &Slot) -> bool {
        let block = chips.block_of(slot.page);
        // Tombstones are believed: what they trim is erased.
        let is_record = slot.what == What::Record && slot.cause == units::Cause::Metadata as u8;
        let is_awaited = slot.flags & flag::BARRIER != 0;
        let skips = is_awaited && chips.state.breaks(LawBroken::FlushSkipsGather);
        let epoch = (is_awaited && !skips).then_some(slot.epoch);
        let record = if is_record { id } else { NIL };
        self.debts[block.index()].push_back(Debt { old: slot.supersedes, epoch, record });
        if skips {
            chips.commands.lower_barriers(slot.epoch, &mut chips.state);
        }
        if is_record {
            let held = chips.commands.at(id);
            (held.state, held.supersedes) = (State::Held, NIL);
        }
        is_record
    }

    /// Whether a page in memory supersedes `page`.
    pub fn is_owed_for(&self, page: Ppn) -> bool {
        self.debts.iter().flatten().any(|debt| debt.old == page.0)
    }

    /// A program that supersedes `from` supersedes `to` instead. `false`: nothing in memory does.
    pub fn move_debt(&mut self, from: Ppn, to: Ppn) -> bool {
        let debt = self.debts.iter_mut().flatten().find(|debt| debt.old == from.0);
        debt.map(|debt| debt.old = to.0).is_some()
    }

    /// Whether a program of `block` that is not full, or pages on their way into one, keep `erase` from being erased;
    /// without `erase`, whether flushes wait for it.
    pub fn is_held_back_by(&self, chips: &Chips, block: BlockId, erase: Option<BlockId>) -> bool {
        if !self.forgets() {
            return false;
        }
        let supersedes = |old: u32| erase.is_some_and(|erase| old != NIL && chips.block_of(old) == erase);
        let held = usize::from(self.blocks[block.index()].held);
        let mut unfilled = self.debts[block.index()].iter().rev().take(held);
        if unfilled.any(|debt| debt.record != NIL || supersedes(debt.old) || erase.is_none() && debt.epoch.is_some()) {
            return true;
        }
        let row = chips.state.block(block);
        row.issued != row.done
            && chips.commands.live_ids().map(|id| chips.commands.get(id)).any(|slot| {
                let is_on_its_way = |page| slot.state != State::Held && chips.block_of(page) == block;
                let is_awaited = slot.flags & flag::BARRIER != 0 && (erase.is_none() || slot.what == What::Record);
                slot.target().is_some_and(is_on_its_way) && (is_awaited || supersedes(slot.supersedes))
            })
    }

    /// The turn of a program in its block has come. `false`: it waits for room.
    #[inline(never)]
    pub fn admit(&mut self, chips: &mut Chips, id: u32) -> bool {
        if !self.is_full() {
            chips.commands.at(id).state = State::Gathered;
            self.take_room();
            self.end_soon(chips, id);
            return true;
        }
        self.wait_in_line(chips, id);
        self.see_to_room(chips);
        false
    }

    /// A command waits until all before it have found room.
    pub fn wait_in_line(&mut self, chips: &mut Chips, id: u32) {
        let slot = chips.commands.at(id);
        slot.state = State::Gathered;
        slot.since = chips.schedule.now;
        self.waiting.push_back(id);
    }

    /// A read of a page in memory.
    #[inline(never)]
    pub fn read_soon(&mut self, chips: &mut Chips, id: u32) {
        chips.commands.at(id).state = State::Gathered;
        self.end_soon(chips, id);
    }

    fn end_soon(&mut self, chips: &mut Chips, id: u32) {
        if self.ending.is_empty() {
            chips.schedule.arm(Due::Memory, 0);
        }
        self.ending.push_back(id);
    }

    #[inline]
    pub fn see_to_room(&mut self, chips: &mut Chips) {
        if !self.waiting.is_empty() && self.under_way == 0 && self.ending.is_empty() {
            self.make_room(chips);
        }
    }

    /// Programs what is held of the block with the most, full or not: nothing else would free memory.
    #[cold]
    fn make_room(&mut self, chips: &mut Chips) {
        let held = |block: &BlockId| self.blocks[block.index()].held;
        let blocks = (0..chips.state.geometry.blocks()).map(BlockId);
        // What is being erased frees memory by itself.
        let kept = blocks.filter(|block| held(block) > 0 && !chips.state.block(*block).erase_pending());
        let Some(block) = kept.max_by_key(held) else { return self.make_room_of_passed(chips) };
        let done = u32::from(chips.state.block(block).done);
        self.program_held(chips, block, done, [units::Cause::Padding as u8; 2]);
    }

    /// The same where all that is held waits for the next program of its block.
    #[cold]
    fn make_room_of_passed(&mut self, chips: &mut Chips) {
        let passed = |block: &BlockId| self.blocks[block.index()].passed;
        let blocks = (0..chips.state.geometry.blocks()).map(BlockId);
        let kept = blocks.filter(|block| passed(block) > 0 && !chips.state.block(*block).erase_pending());
        if let Some(block) = kept.max_by_key(passed) {
            let done = u32::from(chips.state.block(block).done);
            self.pass_again(chips, block, done, [units::Cause::Padding as u8; 2]);
        }
    }

    /// A page of a block that had `before` pages is in memory, and counts as programmed.
    #[inline]
    pub fn take_in(&mut self, chips: &mut Chips, page: Ppn, before: u32, causes: [u8; 2]) {
        let (block, position) = (chips.state.geometry.block_of(page), chips.state.geometry.page_in_block(page));
        let program = chips.state.program_pages(block);
        // Pages passed over end the program in which they begin.
        if before / program != position / program && self.blocks[block.index()].held > 0 {
            self.program_held(chips, block, before, causes);
        }
        self.blocks[block.index()].held += 1;
        if (position + 1).is_multiple_of(program) {
            self.program_held(chips, block, position + 1, causes);
        }
    }

    /// Sends what is held of a block, which has `end` pages by now, to its die.
    fn program_held(&mut self, chips: &mut Chips, block: BlockId, end: u32, [cause, root]: [u8; 2]) {
        let held = std::mem::take(&mut self.blocks[block.index()].held);
        if chips.times.part.first_pass_ns.is_none() || chips.state.block(block).is_slc() {
            self.send(chips, block, end, u32::from(held), false, [cause, root]);
            return;
        }
        // The cells of a word line are programmed to their end when those of the next one have had their first pass, as
        // that disturbs them.
        self.send(chips, block, end, 0, true, [cause, root]);
        self.pass_again(chips, block, end - u32::from(held), [cause, root]);
        self.blocks[block.index()].passed = held;
        if end == chips.state.pages_of(block) {
            self.pass_again(chips, block, end, [cause, root]);
        }
    }

    /// Programs the cells of a block that have had their first pass, up to page `end`, to their end.
    fn pass_again(&mut self, chips: &mut Chips, block: BlockId, end: u32, causes: [u8; 2]) {
        let passed = std::mem::take(&mut self.blocks[block.index()].passed);
        if passed > 0 {
            self.send(chips, block, end, u32::from(passed), false, causes);
        }
    }

    /// Sends a program to its die that ends at page `end` and frees the memory of `pages`. `first`: it is the first of
    /// two passes.
    fn send(&mut self, chips: &mut Chips, block: BlockId, end: u32, pages: u32, first: bool, [cause, root]: [u8; 2]) {
        self.under_way += 1;
        chips.state.row(block).pin();
        let page = chips.state.geometry.page_at(block, end - 1).0;
        let (kind, sectors) = (Kind::Gathered, u8::from(first));
        let slot = Slot { page, kind, logical: pages, sectors, cause, root, ..Slot::FREE };
        let id = chips.insert(slot, None);
        chips.enqueue(id.slot);
    }

    /// Programs what is held of a block that takes no more pages, to its end.
    pub fn program_rest(&mut self, chips: &mut Chips, block: BlockId, causes: [u8; 2]) {
        let done = u32::from(chips.state.block(block).done);
        if self.blocks[block.index()].held > 0 {
            self.program_held(chips, block, done, causes);
        }
        self.pass_again(chips, block, done, causes);
    }

    /// The next operation that waits for pages of a block that are not in the cells.
    pub fn next_debt(&mut self, block: BlockId) -> Option<Debt> {
        self.debts.get_mut(block.index())?.pop_front()
    }
}
