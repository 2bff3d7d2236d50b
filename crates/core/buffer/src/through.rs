//! Requests that go past the buffer: writes that must be on flash when they are acknowledged, and trims.

use crate::buffered::Buffered;
use crate::parameters::Area;
use crate::policy::Policy;
use crate::store::State;
use layer::{Answer, PageOp};
use nand::{Flash, PayloadId};
use units::{HostOp, Lpn};

impl<F: Flash, P: Policy> Buffered<F, P> {
    /// Whether versions of these pages wait to be given to the layer below, or blocks of theirs are being
    /// completed: what goes past them now would be overwritten by what is older. A trim waits until
    /// non-volatile memory has dropped these pages, or it would bring them back after the trim is on flash.
    fn is_in_the_way(&self, op: &PageOp) -> bool {
        let until_there = op.op == HostOp::Trim && self.store.nonvolatile;
        let waits = |logical: Lpn| {
            let goes = |slot: u32| until_there || self.store.slot(slot).state == State::Queued;
            self.store.away(logical).is_some_and(goes) || self.write_back.is_locked(self.store.shape.block_of(logical))
        };
        !self.write_back.is_idle() && op.all().any(waits)
    }

    /// Gives an operation to the layer below as it is; how many of its pages were taken.
    pub fn pass(&mut self, flash: &mut F, op: &PageOp) -> (Answer, u32) {
        if self.is_in_the_way(op) {
            return (self.below.room.refuse(0), 0);
        }
        let answer = self.below.submit(flash, op);
        match self.below.room.note(answer) {
            Answer::Full { taken, .. } => (answer, taken),
            _ => (answer, op.pages),
        }
    }

    /// A write that is acknowledged by flash.
    pub fn write_through(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let (answer, taken) = self.pass(flash, op);
        self.counters.through += u64::from(taken);
        for page in 0..taken {
            let mask = op.mask_at(page, self.store.shape.full_mask);
            self.store.outdate(op.first + page, mask);
            if mask == self.store.shape.full_mask {
                self.lost.forget(flash.memory_mut(), op.first + page);
            }
            for area in Area::ALL {
                if let Some(slot) = self.store.find(area, op.first + page) {
                    let is_filling = matches!(self.store.slot(slot).state, State::Filling(_));
                    if self.store.take_sectors(flash.memory_mut(), slot, mask) || is_filling {
                        self.forget(flash, area, slot);
                    }
                }
            }
        }
        answer
    }

    /// Trimmed pages are forgotten. Non-volatile memory must not forget them before flash does, so it
    /// keeps zeros in their place.
    pub fn submit_trim(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let (answer, taken) = self.pass(flash, op);
        let full = self.store.shape.full_mask;
        for page in (0..taken).filter(|page| op.mask_at(*page, full) == full) {
            self.store.outdate(op.first + page, full);
            self.lost.forget(flash.memory_mut(), op.first + page);
            for area in Area::ALL {
                let Some(slot) = self.store.find(area, op.first + page) else { continue };
                if self.store.nonvolatile && self.store.slot(slot).state == State::Dirty {
                    self.store.put(flash.memory_mut(), area, slot, full, PayloadId::NONE);
                } else {
                    self.forget(flash, area, slot);
                }
            }
        }
        answer
    }
}
