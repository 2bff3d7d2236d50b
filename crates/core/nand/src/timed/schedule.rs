//! The clock, and the events that are due. Of events due at one moment, dies come first, then channels, memory and
//! timers, each kind by its number.

use super::trouble::Troubles;
use engine::EventQueue;
use units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The array or the transfer of a die.
    Die(usize),
    /// The transfer of a channel, where that is not its die's event.
    Channel(usize),
    /// A command that needs nothing but memory.
    Memory,
    /// A timer of the drive.
    Timer(u32),
}

/// A place in the order of events: its time, and within that the number of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub time: Nanos,
    pub number: u32,
}

/// The clock, and the moments to come.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// Simulated time, ns.
    pub now: Nanos,
    queue: EventQueue,
    /// Event numbers of dies come before, those of channels begin here.
    dies: u32,
    /// Event number of memory; those of timers follow.
    memory: u32,
    /// Dies that answer late on command.
    pub troubles: Troubles,
}

impl Schedule {
    pub fn new(dies: u32, channels: u32, timers: u32) -> Self {
        let memory = dies + channels;
        let queue = EventQueue::new((memory + 1 + timers) as usize);
        Self { now: 0, queue, dies, memory, troubles: Troubles::default() }
    }

    /// The latest time of an event, ns (see [`EventQueue::time_limit`]).
    pub fn time_limit(&self) -> Nanos {
        self.queue.time_limit()
    }

    #[inline(always)]
    fn number(&self, due: Due) -> u32 {
        match due {
            Due::Die(die) => die as u32,
            Due::Channel(channel) => self.dies + channel as u32,
            Due::Memory => self.memory,
            Due::Timer(timer) => self.memory + 1 + timer,
        }
    }

    /// The events up to here have happened.
    #[inline(always)]
    pub fn moment(&self) -> Moment {
        let (time, number) = self.queue.latest();
        Moment { time, number }
    }

    /// The moment at which a die is due in `time` from now.
    #[inline(always)]
    pub fn moment_of(&self, die: usize, time: Nanos) -> Moment {
        Moment { time: self.now + time, number: die as u32 }
    }

    /// Something is due in `time` from now.
    #[inline(always)]
    pub fn arm(&mut self, due: Due, time: Nanos) {
        self.queue.arm(self.number(due), self.now + time);
    }

    /// Something is not due any more.
    #[inline(always)]
    pub fn disarm(&mut self, due: Due) {
        self.queue.disarm(self.number(due));
    }

    /// In what time from now something is due.
    #[inline(always)]
    pub fn left(&self, due: Due) -> Option<Nanos> {
        self.queue.armed(self.number(due)).map(|time| time - self.now)
    }

    /// Whether anything is due.
    pub fn is_pending(&mut self) -> bool {
        self.queue.peek().is_some()
    }

    /// The clock goes on to the next event.
    #[inline]
    pub fn next(&mut self) -> Option<Due> {
        let (time, number) = self.queue.pop()?;
        debug_assert!(time >= self.now, "time ran backwards from {} to {time}", self.now);
        self.now = time;
        Some(match number {
            die if die < self.dies => Due::Die(die as usize),
            channel if channel < self.memory => Due::Channel((channel - self.dies) as usize),
            memory if memory == self.memory => Due::Memory,
            timer => Due::Timer(timer - self.memory - 1),
        })
    }
}
