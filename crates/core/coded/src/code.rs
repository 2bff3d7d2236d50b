//! The code of a group: what follows from what, and how blocks are computed.

use crate::group::Elements;
use erasure::{Decoder, GroupCode, Known};
use nand::{PayloadId, Payloads};
use reed_solomon_erasure::galois_8::ReedSolomon;

/// The code of every group.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    known: Known,
    /// Computes blocks with coefficients of GF(2^8); otherwise they are plain sums.
    codec: Option<Box<ReedSolomon>>,
}

impl Code {
    pub fn new(code: GroupCode, decoder: Decoder) -> Self {
        let codec = code.is_mds().then(|| {
            let (data, parity) = (code.data() as usize, code.code() as usize);
            Box::new(ReedSolomon::new(data, parity).expect("a group has few blocks"))
        });
        Self { known: Known::new(code, decoder), codec }
    }

    fn group(&self) -> &GroupCode {
        self.known.code()
    }

    /// Blocks are plain sums of others.
    pub fn is_sums(&self) -> bool {
        self.codec.is_none()
    }

    pub fn elements(&self) -> u32 {
        self.group().elements()
    }

    /// Data blocks of a group.
    #[inline]
    pub fn data(&self) -> u32 {
        self.group().data()
    }

    #[inline]
    pub fn all_data(&self) -> Elements {
        Elements::of_bits(self.group().all_data())
    }

    pub fn all_codes(&self) -> Elements {
        Elements::range(self.data(), self.group().code())
    }

    /// Elements that are known when those of `have` are there.
    #[inline]
    pub fn known(&self, have: Elements) -> Elements {
        Elements::of_bits(self.known.from(have.bits()))
    }

    /// Whether the `wanted` ones are known when those of `have` are there.
    #[inline]
    pub fn decodes(&self, have: Elements, wanted: Elements) -> bool {
        wanted.is_within(self.known(have))
    }

    /// Data blocks that a code block is made of.
    #[inline]
    pub fn sources(&self, code: u32) -> Elements {
        Elements::of_bits(self.group().sources(code - self.data()))
    }

    /// Code blocks made of a data block.
    pub fn codes_of(&self, block: u32) -> Elements {
        Elements::of_bits(self.group().codes_of(1 << block))
    }

    /// Code blocks made of nothing but these data blocks.
    pub fn codes_within(&self, data: Elements) -> Elements {
        Elements::of_bits(self.group().codes_within(data.bits()))
    }

    /// Computes element `target` from those of `have`; `cell` gives the slot of a page of an element.
    pub fn compute(&self, payloads: &mut Payloads, target: u32, have: Elements, cell: impl Fn(u32) -> PayloadId) {
        let into = cell(target);
        let Some(codec) = &self.codec else {
            let of = if target < self.data() {
                let of = self.group().express(target, have.bits());
                Elements::of_bits(of.expect("the decoder knows what follows from what"))
            } else {
                self.sources(target)
            };
            payloads.cells_mut(into).fill(0);
            of.iter().for_each(|element| payloads.add(cell(element), into));
            return;
        };
        let mut shards: Vec<Option<Vec<u8>>> = (0..self.elements())
            .map(|element| have.contains(element).then(|| payloads.cells(cell(element)).to_vec()))
            .collect();
        codec.reconstruct(&mut shards).expect("as many blocks as data blocks are enough");
        let found = shards[target as usize].as_ref().expect("everything was reconstructed");
        payloads.cells_mut(into).copy_from_slice(found);
    }
}
