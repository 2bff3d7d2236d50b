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
mod bus;
mod commands;
mod die;
mod finish;
mod gangs;
mod gather;
mod issue;
mod observer;
mod ready;
mod retry;
mod schedule;
mod step;

use crate::part::{CommandOptions, Part};
use crate::state::{FlashState, Running};
use account::Meter;
use commands::{Commands, Kind, Slot};
use die::{Channel, Die};
use gather::Gather;
use observer::Observer;
use schedule::{Due, Schedule};
use units::{Nanos, Ppn, SECTOR_BYTES};

pub use observer::{Blame, Choice, Closeup, Recorder, RecorderPlan, Served, Slice, Work};

/// Most sectors of a page.
const SECTORS_MAX: usize = 64;

/// Flash in virtual time: see the module description.
#[derive(Clone, Debug)]
pub struct TimedFlash {
    state: FlashState,
    part: Part,
    /// The times commands take when they take any.
    paid: Part,
    options: CommandOptions,
    /// Whether reads go first, and whether those of cleaning do.
    urgent: [bool; 2],
    /// Array and transfer of a die can overlap; otherwise the die's event slot serves both.
    cached: bool,
    /// Queued commands may begin together.
    gangs: bool,
    schedule: Schedule,
    commands: Commands,
    dies: Vec<Die>,
    meters: Vec<Meter>,
    channels: Vec<Channel>,
    gather: Gather,
    observer: Observer,
    page_transfer_ns: Nanos,
    /// What an array takes depends on the page.
    times_vary: bool,
    /// Parts in which gathered pages move over the channel, and the time of one.
    parts: u8,
    slc_parts: u8,
    /// Pages of a physical page, as a power of two.
    units_shift: u32,
    part_transfer_ns: Nanos,
    /// Transfer time of a read by sectors moved: a division less for each.
    read_transfer_ns: [Nanos; SECTORS_MAX + 1],
}

impl TimedFlash {
    /// Timed flash over a given state, with room for `timers` timers.
    pub fn new(mut state: FlashState, part: Part, options: CommandOptions, timers: u32) -> Self {
        let geometry = state.geometry;
        let dies = geometry.dies();
        let reads_first = options.read_priority || options.suspend != crate::SuspendOption::Off;
        let urgent = [reads_first, reads_first && !options.host_reads_first];
        let cached = options.cache_read || options.cache_program;
        let mut flash = Self {
            part,
            paid: part,
            options,
            urgent,
            cached,
            gangs: options.multi_plane && geometry.planes_per_die * part.planes_as_one > 1
                || part.page_bytes > geometry.page_bytes,
            schedule: Schedule::new(dies, if cached { geometry.channels } else { 0 }, timers),
            commands: Commands::new(options.tells_waits),
            dies: (0..dies).map(|die| Die::new(geometry.channel_of(units::DieId(die)).0)).collect(),
            meters: vec![Meter::new(); dies as usize],
            channels: vec![Channel::new(geometry.dies_per_channel as usize); geometry.channels as usize],
            gather: Gather::new(&mut state, options.gather_pages, options.gather_forgets),
            observer: Observer::new(dies, geometry.channels),
            read_transfer_ns: [0; SECTORS_MAX + 1],
            page_transfer_ns: 0,
            times_vary: false,
            parts: part.parts(&geometry),
            slc_parts: (part.parts(&geometry) / state.slc_bits() as u8).max(1),
            units_shift: (part.page_bytes / geometry.page_bytes).max(1).trailing_zeros(),
            part_transfer_ns: 0,
            state,
        };
        flash.set_part(part);
        flash
    }

    /// Commands take the times of `part` from now on.
    fn set_part(&mut self, part: Part) {
        self.part = part;
        self.times_vary = part.page_read_ns.is_some()
            || part.page_program_ns.is_some()
            || part.slc.is_some()
            || part.first_pass_ns.is_some();
        self.read_transfer_ns = std::array::from_fn(|sectors| part.transfer_ns(sectors as u64 * SECTOR_BYTES));
        self.page_transfer_ns = part.transfer_ns(u64::from(self.state.geometry.page_bytes)) + part.command_ns;
        self.part_transfer_ns = part.transfer_ns(u64::from(part.page_bytes)) + part.command_ns;
    }

    /// The latest time of an event, ns (see [`engine::EventQueue::time_limit`]).
    pub fn time_limit(&self) -> Nanos {
        self.schedule.time_limit()
    }

    /// Gives the state back; everything in progress is lost, so drain first.
    ///
    /// # Panics
    /// If commands are still in progress.
    pub fn into_state(mut self) -> FlashState {
        self.let_go();
        assert!(self.commands.live == 0, "{} commands are still in progress", self.commands.live);
        self.state.memory.held = self.gather.held();
        self.state.keep_clock(self.schedule.now);
        self.state.restart_clock();
        self.state
    }

    /// Time each die has been busy so far, ns.
    pub fn die_busy_ns(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.meters.iter().map(Meter::total)
    }

    /// Records from now on.
    pub fn record(&mut self, plan: RecorderPlan) {
        self.observer.record(plan, self.schedule.now);
    }

    /// What is being recorded, if anything is.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        self.observer.recorder()
    }

    /// What was recorded; nothing more is.
    pub fn take_recording(&mut self) -> Option<Box<Recorder>> {
        self.observer.take_recording()
    }

    /// The state, for whoever owns the flash: the drive, and no layer.
    #[inline]
    pub fn state_mut(&mut self) -> &mut FlashState {
        &mut self.state
    }

    /// Arms timer `timer` for `time`, or disarms it. [`Event::Timer`] tells that it fired.
    ///
    /// [`Event::Timer`]: crate::Event::Timer
    pub fn set_timer(&mut self, timer: u32, time: Option<Nanos>) {
        let due = Due::Timer(timer);
        match time {
            Some(time) => self.schedule.arm(due, time.saturating_sub(self.schedule.now)),
            None => self.schedule.disarm(due),
        }
    }

    /// Whether an event is pending: a command on a die or channel, or a timer.
    pub fn is_pending(&mut self) -> bool {
        self.schedule.is_pending()
    }

    /// Runs one event. `false`: nothing is pending.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(due) = self.schedule.next() else { return false };
        self.handle(due);
        true
    }

    /// Runs events until something must be told to a layer, or nothing is pending (`false`).
    #[inline]
    pub fn advance(&mut self) -> bool {
        while self.state.events.is_empty() {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// What a power cut at this moment leaves (see [`FlashState::after_power_cut`]).
    #[must_use]
    pub fn power_cut(&self, stream: &mut engine::random::Stream) -> FlashState {
        let running: Vec<_> = self.on_dies().filter_map(|slot| self.what_runs(slot)).collect();
        let mut image = self.state.after_power_cut(&running, stream);
        image.keep_clock(self.schedule.now);
        image.restart_clock();
        if !self.gather.forgets() {
            image.memory.held = self.gather.held();
            return image;
        }
        image.memory.held = vec![0; self.state.blocks().len()];
        let gathered = self.on_dies().filter(|slot| slot.kind == Kind::Gathered);
        let under_way: Vec<_> = gathered.map(|slot| (self.block_of(slot.page), slot.held())).collect();
        for (block, in_cells) in self.gather.unsettled() {
            let torn = under_way.iter().find(|(of, _)| *of == block).map(|(_, pages)| *pages);
            // A page at which a program failed is neither programmed nor erased, nor are those before it.
            let failed = self.state.block(block).has_failed() && !self.state.block(block).is_bad();
            let torn = match torn {
                _ if failed => image.block(block).done.into(),
                Some(pages) if stream.chance(0.5) => pages,
                _ => 0,
            };
            image.take_back(block, in_cells, torn);
        }
        image
    }

    /// Commands that arrays work on, or were interrupted at.
    fn on_dies(&self) -> impl Iterator<Item = &Slot> {
        let gangs = self.dies.iter().flat_map(|die| [die.array, die.suspended]);
        gangs.flat_map(|gang| self.commands.chain(gang)).map(|id| self.commands.get(id))
    }

    /// What of a command is in its cells as it runs. Pages that were gathered are in memory until it has ended.
    fn what_runs(&self, slot: &Slot) -> Option<Running> {
        match slot.kind {
            Kind::Read | Kind::Gathered => None,
            Kind::Program | Kind::Copyback => Some(Running::Program(Ppn(slot.page))),
            Kind::Erase => Some(Running::Erase(self.block_of(slot.page))),
        }
    }
}
