//! What is done to pages in memory, where contents are on: without contents, or a page that is none, nothing is.

use nand::{Contents, Flash, PayloadId};

fn contents_of<'a, F: Flash>(flash: &'a mut F, pages: &[PayloadId]) -> Option<&'a mut Contents> {
    if pages.contains(&PayloadId::NONE) { None } else { flash.core_mut().contents.as_deref_mut() }
}

/// Slots for so many pages in a row, with these sectors of each meant; what is in them is left over. None where
/// contents are off.
pub fn take<F: Flash>(flash: &mut F, pages: u32, mask: u64) -> PayloadId {
    let Some(contents) = flash.core_mut().contents.as_deref_mut() else { return PayloadId::NONE };
    let cells = contents.take_payload(pages);
    (0..pages).for_each(|page| contents.set_payload_mask(cells.offset(page), mask));
    cells
}

/// Gives slots back, as many as were taken.
pub fn release<F: Flash>(flash: &mut F, cells: PayloadId, pages: u32) {
    if let Some(contents) = contents_of(flash, &[cells]) {
        contents.release_payload(cells, pages);
    }
}

/// Says which sectors of a page are meant.
pub fn set_mask<F: Flash>(flash: &mut F, page: PayloadId, mask: u64) {
    if let Some(contents) = contents_of(flash, &[page]) {
        contents.set_payload_mask(page, mask);
    }
}

/// Fills sectors with zeros.
pub fn clear<F: Flash>(flash: &mut F, page: PayloadId, mask: u64) {
    if let Some(contents) = contents_of(flash, &[page]) {
        let bytes = contents.cell_bytes();
        let cells = contents.payload_mut(page).chunks_exact_mut(bytes).enumerate();
        cells.filter(|(sector, _)| mask >> sector & 1 == 1).for_each(|(_, cell)| cell.fill(0));
    }
}

/// Copies sectors of one page to another.
pub fn copy<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId, mask: u64) {
    if let Some(contents) = contents_of(flash, &[from, into]) {
        contents.copy_sectors(from, into, mask);
    }
}

/// Copies to a page the sectors meant by its mask.
pub fn fill_up<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId) {
    if let Some(contents) = contents_of(flash, &[from, into]) {
        contents.copy_sectors(from, into, contents.payload_mask(into));
    }
}

/// Adds one page to another, bit by bit.
pub fn add<F: Flash>(flash: &mut F, from: PayloadId, into: PayloadId) {
    if let Some(contents) = contents_of(flash, &[from, into]) {
        contents.add(from, into);
    }
}
