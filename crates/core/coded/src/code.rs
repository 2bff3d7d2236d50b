//! The code of a group: the blocks that follow from others, and their computation.

use crate::group::Elements;
use erasure::reed_solomon::{add_product, factors};
use erasure::{Decoder, GroupCode, Known};
use nand::{PayloadId, Payloads};

/// The code of every group.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    known: Known,
}

impl Code {
    pub fn new(code: GroupCode, decoder: Decoder) -> Self {
        Self { known: Known::new(code, decoder) }
    }

    fn group(&self) -> &GroupCode {
        self.known.code()
    }

    /// Blocks are plain sums of others, without factors.
    pub fn is_sums(&self) -> bool {
        !self.group().is_mds()
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

    /// Elements that are known when the elements of `have` are there.
    #[inline]
    pub fn known(&self, have: Elements) -> Elements {
        Elements::of_bits(self.known.from(have.bits()))
    }

    /// Whether the `wanted` elements are known when the elements of `have` are there.
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

    /// Computes element `target` from the elements of `have`; `cell` gives the slot of a page of an element.
    pub fn compute(&self, payloads: &mut Payloads, target: u32, have: Elements, cell: impl Fn(u32) -> PayloadId) {
        let into = cell(target);
        payloads.cells_mut(into).fill(0);
        if self.is_sums() {
            let of = if target < self.data() {
                let of = self.group().express(target, have.bits());
                Elements::of_bits(of.expect("the decoder knows what follows from what"))
            } else {
                self.sources(target)
            };
            of.iter().for_each(|element| payloads.add(cell(element), into));
            return;
        }
        let of: Vec<u8> = have.iter().take(self.data() as usize).map(|element| element as u8).collect();
        for (element, factor) in of.iter().zip(factors(&of, target as u8)) {
            payloads.combine(cell(u32::from(*element)), into, |from, into| add_product(factor, from, into));
        }
    }
}
