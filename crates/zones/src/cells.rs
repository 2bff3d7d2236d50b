//! What is done to blocks in memory, where contents are on: sums, copies, and a code with coefficients.

use code::GroupCode;
use nand::{Contents, Flash, PayloadId};
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
    pub fn compute(&self, contents: &mut Contents, code: &GroupCode, target: u32, have: u32, cell: impl Fn(u32) -> PayloadId) {
        let into = cell(target);
        match self {
            Self::Xor => {
                let of = if target < code.data() { code.express(target, have) } else { Some(code.sources(target - code.data())) };
                let of = of.expect("the decoder knows what follows from what");
                contents.payload_mut(into).fill(0);
                for element in (0..code.elements()).filter(|element| of >> element & 1 == 1) {
                    add(contents, cell(element), into);
                }
            }
            Self::ReedSolomon(codec) => {
                let mut shards: Vec<Option<Vec<u8>>> = (0..code.elements())
                    .map(|element| (have >> element & 1 == 1).then(|| contents.payload(cell(element)).to_vec()))
                    .collect();
                codec.reconstruct(&mut shards).expect("as many blocks as data blocks are enough");
                let found = shards[target as usize].as_ref().expect("everything was reconstructed");
                contents.payload_mut(into).copy_from_slice(found);
            }
        }
    }
}

/// Adds one slot to another.
pub(crate) fn add(contents: &mut Contents, from: PayloadId, into: PayloadId) {
    contents.combine(from, into, |from, into| into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from));
}

/// Slots for so many pages, all sectors meant; nothing where contents are off.
pub(crate) fn take<F: Flash>(flash: &mut F, pages: u32, mask: u64) -> PayloadId {
    let Some(contents) = flash.core_mut().contents.as_deref_mut() else { return PayloadId::NONE };
    let cells = contents.take_payload(pages);
    (0..pages).for_each(|page| contents.set_payload_mask(cells.offset(page), mask));
    cells
}

/// Gives slots back.
pub(crate) fn release<F: Flash>(flash: &mut F, cells: PayloadId, pages: u32) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), cells != PayloadId::NONE) {
        contents.release_payload(cells, pages);
    }
}

/// Says which sectors of a slot are meant.
pub(crate) fn set_mask<F: Flash>(flash: &mut F, page: PayloadId, mask: u64) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), page != PayloadId::NONE) {
        contents.set_payload_mask(page, mask);
    }
}

/// Fills sectors with zeros.
pub(crate) fn clear<F: Flash>(flash: &mut F, page: PayloadId, mask: u64) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), page != PayloadId::NONE) {
        let bytes = contents.cell_bytes();
        let cells = contents.payload_mut(page).chunks_exact_mut(bytes).enumerate();
        cells.filter(|(sector, _)| mask >> sector & 1 == 1).for_each(|(_, cell)| cell.fill(0));
    }
}

/// Copies those sectors of a slot to another that the other still lacks, by its mask.
pub(crate) fn fill_up<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), from != PayloadId::NONE && into != PayloadId::NONE) {
        let mask = contents.payload_mask(into);
        contents.copy_sectors(from, into, mask);
    }
}

/// Copies sectors of one slot to another.
pub(crate) fn copy<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId, mask: u64) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), from != PayloadId::NONE && into != PayloadId::NONE) {
        contents.copy_sectors(from, into, mask);
    }
}
