//! How code blocks are computed: as sums, or with coefficients.

use erasure::GroupCode;
use nand::{PayloadId, Payloads};
use reed_solomon_erasure::galois_8::ReedSolomon;

/// How code blocks are computed.
#[derive(Clone, Debug)]
pub(crate) enum Coder {
    /// Sums.
    Xor,
    /// Sums with coefficients of GF(2^8).
    ReedSolomon(Box<ReedSolomon>),
}

impl Coder {
    pub fn new(code: &GroupCode) -> Self {
        if !code.is_mds() {
            return Self::Xor;
        }
        let (data, parity) = (code.data() as usize, code.code() as usize);
        Self::ReedSolomon(Box::new(ReedSolomon::new(data, parity).expect("a group has few blocks")))
    }

    /// Computes element `target` from those of `have`; `cell` gives the slot of a page of an element.
    pub fn compute(
        &self,
        payloads: &mut Payloads,
        code: &GroupCode,
        target: u32,
        have: u32,
        cell: impl Fn(u32) -> PayloadId,
    ) {
        let into = cell(target);
        match self {
            Self::Xor => {
                let of = if target < code.data() {
                    code.express(target, have)
                } else {
                    Some(code.sources(target - code.data()))
                };
                let of = of.expect("the decoder knows what follows from what");
                payloads.cells_mut(into).fill(0);
                for element in (0..code.elements()).filter(|element| of >> element & 1 == 1) {
                    payloads.add(cell(element), into);
                }
            }
            Self::ReedSolomon(codec) => {
                let mut shards: Vec<Option<Vec<u8>>> = (0..code.elements())
                    .map(|element| (have >> element & 1 == 1).then(|| payloads.cells(cell(element)).to_vec()))
                    .collect();
                codec.reconstruct(&mut shards).expect("as many blocks as data blocks are enough");
                let found = shards[target as usize].as_ref().expect("everything was reconstructed");
                payloads.cells_mut(into).copy_from_slice(found);
            }
        }
    }
}
