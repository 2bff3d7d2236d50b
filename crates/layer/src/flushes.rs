//! Flushes that wait for what was asked for before them.

use crate::{Answer, Outbox, PageOp, Signal};
use std::collections::VecDeque;

/// Flushes in the order in which they came.
#[derive(Debug, Default)]
pub struct FlushLine {
    waiting: VecDeque<(u64, PageOp)>,
}

impl FlushLine {
    /// None waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A flush waits behind everything begun no later than `serial`.
    pub fn push(&mut self, serial: u64, op: &PageOp) {
        self.waiting.push_back((serial, *op));
    }

    /// A flush that has waited for its turn already comes first.
    pub fn push_front(&mut self, op: &PageOp) {
        self.waiting.push_front((0, *op));
    }

    /// Goes on with the first ones. `flush` does one, given what it waits for, or says `None`: not yet.
    pub fn pass(&mut self, outbox: &mut Outbox, mut flush: impl FnMut(u64, &PageOp) -> Option<Answer>) {
        while let Some((serial, op)) = self.waiting.front() {
            match flush(*serial, op) {
                None | Some(Answer::Full { .. }) => return,
                Some(Answer::Done { failed }) => outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: None }),
                Some(Answer::Pending(_)) => {}
            }
            self.waiting.pop_front();
        }
    }
}
