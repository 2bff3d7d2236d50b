//! The blocks of a large drive from those of a small one with the same lanes.
//!
//! ```text
//! lane of the large drive   | blocks of copy 0 | of copy 1 | … | of the last copy | blocks that are left |
//! ```
//! Copy 0 is a lane of the small drive as it is, with its open blocks. A further copy has the closed blocks of another
//! lane, so that chance does not favour a lane of the large drive. As many blocks stay free as in the lane of copy 0.
//! All others hold as many pages as closed blocks of all ages, namely the logical pages that no copy has.
//!
//! *Why a further copy has no open block*: a lane has one for each stream. If the pages of the others were kept
//! together, a large drive would have many more young blocks than a drive in use has.
//!
//! Faithful to: valid pages, wear and ages of closed blocks. Simplified: a block that is being collected is closed.
//! Protects: superblocks. A number is in a further copy only if it is closed in every lane of the small drive.

use super::Space;
use super::lane::Frontier;
use super::lanes::SavedLanes;
use crate::mapping::page_level::entry::Entry;
use crate::mapping::page_level::pages::Pages;
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
}

/// A block of the large drive that holds as much as a block of the small one.
struct Filling {
    from: BlockId,
    to: BlockId,
}

/// A drive being tiled.
struct Tiler<'a> {
    space: &'a mut Space,
    pages: &'a mut Pages,
    small: &'a SmallDrive<'a>,
    /// Of each block of the small drive: it is closed.
    is_closed: Vec<bool>,
    /// The same: it is in every copy.
    is_copied: Vec<bool>,
    /// Of each block of the small drive in each copy: the block where it stands.
    stands: Vec<Option<BlockId>>,
    tiled: Tiled,
}

impl Space {
    /// Gives an empty drive the blocks of a smaller one, many times over.
    pub fn tile(&mut self, pages: &mut Pages, small: &SmallDrive<'_>) -> Tiled {
        let copies = small.tiling.copies();
        let closings = small.pages.blocks().closings();
        pages.note_closings(small.tiling.age(closings, 0, pages.logical_pages()));
        let mut tiler = Tiler::new(self, pages, small);
        let mut fillings = Vec::new();
        for lane in 0..tiler.space.lanes.len() {
            tiler.lane(lane, &mut fillings);
        }
        tiler.map();
        tiler.fill(&fillings);
        let Tiler { is_copied, tiled, .. } = tiler;
        self.lanes.tile_superblocks(small.lanes, copies, |copy, number| copy == 0 || is_copied[number]);
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
        let mut is_copied = is_closed.clone();
        if space.lanes.have_superblocks() {
            let count = lanes.all[0].count() as usize;
            let in_all: Vec<bool> = (0..count).map(|at| is_copied[at..].iter().step_by(count).all(|is| *is)).collect();
            is_copied.chunks_mut(count).for_each(|lane| lane.copy_from_slice(&in_all));
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
            is_copied,
            stands,
            tiled: Tiled { blocks, unwritten: Vec::new(), newest },
        }
    }

    /// Gives a lane its copies, open blocks and free blocks, and notes the blocks to be filled.
    fn lane(&mut self, lane: usize, fillings: &mut Vec<Filling>) {
        let SmallDrive { lanes, tiling, flash, .. } = self.small;
        let (first, count) = (self.space.lanes[lane].first().0, self.space.lanes[lane].count());
        let few = lanes.all[lane].count();
        let mut left = Vec::new();
        for number in 0..count {
            let copy = number / few;
            let source = self.space.lanes.before(lane, if copy < tiling.copies() { copy as usize } else { 0 });
            let from = BlockId(lanes.all[source].first().0 + number % few);
            let to = BlockId(first + number);
            self.tiled.blocks[to.index()].like = from;
            let is_open =
                [&lanes.all[source].host, &lanes.all[source].copies].iter().any(|open| open.block == Some(from));
            let is_first = copy == 0 && (is_open || flash.block(from).done > 0);
            if is_first || copy < tiling.copies() && self.is_copied[from.index()] {
                self.copy(copy, from, to, is_open);
            } else {
                left.push(to);
            }
        }
        let on = |open: &Frontier| match open.block {
            Some(block) => open.on(&self.space.geometry, BlockId(block.0 - lanes.all[lane].first().0 + first)),
            None => Frontier::NONE,
        };
        let open = [on(&lanes.all[lane].host), on(&lanes.all[lane].copies)];
        let filled = left.split_off(lanes.all[lane].free().min(left.len()));
        let blocks = self.space.geometry.blocks();
        let erases = |block: &BlockId| flash.block(self.tiled.blocks[block.index()].like).erases;
        let like = |block: &BlockId| (*block, tiling.erases(erases(block), *block, blocks));
        self.space.lanes.tile(lane, open, left.iter().map(like));
        let source = self.space.lanes.before(lane, tiling.copies() as usize);
        let sources = self.by_age(source);
        // From the last one on, where lanes that are not alike have the same numbers left.
        for (at, to) in filled.into_iter().rev().enumerate() {
            // Multiples of the golden ratio are spread evenly, however many there are.
            let share = (at as f64 * 0.618_034 + 0.5).fract();
            fillings.push(Filling { from: sources[(share * sources.len() as f64) as usize], to });
        }
    }

    /// Blocks of a lane of the small drive that are in every copy, or that are closed where none is, the first closed
    /// one first. Superblocks have the age of their first block.
    fn by_age(&self, lane: usize) -> Vec<BlockId> {
        let all = &self.small.lanes.all;
        let aged = if self.space.lanes.have_superblocks() { &all[0] } else { &all[lane] };
        let among = |chosen: &[bool]| all[lane].blocks().filter(|block| chosen[block.index()]).collect::<Vec<_>>();
        let mut blocks = among(&self.is_copied);
        if blocks.is_empty() {
            blocks = among(&self.is_closed);
        }
        blocks.sort_by_key(|block| self.closed_at(BlockId(block.0 - all[lane].first().0 + aged.first().0)));
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
        let age = self.small.pages.blocks().closings() - self.closed_at(from);
        let age = self.small.tiling.age(age, copy, self.pages.logical_pages());
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
