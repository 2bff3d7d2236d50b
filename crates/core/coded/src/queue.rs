//! Sub-requests that wait before they reach their bank: one queue for all, or banks in lockstep.
//!
//! With a queue for each bank nothing waits here: the dies have these queues.

use crate::group::Elements;
use crate::settings::Queues;
use std::collections::VecDeque;

/// Something that takes banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sub {
    /// Elements of a fetch; the serial number tells a new fetch in the same slot from the old.
    Fetch { slot: u32, serial: u32, elements: Elements },
    /// The next step of a write.
    Job { number: u32 },
}

/// The gate in front of the banks.
#[derive(Debug)]
pub(crate) struct Gate {
    mode: Queues,
    /// With the bank it takes; in lockstep that is all of them.
    waiting: VecDeque<(Sub, u32)>,
    /// Sub-requests on each bank, with one queue.
    busy: Vec<u32>,
    /// In lockstep: on all of them.
    total: u32,
}

impl Gate {
    pub fn new(mode: Queues, banks: u32) -> Self {
        Self { mode, waiting: VecDeque::new(), busy: vec![0; banks as usize], total: 0 }
    }

    /// Whether sub-requests go to their banks at once.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.mode == Queues::Bank
    }

    /// Whether all banks of a row work together.
    pub fn is_lockstep(&self) -> bool {
        self.mode == Queues::Lockstep
    }

    /// Lets something wait for its bank.
    pub fn push(&mut self, sub: Sub, bank: u32) {
        debug_assert!(!self.is_open(), "nothing waits where each bank has a queue");
        self.waiting.push_back((sub, bank));
    }

    /// The first in the queue that is still wanted, if its bank is free, or in lockstep all are.
    pub fn pop(&mut self, is_wanted: impl Fn(&Sub) -> bool) -> Option<Sub> {
        while self.waiting.front().is_some_and(|(sub, _)| !is_wanted(sub)) {
            self.waiting.pop_front();
        }
        let (sub, bank) = *self.waiting.front()?;
        let is_free = match self.mode {
            Queues::Bank => true,
            Queues::One => self.busy[bank as usize] == 0,
            Queues::Lockstep => self.total == 0,
        };
        is_free.then(|| {
            self.waiting.pop_front();
            sub
        })
    }

    /// A sub-request is on its bank.
    #[inline]
    pub fn enter(&mut self, bank: u32) {
        match self.mode {
            Queues::Bank => {}
            Queues::One => self.busy[bank as usize] += 1,
            Queues::Lockstep => self.total += 1,
        }
    }

    /// A sub-request has left its bank.
    #[inline]
    pub fn leave(&mut self, bank: u32) {
        match self.mode {
            Queues::Bank => {}
            Queues::One => self.busy[bank as usize] -= 1,
            Queues::Lockstep => self.total -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: u32) -> Sub {
        Sub::Job { number }
    }

    #[test]
    fn with_one_queue_the_first_waits_for_its_bank_and_all_others_behind_it() {
        let mut gate = Gate::new(Queues::One, 4);
        gate.enter(2);
        gate.push(job(0), 2);
        gate.push(job(1), 3);
        assert_eq!(gate.pop(|_| true), None, "bank 2 is busy");
        gate.leave(2);
        assert_eq!([gate.pop(|_| true), gate.pop(|_| true), gate.pop(|_| true)], [Some(job(0)), Some(job(1)), None]);
    }

    #[test]
    fn in_lockstep_any_bank_keeps_all_others_waiting() {
        let mut gate = Gate::new(Queues::Lockstep, 4);
        gate.enter(0);
        gate.push(job(0), 2);
        assert_eq!(gate.pop(|_| true), None);
        gate.leave(0);
        assert_eq!(gate.pop(|_| true), Some(job(0)));
    }

    #[test]
    fn nobody_waits_behind_what_is_not_wanted_any_more() {
        let mut gate = Gate::new(Queues::One, 4);
        gate.enter(2);
        gate.push(job(0), 2);
        gate.push(job(1), 3);
        assert_eq!(gate.pop(|sub| *sub != job(0)), Some(job(1)));
    }
}
