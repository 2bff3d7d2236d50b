//! From keys to addresses.
//!
//! An object takes whole blocks of 4096 bytes, as a file does, and keeps its place until it is deleted, written with
//! another number of blocks, or, in a log, written at all. A place that is left by a write or a deletion is trimmed. An
//! object that is read before it is written was there before the trace, and gets a place when it is read.

use std::collections::BTreeMap;

use units::quantity::format_size;

use super::space::{Piece, Space};

/// Bytes of a block: objects begin at whole blocks.
const BLOCK_BYTES: u64 = 4096;

/// How keys get addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// On the tier that is a drive, each object takes the lowest free place that holds it.
    #[default]
    FirstFit,
    /// On the tier that is a drive, each write takes the next free place behind the write before it. At the end of the
    /// space it starts over if half of the space is free, and otherwise the space grows.
    Log,
    /// Each tier is a device with a space of its own, first fit in each.
    ByTier,
}

impl Allocator {
    /// Every allocator, in the order in which they are listed.
    pub const ALL: [Allocator; 3] = [Allocator::FirstFit, Allocator::Log, Allocator::ByTier];

    /// The name used on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Allocator::FirstFit => "first-fit",
            Allocator::Log => "log",
            Allocator::ByTier => "by-tier",
        }
    }
}

/// The objects of one device and their places.
#[derive(Default)]
pub(super) struct Objects {
    is_log: bool,
    space: Space,
    places: BTreeMap<Box<[u8]>, Piece>,
    /// Objects that were read before they were written.
    read_first: u64,
}

/// The effect of a write on the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// First byte of the object.
    pub start: u64,
    /// The place that the object left, to be trimmed.
    pub left: Option<Piece>,
    /// The place was left before the new one was taken, and may overlap it.
    pub is_left_first: bool,
}

impl Objects {
    pub fn new(allocator: Allocator) -> Objects {
        Objects { is_log: allocator == Allocator::Log, ..Objects::default() }
    }

    /// Places an object of `bytes` bytes, which are above 0, that is written; `None` beyond 2^64 bytes.
    pub fn write(&mut self, key: &[u8], bytes: u64) -> Option<Written> {
        let length = bytes.checked_next_multiple_of(BLOCK_BYTES)?;
        let old = self.places.get(key).copied();
        if let Some(place) = old.filter(|place| !self.is_log && place.length == length) {
            return Some(Written { start: place.start, left: None, is_left_first: false });
        }
        // A log writes the new object before it drops the old one.
        if let Some(place) = old.filter(|_| !self.is_log) {
            self.space.release(place);
        }
        let start = self.place(key, length)?;
        if let Some(place) = old.filter(|_| self.is_log) {
            self.space.release(place);
        }
        Some(Written { start, left: old, is_left_first: !self.is_log })
    }

    /// The first byte of an object that is read; `None` beyond 2^64 bytes.
    pub fn read(&mut self, key: &[u8], bytes: u64) -> Option<u64> {
        let length = bytes.checked_next_multiple_of(BLOCK_BYTES)?;
        match self.places.get(key).copied() {
            Some(place) if length <= place.length => return Some(place.start),
            // It was written longer before the trace, or in rows that were lost.
            Some(place) => self.space.release(place),
            None => {}
        }
        self.read_first += 1;
        self.place(key, length)
    }

    /// The place of an object that is deleted; `None` where it has none.
    pub fn delete(&mut self, key: &[u8]) -> Option<Piece> {
        let place = self.places.remove(key)?;
        self.space.release(place);
        Some(place)
    }

    fn place(&mut self, key: &[u8], length: u64) -> Option<u64> {
        let start = if self.is_log { self.space.append(length) } else { self.space.first_fit(length) };
        let Some(start) = start else {
            self.places.remove(key);
            return None;
        };
        self.places.insert(key.into(), Piece { start, length });
        Some(start)
    }

    /// A sentence about the objects, the free part of their space, and its largest piece.
    pub fn note(&self, tier: &str, allocator: Allocator) -> String {
        let [end, free, largest] =
            [self.space.end(), self.space.free_bytes(), self.space.largest_free()].map(format_size);
        let fragmentation = match self.space.free_bytes() {
            0 => "none of it free".to_owned(),
            _ => format!("{free} of it free, in pieces of {largest} at most"),
        };
        let read_first = match self.read_first {
            0 => String::new(),
            count => format!("; objects that were read before they were written, and have places too: {count}"),
        };
        let (name, count) = (allocator.name(), self.places.len());
        format!(
            "Keys of {tier} got addresses (workload.allocator = {name}): {count} objects at the end, in a space of \
             {end}, {fragmentation}{read_first}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn write(objects: &mut Objects, key: &str, bytes: u64) -> (u64, Option<u64>, bool) {
        let Written { start, left, is_left_first } = objects.write(key.as_bytes(), bytes).unwrap();
        (start / KIB, left.map(|piece| piece.start / KIB), is_left_first)
    }

    #[test]
    fn first_fit_writes_in_place_until_the_number_of_blocks_changes() {
        let mut objects = Objects::new(Allocator::FirstFit);
        assert_eq!(write(&mut objects, "a", 5000), (0, None, true));
        assert_eq!(write(&mut objects, "b", 4096), (8, None, true));
        assert_eq!(write(&mut objects, "a", 8192), (0, None, false), "two blocks as before");
        assert_eq!(write(&mut objects, "a", 9000), (12, Some(0), true));
        assert_eq!(write(&mut objects, "c", 4096), (0, None, true), "the lowest place is free again");
        assert_eq!(objects.delete(b"b"), Some(Piece { start: 8 * KIB, length: 4 * KIB }));
        assert_eq!(objects.delete(b"b"), None);
        let note = objects.note("Tier-2", Allocator::FirstFit);
        assert_eq!(
            note,
            "Keys of Tier-2 got addresses (workload.allocator = first-fit): 2 objects at the end, in a space of 24KiB, \
             8KiB of it free, in pieces of 8KiB at most."
        );
    }

    #[test]
    fn a_log_writes_each_version_behind_the_one_before() {
        let mut objects = Objects::new(Allocator::Log);
        assert_eq!(write(&mut objects, "a", 4096), (0, None, false));
        assert_eq!(write(&mut objects, "b", 4096), (4, None, false));
        assert_eq!(write(&mut objects, "a", 4096), (8, Some(0), false));
        assert_eq!(write(&mut objects, "a", 4096), (12, Some(8), false));
        assert_eq!(write(&mut objects, "a", 4096), (0, Some(12), false), "half of 16 KiB was free");
    }

    #[test]
    fn objects_that_are_read_first_get_a_place_and_are_counted() {
        let mut objects = Objects::new(Allocator::FirstFit);
        assert_eq!(objects.read(b"a", 100), Some(0));
        assert_eq!(objects.read(b"a", 4096), Some(0));
        assert_eq!(objects.read(b"b", 4096), Some(4096));
        assert_eq!(objects.read(b"a", 4097), Some(8192), "it is longer than it was");
        assert!(objects.note("x", Allocator::FirstFit).contains("have places too: 3."));
        assert_eq!(objects.write(b"c", u64::MAX), None);
    }
}
