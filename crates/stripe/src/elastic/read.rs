//! Reads, and what is read in place of a page that cannot be.

use super::stripes::{ParityRecord, add};
use super::{Elastic, TRIMMED, page_cells};
use layer::{Answer, OpHandle, Outbox, PageOp, Signal};
use nand::{Cancel, CommandId, Completion, Flash, JoinId, Outcome, PageKind, PayloadId, Read};
use units::Cause;

/// A read that is not done.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    op: PageOp,
    /// Dies lost when it was issued.
    deaths: u32,
    /// It has failed before.
    again: bool,
}

impl<F: Flash> Elastic<F> {
    pub(super) fn submit_read(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if self.has_gone(op) {
            return Answer::Done { failed: true };
        }
        if op.cancellable {
            let join = flash.open(op.owner, op.token, Cancel::Possible);
            self.read_pages(flash, op, join);
            let (outcome, failed) = flash.close(join);
            self.settle_repairs(flash, outbox);
            return if outcome == Outcome::Done {
                Answer::Done { failed }
            } else {
                Answer::Pending(OpHandle(Some(join)))
            };
        }
        let slot = self.reads.insert(UnderWay { op: *op, deaths: self.deaths, again: false });
        let answer = match self.issue(flash, slot) {
            Some(failed) => {
                self.reads.remove(slot);
                Answer::Done { failed }
            }
            None => Answer::Pending(OpHandle(None)),
        };
        self.settle_repairs(flash, outbox);
        answer
    }

    /// Issues a read. Whether it failed, if that is known at once.
    fn issue(&mut self, flash: &mut F, slot: u32) -> Option<bool> {
        let op = self.reads.at(slot).op;
        if self.has_gone(&op) {
            return Some(true); // given up since it was asked for
        }
        let join = flash.open(self.owner, slot, Cancel::Never);
        self.read_pages(flash, &op, join);
        let (outcome, failed) = flash.close(join);
        (outcome == Outcome::Done).then_some(failed)
    }

    fn has_gone(&self, op: &PageOp) -> bool {
        (op.first..op.first + op.pages).any(|logical| self.is_gone(logical))
    }

    /// A read has ended. One that failed because a die went meanwhile goes around it, and any other is tried once
    /// more: what cannot be read is known by now.
    pub(super) fn read_ended(
        &mut self,
        flash: &mut F,
        slot: u32,
        failed: bool,
        wait: Option<u32>,
        outbox: &mut Outbox,
    ) {
        let deaths = self.deaths;
        let read = self.reads.at_mut(slot);
        let mut failed = failed;
        if failed && (!read.again || read.deaths != deaths) {
            (read.again, read.deaths) = (true, deaths);
            match self.issue(flash, slot) {
                Some(still) => failed = still,
                None => return,
            }
        }
        let PageOp { owner, token, .. } = self.reads.remove(slot).op;
        outbox.push(Signal::Done { owner, token, failed, wait });
    }

    fn settle_repairs(&mut self, flash: &mut F, outbox: &mut Outbox) {
        if !self.repairs.is_empty() {
            self.settle(flash, outbox);
        }
    }

    fn read_pages(&mut self, flash: &mut F, op: &PageOp, join: JoinId) {
        for index in 0..op.pages {
            let place = self.map[(op.first + index) as usize];
            let (mask, payload) = (op.mask_at(index, self.full_mask), op.payload.offset(index));
            if place >= TRIMMED {
                flash.memory_mut().payloads.clear(payload, mask);
            } else if self.is_readable(flash, place) {
                let read = self.read_of(place, op.cause, mask.count_ones() as u8);
                flash.read(self.owner, Read { payload, completion: Some(Completion::Join(join)), ..read });
            } else {
                self.read_around(flash, place, payload, mask, op.cause, join);
            }
        }
    }

    fn read_of(&self, place: u32, cause: Cause, sectors: u8) -> Read {
        Read { page: self.blocks.page(place), cause, sectors, payload: PayloadId::NONE, completion: None, after: None }
    }

    fn sectors(&self) -> u8 {
        self.full_mask.count_ones() as u8
    }

    /// Whether a page of data can be read, or will be when it is programmed.
    pub(super) fn is_readable(&self, flash: &F, place: u32) -> bool {
        let (state, page) = (flash.state(), self.blocks.page(place));
        if state.die_is_dead(state.geometry.die_of(state.geometry.block_of(page))) {
            return false;
        }
        state.contents().is_none_or(|contents| contents.oob(page.0).kind != PageKind::Lost)
    }

    /// What a page that cannot be read is computed from: the other pages of its stripe, parity included.
    pub(super) fn others_of(&self, flash: &F, place: u32) -> Option<Vec<u32>> {
        let (data, parity) = self.blocks.stripe_of(place)?;
        let others: Vec<u32> = data.into_iter().chain([parity]).filter(|other| *other != place).collect();
        others.iter().all(|other| self.is_readable(flash, *other)).then_some(others)
    }

    /// Whether a page can neither be read nor computed: what is written of it in part has nothing to be added to.
    pub(super) fn is_lost_for_good(&self, flash: &F, logical: u32) -> bool {
        let place = self.map[logical as usize];
        if place >= TRIMMED {
            return self.is_gone(logical);
        }
        !self.is_readable(flash, place) && self.in_memory(place).is_none() && self.others_of(flash, place).is_none()
    }

    /// Answers a read of a page that cannot be read.
    #[cold]
    fn read_around(&mut self, flash: &mut F, place: u32, payload: PayloadId, mask: u64, cause: Cause, join: JoinId) {
        if let Some(member) = self.in_memory(place) {
            flash.memory_mut().payloads.copy(member.cells, payload, mask);
            return;
        }
        let own = self.read_of(place, cause, mask.count_ones() as u8);
        let Some(others) = self.others_of(flash, place) else {
            flash.read(self.owner, Read { payload, completion: Some(Completion::Join(join)), ..own });
            return;
        };
        // That it cannot be read is found out by reading it, unless the die is known to be lost.
        let is_lost = self.blocks.is_lost(place);
        let after = if is_lost { None } else { flash.read(self.owner, own).pending() };
        for other in &others {
            let read = self.read_of(*other, Cause::Rebuild, self.sectors());
            flash.read(self.owner, Read { completion: Some(Completion::Join(join)), after, ..read });
        }
        let cells = self.sum_of(flash, &others);
        flash.memory_mut().payloads.copy(cells, payload, mask);
        flash.memory_mut().payloads.release(cells, 1);
        self.counters.reconstructed += 1;
        if !is_lost && !self.repairs.contains(&place) {
            self.repairs.push_back(place);
        }
    }

    /// The sum of pages on flash; the last one is a parity.
    fn sum_of(&self, flash: &mut F, places: &[u32]) -> PayloadId {
        let cells = flash.memory_mut().payloads.take(1, self.full_mask);
        let Some(contents) = flash.state().contents() else { return cells };
        let mut sum = vec![0; flash.state().memory.payloads.cells(cells).len()];
        let (parity, data) = places.split_last().expect("a stripe has a parity");
        for place in data {
            add(contents.page(self.blocks.page(*place).0), &mut sum);
        }
        let record = contents.record(self.blocks.page(*parity).0).and_then(ParityRecord::read);
        add(record.expect("a parity page holds a parity").cells, &mut sum);
        flash.memory_mut().payloads.cells_mut(cells).copy_from_slice(&sum);
        cells
    }

    /// Brings a whole page into memory, of which so many sectors are not known yet; the read to wait for. Nothing if
    /// nothing is left of it.
    pub(super) fn fetch(
        &mut self,
        flash: &mut F,
        place: u32,
        cause: Cause,
        sectors: u8,
    ) -> Option<(PayloadId, Option<CommandId>)> {
        if let Some(member) = self.in_memory(place) {
            let cells = flash.memory_mut().payloads.take(1, self.full_mask);
            flash.memory_mut().payloads.copy(member.cells, cells, self.full_mask);
            let after = if self.blocks.is_lost(place) {
                None
            } else {
                flash.read(self.owner, self.read_of(place, cause, sectors)).pending()
            };
            return Some((cells, after));
        }
        if self.is_readable(flash, place) {
            let after = flash.read(self.owner, self.read_of(place, cause, sectors)).pending();
            let cells = flash.memory_mut().payloads.take(1, self.full_mask);
            let page = page_cells(flash.state(), self.blocks.page(place)).map(<[u8]>::to_vec);
            if let Some(page) = page {
                flash.memory_mut().payloads.cells_mut(cells).copy_from_slice(&page);
            }
            return Some((cells, after));
        }
        let others = self.others_of(flash, place)?;
        let mut after = None;
        for other in &others {
            let read = self.read_of(*other, Cause::Rebuild, self.sectors());
            after = flash.read(self.owner, Read { after, ..read }).pending();
        }
        self.counters.reconstructed += 1;
        Some((self.sum_of(flash, &others), after))
    }
}
