//! Flushes that wait for what was begun before them, and the numbers they go by.

use crate::{Answer, Outbox, PageOp, Signal};
use std::collections::VecDeque;

/// Work under way, and the flushes that wait for it, in order of arrival.
#[derive(Debug, Default)]
pub struct FlushLine {
    /// Each with the number of the last that began before it.
    waiting: VecDeque<(u64, PageOp)>,
    under_way: Serials,
}

impl FlushLine {
    /// Whether no flush waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Something begins that later flushes wait for; its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.under_way.begin()
    }

    /// The write or trim with this serial is done.
    #[inline]
    pub fn end(&mut self, serial: u64) {
        self.under_way.end(serial);
    }

    /// A flush comes. Whether it waits now, behind what is under way and the flushes before it; if not it can be done.
    pub fn try_join(&mut self, op: &PageOp) -> bool {
        let waits = !self.waiting.is_empty() || self.under_way.any();
        if waits {
            self.waiting.push_back((self.under_way.last, *op));
        }
        waits
    }

    /// A flush that has waited for its turn already comes first.
    pub fn push_front(&mut self, op: &PageOp) {
        self.waiting.push_front((0, *op));
    }

    /// Does with `flush` those for which nothing is under way any more, up to the first that finds no room.
    pub fn pass(&mut self, outbox: &mut Outbox, mut flush: impl FnMut(&PageOp) -> Answer) {
        while let Some((serial, op)) = self.waiting.front()
            && !self.under_way.any_up_to(*serial)
        {
            match flush(op) {
                Answer::Full { .. } => return,
                Answer::Done { failed } => {
                    outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: None });
                }
                Answer::Pending(_) => {}
            }
            self.waiting.pop_front();
        }
    }
}

/// Numbers of what is under way, in order of their beginning.
#[derive(Clone, Debug, Default)]
struct Serials {
    last: u64,
    /// From the oldest that is not done on: whether they are done.
    done: VecDeque<bool>,
}

impl Serials {
    /// Something begins; its number, from 1.
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.done.push_back(false);
        self.last
    }

    /// It is done.
    ///
    /// # Panics
    /// If everything so old is done.
    fn end(&mut self, serial: u64) {
        let oldest = self.last + 1 - self.done.len() as u64;
        self.done[(serial - oldest) as usize] = true;
        while self.done.front() == Some(&true) {
            self.done.pop_front();
        }
    }

    /// Whether something is not done.
    fn any(&self) -> bool {
        !self.done.is_empty()
    }

    /// Whether something is not done that began no later than `serial`.
    fn any_up_to(&self, serial: u64) -> bool {
        !self.done.is_empty() && self.last + 1 - self.done.len() as u64 <= serial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{HostOp, Lpn};

    fn flush(token: nand::Token) -> PageOp {
        PageOp { token, pages: 0, ..PageOp::on_page(HostOp::Flush, Lpn(0), 0) }
    }

    fn passed(line: &mut FlushLine, answer: Answer) -> Vec<nand::Token> {
        let mut tokens = Vec::new();
        line.pass(&mut Outbox::new(), |op| {
            tokens.push(op.token);
            answer
        });
        tokens
    }

    #[test]
    fn a_flush_waits_for_what_began_before_it_and_for_nothing_else() {
        let mut line = FlushLine::default();
        assert!(!line.try_join(&flush(0)), "nothing is under way");
        let (first, second) = (line.begin(), line.begin());
        assert!(line.try_join(&flush(1)));
        let third = line.begin();
        assert!(line.try_join(&flush(2)));
        line.end(second);
        assert_eq!(passed(&mut line, Answer::Done { failed: false }), []);
        line.end(first);
        assert_eq!(passed(&mut line, Answer::Done { failed: false }), [1], "the third began later");
        line.end(third);
        assert_eq!(passed(&mut line, Answer::Done { failed: false }), [2]);
        assert!(line.is_empty());
    }

    #[test]
    fn a_flush_that_finds_no_room_keeps_its_place() {
        let mut line = FlushLine::default();
        let serial = line.begin();
        assert!(line.try_join(&flush(1)) && line.try_join(&flush(2)));
        line.end(serial);
        assert_eq!(passed(&mut line, Answer::Done { failed: false }.full(0)), [1]);
        assert_eq!(passed(&mut line, Answer::Pending(crate::OpHandle(None))), [1, 2]);
    }
}
