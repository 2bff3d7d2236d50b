//! The shape of the flash array and the only place where addresses are packed and unpacked.

use crate::{BlockId, ChannelId, DieId, Ppn, SECTOR_BYTES};
use std::ops::Deref;

/// Division by a number known at run time as one multiplication, without a branch. Exact for every
/// 32-bit dividend: with m = floor(2^63 / d) + 1 (2^63 for d = 1) the error of n · m / 2^63 is below
/// n · d / 2^63 / d < 1 / d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reciprocal {
    multiplier: u64,
}

impl Reciprocal {
    /// Division by `divisor`, 1 and up.
    pub const fn new(divisor: u32) -> Self {
        let exact = divisor.is_power_of_two();
        Self { multiplier: (1 << 63) / divisor as u64 + !exact as u64 }
    }

    /// `number` / divisor, rounded down.
    #[inline(always)]
    pub const fn divide(self, number: u32) -> u32 {
        ((((number as u128) << 1) * self.multiplier as u128) >> 64) as u32
    }
}

/// Channels × dies × planes × blocks × pages. Chips are packages of dies and carry no state of
/// their own here: a chip's dies are those behind one channel at one position.
///
/// ```text
/// ppn = ((die × blocks_per_die) + block) × pages_per_block + page
/// plane of a block = block in die / blocks_per_plane (the blocks of a plane are contiguous)
/// channel of a die = die mod channels
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of channels, 1 and up.
    pub channels: u32,
    /// Dies behind each channel, 1 and up.
    pub dies_per_channel: u32,
    /// Planes of a die, 1 and up; must divide `blocks_per_die`.
    pub planes_per_die: u32,
    /// Blocks of a die over all its planes.
    pub blocks_per_die: u32,
    /// Pages of a block, at most 32,767.
    pub pages_per_block: u32,
    /// Bytes of a page without its out-of-band area; a power of two from 512 bytes to 32 KiB.
    pub page_bytes: u32,
}

/// Organization of a flash array, as data sheets call it: its shape without the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Organization {
    /// Number of channels.
    pub channels: u32,
    /// Dies behind each channel.
    pub dies_per_channel: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page without its out-of-band area.
    pub page_bytes: u32,
}

impl Organization {
    /// Dies in the array.
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// The shape of an array whose dies have so many blocks.
    pub const fn with_blocks(&self, blocks_per_die: u32) -> Shape {
        let Self { channels, dies_per_channel, planes_per_die, pages_per_block, page_bytes } = *self;
        Shape { channels, dies_per_channel, planes_per_die, blocks_per_die, pages_per_block, page_bytes }
    }
}

/// A geometry that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of each error names its fields")]
pub enum GeometryError {
    /// A count that must be at least one is zero.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// Name of the field.
        field: &'static str,
    },
    /// A field exceeds what an address can express.
    #[error("{field} is {value}; the limit is {limit}")]
    TooLarge {
        /// Name of the field.
        field: &'static str,
        value: u64,
        limit: u64,
    },
    /// Page size is not a power of two, or smaller than a sector.
    #[error("a page of {bytes} bytes is not a power of two of at least 512 bytes")]
    PageSize { bytes: u32 },
    /// Programs cannot fill a block.
    #[error("a program of {pages} pages does not divide a block of {block}")]
    Program {
        /// Pages of a program.
        pages: u32,
        /// Pages of a block.
        block: u32,
    },
    /// Blocks cannot be spread evenly over the planes.
    #[error("{blocks} blocks a die cannot be divided over {planes} planes")]
    Planes { blocks: u32, planes: u32 },
}

impl GeometryError {
    /// Field of [`GeometryError::TooLarge`] for dies.
    pub const DIES: &'static str = "the number of dies";
    /// The same for pages.
    pub const PAGES: &'static str = "the number of units that are mapped, spare ones included,";
}

/// Most pages in a drive: the high bit of an address is kept for other uses of a map entry.
const PAGES_LIMIT: u64 = 1 << 31;

impl Shape {
    /// Largest flash page, bytes.
    pub const PAGE_BYTES_MAX: u64 = 64 * SECTOR_BYTES;
    /// Most dies.
    pub const DIES_MAX: usize = 4096;

    /// Checks every bound named in the field descriptions.
    ///
    /// # Errors
    /// The first [`GeometryError`] met.
    fn validate(&self) -> Result<(), GeometryError> {
        for (field, value) in [
            ("flash.channels", self.channels),
            ("flash.dies_per_channel", self.dies_per_channel),
            ("flash.planes_per_die", self.planes_per_die),
            ("blocks per die", self.blocks_per_die),
            ("flash.pages_per_block", self.pages_per_block),
            ("flash.page_size", self.page_bytes),
        ] {
            if value == 0 {
                return Err(GeometryError::Zero { field });
            }
        }
        if !self.page_bytes.is_power_of_two() || u64::from(self.page_bytes) < SECTOR_BYTES {
            return Err(GeometryError::PageSize { bytes: self.page_bytes });
        }
        for (field, value, limit) in [
            ("flash.page_size", u64::from(self.page_bytes), Self::PAGE_BYTES_MAX),
            ("flash.pages_per_block", u64::from(self.pages_per_block), Geometry::PAGES_PER_BLOCK_MAX),
            (GeometryError::DIES, u64::from(self.channels) * u64::from(self.dies_per_channel), Self::DIES_MAX as u64),
            (GeometryError::PAGES, self.pages_u64(), PAGES_LIMIT),
        ] {
            if value > limit {
                return Err(GeometryError::TooLarge { field, value, limit });
            }
        }
        if !self.blocks_per_die.is_multiple_of(self.planes_per_die) {
            return Err(GeometryError::Planes { blocks: self.blocks_per_die, planes: self.planes_per_die });
        }
        Ok(())
    }

    fn pages_u64(&self) -> u64 {
        u64::from(self.channels)
            .saturating_mul(u64::from(self.dies_per_channel))
            .saturating_mul(u64::from(self.blocks_per_die))
            .saturating_mul(u64::from(self.pages_per_block))
    }

    /// Dies in the drive.
    #[inline(always)]
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Blocks in the drive.
    #[inline(always)]
    pub const fn blocks(&self) -> u32 {
        self.dies() * self.blocks_per_die
    }

    /// Blocks of one plane.
    #[inline(always)]
    pub const fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_die / self.planes_per_die
    }

    /// Planes in the drive.
    #[inline(always)]
    pub const fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Pages in the drive.
    #[inline(always)]
    pub const fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// Bytes of flash in the drive, out-of-band areas not counted.
    pub const fn bytes(&self) -> u64 {
        self.pages() as u64 * self.page_bytes as u64
    }

    /// Host sectors in a page (1 to 64).
    #[inline(always)]
    pub const fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES as u32
    }

    /// Host sectors in a page as a power of two.
    #[inline(always)]
    pub const fn page_shift(&self) -> u32 {
        self.sectors_per_page().trailing_zeros()
    }

    /// Mask with one bit for each sector of a page.
    #[inline(always)]
    pub const fn full_mask(&self) -> u64 {
        u64::MAX >> (64 - self.sectors_per_page())
    }
}

/// A checked [`Shape`], with constants for fast division by its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    shape: Shape,
    by_pages_per_block: Reciprocal,
    by_blocks_per_die: Reciprocal,
    by_blocks_per_plane: Reciprocal,
    pages_per_program: u32,
}

impl Deref for Geometry {
    type Target = Shape;

    #[inline(always)]
    fn deref(&self) -> &Shape {
        &self.shape
    }
}

impl Geometry {
    /// Most pages of a block.
    pub const PAGES_PER_BLOCK_MAX: u64 = 32_767;

    /// Checks a shape.
    ///
    /// # Errors
    /// The first [`GeometryError`] met.
    pub fn new(shape: Shape) -> Result<Self, GeometryError> {
        shape.validate()?;
        Ok(Self {
            shape,
            by_pages_per_block: Reciprocal::new(shape.pages_per_block),
            by_blocks_per_die: Reciprocal::new(shape.blocks_per_die),
            by_blocks_per_plane: Reciprocal::new(shape.blocks_per_plane()),
            pages_per_program: 1,
        })
    }

    /// The same where `pages` consecutive pages of a block are programmed together.
    ///
    /// # Errors
    /// They do not divide a block.
    pub fn programmed_by(self, pages: u32) -> Result<Self, GeometryError> {
        if pages == 0 {
            return Err(GeometryError::Zero { field: "pages of a program" });
        }
        if !self.pages_per_block.is_multiple_of(pages) {
            return Err(GeometryError::Program { pages, block: self.pages_per_block });
        }
        Ok(Self { pages_per_program: pages, ..self })
    }

    /// Consecutive pages of a block that one program writes, from 1; they divide the block.
    #[inline(always)]
    pub const fn pages_per_program(&self) -> u32 {
        self.pages_per_program
    }

    /// Plane of a block, numbered over the whole drive.
    #[inline(always)]
    pub const fn plane_in_drive(&self, block: BlockId) -> u32 {
        self.by_blocks_per_plane.divide(block.0)
    }

    /// Block of a page.
    #[inline(always)]
    pub const fn block_of(&self, page: Ppn) -> BlockId {
        BlockId(self.by_pages_per_block.divide(page.0))
    }

    /// Position of a page in its block.
    #[inline(always)]
    pub const fn page_in_block(&self, page: Ppn) -> u32 {
        page.0 - self.by_pages_per_block.divide(page.0) * self.shape.pages_per_block
    }

    /// Position of a page in its block, where that is known: without a division.
    #[inline(always)]
    pub const fn page_within(&self, block: BlockId, page: Ppn) -> u32 {
        page.0 - self.page_at(block, 0).0
    }

    /// The page at position `page` of `block`.
    #[inline(always)]
    pub const fn page_at(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(block.0 * self.shape.pages_per_block + page)
    }

    /// Die of a block.
    #[inline(always)]
    pub const fn die_of(&self, block: BlockId) -> DieId {
        DieId(self.by_blocks_per_die.divide(block.0))
    }

    /// Plane of a block within its die.
    #[inline(always)]
    pub const fn plane_of(&self, block: BlockId) -> u32 {
        self.by_blocks_per_plane.divide(block.0) % self.shape.planes_per_die
    }

    /// First block of a die.
    #[inline(always)]
    pub const fn first_block(&self, die: DieId) -> BlockId {
        BlockId(die.0 * self.shape.blocks_per_die)
    }

    /// Channel of a die.
    #[inline(always)]
    pub const fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(die.0 % self.shape.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Shape = Shape {
        channels: 2,
        dies_per_channel: 3,
        planes_per_die: 2,
        blocks_per_die: 4,
        pages_per_block: 5,
        page_bytes: 4096,
    };

    #[test]
    fn packing_round_trips_for_every_page() {
        let geometry = Geometry::new(SMALL).unwrap();
        for number in 0..SMALL.pages() {
            let page = Ppn(number);
            let block = geometry.block_of(page);
            assert_eq!(geometry.page_at(block, geometry.page_in_block(page)), page);
            assert!(geometry.die_of(block).0 < SMALL.dies());
            assert!(geometry.plane_of(block) < SMALL.planes_per_die);
        }
        assert_eq!(SMALL.full_mask(), 0xff);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(matches!(Shape { channels: 0, ..SMALL }.validate(), Err(GeometryError::Zero { .. })));
        assert!(matches!(Shape { page_bytes: 1000, ..SMALL }.validate(), Err(GeometryError::PageSize { .. })));
        assert!(matches!(Shape { planes_per_die: 3, ..SMALL }.validate(), Err(GeometryError::Planes { .. })));
        assert!(matches!(Shape { blocks_per_die: 1 << 31, ..SMALL }.validate(), Err(GeometryError::TooLarge { .. })));
        assert_eq!(SMALL.validate(), Ok(()));
    }

    #[test]
    fn reciprocals_divide_exactly() {
        for divisor in [1, 2, 3, 5, 7, 64, 1180, 65_535, 1 << 20, u32::MAX] {
            let reciprocal = Reciprocal::new(divisor);
            for number in [0, 1, 2, divisor - 1, divisor, 12_345_678, u32::MAX - 1, u32::MAX] {
                assert_eq!(reciprocal.divide(number), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
