//! Groups of a row, and sets of their elements.
//!
//! ```text
//! element   0 .. data - 1    data + 0 .. data + codes - 1
//!           data blocks      code blocks
//! ```

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

/// Place of a group of blocks that are coded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupAt {
    pub zone: u32,
    /// Row of the zone.
    pub row: u32,
    /// Group of the row.
    pub group: u32,
}

/// A set of elements of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elements(u32);

impl Elements {
    pub const NONE: Self = Self(0);

    /// A bit for each element.
    #[inline]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub const fn one(element: u32) -> Self {
        Self(1 << element)
    }

    /// `count` elements from `first` on.
    #[inline]
    pub const fn range(first: u32, count: u32) -> Self {
        Self((((1_u64 << count) - 1) << first) as u32)
    }

    #[inline]
    pub const fn contains(self, element: u32) -> bool {
        self.0 >> element & 1 == 1
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// No element is in both.
    #[inline]
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    #[inline]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    #[inline]
    pub const fn insert(&mut self, element: u32) {
        self.0 |= 1 << element;
    }

    #[inline]
    pub const fn remove(&mut self, element: u32) {
        self.0 &= !(1 << element);
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        units::members(self.0)
    }
}

impl FromIterator<u32> for Elements {
    fn from_iter<I: IntoIterator<Item = u32>>(elements: I) -> Self {
        Self(elements.into_iter().fold(0, |set, element| set | 1 << element))
    }
}

impl BitAnd for Elements {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Elements {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Elements {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Those of the first that are not in the second.
impl Sub for Elements {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for Elements {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}
