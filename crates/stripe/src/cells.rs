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
