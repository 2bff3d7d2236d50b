//! Flash in virtual time: commands queue on dies, move over channels, and take the part's times.
//!
//! Faithful to: one command queue a die, one transfer at a time on a channel, page register held
//! until its transfer ends, data sheet times; the command laws of ARCHITECTURE.md.
//! Simplified: command cycles of reads and erases are charged to the die, not to the channel; a
//! channel serves its dies in order of asking; suspended commands resume when no read is queued.
//! The data of a failed program stays in the controller, which answers reads at once, until it is
//! placed again.
//! Protects: order within a block, pins before erases, completion-time contents.
//!
//! ```text
//!            ready?          turn in block?        die free?
//! issue --> Waiting -------> Parked ----------> Queued ------> Active ------> completed
//!            (edges)          (block list)       (die list)     array | transfer
//! ```

mod account;
mod channels;
mod chips;
mod commands;
mod dies;
mod finish;
mod gather;
mod issue;
mod observer;
mod ready;
mod schedule;
mod times;

use crate::NIL;
use crate::flash::Event;
use crate::part::{CommandOptions, Part};
use crate::state::{FlashState, Running};
use chips::Chips;
use commands::{Kind, Slot};
use gather::Gather;
use schedule::Due;
use units::{Nanos, Ppn};

pub use observer::{Blame, Choice, Closeup, Recorder, RecorderPlan, Served, Slice, Work};

/// Flash in virtual time: see the module description.
#[derive(Clone, Debug)]
pub struct TimedFlash {
    /// Cells, and the commands on their way to them.
    chips: Chips,
    /// Pages on their way into cells.
    gather: Gather,
    /// Reads of a page under way are answered from the controller.
    reads_in_flight: bool,
}

impl TimedFlash {
    /// Timed flash over a given state, with room for `timers` timers.
    pub fn new(mut state: FlashState, part: Part, options: CommandOptions, timers: u32) -> Self {
        let gather = Gather::new(&mut state, options.gather_pages, options.gather_forgets);
        Self { chips: Chips::new(state, part, options, timers), gather, reads_in_flight: options.read_in_flight }
    }

    /// The latest time of an event, ns (see [`engine::EventQueue::time_limit`]).
    pub fn time_limit(&self) -> Nanos {
        self.chips.schedule.time_limit()
    }

    /// Gives the state back; everything in progress is lost, so drain first.
    ///
    /// # Panics
    /// If commands are still in progress.
    pub fn into_state(mut self) -> FlashState {
        self.let_go();
        assert!(self.chips.commands.live == 0, "{} commands are still in progress", self.chips.commands.live);
        self.chips.state.memory.held = self.gather.held();
        self.chips.state.keep_clock(self.chips.schedule.now);
        self.chips.state.restart_clock();
        self.chips.state
    }

    /// Time each die has been busy so far, ns.
    pub fn die_busy_ns(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.chips.dies.busy_ns()
    }

    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan) {
        self.chips.observer.record(plan, self.chips.schedule.now);
    }

    /// What is being recorded, if anything is.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.chips.observer.recorder()
    }

    /// What was recorded; nothing more is.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        self.chips.observer.take_recording()
    }

    /// The state, for whoever owns the flash: the drive, and no layer.
    #[inline]
    pub fn state_mut(&mut self) -> &mut FlashState {
        &mut self.chips.state
    }

    /// Arms timer `timer` for `time`, or disarms it. [`Event::Timer`] tells that it fired.
    ///
    /// [`Event::Timer`]: crate::Event::Timer
    pub fn set_timer(&mut self, timer: u32, time: Option<Nanos>) {
        let due = Due::Timer(timer);
        match time {
            Some(time) => self.chips.schedule.arm(due, time.saturating_sub(self.chips.schedule.now)),
            None => self.chips.schedule.disarm(due),
        }
    }

    /// Whether an event is pending: a command on a die or channel, or a timer.
    pub fn is_pending(&mut self) -> bool {
        self.chips.schedule.is_pending()
    }

    /// Runs one event. `false`: nothing is pending.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(due) = self.chips.schedule.next() else { return false };
        match due {
            Due::Die(index) => {
                let ended = self.chips.die_is_due(index);
                self.complete_gang(ended);
            }
            Due::Channel(channel) => {
                let ended = self.chips.channel_is_due(channel);
                self.complete_gang(ended);
            }
            Due::Memory => self.end_next(),
            Due::Timer(timer) => {
                self.chips.state.keep_clock(self.chips.schedule.now);
                self.chips.state.events.push((0, Event::Timer { timer }));
            }
        }
        true
    }

    /// The members of a gang have done their work.
    #[inline]
    fn complete_gang(&mut self, gang: u32) {
        let mut id = gang;
        while id != NIL {
            let next = self.chips.commands.get(id).next;
            self.complete(id);
            id = next;
        }
    }

    /// Runs events until something must be told to a layer, or nothing is pending (`false`).
    #[inline]
    pub fn advance(&mut self) -> bool {
        while self.chips.state.events.is_empty() {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// What a power cut at this moment leaves (see [`FlashState::after_power_cut`]).
    #[must_use]
    pub fn power_cut(&self, stream: &mut engine::random::Stream) -> FlashState {
        let running: Vec<_> = self.chips.on_arrays().filter_map(|slot| self.what_runs(slot)).collect();
        let mut image = self.chips.state.power_cut(&running, self.gather.unsettled(), stream);
        image.keep_clock(self.chips.schedule.now);
        image.restart_clock();
        image
    }

    /// What a command does in cells as it runs.
    fn what_runs(&self, slot: &Slot) -> Option<Running> {
        let block = self.chips.block_of(slot.page);
        match slot.kind {
            Kind::Read => None,
            Kind::Gathered => Some(Running::Gathered(block, slot.held())),
            Kind::Program | Kind::Copyback => Some(Running::Program(Ppn(slot.page))),
            Kind::Erase => Some(Running::Erase(block)),
        }
    }
}
