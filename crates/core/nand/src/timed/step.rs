//! Commands on their die: queues, suspension, array, transfer.

use super::TimedFlash;
use super::bus::COMMAND;
use super::commands::{Kind, State, What, flag};
use super::die::{Die, is_cleaning};
use super::schedule::Due;
use crate::NIL;
use crate::flash::Event;
use crate::part::{CommandCycles, SuspendOption};
use units::{BlockId, Cause, Nanos, Ppn, Wait};

impl TimedFlash {
    #[inline]
    pub(super) fn handle(&mut self, due: Due) {
        match due {
            Due::Die(index) => {
                let die = &self.dies[index];
                if die.array != NIL {
                    if die.commanded { self.command_finished(index) } else { self.array_finished(index) }
                } else if !self.cached && die.transfer != NIL {
                    self.transfer_finished(index);
                } else {
                    self.cleaning_has_paused(index);
                }
            }
            Due::Channel(channel) => {
                let serving = self.channels[channel].serving;
                if serving & COMMAND != 0 {
                    self.command_finished((serving & !COMMAND) as usize);
                } else {
                    self.transfer_finished(serving as usize);
                }
            }
            Due::Memory => self.end_next(),
            Due::Timer(timer) => {
                self.state.keep_clock(self.schedule.now);
                self.state.events.push((0, Event::Timer { timer }));
            }
        }
    }

    #[inline]
    pub(super) fn block_of(&self, page: u32) -> BlockId {
        self.state.geometry.block_of(Ppn(page))
    }

    /// Puts a command into the queue of its die, or straight onto an idle one.
    #[inline]
    pub(super) fn enqueue(&mut self, id: u32) {
        let slot = self.commands.get(id);
        let (kind, traced, cause) = (slot.kind, slot.flags & flag::TRACED != 0, slot.cause);
        let die = self.state.geometry.die_of(self.block_of(slot.page)).index();
        if self.dies[die].is_idle() {
            let slot = self.commands.at(id);
            slot.state = State::Active;
            slot.next = NIL;
            self.start(die, id);
            return;
        }
        if kind == Kind::Read && self.units_shift > 0 && self.join_gang(die, id) {
            return;
        }
        let goes_on = self.options.uninterrupted && self.dies[die].cleans && is_cleaning(cause);
        let lane =
            if goes_on && !self.overtakes(die, id) { Die::CLEANING } else { Die::lane(kind, cause, self.urgent) };
        let tail = self.dies[die].tail[lane];
        if traced && cause == Cause::Host as u8 {
            let before = self.command_before(die, tail);
            self.commands.at(id).root = self.commands.get(before).root;
        }
        self.commands.wait_for_die(id, &self.meters[die], self.schedule.now);
        let slot = self.commands.at(id);
        slot.state = State::Queued;
        slot.prev = tail;
        slot.next = NIL;
        if tail == NIL {
            self.dies[die].head[lane] = id;
        } else {
            self.commands.at(tail).next = id;
        }
        let die_state = &mut self.dies[die];
        die_state.tail[lane] = id;
        die_state.queued.commands += 1;
        die_state.queued.cleaning += u32::from(is_cleaning(cause));
        if lane == Die::URGENT && self.options.suspend != SuspendOption::Off {
            self.try_suspend(die);
        }
        if self.cached {
            self.dispatch(die);
        }
    }

    /// Whether a program in front of all others of its die would overtake one of its own block.
    fn overtakes(&self, die: usize, id: u32) -> bool {
        let slot = self.commands.get(id);
        let block = self.block_of(slot.page);
        let row = self.state.block(block);
        if matches!(slot.kind, Kind::Read | Kind::Erase) || row.entered == row.done + 1 {
            return false;
        }
        self.commands
            .chain(self.dies[die].head[0])
            .any(|id| self.block_of(self.commands.get(id).page) == block && self.commands.get(id).kind != Kind::Read)
    }

    /// The command a newcomer stands behind: the last of its queue, or the one on the die.
    #[inline]
    fn command_before(&self, die: usize, tail: u32) -> u32 {
        let die = &self.dies[die];
        [tail, die.array, die.transfer, die.suspended, die.head[0], die.head[1], die.head[2]]
            .into_iter()
            .find(|&id| id != NIL)
            .expect("a busy die has a command")
    }

    /// Takes a queued command out of its die's queue: O(1).
    pub(super) fn unlink(&mut self, id: u32) {
        let slot = self.commands.get(id);
        let die = self.state.geometry.die_of(self.block_of(slot.page)).index();
        let ends = [self.dies[die].head[Die::CLEANING], self.dies[die].tail[Die::CLEANING]];
        // Where it stands between others of its queue, which one that is does not matter.
        let lane = if ends.contains(&id) { Die::CLEANING } else { Die::lane(slot.kind, slot.cause, self.urgent) };
        self.unlink_from(die, lane, id);
    }

    #[inline]
    pub(super) fn unlink_from(&mut self, die: usize, lane: usize, id: u32) {
        let slot = self.commands.get(id);
        let (next, prev, cause) = (slot.next, slot.prev, slot.cause);
        let queued = &mut self.dies[die].queued;
        queued.commands -= 1;
        queued.cleaning -= u32::from(is_cleaning(cause));
        if prev == NIL {
            self.dies[die].head[lane] = next;
        } else {
            self.commands.at(prev).next = next;
        }
        if next == NIL {
            self.dies[die].tail[lane] = prev;
        } else {
            self.commands.at(next).prev = prev;
        }
    }

    fn try_suspend(&mut self, index: usize) {
        let die = &self.dies[index];
        let is_idle = die.array == NIL || die.commanded;
        let will_pause = die.suspended_left > 0;
        if will_pause
            || is_idle
            || die.transfer != NIL
            || die.suspended != NIL
            || die.suspends >= self.options.suspend_limit
        {
            return;
        }
        let kind = self.commands.get(die.array).kind;
        let allowed = match self.options.suspend {
            SuspendOption::Off => false,
            SuspendOption::Erase => kind == Kind::Erase,
            SuspendOption::ProgramErase => matches!(kind, Kind::Erase | Kind::Program | Kind::Gathered),
        };
        let Some(left) = self.schedule.left(Due::Die(index)).filter(|_| allowed) else { return };
        let until = self.until_step(die.array, kind, left);
        if until >= left {
            return; // it ends before it can be interrupted
        }
        self.schedule.disarm(Due::Die(index));
        if until == 0 {
            self.suspend(index, left);
        } else {
            self.dies[index].suspended_left = left - until;
            self.schedule.arm(Due::Die(index), until);
        }
    }

    /// Time until a gang in the array with so much time left can be interrupted.
    fn until_step(&self, gang: u32, kind: Kind, left: Nanos) -> Nanos {
        let step = self.options.suspend_step_ns;
        if step == 0 {
            return 0;
        }
        let all = if kind == Kind::Erase { self.part.erase_ns } else { self.program_ns(gang) };
        all.saturating_sub(left).next_multiple_of(step) - all.saturating_sub(left)
    }

    /// The gang in the array has come to a moment at which it can be interrupted, with this much time left.
    fn pause(&mut self, index: usize) {
        let die = &mut self.dies[index];
        let left = std::mem::take(&mut die.suspended_left);
        // The read may have been taken back, or the register may be on its way to another program.
        if die.head[1] == NIL || die.transfer != NIL {
            self.schedule.arm(Due::Die(index), left);
        } else {
            self.suspend(index, left);
        }
    }

    fn suspend(&mut self, index: usize, left: Nanos) {
        let die = &mut self.dies[index];
        let gang = die.array;
        self.observer.array_ends(index, gang, true, &self.commands, self.schedule.now);
        let die = &mut self.dies[index];
        die.suspended = gang;
        die.suspended_left = left + self.options.suspend_ns;
        die.suspends += 1;
        die.array = NIL;
        let (meter, now) = (&self.meters[index], self.schedule.now);
        self.commands.each_member(gang, |commands, id| commands.wait_for_die(id, meter, now));
        self.dispatch(index);
    }

    fn resume(&mut self, index: usize) {
        let die = &mut self.dies[index];
        let gang = die.suspended;
        die.array = gang;
        die.suspended = NIL;
        let left = std::mem::take(&mut die.suspended_left);
        self.settle_gang(index, gang);
        let slot = self.commands.get(gang);
        self.occupy(index, gang, [slot.cause, slot.root]);
        self.observer.array_begins(index, self.schedule.now);
        self.schedule.arm(Due::Die(index), left);
    }

    /// A gang that has waited for its die goes on.
    fn settle_gang(&mut self, index: usize, gang: u32) {
        let (meter, now) = (&self.meters[index], self.schedule.now);
        self.commands.each_member(gang, |commands, id| commands.settle_wait(id, meter, now));
    }

    /// Starts what the die can start now.
    #[inline]
    fn dispatch(&mut self, index: usize) {
        let die = &self.dies[index];
        if die.array == NIL && die.transfer == NIL {
            if self.options.uninterrupted && self.wait_for_cleaning(index) {
                return;
            }
            let die = &self.dies[index];
            let lane = die.next_lane();
            if die.suspended != NIL {
                if lane == 0 {
                    self.resume(index);
                    return;
                }
            } else if die.head[lane] == NIL {
                self.vacate(index);
                return;
            }
            self.start_next(index, lane);
            if !self.options.cache_program {
                return;
            }
        }
        if self.cached {
            self.dispatch_cached(index);
        }
    }

    /// A collection that is not interrupted has ended a command, and what it does next may follow at this very moment:
    /// the others wait until all that ends now has been told of. If nothing follows then they go on, so that a
    /// collection which waits for one of them never waits in vain.
    fn wait_for_cleaning(&mut self, index: usize) -> bool {
        let die = &self.dies[index];
        let head = die.head[die.next_lane()];
        if !die.cleans || head == NIL || is_cleaning(self.commands.get(head).cause) {
            return false;
        }
        self.schedule.arm(Due::Die(index), 0);
        true
    }

    /// Nothing more of the collection has come: others may go on.
    #[cold]
    fn cleaning_has_paused(&mut self, index: usize) {
        self.dies[index].cleans &= self.dies[index].head[Die::CLEANING] != NIL;
        self.dispatch(index);
    }

    /// Starts the other half of a cache command: the array while the register moves, or the
    /// register while the array works.
    fn dispatch_cached(&mut self, index: usize) {
        let die = &self.dies[index];
        let lane = die.next_lane();
        let head = die.head[lane];
        let interrupts =
            self.options.uninterrupted && die.cleans && head != NIL && !is_cleaning(self.commands.get(head).cause);
        if head == NIL || die.suspended != NIL || interrupts {
            return;
        }
        let next = self.commands.get(head).kind;
        let beside = |id: u32, kind: Kind| id != NIL && self.commands.get(id).kind == kind && next == kind;
        let read = self.options.cache_read && die.array == NIL && beside(die.transfer, Kind::Read);
        let program = self.options.cache_program
            && die.transfer == NIL
            && (beside(die.array, Kind::Program) || beside(die.array, Kind::Gathered));
        if read || program {
            self.start_next(index, lane);
        }
    }

    #[inline]
    fn start_next(&mut self, index: usize, lane: usize) {
        let id = self.dies[index].head[lane];
        self.unlink_from(index, lane, id);
        let slot = self.commands.at(id);
        slot.state = State::Active;
        slot.next = NIL;
        self.commands.settle_wait(id, &self.meters[index], self.schedule.now);
        if self.gangs {
            self.form_gang(index, lane, id);
        }
        self.start(index, id);
    }

    /// Whether a read has begun at this very moment, alone on its die: what ends at one moment may make it superfluous,
    /// in whatever order it is told of.
    pub(super) fn begins_now(&self, id: u32) -> bool {
        let index = self.state.geometry.die_of(self.block_of(self.commands.get(id).page)).index();
        let die = &self.dies[index];
        let slot = self.commands.get(id);
        let alone = die.array == id && die.transfer == NIL && die.suspended == NIL && slot.next == NIL;
        alone
            && slot.what != What::Retried
            && !die.commanded
            && self.schedule.left(Due::Die(index)) == Some(self.read_ns(id) + self.part.command_ns)
    }

    /// Takes a read that begins now off its die, which goes on with the next command.
    pub(super) fn take_off(&mut self, id: u32) {
        let block = self.block_of(self.commands.get(id).page);
        let index = self.state.geometry.die_of(block).index();
        self.schedule.disarm(Due::Die(index));
        self.dies[index].array = NIL;
        self.retire(id);
        self.unpin(block);
        if self.dies[index].is_idle() {
            self.vacate(index);
        } else {
            self.dispatch(index);
        }
    }

    /// Time that the commands on a die and in its queues still take, and the programs that wait for nothing but a read
    /// among them.
    pub(super) fn queued_ns(&self, index: usize) -> Nanos {
        let die = &self.dies[index];
        let queued: Nanos = die
            .head
            .into_iter()
            .flat_map(|first| self.commands.chain(first))
            .map(|id| self.service_ns(id) + self.following_ns(index, id))
            .sum();
        let running = self.schedule.left(Due::Die(index)).unwrap_or(0);
        let on_die: Nanos =
            [die.array, die.transfer].into_iter().filter(|id| *id != NIL).map(|id| self.following_ns(index, id)).sum();
        let is = |id: u32, kind: Kind| id != NIL && self.commands.get(id).kind == kind;
        let half = match () {
            () if is(die.array, Kind::Read) => self.read_transfer_ns[self.commands.get(die.array).sectors as usize],
            () if is(die.transfer, Kind::Program) || is(die.transfer, Kind::Gathered) => self.program_ns(die.transfer),
            () => 0,
        };
        queued + running + half + on_die + die.suspended_left
    }

    /// Time of a command that has not begun.
    fn service_ns(&self, id: u32) -> Nanos {
        let slot = self.commands.get(id);
        match slot.kind {
            Kind::Read => self.read_ns(id) + self.part.command_ns + self.read_transfer_ns[slot.sectors as usize],
            Kind::Program => self.page_transfer_ns + self.program_ns(id),
            Kind::Gathered => Nanos::from(self.parts_of(id)) * self.part_transfer_ns + self.program_ns(id),
            Kind::Copyback => self.part.read_ns + self.part.program_ns + self.part.command_ns,
            Kind::Erase => self.part.erase_ns + self.part.command_ns,
        }
    }

    /// Time of the program of this die that waits for a read.
    fn following_ns(&self, index: usize, id: u32) -> Nanos {
        let next = self.commands.only_successor(id).filter(|next| next.kind == Kind::Program && next.waits == 1);
        let here = next.is_some_and(|next| self.state.geometry.die_of(self.block_of(next.page)).index() == index);
        if here { self.page_transfer_ns + self.part.program_ns } else { 0 }
    }

    /// A die works for a gang from now on, and for a cause.
    #[inline(always)]
    pub(super) fn occupy(&mut self, index: usize, gang: u32, [cause, root]: [u8; 2]) {
        self.meters[index].occupy(self.schedule.now, cause, root);
        self.observer.die_occupied(index, gang, cause, &self.commands, self.schedule.now);
    }

    /// A die has nothing to do.
    #[inline(always)]
    fn vacate(&mut self, index: usize) {
        self.observer.die_vacated(index, self.meters[index].is_occupied(), self.schedule.now);
        self.meters[index].vacate(self.schedule.now);
    }

    /// A command has ended, or was taken back: its slot is free.
    #[inline(always)]
    pub(super) fn retire(&mut self, id: u32) {
        self.observer.command_ends(id, &self.commands, self.schedule.now);
        self.commands.remove(id);
    }

    /// Puts a gang whose members are taken out of the queue onto its die.
    #[inline]
    fn start(&mut self, index: usize, gang: u32) {
        let slot = self.commands.get(gang);
        let (kind, cause, root) = (slot.kind, slot.cause, slot.root);
        if self.dies[index].array == NIL {
            self.occupy(index, gang, [cause, root]);
            if self.options.uninterrupted {
                self.schedule.disarm(Due::Die(index)); // it need not look again
                self.dies[index].cleans = is_cleaning(cause);
            }
        }
        let die = &mut self.dies[index];
        let time = match kind {
            Kind::Program | Kind::Gathered => {
                die.move_gang(gang);
                self.ask_channel(index);
                return;
            }
            Kind::Read => self.read_ns(gang),
            Kind::Copyback => self.part.read_ns + self.part.program_ns,
            Kind::Erase => self.part.erase_ns,
        };
        let die = &mut self.dies[index];
        die.array = gang;
        if die.suspended == NIL {
            die.suspends = 0; // not for the read that interrupts: the count belongs to the gang it interrupted
        }
        if self.options.command_cycles != CommandCycles::Die && self.part.command_ns > 0 {
            self.send_command(index, gang);
            return;
        }
        self.observer.array_begins(index, self.schedule.now);
        self.schedule.arm(Due::Die(index), time + self.part.command_ns);
    }

    #[inline]
    fn transfer_finished(&mut self, index: usize) {
        self.release_channel(index);
        let gang = self.dies[index].transfer;
        if self.commands.get(gang).kind == Kind::Read {
            self.read_moved(index, gang);
        } else {
            self.program_moved(index, gang);
        }
    }

    #[inline]
    fn read_moved(&mut self, index: usize, id: u32) {
        let rest = self.commands.get(id).next;
        let die = &mut self.dies[index];
        die.move_gang(rest);
        if rest != NIL {
            self.ask_channel(index);
        } else if die.array_done {
            let next = die.array;
            die.move_gang(next);
            die.array = NIL;
            die.array_done = false;
            self.charge_register(next);
            self.ask_channel(index);
            self.dispatch(index);
        } else {
            self.dispatch(index);
        }
        self.complete(id);
    }

    /// Pages were read and waited in the array for the register to be transferred.
    fn charge_register(&mut self, gang: u32) {
        let (bus, now) = (Wait::Bus.index() as u8, self.schedule.now);
        self.commands.each_member(gang, |commands, id| {
            let waited = now - commands.get(id).since;
            commands.charge(id, [bus; 2], waited);
        });
    }

    #[inline]
    fn program_moved(&mut self, index: usize, gang: u32) {
        let id = self.dies[index].moving;
        let slot = self.commands.get(id);
        let (next, parts) = (slot.next, if slot.kind == Kind::Gathered { self.parts_of(id) } else { 1 });
        let die = &mut self.dies[index];
        die.moved += 1;
        if die.moved == parts {
            (die.moving, die.moved) = (next, 0);
        }
        if die.moving != NIL {
            self.ask_channel(index);
        } else if self.dies[index].array == NIL {
            self.dies[index].transfer = NIL;
            self.start_programming(index, gang);
        } else {
            self.dies[index].loaded = true;
            self.wait_for_array(index, gang);
        }
    }

    /// A gang's data is in the register and the array is still busy: from now on it waits.
    fn wait_for_array(&mut self, index: usize, gang: u32) {
        let (meter, now) = (&self.meters[index], self.schedule.now);
        self.commands.each_member(gang, |commands, id| commands.wait_for_die(id, meter, now));
    }

    #[inline]
    fn start_programming(&mut self, index: usize, gang: u32) {
        let die = &mut self.dies[index];
        die.array = gang;
        die.suspends = 0;
        self.observer.array_begins(index, self.schedule.now);
        self.schedule.arm(Due::Die(index), self.program_ns(gang));
        if self.options.cache_program || self.options.suspend == SuspendOption::ProgramErase {
            let slot = self.commands.get(gang);
            self.occupy(index, gang, [slot.cause, slot.root]);
            // A read that arrived during the transfer may interrupt now.
            if self.dies[index].head[1] != NIL {
                self.try_suspend(index);
            }
            if self.dies[index].array != NIL {
                self.dispatch(index);
            }
        }
    }

    #[inline]
    fn array_finished(&mut self, index: usize) {
        if self.dies[index].suspended_left > 0 && self.dies[index].suspended == NIL {
            self.pause(index);
            return;
        }
        let gang = self.dies[index].array;
        if self.commands.get(gang).kind == Kind::Read {
            if self.state.errs() && self.reads_again(index, gang) {
                return;
            }
            self.observer.array_ends(index, gang, false, &self.commands, self.schedule.now);
            let die = &mut self.dies[index];
            if die.transfer == NIL {
                die.move_gang(gang);
                die.array = NIL;
                self.ask_channel(index);
                if self.options.cache_read {
                    self.dispatch(index);
                }
            } else {
                die.array_done = true;
                let now = self.schedule.now;
                self.commands.each_member(gang, |commands, id| commands.at(id).since = now);
            }
            return;
        }
        self.observer.array_ends(index, gang, false, &self.commands, self.schedule.now);
        let die = &mut self.dies[index];
        die.array = NIL;
        if die.loaded {
            let next = die.transfer;
            die.loaded = false;
            die.transfer = NIL;
            self.settle_gang(index, next);
            self.start_programming(index, next);
        } else if die.transfer == NIL {
            self.dispatch(index);
        }
        let mut id = gang;
        while id != NIL {
            let next = self.commands.get(id).next;
            self.complete(id);
            id = next;
        }
    }
}
