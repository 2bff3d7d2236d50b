//! Parity of pages: XOR for one, Reed–Solomon over GF(2^8) for two.
//!
//! Both are linear: row r of the parity is the sum of `factors[r][i]` times data page i, so a part of it can be
//! gathered page by page, and the change by a page is the factor times the difference.

use erasure::reed_solomon::{add_product, factors};

/// How parities are computed.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// One parity, or none.
    Xor,
    /// Two parities.
    ReedSolomon {
        /// By row, then by data page.
        factors: [Vec<u8>; 2],
    },
}

impl Code {
    pub fn new(data: u32, parity: u32) -> Self {
        if parity < 2 {
            return Self::Xor;
        }
        let data = data as u8;
        let pages: Vec<u8> = (0..data).collect();
        Self::ReedSolomon { factors: [0, 1].map(|row| factors(&pages, data + row)) }
    }

    /// Adds data page `index` to row `row` of a parity, or takes it away again.
    pub fn add(&self, row: u32, index: u32, from: &[u8], into: &mut [u8]) {
        match self {
            Self::Xor => into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from),
            Self::ReedSolomon { factors } => add_product(factors[row as usize][index as usize], from, into),
        }
    }

    /// Finds the missing data pages of a stripe; `shards`: data, then parities, as far as known. `false`: too
    /// little is known.
    pub fn solve(&self, shards: &mut [Option<Vec<u8>>]) -> bool {
        let data = match self {
            Self::Xor => shards.len() - 1,
            Self::ReedSolomon { factors } => factors[0].len(),
        };
        let known: Vec<u8> =
            (0..).zip(&*shards).filter_map(|(at, shard)| shard.as_ref().map(|_| at)).take(data).collect();
        let missing: Vec<u8> = (0..data as u8).filter(|at| shards[*at as usize].is_none()).collect();
        if !missing.is_empty() && known.len() < data {
            return false;
        }
        for target in missing {
            let shard = |at: u8| shards[at as usize].as_deref().expect("it is known");
            let mut sum = vec![0; shard(known[0]).len()];
            match self {
                Self::Xor => known.iter().for_each(|at| self.add(0, 0, shard(*at), &mut sum)),
                Self::ReedSolomon { .. } => {
                    let factors = known.iter().zip(factors(&known, target));
                    factors.for_each(|(at, factor)| add_product(factor, shard(*at), &mut sum));
                }
            }
            shards[target as usize] = Some(sum);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_lost_pages_are_found_again_from_parities_gathered_page_by_page(
            pages in prop::collection::vec(prop::collection::vec(any::<u8>(), 16), 2..9),
            parity in 1..3_u32,
            lost in any::<[prop::sample::Index; 2]>(),
        ) {
            let code = Code::new(pages.len() as u32, parity);
            let mut shards: Vec<Option<Vec<u8>>> = pages.iter().cloned().map(Some).collect();
            for row in 0..parity {
                let mut sum = vec![0; 16];
                (0..).zip(&pages).for_each(|(index, page)| code.add(row, index, page, &mut sum));
                shards.push(Some(sum));
            }
            for lost in &lost[..parity as usize] {
                let at = lost.index(shards.len());
                shards[at] = None;
            }
            prop_assert!(code.solve(&mut shards));
            for (found, page) in shards.iter().zip(&pages) {
                prop_assert_eq!(found.as_ref(), Some(page));
            }
        }
    }
}
