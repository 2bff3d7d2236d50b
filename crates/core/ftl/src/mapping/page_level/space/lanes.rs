//! The lanes of a drive: their free blocks, the order in which pages are striped over them, blocks that failed.

use super::Stream;
use super::lane::{Division, Failing, FreeList, Frontier, Lane};
use super::superblocks::Superblocks;
use crate::FtlContext;
use crate::alloc::{Placement, plane_order};
use crate::mapping::page_level::cursor::Cursor;
use crate::mapping::page_level::pages::Pages;
use crate::mapping::page_level::parameters::{Settings, have_room};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{FlashState, LawBroken};
use std::ops::{Index, Range};
use units::{BlockId, DieId, Geometry, Lpn, Ppn};

/// The lanes of a drive as a snapshot has them.
pub(crate) struct SavedLanes {
    pub all: Vec<Lane>,
    pub superblocks: Option<Superblocks>,
}

impl SavedLanes {
    /// The stream of a block's superblock.
    pub fn stream_of(&self, block: BlockId) -> Option<Stream> {
        self.superblocks.as_ref().and_then(|superblocks| superblocks.stream(block.0 % self.all[0].count()))
    }
}

/// Every lane of a drive.
pub(crate) struct Lanes {
    geometry: Geometry,
    all: Vec<Lane>,
    division: Division,
    /// Lanes in striping order, and the next one's position in it.
    order: Vec<u32>,
    turn: usize,
    /// Pages that follow each other in a lane, and those that the next lane has of its run.
    run_pages: usize,
    run: usize,
    /// Free blocks are used least worn first.
    least_worn_first: bool,
    /// Blocks of one number go to one stream, where they are collected as one.
    superblocks: Option<Superblocks>,
    /// Erased blocks of each lane that the host does not get.
    pub(super) withheld: usize,
    /// Lanes without a free block.
    pub(super) empty: usize,
}

impl Index<usize> for Lanes {
    type Output = Lane;

    #[inline]
    fn index(&self, lane: usize) -> &Lane {
        &self.all[lane]
    }
}

impl Lanes {
    /// Every erased block is free. Under stripes the lanes of lost dies are lost.
    pub fn new(context: &FtlContext<'_>, state: &FlashState, settings: &Settings) -> Self {
        let geometry = context.geometry;
        let bound =
            settings.placement == Placement::Static && context.stripes.is_none_or(|stripes| stripes.may_fail == 0);
        let division = Division::new(&geometry, context.stripes, bound);
        let order =
            context.stripes.map_or_else(|| plane_order(&geometry, &settings.order), |stripes| stripes.lanes.to_vec());
        let mut all: Vec<Lane> = (0..division.lanes)
            .map(|lane| Lane::new(division.blocks, lane, state.blocks(), settings.level_dynamic))
            .collect();
        let per_die = (division.lanes / geometry.dies()) as usize;
        let lanes = (0..).map(DieId).zip(all.chunks_mut(per_die)).filter(|_| context.stripes.is_some());
        lanes.filter(|(die, _)| state.die_is_dead(*die)).for_each(|(_, lanes)| lanes.iter_mut().for_each(Lane::lose));
        let empty = all.iter().filter(|lane| lane.free.is_empty()).count();
        Self {
            geometry,
            all,
            order,
            turn: 0,
            run_pages: settings.run_pages as usize,
            run: 0,
            least_worn_first: settings.level_dynamic,
            superblocks: settings.superblocks.then(|| Superblocks::new(division.blocks)),
            division,
            withheld: 0,
            empty,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Lane> {
        self.all.iter()
    }

    #[inline]
    pub(super) fn at(&mut self, lane: usize) -> &mut Lane {
        &mut self.all[lane]
    }

    /// The cursor of a lane's collection.
    #[inline]
    pub fn cursor(&mut self, lane: usize) -> &mut Cursor {
        &mut self.all[lane].cursor
    }

    #[inline]
    pub fn of(&self, page: Ppn) -> usize {
        self.of_block(self.geometry.block_of(page))
    }

    #[inline]
    pub fn of_block(&self, block: BlockId) -> usize {
        self.division.lane_of(block)
    }

    /// Lanes of a die.
    pub fn of_die(&self, die: DieId) -> Range<usize> {
        let lanes = (self.division.lanes / self.geometry.dies()) as usize;
        die.index() * lanes..(die.index() + 1) * lanes
    }

    /// The die of a lane.
    pub fn die_of(&self, lane: usize) -> DieId {
        DieId(lane as u32 / (self.division.lanes / self.geometry.dies()))
    }

    /// The lane that a page never leaves, where pages have one.
    #[inline]
    pub fn home(&self, logical: Lpn) -> usize {
        self.order[self.division.run_of(logical) % self.order.len()] as usize
    }

    /// Lanes in striping order.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.order.iter().map(|lane| *lane as usize)
    }

    /// Lanes in striping order whose dies are there.
    pub fn living(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.in_order().filter(|lane| !self.all[*lane].dead)
    }

    /// How many lanes pages are striped over.
    #[inline]
    pub fn width(&self) -> usize {
        self.order.len()
    }

    /// The lane that [`Lanes::next`] gives next.
    #[inline]
    pub fn in_turn(&self) -> usize {
        self.order[self.turn] as usize
    }

    /// The next lane in striping order.
    #[inline]
    pub fn next(&mut self) -> usize {
        let lane = self.in_turn();
        self.run += 1;
        if self.run >= self.run_pages {
            self.pass_on();
        }
        lane
    }

    /// The run of the next lane ends, if it has begun: the lane has no room.
    pub fn end_run(&mut self) {
        if self.run > 0 {
            self.pass_on();
        }
    }

    /// The lane that is in turn takes no page: the run of the next one begins.
    #[inline(always)]
    pub fn pass_on(&mut self) {
        self.run = 0;
        self.turn += 1;
        if self.turn == self.order.len() {
            self.turn = 0;
        }
    }

    /// Pages that the lanes before the next page have taken, as if every run were full: its place in striping order.
    pub fn turn(&self) -> usize {
        self.turn * self.run_pages + self.run
    }

    /// Pages have a lane that they cannot leave, and tombstones none: a full lane gives its tombstones to others.
    #[inline]
    pub fn are_shedding(&self) -> bool {
        self.division.sheds
    }

    /// Lanes are segments, each with room for its data and a block or two.
    #[inline]
    pub fn are_segments(&self) -> bool {
        self.division.of_segments
    }

    /// A lane of another plane is collecting, or its erase is under way.
    pub fn another_collects(&self, lane: usize) -> bool {
        let per_plane = self.all.len() / self.geometry.planes() as usize;
        let mut others = self.all.iter().enumerate().filter(|(other, _)| other / per_plane != lane / per_plane);
        others.any(|(_, other)| other.is_collecting())
    }

    /// Copies or erases are under way: their end will be heard.
    pub fn are_reclaiming(&self) -> bool {
        self.all.iter().any(Lane::is_reclaiming)
    }

    /// No copy is under way, and every erase waits for something that pins its block.
    #[cold]
    pub fn all_wait_for_pins(&self, state: &FlashState) -> bool {
        let waits = |lane: &Lane| {
            let mut pending = lane.blocks().map(|block| state.block(block)).filter(|row| row.erase_pending());
            lane.erasing == 0 || pending.all(|row| row.pins() > 0)
        };
        // Mostly some lane copies, which is seen without a look at blocks.
        self.all.iter().all(|lane| lane.cursor.copies_under_way() == 0) && self.all.iter().all(waits)
    }

    /// The lane has an erased block for others than collection.
    #[inline]
    pub fn can_give(&self, lane: usize) -> bool {
        self.all[lane].free.len() > self.withheld
    }

    /// The host has no block in a lane and gets none before copies or erases that are under way there end. Nothing can
    /// be collected there until then.
    #[inline]
    pub fn is_making_room(&self, lane: usize) -> bool {
        let entry = &self.all[lane];
        let may_close = entry.host.block.is_some() || entry.copies.block.is_some() && entry.copies.is_full();
        entry.is_reclaiming() && !entry.dead && !may_close && !self.can_give(lane)
    }

    #[inline]
    pub fn any_can_give(&self) -> bool {
        self.all.iter().any(|lane| lane.free.len() > self.withheld)
    }

    /// Blocks that lanes can give away.
    pub fn spare_blocks(&self) -> usize {
        self.all.iter().map(|lane| lane.free.len().saturating_sub(self.withheld)).sum()
    }

    /// Blocks that all lanes but this one can give away.
    pub fn spare_blocks_beside(&self, lane: usize) -> usize {
        self.spare_blocks() - self.all[lane].free.len().saturating_sub(self.withheld)
    }

    /// Erased blocks of each lane that the host does not get.
    #[inline]
    pub fn withheld(&self) -> usize {
        self.withheld
    }

    /// A free block of a lane that has one, to be opened for a stream.
    #[inline]
    pub(super) fn pop(&mut self, lane: usize, stream: Stream) -> BlockId {
        let Lane { free, first, .. } = &mut self.all[lane];
        let block = match &mut self.superblocks {
            None => free.pop(),
            Some(superblocks) => superblocks.take(free, *first, stream),
        };
        self.empty += usize::from(free.is_empty());
        block.expect("room was checked before a block was opened")
    }

    /// A superblock will be collected.
    pub fn superblock_chosen(&mut self, number: u32) {
        if let Some(superblocks) = &mut self.superblocks {
            superblocks.chosen(number);
        }
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        self.all.iter().for_each(|lane| lane.save(writer));
        if let Some(superblocks) = &self.superblocks {
            superblocks.save(writer);
        }
    }

    /// Reads what [`Lanes::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let pages_per_block = self.geometry.pages_per_block;
        self.all.iter_mut().try_for_each(|lane| lane.load(reader, pages_per_block))?;
        self.superblocks.as_mut().map_or(Ok(()), |superblocks| superblocks.load(reader))
    }

    /// Reads what [`Lanes::save`] wrote of a drive whose lanes have `blocks` blocks each.
    pub fn read_of(&self, reader: &mut SnapshotReader<'_>, blocks: u32) -> Result<SavedLanes, SnapshotError> {
        let mut all: Vec<Lane> = (0..self.all.len() as u32).map(|lane| Lane::without_blocks(blocks, lane)).collect();
        all.iter_mut().try_for_each(|lane| lane.load(reader, self.geometry.pages_per_block))?;
        let mut superblocks = self.superblocks.as_ref().map(|_| Superblocks::new(blocks));
        superblocks.as_mut().map_or(Ok(()), |superblocks| superblocks.load(reader))?;
        Ok(SavedLanes { all, superblocks })
    }

    /// The lane that stands `steps` before a lane in striping order.
    pub fn before(&self, lane: usize, steps: usize) -> usize {
        let width = self.order.len();
        let at = self.order.iter().position(|other| *other as usize == lane).expect("each lane has its turn");
        self.order[(at + width - steps % width) % width] as usize
    }

    /// Takes the open blocks of a lane, and its free blocks with their erases.
    pub fn tile(&mut self, lane: usize, [host, copies]: [Frontier; 2], free: impl Iterator<Item = (BlockId, u32)>) {
        let least_worn_first = self.least_worn_first;
        let entry = &mut self.all[lane];
        (entry.host, entry.copies, entry.free) = (host, copies, FreeList::default());
        free.for_each(|(block, erases)| entry.free.push(block, erases, least_worn_first));
    }

    /// Takes the stream of each superblock.
    pub fn tile_superblocks(&mut self, streams: Vec<Option<Stream>>) {
        if let Some(own) = &mut self.superblocks {
            own.tile(streams);
        }
    }

    /// A block's erase is issued.
    pub fn erase_begins(&mut self, block: BlockId) {
        self.all[self.division.lane_of(block)].erasing += 1;
    }

    /// The erase of a block will not make it free: it was taken back, or failed.
    pub fn erase_ends(&mut self, block: BlockId) {
        self.all[self.division.lane_of(block)].erasing -= 1;
    }

    /// The erase of a block is done: it is free.
    pub fn erased(&mut self, state: &FlashState, block: BlockId) {
        self.erase_ends(block);
        if !state.breaks(LawBroken::EarlyReuse) {
            self.free(block, state.block(block).erases);
        }
    }

    /// A block is free, erased `erases` times.
    pub fn free(&mut self, block: BlockId, erases: u32) {
        let free = &mut self.all[self.division.lane_of(block)].free;
        self.empty -= usize::from(free.is_empty());
        free.push(block, erases, self.least_worn_first);
    }

    /// Blocks that each lane has to spare beyond `reserve` and what `pages` logical pages need: whether there are any.
    pub(super) fn have_more_than(&self, state: &FlashState, placement: Placement, reserve: u32, pages: u32) -> bool {
        let rooms = self.living().map(|lane| {
            let rows = self.all[lane].blocks().map(|block| state.block(block));
            let usable = rows.filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
            usable.saturating_sub(reserve) * self.geometry.pages_per_block
        });
        have_room(placement, rooms, self.order.len() as u32, pages)
    }

    /// A failed program of this block has another place now, or needs none.
    pub fn settle(&mut self, block: BlockId) {
        let failing = self.all[self.division.lane_of(block)].failing.iter_mut().find(|failing| failing.block == block);
        failing.expect("a block is not emptied before its failed programs are settled").settled += 1;
    }

    /// A block is about to be emptied.
    pub fn begin(&mut self, pages: &mut Pages, block: BlockId) {
        let failing = &mut self.all[self.division.lane_of(block)].failing;
        match failing.iter().position(|failing| failing.block == block) {
            Some(index) => {
                failing.remove(index);
            }
            None => pages.withdraw(block),
        }
    }

    /// A block not emptied may be chosen again.
    pub fn put_back(&mut self, pages: &mut Pages, state: &FlashState, block: BlockId) {
        let row = state.block(block);
        if row.has_failed() {
            let settled = u32::from(row.issued - row.done);
            self.all[self.division.lane_of(block)].failing.push(Failing { block, settled });
        } else {
            pages.put_back(block);
        }
    }

    /// Forgets what a lane of a lost die had under way or to give.
    pub fn lose(&mut self, lane: usize) {
        self.empty += usize::from(!self.all[lane].free.is_empty());
        self.all[lane].lose();
    }

    /// The lanes `to` stand in the striping order where the lanes `from` stood.
    pub fn replace(&mut self, from: &Range<usize>, to: &Range<usize>) {
        for lane in &mut self.order {
            if from.contains(&(*lane as usize)) {
                *lane = (*lane as usize - from.start + to.start) as u32;
            }
        }
    }

    /// Each lane without a free block is counted.
    ///
    /// # Errors
    /// The counts, if they differ.
    pub fn check(&self) -> Result<(), String> {
        let empty = self.all.iter().filter(|lane| lane.free.is_empty()).count();
        if empty == self.empty {
            Ok(())
        } else {
            Err(format!("{empty} lanes have no free block, but {} are counted", self.empty))
        }
    }

    /// Takes what [`Lane::load`] and the numbers of a snapshot say.
    pub fn restore(&mut self, turn: usize, withheld: usize) {
        self.turn = turn / self.run_pages % self.order.len();
        self.run = turn % self.run_pages;
        self.withheld = withheld;
        self.empty = self.all.iter().filter(|lane| lane.free.is_empty()).count();
    }
}
