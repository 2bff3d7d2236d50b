//! The parts of a lane: open blocks, free blocks, blocks that failed.

use crate::mapping::Stripes;
use crate::mapping::common::UNMAPPED;
use crate::mapping::page_level::cursor::Cursor;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::BlockRow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{BlockId, Geometry, Lpn, Ppn, Reciprocal};

/// The open block of a stream of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub block: Option<BlockId>,
    next: u32,
    end: u32,
}

impl Frontier {
    pub const NONE: Frontier = Frontier { block: None, next: 0, end: 0 };

    /// A block of which `size` pages are used.
    pub fn open(geometry: &Geometry, block: BlockId, size: u32) -> Self {
        let next = geometry.page_at(block, 0).0;
        Self { block: Some(block), next, end: next + size }
    }

    /// A block with `done` pages programmed, to be filled up.
    pub fn reopen(geometry: &Geometry, block: BlockId, done: u32, size: u32) -> Self {
        let mut frontier = Self::open(geometry, block, size);
        frontier.next += done;
        frontier
    }

    /// The same, of a block of another drive with equally long blocks.
    pub fn on(&self, geometry: &Geometry, block: BlockId) -> Self {
        let own = self.block.map_or(self.end, |block| geometry.page_at(block, 0).0);
        let there = geometry.page_at(block, 0).0;
        Self { block: Some(block), next: there + (self.next - own), end: there + (self.end - own) }
    }

    /// Three numbers that stand for it in a snapshot.
    pub fn numbers(&self) -> [u32; 3] {
        [self.block.map_or(UNMAPPED, |block| block.0), self.next, self.end]
    }

    pub fn from_numbers([block, next, end]: [u32; 3]) -> Self {
        Self { block: (block != UNMAPPED).then_some(BlockId(block)), next, end }
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.next == self.end
    }

    pub fn room(&self) -> u32 {
        self.end - self.next
    }

    /// The page that [`Frontier::take`] gives next, if the frontier is not full.
    #[inline]
    pub fn next(&self) -> Ppn {
        Ppn(self.next)
    }

    /// As [`Frontier::take`] for so many pages, for which the frontier must have room.
    pub fn take_run(&mut self, count: u32) {
        debug_assert!(count <= self.room(), "a frontier has no room for {count} pages");
        self.next += count;
    }

    /// The next page; the frontier must not be full.
    #[inline(always)]
    pub fn take(&mut self) -> Ppn {
        debug_assert!(!self.is_full(), "a full frontier has no next page");
        self.next += 1;
        Ppn(self.next - 1)
    }
}

/// Free blocks of a lane, least worn first, or first erased first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeList {
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    entered: u32,
}

impl FreeList {
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub fn push(&mut self, block: BlockId, erases: u32, least_worn_first: bool) {
        let key = if least_worn_first { erases } else { self.entered };
        self.entered += 1;
        self.heap.push(Reverse((key, block.0)));
    }

    pub fn pop(&mut self) -> Option<BlockId> {
        self.heap.pop().map(|Reverse((_, block))| BlockId(block))
    }

    /// The first of those of the lowest rank; the first of all is taken unseen if its rank is 0.
    pub fn take(&mut self, rank: impl Fn(BlockId) -> u8) -> Option<BlockId> {
        let ranked = |Reverse((key, block)): &Reverse<(u32, u32)>| (rank(BlockId(*block)), *key, *block);
        if self.heap.peek().is_none_or(|first| ranked(first).0 == 0) {
            return self.pop();
        }
        let (_, _, best) = self.heap.iter().map(ranked).min()?;
        self.heap.retain(|Reverse((_, block))| *block != best);
        Some(BlockId(best))
    }

    /// Key and number of each, in order.
    fn numbers(&self) -> Vec<u32> {
        let mut blocks: Vec<_> = self.heap.iter().map(|Reverse(entry)| *entry).collect();
        blocks.sort_unstable();
        blocks.into_iter().flat_map(|(key, block)| [key, block]).collect()
    }
}

/// A block in which a program failed. It is emptied once all its unfinished programs have come back
/// and found another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failing {
    pub block: BlockId,
    /// Programs placed elsewhere or given up.
    pub settled: u32,
}

/// One lane: its free blocks, its open blocks, and the cursor of its collection.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(super) first: BlockId,
    pub(super) count: u32,
    pub(super) free: FreeList,
    /// Blocks whose erase was issued and has not completed.
    pub(super) erasing: u32,
    pub(super) host: Frontier,
    pub(super) copies: Frontier,
    pub cursor: Cursor,
    /// Blocks with a failed program, to be emptied and given up.
    pub(super) failing: Vec<Failing>,
    /// Translation pages that the collection was admitted with and has not programmed.
    pub(super) promised: u32,
    /// Its die answers nothing any more.
    pub(super) dead: bool,
}

impl Lane {
    /// Lane number `lane` of those with `count` blocks. Its erased blocks are free; in what order they were erased is
    /// not known.
    pub fn new(count: u32, lane: u32, rows: &[BlockRow], least_worn_first: bool) -> Self {
        let mut empty = Self::without_blocks(count, lane);
        for block in empty.blocks() {
            let row = &rows[block.index()];
            if !row.is_bad() && row.done == 0 {
                empty.free.push(block, row.erases, least_worn_first);
            }
        }
        empty
    }

    /// The same without a free block.
    pub fn without_blocks(count: u32, lane: u32) -> Self {
        Self {
            first: BlockId(lane * count),
            count,
            free: FreeList::default(),
            erasing: 0,
            host: Frontier::NONE,
            copies: Frontier::NONE,
            cursor: Cursor::default(),
            failing: Vec::new(),
            promised: 0,
            dead: false,
        }
    }

    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + Clone + use<> {
        (self.first.0..self.first.0 + self.count).map(BlockId)
    }

    pub fn first(&self) -> BlockId {
        self.first
    }

    /// How many blocks it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Blocks whose erase is under way.
    #[inline]
    pub fn erasing(&self) -> u32 {
        self.erasing
    }

    /// Its die answers nothing any more.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// The host's open block is full, or there is none.
    #[inline]
    pub fn host_is_full(&self) -> bool {
        self.host.is_full()
    }

    /// Blocks with a failed program.
    pub fn failing(&self) -> &[Failing] {
        &self.failing
    }

    /// Copies or erases are under way: their end will be heard.
    #[inline]
    pub fn is_reclaiming(&self) -> bool {
        self.erasing > 0 || self.cursor.copies_under_way() > 0
    }

    /// A collection, a copy or an erase is under way.
    pub fn is_collecting(&self) -> bool {
        self.is_reclaiming() || self.cursor.victim().is_some()
    }

    /// Nothing more is programmed or collected here.
    pub fn lose(&mut self) {
        self.dead = true;
        self.free = FreeList::default();
        self.host = Frontier::NONE;
        self.copies = Frontier::NONE;
        self.cursor.lose();
        self.failing.clear();
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let open = [self.host.numbers(), self.copies.numbers()];
        let state: Vec<u32> = std::iter::once(self.free.entered).chain(open.into_iter().flatten()).collect();
        writer.put("lane.state", state);
        writer.put("lane.free", self.free.numbers());
        let failing: Vec<u32> = self.failing.iter().flat_map(|f| [f.block.0, f.settled]).collect();
        writer.put("lane.failing", failing);
        self.cursor.save(writer, self.promised);
    }

    /// `pages_per_block`: of the drive.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>, pages_per_block: u32) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "lane", problem: problem.to_owned() };
        let state = reader.get::<u32>("lane.state")?;
        let &[entered, host, host_next, host_end, copies, copies_next, copies_end] = state.as_slice() else {
            return Err(unfit("a frontier is missing"));
        };
        self.free = FreeList { entered, ..FreeList::default() };
        for pair in reader.get::<u32>("lane.free")?.chunks_exact(2) {
            self.free.heap.push(Reverse((pair[0], pair[1])));
        }
        let failing = reader.get::<u32>("lane.failing")?;
        self.failing = failing.chunks_exact(2).map(|f| Failing { block: BlockId(f[0]), settled: f[1] }).collect();
        self.erasing = 0;
        self.host = Frontier::from_numbers([host, host_next, host_end]);
        self.copies = Frontier::from_numbers([copies, copies_next, copies_end]);
        (self.cursor, self.promised) = Cursor::load(reader, pages_per_block)?;
        Ok(())
    }
}

/// What one frontier, one free list and one collection are for: a plane, or under coded striping a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    /// Lanes of the drive. Lanes of a plane follow each other.
    pub lanes: u32,
    /// Blocks of a lane.
    pub blocks: u32,
    /// They are segments, each with room for its data and a block or two: tombstones must go where there is more.
    pub of_segments: bool,
    /// Pages have a lane that they cannot leave, and tombstones none: a full lane gives its tombstones to others.
    pub sheds: bool,
    by_blocks: Reciprocal,
    /// Consecutive logical pages that have the same home lane.
    by_run: Reciprocal,
}

impl Division {
    /// `bound`: each page stays on its plane, and no tombstone has copies that must be on others.
    pub fn new(geometry: &Geometry, stripes: Option<Stripes<'_>>, bound: bool) -> Self {
        let (parts, run) = stripes.map_or((1, 1), |stripes| (stripes.lanes_per_plane, stripes.run));
        let blocks = geometry.blocks_per_plane() / parts;
        assert!(blocks * parts == geometry.blocks_per_plane(), "lanes have equally many blocks");
        let (by_blocks, by_run) = (Reciprocal::new(blocks), Reciprocal::new(run));
        Self {
            lanes: geometry.planes() * parts,
            blocks,
            of_segments: run > 1,
            sheds: run > 1 || bound,
            by_blocks,
            by_run,
        }
    }

    #[inline]
    pub fn lane_of(&self, block: BlockId) -> usize {
        self.by_blocks.divide(block.0) as usize
    }

    /// Which of the runs of logical pages a page belongs to.
    #[inline]
    pub fn run_of(&self, logical: Lpn) -> usize {
        self.by_run.divide(logical.0) as usize
    }
}
