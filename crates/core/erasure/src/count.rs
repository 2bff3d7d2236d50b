//! How many sets of blocks decode a group: the flexibility of a code.

use crate::decode::{Decoder, Known};
use crate::group::GroupCode;
use crate::sets;
use crate::words::choose;
use rayon::prelude::*;

/// Most data blocks of a code whose sets are counted: a group of a drive has no more.
pub const MOST_COUNTED: u32 = 16;
/// Most blocks of a code whose misses are counted: they are looked for set by set.
const MOST_LOOKED_AT: u32 = 22;

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
/// Panics: there are more data blocks than [`MOST_COUNTED`].
pub fn decodable_sets(code: &GroupCode, decoder: Decoder) -> u64 {
    assert!(code.data() <= MOST_COUNTED, "sets of {} data blocks are not counted", code.data());
    if decoder == Decoder::Gauss && !code.is_mds() {
        return sets::minors(code);
    }
    sets::decoded(code, decoder)[code.data() as usize]
}

/// Ways to read `wanted` when `buffered` is known already: sets of as many blocks as are wanted that decode them.
/// Blocks are the wanted ones, and code blocks of nothing but wanted and buffered ones.
pub fn ways(code: &GroupCode, decoder: Decoder, wanted: u32, buffered: u32) -> u64 {
    let known = Known::new(code.clone(), decoder);
    let usable = wanted | code.codes_within(wanted | buffered);
    let sets = subsets(code.elements(), wanted.count_ones()).filter(|have| have & !usable == 0);
    sets.filter(|have| known.decodes(have | buffered, wanted)).count() as u64
}

/// By number of blocks from 0 on: sets of that many, and how many of them decode all data.
/// Panics: there are more data blocks than [`MOST_COUNTED`].
pub fn counts(code: &GroupCode, decoder: Decoder) -> Vec<(u64, u64)> {
    assert!(code.data() <= MOST_COUNTED, "sets of {} data blocks are not counted", code.data());
    let decoded = sets::decoded(code, decoder);
    (0..=code.elements()).map(|size| (choose(code.elements(), size), decoded[size as usize])).collect()
}

/// The cases that peeling does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misses {
    /// Sets of any size after which something is known that peeling does not find.
    pub any: u64,
    /// Of those, the ones where a data block is missed.
    pub data: u64,
}

/// Counts what peeling does not see of a code. `None`: it has more than 22 blocks, too many to look at each set.
pub fn misses(code: &GroupCode) -> Option<Misses> {
    if code.elements() > MOST_LOOKED_AT {
        return None;
    }
    let [peel, gauss] = [Decoder::Peel, Decoder::Gauss].map(|decoder| Known::new(code.clone(), decoder));
    let of = |have: u32| {
        let peeled = peel.from(have);
        // Where all data is known, so is everything.
        let missed = if code.all_data() & !peeled == 0 { 0 } else { gauss.from(have) & !peeled };
        (u64::from(missed != 0), u64::from(missed & code.all_data() != 0))
    };
    let all = (0..1_u32 << code.elements()).into_par_iter().map(of);
    let (any, data) = all.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    Some(Misses { any, data })
}
