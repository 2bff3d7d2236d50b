//! Flash in virtual time: commands queue on dies, move over channels, and take the part's times.
//!
//! Faithful to: three queues a die (programs, urgent reads, a collection that goes on), one transfer at a time on a
//! channel, page register held until its transfer ends, data sheet times; the command laws of ARCHITECTURE.md.
//! Simplified: unless `flash.command_cycles` says otherwise, command cycles of reads and erases are charged to the die
//! and not to the channel, and a channel serves its dies in order of asking; suspended commands resume when no read is
//! queued.
//! The data of a failed program stays in the controller, which answers reads at once, until it is
//! placed again.
//! Protects: order within a block, pins before erases, completion-time contents.
//!
//! ```text
//!            ready?          turn in block?        die free?
//! issue --> Waiting -------> Parked ----------> Queued ------> Active ------> completed
//!            (edges)          (block list)       (die list)     array | transfer
//! ```
//!
//! Owners, each in one file; calls go downward, and ended commands are handed back:
//!
//! ```text
//! TimedFlash    what layers ask and hear (issue.rs)
//!  Controller   the life of a command, failed programs
//!   Gather      memory for pages on their way into cells
//!   Chips       arrays and transfers: queues, gangs, suspension
//!    Commands   slots, what each has waited for, joins, barriers
//!    Dies, Channels, Times, Tickets, Schedule, Observer
//! ```

mod account;
mod backlog;
mod barriers;
mod booked;
mod channels;
mod chips;
mod commands;
mod controller;
mod copies;
mod dies;
mod gangs;
mod gather;
mod issue;
mod observer;
mod parked;
mod programs;
mod schedule;
mod tickets;
mod times;
mod trouble;

use crate::NIL;
use crate::flash::Event;
use crate::part::{CommandOptions, Part};
use crate::state::FlashState;
use chips::Chips;
use controller::Controller;
use gather::Gather;
use schedule::Due;
use units::Nanos;

pub use observer::{Blame, Choice, Closeup, Recorder, RecorderPlan, Served, Slice, Work};
pub use trouble::{DieTrouble, Window};

/// Flash in virtual time: see the module description.
#[derive(Clone, Debug)]
pub struct TimedFlash {
    controller: Controller,
}

impl TimedFlash {
    /// Timed flash over a given state, with room for `timers` timers.
    pub fn new(mut state: FlashState, part: Part, options: CommandOptions, timers: u32) -> Self {
        let gather = Gather::new(&mut state, options.gather_pages, options.gather_forgets);
        let (reads_in_flight, reads_in_order) = (options.read_in_flight, options.reads_in_order);
        let chips = Chips::new(state, part, options, timers);
        Self { controller: Controller { chips, gather, reads_in_flight, reads_in_order } }
    }

    /// The latest time of an event, ns (see [`engine::EventQueue::time_limit`]).
    pub fn time_limit(&self) -> Nanos {
        self.controller.chips.schedule.time_limit()
    }

    /// Gives the state back; everything in progress is lost, so drain first.
    ///
    /// # Panics
    /// If commands are still in progress.
    pub fn into_state(mut self) -> FlashState {
        self.controller.let_go();
        let Controller { chips: Chips { mut state, commands, schedule, .. }, gather, .. } = self.controller;
        assert!(commands.live == 0, "{} commands are still in progress", commands.live);
        state.memory.held = gather.held();
        state.ageing.keep_clock(schedule.now);
        state.ageing.restart_clock();
        state
    }

    /// Time each die has been busy so far, ns.
    pub fn die_busy_ns(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.controller.chips.dies.busy_ns()
    }

    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan) {
        self.controller.chips.record(plan);
    }

    /// The present recording, if there is one.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.controller.chips.recorder()
    }

    /// Takes the record; recording ends.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        self.controller.chips.take_recording()
    }

    /// The state, for whoever owns the flash: the drive, and no layer.
    #[inline]
    pub fn state_mut(&mut self) -> &mut FlashState {
        &mut self.controller.chips.state
    }

    /// Arms timer `timer` for `time`, or disarms it. [`Event::Timer`] tells that it fired.
    ///
    /// [`Event::Timer`]: crate::Event::Timer
    pub fn set_timer(&mut self, timer: u32, time: Option<Nanos>) {
        let (due, schedule) = (Due::Timer(timer), &mut self.controller.chips.schedule);
        match time {
            Some(time) => schedule.arm(due, time.saturating_sub(schedule.now)),
            None => schedule.disarm(due),
        }
    }

    /// From now on these dies answer late. `before`: the time of their clock at which the clock of the flash began, ns.
    pub fn set_troubles(&mut self, before: Nanos, all: Vec<DieTrouble>) {
        self.controller.chips.set_troubles(before, all);
    }

    /// The dies that answer late, with the commands that were delayed.
    pub fn troubles(&self) -> &[DieTrouble] {
        &self.controller.chips.schedule.troubles.all
    }

    /// Whether an event is pending: a command on a die or channel, or a timer.
    pub fn is_pending(&mut self) -> bool {
        self.controller.chips.schedule.is_pending()
    }

    /// Runs one event. `false`: nothing is pending.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(due) = self.controller.chips.schedule.next() else { return false };
        let ended = match due {
            Due::Die(index) => self.controller.chips.die_is_due(index),
            Due::Channel(channel) => self.controller.chips.channel_is_due(channel),
            Due::Memory => {
                self.controller.end_next();
                NIL
            }
            Due::Timer(timer) => {
                let state = &mut self.controller.chips.state;
                state.ageing.keep_clock(self.controller.chips.schedule.now);
                state.events.push((0, Event::Timer { timer }));
                NIL
            }
        };
        self.controller.complete_gang(ended);
        true
    }

    /// Runs events until something must be told to a layer, or nothing is pending (`false`).
    #[inline]
    pub fn advance(&mut self) -> bool {
        while self.controller.chips.state.events.is_empty() {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// The remains of a power cut at this moment (see [`FlashState::after_power_cut`]).
    #[must_use]
    pub fn power_cut(&self, stream: &mut engine::random::Stream) -> FlashState {
        let Controller { chips, gather, .. } = &self.controller;
        let mut image = chips.state.power_cut(&chips.running(), gather.unsettled(), stream);
        image.ageing.keep_clock(chips.schedule.now);
        image.ageing.restart_clock();
        image
    }
}
