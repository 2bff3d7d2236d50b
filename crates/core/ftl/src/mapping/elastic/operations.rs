//! Operations of the layer above that write or trim, and the pages that wait for them. Their parts are pages.

use layer::{Answer, FlushLine, OpHandle, Ops, Outbox, PageOp, Room};

/// Operations that are not done, each with its number in the line of flushes.
#[derive(Debug, Default)]
pub(super) struct Operations {
    ops: Ops<u64>,
    flushes: FlushLine,
    /// An operation may have been refused.
    refused: Room,
}

impl Operations {
    /// An operation begins; its number.
    pub fn begin(&mut self, op: &PageOp, pages: u32) -> u32 {
        let serial = self.flushes.begin();
        self.ops.begin(op, pages, serial)
    }

    /// The answer to an operation after all that could be done at once was done.
    pub fn answer(&mut self, number: u32) -> Answer {
        let serial = self.ops.at(number).about;
        let answer = self.ops.answer(number);
        if matches!(answer, Answer::Done { .. }) {
            self.flushes.end(serial);
        }
        answer
    }

    /// There is no room for the last `missing` pages of an operation.
    pub fn refuse(&mut self, number: u32, taken: u32, missing: u32) -> Answer {
        self.ops.fewer_parts(number, missing);
        let so_far = self.answer(number);
        self.refused.note(so_far.full(taken))
    }

    /// A page of an operation cannot be written.
    pub fn page_failed(&mut self, number: u32) {
        self.ops.at_mut(number).failed = true;
        self.ops.fewer_parts(number, 1);
    }

    /// A page of an operation is safe.
    pub fn page_done(&mut self, number: u32, outbox: &mut Outbox) {
        if let Some(op) = self.ops.part_done(number, 1, false, None, outbox) {
            self.flushes.end(op.about);
        }
    }

    /// Answers a flush, now or after what began before it.
    pub fn flush(&mut self, op: &PageOp) -> Answer {
        if self.flushes.try_join(op) { Answer::Pending(OpHandle(None)) } else { Answer::Done { failed: false } }
    }

    /// Tells whoever waits: flushes, and if there is room an operation that was refused.
    pub fn tell(&mut self, has_room: bool, outbox: &mut Outbox) {
        if has_room {
            self.refused.announce(outbox);
        }
        self.flushes.pass(outbox, |_| Answer::Done { failed: false });
    }
}
