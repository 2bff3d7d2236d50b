//! Flushes: behind everything that was dirty when they came. They fail if any of it was lost.

use crate::buffered::{Asked, Buffered, Tag};
use crate::parameters::Area;
use crate::policy::Policy;
use crate::write_back::Item;
use layer::{Answer, OpHandle, Outbox, PageOp, Signal};
use nand::Flash;

impl<F: Flash, P: Policy> Buffered<F, P> {
    /// A flush of the host: everything that is dirty leaves, then the layer below flushes.
    pub fn submit_flush(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if !self.store.nonvolatile {
            for area in [Area::Blocks, Area::Pages] {
                self.send_dirty(flash, area);
            }
        }
        if self.write_back.has_nothing_to_give() {
            let answer = self.flush_below(flash, op);
            return self.below.room.note(answer);
        }
        self.write_back.wait_behind(Item::Flush(*op));
        self.pump(flash, outbox);
        Answer::Pending(OpHandle(None))
    }

    /// A flush has come to the head of the queue. `false`: it has to wait.
    pub fn pump_flush(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> bool {
        if self.write_back.is_completing() {
            return false;
        }
        match self.flush_below(flash, op) {
            Answer::Full { .. } => return false,
            Answer::Done { failed } => {
                outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait: None });
            }
            Answer::Pending(_) => {}
        }
        self.write_back.leave_head();
        true
    }

    fn flush_below(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let number = self.flushes.insert(*op);
        let own = PageOp { owner: self.owner, token: Tag::token(Asked::Flush, number, 0), cancellable: false, ..*op };
        let answer = self.below.submit(flash, &own);
        if matches!(answer, Answer::Pending(_)) {
            return answer;
        }
        self.flushes.remove(number);
        match answer {
            Answer::Done { failed } => Answer::Done { failed: failed | std::mem::take(&mut self.lost.since_flush) },
            other => other,
        }
    }

    /// The layer below has flushed.
    pub fn flushed(&mut self, number: u32, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        let op = self.flushes.remove(number);
        let failed = failed | std::mem::take(&mut self.lost.since_flush);
        outbox.push(Signal::Done { owner: op.owner, token: op.token, failed, wait });
    }
}
