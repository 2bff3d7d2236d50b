//! Segments: eight bytes that say where several pages of a group are.

use std::fmt;

/// Most pages of a group: positions in it are one byte.
pub(super) const GROUP_SHIFT: u32 = 8;
/// Not on flash: never written, trimmed, or not known.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Bytes of a segment.
pub(super) const SEGMENT_BYTES: u32 = 8;

/// Highest flash page that is predicted; a map entry has no room for higher ones.
const HIGHEST: i64 = (1 << 31) - 3;
/// Bits of an approximate slope behind the point.
const FRACTION: u32 = 12;
/// Half of the last unit before the point: predictions are rounded.
pub(super) const HALF: i64 = 1 << (FRACTION - 1);
/// Parts of a page in which slopes are counted.
pub(super) const ONE: i64 = 1 << FRACTION;
/// Slopes that fit into a segment.
pub(super) const SLOPES: std::ops::RangeInclusive<i64> = -(1 << 14)..=(1 << 14) - 1;
/// Steps between flash pages that fit into an accurate segment.
pub(super) const STEPS: std::ops::RangeInclusive<i64> = -64..=63;

/// Positions in a group, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pages([u64; 4]);

impl Pages {
    #[inline]
    pub fn insert(&mut self, position: u8) {
        self.0[usize::from(position >> 6)] |= 1 << (position & 63);
    }

    #[inline]
    pub fn has(&self, position: u8) -> bool {
        self.0[usize::from(position >> 6)] >> (position & 63) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn meets(&self, other: &Pages) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & other != 0)
    }

    pub fn add(&mut self, other: &Pages) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
    }

    pub fn without(mut self, other: &Pages) -> Pages {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own &= !other);
        self
    }

    /// The positions in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let (mut words, mut at) = (self.0, 0);
        std::iter::from_fn(move || {
            while words[at] == 0 {
                at += 1;
                if at == words.len() {
                    at = 0;
                    return None;
                }
            }
            let bit = words[at].trailing_zeros();
            words[at] &= words[at] - 1;
            Some((at as u8) << 6 | bit as u8)
        })
    }

    pub fn first(&self) -> Option<u8> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some((word as u8) << 6 | self.0[word].trailing_zeros() as u8)
    }

    pub fn last(&self) -> Option<u8> {
        let word = self.0.iter().rposition(|word| *word != 0)?;
        Some((word as u8) << 6 | self.0[word].ilog2() as u8)
    }

    /// The words, for a snapshot.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        self.0.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32])
    }

    pub fn from_numbers(numbers: &[u32]) -> Self {
        let word = |index: usize| u64::from(numbers[2 * index]) | u64::from(numbers[2 * index + 1]) << 32;
        Self(std::array::from_fn(word))
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

/// A line through the flash pages of some positions of a group.
///
/// ```text
/// slope   accurate     step, 7 bits signed | stride, 8 bits | 0     every stride-th position, step pages on
///         approximate  slope, 15 bits signed, in 1/4096     | 1     which positions, its roster says
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    start: u8,
    length: u8,
    slope: u16,
    intercept: u32,
}

const _: () = assert!(size_of::<Segment>() == SEGMENT_BYTES as usize);

impl Segment {
    /// Every `stride`-th of the positions from `start` to `start + length`, each `step` flash pages
    /// behind the last.
    pub fn accurate(start: u8, length: u8, stride: u8, step: i64, intercept: u32) -> Self {
        debug_assert!(stride > 0 && STEPS.contains(&step) && length.is_multiple_of(stride));
        let slope = (step as u16) << 9 | u16::from(stride) << 1;
        Self { start, length, slope, intercept }
    }

    /// A slope in 4096ths of a page from the page of `start` on.
    pub fn approximate(start: u8, length: u8, slope: i64, intercept: u32) -> Self {
        debug_assert!(SLOPES.contains(&slope));
        Self { start, length, slope: (slope as u16) << 1 | 1, intercept }
    }

    #[inline]
    pub fn is_accurate(self) -> bool {
        self.slope & 1 == 0
    }

    /// Its pages are on flash.
    pub fn is_mapped(self) -> bool {
        self.intercept != NOWHERE
    }

    #[inline]
    fn stride(self) -> u8 {
        (self.slope >> 1) as u8
    }

    #[inline]
    fn step(self) -> i64 {
        i64::from((self.slope as i16) >> 9)
    }

    /// Whether it has its page from the line alone, for an accurate one.
    #[inline]
    pub fn spans(self, position: u8) -> bool {
        let distance = position.wrapping_sub(self.start);
        distance <= self.length && (self.stride() == 1 || distance.is_multiple_of(self.stride()))
    }

    /// All positions an accurate one answers for.
    pub fn span(self) -> Pages {
        let mut pages = Pages::default();
        let last = u16::from(self.start) + u16::from(self.length);
        let mut position = u16::from(self.start);
        while position <= last {
            pages.insert(position as u8);
            position += u16::from(self.stride());
        }
        pages
    }

    /// The flash page it gives for a position that is its own.
    #[inline]
    pub fn predict(self, position: u8) -> u32 {
        if !self.is_mapped() {
            return NOWHERE;
        }
        let distance = i64::from(position) - i64::from(self.start);
        if self.is_accurate() {
            let strides = i64::from(distance as u8 / self.stride());
            return (i64::from(self.intercept) + self.step() * strides) as u32;
        }
        let slope = i64::from((self.slope as i16) >> 1);
        // No flash page lies outside: moving the prediction there brings it nearer to the truth.
        (i64::from(self.intercept) + ((slope * distance + HALF) >> FRACTION)).clamp(0, HIGHEST) as u32
    }

    /// The same line for a part of its positions; `live` is not empty. An accurate one gives up what
    /// lies outside of the first and the last of them.
    pub fn trimmed(self, live: &Pages) -> Self {
        let (Some(first), Some(last)) = (live.first(), live.last()) else { return self };
        if !self.is_accurate() {
            return Self { length: last - self.start, ..self };
        }
        Self { start: first, length: last - first, intercept: self.predict(first), ..self }
    }

    /// Two numbers that stand for it in a snapshot.
    pub fn numbers(self) -> [u32; 2] {
        [u32::from(self.start) | u32::from(self.length) << 8 | u32::from(self.slope) << 16, self.intercept]
    }

    /// The segment of which [`Segment::numbers`] gave these; nothing if there is no such segment.
    pub fn from_numbers(head: u32, intercept: u32) -> Option<Self> {
        let segment = Self { start: head as u8, length: (head >> 8) as u8, slope: (head >> 16) as u16, intercept };
        let fits = segment.start.checked_add(segment.length).is_some();
        (fits && (!segment.is_accurate() || segment.stride() > 0)).then_some(segment)
    }
}

/// A segment and the positions it answers for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub segment: Segment,
    pub pages: Pages,
    /// Level of its group it belongs to.
    pub level: u16,
}

impl Piece {
    /// Bytes of memory: an approximate segment needs a list of its positions, a byte each, and its end.
    pub fn bytes(&self) -> u32 {
        let roster = if self.segment.is_accurate() { 0 } else { 1 + self.pages.count() };
        SEGMENT_BYTES + roster
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_accurate_segment_is_a_row_of_pages(
            start in 0..200_u8,
            stride in 1..20_u8,
            strides in 0..12_u8,
            step in STEPS,
            intercept in 1_000..1_000_000_u32,
            cut in (0..12_u8, 0..12_u8),
        ) {
            let length = (strides * stride).min(255 - start) / stride * stride;
            let segment = Segment::accurate(start, length, stride, step, intercept);
            let row: Vec<(u8, u32)> = (0..=length / stride)
                .map(|index| (start + index * stride, (i64::from(intercept) + step * i64::from(index)) as u32))
                .collect();
            for position in 0..=255 {
                let found = segment.spans(position).then(|| segment.predict(position));
                prop_assert_eq!(found, row.iter().find(|page| page.0 == position).map(|page| page.1));
                prop_assert_eq!(segment.span().has(position), found.is_some());
            }
            let [head, tail] = segment.numbers();
            prop_assert_eq!(Segment::from_numbers(head, tail), Some(segment));
            let mut live = Pages::default();
            row.iter().skip(usize::from(cut.0)).rev().skip(usize::from(cut.1)).for_each(|page| live.insert(page.0));
            if !live.is_empty() {
                let trimmed = segment.trimmed(&live);
                prop_assert_eq!(trimmed.span(), live);
                prop_assert!(live.iter().all(|position| trimmed.predict(position) == segment.predict(position)));
            }
        }
    }

    #[test]
    fn an_approximate_segment_rounds_its_line() {
        let segment = Segment::approximate(10, 100, ONE / 32, 5_000);
        let found: Vec<u32> = [10, 25, 26, 42, 110].map(|position| segment.predict(position)).to_vec();
        assert_eq!(found, [5_000, 5_000, 5_001, 5_001, 5_003]);
        let falling = Segment::approximate(0, 255, -2 * ONE, 100);
        assert_eq!([0, 1, 50, 60].map(|position| falling.predict(position)), [100, 98, 0, 0]);
        let [head, tail] = falling.numbers();
        assert_eq!(Segment::from_numbers(head, tail), Some(falling));
    }

    #[test]
    fn positions_are_a_set() {
        let mut pages = Pages::default();
        for position in [0, 63, 64, 200, 255] {
            pages.insert(position);
        }
        assert_eq!(pages.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        assert_eq!((pages.count(), pages.first(), pages.last()), (5, Some(0), Some(255)));
        let mut other = Pages::default();
        other.insert(64);
        assert!(pages.meets(&other) && !pages.without(&other).meets(&other));
        assert_eq!(Pages::from_numbers(&pages.numbers().collect::<Vec<_>>()), pages);
    }
}
