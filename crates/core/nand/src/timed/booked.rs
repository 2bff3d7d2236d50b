//! Turns on channels, booked before they begin, so that most commands have one event.
//!
//! A read books its transfer when its array begins. A program of one page books it when it starts, and its array begins
//! when that has ended. The time of the end of both follows, so the die has no event between, unless somebody looks at
//! that moment ([`Chips::see_to_booking`]).
//!
//! Protects: channels serve in the order of asking, by time and then by the number of the event, whether commands have
//! one event or two. A command that has one event can have two from any moment on ([`Chips::take_back_turn`]).

use super::channels::{Booking, Turn};
use super::chips::Chips;
use super::commands::Kind;
use super::dies::Phase;
use super::schedule::{Due, Moment};
use crate::NIL;
use crate::part::{CommandCycles, SuspendOption};
use units::{Nanos, Wait};

impl Chips {
    /// Whether reads and programs have one event may have changed. They have two where somebody looks at the moment
    /// between, or where a command may have to change its time there.
    pub(super) fn see_to_booking(&mut self) {
        let before = self.books_reads;
        let commands_move = self.options.command_cycles != CommandCycles::Die && self.times.part.command_ns > 0;
        let is_looked_at = self.observer.records_work() || self.tickets.are_followed;
        let is_late = !self.schedule.troubles.all.is_empty();
        let two_events = self.cached || commands_move || is_looked_at || is_late || self.times.moves_at_once();
        self.books_reads = !two_events;
        self.books_programs = !two_events && self.options.suspend != SuspendOption::ProgramErase;
        if before && two_events {
            (0..self.state.geometry.dies() as usize).for_each(|die| self.take_back_turn(die));
        }
    }

    /// Starts a gang of reads whose event is the end of its first transfer. `false`: its array or its transfer takes no
    /// time, or its array may read again.
    #[inline(always)]
    pub(super) fn start_read(&mut self, index: usize, gang: u32) -> bool {
        let array_ns = self.times.read_ns(gang, &self.commands, &self.state) + self.times.part.command_ns;
        let transfer_ns = self.times.read_transfer_ns(self.commands.get(gang).sectors);
        if array_ns == 0 || transfer_ns == 0 || self.state.ageing.is_on() {
            return false;
        }
        self.dies[index].move_gang(gang);
        let asked = self.schedule.moment_of(index, array_ns);
        let moved = self.book(Turn::of_data(index), asked, transfer_ns);
        self.schedule.arm(Due::Die(index), moved - self.schedule.now);
        true
    }

    /// Starts a program of one page whose event is its end: nothing happens between its transfer and its array.
    #[inline(always)]
    pub(super) fn start_program(&mut self, index: usize, id: u32) {
        let die = &mut self.dies[index];
        die.array = id;
        die.suspends = 0;
        die.phase = Phase::Booked;
        let (asked, time) = (self.schedule.moment(), self.times.page_transfer_ns());
        let moved = self.book(Turn::of_data(index), asked, time);
        let array_ns = self.array_ns(Kind::Program, id);
        self.schedule.arm(Due::Die(index), moved - self.schedule.now + array_ns);
    }

    /// The transfer of a program that had one event is told of.
    #[inline(always)]
    pub(super) fn end_booked(&mut self, index: usize, id: u32) {
        let channel = self.dies[index].channel as usize;
        self.dies[index].phase = Phase::Works;
        let Booking { asked, begin, .. } = self.channels.release(channel, Turn::of_data(index));
        self.charge_bus(id, asked, begin);
    }

    /// A command waited for its channel.
    #[inline(always)]
    fn charge_bus(&mut self, id: u32, asked: Moment, begin: Nanos) {
        if begin > asked.time {
            self.commands.charge(id, [Wait::Bus.index() as u8; 2], begin - asked.time);
        }
    }

    /// A die asks for its channel, to move the next page of its gang.
    #[inline(always)]
    pub(super) fn ask_channel(&mut self, index: usize) {
        let time = self.times.transfer_ns(self.commands.get(self.dies[index].moving));
        let turn = Turn::of_data(index);
        self.book(turn, self.schedule.moment(), time);
        self.arm_turn(self.dies[index].channel as usize, turn);
    }

    /// The command and address cycles of the gang that is to begin take the channel before its array works.
    #[inline(never)]
    pub(super) fn send_command(&mut self, index: usize) {
        self.dies[index].phase = Phase::Commanded;
        let turn = Turn::of_command(index);
        self.book(turn, self.schedule.moment(), self.times.part.command_ns);
        self.arm_turn(self.dies[index].channel as usize, turn);
    }

    /// Books a turn on the channel of a die, which asks for it at this moment or will. Returns when it ends.
    #[inline(always)]
    pub(super) fn book(&mut self, turn: Turn, asked: Moment, time: Nanos) -> Nanos {
        let channel = self.dies[turn.die()].channel as usize;
        if let Some(end) = self.channels.book_last(channel, turn, asked, time) {
            return end;
        }
        let unmoved = self.channels.book_between(channel, turn, asked, time);
        self.arm_turns(channel, self.channels.get(turn).next, unmoved);
        self.channels.get(turn).end
    }

    /// Turns from one on begin and end at other times than before.
    #[inline(never)]
    fn arm_turns(&mut self, channel: usize, from: Turn, end: Turn) {
        let mut turn = from;
        while turn != end {
            self.arm_turn(channel, turn);
            turn = self.channels.get(turn).next;
        }
    }

    /// The time at which a turn ends is known.
    #[inline(always)]
    fn arm_turn(&mut self, channel: usize, turn: Turn) {
        let Booking { begin, end, .. } = *self.channels.get(turn);
        if self.channels.first(channel) == turn {
            self.observer.channel_begins(channel, begin);
        } else if self.cached || end == begin {
            return; // one that takes no time ends when it is the first, so that those before it end before
        }
        let due = if self.cached { Due::Channel(channel) } else { Due::Die(turn.die()) };
        self.schedule.arm(due, end - self.schedule.now);
    }

    /// A read that has not asked for its channel yet, or a program, has two events from now on, if it had one.
    pub(super) fn take_back_turn(&mut self, index: usize) {
        let (channel, turn, moment) = (self.dies[index].channel as usize, Turn::of_data(index), self.schedule.moment());
        let is_booked = self.channels.turns(channel).any(|other| other == turn);
        let Booking { asked, end, next, .. } = *self.channels.get(turn);
        let gang = self.dies[index].array;
        if self.dies[index].phase != Phase::Booked {
            if is_booked && asked > moment {
                let unmoved = self.channels.take_back(channel, turn);
                let die = &mut self.dies[index];
                (die.array, die.transfer) = (die.transfer, NIL);
                self.schedule.arm(Due::Die(index), asked.time - moment.time);
                self.arm_turns(channel, next, unmoved);
            }
        } else if self.channels.has_ended(turn, moment) {
            self.end_booked(index, gang);
        } else {
            let die = &mut self.dies[index];
            (die.array, die.phase) = (NIL, Phase::Works);
            die.move_gang(gang);
            self.schedule.arm(Due::Die(index), end - moment.time);
        }
    }

    /// Whether the gang in the array of a die still moves.
    pub(super) fn still_moves(&self, index: usize) -> bool {
        let is_booked = self.dies[index].phase == Phase::Booked;
        is_booked && !self.channels.has_ended(Turn::of_data(index), self.schedule.moment())
    }

    /// A die has its command: its array begins.
    #[inline(never)]
    pub(super) fn command_finished(&mut self, index: usize) {
        self.release_channel(Turn::of_command(index));
        let die = &mut self.dies[index];
        die.phase = Phase::Works;
        let gang = die.array;
        self.observer.array_begins(index, self.schedule.now);
        self.arm_array(index, self.array_ns(self.commands.get(gang).kind, gang));
    }

    /// A turn has ended: its channel goes to the next one.
    #[inline]
    pub(super) fn release_channel(&mut self, turn: Turn) {
        let (channel, now) = (self.dies[turn.die()].channel as usize, self.schedule.now);
        let Booking { asked, begin, end, next, .. } = self.channels.release(channel, turn);
        debug_assert!(end == now, "{turn:?} ends at {end}, not at {now}");
        let id = self.served_in(turn);
        self.observer.channel_ends(channel, id, turn.is_command(), &self.commands, now);
        self.charge_bus(id, asked, begin);
        if next != Turn::NONE {
            self.serve_next(channel, next);
        }
    }

    /// A channel serves the next turn from now on, or will.
    #[inline(always)]
    fn serve_next(&mut self, channel: usize, turn: Turn) {
        let Booking { begin, end, .. } = *self.channels.get(turn);
        if self.cached || end == self.schedule.now {
            self.arm_turn(channel, turn);
        } else {
            self.observer.channel_begins(channel, begin);
        }
    }

    /// The command whose data or cycles a channel moves: a member of a gang, or the gang that waits for its array.
    #[inline]
    fn served_in(&self, turn: Turn) -> u32 {
        let die = &self.dies[turn.die()];
        if turn.is_command() { die.array } else { die.moving }
    }
}
