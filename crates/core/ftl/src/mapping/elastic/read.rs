//! Reads, and the pages that are read in place of a page that cannot be.

use super::log::Log;
use super::parity::{ParityRecord, add};
use layer::{Held, PageOp};
use nand::{CommandId, Completion, Flash, FlashState, JoinId, PayloadId, Read};
use units::{Cause, Lpn, Ppn};

/// Sectors of a page that are meant, where they go, and what hears of it.
#[derive(Clone, Copy)]
struct Wanted {
    payload: PayloadId,
    mask: u64,
    cause: Cause,
    join: JoinId,
}

fn read_of(page: Ppn, cause: Cause, sectors: u8) -> Read {
    Read { page, cause, sectors, payload: PayloadId::NONE, completion: None, after: None }
}

impl Log {
    /// Issues the reads of an operation.
    pub fn read<F: Flash>(&mut self, flash: &mut F, op: &PageOp, join: JoinId) {
        for (index, logical) in (0..).zip(op.all()) {
            let (mask, payload) = (op.mask_at(index, self.full_mask), op.payload.offset(index));
            match self.pages.find(logical) {
                None => flash.memory_mut().payloads.clear(payload, mask),
                Some(page) if self.grid.is_readable(flash.state(), page) => {
                    let read = read_of(page, op.cause, mask.count_ones() as u8);
                    flash.read(self.owner, Read { payload, completion: Some(Completion::Join(join)), ..read });
                }
                Some(page) => self.read_around(flash, page, Wanted { payload, mask, cause: op.cause, join }),
            }
        }
    }

    /// The contents of a logical page: reading a lost one is an error, and does not give zeros.
    pub fn holds<F: Flash>(&self, flash: &F, logical: Lpn) -> Held {
        match self.pages.find(logical) {
            Some(page) => {
                let is_readable = self.grid.is_readable(flash.state(), page);
                Held::written(!is_readable || flash.may_hold_bytes(page))
            }
            None if self.is_gone(logical) => Held::Bytes,
            None => Held::Nothing,
        }
    }

    /// What a page that cannot be read is computed from: the other pages of its stripe, the parity last.
    fn others_of(&self, state: &FlashState, page: Ppn) -> Option<Vec<Ppn>> {
        let stripe = self.roles.stripe_of(&self.grid, page)?;
        let others: Vec<Ppn> = stripe.pages().filter(|other| *other != page).collect();
        others.iter().all(|other| self.grid.is_readable(state, *other)).then_some(others)
    }

    /// Whether a page can neither be read nor computed: a write of a part of it has nothing to be added to.
    pub fn is_lost_for_good(&self, state: &FlashState, logical: Lpn) -> bool {
        let Some(page) = self.pages.find(logical) else { return self.is_gone(logical) };
        !self.grid.is_readable(state, page)
            && self.stripes.in_memory(page).is_none()
            && self.others_of(state, page).is_none()
    }

    /// Answers a read of a page that cannot be read.
    #[cold]
    fn read_around<F: Flash>(&mut self, flash: &mut F, page: Ppn, wanted: Wanted) {
        let Wanted { payload, mask, cause, join } = wanted;
        if let Some(member) = self.stripes.in_memory(page) {
            flash.memory_mut().payloads.copy(member.content.cells, payload, mask);
            return;
        }
        let own = read_of(page, cause, mask.count_ones() as u8);
        let Some(others) = self.others_of(flash.state(), page) else {
            flash.read(self.owner, Read { payload, completion: Some(Completion::Join(join)), ..own });
            return;
        };
        // That it cannot be read is found out by reading it, unless the die is known to be lost.
        let (is_lost, sectors) = (self.grid.is_lost(page), self.full_mask.count_ones() as u8);
        let after = if is_lost { None } else { flash.read(self.owner, own).pending() };
        for other in &others {
            let read = read_of(*other, Cause::Rebuild, sectors);
            flash.read(self.owner, Read { completion: Some(Completion::Join(join)), after, ..read });
        }
        let cells = self.sum_of(flash, &others);
        flash.memory_mut().payloads.copy(cells, payload, mask);
        flash.memory_mut().payloads.release(cells, 1);
        self.counters.reconstructed += 1;
        if !is_lost {
            self.repairs.add_once(page);
        }
    }

    /// The sum of pages on flash; the last one is a parity.
    fn sum_of<F: Flash>(&self, flash: &mut F, pages: &[Ppn]) -> PayloadId {
        let cells = flash.memory_mut().payloads.take(1, self.full_mask);
        let Some(contents) = flash.state().contents() else { return cells };
        let mut sum = vec![0; flash.state().memory.payloads.cells(cells).len()];
        let (parity, data) = pages.split_last().expect("a stripe has a parity");
        for page in data {
            add(contents.page(page.0), &mut sum);
        }
        let record = ParityRecord::read(&self.grid, contents, *parity);
        add(record.expect("a parity page holds a parity").cells, &mut sum);
        flash.memory_mut().payloads.cells_mut(cells).copy_from_slice(&sum);
        cells
    }

    /// Brings a whole page into memory; `sectors` of it are not known yet. Returns the read to wait for, or nothing if
    /// nothing is left of the page.
    pub fn fetch<F: Flash>(
        &mut self,
        flash: &mut F,
        page: Ppn,
        cause: Cause,
        sectors: u8,
    ) -> Option<(PayloadId, Option<CommandId>)> {
        if let Some(member) = self.stripes.in_memory(page) {
            let cells = flash.memory_mut().payloads.take(1, self.full_mask);
            flash.memory_mut().payloads.copy(member.content.cells, cells, self.full_mask);
            let after = if self.grid.is_lost(page) {
                None
            } else {
                flash.read(self.owner, read_of(page, cause, sectors)).pending()
            };
            return Some((cells, after));
        }
        if self.grid.is_readable(flash.state(), page) {
            let after = flash.read(self.owner, read_of(page, cause, sectors)).pending();
            let cells = flash.memory_mut().payloads.take(1, self.full_mask);
            let page = flash.state().contents().map(|contents| contents.page(page.0).to_vec());
            if let Some(page) = page {
                flash.memory_mut().payloads.cells_mut(cells).copy_from_slice(&page);
            }
            return Some((cells, after));
        }
        let others = self.others_of(flash.state(), page)?;
        let sectors = self.full_mask.count_ones() as u8;
        let mut after = None;
        for other in &others {
            let read = read_of(*other, Cause::Rebuild, sectors);
            after = flash.read(self.owner, Read { after, ..read }).pending();
        }
        self.counters.reconstructed += 1;
        Some((self.sum_of(flash, &others), after))
    }

    /// The whole page as it will be on flash when the sectors of `mask` are written, and the read to wait for.
    pub fn complete<F: Flash>(
        &mut self,
        flash: &mut F,
        logical: Lpn,
        payload: PayloadId,
        mask: u64,
    ) -> (PayloadId, Option<CommandId>) {
        let kept = self.full_mask & !mask;
        let old = self.pages.find(logical).filter(|_| kept != 0);
        let fetched = old.and_then(|old| self.fetch(flash, old, Cause::Padding, kept.count_ones() as u8));
        let (cells, after) = fetched.unwrap_or_else(|| {
            let payloads = &mut flash.memory_mut().payloads;
            let cells = payloads.take(1, self.full_mask);
            payloads.clear(cells, self.full_mask);
            (cells, None)
        });
        let payloads = &mut flash.memory_mut().payloads;
        payloads.copy(payload, cells, mask & payloads.mask(payload));
        (cells, after)
    }
}
