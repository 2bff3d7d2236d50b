//! Superblocks: one erase block of every plane, filled, collected and erased together.
//!
//! A *place* is a page of a superblock: its number counts superblocks first and positions within them last.
//! Consecutive positions are on different dies, so any stripe that is short enough is spread over as many dies as
//! it has pages.

use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use std::collections::{BTreeSet, VecDeque};
use units::{BlockId, DieId, Geometry, Ppn};

/// What a superblock is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Erased.
    Free = 0,
    /// Being filled.
    Open = 1,
    /// Full, or as full as it gets.
    Closed = 2,
    /// What is valid in it is being moved.
    Collected = 3,
    /// Being erased.
    Erasing = 4,
    /// Too few of its blocks are left for a page and its parity.
    Bad = 5,
}

const STATES: [State; 6] = [State::Free, State::Open, State::Closed, State::Collected, State::Erasing, State::Bad];

/// Who fills a superblock: what collection copies stays longer than what the host writes, and is kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Host = 0,
    Copies = 1,
}

pub(super) const STREAMS: [Stream; 2] = [Stream::Host, Stream::Copies];

/// What a place holds of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing, or nothing yet.
    None = 0,
    /// A data page of the stripe that ends with the next parity.
    Data = 1,
    /// The parity of the data pages since the last one.
    Parity = 2,
}

/// All superblocks of a drive.
#[derive(Debug)]
pub(super) struct Superblocks {
    geometry: Geometry,
    /// Planes in order of positions, and the index of each plane there.
    lanes: Vec<u32>,
    index_of: Vec<u32>,
    lost: Vec<bool>,
    dies: u32,
    /// Consecutive positions that a stripe may use: they are on different dies.
    pub span: u32,
    /// Places of a superblock.
    pub places: u32,
    states: Vec<State>,
    roles: Vec<u8>,
    valid: Vec<u64>,
    counts: Vec<u32>,
    /// Stripes under way, and pages to be moved, in each superblock: it is no victim until there are none.
    pub busy: Vec<u32>,
    /// Stripes under way that replace something in each superblock: it is not erased until there are none.
    pub held: Vec<u32>,
    /// Blocks of each that are being erased.
    erasing: Vec<u32>,
    pub free: VecDeque<u32>,
    /// By stream the superblock being filled and its next place.
    pub open: [Option<(u32, u32)>; 2],
}

impl Superblocks {
    /// All superblocks, none of them used yet, for stripes of so many pages: where there are as many channels, each
    /// is on a channel of its own.
    pub(super) fn new(geometry: Geometry, chips: u32) -> Self {
        let dies = geometry.dies();
        let planes = (0..geometry.planes_per_die).flat_map(|plane| (0..dies).map(move |die| (die, plane)));
        let lanes: Vec<u32> = planes.map(|(die, plane)| die * geometry.planes_per_die + plane).collect();
        let mut index_of = vec![0; lanes.len()];
        (0..).zip(&lanes).for_each(|(index, lane)| index_of[*lane as usize] = index);
        let count = geometry.blocks_per_plane();
        let places = lanes.len() as u32 * geometry.pages_per_block;
        let pages = (count * places) as usize;
        Self {
            geometry,
            lost: vec![false; lanes.len()],
            lanes,
            index_of,
            dies,
            span: if chips <= geometry.channels { geometry.channels } else { dies },
            places,
            states: vec![State::Free; count as usize],
            roles: vec![Role::None as u8; pages],
            valid: vec![0; pages.div_ceil(64)],
            counts: vec![0; count as usize],
            busy: vec![0; count as usize],
            held: vec![0; count as usize],
            erasing: vec![0; count as usize],
            free: (0..count).collect(),
            open: [None; 2],
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.states.len() as u32
    }

    #[inline]
    pub(super) fn of(&self, place: u32) -> u32 {
        place / self.places
    }

    fn lane_index(&self, place: u32) -> u32 {
        place % self.places % self.lanes.len() as u32
    }

    /// The flash page of a place.
    #[inline]
    pub(super) fn page(&self, place: u32) -> Ppn {
        let (superblock, position) = (place / self.places, place % self.places);
        let lanes = self.lanes.len() as u32;
        let block = self.block(superblock, position % lanes);
        self.geometry.page_at(block, position / lanes)
    }

    fn block(&self, superblock: u32, index: u32) -> BlockId {
        BlockId(self.lanes[index as usize] * self.geometry.blocks_per_plane() + superblock)
    }

    /// The place of a flash page.
    #[inline]
    pub(super) fn place(&self, page: Ppn) -> u32 {
        let block = self.geometry.block_of(page);
        let index = self.index_of[self.geometry.lane_of(block) as usize];
        let superblock = block.0 % self.geometry.blocks_per_plane();
        superblock * self.places + self.geometry.page_in_block(page) * self.lanes.len() as u32 + index
    }

    /// A die answers nothing any more, or is not used yet; or it is used from now on.
    pub(super) fn set_lost(&mut self, die: DieId, is_lost: bool) {
        for (lane, lost) in self.lanes.iter().zip(&mut self.lost) {
            if lane / self.geometry.planes_per_die == die.0 {
                *lost = is_lost;
            }
        }
    }

    /// A die was lost: from now on the dies of a stripe are all that counts.
    pub(super) fn widen(&mut self) {
        self.span = self.dies;
    }

    /// Places of a superblock on dies in use.
    pub(super) fn live_places(&self) -> u32 {
        self.places / self.dies * self.live_dies()
    }

    /// Superblocks in use with pages on a die that was just lost.
    pub(super) fn hurt(&self, state: &FlashState, die: DieId) -> BTreeSet<u32> {
        let has_pages = |superblock: u32| {
            let lanes = (0..).zip(&self.lanes).filter(|(_, lane)| *lane / self.geometry.planes_per_die == die.0);
            lanes.map(|(index, _)| self.block(superblock, index)).any(|block| state.block(block).issued > 0)
        };
        self.in_use().filter(|superblock| has_pages(*superblock)).collect()
    }

    /// Superblocks in use with stripes that have a page on a lost die.
    pub(super) fn torn(&self) -> BTreeSet<u32> {
        let is_lost = |place: u32| self.is_lost(place) && self.role(place) != Role::None;
        self.in_use().filter(|superblock| (superblock * self.places..self.end_of(*superblock)).any(is_lost)).collect()
    }

    fn in_use(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..self.count())
            .filter(|superblock| matches!(self.state(*superblock), State::Open | State::Closed | State::Collected))
    }

    /// Whether the die of a place is lost.
    #[inline]
    pub(super) fn is_lost(&self, place: u32) -> bool {
        self.lost[self.lane_index(place) as usize]
    }

    /// Dies in use.
    pub(super) fn live_dies(&self) -> u32 {
        self.lost[..self.dies as usize].iter().filter(|lost| !**lost).count() as u32
    }

    /// The first place of the superblock of `from`, from there on, that can be programmed.
    pub(super) fn usable_from(&self, state: &FlashState, from: u32, end: u32) -> Option<u32> {
        (from..end).find(|place| {
            let page = self.page(*place);
            let row = state.block(self.geometry.block_of(page));
            !self.is_lost(*place)
                && !row.is_bad()
                && !row.has_failed()
                && u32::from(row.issued) <= self.geometry.page_in_block(page)
        })
    }

    /// The first place from there on that can be programmed and has another such place near enough for its parity.
    pub(super) fn pair_from(&self, state: &FlashState, from: u32, end: u32) -> Option<u32> {
        let mut first = self.usable_from(state, from, end)?;
        while let Some(second) = self.usable_from(state, first + 1, end) {
            if second - first < self.span {
                return Some(first);
            }
            first = second;
        }
        None
    }

    /// Places of a superblock that can be programmed once it is erased: those of blocks that work, if a block of
    /// another die near enough for their parities works as well.
    pub(super) fn places_left(&self, state: &FlashState, superblock: u32) -> u32 {
        let lanes = self.lanes.len() as u32;
        let works = |index: u32| {
            let row = state.block(self.block(superblock, index % lanes));
            !self.lost[(index % lanes) as usize] && !row.is_bad() && !row.has_failed()
        };
        let is_alone = self.live_dies() < 2;
        let counts = |index: &u32| {
            works(*index)
                && (is_alone
                    || (1..self.span).any(|distance| works(index + distance) || works(index + lanes - distance)))
        };
        (0..lanes).filter(counts).count() as u32 * self.geometry.pages_per_block
    }

    /// The end of a superblock, as a place.
    pub(super) fn end_of(&self, superblock: u32) -> u32 {
        (superblock + 1) * self.places
    }

    /// Begins to fill a free superblock, leaving `kept` of them. `false`: there is none to give.
    pub(super) fn open_next(&mut self, stream: Stream, kept: usize) -> bool {
        if self.free.len() <= kept {
            return false;
        }
        let Some(next) = self.free.pop_front() else { return false };
        self.states[next as usize] = State::Open;
        self.open[stream as usize] = Some((next, next * self.places));
        true
    }

    /// Nothing more is written to the open superblock of a stream.
    pub(super) fn close_open(&mut self, stream: Stream) {
        if let Some((superblock, _)) = self.open[stream as usize].take() {
            self.states[superblock as usize] = State::Closed;
        }
    }

    #[inline]
    pub(super) fn role(&self, place: u32) -> Role {
        match self.roles[place as usize] {
            1 => Role::Data,
            2 => Role::Parity,
            _ => Role::None,
        }
    }

    #[inline]
    pub(super) fn set_role(&mut self, place: u32, role: Role) {
        self.roles[place as usize] = role as u8;
    }

    /// Data pages and parity of the stripe a data page belongs to; nothing if it has no parity.
    pub(super) fn stripe_of(&self, place: u32) -> Option<(Vec<u32>, u32)> {
        if self.role(place) != Role::Data {
            return None;
        }
        let superblock = self.of(place);
        let parity = (place..self.end_of(superblock)).find(|place| self.role(*place) == Role::Parity)?;
        let first = (superblock * self.places..place).rfind(|place| self.role(*place) == Role::Parity);
        let first = first.map_or(superblock * self.places, |parity| parity + 1);
        Some(((first..parity).filter(|place| self.role(*place) == Role::Data).collect(), parity))
    }

    #[inline]
    pub(super) fn is_valid(&self, place: u32) -> bool {
        self.valid[place as usize / 64] >> (place % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn validate(&mut self, place: u32) {
        debug_assert!(!self.is_valid(place), "place {place} became valid twice");
        self.valid[place as usize / 64] |= 1 << (place % 64);
        let superblock = self.of(place);
        self.counts[superblock as usize] += 1;
    }

    #[inline]
    pub(super) fn invalidate(&mut self, place: u32) {
        debug_assert!(self.is_valid(place), "place {place} became invalid twice");
        self.valid[place as usize / 64] &= !(1 << (place % 64));
        let superblock = self.of(place);
        self.counts[superblock as usize] -= 1;
    }

    /// Valid places of a superblock.
    pub(super) fn valid_in(&self, superblock: u32) -> impl Iterator<Item = u32> + use<'_> {
        (superblock * self.places..self.end_of(superblock)).filter(|place| self.is_valid(*place))
    }

    #[inline]
    pub(super) fn valid_count(&self, superblock: u32) -> u32 {
        self.counts[superblock as usize]
    }

    pub(super) fn state(&self, superblock: u32) -> State {
        self.states[superblock as usize]
    }

    pub(super) fn set_state(&mut self, superblock: u32, state: State) {
        self.states[superblock as usize] = state;
    }

    /// Superblocks that may be collected.
    pub(super) fn candidates(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..self.count())
            .filter(|superblock| self.state(*superblock) == State::Closed && self.busy[*superblock as usize] == 0)
    }

    /// Superblocks being erased.
    pub(super) fn being_erased(&self) -> usize {
        self.states.iter().filter(|state| **state == State::Erasing).count()
    }

    /// Blocks of a superblock that have to be erased before it is used again; it is being erased from now on.
    pub(super) fn begin_erase(&mut self, state: &FlashState, superblock: u32) -> Vec<BlockId> {
        let first = (superblock * self.places) as usize;
        self.roles[first..first + self.places as usize].fill(Role::None as u8);
        self.states[superblock as usize] = State::Erasing;
        let live = (0..self.lanes.len() as u32).filter(|index| !self.lost[*index as usize]);
        let blocks = live.map(|index| self.block(superblock, index));
        let used = blocks.filter(|block| {
            let row = state.block(*block);
            !row.is_bad() && (row.issued > 0 || row.done > 0)
        });
        let used: Vec<BlockId> = used.collect();
        self.erasing[superblock as usize] = used.len() as u32;
        used
    }

    /// A block is erased, or given up. `true`: its superblock is free now.
    pub(super) fn erased(&mut self, state: &FlashState, block: BlockId) -> bool {
        let superblock = block.0 % self.geometry.blocks_per_plane();
        let left = &mut self.erasing[superblock as usize];
        *left -= 1;
        if *left > 0 {
            return false;
        }
        self.set_free(state, superblock);
        true
    }

    /// Everything of a superblock is erased.
    pub(super) fn set_free(&mut self, state: &FlashState, superblock: u32) {
        let first = superblock * self.places;
        if self.live_dies() > 1 && self.pair_from(state, first, self.end_of(superblock)).is_none() {
            self.states[superblock as usize] = State::Bad;
            return;
        }
        self.states[superblock as usize] = State::Free;
        self.free.push_back(superblock);
    }

    /// After a power cut: the superblocks that are not erased are closed, but for those with the most room, which
    /// are filled up. What lost dies hold does not count: nobody can erase it.
    pub(super) fn adopt(&mut self, state: &FlashState) {
        self.free.clear();
        let mut open = Vec::new();
        for superblock in 0..self.count() {
            let lanes = self.lanes.len() as u32;
            let done = |index: u32| u32::from(state.block(self.block(superblock, index)).done);
            let in_use = (0..lanes).filter(|index| !self.lost[*index as usize] && done(*index) > 0);
            let next = in_use.map(|index| (done(index) - 1) * lanes + index + 1).max();
            let Some(next) = next else {
                self.free.push_back(superblock);
                continue;
            };
            self.states[superblock as usize] = State::Closed;
            let room = self.places - next;
            if room > 0 {
                open.push((room, superblock, superblock * self.places + next));
            }
        }
        open.sort_unstable();
        for stream in [Stream::Copies, Stream::Host] {
            let Some((_, superblock, next)) = open.pop() else { break };
            self.open[stream as usize] = Some((superblock, next));
            self.states[superblock as usize] = State::Open;
        }
    }

    /// Places with data in them by erase block, for the report.
    pub(super) fn valid_by_block(&self) -> Vec<u16> {
        let mut counts = vec![0; self.geometry.blocks() as usize];
        for place in (0..self.count() * self.places).filter(|place| self.is_valid(*place)) {
            counts[self.geometry.block_of(self.page(place)).index()] += 1;
        }
        counts
    }

    pub(super) fn ram_bytes(&self) -> u64 {
        // A valid bit and two of the role for each page; a count and a state for each superblock.
        (self.roles.len() as u64 * 3).div_ceil(8) + u64::from(self.count()) * 5
    }

    /// # Errors
    /// Counts and marks do not agree, or a superblock is not what it is taken for.
    pub(super) fn check(&self) -> Result<u64, String> {
        let mut total = 0;
        for superblock in 0..self.count() {
            let valid = self.valid_in(superblock).count() as u32;
            if valid != self.valid_count(superblock) {
                return Err(format!(
                    "superblock {superblock} counts {} valid pages but marks {valid}",
                    self.valid_count(superblock)
                ));
            }
            let is_free = self.free.contains(&superblock);
            if is_free != (self.state(superblock) == State::Free) || is_free && valid > 0 {
                return Err(format!(
                    "superblock {superblock} is {:?} with {valid} valid pages; listed as free: {is_free}",
                    self.state(superblock)
                ));
            }
            total += u64::from(valid);
        }
        Ok(total)
    }

    pub(super) fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u64("elastic.valid", self.valid.iter().copied());
        writer.put_u32("elastic.roles", self.roles.iter().map(|role| u32::from(*role)));
        writer.put_u32("elastic.states", self.states.iter().map(|state| *state as u32));
        writer.put_u32("elastic.free", self.free.iter().copied().collect::<Vec<_>>().into_iter());
        let open =
            self.open.iter().flat_map(|open| open.map_or([u32::MAX; 2], |(superblock, next)| [superblock, next]));
        writer.put_u32("elastic.open", open.collect::<Vec<_>>().into_iter());
    }

    pub(super) fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "elastic", problem: problem.to_owned() };
        let (valid, roles) = (reader.get_u64("elastic.valid")?, reader.get_u32("elastic.roles")?);
        let states = reader.get_u32("elastic.states")?;
        if valid.len() != self.valid.len() || roles.len() != self.roles.len() || states.len() != self.states.len() {
            return Err(unfit("the number of pages differs"));
        }
        self.valid = valid;
        self.roles = roles.into_iter().map(|role| role as u8).collect();
        for (state, number) in self.states.iter_mut().zip(states) {
            *state = *STATES.get(number as usize).ok_or_else(|| unfit("a superblock is in no known state"))?;
        }
        self.free = reader.get_u32("elastic.free")?.into();
        let &[host, host_next, copies, copies_next] = reader.get_u32("elastic.open")?.as_slice() else {
            return Err(unfit("an open superblock is missing"));
        };
        self.open = [(host, host_next), (copies, copies_next)].map(|open| (open.0 != u32::MAX).then_some(open));
        for superblock in 0..self.count() {
            self.counts[superblock as usize] = self.valid_in(superblock).count() as u32;
        }
        Ok(())
    }
}
