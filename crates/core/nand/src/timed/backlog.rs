//! The work that waits for a die, for layers that ask before they give a command.

use super::channels::Booking;
use super::chips::Chips;
use super::commands::Kind;
use super::dies::{Phase, is_cleaning};
use super::schedule::Due;
use crate::NIL;
use crate::flash::Backlog;
use units::Nanos;

impl Chips {
    /// The commands before a new one on a die.
    pub fn backlog(&self, index: usize) -> Backlog {
        let die = &self.dies[index];
        let mut backlog = die.queued;
        for id in die.gangs().into_iter().flat_map(|gang| self.commands.chain(gang)) {
            backlog.commands += 1;
            backlog.cleaning += u32::from(is_cleaning(self.commands.get(id).cause));
        }
        backlog
    }

    /// Time that the commands on a die and in its queues still take, and the programs that wait for nothing but a read
    /// among them.
    pub fn queued_ns(&self, index: usize) -> Nanos {
        let die = &self.dies[index];
        let queued: Nanos = die
            .head
            .into_iter()
            .flat_map(|first| self.commands.chain(first))
            .map(|id| self.times.service_ns(id, &self.commands, &self.state) + self.following_ns(index, id))
            .sum();
        let running = self.running_ns(index);
        let on_die: Nanos =
            [die.array, die.transfer].into_iter().filter(|id| *id != NIL).map(|id| self.following_ns(index, id)).sum();
        let is = |id: u32, kind: Kind| id != NIL && self.commands.get(id).kind == kind;
        let half = match () {
            () if is(die.array, Kind::Read) => self.times.transfer_ns(self.commands.get(die.array)),
            () if is(die.transfer, Kind::Program) || is(die.transfer, Kind::Gathered) => {
                self.array_ns(Kind::Program, die.transfer)
            }
            () => 0,
        };
        queued + running + half + on_die + die.suspended_left
    }

    /// Time until the array or the channel has done its work for a die: none while the die waits for its channel.
    fn running_ns(&self, index: usize) -> Nanos {
        let (channel, now) = (self.dies[index].channel as usize, self.schedule.now);
        let turn = self.channels.turns(channel).find(|turn| turn.die() == index).filter(|_| !self.cached);
        let Some(turn) = turn else { return self.schedule.left(Due::Die(index)).unwrap_or(0) };
        let (Booking { asked, begin, end, .. }, moment) = (*self.channels.get(turn), self.schedule.moment());
        let left = if self.channels.is_served(turn, moment) { end.saturating_sub(now) } else { 0 };
        match () {
            () if self.still_moves(index) => left + self.array_ns(Kind::Program, self.dies[index].array),
            () if self.dies[index].phase == Phase::Booked => self.schedule.left(Due::Die(index)).unwrap_or(0),
            () if asked > moment => asked.time - now + end - begin,
            () => left,
        }
    }

    /// Time of the program of this die that waits for a read: that of a copy, or a command of its own.
    fn following_ns(&self, index: usize, id: u32) -> Nanos {
        let slot = self.commands.get(id);
        let copied = slot.target().filter(|_| slot.kind == Kind::Read);
        let next = self.commands.only_successor(id).filter(|next| next.kind == Kind::Program && next.waits == 1);
        let page = copied.or(next.map(|next| next.page));
        let here = page.is_some_and(|page| self.state.geometry.die_of(self.block_of(page)).index() == index);
        if here { self.times.plain_program_ns() } else { 0 }
    }
}
