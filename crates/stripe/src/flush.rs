//! Flushes of the host: after the writes before them, and once more where a die was lost meanwhile.
//!
//! The mapping's flush ends when what was on its way has ended, be it lost with its die. Data pages then follow from
//! others; tombstones do not, and are written again: a flush that a die was lost under is repeated behind them.

use crate::striped::Striped;
use crate::token;
use layer::{Answer, FlushLine, OpHandle, Outbox, PageOp, Signal, Slots};
use nand::Flash;

/// Flushes that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    /// Those that wait, with the last job before them.
    waiting: FlushLine,
    /// Those the mapping is at, with the dies lost or replaced when it began.
    below: Slots<(u32, PageOp)>,
}

impl Flushes {
    pub fn any_waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl<F: Flash> Striped<F> {
    pub fn submit_flush(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        if !self.flushes.any_waits() && self.jobs.active() == 0 {
            let answer = self.flush_below(flash, op);
            self.starved |= matches!(answer, Answer::Full { .. });
            return answer;
        }
        self.flushes.waiting.push(self.jobs.last_serial(), op);
        Answer::Pending(OpHandle(None))
    }

    /// Flushes whose writes have all been done go on to the mapping.
    pub fn pass_flushes(&mut self, flash: &mut F, outbox: &mut Outbox) {
        let mut waiting = std::mem::take(&mut self.flushes.waiting);
        waiting.pass(outbox, |serial, op| (!self.jobs.any_up_to(serial)).then(|| self.flush_below(flash, op)));
        self.flushes.waiting = waiting;
    }

    fn flush_below(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let slot = self.flushes.below.insert((self.chips.changes, *op));
        let own = PageOp {
            owner: layer::STRIPE_OWNER,
            token: token::new(slot, token::LOG, token::OF_HOST),
            cancellable: false,
            ..*op
        };
        let answer = self.submit_below(flash, &own);
        if !matches!(answer, Answer::Pending(_)) {
            self.flushes.below.remove(slot);
        }
        answer
    }

    /// The mapping has flushed.
    pub fn flushed(&mut self, slot: u32, failed: bool, outbox: &mut Outbox) {
        let (changes, op) = self.flushes.below.remove(slot);
        if changes == self.chips.changes {
            outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: self.wait });
        } else {
            self.flushes.waiting.push_front(&op);
        }
    }
}
