//! What requests carry when contents are on: stamps to write, and the check of what was read.

use super::Drive;
use crate::clocked::Clocked;
use nand::PayloadId;
use units::HostOp;

impl<F: Clocked> Drive<F> {
    /// Gives a request its cells: stamps to write, or room to read into.
    #[cold]
    pub(super) fn attach_contents(&mut self, id: u32) {
        let (Some(oracle), Some(contents)) = (self.oracle.as_deref_mut(), self.flash.core_mut().contents.as_deref_mut())
        else {
            return;
        };
        let slot = &mut self.slots[id as usize];
        let pages = slot.end_page - slot.next_page;
        oracle.submitted(id, &slot.request);
        if pages == 0 || !matches!(slot.request.op, HostOp::Read | HostOp::Write) {
            return;
        }
        slot.payload = contents.take_payload(pages);
        let per_page = 1_u64 << self.page_shift;
        for page in 0..pages {
            let payload = slot.payload.offset(page);
            let first = (u64::from(slot.next_page) + u64::from(page)) * per_page;
            let from = slot.request.first_sector.max(first) - first;
            let to = slot.request.end_sector().min(first + per_page) - first;
            contents.set_payload_mask(payload, (self.full_mask >> (per_page - (to - from))) << from);
            let cell = contents.cell_bytes();
            let cells = contents.payload_mut(payload);
            for sector in from..to {
                let stamp = oracle.stamp(id, first + sector).to_le_bytes();
                let stamp = if slot.request.op == HostOp::Write { stamp } else { [0xee; 8] };
                cells[sector as usize * cell..][..8].copy_from_slice(&stamp);
            }
        }
    }

    #[cold]
    pub(super) fn check_contents(&mut self, id: u32) {
        let (Some(oracle), Some(contents)) = (self.oracle.as_deref_mut(), self.flash.core_mut().contents.as_deref_mut())
        else {
            return;
        };
        let slot = &self.slots[id as usize];
        let per_page = 1_u64 << self.page_shift;
        if slot.request.op == HostOp::Read && !slot.failed {
            let cell = contents.cell_bytes();
            for sector in slot.request.first_sector..slot.request.end_sector() {
                let page = (sector / per_page - slot.request.first_sector / per_page) as u32;
                let at = (sector % per_page) as usize * cell;
                let bytes = &contents.payload(slot.payload.offset(page))[at..at + 8];
                oracle.check_read(id, sector, u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
            }
        }
        oracle.completed(id, slot.failed);
        if slot.payload != PayloadId::NONE {
            let first = (slot.request.first_sector / per_page) as u32;
            contents.release_payload(slot.payload, slot.end_page - first);
        }
    }
}
