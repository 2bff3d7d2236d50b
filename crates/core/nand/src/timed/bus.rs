//! The channel of a die: data of one die at a time, and commands, where they take it.

use super::TimedFlash;
use super::commands::Kind;
use super::schedule::Due;
use crate::NIL;
use crate::part::CommandCycles;
use units::Wait;

/// Marks a die that has, or waits for, the channel for a command.
pub(super) const COMMAND: u32 = 1 << 31;

impl TimedFlash {
    #[inline]
    pub(super) fn ask_channel(&mut self, index: usize) {
        let channel = self.dies[index].channel as usize;
        if self.channels[channel].serving == NIL {
            self.grant_channel(channel, index as u32);
        } else {
            let id = self.dies[index].moving;
            self.commands.at(id).since = self.schedule.now;
            self.channels[channel].waiting.push_back(index as u32);
        }
    }

    /// The command and address cycles of the gang that is to begin take the channel before its array works.
    #[inline(never)]
    pub(super) fn send_command(&mut self, index: usize, gang: u32) {
        self.dies[index].commanded = true;
        let (channel, entry) = (self.dies[index].channel as usize, index as u32 | COMMAND);
        if self.channels[channel].serving == NIL {
            self.grant_channel(channel, entry);
            return;
        }
        self.commands.at(gang).since = self.schedule.now;
        let waiting = &mut self.channels[channel].waiting;
        if self.options.command_cycles == CommandCycles::ChannelFirst {
            let commands = waiting.iter().take_while(|entry| **entry & COMMAND != 0).count();
            waiting.insert(commands, entry);
        } else {
            waiting.push_back(entry);
        }
    }

    /// A die has its command: its array begins.
    #[inline(never)]
    pub(super) fn command_finished(&mut self, index: usize) {
        self.release_channel(index);
        let die = &mut self.dies[index];
        die.commanded = false;
        let gang = die.array;
        let time = match self.commands.get(gang).kind {
            Kind::Read => self.read_ns(gang),
            Kind::Copyback => self.part.read_ns + self.part.program_ns,
            _ => self.part.erase_ns,
        };
        self.observer.array_begins(index, self.schedule.now);
        self.schedule.arm(Due::Die(index), time);
    }

    #[inline]
    fn grant_channel(&mut self, channel: usize, entry: u32) {
        let time = if entry & COMMAND != 0 {
            self.part.command_ns
        } else {
            let slot = self.commands.get(self.dies[entry as usize].moving);
            match slot.kind {
                Kind::Read => self.read_transfer_ns[slot.sectors as usize],
                Kind::Gathered => self.part_transfer_ns,
                _ => self.page_transfer_ns,
            }
        };
        self.channels[channel].serving = entry;
        self.observer.channel_begins(channel, self.schedule.now);
        let due = if self.cached { Due::Channel(channel) } else { Due::Die((entry & !COMMAND) as usize) };
        self.schedule.arm(due, time);
    }

    /// The command that moves for what a channel serves: a member of a gang, or the gang that waits for its array.
    #[inline]
    fn served_by(&self, entry: u32) -> u32 {
        let die = &self.dies[(entry & !COMMAND) as usize];
        if entry & COMMAND != 0 { die.array } else { die.moving }
    }

    /// The channel of a die goes to the next one that waits.
    #[inline]
    pub(super) fn release_channel(&mut self, index: usize) {
        let channel = self.dies[index].channel as usize;
        let served = self.channels[channel].serving;
        self.observer.channel_ends(
            channel,
            self.served_by(served),
            served & COMMAND != 0,
            &self.commands,
            self.schedule.now,
        );
        self.channels[channel].serving = NIL;
        if let Some(next) = self.channels[channel].waiting.pop_front() {
            let id = self.served_by(next);
            let waited = self.schedule.now - self.commands.get(id).since;
            self.commands.charge(id, [Wait::Bus.index() as u8; 2], waited);
            self.grant_channel(channel, next);
        }
    }
}
