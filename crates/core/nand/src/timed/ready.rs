//! Commands on their way to a die: readiness, and their turn within a block.

use super::TimedFlash;
use super::slab::{Kind, State, What, flag};
use crate::NIL;
use crate::state::LawBroken;
use units::{BlockId, Cause, Nanos, Ppn};

impl TimedFlash {
    /// Everything the command waited for has happened.
    #[inline]
    pub(super) fn ready(&mut self, id: u32) {
        let slot = self.slab.get(id);
        let (kind, page, flags) = (slot.kind, slot.page, slot.flags);
        let block = self.block_of(page);
        let position = self.state.geometry.page_in_block(Ppn(page)) as u16;
        if kind == Kind::Read {
            let is_wanted = flags & flag::DROPPED == 0 && slot.what != What::Answered;
            if is_wanted && position < self.state.block(block).done {
                self.begin_read(id);
            } else {
                self.not_read(id, block);
            }
            return;
        }
        let row = self.state.block(block);
        if row.has_failed() {
            self.hand_back(id);
        } else if !self.reused_early(block)
            && (row.entered == position || row.has_gaps() && self.state.jumps(block, position))
        {
            if !self.enter(id, block) {
                return;
            }
            if self.state.block(block).parked != NIL {
                self.unpark(block, Cause::Host as u8, Cause::Host as u8);
            }
        } else {
            self.park(block, id);
        }
    }

    /// A read that does not begin now: nobody wants it any more, it has its data already, or there is none yet.
    #[inline(never)]
    fn not_read(&mut self, id: u32, block: BlockId) {
        let slot = self.slab.get(id);
        let page = slot.page;
        if slot.flags & flag::DROPPED != 0 {
            self.retire(id);
            self.unpin(block);
        } else if slot.what == What::Answered {
            self.conclude_answered(id);
        } else if let Some(failed) = self.failed_data_at(page) {
            self.serve_from(failed, id);
        } else if self.state.block_is_dead(Ppn(page)) {
            self.enqueue(id); // it will never be programmed, and the read will fail
        } else {
            self.park(block, id);
        }
    }

    /// A program's turn in its block has come. `false`: it waits for memory.
    #[inline]
    fn enter(&mut self, id: u32, block: BlockId) -> bool {
        if !self.gather.is_on() {
            self.state.row(block).entered += 1;
            self.enqueue(id);
        } else if self.admit(id) {
            self.state.row(block).entered += 1;
        } else {
            return false;
        }
        true
    }

    /// The page of a read is there.
    #[inline]
    fn begin_read(&mut self, id: u32) {
        if self.gather.is_on() && self.gather.holds(&self.state.geometry, Ppn(self.slab.get(id).page)) {
            self.read_soon(id);
        } else {
            self.enqueue(id);
        }
    }

    /// Whether a block that is to be erased was handed out already, where that law is broken on purpose. Ordinarily the
    /// programs of such a block were issued before its erase, which waits for them.
    fn reused_early(&self, block: BlockId) -> bool {
        self.state.breaks(LawBroken::EarlyReuse) && self.state.block(block).erase_pending()
    }

    pub(super) fn park(&mut self, block: BlockId, id: u32) {
        let head = self.state.block(block).parked;
        let slot = self.slab.at(id);
        slot.state = State::Parked;
        slot.since = self.schedule.now;
        slot.next = head;
        self.state.row(block).parked = id;
    }

    pub(super) fn leave_parked(&mut self, block: BlockId, id: u32) {
        let next = self.slab.get(id).next;
        let mut at = self.state.block(block).parked;
        if at == id {
            self.state.row(block).parked = next;
            return;
        }
        while self.slab.get(at).next != id {
            at = self.slab.get(at).next;
        }
        self.slab.at(at).next = next;
    }

    /// Lets parked commands go whose page or turn has come; they waited behind `cause`.
    #[cold]
    pub(super) fn unpark(&mut self, block: BlockId, cause: u8, root: u8) {
        let mut at = self.state.block(block).parked;
        while at != NIL {
            let slot = *self.slab.get(at);
            let position = self.state.geometry.page_in_block(Ppn(slot.page)) as u16;
            let row = *self.state.block(block);
            let is_read = slot.kind == Kind::Read;
            let free = if is_read { position < row.done } else { !row.has_failed() };
            let in_turn = is_read || row.entered == position || row.has_gaps() && self.state.jumps(block, position);
            if !free || !in_turn || self.reused_early(block) {
                at = slot.next;
                continue;
            }
            self.leave_parked(block, at);
            if slot.flags & flag::TRACED != 0 {
                self.charge(at, cause as usize, root as usize, self.schedule.now - slot.since);
            }
            if is_read {
                if slot.what == What::Answered {
                    self.conclude_answered(at);
                } else {
                    self.begin_read(at);
                }
                at = slot.next;
            } else {
                self.enter(at, block);
                at = self.state.block(block).parked; // the next page's turn may have come
            }
        }
    }

    /// Answers the reads that wait for `page`, whose program failed.
    pub(super) fn serve_parked(&mut self, block: BlockId, page: u32) {
        while let Some(failed) = self.failed_data_at(page) {
            let mut at = self.state.block(block).parked;
            while at != NIL && (self.slab.get(at).kind != Kind::Read || self.slab.get(at).page != page) {
                at = self.slab.get(at).next;
            }
            if at == NIL {
                return;
            }
            self.leave_parked(block, at);
            let (slot, cause) = (*self.slab.get(at), self.slab.get(failed).cause as usize);
            if slot.flags & flag::TRACED != 0 {
                self.charge(at, cause, cause, self.schedule.now - slot.since);
            }
            self.serve_from(failed, at);
        }
    }

    /// Reads that waited for the page of the program `failed`, which will never be programmed, wait for
    /// `to` instead.
    pub(super) fn redirect_readers(&mut self, failed: u32, block: BlockId, to: Ppn) {
        let from = self.slab.get(failed).page;
        let mut at = self.state.block(block).parked;
        while at != NIL {
            let slot = *self.slab.get(at);
            if slot.kind == Kind::Read && slot.page == from {
                self.leave_parked(block, at);
                self.redirect(at, block, to);
                self.ready(at);
            }
            at = slot.next;
        }
        // Those that wait for something else first look for the page only later. If the controller has
        // its data they get it now: the new page may be behind programs that wait for these very reads.
        let in_controller = matches!(self.slab.get(failed).what, What::Data | What::Record);
        for id in self.slab.live_ids().collect::<Vec<_>>() {
            let slot = *self.slab.get(id);
            if slot.kind != Kind::Read
                || slot.state != State::Waiting
                || slot.page != from
                || slot.what == What::Answered
            {
                continue;
            }
            if in_controller && slot.flags & flag::DROPPED == 0 {
                self.answer_from(failed, id);
            } else {
                self.redirect(id, block, to);
            }
        }
    }

    fn redirect(&mut self, read: u32, from: BlockId, to: Ppn) {
        self.slab.at(read).page = to.0;
        let target = self.state.geometry.block_of(to);
        self.state.row(target).pins += 1;
        self.unpin(from);
    }

    #[inline]
    pub(super) fn charge(&mut self, id: u32, direct: usize, root: usize, time: Nanos) {
        let slot = self.slab.at(id);
        let first = slot.flags & flag::WAITED == 0;
        slot.flags |= flag::WAITED;
        self.traces[id as usize].charge(direct, root, time, first);
    }
}
