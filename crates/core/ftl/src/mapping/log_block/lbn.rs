//! Logical blocks: as many logical pages as a block has, from a multiple of that number on.

use units::Lpn;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mapping) struct Lbn(pub u32);

impl Lbn {
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for Lbn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// How logical pages fall into logical blocks.
#[derive(Clone, Copy, Debug)]
pub(in crate::mapping) struct LogicalBlocks {
    /// Logical pages of the drive.
    pub pages: u32,
    pub pages_per_block: u32,
}

impl LogicalBlocks {
    pub fn count(self) -> u32 {
        self.pages.div_ceil(self.pages_per_block)
    }

    pub fn all(self) -> impl Iterator<Item = Lbn> {
        (0..self.count()).map(Lbn)
    }

    /// The logical block of a page.
    #[inline(always)]
    pub fn of(self, logical: Lpn) -> Lbn {
        Lbn(logical.0 / self.pages_per_block)
    }

    /// Where a page is in its logical block.
    #[inline(always)]
    pub fn offset(self, logical: Lpn) -> u32 {
        logical.0 % self.pages_per_block
    }

    /// The page at an offset; the last logical block may have fewer.
    pub fn page(self, lbn: Lbn, offset: u32) -> Option<Lpn> {
        let logical = lbn.0 * self.pages_per_block + offset;
        (logical < self.pages).then_some(Lpn(logical))
    }

    /// Pages of a logical block.
    pub fn len(self, lbn: Lbn) -> u32 {
        self.pages_per_block.min(self.pages - lbn.0 * self.pages_per_block)
    }

    /// Pages from this one to the end of its logical block, itself included.
    pub fn to_end(self, logical: Lpn) -> u32 {
        self.pages_per_block - self.offset(logical)
    }

    /// The pages of a logical block.
    pub fn pages_of(self, lbn: Lbn) -> impl Iterator<Item = Lpn> {
        let first = lbn.0 * self.pages_per_block;
        (first..first + self.len(lbn)).map(Lpn)
    }
}
