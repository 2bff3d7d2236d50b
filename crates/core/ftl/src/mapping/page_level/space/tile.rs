//! The blocks of a large drive from those of a small one with the same lanes.
//!
//! ```text
//! lane of the large drive   | copy 0 | closed blocks of copy 1 | … | of the last copy | filled blocks | free blocks |
//! ```
//! Copy 0 is a lane of the small drive as it is, with its open blocks. A further copy has the closed blocks of another
//! lane, so that chance does not favour a lane of the large drive. As many blocks stay free as in the lane of copy 0.
//! All others hold as many pages as closed blocks of all ages, namely the logical pages that no copy has.
//!
//! *Why a further copy has no open block*: a lane has one for each stream. If the pages of the others were kept
//! together, a large drive would have many more young blocks than a drive in use has.
//!
//! Lanes come to a superblock at different times, and the lanes of a large drive are further apart than in a small one.
//! So where superblocks are collected, each lane has its blocks in the order of their ages, and the blocks of a lane
//! that is behind are moved on by its lag:
//! ```text
//! superblocks        |  0    1    2    3    4  …  last  |
//! the leading lane   | free open  a    b    c  …   z    |
//! a lane 2 behind    |  y    z   free open  a  …   x    |   y and z are chosen to be collected, z first
//! ```
//! Faithful to: valid pages, wear and ages of closed blocks. Simplified: a block that is being collected is closed.
//! Protects: each block of the large drive is free, open, or holds the pages of one copy.

use super::Space;
use super::Stream;
use super::lane::Frontier;
use super::lanes::SavedLanes;
use crate::mapping::page_level::entry::Entry;
use crate::mapping::page_level::pages::Pages;
use crate::mapping::page_level::together::TiledSuperblocks;
use engine::random;
use layer::{Tiled, TiledBlock, Tiling};
use nand::FlashState;
use units::{BlockId, Lpn, Ppn};

/// Map entries fetched ahead of a page that is placed: they are anywhere in the map.
const LOOK_AHEAD: usize = 32;

/// A drive whose state stands in a larger one.
pub(crate) struct SmallDrive<'a> {
    pub flash: &'a FlashState,
    pub pages: &'a Pages,
    pub lanes: &'a SavedLanes,
    pub tiling: &'a Tiling,
    /// Where blocks are collected together: the superblocks of the large drive.
    pub superblocks: Option<&'a TiledSuperblocks>,
}

/// A block of the large drive that holds as much as a block of the small one.
struct Filling {
    from: BlockId,
    to: BlockId,
}

/// The use of a block of the large drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Nothing,
    /// An open block of copy 0.
    Open,
    /// A closed block of a copy. Blocks that are filled are one more copy.
    Copy(u32),
}

/// A block of a lane of the large drive, and the block of the small one that it is like.
#[derive(Clone, Copy, Debug)]
struct Planned {
    from: BlockId,
    holding: Holding,
}

/// A drive being tiled.
struct Tiler<'a> {
    space: &'a mut Space,
    pages: &'a mut Pages,
    small: &'a SmallDrive<'a>,
    /// Of each block of the small drive: it is closed.
    is_closed: Vec<bool>,
    /// Of each block of the small drive in each copy: the block where it stands.
    stands: Vec<Option<BlockId>>,
    /// The stream of each superblock, where there are any.
    streams: Vec<Option<Stream>>,
    tiled: Tiled,
}

impl Space {
    /// Gives an empty drive the blocks of a smaller one, many times over.
    pub fn tile(&mut self, pages: &mut Pages, small: &SmallDrive<'_>) -> Tiled {
        let closings = small.pages.blocks().closings();
        pages.note_closings(small.tiling.age(closings, 0, pages.logical_pages()));
        let mut tiler = Tiler::new(self, pages, small);
        let mut fillings = Vec::new();
        for lane in 0..tiler.space.lanes.len() {
            tiler.lane(lane, &mut fillings);
        }
        tiler.map();
        tiler.fill(&fillings);
        let Tiler { streams, tiled, .. } = tiler;
        self.lanes.tile_superblocks(streams);
        tiled
    }
}

impl<'a> Tiler<'a> {
    fn new(space: &'a mut Space, pages: &'a mut Pages, small: &'a SmallDrive<'a>) -> Self {
        let SmallDrive { flash, lanes, .. } = small;
        let open: Vec<BlockId> =
            lanes.all.iter().flat_map(|lane| [&lane.host, &lane.copies]).filter_map(|f| f.block).collect();
        let mut is_closed: Vec<bool> = flash.blocks().iter().map(|row| row.done > 0 && !row.is_bad()).collect();
        for block in open {
            is_closed[block.index()] = false;
        }
        let blocks = space.geometry.blocks() as usize;
        let newest = if flash.holds_contents() { vec![None; space.geometry.pages() as usize] } else { Vec::new() };
        let blocks = vec![TiledBlock { like: BlockId(0), copy: None }; blocks];
        let stands = vec![None; small.tiling.copies() as usize * flash.blocks().len()];
        Self {
            space,
            pages,
            small,
            is_closed,
            stands,
            streams: vec![None; small.superblocks.map_or(0, |superblocks| superblocks.by_age.len())],
            tiled: Tiled { blocks, unwritten: Vec::new(), newest },
        }
    }

    /// Gives a lane its copies, open blocks and free blocks, and notes the blocks to be filled.
    fn lane(&mut self, lane: usize, fillings: &mut Vec<Filling>) {
        let SmallDrive { lanes, tiling, flash, .. } = self.small;
        let mut plan = self.copied(lane);
        let mut left: Vec<usize> = (0..plan.len()).filter(|at| plan[*at].holding == Holding::Nothing).collect();
        let filled = left.split_off(lanes.all[lane].free().min(left.len()));
        self.plan_fillings(lane, &mut plan, &filled);
        let places = self.places(lane, &plan);
        for (Planned { from, holding }, to) in plan.iter().zip(&places) {
            self.tiled.blocks[to.index()].like = *from;
            match *holding {
                Holding::Open => self.copy(0, *from, *to, true),
                Holding::Copy(copy) if copy < tiling.copies() => self.copy(copy, *from, *to, false),
                Holding::Copy(_) | Holding::Nothing => {}
            }
        }
        let on = |open: &Frontier| match open.block {
            Some(block) => open.on(&self.space.geometry, places[(block.0 - lanes.all[lane].first().0) as usize]),
            None => Frontier::NONE,
        };
        let open = [on(&lanes.all[lane].host), on(&lanes.all[lane].copies)];
        let blocks = self.space.geometry.blocks();
        let like = |at: &usize| {
            let erases = flash.block(plan[*at].from).erases;
            (places[*at], tiling.erases(erases, places[*at], blocks))
        };
        self.space.lanes.tile(lane, open, left.iter().map(like));
        // In the order in which their sources were chosen.
        fillings.extend(filled.iter().rev().map(|at| Filling { from: plan[*at].from, to: places[*at] }));
    }

    /// The blocks of a lane, copy after copy; nothing where a copy has none.
    fn copied(&self, lane: usize) -> Vec<Planned> {
        let SmallDrive { lanes, tiling, .. } = self.small;
        let few = lanes.all[lane].count();
        let planned = |number: u32| {
            let copy = Some(number / few).filter(|copy| *copy < tiling.copies());
            let source = &lanes.all[self.space.lanes.before(lane, copy.unwrap_or(0) as usize)];
            let from = BlockId(source.first().0 + number % few);
            let is_open = [&source.host, &source.copies].iter().any(|open| open.block == Some(from));
            let holding = match copy {
                Some(0) if is_open => Holding::Open,
                Some(copy) if self.is_closed[from.index()] => Holding::Copy(copy),
                _ => Holding::Nothing,
            };
            Planned { from, holding }
        };
        (0..self.space.lanes[lane].count()).map(planned).collect()
    }

    /// Plans blocks that hold as much as closed blocks of all ages.
    fn plan_fillings(&self, lane: usize, plan: &mut [Planned], filled: &[usize]) {
        let copy = self.small.tiling.copies();
        let sources = self.by_age(self.space.lanes.before(lane, copy as usize));
        for (at, number) in filled.iter().rev().enumerate() {
            // Multiples of the golden ratio are spread evenly, however many there are.
            let share = (at as f64 * 0.618_034 + 0.5).fract();
            let from = sources[(share * sources.len() as f64) as usize];
            plan[*number] = Planned { from, holding: Holding::Copy(copy) };
        }
    }

    /// The block of the large drive for each that is planned. Notes the streams of their superblocks.
    fn places(&mut self, lane: usize, plan: &[Planned]) -> Vec<BlockId> {
        let first = self.space.lanes[lane].first().0;
        let mut places: Vec<BlockId> = (first..).map(BlockId).take(plan.len()).collect();
        let Some(superblocks) = self.small.superblocks else { return places };
        let lag = superblocks.lags[lane] as usize;
        let age = |at: &usize| match plan[*at].holding {
            // The first of the free blocks was erased first.
            Holding::Nothing => (0, u32::MAX - *at as u32),
            Holding::Open => (1, 0),
            Holding::Copy(copy) => (2, self.age(copy, plan[*at].from)),
        };
        let mut by_age: Vec<usize> = (0..plan.len()).collect();
        by_age.sort_by_cached_key(age);
        for (at, number) in by_age.iter().zip(superblocks.by_age.iter().cycle().skip(lag)) {
            places[*at] = BlockId(first + number);
            // Lanes that are behind open it for the stream that the first of the leading lanes opened it for.
            let stream = &mut self.streams[*number as usize];
            if lag == 0 && plan[*at].holding != Holding::Nothing && stream.is_none() {
                *stream = self.small.lanes.stream_of(plan[*at].from);
            }
        }
        places
    }

    fn age(&self, copy: u32, from: BlockId) -> u32 {
        let age = self.small.pages.blocks().closings() - self.closed_at(from);
        self.small.tiling.age(age, copy, self.pages.logical_pages())
    }

    /// Closed blocks of a lane of the small drive, the first closed one first.
    fn by_age(&self, lane: usize) -> Vec<BlockId> {
        let closed = self.small.lanes.all[lane].blocks().filter(|block| self.is_closed[block.index()]);
        let mut blocks: Vec<_> = closed.collect();
        blocks.sort_by_key(|block| self.closed_at(*block));
        blocks
    }

    fn closed_at(&self, block: BlockId) -> u32 {
        self.small.pages.blocks().closed_at(block, 1)[0]
    }

    /// A block stands in a copy. The map is written later ([`Tiler::map`]).
    fn copy(&mut self, copy: u32, from: BlockId, to: BlockId, is_open: bool) {
        let SmallDrive { pages, tiling, flash, .. } = self.small;
        let first = [tiling.small().page_at(from, 0), self.space.geometry.page_at(to, 0)];
        for page in pages.valid_in(from) {
            let logical = tiling.logical(copy, pages.back(page).logical().expect("no page is trimmed"));
            self.hold(logical, Ppn(page.0 - first[0].0 + first[1].0));
        }
        self.tiled.blocks[to.index()].copy = Some(copy);
        self.stands[copy as usize * flash.blocks().len() + from.index()] = Some(to);
        if !is_open {
            self.close(copy, from, to);
        }
    }

    /// Writes the map of all copies. *Why not with their blocks*: in the order of logical pages, stretches of the map
    /// are written one after the other, and in that of flash pages each entry is a cache miss.
    fn map(&mut self) {
        let SmallDrive { pages, tiling, flash, .. } = self.small;
        let small = tiling.small();
        for (copy, stands) in (0..).zip(self.stands.chunks_exact(flash.blocks().len())) {
            for logical in pages.all() {
                let Some(page) = pages.find(logical) else { continue };
                if let Some(to) = stands[small.block_of(page).index()] {
                    let at = self.space.geometry.page_at(to, small.page_in_block(page));
                    self.pages.point(tiling.logical(copy, logical), at);
                }
            }
        }
    }

    fn hold(&mut self, logical: Lpn, at: Ppn) {
        self.pages.hold(logical, at);
        if let Some(newest) = self.tiled.newest.get_mut(at.index()) {
            *newest = Some(logical);
        }
    }

    fn place(&mut self, logical: Lpn, page: Ppn, to: BlockId) {
        let at = self.space.geometry.page_at(to, self.small.tiling.small().page_in_block(page));
        self.hold(logical, at);
        self.pages.point(logical, at);
    }

    fn close(&mut self, copy: u32, from: BlockId, to: BlockId) {
        let age = self.age(copy, from);
        self.pages.close_as(to, self.pages.blocks().closings() - age);
    }

    /// Fills blocks with the logical pages that no copy has.
    fn fill(&mut self, fillings: &[Filling]) {
        let mut left: Vec<Lpn> = self.pages.all().filter(|page| self.pages.entry(*page) == Entry::NOWHERE).collect();
        random::Stream::new(self.small.tiling.seed, "precondition.left").shuffle(&mut left);
        let room: usize = fillings.iter().map(|filling| self.small.pages.valid_in(filling.from).count()).sum();
        // Where there is more room than pages, every block goes without some.
        let (wanted, mut due, mut placed) = (left.len().min(room), 0, 0);
        let copy = self.small.tiling.copies();
        for Filling { from, to } in fillings {
            for page in self.small.pages.valid_in(*from) {
                due += wanted;
                if due >= room {
                    due -= room;
                    if let Some(ahead) = left.get(placed + LOOK_AHEAD) {
                        self.pages.prefetch_entry(ahead.index());
                    }
                    self.place(left[placed], page, *to);
                    placed += 1;
                }
            }
            self.tiled.blocks[to.index()] = TiledBlock { like: *from, copy: Some(copy) };
            self.close(copy, *from, *to);
        }
        self.tiled.unwritten = left.split_off(placed);
    }
}
