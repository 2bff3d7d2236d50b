//! Numbers of superblocks and of the pages in them, and entries of the two maps: the one file that knows their bits.
//!
//! ```text
//! map entry   0xxx…  place of the newest version      back entry   0xxx…  logical page
//!             1xxx…  place of a tombstone                          1xxx…  tombstone at this place
//!             1111…  nowhere: never written
//! ```

use units::Lpn;

const TOMBSTONE: u32 = 1 << 31;

/// A superblock, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Superblock(pub u32);

impl Superblock {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page of a superblock: its number counts superblocks first and positions within them last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub u32);

impl Place {
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The one behind it.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// All from here to `end`.
    pub fn to(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + use<> {
        (self.0..end.0).map(Self)
    }
}

/// Where a logical page is. As it lies in snapshots: four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Entry(u32);

/// What an [`Entry`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Its newest version is here.
    Data(Place),
    /// The tombstone here says that there is nothing of it.
    Tombstone(Place),
    /// Never written.
    Nowhere,
}

impl Entry {
    /// Never written.
    pub const NOWHERE: Self = Self(u32::MAX);

    #[inline]
    pub const fn data(place: Place) -> Self {
        Self(place.0)
    }

    #[inline]
    pub const fn tombstone(place: Place) -> Self {
        Self(TOMBSTONE | place.0)
    }

    #[inline]
    pub fn at(self) -> At {
        if self.0 & TOMBSTONE == 0 {
            At::Data(Place(self.0))
        } else if self == Self::NOWHERE {
            At::Nowhere
        } else {
            At::Tombstone(Place(self.0 & !TOMBSTONE))
        }
    }

    /// The place of the newest version, if there is one.
    #[inline]
    pub fn on_flash(self) -> Option<Place> {
        (self.0 & TOMBSTONE == 0).then_some(Place(self.0))
    }

    /// The place of whatever it names.
    pub fn place(self) -> Option<Place> {
        (self != Self::NOWHERE).then_some(Place(self.0 & !TOMBSTONE))
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What a [`Back`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A version of this logical page.
    Version(Lpn),
    /// The tombstone that map entries name by this place, or its twin.
    Tombstone(Place),
}

/// What a place holds. Four bytes, as an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Back(u32);

impl Back {
    /// Nothing yet.
    pub const NOTHING: Self = Self(u32::MAX);

    #[inline]
    pub const fn data(logical: Lpn) -> Self {
        Self(logical.0)
    }

    #[inline]
    pub const fn tombstone(place: Place) -> Self {
        Self(TOMBSTONE | place.0)
    }

    #[inline]
    pub const fn held(self) -> Held {
        if self.0 & TOMBSTONE == 0 { Held::Version(Lpn(self.0)) } else { Held::Tombstone(Place(self.0 & !TOMBSTONE)) }
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_one_thing() {
        for (entry, at) in [
            (Entry::data(Place(7)), At::Data(Place(7))),
            (Entry::tombstone(Place(1 << 30)), At::Tombstone(Place(1 << 30))),
            (Entry::NOWHERE, At::Nowhere),
        ] {
            assert_eq!((entry.at(), Entry::from_bits(entry.bits())), (at, entry));
            assert_eq!(entry.on_flash().is_some(), matches!(at, At::Data(_)));
            assert_eq!(entry.place().is_none(), at == At::Nowhere);
        }
        assert_eq!(Back::data(Lpn(3)).held(), Held::Version(Lpn(3)));
        assert_eq!(Back::tombstone(Place(3)).held(), Held::Tombstone(Place(3)));
    }
}
