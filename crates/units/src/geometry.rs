//! The shape of the flash array and the only place where addresses are packed and unpacked.

use crate::{BlockId, ChannelId, DieId, Ppn, SECTOR_BYTES};

/// Channels × dies × planes × blocks × pages. Chips are packages of dies and carry no state of
/// their own here: a chip's dies are those behind one channel at one position.
///
/// ```text
/// ppn = ((die × blocks_per_die) + block) × pages_per_block + page
/// plane of a block = block in die / blocks_per_plane (the blocks of a plane are contiguous)
/// channel of a die = die mod channels
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of channels, 1 and up.
    pub channels: u32,
    /// Dies behind each channel, 1 and up.
    pub dies_per_channel: u32,
    /// Planes of a die, 1 and up; must divide `blocks_per_die`.
    pub planes_per_die: u32,
    /// Blocks of a die over all its planes.
    pub blocks_per_die: u32,
    /// Pages of a block, at most 65,535.
    pub pages_per_block: u32,
    /// Bytes of a page without its out-of-band area; a multiple of the sector, at most 32 KiB.
    pub page_bytes: u32,
}

/// A geometry that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
        /// Value found.
        value: u64,
        /// Largest value accepted.
        limit: u64,
    },
    /// Page size is no multiple of the sector.
    #[error("a page of {bytes} bytes is not a whole number of 512-byte sectors")]
    PageSize {
        /// Value found.
        bytes: u32,
    },
    /// Blocks cannot be spread evenly over the planes.
    #[error("{blocks} blocks a die cannot be divided over {planes} planes")]
    Planes {
        /// Blocks per die.
        blocks: u32,
        /// Planes per die.
        planes: u32,
    },
}

/// Most pages in a drive: the all-ones address is kept for "none".
const PAGES_LIMIT: u64 = u32::MAX as u64;

impl Geometry {
    /// Checks every bound named in the field descriptions.
    ///
    /// # Errors
    /// The first [`GeometryError`] met.
    pub fn validate(&self) -> Result<(), GeometryError> {
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
        if !u64::from(self.page_bytes).is_multiple_of(SECTOR_BYTES) {
            return Err(GeometryError::PageSize { bytes: self.page_bytes });
        }
        for (field, value, limit) in [
            ("flash.page_size", u64::from(self.page_bytes), 64 * SECTOR_BYTES),
            ("flash.pages_per_block", u64::from(self.pages_per_block), 32_767),
            ("the number of dies", u64::from(self.channels) * u64::from(self.dies_per_channel), 4096),
            ("the number of flash pages", self.pages_u64(), PAGES_LIMIT - 1),
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
    #[inline]
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Blocks in the drive.
    #[inline]
    pub const fn blocks(&self) -> u32 {
        self.dies() * self.blocks_per_die
    }

    /// Blocks of one plane.
    #[inline]
    pub const fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_die / self.planes_per_die
    }

    /// Planes in the drive.
    #[inline]
    pub const fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Pages in the drive.
    #[inline]
    pub const fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// Bytes of flash in the drive, out-of-band areas not counted.
    pub const fn bytes(&self) -> u64 {
        self.pages() as u64 * self.page_bytes as u64
    }

    /// Host sectors in a page (1 to 64).
    #[inline]
    pub const fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES as u32
    }

    /// Mask with one bit for each sector of a page.
    #[inline]
    pub const fn full_mask(&self) -> u64 {
        u64::MAX >> (64 - self.sectors_per_page())
    }

    /// Block of a page.
    #[inline]
    pub const fn block_of(&self, page: Ppn) -> BlockId {
        BlockId(page.0 / self.pages_per_block)
    }

    /// Position of a page in its block.
    #[inline]
    pub const fn page_in_block(&self, page: Ppn) -> u32 {
        page.0 % self.pages_per_block
    }

    /// The page at position `page` of `block`.
    #[inline]
    pub const fn page_at(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(block.0 * self.pages_per_block + page)
    }

    /// Die of a block.
    #[inline]
    pub const fn die_of(&self, block: BlockId) -> DieId {
        DieId(block.0 / self.blocks_per_die)
    }

    /// Plane of a block within its die.
    #[inline]
    pub const fn plane_of(&self, block: BlockId) -> u32 {
        (block.0 % self.blocks_per_die) / self.blocks_per_plane()
    }

    /// First block of a die.
    #[inline]
    pub const fn first_block(&self, die: DieId) -> BlockId {
        BlockId(die.0 * self.blocks_per_die)
    }

    /// Channel of a die.
    #[inline]
    pub const fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(die.0 % self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Geometry = Geometry {
        channels: 2,
        dies_per_channel: 3,
        planes_per_die: 2,
        blocks_per_die: 4,
        pages_per_block: 5,
        page_bytes: 4096,
    };

    #[test]
    fn packing_round_trips_for_every_page() {
        for number in 0..SMALL.pages() {
            let page = Ppn(number);
            let block = SMALL.block_of(page);
            assert_eq!(SMALL.page_at(block, SMALL.page_in_block(page)), page);
            assert!(SMALL.die_of(block).0 < SMALL.dies());
            assert!(SMALL.plane_of(block) < SMALL.planes_per_die);
        }
        assert_eq!(SMALL.full_mask(), 0xff);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(matches!(Geometry { channels: 0, ..SMALL }.validate(), Err(GeometryError::Zero { .. })));
        assert!(matches!(Geometry { page_bytes: 1000, ..SMALL }.validate(), Err(GeometryError::PageSize { .. })));
        assert!(matches!(Geometry { planes_per_die: 3, ..SMALL }.validate(), Err(GeometryError::Planes { .. })));
        assert!(matches!(Geometry { blocks_per_die: 1 << 31, ..SMALL }.validate(), Err(GeometryError::TooLarge { .. })));
        assert_eq!(SMALL.validate(), Ok(()));
    }
}
