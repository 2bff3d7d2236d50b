//! What all mappings do alike with pages that are read or written in part, or were never written.

use nand::{CommandId, Completion, Flash, JoinId, Owner, PayloadId, Read};
use units::{Cause, Geometry, Ppn};

/// Reads the sectors of the old page that a partial write keeps; the command to wait for.
pub(super) fn read_missing<F: Flash>(
    flash: &mut F,
    owner: Owner,
    geometry: &Geometry,
    old: Ppn,
    mask: u64,
    join: JoinId,
    known: Option<CommandId>,
) -> Option<CommandId> {
    let sectors = geometry.sectors_per_page() - mask.count_ones();
    let read = Read {
        page: old,
        cause: Cause::Padding,
        sectors: sectors as u8,
        payload: PayloadId::NONE,
        completion: Some(Completion::Join(join)),
        after: known,
    };
    flash.read(owner, read).pending()
}

/// Answers a read of a page that is nowhere.
pub(super) fn read_zeros<F: Flash>(flash: &mut F, payload: PayloadId, mask: u64) {
    if payload == PayloadId::NONE {
        return;
    }
    if let Some(contents) = flash.core_mut().contents.as_deref_mut() {
        let cell = contents.cell_bytes();
        for (sector, bytes) in contents.payload_mut(payload).chunks_exact_mut(cell).enumerate() {
            if mask >> sector & 1 == 1 {
                bytes.fill(0);
            }
        }
    }
}
