//! Flushes of the host: after the writes before them, and once more where a die was lost meanwhile.
//!
//! The mapping's flush ends when what was on its way has ended, be it lost with its die. Data pages then follow from
//! others; tombstones do not, and are written again: a flush that a die was lost under is repeated behind them.

use crate::striped::Striped;
use crate::token;
use layer::{Answer, OpHandle, Outbox, PageOp, Signal};
use nand::Flash;
use std::collections::VecDeque;

/// Flushes that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    /// Those that wait, with the last job before them.
    waiting: VecDeque<(u64, PageOp)>,
    /// Those the mapping is at, with the dies lost or replaced when it began.
    below: Vec<Option<(u32, PageOp)>>,
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
        self.flushes.waiting.push_back((self.jobs.last_serial(), *op));
        Answer::Pending(OpHandle(None))
    }

    /// Flushes whose writes have all been done go on to the mapping.
    pub fn pass_flushes(&mut self, flash: &mut F, outbox: &mut Outbox) {
        while let Some((serial, op)) = self.flushes.waiting.front().copied() {
            if self.jobs.any_up_to(serial) {
                return;
            }
            match self.flush_below(flash, &op) {
                Answer::Full { .. } => return,
                Answer::Done { failed } => outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: None }),
                Answer::Pending(_) => {}
            }
            self.flushes.waiting.pop_front();
        }
    }

    fn flush_below(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let free = self.flushes.below.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.flushes.below.len());
        let own = PageOp { owner: layer::STRIPE_OWNER, token: token::new(slot as u32, token::LOG, token::OF_HOST), cancellable: false, ..*op };
        let answer = self.submit_below(flash, &own);
        if matches!(answer, Answer::Pending(_)) {
            if free.is_none() {
                self.flushes.below.push(None);
            }
            self.flushes.below[slot] = Some((self.chips.changes, *op));
        }
        answer
    }

    /// The mapping has flushed.
    pub fn flushed(&mut self, slot: u32, failed: bool, outbox: &mut Outbox) {
        let (changes, op) = self.flushes.below[slot as usize].take().expect("a flush ends once");
        if changes == self.chips.changes {
            outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: self.wait });
        } else {
            self.flushes.waiting.push_front((0, op));
        }
    }
}
