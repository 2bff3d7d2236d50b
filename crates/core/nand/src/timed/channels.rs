//! Channels: data of one die at a time, and commands, where they take the channel.
//!
//! The number of a channel comes from a die or from the schedule, and the list of channels never changes its length.
//! The accessors rely on it and skip the bounds check. Debug and test builds check.

use crate::NIL;
use std::collections::VecDeque;

/// A die's turn on its channel: to move a page, or to be sent a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(u32);

impl Turn {
    const COMMAND: u32 = 1 << 31;
    const NOBODY: Turn = Turn(NIL);

    #[inline(always)]
    pub fn of_data(die: usize) -> Self {
        Turn(die as u32)
    }

    #[inline(always)]
    pub fn of_command(die: usize) -> Self {
        Turn(die as u32 | Self::COMMAND)
    }

    #[inline(always)]
    pub fn die(self) -> usize {
        (self.0 & !Self::COMMAND) as usize
    }

    #[inline(always)]
    pub fn is_command(self) -> bool {
        self.0 & Self::COMMAND != 0
    }
}

/// One channel: the die it serves and the dies that wait.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Channel {
    serving: Turn,
    waiting: VecDeque<Turn>,
}

#[derive(Clone, Debug)]
pub(super) struct Channels {
    all: Vec<Channel>,
    /// Commands go before data that waits.
    commands_first: bool,
}

impl Channels {
    pub fn new(channels: u32, dies: u32, commands_first: bool) -> Self {
        let waiting = || VecDeque::with_capacity(dies.max(4) as usize);
        let channel = |_| Channel { serving: Turn::NOBODY, waiting: waiting() };
        Self { all: (0..channels).map(channel).collect(), commands_first }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn get(&self, channel: usize) -> &Channel {
        debug_assert!(channel < self.all.len(), "channel {channel} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked(channel) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn at(&mut self, channel: usize) -> &mut Channel {
        debug_assert!(channel < self.all.len(), "channel {channel} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked_mut(channel) }
    }

    /// Whether a channel serves no die.
    #[inline(always)]
    pub fn is_free(&self, channel: usize) -> bool {
        self.get(channel).serving == Turn::NOBODY
    }

    /// Whose turn it is on a channel that is not free.
    #[inline(always)]
    pub fn serving(&self, channel: usize) -> Turn {
        debug_assert!(!self.is_free(channel), "channel {channel} serves nobody");
        self.get(channel).serving
    }

    /// A free channel serves a die from now on.
    #[inline(always)]
    pub fn serve(&mut self, channel: usize, turn: Turn) {
        debug_assert!(self.is_free(channel), "channel {channel} serves another die than {}", turn.die());
        self.at(channel).serving = turn;
    }

    /// A die waits for its turn.
    #[inline(always)]
    pub fn wait(&mut self, channel: usize, turn: Turn) {
        debug_assert!(!self.is_free(channel), "a die waits for the free channel {channel}");
        let commands_first = self.commands_first;
        let waiting = &mut self.at(channel).waiting;
        if turn.is_command() && commands_first {
            let commands = waiting.iter().take_while(|before| before.is_command()).count();
            waiting.insert(commands, turn);
        } else {
            waiting.push_back(turn);
        }
    }

    /// A channel is free; whose turn is next, if anyone waits.
    #[inline(always)]
    pub fn release(&mut self, channel: usize) -> Option<Turn> {
        let channel = self.at(channel);
        channel.serving = Turn::NOBODY;
        channel.waiting.pop_front()
    }
}
