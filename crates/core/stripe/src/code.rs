//! Parity of pages: XOR for one, Reed–Solomon over GF(2^8) for two.
//!
//! Both are linear: row r of the parity is the sum of `coefficient(r, i)` times data page i, so a part of it can
//! be gathered page by page, and what a page changes is the coefficient times the difference.

use reed_solomon_erasure::galois_8::{self, ReedSolomon};

/// How parities are computed.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// One parity, or none.
    Xor,
    /// Two parities.
    ReedSolomon {
        codec: Box<ReedSolomon>,
        /// By row, then by data page.
        coefficients: [Vec<u8>; 2],
    },
}

impl Code {
    pub fn new(data: u32, parity: u32) -> Self {
        if parity < 2 {
            return Self::Xor;
        }
        let data = data as usize;
        let codec = ReedSolomon::new(data, 2).expect("a stripe has few pages");
        let coefficient = |row: usize, index: usize| {
            let mut shards: Vec<Vec<u8>> = (0..data + 2).map(|shard| vec![u8::from(shard == index)]).collect();
            codec.encode(&mut shards).expect("shards of one size");
            shards[data + row][0]
        };
        let coefficients = [0, 1].map(|row| (0..data).map(|index| coefficient(row, index)).collect());
        Self::ReedSolomon { codec: Box::new(codec), coefficients }
    }

    /// Adds data page `index` to row `row` of a parity, or takes it away again.
    pub fn add(&self, row: u32, index: u32, from: &[u8], into: &mut [u8]) {
        match self {
            Self::Xor => into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from),
            Self::ReedSolomon { coefficients, .. } => {
                galois_8::mul_slice_xor(coefficients[row as usize][index as usize], from, into);
            }
        }
    }

    /// Finds the missing data pages of a stripe; `shards`: data, then parities, as far as known. `false`: too
    /// little is known.
    pub fn solve(&self, shards: &mut [Option<Vec<u8>>]) -> bool {
        match self {
            Self::Xor => {
                let missing: Vec<usize> = (0..shards.len()).filter(|shard| shards[*shard].is_none()).collect();
                let &[missing] = missing.as_slice() else { return missing.is_empty() };
                let bytes = shards.iter().flatten().map(Vec::len).next().unwrap_or(0);
                let mut sum = vec![0; bytes];
                shards.iter().flatten().for_each(|shard| self.add(0, 0, shard, &mut sum));
                shards[missing] = Some(sum);
                true
            }
            Self::ReedSolomon { codec, .. } => codec.reconstruct_data(shards).is_ok(),
        }
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
