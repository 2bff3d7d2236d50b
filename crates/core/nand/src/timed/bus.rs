//! The channel of a die: data of one die at a time, and commands, where they take it.

use super::TimedFlash;
use super::schedule::Due;
use super::slab::{Kind, flag};
use crate::NIL;
use crate::part::CommandCycles;

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
            self.slab.at(id).since = self.schedule.now;
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
        self.slab.at(gang).since = self.schedule.now;
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
        let time = match self.slab.get(gang).kind {
            Kind::Read => self.read_ns(gang),
            Kind::Copyback => self.part.read_ns + self.part.program_ns,
            _ => self.part.erase_ns,
        };
        self.array_begins(index);
        self.schedule.arm(Due::Die(index), time);
    }

    #[inline]
    fn grant_channel(&mut self, channel: usize, entry: u32) {
        let time = if entry & COMMAND != 0 {
            self.part.command_ns
        } else {
            let slot = self.slab.get(self.dies[entry as usize].moving);
            match slot.kind {
                Kind::Read => self.read_transfer_ns[slot.sectors as usize],
                Kind::Gathered => self.part_transfer_ns,
                _ => self.page_transfer_ns,
            }
        };
        self.channels[channel].serving = entry;
        self.channel_begins(channel);
        let due = if self.cached { Due::Channel(channel) } else { Due::Die((entry & !COMMAND) as usize) };
        self.schedule.arm(due, time);
    }

    /// The channel of a die goes to the next one that waits.
    #[inline]
    pub(super) fn release_channel(&mut self, index: usize) {
        let channel = self.dies[index].channel as usize;
        self.channel_ends(channel, index);
        self.channels[channel].serving = NIL;
        if let Some(next) = self.channels[channel].waiting.pop_front() {
            let die = (next & !COMMAND) as usize;
            let id = if next & COMMAND != 0 { self.dies[die].array } else { self.dies[die].moving };
            let slot = self.slab.at(id);
            if slot.flags & flag::TRACED != 0 {
                let waited = self.schedule.now - slot.since;
                let first = slot.flags & flag::WAITED == 0;
                slot.flags |= flag::WAITED;
                self.traces[id as usize].charge_bus(waited, first);
            }
            self.grant_channel(channel, next);
        }
    }
}
