//! Address types: one type per address space.

use std::fmt;
use std::ops::{Add, Sub};

macro_rules! address {
    ($(#[$doc:meta])* $name:ident, $repr:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The address as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}", self.0)
            }
        }
    };
}

address!(
    /// Logical page number: an index into the user-visible space, in flash-page units.
    Lpn,
    u32
);
address!(
    /// Number of a translation page: a run of map entries that flash holds together.
    Tpn,
    u32
);
address!(
    /// Physical page number: block × pages per block + page in block, over the whole drive.
    Ppn,
    u32
);
address!(
    /// Physical block, numbered over the whole drive: die × blocks per die + block in die.
    BlockId,
    u32
);
address!(
    /// Die, numbered over the whole drive; die `d` sits on channel `d mod channels`.
    DieId,
    u32
);
address!(
    /// Channel: the bus shared by the dies behind it.
    ChannelId,
    u32
);

impl Add<u32> for Lpn {
    type Output = Self;

    /// The logical page so many behind this one.
    #[inline(always)]
    fn add(self, pages: u32) -> Self {
        Self(self.0 + pages)
    }
}

impl Sub for Lpn {
    type Output = u32;

    /// How many logical pages this one is behind `first`.
    #[inline(always)]
    fn sub(self, first: Self) -> u32 {
        self.0 - first.0
    }
}
