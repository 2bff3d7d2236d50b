//! State of one plane, invariants, snapshot.

use super::PageMap;
use super::collect::Collection;
use super::scheme::Scheme;
use crate::mapping::Stripes;
use crate::mapping::common::UNMAPPED;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{BlockRow, FlashCore};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{BlockId, Geometry, Ppn, Reciprocal};

/// The open block of a stream of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frontier {
    pub block: Option<BlockId>,
    next: u32,
    end: u32,
}

impl Frontier {
    pub const NONE: Frontier = Frontier { block: None, next: 0, end: 0 };

    pub fn open(geometry: &Geometry, block: BlockId) -> Self {
        let next = geometry.page_at(block, 0).0;
        Self { block: Some(block), next, end: next + geometry.pages_per_block }
    }

    /// A block of which `done` pages are programmed, to be filled up.
    pub fn reopen(geometry: &Geometry, block: BlockId, done: u32) -> Self {
        let mut frontier = Self::open(geometry, block);
        frontier.next += done;
        frontier
    }

    /// Three numbers that stand for it in a snapshot.
    pub fn numbers(&self) -> [u32; 3] {
        [self.block.map_or(UNMAPPED, |block| block.0), self.next, self.end]
    }

    /// What [`Frontier::numbers`] gave.
    pub fn from_numbers([block, next, end]: [u32; 3]) -> Self {
        Self { block: (block != UNMAPPED).then_some(BlockId(block)), next, end }
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.next == self.end
    }

    /// Pages left.
    pub fn room(&self) -> u32 {
        self.end - self.next
    }

    /// The next page; the frontier must not be full.
    #[inline(always)]
    pub fn take(&mut self) -> Ppn {
        debug_assert!(!self.is_full(), "a full frontier has no next page");
        self.next += 1;
        Ppn(self.next - 1)
    }
}

/// Free blocks of a plane, least worn first, or first erased first.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeList {
    heap: BinaryHeap<Reverse<(u32, BlockIdOrd)>>,
    entered: u32,
}

type BlockIdOrd = u32;

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

    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: Vec<_> = self.heap.iter().map(|Reverse(entry)| *entry).collect();
        blocks.sort_unstable();
        blocks
    }
}

/// A block in which a program failed. It is emptied once all its unfinished programs have come back
/// and found another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failing {
    pub block: BlockId,
    /// Programs placed elsewhere or given up.
    pub settled: u32,
}

/// What one frontier, one free list and one collection are for: a plane, or under zones a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// Lanes of the drive. Those of a plane follow each other.
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
    pub fn run_of(&self, logical: u32) -> usize {
        self.by_run.divide(logical) as usize
    }
}

/// One lane: its free blocks, frontiers and collection.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub first: BlockId,
    pub count: u32,
    pub free: FreeList,
    /// Blocks whose erase was issued and has not completed.
    pub erasing: u32,
    pub host: Frontier,
    pub copies: Frontier,
    pub collection: Option<Collection>,
    /// Copies under way.
    pub in_flight: u32,
    /// Blocks with a failed program, to be emptied and given up.
    pub failing: Vec<Failing>,
    /// Translation pages to be programmed with the end of a collection.
    pub updates: Vec<u32>,
    /// Pages for translation pages that the collection was admitted with and has not used.
    pub promised: u32,
    /// A block without invalid pages was moved since the host last wrote here.
    pub moved_full: bool,
    /// Such blocks that the policy has chosen since it chose another one.
    pub full_in_a_row: u32,
    /// Memory of the last collection's page list, to be used again.
    pub spare_list: Vec<u32>,
    /// Its die answers nothing any more.
    pub dead: bool,
}

impl Lane {
    /// The plane's blocks.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + Clone + use<> {
        (self.first.0..self.first.0 + self.count).map(BlockId)
    }

    pub fn new(count: u32, lane: u32, rows: &[BlockRow]) -> Self {
        let first = BlockId(lane * count);
        let mut free = FreeList::default();
        for block in (first.0..first.0 + count).map(BlockId) {
            let row = &rows[block.index()];
            if !row.is_bad() && row.done == 0 {
                free.push(block, row.erases, true);
            }
        }
        Self {
            first,
            count,
            free,
            erasing: 0,
            host: Frontier::NONE,
            copies: Frontier::NONE,
            collection: None,
            in_flight: 0,
            failing: Vec::new(),
            updates: Vec::new(),
            promised: 0,
            moved_full: false,
            full_in_a_row: 0,
            spare_list: Vec::new(),
            dead: false,
        }
    }

    /// Nothing more is programmed or collected here.
    pub fn lose(&mut self) {
        self.dead = true;
        self.free = FreeList::default();
        (self.host, self.copies, self.collection) = (Frontier::NONE, Frontier::NONE, None);
        self.failing.clear();
    }
}

impl<S: Scheme> PageMap<S> {
    /// Every invariant of the mapping.
    pub(super) fn check_laws(&self, core: &FlashCore) -> Result<(), String> {
        let valid = self.pages.blocks.check()?;
        let mut trimmed = vec![0_u32; self.trims.slots()];
        let mapped = self.pages.check(core, &mut trimmed)?;
        self.trims.check(&trimmed)?;
        let metadata = self.trims.live_pages();
        let old = self.old.pages();
        if valid != mapped + metadata + old {
            return Err(format!(
                "{valid} valid pages, but {mapped} mapped, {metadata} tombstones and {old} old versions"
            ));
        }
        self.check_old()?;
        let total = |counter| FlashCore::total(counter);
        let (programs, erases) = (total(&core.counters.programs), total(&core.counters.erases));
        let pages = u64::from(self.geometry.pages_per_block);
        if (erases + u64::from(self.geometry.blocks())) * pages < programs {
            return Err(format!("{programs} programs into {erases} erases: pages were programmed twice"));
        }
        Ok(())
    }

    pub(super) fn save_state(&self, writer: &mut SnapshotWriter) {
        self.pages.save(writer);
        self.trims.save(writer);
        self.old.save(writer);
        let numbers = [self.turn as u64, self.sequence, u64::from(self.retired_blocks), self.kept as u64];
        writer.put_u64("page.numbers", numbers.into_iter().chain(self.stream.state()).collect::<Vec<_>>().into_iter());
        for lane in &self.lanes {
            let mut state: Vec<u32> = vec![lane.free.entered];
            state.extend(lane.host.numbers());
            state.extend(lane.copies.numbers());
            writer.put_u32("lane.state", state.into_iter());
            let free = lane.free.blocks();
            writer.put_u32(
                "lane.free",
                free.iter().flat_map(|(key, block)| [*key, *block]).collect::<Vec<_>>().into_iter(),
            );
            writer.put_u32(
                "lane.failing",
                lane.failing.iter().flat_map(|f| [f.block.0, f.settled]).collect::<Vec<_>>().into_iter(),
            );
            let collection = lane.collection.as_ref().map(Collection::export).unwrap_or_default();
            writer.put_u32("lane.collection", collection.into_iter());
            writer.put_u32(
                "lane.updates",
                [lane.promised, u32::from(lane.moved_full)]
                    .into_iter()
                    .chain(lane.updates.iter().copied())
                    .collect::<Vec<_>>()
                    .into_iter(),
            );
        }
        if S::DEMAND {
            self.translation.save(writer);
        }
    }

    pub(super) fn load_state(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "page", problem: problem.to_owned() };
        self.pages.load(reader)?;
        self.trims.load(reader)?;
        self.old.load(reader)?;
        let numbers = reader.get_u64("page.numbers")?;
        let [turn, sequence, retired, kept, state @ ..] = numbers.as_slice() else {
            return Err(unfit("counters are missing"));
        };
        let state: [u64; 4] = state.try_into().map_err(|_| unfit("the random state is missing"))?;
        for index in 0..self.lanes.len() {
            self.lanes[index] = self.load_lane(index, reader)?;
        }
        if S::DEMAND {
            self.translation.load(reader)?;
            for lane in 0..self.lanes.len() {
                self.translation.promise(lane, self.lanes[lane].promised);
            }
        }
        self.empty_lanes = self.lanes.iter().filter(|lane| lane.free.is_empty()).count();
        self.turn = *turn as usize % self.order.len();
        self.sequence = *sequence;
        self.retired_blocks = *retired as u32;
        self.kept = *kept as usize;
        self.stream = engine::random::Stream::from_state(state);
        Ok(())
    }

    fn load_lane(&self, index: usize, reader: &mut SnapshotReader<'_>) -> Result<Lane, SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "lane", problem: problem.to_owned() };
        let old = &self.lanes[index];
        let state = reader.get_u32("lane.state")?;
        let &[entered, host, host_next, host_end, copies, copies_next, copies_end] = state.as_slice() else {
            return Err(unfit("a frontier is missing"));
        };
        let mut free = FreeList { entered, ..FreeList::default() };
        for pair in reader.get_u32("lane.free")?.chunks_exact(2) {
            free.heap.push(Reverse((pair[0], pair[1])));
        }
        let failing = reader.get_u32("lane.failing")?;
        let failing = failing.chunks_exact(2).map(|f| Failing { block: BlockId(f[0]), settled: f[1] }).collect();
        let collection = Collection::import(&reader.get_u32("lane.collection")?);
        let updates = reader.get_u32("lane.updates")?;
        let [promised, moved_full, updates @ ..] = updates.as_slice() else {
            return Err(unfit("its promise is missing"));
        };
        Ok(Lane {
            first: old.first,
            count: old.count,
            free,
            erasing: 0,
            host: Frontier::from_numbers([host, host_next, host_end]),
            copies: Frontier::from_numbers([copies, copies_next, copies_end]),
            collection,
            in_flight: 0,
            failing,
            updates: updates.to_vec(),
            promised: *promised,
            moved_full: *moved_full == 1,
            full_in_a_row: 0,
            spare_list: Vec::new(),
            dead: old.dead,
        })
    }
}
