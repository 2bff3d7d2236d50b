//! Sets of sets, one bit each: bit T of a word list stands for the set T of columns.

use crate::group::MOST_ELEMENTS;

/// Bits of a word whose set lacks a column, for the columns that a word covers.
pub(crate) const WITHOUT: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];
/// Columns that a word covers.
pub(crate) const COVERED: u32 = 6;
/// Counts by size of a set of up to [`MOST_ELEMENTS`].
pub(crate) type Sizes = [u64; MOST_ELEMENTS as usize + 1];
/// Counts of no set of any size.
pub(crate) const NO_SIZES: Sizes = [0; MOST_ELEMENTS as usize + 1];

/// Words for the sets of `columns`.
pub(crate) fn words(columns: u32) -> usize {
    1 << columns.saturating_sub(COVERED)
}

/// Calls `change` for each pair of words that differ in one column beyond those that a word covers; the second has it.
fn pairs(sets: usize, column: u32, mut change: impl FnMut(usize, usize)) {
    let step = 1 << (column - COVERED);
    for from in (0..sets).step_by(2 * step) {
        for low in from..from + step {
            change(low, low + step);
        }
    }
}

/// The minors of a set of rows and one more: the wedge product over GF(2). A column of the row joins the sets without
/// it.
pub(crate) fn wedge(minors: &[u64], row: u32) -> Vec<u64> {
    let mut sum = vec![0; minors.len()];
    for column in (0..u32::BITS).filter(|column| row >> column & 1 == 1) {
        if column < COVERED {
            let without = WITHOUT[column as usize];
            sum.iter_mut().zip(minors).for_each(|(sum, minors)| *sum ^= (minors & without) << (1_u32 << column));
        } else {
            pairs(minors.len(), column, |low, high| sum[high] ^= minors[low]);
        }
    }
    sum
}

/// Adds every part of every set.
pub(crate) fn add_parts(sets: &mut [u64], columns: u32) {
    for column in 0..columns {
        if column < COVERED {
            let without = WITHOUT[column as usize];
            for sets in sets.iter_mut() {
                *sets |= *sets >> (1_u32 << column) & without;
            }
        } else {
            pairs(sets.len(), column, |low, high| sets[low] |= sets[high]);
        }
    }
}

/// By byte: how many of its sets have 0, 1, 2 and 3 columns, a byte each.
const BY_BYTE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0_u32;
        while bit < 8 {
            table[byte] += ((byte >> bit & 1) as u64) << (8 * bit.count_ones());
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// The sets of a word by their columns within it, a byte for each size from 0 to 6. None has more than 20.
fn by_size(word: u64) -> u64 {
    (0..8_u32).fold(0, |sum, at| sum + (BY_BYTE[(word >> (8 * at)) as usize & 255] << (8 * at.count_ones())))
}

/// Adds the sets of a word, by size from `at` on.
pub(crate) fn tally_word(word: u64, at: u32, sizes: &mut Sizes) {
    let sets = by_size(word);
    for more in 0..=COVERED {
        sizes[(at + more) as usize] += sets >> (8 * more) & 255;
    }
}

/// How many of each size there are.
pub(crate) fn tally(sets: &[u64]) -> Sizes {
    let mut sizes = NO_SIZES;
    for (at, word) in sets.iter().enumerate().filter(|(_, word)| **word != 0) {
        tally_word(*word, at.count_ones(), &mut sizes);
    }
    sizes
}

/// Ways to choose `some` of `all`.
pub(crate) fn choose(all: u32, some: u32) -> u64 {
    if some > all { 0 } else { (0..u64::from(some)).fold(1, |ways, i| ways * (u64::from(all) - i) / (i + 1)) }
}
