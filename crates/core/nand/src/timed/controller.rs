//! The controller: the life of a command, from the call of a layer until its waiters are told.
//!
//! A command's life, beside its time on the chips:
//! 1. [`Controller::issue_program`] claims its page and pins the blocks it needs (programs.rs); a read pins its own.
//! 2. [`Controller::ready`]: the commands it waited for have ended. A read of a page that is not there yet, and a
//!    program before its turn in its block, are parked.
//! 3. [`Controller::enter`]: a program's turn has come. It goes to its die, or into memory where programs have several
//!    pages.
//! 4. [`Controller::complete`]: it has done its work. Contents are stored, pins taken away, barriers lowered.
//! 5. [`Controller::unpark`] lets go commands whose page or turn has come by that.
//! 6. [`Controller::conclude`] hands its waiting on to commands that wait for it, and tells its join or its owner.
//!
//! A program that fails goes back to its owner with all of its block's ([`Controller::program_failed`]), and then
//! through these steps again at another place. Until then reads are answered from its data.
//!
//! Protects: commands of a block's pages start in order of issue; a read of a page under way waits for it; an erase
//! waits for every pin.

use super::chips::Chips;
use super::commands::{Kind, Slot, State, What, flag};
use super::gather::Gather;
use crate::NIL;
use crate::contents::{Oob, PageKind};
use crate::flash::{
    Cancelled, CommandId, Completion, Event, JoinId, Operation, Outcome, Owner, PageProgram, Program, ProgramFailure,
    Read,
};
use crate::payloads::PayloadId;
use crate::state::{Base, LawBroken, PageContent};
use units::{BlockId, CAUSES, Cause, Ppn};

/// Chips, and the memory of their controller.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    /// Cells, and the commands on their way to them.
    pub chips: Chips,
    /// Pages on their way into cells.
    pub gather: Gather,
    /// Reads of a page under way are answered from the controller.
    pub reads_in_flight: bool,
    /// Reads of the host wait behind pages that wait for memory.
    pub reads_in_order: bool,
}

impl Controller {
    /// A new read, whose block is known, waits for the command that it comes after, or begins.
    #[inline(always)]
    pub(super) fn begin_reading(&mut self, id: CommandId, read: &Read, block: BlockId) {
        match read.after.filter(|after| self.is_under_way(*after)) {
            Some(after) => self.chips.commands.depend(after.slot, id.slot),
            None if self.chips.state.is_programmed_in(block, read.page) => self.begin_read(id.slot),
            None => self.not_read(id.slot, block),
        }
    }

    /// Whether a command that was issued has not ended.
    #[inline(always)]
    pub fn is_under_way(&self, id: CommandId) -> bool {
        let slot = self.chips.commands.get(id.slot);
        slot.generation == id.generation && slot.state != State::Free
    }

    #[inline(always)]
    pub fn read(&mut self, owner: Owner, read: Read) -> Outcome {
        let block = self.chips.state.geometry.block_of(read.page);
        let waits_in_line = self.waits_in_line(read.cause as u8);
        if !waits_in_line && self.is_answered_from_memory(read) {
            return Outcome::Done;
        }
        // A read that feeds a program is none of these: contents move on flash, so it must wait.
        if self.reads_in_flight
            && read.cause == Cause::Host
            && !waits_in_line
            && !self.chips.state.is_programmed(read.page)
            && self.served_in_flight(read)
        {
            return Outcome::Done;
        }
        self.chips.state.row(block).pin();
        let id = self.chips.insert(Slot::of_read(owner, &read), read.completion);
        self.begin_reading(id, &read, block);
        Outcome::Pending(id)
    }

    /// Whether a read may be answered from the controller where it is issued.
    #[inline(always)]
    pub fn may_answer_at_once(&self) -> bool {
        self.gather.is_on() || self.reads_in_flight
    }

    /// Issues a read that is all of an operation, and that the controller does not answer at once.
    #[inline(always)]
    pub fn read_alone(&mut self, owner: Owner, operation: Operation, read: Read) {
        let block = self.chips.state.geometry.block_of(read.page);
        self.chips.state.row(block).pin();
        let id = self.chips.insert_alone(Slot::of_read(owner, &read), operation);
        self.begin_reading(id, &read, block);
    }

    /// A read that needs nothing but its page's turn: it ends when the program issued for the page has.
    pub fn wait_for_page(&mut self, owner: Owner, page: Ppn, completion: Option<Completion>) -> CommandId {
        let block = self.chips.state.geometry.block_of(page);
        self.chips.state.row(block).pin();
        let slot = Slot { page: page.0, owner, what: What::Answered, ..Slot::FREE };
        let id = self.chips.insert(slot, completion);
        self.chips.commands.park(self.chips.state.row(block), id.slot, self.chips.schedule.now);
        id
    }

    /// Answers a read of a page that is programmed but not in the cells, if nobody wants to hear of its end later.
    #[inline(always)]
    pub(super) fn is_answered_from_memory(&mut self, read: Read) -> bool {
        self.gather.is_on() && self.chips.state.is_programmed(read.page) && self.answered_from_memory(read)
    }

    #[inline(never)]
    fn answered_from_memory(&mut self, read: Read) -> bool {
        let join = match read.completion {
            Some(Completion::Join(join)) => Some(join),
            Some(Completion::Notify(_)) => return false,
            None => None,
        };
        let held = self.gather.holds(&self.chips.state.geometry, read.page);
        let waits = read.after.is_some_and(|after| self.is_under_way(after));
        if !held || waits || join.is_none() && self.chips.state.is_unreadable(read.page) {
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

    /// Takes back an operation made of reads.
    pub fn cancel(&mut self, join: JoinId) -> Cancelled {
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

    /// Whether an operation has begun: one of its commands has ended, or is on its die or channel for longer than this
    /// moment.
    fn has_begun(&mut self, members: &[CommandId]) -> bool {
        members.iter().any(|command| {
            let slot = self.chips.commands.get(command.slot);
            let is_live = slot.generation == command.generation;
            !is_live || slot.state == State::Active && !self.chips.begins_now(command.slot)
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

    /// Everything the command waited for has happened.
    #[inline]
    pub fn ready(&mut self, id: u32) {
        let slot = self.chips.commands.get(id);
        let (kind, page, flags) = (slot.kind, Ppn(slot.page), slot.flags);
        let block = self.chips.block_of(page.0);
        if kind != Kind::Read {
            return self.ready_to_program(id, page, block);
        }
        let is_wanted = flags & flag::DROPPED == 0 && slot.what != What::Answered;
        if is_wanted && self.chips.state.is_programmed_in(block, page) {
            self.begin_read(id);
        } else {
            self.not_read(id, block);
        }
    }

    /// The same of a program, whose page and block are known.
    #[inline(always)]
    pub fn ready_to_program(&mut self, id: u32, page: Ppn, block: BlockId) {
        let position = self.chips.state.geometry.page_within(block, page) as u16;
        let row = self.chips.state.block(block);
        if row.has_failed() {
            self.hand_back(id);
        } else if !self.reused_early(block)
            && (row.entered == position || row.has_gaps() && self.chips.state.blocks.pass_gap(block, position))
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
    #[inline(always)]
    fn begin_read(&mut self, id: u32) {
        if self.gather.is_on() {
            self.begin_read_behind_memory(id);
        } else {
            self.chips.enqueue(id); // no page waits for memory, and memory holds none
        }
    }

    /// The same where pages are in memory on their way into cells.
    #[inline(never)]
    fn begin_read_behind_memory(&mut self, id: u32) {
        if self.reads_in_order && self.comes_behind_the_line(id) {
            self.gather.wait_in_line(&mut self.chips, id);
        } else if self.gather.holds(&self.chips.state.geometry, Ppn(self.chips.commands.get(id).page)) {
            self.gather.read_soon(&mut self.chips, id);
        } else {
            self.chips.enqueue(id);
        }
    }

    /// Whether a read that has not waited in that line comes behind it.
    fn comes_behind_the_line(&self, id: u32) -> bool {
        let slot = self.chips.commands.get(id);
        slot.state != State::Gathered && self.waits_in_line(slot.cause)
    }

    /// Whether a read for a cause, as its number, waits behind pages that wait for memory.
    #[inline]
    fn waits_in_line(&self, cause: u8) -> bool {
        self.reads_in_order && cause == Cause::Host as u8 && self.gather.has_line()
    }

    /// Whether a block that is to be erased was handed out already, where that law is broken on purpose. Ordinarily the
    /// programs of such a block were issued before its erase, which waits for them.
    fn reused_early(&self, block: BlockId) -> bool {
        self.chips.state.breaks(LawBroken::EarlyReuse) && self.chips.state.block(block).erase_pending()
    }

    /// Lets parked commands go whose page or turn has come; they waited behind `cause`.
    #[cold]
    pub fn unpark(&mut self, block: BlockId, cause: u8, root: u8) {
        let mut at = self.chips.state.block(block).parked;
        while at != NIL {
            let slot = *self.chips.commands.get(at);
            let position = self.chips.state.geometry.page_in_block(Ppn(slot.page)) as u16;
            let row = *self.chips.state.block(block);
            let is_read = slot.kind == Kind::Read;
            if is_read && position >= row.done {
                at = slot.next;
                continue;
            }
            let in_turn = is_read
                || row.entered == position
                || row.has_gaps() && self.chips.state.blocks.pass_gap(block, position);
            // All behind a program that has to wait are for later pages.
            if !is_read && (row.has_failed() || !in_turn) || self.reused_early(block) {
                return;
            }
            self.chips.commands.leave_parked(self.chips.state.row(block), at);
            self.chips.commands.prefetch(slot.next); // its turn comes next
            self.chips.commands.charge(at, [cause, root], self.chips.schedule.now - slot.since);
            if !is_read {
                self.enter(at, block);
            } else if slot.what == What::Answered {
                self.conclude_answered(at);
            } else {
                self.begin_read(at);
            }
            at = self.chips.state.block(block).parked; // the next page's turn may have come
        }
    }

    /// Answers the reads that wait for `page`, whose program failed.
    pub fn serve_parked(&mut self, block: BlockId, page: u32) {
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
    pub fn redirect_readers(&mut self, failed: u32, block: BlockId, to: Ppn) {
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
        self.chips.state.row(target).pin();
        self.chips.unpin(from);
    }

    /// The members of a gang have done their work.
    #[inline]
    pub fn complete_gang(&mut self, gang: u32) {
        let mut id = gang;
        while id != NIL {
            let next = self.chips.commands.get(id).next;
            self.complete(id);
            id = next;
        }
    }

    /// The command has done its work on the die and the channel.
    /// 1. A read hands over its cells and lets go of its block.
    /// 2. A program that fails goes back, with the others of its block. Otherwise its page is stored, in cells or in
    ///    memory; commands that waited for it go on, and then its pins go, which erases wait for.
    /// 3. A program of gathered pages settles their debts, and ends by itself.
    /// 4. An erase frees its block, and tells of it.
    /// 5. The waiters of the command are told.
    #[inline]
    pub fn complete(&mut self, id: u32) {
        let page = self.chips.commands.get(id).page;
        self.chips.state.mix(self.chips.schedule.now << 20 ^ u64::from(page));
        match self.chips.commands.get(id).kind {
            Kind::Read => return self.complete_read(id),
            Kind::Program if self.chips.state.is_plain() && !self.gather.is_on() => return self.complete_plainly(id),
            _ => {}
        }
        let slot = *self.chips.commands.get(id);
        let block = self.chips.block_of(page);
        match slot.kind {
            Kind::Read => unreachable!("a read has ended already"),
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
                    self.finish_program(id, block);
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
        self.conclude(id, &slot, false);
    }

    /// A read has its page. Fields are taken one by one: some were stored a moment ago, and a copy of the whole slot
    /// would wait until they are in the cache.
    #[inline(always)]
    fn complete_read(&mut self, id: u32) {
        let slot = self.chips.commands.get(id);
        let (page, cause, payload) = (slot.page, CAUSES[slot.cause as usize], PayloadId(slot.payload));
        let failed = self.chips.state.complete_read(Ppn(page), cause, payload);
        self.chips.unpin(self.chips.block_of(page));
        self.end_read(id, failed);
    }

    /// A read has ended: what it was for goes on.
    #[inline(always)]
    fn end_read(&mut self, id: u32, failed: bool) {
        if self.chips.commands.get(id).flags & flag::COPY != 0 {
            self.program_copy(id, failed);
        } else {
            self.end(id, failed);
        }
    }

    /// A page is in its cells, where nothing fails any more and contents are off. Fields are taken one by one, as in a
    /// read.
    #[inline(always)]
    fn complete_plainly(&mut self, id: u32) {
        let slot = self.chips.commands.get(id);
        let (page, cause, root) = (Ppn(slot.page), slot.cause, slot.root);
        let block = self.chips.block_of(page.0);
        if self.chips.state.block(block).has_failed() {
            return self.program_failed(id, block);
        }
        self.chips.state.count_program(page, CAUSES[cause as usize]);
        if self.chips.state.block(block).parked != NIL {
            self.unpark(block, cause, root);
        }
        self.finish_program(id, block);
        self.end(id, false);
    }

    /// A command has ended. One that is all of an operation, and that nothing waits for, needs no copy of its slot.
    #[inline(always)]
    fn end(&mut self, id: u32, failed: bool) {
        let slot = self.chips.commands.get(id);
        if slot.successor == NIL && slot.flags & flag::ALONE != 0 {
            self.assert_waited(id);
            let waited = self.chips.commands.get(id).flags & flag::WAITED != 0;
            self.chips.commands.end_alone(id, failed, waited, &mut self.chips.state);
            self.chips.retire(id);
        } else {
            let slot = *slot;
            self.conclude(id, &slot, failed);
        }
    }

    fn assert_waited(&self, id: u32) {
        let (flags, now) = (self.chips.commands.get(id).flags, self.chips.schedule.now);
        debug_assert!(
            flags & flag::TRACED == 0 || self.chips.commands.trace(id).holds(now, flags & flag::WAITED != 0),
            "a command waited longer than it took: {:?} of {:?}",
            self.chips.commands.trace(id),
            self.chips.commands.get(id)
        );
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
            self.finish_program(id, block);
        }
        is_held
    }

    #[inline]
    fn store(&mut self, slot: &Slot) {
        let is_plain = self.chips.state.is_plain();
        if !is_plain {
            // The age of a block begins with its first page.
            self.chips.state.ageing.keep_clock(self.chips.schedule.now);
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
    pub fn finish_program(&mut self, id: u32, block: BlockId) {
        self.chips.unpin(block);
        let slot = self.chips.commands.get(id);
        let (supersedes, flags, epoch) = (slot.supersedes, slot.flags, slot.epoch);
        if supersedes != NIL && !self.chips.state.breaks(LawBroken::PinsOff) {
            self.chips.unpin(self.chips.block_of(supersedes));
        }
        if flags & flag::BARRIER != 0 {
            self.chips.commands.lower_barriers(epoch, &mut self.chips.state);
        }
    }

    /// Tells the waiters of a command that it has ended.
    #[inline]
    pub fn conclude(&mut self, id: u32, slot: &Slot, failed: bool) {
        while let Some(successor) = self.chips.commands.next_successor(id) {
            self.hand_on(id, slot, successor, failed);
        }
        self.assert_waited(id);
        let flags = self.chips.commands.get(id).flags;
        if flags & flag::JOIN != 0 {
            if failed {
                self.chips.commands.joins.at(slot.completion).failed = true;
            }
            let waited = (flags & flag::WAITED != 0).then_some(id);
            self.chips.commands.end_member(slot.completion, waited, &mut self.chips.state);
        } else if flags & flag::ALONE != 0 {
            self.chips.commands.end_alone(id, failed, flags & flag::WAITED != 0, &mut self.chips.state);
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
        self.chips.commands.at(id).state = State::Active; // not in memory, where it goes back with the others
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
    pub fn hand_back(&mut self, id: u32) {
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
    pub fn fold_failed_base(&mut self, id: u32) {
        if let Some(base) = self.failed_data_at(self.chips.commands.get(id).supersedes) {
            let base = *self.chips.commands.get(base);
            self.chips.commands.at(id).flags |= base.flags & flag::BASE_LOST;
            self.fold(id, Base::Payload(PayloadId(base.payload)));
        }
    }

    /// The failed program that was to bring data or a record to `page` and has no other place yet.
    pub fn failed_data_at(&self, page: u32) -> Option<u32> {
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
    pub fn serve_from(&mut self, failed: u32, read: u32) {
        if self.chips.commands.get(read).what != What::Answered {
            self.answer_from(failed, read);
        }
        self.conclude_answered(read);
    }

    /// Gives a read the data of a failed program; it ends when whatever else it waits for has happened.
    pub fn answer_from(&mut self, failed: u32, read: u32) {
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
    pub fn conclude_answered(&mut self, read: u32) {
        let slot = *self.chips.commands.get(read);
        self.chips.unpin(self.chips.block_of(slot.page));
        self.end_read(read, slot.flags & flag::BASE_LOST != 0);
    }

    /// Takes a program at once whose turn it is and for which there is room, if nothing can go wrong. `false`: nothing
    /// was done.
    #[inline(never)]
    pub fn take_in_at_once(&mut self, command: PageProgram) -> bool {
        let (block, position) =
            (self.chips.state.geometry.block_of(command.page), self.chips.state.geometry.page_in_block(command.page));
        let row = self.chips.state.block(block);
        let in_turn = u32::from(row.entered) == position && row.entered == row.done && !row.has_failed();
        let waits = command.after.is_some_and(|after| self.is_under_way(after));
        if !in_turn || waits || self.gather.is_full() || self.chips.state.may_fail() {
            return false;
        }
        if self.gather.forgets() && !self.gather.owe_at_once(&mut self.chips, &command) {
            return false;
        }
        self.chips.state.claim_page(command.page);
        self.chips.state.mix(self.chips.schedule.now << 20 ^ u64::from(command.page.0));
        self.chips.state.count_program(command.page, command.cause);
        if self.chips.state.holds_contents() {
            self.chips.state.store(command.page, PageContent::of(&command, false));
        }
        let row = self.chips.state.row(block);
        row.entered += 1;
        row.unpin();
        self.gather.take_room();
        self.gather.take_in(&mut self.chips, command.page, position, [command.cause as u8; 2]);
        true
    }

    /// The first pages of a block that were not are in the cells, or need not be.
    fn settle(&mut self, block: BlockId, pages: usize) {
        for _ in 0..pages {
            let Some(debt) = self.gather.next_debt(block) else { return };
            if debt.old != NIL && !self.chips.state.breaks(LawBroken::PinsOff) {
                self.chips.unpin(self.chips.block_of(debt.old));
            }
            if let Some(epoch) = debt.epoch {
                self.chips.commands.lower_barriers(epoch, &mut self.chips.state);
            }
            if debt.record != NIL {
                let slot = *self.chips.commands.get(debt.record);
                self.conclude(debt.record, &slot, false);
            }
        }
    }

    /// Nothing waits any more for what memory holds.
    pub fn let_go(&mut self) {
        for block in (0..self.chips.state.geometry.blocks()).map(BlockId) {
            self.settle(block, usize::MAX);
        }
        self.chips.state.events.clear();
    }

    /// Ends the next command that needs nothing but memory.
    #[inline(never)]
    pub fn end_next(&mut self) {
        let Some(id) = self.gather.next_ending(&mut self.chips.schedule) else { return };
        // Nothing is stored into the slot before it is copied: the copy would wait until that is in the cache.
        if self.chips.commands.get(id).kind == Kind::Read {
            let slot = *self.chips.commands.get(id);
            let failed = self.chips.state.read_held(Ppn(slot.page), PayloadId(slot.payload));
            self.chips.unpin(self.chips.block_of(slot.page));
            self.end_read(id, failed);
        } else {
            self.complete(id);
        }
        self.gather.see_to_room(&mut self.chips);
    }

    /// A program of pages in memory has ended.
    #[inline(never)]
    pub fn held_programmed(&mut self, id: u32, slot: &Slot) {
        let (geometry, page) = (self.chips.state.geometry, Ppn(slot.page));
        let block = geometry.block_of(page);
        let pages = geometry.page_in_block(page) as u16 + 1;
        self.gather.end_program(block, (!slot.is_first_pass()).then_some(pages));
        self.settle(block, slot.held() as usize);
        self.free_memory(slot.held(), [slot.cause, slot.root]);
        self.chips.retire(id);
        self.chips.unpin(block);
    }

    /// A block is to be erased. Its held pages need not be programmed, unless something waits for that; others may need
    /// the memory for the erase to come about.
    #[inline(never)]
    pub fn need_no_more(&mut self, block: BlockId, done: u16, causes: [u8; 2]) {
        if self.gather.forgets() {
            self.gather.program_rest(&mut self.chips, block, causes);
        } else {
            self.forget_held(block, done, causes);
        }
    }

    /// The held pages of a block need not be programmed any more, as it is erased.
    #[inline(never)]
    pub fn forget_held(&mut self, block: BlockId, in_cells: u16, causes: [u8; 2]) {
        let held = self.gather.forget(block, in_cells);
        self.settle(block, usize::MAX);
        self.free_memory(held, causes);
    }

    /// Lets pages in that wait for room; they waited behind a command of this cause and root.
    pub fn free_memory(&mut self, pages: u32, causes: [u8; 2]) {
        self.gather.free_room(pages);
        for soon in self.gather.admitted_soon(pages) {
            self.chips.commands.prefetch(soon);
        }
        while let Some(next) = self.gather.next_admitted() {
            let waited = self.chips.schedule.now - self.chips.commands.get(next).since;
            self.chips.commands.charge(next, causes, waited);
            self.ready(next);
        }
        self.gather.see_to_room(&mut self.chips);
    }

    /// The task of a failed program.
    pub fn failure(&self, id: CommandId) -> ProgramFailure {
        let slot = self.chips.commands.get(id.slot);
        assert!(slot.state == State::Failed, "only a failed program can be asked after");
        ProgramFailure {
            page: Ppn(slot.page),
            supersedes: (slot.supersedes != NIL).then_some(Ppn(slot.supersedes)),
            what: slot.program(),
            logical: slot.logical,
            sequence: slot.sequence,
            cause: CAUSES[slot.cause as usize],
            is_superseded: self.is_being_superseded(Ppn(slot.page)),
            id,
        }
    }

    /// Issues a failed program again.
    pub fn place_again(&mut self, failed: CommandId, page: Ppn) -> Outcome {
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

    /// Gives a failed program up.
    pub fn abandon(&mut self, failed: CommandId, readers_to: Ppn) {
        let id = failed.slot;
        let slot = *self.chips.commands.get(id);
        assert!(slot.state == State::Failed, "only a failed program is given up");
        let block = self.chips.state.geometry.block_of(Ppn(slot.page));
        self.redirect_readers(id, block, readers_to);
        self.finish_program(id, block);
        self.conclude(id, &slot, false);
    }

    /// Whether a program under way supersedes a page.
    fn is_being_superseded(&self, page: Ppn) -> bool {
        self.chips.commands.live_ids().any(|id| self.chips.commands.get(id).supersedes == page.0)
            || self.gather.is_owed_for(page)
    }

    /// A program that supersedes `from` supersedes `to` instead. `false`: nothing does.
    pub fn retarget(&mut self, from: Ppn, to: Ppn) -> bool {
        let found = self.chips.commands.live_ids().find(|&id| self.chips.commands.get(id).supersedes == from.0);
        match found {
            Some(id) => self.chips.commands.at(id).supersedes = to.0,
            None if self.gather.move_debt(from, to) => {}
            None => return false,
        }
        let (from, to) = (self.chips.state.geometry.block_of(from), self.chips.state.geometry.block_of(to));
        self.chips.state.row(to).pin();
        self.chips.unpin(from);
        true
    }
}
