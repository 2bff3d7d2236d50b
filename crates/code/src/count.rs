//! How many sets of blocks decode a group: the flexibility of a code.

use crate::decode::{Decoder, Known};
use crate::group::GroupCode;

/// All sets of `size` of the elements below `elements`, ascending.
fn subsets(elements: u32, size: u32) -> impl Iterator<Item = u32> {
    let first = if size == 0 { 0 } else { u64::from(u32::MAX >> (32 - size)) };
    std::iter::successors(Some(first), move |set| {
        // The next number with as many bits.
        let low = set & set.wrapping_neg();
        let next = set.checked_add(low).filter(|_| low != 0)?;
        Some((((next ^ set) >> 2) / low) | next)
    })
    .take_while(move |set| set >> elements == 0)
    .map(|set| set as u32)
}

/// Sets of exactly `n` blocks that decode all `n` data blocks: |G| of the publication when the decoder is elimination.
pub fn decodable_sets(code: &GroupCode, decoder: Decoder) -> u64 {
    let known = Known::new(code.clone(), decoder);
    subsets(code.elements(), code.data()).filter(|have| known.decodes(*have, code.all_data())).count() as u64
}

/// Ways to read `wanted` when `buffered` is known already: sets of as many blocks as are wanted that decode them. Blocks are
/// the wanted ones, and code blocks of nothing but wanted and buffered ones.
pub fn ways(code: &GroupCode, decoder: Decoder, wanted: u32, buffered: u32) -> u64 {
    let known = Known::new(code.clone(), decoder);
    let usable = wanted | code.codes_within(wanted | buffered);
    let sets = subsets(code.elements(), wanted.count_ones()).filter(|have| have & !usable == 0);
    sets.filter(|have| known.decodes(have | buffered, wanted)).count() as u64
}

/// By number of blocks from 0 on: sets of that many, and how many of them decode all data.
pub fn counts(code: &GroupCode, decoder: Decoder) -> Vec<(u64, u64)> {
    let known = Known::new(code.clone(), decoder);
    let of_size = |size| {
        subsets(code.elements(), size).fold((0, 0), |(all, decoded), have| (all + 1, decoded + u64::from(known.decodes(have, code.all_data()))))
    };
    (0..=code.elements()).map(of_size).collect()
}

/// What peeling does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misses {
    /// Sets of `n` blocks that decode everything, though not by peeling.
    pub full: u64,
    /// Sets of any size after which something is known that peeling does not find.
    pub any: u64,
    /// Of those, the ones where a data block is missed.
    pub data: u64,
}

/// Counts what peeling does not see of a code.
pub fn misses(code: &GroupCode) -> Misses {
    let [peel, gauss] = [Decoder::Peel, Decoder::Gauss].map(|decoder| Known::new(code.clone(), decoder));
    let mut misses = Misses { full: 0, any: 0, data: 0 };
    for have in 0..1_u64 << code.elements() {
        let have = have as u32;
        let missed = gauss.from(have) & !peel.from(have);
        misses.any += u64::from(missed != 0);
        misses.data += u64::from(missed & code.all_data() != 0);
        let decodes = have.count_ones() == code.data() && gauss.decodes(have, code.all_data());
        misses.full += u64::from(decodes && missed & code.all_data() != 0);
    }
    misses
}
