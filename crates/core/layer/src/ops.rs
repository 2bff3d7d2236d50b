//! The operations that a layer has accepted, and its answers to their owners.
//!
//! ```text
//! begin ---- part_done, part_done, ... ---- answer: Done, when all parts were done at once
//!                                           answer: Pending, and the last part_done tells the owner
//! ```

use crate::{Answer, OpHandle, Outbox, PageOp, Signal, Slots};
use nand::{Owner, Token};

/// An operation that is not done.
#[derive(Clone, Copy, Debug)]
pub struct Op<T> {
    owner: Owner,
    token: Token,
    /// Parts that are not done.
    left: u32,
    /// A part of it failed.
    pub failed: bool,
    /// Its owner was told that it will hear of the end.
    is_pending: bool,
    /// Further data of the layer about the operation.
    pub about: T,
}

/// The operations of a layer that are under way.
#[derive(Clone, Debug)]
pub struct Ops<T> {
    all: Slots<Op<T>>,
}

impl<T> Op<T> {
    /// Parts that are not done.
    #[inline]
    pub fn left(&self) -> u32 {
        self.left
    }
}

impl<T> Default for Ops<T> {
    fn default() -> Self {
        Self { all: Slots::default() }
    }
}

impl<T> Ops<T> {
    /// Accepts an operation of `parts` parts; its number.
    #[inline]
    pub fn begin(&mut self, op: &PageOp, parts: u32, about: T) -> u32 {
        let PageOp { owner, token, .. } = *op;
        self.all.insert(Op { owner, token, left: parts, failed: false, is_pending: false, about })
    }

    /// An operation that is not done.
    #[inline]
    pub fn at(&self, number: u32) -> &Op<T> {
        self.all.at(number)
    }

    /// An operation that is not done, to be changed.
    #[inline]
    pub fn at_mut(&mut self, number: u32) -> &mut Op<T> {
        self.all.at_mut(number)
    }

    /// No operation is under way.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// An operation has more parts than was said.
    #[inline]
    pub fn more_parts(&mut self, number: u32, parts: u32) {
        self.all.at_mut(number).left += parts;
    }

    /// An operation has fewer parts than was said.
    #[inline]
    pub fn fewer_parts(&mut self, number: u32, parts: u32) {
        self.all.at_mut(number).left -= parts;
    }

    /// An operation begins anew, with `parts` parts, as if nothing of it had failed.
    pub fn restart(&mut self, number: u32, parts: u32) {
        let op = self.all.at_mut(number);
        (op.left, op.failed) = (parts, false);
    }

    /// Parts of an operation are done. If it has ended, and its owner waits, that one hears of it; and with that
    /// nobody knows its number any more.
    #[inline]
    pub fn part_done(
        &mut self,
        number: u32,
        parts: u32,
        failed: bool,
        wait: Option<u32>,
        outbox: &mut Outbox,
    ) -> Option<Op<T>> {
        let op = self.all.at_mut(number);
        op.left -= parts;
        op.failed |= failed;
        if op.left > 0 || !op.is_pending {
            return None;
        }
        let op = self.all.remove(number);
        outbox.push(Signal::Done { owner: op.owner, token: op.token, failed: op.failed, wait });
        Some(op)
    }

    /// The answer to an operation when all immediate work is done.
    #[inline]
    pub fn answer(&mut self, number: u32) -> Answer {
        let op = self.all.at_mut(number);
        if op.left > 0 {
            op.is_pending = true;
            return Answer::Pending(OpHandle(None));
        }
        Answer::Done { failed: self.all.remove(number).failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{HostOp, Lpn};

    fn read() -> PageOp {
        PageOp { token: 7, ..PageOp::on_page(HostOp::Read, Lpn(0), 1) }
    }

    #[test]
    fn what_is_done_at_once_is_answered_and_not_told() {
        let (mut ops, mut outbox) = (Ops::default(), Outbox::new());
        let number = ops.begin(&read(), 2, ());
        assert!(ops.part_done(number, 1, true, None, &mut outbox).is_none());
        assert!(ops.part_done(number, 1, false, None, &mut outbox).is_none());
        assert_eq!(ops.answer(number), Answer::Done { failed: true });
        assert!(outbox.is_empty() && ops.is_empty());
    }

    #[test]
    fn the_last_part_tells_an_owner_who_waits_once() {
        let (mut ops, mut outbox) = (Ops::default(), Outbox::new());
        let number = ops.begin(&read(), 1, "what it is about");
        ops.more_parts(number, 1);
        assert_eq!(ops.answer(number), Answer::Pending(OpHandle(None)));
        assert!(ops.part_done(number, 1, false, None, &mut outbox).is_none());
        let ended = ops.part_done(number, 1, false, Some(3), &mut outbox);
        assert_eq!(ended.map(|op| op.about), Some("what it is about"));
        let PageOp { owner, token, .. } = read();
        assert_eq!(outbox, [Signal::Done { owner, token, failed: false, wait: Some(3) }]);
    }

    #[test]
    fn an_operation_that_begins_anew_has_not_failed() {
        let (mut ops, mut outbox) = (Ops::default(), Outbox::new());
        let number = ops.begin(&read(), 3, ());
        ops.part_done(number, 1, true, None, &mut outbox);
        ops.restart(number, 1);
        ops.part_done(number, 1, false, None, &mut outbox);
        assert_eq!(ops.answer(number), Answer::Done { failed: false });
    }
}
