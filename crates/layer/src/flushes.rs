//! Flushes that wait for what was asked for before them, and the numbers they go by.

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
                Some(Answer::Done { failed }) => {
                    outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: None });
                }
                Some(Answer::Pending(_)) => {}
            }
            self.waiting.pop_front();
        }
    }
}

/// Numbers of what is under way, in order of their beginning.
#[derive(Clone, Debug, Default)]
pub struct Serials {
    last: u64,
    /// From the oldest that is not done on: whether they are done.
    done: VecDeque<bool>,
}

impl Serials {
    /// Something begins; its number, from 1.
    pub fn begin(&mut self) -> u64 {
        self.last += 1;
        self.done.push_back(false);
        self.last
    }

    /// It is done.
    ///
    /// # Panics
    /// If everything so old is done.
    pub fn end(&mut self, serial: u64) {
        let oldest = self.last + 1 - self.done.len() as u64;
        self.done[(serial - oldest) as usize] = true;
        while self.done.front() == Some(&true) {
            self.done.pop_front();
        }
    }

    /// Number of the last that began; 0: none ever did.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether something is not done that began no later than `serial`.
    pub fn any_up_to(&self, serial: u64) -> bool {
        !self.done.is_empty() && self.last + 1 - self.done.len() as u64 <= serial
    }
}
