//! A large drive in the state of a small one: each block of the small drive stands for several blocks of the large one,
//! each with logical pages of its own.
//!
//! *Why*: to bring a large drive into use page by page takes minutes, and its state is known beforehand. Under uniform
//! writes a drive with fewer blocks comes to the same shares of valid pages, the same wear and the same ages.
//!
//! Faithful to: planes, blocks and spare share of the large drive. Simplified: all copies of a block have equally many
//! valid pages, until the writes that follow tell them apart.
//! Protects: each logical page of the large drive stands in one copy, or in none.

use units::{BlockId, Geometry, Lpn, Ppn};

/// The logical pages of a small drive on a large one, copy by copy.
///
/// Stretches of addresses stay together, so that a read of several pages finds them on as many planes as on the small
/// drive. Each stretch goes to a random place, so that each block has its share of every part of the addresses.
#[derive(Clone, Debug)]
pub struct Tiling {
    small: Geometry,
    small_pages: u32,
    copies: u32,
    /// The stretch of the large drive for each stretch of each copy, and those that no copy has.
    places: Vec<u32>,
    /// Erases of each block before the drives were in use.
    worn: u32,
    /// Seed for the order of the pages that no copy has.
    pub seed: u64,
}

impl Tiling {
    /// Pages of a stretch.
    pub const STRETCH: u32 = 64;

    /// A tiling of `copies` drives of `small_pages` logical pages, a whole number of stretches. `places`: all
    /// stretches of the large drive, those of the copies first. `worn`: erases of each block of both before they were
    /// in use.
    pub fn new(small: Geometry, small_pages: u32, copies: u32, places: Vec<u32>, worn: u32, seed: u64) -> Self {
        debug_assert!(places.len() as u64 * u64::from(Self::STRETCH) >= u64::from(small_pages) * u64::from(copies));
        Self { small, small_pages, copies, places, worn, seed }
    }

    /// Shape of the small drive.
    pub fn small(&self) -> &Geometry {
        &self.small
    }

    /// Logical pages of the small drive.
    pub fn small_pages(&self) -> u32 {
        self.small_pages
    }

    /// Copies of the small drive.
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// The page of the large drive for a page of a copy.
    #[inline]
    pub fn logical(&self, copy: u32, page: Lpn) -> Lpn {
        let stretch = copy * (self.small_pages / Self::STRETCH) + page.0 / Self::STRETCH;
        Lpn(self.places[stretch as usize] * Self::STRETCH + page.0 % Self::STRETCH)
    }

    /// Blocks that the large drive of `pages` logical pages closes after a block of a copy, for `age` blocks that the
    /// small drive closed after it. A copy's blocks are older than those of the next copy.
    pub fn age(&self, age: u32, copy: u32, pages: u32) -> u32 {
        let shares = u64::from(self.copies + 1);
        let age = u64::from(age) * shares - u64::from(copy);
        (age * u64::from(pages) / (u64::from(self.small_pages) * shares)) as u32
    }

    /// Erases of a block of the large drive of `blocks` blocks, for those of the block that it is like. There are as
    /// many of them for each page that the host wrote as on the small drive. The small drive has all the open and free
    /// blocks of the large one, so each of its blocks is written less. What rounding leaves over goes to some blocks.
    pub fn erases(&self, erases: u32, block: BlockId, blocks: u32) -> u32 {
        self.worn + self.erases_in_use(erases - self.worn, block, blocks)
    }

    /// The same for erases that a new block does not have, whatever it was worn before.
    pub fn erases_in_use(&self, erases: u32, block: BlockId, blocks: u32) -> u32 {
        let all = u128::from(blocks) * u128::from(self.small_pages / Self::STRETCH);
        let spread = (u128::from(block.0.wrapping_mul(0x9e37_79b1)) * all) >> u32::BITS;
        let each = u128::from(self.small.blocks()) * self.places.len() as u128;
        ((u128::from(erases) * each + spread) / all) as u32
    }

    /// The sequence number of a copy's page. Blocks that fill the rest of the large drive are one more copy.
    pub fn sequence(&self, copy: u32, sequence: u64) -> u64 {
        sequence * u64::from(self.copies + 1) + u64::from(copy)
    }
}

/// A block of the large drive.
#[derive(Clone, Copy, Debug)]
pub struct TiledBlock {
    /// The block of the small drive whose wear it has.
    pub like: BlockId,
    /// The copy whose pages it holds, as that block does; nothing where it is erased.
    pub copy: Option<u32>,
}

/// The blocks of a large drive.
#[derive(Clone, Debug)]
pub struct Tiled {
    /// The contents and the wear of each block.
    pub blocks: Vec<TiledBlock>,
    /// Logical pages that no block holds, in any order: the host writes them next.
    pub unwritten: Vec<Lpn>,
    /// The newest version that each flash page holds; empty where flash has no contents.
    pub newest: Vec<Option<Lpn>>,
}

impl Tiled {
    /// The page of the small drive that a page of a tiled block is like.
    pub fn source(&self, large: &Geometry, small: &Geometry, page: Ppn) -> Ppn {
        let block = &self.blocks[large.block_of(page).index()];
        small.page_at(block.like, large.page_in_block(page))
    }
}
