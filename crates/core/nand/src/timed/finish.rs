//! Commands that have done their work: contents, pins, successors, joins, failures.

use super::TimedFlash;
use super::commands::{Kind, Slot, State, What, flag};
use crate::NIL;
use crate::contents::{Oob, PageKind};
use crate::flash::{CommandId, Event, Program, ProgramFailure};
use crate::payloads::PayloadId;
use crate::state::{Base, PageContent};
use units::{BlockId, CAUSES, Cause, Ppn};

impl TimedFlash {
    /// The command has done its work on the die and the channel.
    #[inline]
    pub(super) fn complete(&mut self, id: u32) {
        let slot = *self.chips.commands.get(id);
        let block = self.chips.block_of(slot.page);
        self.chips.state.mix(self.chips.schedule.now << 20 ^ u64::from(slot.page));
        let mut failed = false;
        match slot.kind {
            Kind::Read => {
                let cause = CAUSES[slot.cause as usize];
                let payload = PayloadId(slot.payload);
                failed = self.chips.state.complete_read(Ppn(slot.page), cause, payload);
                self.chips.unpin(block);
            }
            Kind::Program | Kind::Copyback => {
                if self.chips.state.block(block).has_failed() || self.chips.state.program_fails(block) {
                    self.program_failed(id, block);
                    return;
                }
                if self.gather.is_on() {
                    if self.accept(id, &slot, block) {
                        return;
                    }
                } else {
                    self.store(&slot);
                    if self.chips.state.block(block).parked != NIL {
                        self.unpark(block, slot.cause, slot.root);
                    }
                    self.finish_program(&slot, block);
                }
            }
            Kind::Gathered => {
                self.held_programmed(id, &slot);
                return;
            }
            Kind::Erase => {
                if self.gather.is_on() {
                    self.forget_held(block, 0, [slot.cause, slot.root]);
                }
                let done = self.chips.state.complete_erase(block, CAUSES[slot.cause as usize]);
                let event = if done { Event::Erased { block } } else { Event::EraseFailed { block } };
                self.chips.state.events.push((slot.owner, event));
                if self.chips.state.block(block).parked != NIL {
                    self.unpark(block, slot.cause, slot.root); // only where a law is broken on purpose
                }
            }
        }
        self.conclude(id, &slot, failed);
    }

    /// A page has room in memory, and counts as programmed. `true`: its command ends later.
    #[inline(never)]
    fn accept(&mut self, id: u32, slot: &Slot, block: BlockId) -> bool {
        let before = u32::from(self.chips.state.block(block).done);
        self.store(slot);
        let forgets = self.gather.forgets();
        let is_held = forgets && self.gather.owe(&mut self.chips, id, slot);
        self.gather.take_in(&mut self.chips, Ppn(slot.page), before, [slot.cause, slot.root]);
        if self.chips.state.block(block).parked != NIL {
            self.unpark(block, slot.cause, slot.root);
        }
        if forgets {
            self.chips.unpin(block);
        } else {
            self.finish_program(slot, block);
        }
        is_held
    }

    #[inline]
    fn store(&mut self, slot: &Slot) {
        let is_plain = self.chips.state.is_plain();
        if !is_plain {
            self.chips.state.keep_clock(self.chips.schedule.now); // the age of a block begins with its first page
        }
        let cause = CAUSES[slot.cause as usize];
        self.chips.state.count_program(Ppn(slot.page), cause);
        if !is_plain || slot.kind == Kind::Copyback {
            self.store_contents(slot, cause);
        }
    }

    #[inline(never)]
    fn store_contents(&mut self, slot: &Slot, cause: Cause) {
        let supersedes = (slot.supersedes != NIL).then_some(Ppn(slot.supersedes));
        let mut base_lost = slot.flags & flag::BASE_LOST != 0;
        if slot.kind == Kind::Copyback {
            let source = Ppn(slot.supersedes);
            base_lost |= self.chips.state.complete_read(source, cause, PayloadId::NONE);
        }
        let kind = if slot.what == What::Record { PageKind::Metadata } else { PageKind::Data };
        let oob = Oob { kind, logical: slot.logical, sequence: slot.sequence };
        let what = slot.program();
        debug_assert!(what != Program::Copy || supersedes.is_some(), "a copy has a source");
        self.chips.state.store(Ppn(slot.page), PageContent { what, supersedes, oob, base_lost });
    }

    /// Gives back the pins of a program whose data is safe and lowers the barriers it held up.
    #[inline]
    pub(super) fn finish_program(&mut self, slot: &Slot, block: BlockId) {
        self.chips.unpin(block);
        if slot.supersedes != NIL && !self.chips.state.breaks(crate::LawBroken::PinsOff) {
            let old = self.chips.block_of(slot.supersedes);
            self.chips.unpin(old);
        }
        if slot.flags & flag::BARRIER != 0 {
            self.chips.commands.lower_barriers(slot.epoch, &mut self.chips.state);
        }
    }

    /// Tells those who wait for a command that has ended.
    #[inline]
    pub(super) fn conclude(&mut self, id: u32, slot: &Slot, failed: bool) {
        while let Some(successor) = self.chips.commands.next_successor(id) {
            self.hand_on(id, slot, successor, failed);
        }
        let flags = self.chips.commands.get(id).flags;
        if flags & flag::JOIN != 0 {
            debug_assert!(
                flags & flag::TRACED == 0
                    || self.chips.commands.trace(id).holds(self.chips.schedule.now, flags & flag::WAITED != 0),
                "a command waited longer than it took: {:?} of {slot:?}",
                self.chips.commands.trace(id)
            );
            if failed {
                self.chips.commands.joins.at(slot.completion).failed = true;
            }
            self.chips.commands.end_member(
                slot.completion,
                (flags & flag::WAITED != 0).then_some(id),
                &mut self.chips.state,
            );
        } else if flags & flag::NOTIFY != 0 {
            let page = Ppn(slot.page);
            self.chips.state.events.push((slot.owner, Event::Notified { token: slot.completion, page }));
        } else if flags & flag::WASTED != 0 {
            self.chips.state.counters.wasted_reads += 1;
        }
        self.chips.retire(id);
    }

    #[inline]
    fn hand_on(&mut self, id: u32, before: &Slot, successor: u32, failed: bool) {
        let slot = self.chips.commands.at(successor);
        // A page whose payload is all of it needs no base, whatever its program waited for.
        if failed && matches!(slot.what, What::Merge | What::Copy) {
            slot.flags |= flag::BASE_LOST;
        }
        slot.waits -= 1;
        let last = slot.waits == 0;
        if before.flags & slot.flags & flag::TRACED != 0 {
            self.chips.commands.hand_wait_on(id, successor, self.chips.schedule.now);
        }
        if last {
            self.ready(successor);
        }
    }

    /// A program failed: its block takes no more data, and every program queued for it goes back.
    #[cold]
    fn program_failed(&mut self, id: u32, block: BlockId) {
        self.chips.state.row(block).set_failed();
        let geometry = self.chips.state.geometry;
        let mut back: Vec<u32> = self
            .chips
            .commands
            .live_ids()
            .filter(|&other| {
                let slot = self.chips.commands.get(other);
                geometry.block_of(Ppn(slot.page)) == block
                    && matches!(slot.kind, Kind::Program | Kind::Copyback)
                    && matches!(slot.state, State::Queued | State::Parked | State::Gathered)
            })
            .collect();
        back.sort_unstable_by_key(|&other| self.chips.commands.get(other).page);
        for &other in &back {
            match self.chips.commands.get(other).state {
                State::Queued => self.chips.unlink(other),
                State::Gathered => self.gather.leave(other, Kind::Program),
                _ => self.chips.commands.leave_parked(self.chips.state.row(block), other),
            }
            self.chips.commands.at(other).state = State::Waiting;
        }
        if self.gather.is_on() {
            // What was taken in before is programmed all the same; the page that failed needs its room no more.
            let causes = [self.chips.commands.get(id).cause, self.chips.commands.get(id).root];
            self.gather.program_rest(&mut self.chips, block, causes);
            self.free_memory(1, causes);
        }
        self.hand_back(id);
        for other in back {
            self.hand_back(other);
        }
    }

    /// A program goes back to its owner. All of its user data is in the controller now: it no longer
    /// needs the page it was built on, and nothing needs to wait until it finds another place.
    #[cold]
    pub(super) fn hand_back(&mut self, id: u32) {
        let slot = self.chips.commands.at(id);
        slot.state = State::Failed;
        let slot = *slot;
        if matches!(slot.what, What::Data | What::Merge) {
            self.fold(id, if slot.what == What::Merge { Base::Page(Ppn(slot.supersedes)) } else { Base::Zeros });
            for other in self.chips.commands.live_ids().collect::<Vec<_>>() {
                let built = self.chips.commands.get(other);
                if built.what == What::Merge && built.supersedes == slot.page {
                    self.fold_failed_base(other);
                }
            }
        }
        if slot.what != What::Copy {
            self.serve_parked(self.chips.block_of(slot.page), slot.page);
            while let Some(successor) = self.chips.commands.next_successor(id) {
                self.hand_on(id, &slot, successor, false);
            }
        }
        let command = CommandId { slot: id, generation: slot.generation };
        self.chips.state.events.push((slot.owner, Event::ProgramFailed(command)));
    }

    /// Completes a program's payload from what it is built on.
    fn fold(&mut self, id: u32, base: Base) {
        let slot = self.chips.commands.at(id);
        slot.what = What::Data;
        let payload = PayloadId(slot.payload);
        if payload != PayloadId::NONE {
            let base = self.chips.state.base_cells(base);
            self.chips.state.memory.payloads.lay_over(payload, &base);
        }
    }

    /// A program that builds on a page whose own program failed takes the data from the controller.
    pub(super) fn fold_failed_base(&mut self, id: u32) {
        if let Some(base) = self.failed_data_at(self.chips.commands.get(id).supersedes) {
            let base = *self.chips.commands.get(base);
            self.chips.commands.at(id).flags |= base.flags & flag::BASE_LOST;
            self.fold(id, Base::Payload(PayloadId(base.payload)));
        }
    }

    /// The failed program that was to bring data or a record to `page` and has no other place yet.
    pub(super) fn failed_data_at(&self, page: u32) -> Option<u32> {
        if !self.chips.state.block(self.chips.block_of(page)).has_failed() {
            return None;
        }
        self.chips.commands.live_ids().find(|&id| {
            let slot = self.chips.commands.get(id);
            slot.state == State::Failed && slot.page == page && matches!(slot.what, What::Data | What::Record)
        })
    }

    /// Answers a read from the data of a failed program.
    #[cold]
    pub(super) fn serve_from(&mut self, failed: u32, read: u32) {
        if self.chips.commands.get(read).what != What::Answered {
            self.answer_from(failed, read);
        }
        self.conclude_answered(read);
    }

    /// Gives a read the data of a failed program; it ends when whatever else it waits for has happened.
    pub(super) fn answer_from(&mut self, failed: u32, read: u32) {
        let (from, slot) = (*self.chips.commands.get(failed), *self.chips.commands.get(read));
        let lost = from.flags & flag::BASE_LOST != 0;
        if from.what == What::Data {
            self.chips.state.memory.payloads.read_from(PayloadId(from.payload), PayloadId(slot.payload));
        }
        self.chips.state.counters.in_flight_reads += 1;
        self.chips.state.counters.failed_reads += u64::from(lost);
        let answered = self.chips.commands.at(read);
        answered.what = What::Answered;
        answered.flags |= if lost { flag::BASE_LOST } else { 0 };
    }

    /// A read that was answered from the controller ends.
    pub(super) fn conclude_answered(&mut self, read: u32) {
        let slot = *self.chips.commands.get(read);
        self.chips.unpin(self.chips.block_of(slot.page));
        self.conclude(read, &slot, slot.flags & flag::BASE_LOST != 0);
    }

    pub(super) fn failure_of(&self, id: CommandId) -> ProgramFailure {
        let slot = self.chips.commands.get(id.slot);
        assert!(slot.state == State::Failed, "only a failed program can be asked after");
        ProgramFailure {
            page: Ppn(slot.page),
            supersedes: (slot.supersedes != NIL).then_some(Ppn(slot.supersedes)),
            what: slot.program(),
            logical: slot.logical,
            sequence: slot.sequence,
            cause: CAUSES[slot.cause as usize],
            id,
        }
    }
}
