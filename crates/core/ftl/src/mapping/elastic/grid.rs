//! Superblocks over the planes, the order in which their pages are programmed, and which dies are in use.
//!
//! A superblock is the blocks of one number in all planes. Consecutive pages of it are on different dies, so any stripe
//! that is short enough is spread over as many dies as it has pages.
//!
//! *Protects*: a die in use is neither lost nor a spare. Only this file says which are.

use super::Chips;
use crate::mapping::pages::Pages;
use nand::{BlockRow, FlashState, PageKind};
use units::{BlockId, DieId, Geometry, Ppn};

/// A superblock, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Superblock(pub u32);

impl Superblock {
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its block on the first plane, which stands for it in the table of blocks: closed, taken and put back.
    pub const fn first_block(self) -> BlockId {
        BlockId(self.0)
    }
}

/// A page by its number in the order in which pages are programmed: superblock by superblock, and in each across the
/// planes. As it lies in parity records on flash: four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(pub u32);

impl Position {
    /// The one behind it.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// All from here to `end`.
    pub fn to(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + use<> {
        (self.0..end.0).map(Self)
    }
}

/// The numbering of pages, and the dies.
#[derive(Debug)]
pub(super) struct Grid {
    geometry: Geometry,
    /// The first block of each plane, in the order in which a superblock goes across them.
    firsts: Vec<u32>,
    /// Pages of a superblock.
    pages: u32,
    /// Most data pages of a stripe.
    data: u32,
    /// By die: it is lost, or not used yet.
    lost: Vec<bool>,
    /// Consecutive positions that a stripe may use: they are on different dies.
    span: u32,
    /// Dies that take the place of lost ones.
    spares: Vec<DieId>,
    /// Dies in use as long as none is lost.
    usual_dies: u32,
    deaths: u32,
    /// Dies lost, and spares that failed before they were used.
    failed_dies: u32,
}

impl Grid {
    /// Where there are as many channels as a stripe has pages, each page is on a channel of its own.
    pub fn new(geometry: Geometry, Chips { data, spares }: Chips) -> Self {
        let dies = geometry.dies();
        let usual_dies = dies - spares;
        let planes = (0..geometry.planes_per_die).flat_map(|plane| (0..dies).map(move |die| (die, plane)));
        let first = |(die, plane)| die * geometry.blocks_per_die + plane * geometry.blocks_per_plane();
        Self {
            geometry,
            firsts: planes.map(first).collect(),
            pages: geometry.planes() * geometry.pages_per_block,
            data,
            lost: (0..dies).map(|die| die >= usual_dies).collect(),
            span: if data < geometry.channels { geometry.channels } else { dies },
            spares: (usual_dies..dies).map(DieId).collect(),
            usual_dies,
            deaths: 0,
            failed_dies: 0,
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.geometry.page_bytes as usize
    }

    /// Superblocks of the drive.
    pub fn superblocks(&self) -> u32 {
        self.geometry.blocks_per_plane()
    }

    pub fn all(&self) -> impl Iterator<Item = Superblock> + use<> {
        (0..self.superblocks()).map(Superblock)
    }

    /// Erase blocks of a superblock.
    pub fn lanes(&self) -> u32 {
        self.firsts.len() as u32
    }

    /// All pages of the drive, in order of positions.
    pub fn all_pages(&self) -> impl Iterator<Item = Ppn> + use<'_> {
        self.all().flat_map(|superblock| self.pages_of(superblock))
    }

    /// Pages of a superblock, in order of positions.
    pub fn pages_of(&self, superblock: Superblock) -> impl DoubleEndedIterator<Item = Ppn> + use<'_> {
        self.pages_from(self.first_of(superblock), self.end_of(superblock))
    }

    /// Pages from one position to another one.
    pub fn pages_from(&self, first: Position, end: Position) -> impl DoubleEndedIterator<Item = Ppn> + use<'_> {
        first.to(end).map(|position| self.page(position))
    }

    /// The superblock of an erase block.
    pub fn superblock_of(&self, block: BlockId) -> Superblock {
        Superblock(block.0 % self.superblocks())
    }

    /// The superblock of a page.
    #[inline]
    pub fn of(&self, page: Ppn) -> Superblock {
        self.superblock_of(self.geometry.block_of(page))
    }

    /// The die of a page.
    pub fn die_of(&self, page: Ppn) -> DieId {
        self.geometry.die_of(self.geometry.block_of(page))
    }

    /// The first position of a superblock.
    pub fn first_of(&self, superblock: Superblock) -> Position {
        Position(superblock.0 * self.pages)
    }

    /// The end of a superblock, as a position.
    pub fn end_of(&self, superblock: Superblock) -> Position {
        Position((superblock.0 + 1) * self.pages)
    }

    /// The first position that a stripe which begins at `first` may not use.
    pub fn reach_of(&self, first: Position) -> Position {
        let end = (first.0 / self.pages + 1) * self.pages;
        Position(end.min(first.0 + self.span))
    }

    /// Whether the first of two positions may belong to a stripe that begins at the other one.
    pub fn reaches(&self, first: Position, other: Position) -> bool {
        other.0 - first.0 < self.span
    }

    /// Most pages of a stripe with the gaps between them.
    pub fn span(&self) -> u32 {
        self.span
    }

    /// Most data pages of a stripe.
    pub fn data(&self) -> u32 {
        self.data
    }

    /// Pages that `pages` take with their parities.
    pub fn with_parity(&self, pages: u32) -> u32 {
        let data = self.data.min(self.live_dies().saturating_sub(1)).max(1);
        pages + pages.div_ceil(data)
    }

    /// The page at a position.
    #[inline]
    pub fn page(&self, position: Position) -> Ppn {
        let (superblock, within) = (position.0 / self.pages, position.0 % self.pages);
        self.geometry.page_at(self.block(Superblock(superblock), within % self.lanes()), within / self.lanes())
    }

    /// The position of a page.
    #[inline]
    pub fn position(&self, page: Ppn) -> Position {
        let block = self.geometry.block_of(page);
        let index = self.geometry.plane_of(block) * self.geometry.dies() + self.geometry.die_of(block).0;
        let within = self.geometry.page_in_block(page) * self.lanes() + index;
        Position(self.superblock_of(block).0 * self.pages + within)
    }

    /// The erase block of a superblock with this index: the first plane of each die, then the second ones.
    #[inline]
    pub fn block(&self, superblock: Superblock, index: u32) -> BlockId {
        BlockId(self.firsts[index as usize] + superblock.0)
    }

    /// Erase blocks of a superblock, lost ones included.
    pub fn all_blocks(&self, superblock: Superblock) -> impl Iterator<Item = BlockId> + use<'_> {
        (0..self.lanes()).map(move |index| self.block(superblock, index))
    }

    /// Erase blocks of a superblock on dies in use, with their indices.
    pub fn blocks(&self, superblock: Superblock) -> impl Iterator<Item = (u32, BlockId)> + use<'_> {
        (0..).zip(self.all_blocks(superblock)).filter(|(index, _)| !self.lane_is_lost(*index))
    }

    /// Valid pages of a superblock.
    pub fn valid_count(&self, pages: &Pages, superblock: Superblock) -> u32 {
        self.all_blocks(superblock).map(|block| pages.blocks().valid_count(block)).sum()
    }

    /// Valid pages of all superblocks.
    pub fn valid_counts(&self, pages: &Pages, counts: &mut Vec<u32>) {
        counts.clear();
        counts.resize(self.superblocks() as usize, 0);
        self.firsts.iter().for_each(|first| pages.blocks().add_valid(BlockId(*first), counts));
    }

    /// The valid pages of a superblock, in order of positions.
    pub fn valid_in(&self, pages: &Pages, superblock: Superblock) -> impl DoubleEndedIterator<Item = Ppn> {
        self.pages_of(superblock).filter(|page| pages.blocks().is_valid(*page))
    }

    /// Of each superblock one erase block, which is erased with the others.
    pub fn rows<'a>(&self, state: &'a FlashState) -> &'a [BlockRow] {
        &state.blocks()[..self.superblocks() as usize]
    }

    /// Whether the die of a page is lost, or not used yet.
    #[inline]
    pub fn is_lost(&self, page: Ppn) -> bool {
        self.lost[self.die_of(page).index()]
    }

    /// Whether the die of a plane is lost, or not used yet, by index.
    pub fn lane_is_lost(&self, index: u32) -> bool {
        self.lost[(index % self.geometry.dies()) as usize]
    }

    /// Whether a page of data can be read, or will be when it is programmed.
    pub fn is_readable(&self, state: &FlashState, page: Ppn) -> bool {
        let is_kept = || state.contents().is_none_or(|contents| contents.oob(page.0).kind != PageKind::Lost);
        !state.die_is_dead(self.die_of(page)) && is_kept()
    }

    pub fn live_dies(&self) -> u32 {
        self.lost.iter().filter(|lost| !**lost).count() as u32
    }

    /// Pages of a superblock on dies in use.
    pub fn live_pages(&self) -> u32 {
        self.pages / self.geometry.dies() * self.live_dies()
    }

    /// Whether a block can be programmed or erased.
    fn works(state: &FlashState, block: BlockId) -> bool {
        let row = state.block(block);
        !row.is_bad() && !row.has_failed()
    }

    /// The first position from `from` to `end` that can be programmed.
    pub fn usable_from(&self, state: &FlashState, from: Position, end: Position) -> Option<Position> {
        from.to(end).find(|position| {
            let page = self.page(*position);
            let block = self.geometry.block_of(page);
            !self.is_lost(page)
                && Self::works(state, block)
                && u32::from(state.block(block).issued) <= self.geometry.page_in_block(page)
        })
    }

    /// The first position from there on that can be programmed and has another such one near enough for its parity.
    pub fn pair_from(&self, state: &FlashState, from: Position, end: Position) -> Option<Position> {
        let mut first = self.usable_from(state, from, end)?;
        while let Some(second) = self.usable_from(state, first.next(), end) {
            if self.reaches(first, second) {
                return Some(first);
            }
            first = second;
        }
        None
    }

    /// Pages of a superblock that can be programmed once it is erased: pages of blocks that work, if a block of another
    /// die near enough for their parities works as well. `None`: of a superblock without a failed block.
    pub fn pages_left(&self, state: &FlashState, superblock: Option<Superblock>) -> u32 {
        let lanes = self.lanes();
        let works = |index: u32| {
            let index = index % lanes;
            !self.lane_is_lost(index) && superblock.is_none_or(|which| Self::works(state, self.block(which, index)))
        };
        let is_alone = self.live_dies() < 2;
        let has_neighbour =
            |index: u32| (1..self.span).any(|distance| works(index + distance) || works(index + lanes - distance));
        let counts = |index: &u32| works(*index) && (is_alone || has_neighbour(*index));
        (0..lanes).filter(counts).count() as u32 * self.geometry.pages_per_block
    }

    /// Dies that were in use and answer nothing any more.
    pub fn deaths(&self) -> u32 {
        self.deaths
    }

    /// Dies lost, and spares that failed before they were used.
    pub fn failed_dies(&self) -> u32 {
        self.failed_dies
    }

    /// Dies fewer than are in use as long as none is lost.
    pub fn missing_dies(&self) -> u32 {
        self.usual_dies.saturating_sub(self.live_dies())
    }

    /// A spare answers nothing any more. `false`: the die is none.
    pub fn lose_spare(&mut self, die: DieId) -> bool {
        let before = self.spares.len();
        self.spares.retain(|spare| *spare != die);
        let is_spare = self.spares.len() < before;
        self.failed_dies += u32::from(is_spare);
        is_spare
    }

    /// A die in use answers nothing any more: a spare takes its place, if there is one. From now on stripes may use all
    /// dies, even of one channel.
    pub fn lose(&mut self, die: DieId) {
        self.note_death(die);
        self.replace();
    }

    fn note_death(&mut self, die: DieId) {
        self.failed_dies += 1;
        self.deaths += 1;
        self.span = self.geometry.dies();
        self.lost[die.index()] = true;
    }

    /// A spare is used. `false`: there is none.
    fn replace(&mut self) -> bool {
        let spare = self.spares.pop();
        if let Some(spare) = spare {
            self.lost[spare.index()] = false;
        }
        spare.is_some()
    }

    /// Which dies are lost, and which spares have taken their places.
    pub fn adopt(&mut self, image: &FlashState) {
        let is_used = |spare: DieId| {
            let first = image.geometry.first_block(spare).index();
            let blocks = &image.blocks()[first..first + image.geometry.blocks_per_die as usize];
            !image.die_is_dead(spare) && blocks.iter().any(|row| row.done > 0)
        };
        let (used, spares): (Vec<_>, Vec<_>) = self.spares.iter().copied().partition(|spare| is_used(*spare));
        for die in used {
            self.lost[die.index()] = false;
        }
        self.spares = spares;
        for die in (0..image.geometry.dies()).map(DieId).filter(|die| image.die_is_dead(*die)) {
            self.spares.retain(|spare| *spare != die);
            self.note_death(die);
        }
        for _ in 0..self.missing_dies() {
            if !self.replace() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Shape;

    fn grid() -> Grid {
        let shape = Shape {
            channels: 4,
            dies_per_channel: 1,
            planes_per_die: 2,
            blocks_per_die: 6,
            pages_per_block: 3,
            page_bytes: 512,
        };
        Grid::new(Geometry::new(shape).unwrap(), Chips { data: 2, spares: 1 })
    }

    #[test]
    fn a_position_is_one_page_and_its_neighbours_are_on_other_dies() {
        let grid = grid();
        let mut pages: Vec<Ppn> = grid.all_pages().collect();
        for first in Position(0).to(Position(72)) {
            assert_eq!(grid.position(grid.page(first)), first);
            let reach = grid.pages_from(first, grid.reach_of(first));
            let dies: Vec<DieId> = reach.map(|page| grid.die_of(page)).collect();
            assert!(dies.iter().enumerate().all(|(index, die)| !dies[..index].contains(die)), "{first:?}: {dies:?}");
        }
        pages.sort_unstable();
        assert_eq!(pages, (0..72).map(Ppn).collect::<Vec<_>>());
    }

    #[test]
    fn a_spare_takes_the_place_of_a_lost_die_once() {
        let mut grid = grid();
        let state = |grid: &Grid| [grid.live_dies(), grid.missing_dies(), grid.deaths(), grid.failed_dies()];
        assert_eq!(state(&grid), [3, 0, 0, 0]);
        assert!(!grid.lose_spare(DieId(1)));
        grid.lose(DieId(1));
        assert_eq!((state(&grid), grid.lose_spare(DieId(3))), ([3, 0, 1, 1], false));
        grid.lose(DieId(2));
        assert_eq!((state(&grid), grid.live_pages()), ([2, 1, 2, 2], 12));
    }
}
