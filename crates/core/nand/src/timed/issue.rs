//! Taking commands from the layers: the [`Flash`] implementation.

use super::TimedFlash;
use super::chips::Chips;
use super::commands::{Kind, Slot, State};
use crate::NIL;
use crate::flash::{
    Awaits, Backlog, Cancel, Cancelled, Closed, CommandId, Completion, Flash, JoinId, Operation, Outcome, Owner,
    PageCopy, PageProgram, ProgramFailure, Read, Ticket, Token, program_in_join, read_in_join,
};
use crate::memory::Memory;
use crate::state::{BlockUse, FlashState, LawBroken};
use units::{BlockId, Cause, DieId, Nanos, Ppn};

impl Flash for TimedFlash {
    #[inline(always)]
    fn open(&mut self, owner: Owner, token: Token, cancel: Cancel) -> JoinId {
        JoinId(self.controller.chips.commands.joins.open(owner, token, cancel))
    }

    #[inline(always)]
    fn close(&mut self, join: JoinId, awaits: Awaits) -> Closed {
        if awaits == Awaits::AllPrograms && !self.controller.chips.state.breaks(LawBroken::FlushBarrierOff) {
            self.controller.chips.commands.await_all_programs(join.0);
        }
        let entry = self.controller.chips.commands.joins.at(join.0);
        entry.remaining -= 1;
        let failed = entry.failed;
        if entry.remaining == 0 {
            self.controller.chips.commands.joins.remove(join.0);
            return Closed::Done { failed };
        }
        Closed::Pending
    }

    #[inline(always)]
    fn read(&mut self, owner: Owner, read: Read) -> Outcome {
        self.controller.read(owner, read)
    }

    #[inline(always)]
    fn read_alone(&mut self, owner: Owner, operation: Operation, read: Read) -> Closed {
        // A read that the controller answers ends here: the join says whether it failed.
        if self.controller.may_answer_at_once() {
            return read_in_join(self, owner, operation, read);
        }
        self.controller.read_alone(owner, operation, read);
        Closed::Pending
    }

    #[inline(always)]
    fn program(&mut self, owner: Owner, command: PageProgram) -> Outcome {
        self.controller.issue_program(owner, Kind::Program, command)
    }

    #[inline(always)]
    fn program_alone(&mut self, owner: Owner, operation: Operation, command: PageProgram) -> Closed {
        // A program that memory takes at once ends here: the join says so.
        if self.controller.gather.is_on() || !Slot::can_be_of(operation.owner) {
            return program_in_join(self, owner, operation, command);
        }
        self.controller.issue_program_alone(owner, operation, command);
        Closed::Pending
    }

    #[inline(always)]
    fn copy(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        self.controller.copy(owner, copy)
    }

    fn erase(&mut self, owner: Owner, block: BlockId, cause: Cause) -> Outcome {
        let done = self.controller.chips.state.blocks.begin_erase(block).done;
        if self.controller.gather.is_on() {
            self.controller.need_no_more(block, done, [cause as u8; 2]);
        }
        let pins = self.controller.chips.state.block(block).pins();
        let pinned = pins > 0 && !(cause == Cause::Fold && self.controller.chips.state.breaks(LawBroken::EarlyFold));
        let page = self.controller.chips.state.geometry.page_at(block, 0).0;
        let cause = cause as u8;
        let slot = Slot { page, owner, kind: Kind::Erase, cause, root: cause, ..Slot::FREE };
        let id = self.controller.chips.insert(slot, None);
        if pinned {
            self.controller.chips.commands.at(id.slot).state = State::Pinned;
            self.controller.chips.state.row(block).waiting_erase = id.slot;
        } else {
            self.controller.chips.enqueue(id.slot);
        }
        Outcome::Pending(id)
    }

    fn take_back_erase(&mut self, block: BlockId) -> bool {
        let erase = self.controller.chips.state.block(block).waiting_erase;
        if erase == NIL {
            return false;
        }
        self.controller.chips.state.blocks.withdraw_erase(block).waiting_erase = NIL;
        self.controller.chips.retire(erase);
        true
    }

    fn release(&mut self, block: BlockId) {
        self.controller.chips.unpin(block);
    }

    fn place_again(&mut self, failed: CommandId, page: Ppn) -> Outcome {
        self.controller.place_again(failed, page)
    }

    fn abandon(&mut self, failed: CommandId, readers_to: Ppn) {
        self.controller.abandon(failed, readers_to);
    }

    fn retarget(&mut self, from: Ppn, to: Ppn) -> bool {
        self.controller.retarget(from, to)
    }

    #[inline]
    fn state(&self) -> &FlashState {
        &self.controller.chips.state
    }

    #[inline]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.controller.chips.state.memory
    }

    #[inline]
    fn blocks_mut(&mut self) -> BlockUse<'_> {
        BlockUse(&mut self.controller.chips.state)
    }

    fn failure(&self, failed: CommandId) -> ProgramFailure {
        self.controller.failure(failed)
    }

    /// A copy under way will hold what its source holds.
    fn may_hold_bytes(&self, page: Ppn) -> bool {
        let (Chips { state, commands, .. }, mut page) = (&self.controller.chips, page);
        while !state.is_programmed(page) {
            let mut copies = commands.live_ids().map(|id| commands.get(id)).filter(|slot| slot.is_copy());
            let Some(copy) = copies.find(|slot| slot.target() == Some(page.0)) else { return true };
            page = Ppn(copy.supersedes);
        }
        state.may_hold_bytes(page)
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.controller.chips.schedule.now
    }

    fn backlog(&self, die: DieId) -> Backlog {
        self.controller.chips.backlog(self.controller.chips.dies.number_of(die))
    }

    fn backlog_ns(&self, die: DieId) -> Nanos {
        self.controller.chips.queued_ns(self.controller.chips.dies.number_of(die))
    }

    fn set_instant(&mut self, instant: bool) {
        self.controller.chips.times.set_instant(instant);
        self.controller.chips.see_to_booking();
    }

    fn take_ticket(&mut self) -> Ticket {
        self.controller.chips.take_ticket()
    }

    fn show_ticket(&mut self, ticket: Option<Ticket>) {
        self.controller.chips.show_ticket(ticket);
    }

    fn cancel(&mut self, join: JoinId) -> Cancelled {
        self.controller.cancel(join)
    }

    fn await_program(&mut self, owner: Owner, page: Ppn, token: Token) -> Outcome {
        if self.controller.chips.state.is_programmed(page) || self.controller.failed_data_at(page.0).is_some() {
            return Outcome::Done;
        }
        Outcome::Pending(self.controller.wait_for_page(owner, page, Some(Completion::Notify(token))))
    }

    fn holds_back(&self, block: BlockId, erase: Option<BlockId>) -> bool {
        self.controller.gather.is_held_back_by(&self.controller.chips, block, erase)
    }
}
