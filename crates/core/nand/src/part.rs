//! The abilities of a flash part and their times.

use serde::{Deserialize, Serialize};
use units::{Geometry, Nanos};

/// Timing and endurance of a flash part, from its data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Array read time of a page (tR), ns.
    pub read_ns: Nanos,
    /// Array program time of a page (tPROG), ns.
    pub program_ns: Nanos,
    /// Erase time of a block (tBERS), ns.
    pub erase_ns: Nanos,
    /// Bytes per second over the channel between controller and page register; 0 means the
    /// transfer takes no time and the channel is never busy.
    pub bus_bytes_per_second: u64,
    /// Bytes of a physical page. Pages that are programmed together move over the channel in parts of this size.
    pub page_bytes: u32,
    /// Planes of a die whose blocks are used as one: physical pages of a block are in turn in each of them.
    pub planes_as_one: u32,
    /// Channels that move parts of a page side by side, where chips act as one (1: none do), and the bytes of such a
    /// part.
    pub side_by_side: (u64, u64),
    /// Command and address cycles of one command, ns. Charged to the channel with the data of a
    /// program, to the die for a read or an erase.
    pub command_ns: Nanos,
    /// Read times of the pages of a word line where they differ; `read_ns` is their average then.
    pub page_read_ns: Option<PageTimes>,
    /// Program times, the same.
    pub page_program_ns: Option<PageTimes>,
    /// Array time of the first of two passes, where cells are programmed in two: the other one, which takes
    /// `program_ns`, follows when the next word line has had its first.
    pub first_pass_ns: Option<Nanos>,
    /// Times of pages with one bit a cell, where blocks may be used so.
    pub slc: Option<SlcTimes>,
    /// Erases a block survives; 0 means it never wears out.
    pub endurance: u32,
}

/// Times of a block that is programmed with one bit a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcTimes {
    /// Array read time of a page, ns.
    pub read_ns: Nanos,
    /// Array program time of a page, in all planes that are one, ns.
    pub program_ns: Nanos,
}

/// Most pages of a word line.
pub const PAGE_TYPES: usize = 5;

/// Times of the pages of a word line, lower page first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    times: [Nanos; PAGE_TYPES],
    pages: u32,
    /// Pages of a block whose word lines are programmed in a staircase; 0: one after the other.
    staircase: u32,
}

impl PageTimes {
    /// One time for each page, ns. `None`: none, or more than [`PAGE_TYPES`].
    pub fn new(times: &[Nanos]) -> Option<Self> {
        let mut all = [0; PAGE_TYPES];
        all.get_mut(..times.len())?.copy_from_slice(times);
        (!times.is_empty()).then_some(Self { times: all, pages: times.len() as u32, staircase: 0 })
    }

    /// The same for blocks of so many pages in which each page of a word line is programmed when the one before it of
    /// the next word line is: lower 0, lower 1, middle 0, lower 2, middle 1, upper 0, lower 3, and so on. A page is
    /// disturbed less by its neighbours then.
    #[must_use]
    pub fn in_staircase(self, pages_per_block: u32) -> Self {
        Self { staircase: pages_per_block, ..self }
    }

    /// Which page of its word line the one at `position` of its block is, lower page first.
    #[inline]
    fn place(&self, position: u32) -> u32 {
        let steps = self.pages * (self.pages - 1) / 2;
        match self.staircase {
            0 => position % self.pages,
            // The first word lines, and the last ones the other way round, are not beside all others yet.
            _ if position < steps => Self::first_step(position),
            all if position >= all - steps => self.pages - 1 - Self::first_step(all - 1 - position),
            _ => (position - steps) % self.pages,
        }
    }

    /// Steps have one page, two, three, and so on.
    fn first_step(position: u32) -> u32 {
        let (mut step, mut left) = (1, position);
        while left >= step {
            left -= step;
            step += 1;
        }
        left
    }

    /// Pages of a word line.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Time of the physical page at `position` of its block, planes that are one counted once, ns.
    #[inline]
    pub fn at(&self, position: u32) -> Nanos {
        self.times[self.place(position) as usize]
    }

    /// Mean time of the pages of a block, ns.
    pub fn mean(&self) -> Nanos {
        self.times.iter().sum::<Nanos>() / Nanos::from(self.pages)
    }
}

/// When a read may interrupt a running program or erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuspendOption {
    /// Nothing is suspended.
    #[default]
    Off,
    /// Only erases are suspended.
    Erase,
    /// A program or an erase.
    ProgramErase,
}

/// Which queued commands of one kind for different planes of a die start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MultiPlane {
    /// None: each takes the whole die.
    #[default]
    Off,
    /// Reads of the host, whatever pages they are for.
    HostReads,
    /// All.
    All,
}

/// Where command and address cycles of reads and erases go; the cycles of a program go with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CommandCycles {
    /// They take their die, and leave the channel free.
    #[default]
    Die,
    /// They take the channel when it is their turn.
    Channel,
    /// They take the channel before data that waits for it.
    ChannelFirst,
}

/// Optional commands of a part and how its queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandOptions {
    /// Which queued commands for different planes of a die start together.
    pub multi_plane: MultiPlane,
    /// The next page is read into the array register while the last one is transferred.
    pub cache_read: bool,
    /// The next page is transferred while the last one is programmed.
    pub cache_program: bool,
    /// Queued reads go before queued programs and erases of their die.
    pub read_priority: bool,
    /// Only reads of the host go first and interrupt: reads of collection, folding and refresh wait in turn.
    pub host_reads_first: bool,
    /// Whether a read interrupts a running program or erase.
    pub suspend: SuspendOption,
    /// Time to suspend plus time to resume, ns; added once to the interrupted command.
    pub suspend_ns: Nanos,
    /// Time between the moments at which a program or erase can be interrupted, ns, from its begin on; 0: at any
    /// moment.
    pub suspend_step_ns: Nanos,
    /// Last part of a program or erase, ns, in which it is not interrupted any more.
    pub suspend_end_ns: Nanos,
    /// Times that one program or erase is interrupted at most; after that it runs to its end.
    pub suspend_limit: u8,
    /// A collection or merge that has begun on a die goes before all else there; without it the die takes commands as
    /// they come.
    pub uninterrupted: bool,
    /// A read of a page whose program is still under way is answered from the controller's
    /// buffer instead of waiting for the flash.
    pub read_in_flight: bool,
    /// A read of the host waits behind pages that wait for the controller's memory.
    pub reads_in_order: bool,
    /// Where command and address cycles go.
    pub command_cycles: CommandCycles,
    /// The waiting times of their commands are told with operations.
    pub tells_waits: bool,
    /// Pages that the controller's memory holds on their way into cells, where several are programmed together.
    pub gather_pages: u32,
    /// A power cut takes what that memory holds.
    pub gather_forgets: bool,
}

/// No optional command, and nothing is interrupted.
impl Default for CommandOptions {
    fn default() -> Self {
        Self {
            multi_plane: MultiPlane::Off,
            cache_read: false,
            cache_program: false,
            read_priority: false,
            host_reads_first: false,
            suspend: SuspendOption::Off,
            suspend_ns: 0,
            suspend_step_ns: 0,
            suspend_end_ns: 0,
            suspend_limit: 8,
            uninterrupted: false,
            read_in_flight: false,
            reads_in_order: false,
            command_cycles: CommandCycles::Die,
            tells_waits: true,
            gather_pages: 0,
            gather_forgets: false,
        }
    }
}

impl Part {
    /// Parts in which the pages of a program move over the channel.
    pub(crate) fn parts(&self, geometry: &Geometry) -> u8 {
        let bytes = geometry.pages_per_program() * geometry.page_bytes;
        u8::try_from(bytes.div_ceil(self.page_bytes)).expect("a program has few physical pages")
    }

    /// Time to move `bytes` from the beginning of a page over the channel, ns, rounded up.
    pub fn transfer_ns(&self, bytes: u64) -> Nanos {
        let (channels, part) = self.side_by_side;
        // Parts go round the channels, so the first has the most.
        let longest = if channels == 1 { bytes } else { bytes.min(bytes.div_ceil(part).div_ceil(channels) * part) };
        match self.bus_bytes_per_second {
            0 => 0,
            rate => (longest * 1_000_000_000).div_ceil(rate),
        }
    }
}
