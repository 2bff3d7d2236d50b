//! How long a read of a whole group takes when all blocks are asked for at once.

use crate::count::counts;
use crate::decode::Decoder;
use crate::group::GroupCode;

/// The sum of the first `k` reciprocals: the mean of the longest of `k` exponential times, in means.
pub fn harmonic(k: u32) -> f64 {
    (1..=k).map(|i| 1.0 / f64::from(i)).sum()
}

/// By number of blocks that arrived, from 0 on: the probability that they decode the group, if all orders are equally
/// likely. `counts` come from [`counts`].
pub fn decoded_after(counts: &[(u64, u64)]) -> Vec<f64> {
    counts.iter().map(|(all, decoded)| *decoded as f64 / *all as f64).collect()
}

/// Mean time until the group is known, in mean service times, and mean number of blocks that arrived until then.
///
/// Idle banks, exponential service times, every block asked for at once, the rest taken back: the j-th block of k
/// arrives at H(k) - H(k - j), where H is the harmonic number.
pub fn completion(code: &GroupCode, decoder: Decoder) -> (f64, f64) {
    completion_of(&counts(code, decoder))
}

/// The same, from the counts of a code ([`counts`]).
pub fn completion_of(counts: &[(u64, u64)]) -> (f64, f64) {
    let after = decoded_after(counts);
    let blocks = counts.len() as u32 - 1;
    let (mut time, mut arrived) = (0.0, 0.0);
    for j in 1..=blocks {
        let first = after[j as usize] - after[j as usize - 1];
        time += first * (harmonic(blocks) - harmonic(blocks - j));
        arrived += first * f64::from(j);
    }
    (time, arrived)
}
