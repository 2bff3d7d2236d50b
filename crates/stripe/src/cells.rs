//! What is done to pages in memory, where contents are on.

use nand::{Flash, PayloadId};

/// Copies one page over another.
pub(crate) fn copy<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId) {
    if let Some(contents) = flash.core_mut().contents.as_deref_mut() {
        contents.combine(from, into, |from, into| into.copy_from_slice(from));
    }
}

/// Adds one parity to another.
pub(crate) fn xor<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId) {
    if let Some(contents) = flash.core_mut().contents.as_deref_mut() {
        contents.combine(from, into, |from, into| into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from));
    }
}

/// Makes a page all zeros.
pub(crate) fn clear<F: Flash>(flash: &mut F, page: PayloadId) {
    if let Some(contents) = flash.core_mut().contents.as_deref_mut() {
        contents.payload_mut(page).fill(0);
    }
}

/// A page in memory; nothing where contents are off.
pub(crate) fn take<F: Flash>(flash: &mut F, mask: u64) -> PayloadId {
    let Some(contents) = flash.core_mut().contents.as_deref_mut() else { return PayloadId::NONE };
    let page = contents.take_payload(1);
    contents.set_payload_mask(page, mask);
    page
}

/// Slots for so many pages; nothing where contents are off.
pub(crate) fn take_many<F: Flash>(flash: &mut F, pages: u32, mask: u64) -> PayloadId {
    let Some(contents) = flash.core_mut().contents.as_deref_mut() else { return PayloadId::NONE };
    let cells = contents.take_payload(pages);
    (0..pages).for_each(|page| contents.set_payload_mask(cells.offset(page), mask));
    cells
}

/// Gives them back.
pub(crate) fn release_many<F: Flash>(flash: &mut F, cells: PayloadId, pages: u32) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), cells != PayloadId::NONE) {
        contents.release_payload(cells, pages);
    }
}

/// Gives one back.
pub(crate) fn release<F: Flash>(flash: &mut F, page: PayloadId) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), page != PayloadId::NONE) {
        contents.release_payload(page, 1);
    }
}

/// Fills sectors with zeros.
pub(crate) fn fill<F: Flash>(flash: &mut F, page: PayloadId, mask: u64) {
    if let (Some(contents), true) = (flash.core_mut().contents.as_deref_mut(), page != PayloadId::NONE) {
        let bytes = contents.cell_bytes();
        let cells = contents.payload_mut(page).chunks_exact_mut(bytes).enumerate();
        cells.filter(|(sector, _)| mask >> sector & 1 == 1).for_each(|(_, cell)| cell.fill(0));
    }
}
