//! Which superblocks are free, open, to be collected or being erased, and where the next page goes.
//!
//! *Protects*: a superblock is in one state and no other; it is erased only when nothing in it or after it is under
//! way. Only this file opens, closes, frees and gives up superblocks.

use super::grid::{Grid, Position, Superblock};
use super::unfit;
use crate::mapping::pages::Pages;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use std::collections::{BTreeSet, VecDeque};
use units::{BlockId, DieId};

/// Free superblocks left to collection: one to collect into, and one for what power cuts in the middle of that waste.
pub(super) const KEPT: usize = 2;

/// What a superblock is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free = 0,
    Open = 1,
    /// Full, or as full as it gets: it may be collected, or what is valid in it is being moved.
    Closed = 2,
    /// Being erased.
    Erasing = 3,
    /// Too few of its blocks are left for a page and its parity.
    Bad = 4,
}

const STATES: [State; 5] = [State::Free, State::Open, State::Closed, State::Erasing, State::Bad];

/// The writer that fills a superblock: pages that collection copies stay longer than pages of the host, and are kept
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Host = 0,
    Copies = 1,
}

pub(super) const STREAMS: [Stream; 2] = [Stream::Host, Stream::Copies];

impl Stream {
    /// Free superblocks that it leaves alone.
    pub fn leaves(self) -> usize {
        if self == Self::Host { KEPT } else { 0 }
    }
}

/// A superblock being filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub superblock: Superblock,
    /// Its next place.
    pub next: Position,
}

/// All superblocks of a drive.
#[derive(Debug)]
pub(super) struct Space {
    states: Vec<State>,
    /// Stripes under way, and pages to be moved, in each superblock: it is no victim until there are none.
    busy: Vec<u32>,
    /// Stripes under way that replace something in each superblock: it is not erased until there are none.
    held: Vec<u32>,
    /// Blocks of each that are being erased.
    erasing: Vec<u32>,
    /// It has a block that failed or was bad from the start.
    damaged: Vec<bool>,
    free: VecDeque<Superblock>,
    open: [Option<Open>; 2],
    /// Superblocks to be collected, or being collected, because a program in them failed.
    failing: Vec<Superblock>,
    /// Power cuts have used up what is kept for collection: it goes on without parities until a superblock is free.
    pressed: bool,
    /// The open superblock of copies is one where power cuts left gaps, which are filled without parities.
    in_gaps: bool,
    /// A superblock was erased since somebody asked.
    freed: bool,
}

impl Space {
    /// All superblocks, none of them used yet.
    pub fn new(grid: &Grid, state: &FlashState) -> Self {
        let count = grid.superblocks() as usize;
        let fails = |superblock: Superblock| {
            (0..grid.lanes())
                .map(|index| state.block(grid.block(superblock, index)))
                .any(|row| row.is_bad() || row.has_failed())
        };
        Self {
            states: vec![State::Free; count],
            busy: vec![0; count],
            held: vec![0; count],
            erasing: vec![0; count],
            damaged: grid.all().map(fails).collect(),
            free: grid.all().collect(),
            open: [None; 2],
            failing: Vec::new(),
            pressed: false,
            in_gaps: false,
            freed: false,
        }
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// The superblock that a stream fills.
    pub fn open(&self, stream: Stream) -> Option<Open> {
        self.open[stream as usize]
    }

    /// A stream goes on at `next`.
    pub fn advance(&mut self, stream: Stream, superblock: Superblock, next: Position) {
        self.open[stream as usize] = Some(Open { superblock, next });
    }

    /// Copies go on where the host was writing.
    pub fn take_over(&mut self) {
        self.open[Stream::Copies as usize] = self.open[Stream::Host as usize].take();
    }

    /// Begins to fill a free superblock. A stream leaves some of them alone. `false`: there is none to give.
    pub fn open_next(&mut self, grid: &Grid, stream: Stream) -> bool {
        if self.free.len() <= stream.leaves() {
            return false;
        }
        let Some(superblock) = self.free.pop_front() else { return false };
        debug_assert!(self.states[superblock.index()] == State::Free, "{superblock:?} is listed as free");
        self.states[superblock.index()] = State::Open;
        self.advance(stream, superblock, grid.first_of(superblock));
        true
    }

    /// Nothing more is written to the open superblock of a stream.
    pub fn close_open(&mut self, pages: &mut Pages, stream: Stream) {
        self.in_gaps &= stream != Stream::Copies;
        if let Some(Open { superblock, .. }) = self.open[stream as usize].take() {
            self.close(pages, superblock);
        }
    }

    fn close(&mut self, pages: &mut Pages, superblock: Superblock) {
        self.states[superblock.index()] = State::Closed;
        pages.close(superblock.first_block());
    }

    /// The place behind all that a superblock holds: stripes follow each other. What lost dies hold does not count, as
    /// nobody can erase it. `None`: nothing is programmed.
    fn behind(grid: &Grid, state: &FlashState, superblock: Superblock) -> Option<Position> {
        let issued = |block: BlockId| u32::from(state.block(block).issued);
        let in_use = grid.blocks(superblock).filter(|(_, block)| issued(*block) > 0);
        let used = in_use.map(|(index, block)| (issued(block) - 1) * grid.lanes() + index + 1).max()?;
        Some(Position(grid.first_of(superblock).0 + used))
    }

    /// Copies go on in the closed superblock with the most room: behind the pages it holds, or else in pages that a
    /// power cut in its erase left erased. `false`: none has more than `room`, the room of the open one.
    #[cold]
    pub fn reopen(&mut self, grid: &Grid, state: &FlashState, pages: &mut Pages, room: u32) -> bool {
        let least = room as usize;
        let room = |superblock: Superblock, from: Position| {
            let places = from.to(grid.end_of(superblock));
            places.filter(|place| grid.usable_from(state, *place, place.next()).is_some()).count()
        };
        let most = |from: &dyn Fn(Superblock) -> Position| {
            let all = self.candidates(pages).map(|superblock| (superblock, room(superblock, from(superblock))));
            all.max_by_key(|(_, room)| *room)
                .filter(|(_, room)| *room > least)
                .map(|(chosen, _)| (chosen, from(chosen)))
        };
        let behind = most(&|which| Self::behind(grid, state, which).unwrap_or_else(|| grid.end_of(which)));
        let in_gaps = behind.is_none();
        let Some((superblock, from)) = behind.or_else(|| most(&|which| grid.first_of(which))) else { return false };
        let Some(next) = grid.usable_from(state, from, grid.end_of(superblock)) else { return false };
        self.close_open(pages, Stream::Copies);
        self.states[superblock.index()] = State::Open;
        pages.withdraw(superblock.first_block());
        self.advance(Stream::Copies, superblock, next);
        self.in_gaps = in_gaps;
        true
    }

    /// A stream fills gaps between stripes, where no stripe may lie: its pages have no parity.
    pub fn fills_gaps(&self, stream: Stream) -> bool {
        self.in_gaps && stream == Stream::Copies
    }

    /// Pages of its open superblock that a stream can still program.
    pub fn rest(&self, grid: &Grid, state: &FlashState, stream: Stream) -> impl Iterator<Item = Position> {
        let open = self.open(stream);
        let places = open.map(|open| open.next.to(grid.end_of(open.superblock)));
        places.into_iter().flatten().filter(|place| grid.usable_from(state, *place, place.next()).is_some())
    }

    /// Whether a superblock has a block that failed or was bad from the start.
    pub fn is_damaged(&self, superblock: Superblock) -> bool {
        self.damaged[superblock.index()]
    }

    /// A program in a superblock failed: it is to be collected.
    pub fn note_failure(&mut self, superblock: Superblock) {
        self.damaged[superblock.index()] = true;
        if !self.failing.contains(&superblock) {
            self.failing.push(superblock);
        }
    }

    /// Superblocks to be collected, or being collected, because a program in them failed.
    pub fn failing(&self) -> &[Superblock] {
        &self.failing
    }

    /// Keeps a superblock from being erased.
    pub fn hold(&mut self, superblock: Superblock) -> Superblock {
        self.held[superblock.index()] += 1;
        superblock
    }

    pub fn release(&mut self, superblock: Superblock) {
        self.held[superblock.index()] -= 1;
    }

    /// So many stripes or pages to be moved are in a superblock: it is no victim.
    pub fn keep_busy(&mut self, superblock: Superblock, pages: u32) {
        self.busy[superblock.index()] += pages;
    }

    pub fn leave(&mut self, superblock: Superblock) {
        self.busy[superblock.index()] -= 1;
    }

    /// Superblocks that may be collected.
    pub fn candidates(&self, pages: &Pages) -> impl Iterator<Item = Superblock> {
        let all = (0..self.states.len() as u32).map(Superblock);
        all.filter(|which| pages.blocks().is_candidate(which.first_block()) && self.busy[which.index()] == 0)
    }

    /// Collection goes on without parities.
    pub fn is_pressed(&self) -> bool {
        self.pressed
    }

    /// From now on it does.
    pub fn press(&mut self) {
        self.pressed = true;
    }

    pub fn being_erased(&self) -> usize {
        self.states.iter().filter(|state| **state == State::Erasing).count()
    }

    /// Whether something under way needs what a superblock holds, or is in it.
    pub fn is_needed(&self, superblock: Superblock) -> bool {
        self.held[superblock.index()] > 0 || self.busy[superblock.index()] > 0
    }

    /// Blocks of a superblock that have to be erased before it is used again; it is being erased from now on. Where
    /// there are none it is free now.
    pub fn begin_erase(&mut self, grid: &Grid, state: &FlashState, superblock: Superblock) -> Vec<BlockId> {
        let state_before = self.states[superblock.index()];
        debug_assert!(
            state_before == State::Closed && !self.is_needed(superblock),
            "{superblock:?} is {state_before:?}"
        );
        self.states[superblock.index()] = State::Erasing;
        self.failing.retain(|failing| *failing != superblock);
        let used = grid.blocks(superblock).map(|(_, block)| block).filter(|block| {
            let row = state.block(*block);
            !row.is_bad() && (row.issued > 0 || row.done > 0)
        });
        let used: Vec<BlockId> = used.collect();
        self.erasing[superblock.index()] = used.len() as u32;
        if used.is_empty() {
            self.set_free(grid, state, superblock);
        }
        used
    }

    /// A block is erased, or given up.
    pub fn block_erased(&mut self, grid: &Grid, state: &FlashState, block: BlockId) {
        let superblock = grid.superblock_of(block);
        self.damaged[superblock.index()] |= state.block(block).is_bad();
        debug_assert!(self.states[superblock.index()] == State::Erasing, "{superblock:?} was not being erased");
        let left = &mut self.erasing[superblock.index()];
        *left -= 1;
        if *left == 0 {
            self.set_free(grid, state, superblock);
        }
    }

    /// Everything of a superblock is erased.
    fn set_free(&mut self, grid: &Grid, state: &FlashState, superblock: Superblock) {
        self.freed = true;
        let (first, end) = (grid.first_of(superblock), grid.end_of(superblock));
        if grid.live_dies() > 1 && grid.pair_from(state, first, end).is_none() {
            self.states[superblock.index()] = State::Bad;
            return;
        }
        self.states[superblock.index()] = State::Free;
        self.free.push_back(superblock);
        self.pressed = false;
    }

    /// Whether a superblock was erased since this was asked last.
    pub fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// Superblocks that hold something.
    pub fn in_use(&self) -> impl Iterator<Item = Superblock> + use<'_> {
        let is_used = |state: State| matches!(state, State::Open | State::Closed);
        (0..).map(Superblock).zip(&self.states).filter(move |(_, state)| is_used(**state)).map(|(which, _)| which)
    }

    /// Superblocks in use with pages on a die.
    pub fn with_pages_on(&self, grid: &Grid, state: &FlashState, die: DieId) -> BTreeSet<Superblock> {
        let is_there = |block: &BlockId| state.geometry.die_of(*block) == die;
        let has_pages = |superblock: &Superblock| {
            grid.all_blocks(*superblock).filter(is_there).any(|block| state.block(block).issued > 0)
        };
        self.in_use().filter(has_pages).collect()
    }

    /// After a power cut: the superblocks that are not erased are closed, except the ones with the most room, which are
    /// filled up. Pages on lost dies do not count: nobody can erase them.
    pub fn adopt(&mut self, grid: &Grid, state: &FlashState, pages: &mut Pages) {
        self.free.clear();
        let mut open = Vec::new();
        for superblock in grid.all() {
            let Some(behind) = Self::behind(grid, state, superblock) else {
                self.free.push_back(superblock);
                continue;
            };
            self.close(pages, superblock);
            let room = grid.end_of(superblock).0 - behind.0;
            if room > 0 {
                open.push((room, superblock, behind));
            }
        }
        open.sort_unstable();
        for stream in [Stream::Copies, Stream::Host] {
            let Some((_, superblock, next)) = open.pop() else { break };
            self.advance(stream, superblock, next);
            self.states[superblock.index()] = State::Open;
            pages.withdraw(superblock.first_block());
        }
    }

    /// # Errors
    /// A superblock is not what it is taken for.
    pub fn check(&self, grid: &Grid, pages: &Pages) -> Result<(), String> {
        for (superblock, state) in (0..).map(Superblock).zip(&self.states) {
            let (is_free, valid) = (self.free.contains(&superblock), grid.valid_count(pages, superblock));
            let may_be_chosen = pages.blocks().is_candidate(superblock.first_block());
            if is_free != (*state == State::Free) || is_free && valid > 0 || may_be_chosen && *state != State::Closed {
                return Err(format!("{superblock:?} is {state:?} with {valid} valid pages; listed as free: {is_free}"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        // Whoever goes on from here is not pressed: gaps are filled no further.
        let gaps = self.open(Stream::Copies).filter(|_| self.in_gaps).map(|open| open.superblock);
        let states = (0..).map(Superblock).zip(&self.states);
        let states = states.map(|(which, state)| if Some(which) == gaps { State::Closed } else { *state } as u32);
        writer.put("elastic.states", states);
        writer.put("elastic.damaged", self.damaged.iter().map(|damaged| u32::from(*damaged)));
        writer.put("elastic.free", self.free.iter().map(|superblock| superblock.0));
        let open = self.open.map(|open| open.filter(|open| Some(open.superblock) != gaps));
        let open = open.map(|open| open.map_or([u32::MAX; 2], |open| [open.superblock.0, open.next.0]));
        writer.put("elastic.open", open.as_flattened().iter().copied());
        writer.put("elastic.failing", self.failing.iter().map(|superblock| superblock.0));
    }

    /// Reads what [`Space::save`] wrote. A superblock that was being emptied may be chosen again.
    pub fn load(&mut self, pages: &mut Pages, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let (states, damaged) = (reader.get::<u32>("elastic.states")?, reader.get::<u32>("elastic.damaged")?);
        if [states.len(), damaged.len()] != [self.states.len(); 2] {
            return Err(unfit("the number of superblocks differs"));
        }
        for ((which, state), number) in (0..).map(Superblock).zip(&mut self.states).zip(states) {
            *state = *STATES.get(number as usize).ok_or_else(|| unfit("a superblock is in no known state"))?;
            if *state == State::Closed && !pages.blocks().is_candidate(which.first_block()) {
                pages.put_back(which.first_block());
            }
        }
        self.damaged = damaged.into_iter().map(|damaged| damaged != 0).collect();
        self.free = reader.get::<u32>("elastic.free")?.into_iter().map(Superblock).collect();
        let &[host, host_next, copies, copies_next] = reader.get::<u32>("elastic.open")?.as_slice() else {
            return Err(unfit("an open superblock is missing"));
        };
        self.open = [(host, host_next), (copies, copies_next)].map(|(superblock, next)| {
            (superblock != u32::MAX).then_some(Open { superblock: Superblock(superblock), next: Position(next) })
        });
        self.failing = reader.get::<u32>("elastic.failing")?.into_iter().map(Superblock).collect();
        Ok(())
    }
}
