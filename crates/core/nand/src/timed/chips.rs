//! Chips in virtual time: queues of dies, gangs, suspension, arrays, transfers.
//!
//! A command goes through a die in these steps; each that takes time ends with an event:
//! 1. [`Chips::enqueue`] puts it onto an idle die, or behind others of its kind.
//! 2. [`Chips::dispatch`] takes the next one when a die has room, with others that can run beside it as a *gang*.
//! 3. [`Chips::start`] sends it its command cycles and begins the array; a program asks for its channel first.
//! 4. A channel serves its dies in order of asking; the last page of a program begins its array.
//! 5. When the array has ended, a read asks for the channel, and anything else has ended.
//! 6. A read that goes first may interrupt an erase or a program, which goes on when no such read is queued.
//!
//! Where nothing can happen between array and transfer, one event ends both (booked.rs).
//!
//! Protects: order within a queue; one gang in an array, one in a register, one interrupted.

use super::channels::{Channels, Turn};
use super::commands::{Commands, Kind, Slot, State, What, flag};
use super::dies::{Die, Dies, Follows, Phase};
use super::observer::{Observer, Recorder, RecorderPlan};
use super::schedule::{Due, Schedule};
use super::tickets::Tickets;
use super::times::Times;
use crate::NIL;
use crate::flash::{CommandId, Completion, Operation};
use crate::part::{CommandCycles, CommandOptions, MultiPlane, Part, SuspendOption};
use crate::state::{FlashState, Running};
use units::{BlockId, Cause, Nanos, Ppn, Wait};

/// Chips: the contents of cells, the commands on their way to them, and the work of dies and channels.
#[derive(Clone, Debug)]
pub(super) struct Chips {
    pub state: FlashState,
    pub commands: Commands,
    pub dies: Dies,
    pub channels: Channels,
    pub times: Times,
    pub schedule: Schedule,
    pub observer: Observer,
    pub tickets: Tickets,
    /// A recorder or tickets have to hear of commands: one comparison for both, on most drives.
    pub is_followed: bool,
    pub options: CommandOptions,
    /// Array and transfer of a die can overlap; otherwise the die's event serves both.
    pub cached: bool,
    /// Queued commands may begin together.
    gangs: bool,
    /// A read books its transfer when its array begins, unless somebody looks at the time between.
    pub books_reads: bool,
    /// A program of one page has one event, as its transfer.
    pub books_programs: bool,
    /// A die has one queue, in order of arrival, and a command that joins it changes nothing else.
    pub queues_plainly: bool,
}

impl Chips {
    pub fn new(state: FlashState, part: Part, options: CommandOptions, timers: u32) -> Self {
        let geometry = &state.geometry;
        let reads_first = options.read_priority || options.suspend != SuspendOption::Off;
        let urgent = [reads_first, reads_first && !options.host_reads_first];
        let cached = options.cache_read || options.cache_program;
        let times = Times::new(part, &state);
        let queues_plainly = !reads_first && !cached && !options.uninterrupted && !times.shares_physical_pages();
        let commands_first = options.command_cycles == CommandCycles::ChannelFirst;
        let mut chips = Self {
            commands: Commands::new(options.tells_waits),
            dies: Dies::new(geometry, urgent),
            channels: Channels::new(geometry.channels, geometry.dies(), commands_first),
            times,
            schedule: Schedule::new(geometry.dies(), if cached { geometry.channels } else { 0 }, timers),
            observer: Observer::new(geometry.dies(), geometry.channels),
            tickets: Tickets::new(options.uninterrupted),
            is_followed: options.uninterrupted,
            options,
            cached,
            books_reads: false,
            books_programs: false,
            queues_plainly,
            gangs: options.multi_plane != MultiPlane::Off && geometry.planes_per_die * part.planes_as_one > 1
                || part.page_bytes > geometry.page_bytes,
            state,
        };
        chips.see_to_booking();
        chips
    }

    /// The work of a die has been done. The gang that has ended by that, or NIL.
    #[inline(always)]
    pub fn die_is_due(&mut self, index: usize) -> u32 {
        let die = &self.dies[index];
        if die.array != NIL {
            if die.phase != Phase::Commanded {
                return self.array_finished(index);
            }
            self.command_finished(index);
        } else if die.transfer != NIL {
            debug_assert!(!self.cached, "the transfers of a cached die are events of its channel");
            return self.transfer_finished(index);
        } else {
            self.look_again(index);
        }
        NIL
    }

    /// A channel has served a die. The gang that has ended by that, or NIL.
    #[inline(always)]
    pub fn channel_is_due(&mut self, channel: usize) -> u32 {
        let turn = self.channels.first(channel);
        if turn.is_command() {
            self.command_finished(turn.die());
            NIL
        } else {
            self.transfer_finished(turn.die())
        }
    }

    /// A new command. `slot.generation` is ignored.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot, completion: Option<Completion>) -> CommandId {
        let command = self.commands.insert(slot, completion, self.schedule.now);
        if self.is_followed {
            self.hear_of(command.slot);
        }
        command
    }

    /// A new command that is all of an operation. `slot.generation` is ignored.
    #[inline(always)]
    pub fn insert_alone(&mut self, slot: Slot, operation: Operation) -> CommandId {
        let command = self.commands.insert_alone(slot, operation, self.schedule.now);
        if self.is_followed {
            self.hear_of(command.slot);
        }
        command
    }

    pub fn record(&mut self, plan: RecorderPlan) {
        self.observer.record(plan, self.schedule.now);
        self.is_followed = true;
        self.see_to_booking();
    }

    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.observer.recorder()
    }

    /// Takes the record; recording ends.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        self.is_followed = self.tickets.are_followed;
        let recording = self.observer.take_recording();
        self.see_to_booking();
        recording
    }

    /// A command has ended, or was taken back: its slot is free.
    #[inline(always)]
    pub fn retire(&mut self, id: u32) {
        self.observer.command_ends(id, &self.commands, self.schedule.now);
        self.commands.remove(id);
    }

    /// Takes a pin from a block; with the last one goes what an erase of it waits for.
    #[inline]
    pub fn unpin(&mut self, block: BlockId) {
        let row = self.state.row(block);
        if row.unpin() && row.waiting_erase != NIL {
            let erase = row.waiting_erase;
            row.waiting_erase = NIL;
            self.enqueue(erase);
        }
    }

    #[inline]
    pub fn block_of(&self, page: u32) -> BlockId {
        self.state.geometry.block_of(Ppn(page))
    }

    /// The die of a command.
    #[inline(always)]
    fn die_of(&self, id: u32) -> usize {
        self.state.geometry.die_of(self.block_of(self.commands.get(id).page)).index()
    }

    /// Array time of a gang.
    #[inline(always)]
    pub fn array_ns(&self, kind: Kind, gang: u32) -> Nanos {
        self.times.array_ns(kind, gang, &self.commands, &self.state)
    }

    /// Puts a command into the queue of its die, or straight onto an idle one.
    #[inline]
    pub fn enqueue(&mut self, id: u32) {
        let slot = self.commands.get(id);
        let (traced, cause) = (slot.flags & flag::TRACED != 0, slot.cause);
        let die = self.state.geometry.die_of(self.block_of(slot.page)).index();
        if self.dies[die].is_idle() {
            let slot = self.commands.at(id);
            slot.state = State::Active;
            slot.next = NIL;
            self.start(die, id);
            return;
        }
        let tells_root = traced && cause == Cause::Host as u8;
        if self.queues_plainly {
            self.wait_behind([die, 0], self.dies[die].tail[0], id, tells_root);
            self.dies.link(die, 0, id, &mut self.commands);
        } else {
            self.enqueue_by_rules(die, id, tells_root);
        }
    }

    /// Puts a command into a queue of its busy die, as the options of commands say.
    #[inline(never)]
    fn enqueue_by_rules(&mut self, die: usize, id: u32, tells_root: bool) {
        let slot = self.commands.get(id);
        let (kind, cause) = (slot.kind, slot.cause);
        if kind == Kind::Read && self.times.shares_physical_pages() && self.join_gang(die, id) {
            return;
        }
        let queue = if self.tickets.are_followed {
            self.enqueue_in_order(die, id, tells_root)
        } else {
            let queue = self.dies.queue(kind, cause);
            self.wait_behind([die, queue], self.dies[die].tail[queue], id, tells_root);
            self.dies.link(die, queue, id, &mut self.commands);
            queue
        };
        if queue == Die::URGENT && self.options.suspend != SuspendOption::Off {
            self.try_suspend(die);
        }
        if self.cached {
            self.dispatch(die);
        }
    }

    /// A command waits from now on for its die, behind another one or at the front of a queue.
    #[inline(always)]
    pub fn wait_behind(&mut self, [die, queue]: [usize; 2], behind: u32, id: u32, tells_root: bool) {
        if tells_root && let Some(before) = self.dies[die].last_before(behind, queue) {
            self.commands.at(id).root = self.commands.get(before).root;
        }
        self.commands.wait_for_die(id, self.dies.meter(die), self.schedule.now);
    }

    /// Takes a queued command out of its die's queue.
    pub fn unlink(&mut self, id: u32) {
        let index = self.die_of(id);
        let queue = self.dies.queue_of(index, id, self.commands.get(id));
        self.dies.unlink(index, queue, id, &mut self.commands);
    }

    /// Interrupts what is in an array for a read that goes first, now or as soon as that can be, if it may be.
    fn try_suspend(&mut self, index: usize) {
        let die = &self.dies[index];
        let is_idle = die.array == NIL || die.phase == Phase::Commanded;
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
        if until >= left || left <= self.options.suspend_end_ns {
            return; // it ends before it can be interrupted, or soon enough
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
        let all = self.array_ns(kind, gang);
        all.saturating_sub(left).next_multiple_of(step) - all.saturating_sub(left)
    }

    /// The gang in the array has come to a moment at which it can be interrupted, with this much time left.
    fn pause(&mut self, index: usize) {
        let die = &mut self.dies[index];
        let left = std::mem::take(&mut die.suspended_left);
        // The read may have been taken back, or the register may be on its way to another program.
        if die.head[Die::URGENT] == NIL || die.transfer != NIL {
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
        self.gang_waits(index, gang);
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
        if self.tickets.are_used() {
            self.dies[index].follows = self.follows(gang);
        }
        self.observer.array_begins(index, self.schedule.now);
        self.schedule.arm(Due::Die(index), left);
    }

    /// A gang that has waited for its die goes on.
    fn settle_gang(&mut self, index: usize, gang: u32) {
        let (meter, now) = (self.dies.meter(index), self.schedule.now);
        self.commands.each_member(gang, |commands, id| commands.settle_wait(id, meter, now));
    }

    /// Starts what the die can start now.
    #[inline]
    pub fn dispatch(&mut self, index: usize) {
        let die = &self.dies[index];
        if die.array == NIL && die.transfer == NIL {
            let queue = if self.queues_plainly {
                0
            } else if die.follows == Follows::Nothing {
                die.queue_in_turn()
            } else if self.make_look_again(index) {
                return;
            } else {
                self.dies[index].next_queue()
            };
            let die = &self.dies[index];
            if die.suspended != NIL {
                if queue == 0 {
                    self.resume(index);
                    return;
                }
            } else if die.head[queue] == NIL {
                self.vacate(index);
                return;
            }
            self.start_next(index, queue);
            if !self.options.cache_program {
                return;
            }
        }
        if self.cached {
            self.dispatch_cached(index);
        }
    }

    /// Starts the other half of a cache command: the array while the register moves, or the
    /// register while the array works.
    fn dispatch_cached(&mut self, index: usize) {
        let die = &self.dies[index];
        let queue = die.next_queue();
        let head = die.head[queue];
        if head == NIL || die.suspended != NIL || !self.may_begin_beside(index, head) {
            return;
        }
        let next = self.commands.get(head).kind;
        let beside = |id: u32, kind: Kind| id != NIL && self.commands.get(id).kind == kind && next == kind;
        let read = self.options.cache_read && die.array == NIL && beside(die.transfer, Kind::Read);
        let program = self.options.cache_program
            && die.transfer == NIL
            && (beside(die.array, Kind::Program) || beside(die.array, Kind::Gathered));
        if read || program {
            self.start_next(index, queue);
        }
    }

    #[inline]
    fn start_next(&mut self, index: usize, queue: usize) {
        let id = self.dies.take_first(index, queue, &mut self.commands);
        self.commands.settle_wait(id, self.dies.meter(index), self.schedule.now);
        if self.gangs {
            self.form_gang(index, queue, id);
        }
        self.start(index, id);
    }

    /// Whether a read has begun at this very moment, alone on its die: commands that end at one moment may make it
    /// superfluous, in any order in which they are told of.
    pub fn begins_now(&mut self, id: u32) -> bool {
        let index = self.die_of(id);
        self.take_back_turn(index);
        let die = &self.dies[index];
        let slot = self.commands.get(id);
        let alone = die.array == id && die.transfer == NIL && die.suspended == NIL && slot.next == NIL;
        alone
            && slot.what != What::Retried
            && die.phase == Phase::Works
            && self.schedule.left(Due::Die(index)) == Some(self.array_ns(Kind::Read, id) + self.times.part.command_ns)
    }

    /// Takes a read that begins now off its die, which goes on with the next command.
    pub fn take_off(&mut self, id: u32) {
        let block = self.block_of(self.commands.get(id).page);
        let index = self.die_of(id);
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

    /// A die works for a gang from now on, and for a cause.
    #[inline(always)]
    pub fn occupy(&mut self, index: usize, gang: u32, [cause, root]: [u8; 2]) {
        self.dies.meter_mut(index).occupy(self.schedule.now, cause, root);
        self.observer.die_occupied(index, gang, cause, &self.commands, self.schedule.now);
    }

    /// A die has nothing to do.
    #[inline(always)]
    fn vacate(&mut self, index: usize) {
        self.observer.die_vacated(index, self.dies.meter(index).is_occupied(), self.schedule.now);
        self.dies.meter_mut(index).vacate(self.schedule.now);
    }

    /// Puts a gang whose members are taken out of the queue onto its die.
    #[inline(always)]
    fn start(&mut self, index: usize, gang: u32) {
        let slot = self.commands.get(gang);
        let (kind, cause, root) = (slot.kind, slot.cause, slot.root);
        if self.dies[index].array == NIL {
            self.dies.meter_mut(index).occupy(self.schedule.now, cause, root);
            if self.is_followed {
                self.hear_of_start(index, gang, cause);
            }
        }
        if kind == Kind::Read && self.books_reads && self.start_read(index, gang) {
            return;
        }
        if matches!(kind, Kind::Program | Kind::Gathered) {
            if kind == Kind::Program && self.books_programs && self.commands.get(gang).next == NIL {
                self.start_program(index, gang);
                return;
            }
            self.dies[index].move_gang(gang);
            self.ask_channel(index);
            return;
        }
        let die = &mut self.dies[index];
        if die.suspended == NIL {
            die.suspends = 0; // not for the read that interrupts: the count belongs to the gang it interrupted
        }
        if self.options.command_cycles != CommandCycles::Die && self.times.part.command_ns > 0 {
            die.array = gang;
            self.send_command(index);
            return;
        }
        let array_ns = self.array_ns(kind, gang) + self.times.part.command_ns;
        self.dies[index].array = gang;
        self.observer.array_begins(index, self.schedule.now);
        self.arm_array(index, array_ns);
    }

    /// A page has moved. The read that has ended by that, or NIL.
    #[inline]
    fn transfer_finished(&mut self, index: usize) -> u32 {
        self.release_channel(Turn::of_data(index));
        let gang = self.dies[index].transfer;
        if self.commands.get(gang).kind == Kind::Read {
            self.read_moved(index, gang);
            return gang;
        }
        self.program_moved(index, gang);
        NIL
    }

    #[inline]
    fn read_moved(&mut self, index: usize, id: u32) {
        let rest = self.commands.get(id).next;
        let die = &mut self.dies[index];
        die.move_gang(rest);
        if rest != NIL {
            // Not for a read by itself: its slot is copied soon, which waits for what was just stored into it.
            self.commands.at(id).next = NIL;
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
        let (next, parts) = (slot.next, self.times.parts_of(slot, &self.state));
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
            self.gang_waits(index, gang); // its data is in the register, and the array is still busy
        }
    }

    /// A gang that is on its die waits for it from now on.
    fn gang_waits(&mut self, index: usize, gang: u32) {
        let (meter, now) = (self.dies.meter(index), self.schedule.now);
        self.commands.each_member(gang, |commands, id| commands.wait_for_die(id, meter, now));
    }

    #[inline]
    fn start_programming(&mut self, index: usize, gang: u32) {
        let die = &mut self.dies[index];
        die.array = gang;
        die.suspends = 0;
        self.observer.array_begins(index, self.schedule.now);
        self.arm_array(index, self.array_ns(Kind::Program, gang));
        if self.options.cache_program || self.options.suspend == SuspendOption::ProgramErase {
            self.go_on_beside(index, gang);
        }
    }

    /// A die whose array programs a gang from now on may move the next one, or read first.
    #[inline(never)]
    fn go_on_beside(&mut self, index: usize, gang: u32) {
        let slot = self.commands.get(gang);
        self.occupy(index, gang, [slot.cause, slot.root]);
        // A read that arrived during the transfer may interrupt now.
        if self.dies[index].head[Die::URGENT] != NIL {
            self.try_suspend(index);
        }
        if self.dies[index].array != NIL {
            self.dispatch(index);
        }
    }

    /// The array of a die has done what was asked for. The gang that has ended by that, or NIL.
    #[inline]
    fn array_finished(&mut self, index: usize) -> u32 {
        if self.dies[index].suspended_left > 0 && self.dies[index].suspended == NIL {
            self.pause(index);
            return NIL;
        }
        let gang = self.dies[index].array;
        if self.commands.get(gang).kind == Kind::Read {
            if self.state.ageing.is_on() && self.reads_again(index, gang) {
                return NIL;
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
            return NIL;
        }
        if self.dies[index].phase == Phase::Booked {
            self.end_booked(index, gang);
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
        gang
    }

    /// The array reads a gang of pages again until their errors can be corrected, as often as the worst of them needs.
    /// `false`: it need not. Its die works for that cause meanwhile, and the reads waited for it. Each of them disturbs
    /// its block.
    #[cold]
    #[inline(never)]
    fn reads_again(&mut self, index: usize, gang: u32) -> bool {
        let slot = self.commands.get(gang);
        let (cause, root) = (slot.cause, slot.root);
        if slot.what == What::Retried {
            self.occupy(index, gang, [cause, root]);
            return false;
        }
        self.state.ageing.keep_clock(self.schedule.now);
        let (mut most, mut all) = (0, 0);
        for id in self.commands.chain(gang) {
            let slot = self.commands.get(id);
            let retries = self.state.retries(Ppn(slot.page));
            self.state.disturb(slot.owner, Ppn(slot.page), retries);
            (most, all) = (most.max(retries), all + u64::from(retries));
        }
        if most == 0 {
            return false;
        }
        self.state.counters.reads[Cause::Retry.index()] += all;
        let time = Nanos::from(most) * (self.array_ns(Kind::Read, gang) + self.state.ageing.decode_ns());
        self.commands.each_member(gang, |commands, id| {
            commands.at(id).what = What::Retried;
            commands.charge(id, [Cause::Retry as u8; 2], time);
        });
        // Whatever the reads are for, it is errors that others wait for now.
        self.occupy(index, gang, [Cause::Retry as u8; 2]);
        self.arm_array(index, time);
        true
    }

    /// The work of arrays in cells, under way or interrupted.
    pub fn running(&self) -> Vec<Running> {
        let in_array = |(index, die): (usize, &Die)| {
            if self.still_moves(index) { NIL } else { die.array }
        };
        let gangs = self.dies.iter().enumerate().flat_map(|(index, die)| [in_array((index, die)), die.suspended]);
        let slots = gangs.flat_map(|gang| self.commands.chain(gang)).map(|id| self.commands.get(id));
        let running = |slot: &Slot| {
            let block = self.block_of(slot.page);
            match slot.kind {
                Kind::Read => None,
                Kind::Gathered => Some(Running::Gathered(block, slot.held())),
                Kind::Program | Kind::Copyback => Some(Running::Program(Ppn(slot.page))),
                Kind::Erase => Some(Running::Erase(block)),
            }
        };
        slots.filter_map(running).collect()
    }
}
