//! The space of a drive that objects are placed in: it grows as needed, and knows its free pieces.
//!
//! Free pieces are filed by address, and by the power of two below their length, so that the lowest one that is long
//! enough is found without a look at all of them. Protects: free pieces never touch each other.

use std::collections::{BTreeMap, BTreeSet};

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub length: u64,
}

pub(super) struct Space {
    /// Start to length of each free piece.
    free: BTreeMap<u64, u64>,
    /// Starts of the free pieces, by the logarithm of their length.
    classes: [BTreeSet<u64>; u64::BITS as usize],
    free_bytes: u64,
    /// The end of all that was ever taken.
    end: u64,
    /// Where the piece ends that was appended last.
    head: u64,
}

impl Default for Space {
    fn default() -> Space {
        let classes = std::array::from_fn(|_| BTreeSet::new());
        Space { free: BTreeMap::new(), classes, free_bytes: 0, end: 0, head: 0 }
    }
}

impl Space {
    /// Takes the lowest place of `length` bytes, which is above 0; `None` beyond 2^64 bytes.
    pub fn first_fit(&mut self, length: u64) -> Option<u64> {
        match self.lowest(0, length) {
            Some(start) => Some(self.take(start, length)),
            None => self.extend(length),
        }
    }

    /// Takes the next free place of `length` bytes behind the one appended last. At the end of the space it starts over
    /// at the lowest free place if half of the space is free, and otherwise the space grows. `None` beyond 2^64 bytes.
    pub fn append(&mut self, length: u64) -> Option<u64> {
        let wraps = self.free_bytes >= self.end / 2;
        let place = self.lowest(self.head, length).or_else(|| self.lowest(0, length).filter(|_| wraps));
        let start = match place {
            Some(start) => self.take(start, length),
            None => self.extend(length)?,
        };
        self.head = start + length;
        Some(start)
    }

    /// Gives back a piece that was taken.
    pub fn release(&mut self, piece: Piece) {
        let Piece { mut start, mut length } = piece;
        debug_assert!(start + length <= self.end, "released beyond what was taken");
        if let Some((&before, &before_length)) = self.free.range(..start).next_back() {
            debug_assert!(before + before_length <= start, "released twice");
            if before + before_length == start {
                self.remove(before);
                start = before;
                length += before_length;
            }
        }
        if self.free.contains_key(&(start + length)) {
            length += self.remove(start + length);
        }
        self.insert(start, length);
    }

    /// The end of all that was ever taken.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    pub fn largest_free(&self) -> u64 {
        self.free.values().copied().max().unwrap_or(0)
    }

    /// The lowest start from `from` on of a free piece of `length` bytes or more.
    fn lowest(&self, from: u64, length: u64) -> Option<u64> {
        let class = class(length);
        let long_enough =
            self.classes[class + 1..].iter().filter_map(|starts| starts.range(from..).next().copied()).min();
        let same_class = self.classes[class].range(from..long_enough.unwrap_or(u64::MAX)).copied();
        same_class.into_iter().find(|start| self.free[start] >= length).or(long_enough)
    }

    fn take(&mut self, start: u64, length: u64) -> u64 {
        let whole = self.remove(start);
        if whole > length {
            self.insert(start + length, whole - length);
        }
        start
    }

    /// Takes a place at the end of the space, which grows.
    fn extend(&mut self, length: u64) -> Option<u64> {
        let last = self.free.last_key_value().filter(|(start, free)| *start + *free == self.end);
        let start = last.map_or(self.end, |(start, _)| *start);
        let end = start.checked_add(length)?;
        if start < self.end {
            self.remove(start);
        }
        self.end = end;
        Some(start)
    }

    fn insert(&mut self, start: u64, length: u64) {
        self.free.insert(start, length);
        self.classes[class(length)].insert(start);
        self.free_bytes += length;
    }

    fn remove(&mut self, start: u64) -> u64 {
        let length = self.free.remove(&start).expect("the piece is free");
        self.classes[class(length)].remove(&start);
        self.free_bytes -= length;
        length
    }
}

/// The logarithm of a length above 0.
fn class(length: u64) -> usize {
    length.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, length: u64) -> Piece {
        Piece { start, length }
    }

    #[test]
    fn the_lowest_piece_that_is_long_enough_is_taken() {
        let mut space = Space::default();
        let starts = [10, 3, 7, 20, 1].map(|length| space.first_fit(length));
        assert_eq!(starts, [0, 10, 13, 20, 40].map(Some));
        space.release(piece(10, 3));
        space.release(piece(20, 20));
        assert_eq!(space.first_fit(4), Some(20), "the piece of three is too short");
        assert_eq!(space.first_fit(2), Some(10));
        space.release(piece(13, 7));
        assert_eq!((space.free_bytes(), space.largest_free()), (24, 16), "neighbours are joined");
        assert_eq!(space.first_fit(17), Some(41));
        assert_eq!(space.end(), 58);
    }

    #[test]
    fn the_last_free_piece_is_made_longer_at_the_end() {
        let mut space = Space::default();
        assert_eq!([8, 8].map(|length| space.first_fit(length)), [Some(0), Some(8)]);
        space.release(piece(8, 8));
        assert_eq!((space.first_fit(12), space.end(), space.free_bytes()), (Some(8), 20, 0));
        assert_eq!(space.first_fit(u64::MAX), None);
    }

    #[test]
    fn a_log_goes_on_behind_its_head_and_starts_over_once_half_is_free() {
        let mut space = Space::default();
        assert_eq!([0, 4, 8, 12].map(|start| space.append(4) == Some(start)), [true; 4]);
        space.release(piece(0, 4));
        assert_eq!(space.append(4), Some(16), "a quarter is free");
        space.release(piece(4, 4));
        space.release(piece(8, 4));
        assert_eq!([0, 4, 8].map(|start| space.append(4) == Some(start)), [true; 3], "12 of 20 were free");
        assert_eq!(space.append(4), Some(20), "what is behind the head is taken");
    }

    #[test]
    fn every_piece_agrees_with_a_plain_list_of_bytes() {
        let mut stream = engine::random::Stream::new(1, "space");
        let (mut space, mut taken, mut bytes) = (Space::default(), Vec::new(), vec![false; 1 << 16]);
        for _ in 0..3000 {
            if stream.below(5) < 2 && !taken.is_empty() {
                let piece: Piece = taken.swap_remove(stream.below(taken.len() as u64) as usize);
                bytes[piece.start as usize..][..piece.length as usize].fill(false);
                space.release(piece);
                continue;
            }
            let length = 1 + stream.below(40);
            let is_free = |start: usize| bytes[start..start + length as usize].iter().all(|taken| !taken);
            let lowest = (0..bytes.len() - length as usize).find(|start| is_free(*start)).unwrap();
            assert_eq!(space.first_fit(length), Some(lowest as u64));
            bytes[lowest..][..length as usize].fill(true);
            taken.push(piece(lowest as u64, length));
            let free = bytes[..space.end() as usize].iter().filter(|taken| !**taken).count();
            assert_eq!(space.free_bytes(), free as u64);
        }
    }
}
