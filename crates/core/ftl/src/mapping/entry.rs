//! Entries of the map and of the back map: the one file that knows their bits.
//!
//! ```text
//! map entry   0xxx…  flash page              back entry   0xxx…  logical page
//!             10xx…  tombstone on flash                   1xxx…  tombstone
//!             11xx…  trim in the log
//!             1111…  nowhere: never written
//! ```
//!
//! A page-level mapping has its tombstones in slots; in a log-block mapping the slot is the number of the flash page.
//!
//! Tables in memory have these bits inverted, so that an entry without a page is 0: the system gives the memory of a
//! table of zeros only where it is written.

use units::{Lpn, Ppn};

const TRIMMED: u32 = 1 << 31;
const IN_LOG: u32 = 1 << 30;

/// Where a logical page is. As it lies in snapshots and in records on flash: four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Entry(u32);

/// The meaning of an [`Entry`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this flash page.
    Page(Ppn),
    /// Trimmed by the tombstone in this slot.
    Tombstone(u32),
    /// Trimmed by the log, where this is its number.
    InLog(u32),
    Nowhere,
}

impl Entry {
    pub const NOWHERE: Self = Self(u32::MAX);
    /// Trimmed, in memory or on flash.
    pub const ZEROS: Self = Self(TRIMMED);

    #[inline(always)]
    pub const fn page(page: Ppn) -> Self {
        Self(page.0)
    }

    #[inline]
    pub const fn tombstone(slot: u32) -> Self {
        Self(TRIMMED | slot)
    }

    #[inline]
    pub const fn in_log(number: u32) -> Self {
        Self(TRIMMED | IN_LOG | number)
    }

    /// Whether the page has data on flash.
    #[inline(always)]
    pub const fn is_page(self) -> bool {
        self.0 < TRIMMED
    }

    /// The flash page with its data, if there is one.
    #[inline(always)]
    pub fn on_flash(self) -> Option<Ppn> {
        self.is_page().then_some(Ppn(self.0))
    }

    /// The flash page with its data, or else the slot of its tombstone; of a page that no log trims.
    #[inline(always)]
    pub fn page_or_slot(self) -> Option<u32> {
        debug_assert!(!matches!(self.place(), Place::InLog(_)), "a trim in the log is on no flash page");
        (self != Self::NOWHERE).then_some(self.0 & !TRIMMED)
    }

    #[inline]
    pub fn place(self) -> Place {
        if self.is_page() {
            Place::Page(Ppn(self.0))
        } else if self == Self::NOWHERE {
            Place::Nowhere
        } else if self.0 & IN_LOG != 0 {
            Place::InLog(self.0 & !(TRIMMED | IN_LOG))
        } else {
            Place::Tombstone(self.0 & !TRIMMED)
        }
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// As it lies in a table in memory.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        !self.0
    }

    #[inline(always)]
    pub const fn from_word(word: u32) -> Self {
        Self(!word)
    }
}

/// The meaning of a [`Back`] entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occupant {
    /// A version of this logical page.
    Version(Lpn),
    /// The tombstone in this slot.
    Tombstone(u32),
}

/// The contents of a flash page. Four bytes, as an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(super) struct Back(u32);

impl Back {
    /// No page is there, and no record.
    pub const NOTHING: Self = Self(u32::MAX);
    /// A record whose slot does not matter.
    pub const RECORD: Self = Self(TRIMMED);

    #[inline(always)]
    pub const fn data(logical: Lpn) -> Self {
        Self(logical.0)
    }

    #[inline]
    pub const fn tombstone(slot: u32) -> Self {
        Self(TRIMMED | slot)
    }

    /// Whether it is a tombstone, and no version of a logical page.
    #[inline(always)]
    pub const fn is_tombstone(self) -> bool {
        self.0 & TRIMMED != 0
    }

    #[inline(always)]
    pub const fn occupant(self) -> Occupant {
        if self.is_tombstone() { Occupant::Tombstone(self.0 & !TRIMMED) } else { Occupant::Version(Lpn(self.0)) }
    }

    /// The logical page it holds a version of.
    #[inline(always)]
    pub fn logical(self) -> Option<Lpn> {
        (!self.is_tombstone()).then_some(Lpn(self.0))
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    /// As it lies in a table in memory.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        !self.0
    }

    #[inline(always)]
    pub const fn from_word(word: u32) -> Self {
        Self(!word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_one_thing() {
        for (entry, place) in [
            (Entry::page(Ppn(7)), Place::Page(Ppn(7))),
            (Entry::tombstone(7), Place::Tombstone(7)),
            (Entry::in_log(7), Place::InLog(7)),
            (Entry::NOWHERE, Place::Nowhere),
        ] {
            assert_eq!((entry.place(), Entry::from_bits(entry.bits())), (place, entry));
            assert_eq!(Entry::from_word(entry.word()), entry);
            assert_eq!(entry.is_page(), matches!(place, Place::Page(_)));
        }
        let entries = [Entry::page(Ppn(7)), Entry::tombstone(7), Entry::NOWHERE];
        assert_eq!(entries.map(Entry::page_or_slot), [Some(7), Some(7), None]);
        assert_eq!(Back::data(Lpn(3)).occupant(), Occupant::Version(Lpn(3)));
        assert_eq!(Back::tombstone(3).occupant(), Occupant::Tombstone(3));
        assert!(Back::RECORD.is_tombstone() && Back::NOTHING.logical().is_none());
        assert_eq!((Back::from_word(0), Entry::from_word(0)), (Back::NOTHING, Entry::NOWHERE));
    }
}
