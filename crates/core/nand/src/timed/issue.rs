//! Taking commands from the layers: the [`Flash`] implementation.

use super::TimedFlash;
use super::commands::{Kind, Slot, State, What, flag};
use crate::NIL;
use crate::flash::{
    Backlog, Cancel, Cancelled, CommandId, Completion, CopyWay, FailedProgram, FailedPrograms, Flash, JoinId, Outcome,
    Owner, PageCopy, PageProgram, Program, ProgramFailure, Read, Time, Token,
};
use crate::memory::Memory;
use crate::payloads::PayloadId;
use crate::state::{FlashState, LawBroken};
use units::{BlockId, Cause, DieId, Nanos, Ppn};

impl TimedFlash {
    /// Waits for `after` if that is still in progress, otherwise goes on at once.
    #[inline(always)]
    fn begin(&mut self, id: CommandId, after: Option<CommandId>) {
        if let Some(after) = after {
            let before = self.chips.commands.get(after.slot);
            if before.generation == after.generation && before.state != State::Free {
                self.chips.commands.depend(after.slot, id.slot);
                return;
            }
        }
        self.ready(id.slot);
    }

    #[inline(always)]
    fn issue_program(&mut self, owner: Owner, kind: Kind, command: PageProgram) -> Outcome {
        if self.gather.is_on() && self.take_in_at_once(command) {
            return Outcome::Done;
        }
        self.chips.state.claim_page(command.page);
        if let Some(old) = command.supersedes
            && !self.chips.state.breaks(LawBroken::PinsOff)
        {
            let old = self.chips.state.geometry.block_of(old);
            self.chips.state.row(old).pins += 1;
        }
        let (what, payload) = match command.what {
            Program::Data { payload, merge: false } => (What::Data, payload.0),
            Program::Data { payload, merge: true } => (What::Merge, payload.0),
            Program::Copy => (What::Copy, NIL),
            Program::Record(record) => (What::Record, record.map_or(NIL, |r| r.0)),
        };
        let mut slot = Slot {
            sequence: command.sequence,
            page: command.page.0,
            supersedes: command.supersedes.map_or(NIL, |page| page.0),
            logical: command.logical,
            payload,
            owner,
            kind,
            cause: command.cause as u8,
            root: command.cause as u8,
            what,
            ..Slot::FREE
        };
        if what != What::Copy {
            slot.flags |= flag::BARRIER;
            slot.epoch = self.chips.commands.barriers.issued();
        }
        let id = self.chips.insert(slot, Some(command.completion));
        if what == What::Merge {
            self.fold_failed_base(id.slot);
        }
        self.begin(id, command.after);
        Outcome::Pending(id)
    }

    #[inline(never)]
    fn copy_in_plane(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        let plane = |page| self.chips.state.geometry.lane_of(self.chips.state.geometry.block_of(page));
        debug_assert!(plane(copy.from) == plane(copy.to), "{copy:?} leaves its plane");
        let waits = !self.chips.state.is_programmed(copy.from) && !self.chips.state.block_is_dead(copy.from);
        let after = waits.then(|| self.wait_for_page(owner, copy.from, None));
        self.issue_program(owner, Kind::Copyback, copy.program(after))
    }

    /// A read that needs nothing but its page's turn: it ends when the program issued for the page has.
    fn wait_for_page(&mut self, owner: Owner, page: Ppn, completion: Option<Completion>) -> CommandId {
        let block = self.chips.state.geometry.block_of(page);
        self.chips.state.row(block).pins += 1;
        let slot = Slot { page: page.0, owner, what: What::Answered, ..Slot::FREE };
        let id = self.chips.insert(slot, completion);
        self.chips.commands.park(self.chips.state.row(block), id.slot, self.chips.schedule.now);
        id
    }

    /// Answers a read of a page that is programmed but not in the cells, if nobody wants to hear of its end later.
    #[inline(never)]
    fn answered_from_memory(&mut self, read: Read) -> bool {
        let join = match read.completion {
            Some(Completion::Join(join)) => Some(join),
            Some(Completion::Notify(_)) => return false,
            None => None,
        };
        let held = self.gather.holds(&self.chips.state.geometry, read.page);
        if !held || read.after.is_some() || join.is_none() && self.chips.state.is_unreadable(read.page) {
            return false;
        }
        let failed = self.chips.state.read_held(read.page, read.payload);
        if let Some(join) = join {
            self.chips.commands.joins.at(join.0).failed |= failed;
        }
        true
    }

    /// Answers a read of a page under way from the controller's buffer, where that holds all of it.
    fn served_in_flight(&mut self, read: Read) -> bool {
        let page = read.page.0;
        let found = self.chips.commands.live_ids().find(|&id| {
            let slot = self.chips.commands.get(id);
            slot.page == page && slot.what == What::Data && slot.kind == Kind::Program
        });
        let Some(id) = found else { return false };
        let source = PayloadId(self.chips.commands.get(id).payload);
        self.chips.state.memory.payloads.read_from(source, read.payload);
        self.chips.state.counters.in_flight_reads += 1;
        true
    }

    /// Whether an operation has begun: one of its commands has ended, or is on its die or channel for longer than this
    /// moment.
    fn has_begun(&self, members: &[CommandId]) -> bool {
        members.iter().any(|command| {
            let slot = self.chips.commands.get(command.slot);
            slot.generation != command.generation || slot.state == State::Active && !self.chips.begins_now(command.slot)
        })
    }

    /// A command of an operation that has begun and is not wanted any more: nobody hears of it.
    fn run_on(&mut self, command: CommandId, left: &mut Cancelled) {
        let slot = self.chips.commands.at(command.slot);
        if slot.generation == command.generation {
            assert!(slot.kind == Kind::Read, "only reads can be taken back");
            slot.flags = (slot.flags & !flag::JOIN) | flag::WASTED;
            slot.payload = NIL; // its payload may be used again at once
            left.wasted += 1;
        }
    }

    /// Takes back a command of an operation that has not begun.
    fn drop_member(&mut self, command: CommandId, left: &mut Cancelled) {
        let id = command.slot;
        let slot = *self.chips.commands.get(id);
        assert!(slot.kind == Kind::Read, "only reads can be taken back");
        let block = self.chips.state.geometry.block_of(Ppn(slot.page));
        self.chips.observer.command_ends(id, &self.chips.commands, self.chips.schedule.now);
        self.chips.commands.at(id).flags &= !flag::JOIN;
        self.chips.commands.at(id).payload = NIL; // its payload may be used again at once
        left.unstarted += 1;
        match slot.state {
            State::Queued => self.chips.unlink(id),
            State::Parked => self.chips.commands.leave_parked(self.chips.state.row(block), id),
            State::Gathered => self.gather.leave(id, Kind::Read),
            State::Waiting => {
                self.chips.commands.at(id).flags |= flag::DROPPED;
                return; // it goes when the command it waits for completes
            }
            _ => {
                self.chips.take_off(id);
                return;
            }
        }
        self.chips.retire(id);
        self.chips.unpin(block);
    }
}

impl FailedPrograms for TimedFlash {
    fn failure(&self, failed: CommandId) -> ProgramFailure {
        self.failure_of(failed)
    }

    fn place_again(&mut self, failed: CommandId, page: Ppn) -> Outcome {
        let id = failed.slot;
        let slot = *self.chips.commands.get(id);
        assert!(slot.state == State::Failed, "only a failed program is placed again");
        let old_block = self.chips.state.geometry.block_of(Ppn(slot.page));
        self.chips.state.claim_page(page);
        self.redirect_readers(id, old_block, page);
        self.chips.commands.at(id).page = page.0;
        self.chips.commands.at(id).state = State::Waiting;
        self.ready(id);
        self.chips.unpin(old_block);
        Outcome::Pending(failed)
    }

    fn abandon(&mut self, failed: CommandId, readers_to: Ppn) {
        let id = failed.slot;
        let slot = *self.chips.commands.get(id);
        assert!(slot.state == State::Failed, "only a failed program is given up");
        let block = self.chips.state.geometry.block_of(Ppn(slot.page));
        self.redirect_readers(id, block, readers_to);
        self.finish_program(&slot, block);
        self.conclude(id, &slot, false);
    }

    fn is_being_superseded(&self, page: Ppn) -> bool {
        self.chips.commands.live_ids().any(|id| self.chips.commands.get(id).supersedes == page.0)
            || self.gather.is_owed_for(page)
    }

    fn retarget(&mut self, from: Ppn, to: Ppn) -> bool {
        let found = self.chips.commands.live_ids().find(|&id| self.chips.commands.get(id).supersedes == from.0);
        match found {
            Some(id) => self.chips.commands.at(id).supersedes = to.0,
            None if self.gather.move_debt(from, to) => {}
            None => return false,
        }
        let (from, to) = (self.chips.state.geometry.block_of(from), self.chips.state.geometry.block_of(to));
        self.chips.state.row(to).pins += 1;
        self.chips.unpin(from);
        true
    }
}

impl Time for TimedFlash {
    #[inline]
    fn now(&self) -> Nanos {
        self.chips.schedule.now
    }

    fn backlog(&self, die: DieId) -> Backlog {
        self.chips.backlog(die.index())
    }

    fn backlog_ns(&self, die: DieId) -> Nanos {
        self.chips.queued_ns(die.index())
    }

    fn set_instant(&mut self, instant: bool) {
        self.chips.times.set_instant(instant);
    }
}

impl Flash for TimedFlash {
    #[inline]
    fn state(&self) -> &FlashState {
        &self.chips.state
    }

    #[inline]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.chips.state.memory
    }

    #[inline(always)]
    fn open(&mut self, owner: Owner, token: Token, cancel: Cancel) -> JoinId {
        JoinId(self.chips.commands.joins.open(owner, token, cancel))
    }

    #[inline(always)]
    fn close(&mut self, join: JoinId) -> (Outcome, bool) {
        let entry = self.chips.commands.joins.at(join.0);
        entry.remaining -= 1;
        let failed = entry.failed;
        if entry.remaining == 0 {
            self.chips.commands.joins.remove(join.0);
            return (Outcome::Done, failed);
        }
        (Outcome::Pending(CommandId { slot: join.0, generation: 0 }), failed)
    }

    fn barrier(&mut self, join: JoinId) {
        if !self.chips.state.breaks(LawBroken::FlushBarrierOff) && self.chips.commands.barriers.add(join.0) {
            self.chips.commands.joins.at(join.0).remaining += 1;
        }
    }

    fn cancel(&mut self, join: JoinId) -> Cancelled {
        let mut left = Cancelled::default();
        let members = self.chips.commands.joins.take_members(join.0);
        if self.has_begun(&members) {
            for command in &members {
                self.run_on(*command, &mut left);
            }
        } else {
            // Those that wait go first: a die whose read is taken off goes on with what waits there, alone or in a
            // gang.
            for is_active in [false, true] {
                for command in &members {
                    let slot = self.chips.commands.get(command.slot);
                    let is_live = slot.generation == command.generation;
                    if is_live && (slot.state == State::Active) == is_active {
                        self.drop_member(*command, &mut left);
                    }
                }
            }
        }
        self.chips.commands.joins.return_members(join.0, members);
        self.chips.commands.joins.remove(join.0);
        left
    }

    #[inline(always)]
    fn read(&mut self, owner: Owner, read: Read) -> Outcome {
        let block = self.chips.state.geometry.block_of(read.page);
        if self.gather.is_on() && self.chips.state.is_programmed(read.page) && self.answered_from_memory(read) {
            return Outcome::Done;
        }
        // A read that feeds a program is none of these: contents move on flash, so it must wait.
        if self.reads_in_flight
            && read.cause == Cause::Host
            && !self.chips.state.is_programmed(read.page)
            && self.served_in_flight(read)
        {
            return Outcome::Done;
        }
        self.chips.state.row(block).pins += 1;
        let slot = Slot {
            page: read.page.0,
            payload: read.payload.0,
            owner,
            kind: Kind::Read,
            cause: read.cause as u8,
            root: read.cause as u8,
            sectors: read.sectors,
            ..Slot::FREE
        };
        let id = self.chips.insert(slot, read.completion);
        self.begin(id, read.after);
        Outcome::Pending(id)
    }

    /// A copy under way will hold what its source holds.
    fn may_hold_bytes(&self, page: Ppn) -> bool {
        let mut page = page;
        while !self.chips.state.is_programmed(page) {
            let is_copy = |slot: &&Slot| slot.page == page.0 && slot.what == What::Copy;
            let Some(copy) = self.chips.commands.live_ids().map(|id| self.chips.commands.get(id)).find(is_copy) else {
                return true;
            };
            page = Ppn(copy.supersedes);
        }
        self.chips.state.may_hold_bytes(page)
    }

    fn holds_back(&self, block: BlockId, erase: Option<BlockId>) -> bool {
        self.gather.is_held_back_by(&self.chips, block, erase)
    }

    fn skip_to(&mut self, page: Ppn) {
        self.chips.state.pass_over_in_turn(page);
    }

    fn await_program(&mut self, owner: Owner, page: Ppn, token: Token) -> Outcome {
        if self.chips.state.is_programmed(page) || self.failed_data_at(page.0).is_some() {
            return Outcome::Done;
        }
        Outcome::Pending(self.wait_for_page(owner, page, Some(Completion::Notify(token))))
    }

    #[inline(always)]
    fn program(&mut self, owner: Owner, command: PageProgram) -> Outcome {
        self.issue_program(owner, Kind::Program, command)
    }

    #[inline(always)]
    fn copy(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        match copy.way {
            CopyWay::Channel => {
                let source = self.read(owner, copy.read(self.chips.state.geometry.sectors_per_page()));
                self.issue_program(owner, Kind::Program, copy.program(source.pending()))
            }
            // A value of its own, so that only this way writes it to memory.
            CopyWay::Plane => self.copy_in_plane(owner, PageCopy { way: CopyWay::Plane, ..copy }),
        }
    }

    fn erase(&mut self, owner: Owner, block: BlockId, cause: Cause) -> Outcome {
        let row = self.chips.state.row(block);
        assert!(!row.erase_pending(), "second erase of block {block} while the first is pending");
        row.set_erase_pending(true);
        let done = row.done;
        if self.gather.is_on() {
            self.need_no_more(block, done, [cause as u8; 2]);
        }
        let pins = self.chips.state.block(block).pins;
        let pinned = pins > 0 && !(cause == Cause::Fold && self.chips.state.breaks(LawBroken::EarlyFold));
        let page = self.chips.state.geometry.page_at(block, 0).0;
        let cause = cause as u8;
        let slot = Slot { page, owner, kind: Kind::Erase, cause, root: cause, ..Slot::FREE };
        let id = self.chips.insert(slot, None);
        if pinned {
            self.chips.commands.at(id.slot).state = State::Pinned;
            self.chips.state.row(block).waiting_erase = id.slot;
        } else {
            self.chips.enqueue(id.slot);
        }
        Outcome::Pending(id)
    }

    fn use_slc(&mut self, block: BlockId) {
        self.chips.state.use_slc(block);
    }

    fn take_back_erase(&mut self, block: BlockId) -> bool {
        let erase = self.chips.state.block(block).waiting_erase;
        if erase == NIL {
            return false;
        }
        let row = self.chips.state.row(block);
        row.waiting_erase = NIL;
        row.set_erase_pending(false);
        self.chips.retire(erase);
        true
    }

    fn hold(&mut self, block: BlockId) {
        self.chips.state.row(block).pins += 1;
    }

    fn release(&mut self, block: BlockId) {
        self.chips.unpin(block);
    }

    #[inline]
    fn failed(&mut self, id: CommandId) -> FailedProgram<'_> {
        FailedProgram { flash: self, id }
    }
}
