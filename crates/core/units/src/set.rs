//! Sets of numbers, a bit each.

use std::ops::Range;

/// The members of a set, ascending.
pub fn members(set: impl Into<u64>) -> impl Iterator<Item = u32> {
    let mut left = set.into();
    std::iter::from_fn(move || {
        let member = (left != 0).then(|| left.trailing_zeros());
        left &= left.wrapping_sub(1);
        member
    })
}

/// The words of 64 bits that a range of the bits of a bitmap has a share of, each with the bits of the range.
#[inline]
pub fn word_masks(bits: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    const WORD: u64 = u64::BITS as u64;
    let Range { start: first, end } = bits;
    (first / WORD..if first < end { end.div_ceil(WORD) } else { 0 }).map(move |word| {
        let (from, to) = (first.max(word * WORD) - word * WORD, end.min((word + 1) * WORD) - word * WORD);
        (word as usize, u64::MAX << from & u64::MAX >> (WORD - to))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn masks_of_a_range_hold_its_bits_and_no_others() {
        for (first, end) in [(0, 0), (5, 5), (3, 9), (0, 64), (60, 64), (60, 65), (64, 200), (63, 129)] {
            let bits = super::word_masks(first..end)
                .flat_map(|(word, mask)| super::members(mask).map(move |bit| 64 * word as u64 + u64::from(bit)));
            assert_eq!(bits.collect::<Vec<_>>(), (first..end).collect::<Vec<_>>(), "{first} to {end}");
        }
    }

    #[test]
    fn members_come_once_and_in_order() {
        assert_eq!(super::members(1_u64 << 63 | 0b1010).collect::<Vec<_>>(), [1, 3, 63]);
        assert_eq!(super::members(0_u32).count(), 0);
    }
}
