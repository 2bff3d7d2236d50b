//! Commands on their way to a die: readiness, and their turn within a block.

use super::TimedFlash;
use super::commands::{Kind, State, What, flag};
use crate::NIL;
use crate::state::LawBroken;
use units::{BlockId, Cause, Ppn};

impl TimedFlash {
    /// Everything the command waited for has happened.
    #[inline]
    pub(super) fn ready(&mut self, id: u32) {
        let slot = self.chips.commands.get(id);
        let (kind, page, flags) = (slot.kind, slot.page, slot.flags);
        let block = self.chips.block_of(page);
        let position = self.chips.state.geometry.page_in_block(Ppn(page)) as u16;
        if kind == Kind::Read {
            let is_wanted = flags & flag::DROPPED == 0 && slot.what != What::Answered;
            if is_wanted && position < self.chips.state.block(block).done {
                self.begin_read(id);
            } else {
                self.not_read(id, block);
            }
            return;
        }
        let row = self.chips.state.block(block);
        if row.has_failed() {
            self.hand_back(id);
        } else if !self.reused_early(block)
            && (row.entered == position || row.has_gaps() && self.chips.state.jumps(block, position))
        {
            if !self.enter(id, block) {
                return;
            }
            if self.chips.state.block(block).parked != NIL {
                self.unpark(block, Cause::Host as u8, Cause::Host as u8);
            }
        } else {
            self.chips.commands.park(self.chips.state.row(block), id, self.chips.schedule.now);
        }
    }

    /// A read that does not begin now: nobody wants it any more, it has its data already, or there is none yet.
    #[inline(never)]
    fn not_read(&mut self, id: u32, block: BlockId) {
        let slot = self.chips.commands.get(id);
        let page = slot.page;
        if slot.flags & flag::DROPPED != 0 {
            self.chips.retire(id);
            self.chips.unpin(block);
        } else if slot.what == What::Answered {
            self.conclude_answered(id);
        } else if let Some(failed) = self.failed_data_at(page) {
            self.serve_from(failed, id);
        } else if self.chips.state.block_is_dead(Ppn(page)) {
            self.chips.enqueue(id); // it will never be programmed, and the read will fail
        } else {
            self.chips.commands.park(self.chips.state.row(block), id, self.chips.schedule.now);
        }
    }

    /// A program's turn in its block has come. `false`: it waits for memory.
    #[inline]
    fn enter(&mut self, id: u32, block: BlockId) -> bool {
        if !self.gather.is_on() {
            self.chips.state.row(block).entered += 1;
            self.chips.enqueue(id);
        } else if self.gather.admit(&mut self.chips, id) {
            self.chips.state.row(block).entered += 1;
        } else {
            return false;
        }
        true
    }

    /// The page of a read is there.
    #[inline]
    fn begin_read(&mut self, id: u32) {
        if self.gather.is_on() && self.gather.holds(&self.chips.state.geometry, Ppn(self.chips.commands.get(id).page)) {
            self.gather.read_soon(&mut self.chips, id);
        } else {
            self.chips.enqueue(id);
        }
    }

    /// Whether a block that is to be erased was handed out already, where that law is broken on purpose. Ordinarily the
    /// programs of such a block were issued before its erase, which waits for them.
    fn reused_early(&self, block: BlockId) -> bool {
        self.chips.state.breaks(LawBroken::EarlyReuse) && self.chips.state.block(block).erase_pending()
    }

    /// Lets parked commands go whose page or turn has come; they waited behind `cause`.
    #[cold]
    pub(super) fn unpark(&mut self, block: BlockId, cause: u8, root: u8) {
        let mut at = self.chips.state.block(block).parked;
        while at != NIL {
            let slot = *self.chips.commands.get(at);
            let position = self.chips.state.geometry.page_in_block(Ppn(slot.page)) as u16;
            let row = *self.chips.state.block(block);
            let is_read = slot.kind == Kind::Read;
            let free = if is_read { position < row.done } else { !row.has_failed() };
            let in_turn =
                is_read || row.entered == position || row.has_gaps() && self.chips.state.jumps(block, position);
            if !free || !in_turn || self.reused_early(block) {
                at = slot.next;
                continue;
            }
            self.chips.commands.leave_parked(self.chips.state.row(block), at);
            self.chips.commands.charge(at, [cause, root], self.chips.schedule.now - slot.since);
            if is_read {
                if slot.what == What::Answered {
                    self.conclude_answered(at);
                } else {
                    self.begin_read(at);
                }
                at = slot.next;
            } else {
                self.enter(at, block);
                at = self.chips.state.block(block).parked; // the next page's turn may have come
            }
        }
    }

    /// Answers the reads that wait for `page`, whose program failed.
    pub(super) fn serve_parked(&mut self, block: BlockId, page: u32) {
        while let Some(failed) = self.failed_data_at(page) {
            let mut at = self.chips.state.block(block).parked;
            while at != NIL
                && (self.chips.commands.get(at).kind != Kind::Read || self.chips.commands.get(at).page != page)
            {
                at = self.chips.commands.get(at).next;
            }
            if at == NIL {
                return;
            }
            self.chips.commands.leave_parked(self.chips.state.row(block), at);
            let (slot, cause) = (*self.chips.commands.get(at), self.chips.commands.get(failed).cause);
            self.chips.commands.charge(at, [cause; 2], self.chips.schedule.now - slot.since);
            self.serve_from(failed, at);
        }
    }

    /// Reads that waited for the page of the program `failed`, which will never be programmed, wait for
    /// `to` instead.
    pub(super) fn redirect_readers(&mut self, failed: u32, block: BlockId, to: Ppn) {
        let from = self.chips.commands.get(failed).page;
        let mut at = self.chips.state.block(block).parked;
        while at != NIL {
            let slot = *self.chips.commands.get(at);
            if slot.kind == Kind::Read && slot.page == from {
                self.chips.commands.leave_parked(self.chips.state.row(block), at);
                self.redirect(at, block, to);
                self.ready(at);
            }
            at = slot.next;
        }
        // Those that wait for something else first look for the page only later. If the controller has
        // its data they get it now: the new page may be behind programs that wait for these very reads.
        let in_controller = matches!(self.chips.commands.get(failed).what, What::Data | What::Record);
        for id in self.chips.commands.live_ids().collect::<Vec<_>>() {
            let slot = *self.chips.commands.get(id);
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
        self.chips.commands.at(read).page = to.0;
        let target = self.chips.state.geometry.block_of(to);
        self.chips.state.row(target).pins += 1;
        self.chips.unpin(from);
    }
}
