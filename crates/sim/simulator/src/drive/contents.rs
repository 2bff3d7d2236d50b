//! Contents of requests when contents are on: stamps to write and to check against, or the host's own cells.

use super::Drive;
use crate::Oracle;
use crate::clocked::Clocked;
use layer::Held;
use nand::{PayloadId, Payloads};
use units::{BlockId, HostOp, Lpn, Request};

/// Sectors of a request that are in its page number `page`, from the beginning of that page.
fn within(request: &Request, page: u32, per_page: u64) -> std::ops::Range<u64> {
    let first = (request.first_sector / per_page + u64::from(page)) * per_page;
    request.first_sector.max(first) - first..request.end_sector().min(first + per_page) - first
}

impl<F: Clocked> Drive<F> {
    /// The contents of a page (see [`layer::PageLayer::holds`]).
    pub fn holds(&self, page: Lpn) -> Held {
        self.top.holds(&self.flash, page)
    }

    /// The erase block with the newest version of a sector, counted as in [`nand::FlashState::blocks`]. `None`: memory
    /// has it, or the sector holds nothing.
    pub fn block_of(&self, sector: u64) -> Option<BlockId> {
        let within = sector % (1 << self.page_shift);
        let page = self.top.place_of(Lpn((sector >> self.page_shift) as u32), 1 << within)?;
        Some(self.flash.state().geometry.block_of(page))
    }

    /// The most that a page of some sectors holds.
    pub fn holds_sectors(&self, first_sector: u64, sectors: u32) -> Held {
        let end = (first_sector + u64::from(sectors)).div_ceil(1 << self.page_shift);
        (first_sector >> self.page_shift..end).map(|page| self.holds(Lpn(page as u32))).max().unwrap_or(Held::Nothing)
    }

    /// From now on requests carry the host's own cells (see [`crate::BlockDevice::submit_cells`]), and nothing is
    /// checked.
    /// Panics if contents are off.
    pub fn carry_cells(&mut self) {
        assert!(self.flash.state().holds_contents(), "cells are carried where contents are on");
        self.oracle = None;
        self.carries = true;
    }

    /// Gives a request its cells: stamps or the host's cells to write, or room to read into.
    #[cold]
    pub(super) fn attach_contents(&mut self, id: u32, given: &[u8]) {
        let slot = &mut self.slots[id as usize];
        if let Some(oracle) = &mut self.oracle {
            oracle.submitted(id, &slot.request);
        }
        let pages = slot.end_page - slot.next_page;
        let payloads = &mut self.flash.memory_mut().payloads;
        if pages == 0 || payloads.cell_bytes() == 0 || !matches!(slot.request.op, HostOp::Read | HostOp::Write) {
            return;
        }
        slot.payload = payloads.take(pages, 0);
        // A write without cells writes zeros that take no memory: what preconditioning writes.
        let is_blank = self.carries && given.is_empty() && slot.request.op == HostOp::Write;
        let per_page = 1_u64 << self.page_shift;
        let cell = payloads.cell_bytes();
        let mut given = given;
        for page in 0..pages {
            let payload = slot.payload.offset(page);
            let range = within(&slot.request, page, per_page);
            payloads.set_mask(payload, (self.full_mask >> (per_page - (range.end - range.start))) << range.start);
            if is_blank {
                payloads.clear(payload, self.full_mask);
                continue;
            }
            let cells = &mut payloads.cells_mut(payload)[range.start as usize * cell..range.end as usize * cell];
            if let Some(oracle) = &self.oracle {
                let first = (slot.request.first_sector / per_page + u64::from(page)) * per_page;
                for (sector, cell) in range.zip(cells.chunks_exact_mut(cell)) {
                    let stamp = oracle.stamp(id, first + sector).to_le_bytes();
                    let stamp = if slot.request.op == HostOp::Write { stamp } else { [0xee; 8] };
                    cell.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&stamp));
                }
            } else if slot.request.op == HostOp::Write {
                let (own, rest) = given.split_at(cells.len());
                cells.copy_from_slice(own);
                given = rest;
            }
        }
    }

    /// Checks what was read, or hands it over, and gives the request's cells back.
    #[cold]
    pub(super) fn detach_contents(&mut self, id: u32) {
        let payloads = &mut self.flash.memory_mut().payloads;
        let slot = &mut self.slots[id as usize];
        let per_page = 1_u64 << self.page_shift;
        let pages = slot.end_page - Lpn((slot.request.first_sector / per_page) as u32);
        if slot.request.op == HostOp::Read && !slot.failed {
            for page in 0..pages {
                let range = within(&slot.request, page, per_page);
                let cells = cells_of(payloads, slot.payload.offset(page), &range);
                let Some(oracle) = &mut self.oracle else {
                    self.read_cells.extend_from_slice(cells);
                    continue;
                };
                let first = (slot.request.first_sector / per_page + u64::from(page)) * per_page;
                for (sector, cell) in range.zip(cells.chunks_exact(payloads.cell_bytes())) {
                    oracle.check_read(id, first + sector, Oracle::stamp_in(cell));
                }
            }
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.completed(id, slot.failed);
        }
        payloads.release(slot.payload, pages);
    }
}

/// Cells of some sectors of a page in memory.
fn cells_of<'a>(payloads: &'a Payloads, page: PayloadId, sectors: &std::ops::Range<u64>) -> &'a [u8] {
    let cell = payloads.cell_bytes() as u64;
    &payloads.cells(page)[(sectors.start * cell) as usize..(sectors.end * cell) as usize]
}
