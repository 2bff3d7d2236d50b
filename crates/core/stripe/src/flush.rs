//! Flushes of the host: after the writes before them, and once more where a die was lost meanwhile.
//!
//! The mapping's flush ends when what was on its way has ended, be it lost with its die. Data pages then follow from
//! others; tombstones do not, and are written again: a flush that a die was lost under is repeated behind them.

use crate::striped::Striped;
use crate::token::{Asked, Tag};
use layer::{Answer, OpHandle, Outbox, PageOp, Signal};
use nand::Flash;

impl<F: Flash> Striped<F> {
    pub fn submit_flush(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        if self.work.jobs.flushes.try_join(op) {
            return Answer::Pending(OpHandle(None));
        }
        let answer = self.flush_below(flash, op);
        self.work.array.below.room.note(answer)
    }

    /// Flushes whose writes have all been done go on to the mapping.
    pub fn pass_flushes(&mut self, flash: &mut F, outbox: &mut Outbox) {
        let mut flushes = std::mem::take(&mut self.work.jobs.flushes);
        flushes.pass(outbox, |op| self.flush_below(flash, op));
        self.work.jobs.flushes = flushes;
    }

    fn flush_below(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let slot = self.flushes.insert((self.work.array.chips.changes, *op));
        let own =
            PageOp { owner: layer::STRIPE_OWNER, token: Tag::token(Asked::Flush, slot, 0), cancellable: false, ..*op };
        let answer = self.work.array.below.submit(flash, &own);
        if !matches!(answer, Answer::Pending(_)) {
            self.flushes.remove(slot);
        }
        answer
    }

    /// The mapping has flushed.
    pub fn flushed(&mut self, slot: u32, failed: bool, outbox: &mut Outbox) {
        let (changes, op) = self.flushes.remove(slot);
        if changes == self.work.array.chips.changes {
            outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: self.wait });
        } else {
            self.work.jobs.flushes.push_front(&op);
        }
    }
}
