//! Keys of the flash: shape, times, and the commands that interrupt or join others.

use super::presets::part_choices;
use layer::{Choices, Condition, IN_TIME, Parameter, ParameterKind as Kind, SIDE_BY_SIDE};
use nand::{CommandCycles, MultiPlane, SuspendOption};
use units::{Geometry, HOUR};

/// Most bytes of a flash page.
pub(crate) const MOST_PAGE: u64 = 32 << 10;

/// Whether nothing of a die runs between the commands of a collection.
pub(crate) const CLEANING: Choices<bool> = Choices {
    key: "flash.cleaning",
    table: &[
        ("interleaved", "other commands run between them, in order of arrival", false),
        ("uninterrupted", "other commands wait until the collection has ended, or waits for something else", true),
    ],
};
/// Where command and address cycles go.
pub(crate) const COMMAND_CYCLES: Choices<CommandCycles> = Choices {
    key: "flash.command_cycles",
    table: &[
        ("die", "the die: cycles of reads and erases do not take the channel", CommandCycles::Die),
        ("channel", "the channel, in the order in which dies ask for it", CommandCycles::Channel),
        ("channel-first", "the channel, before data that waits for it", CommandCycles::ChannelFirst),
    ],
};
/// The commands that a read may interrupt.
pub(crate) const SUSPEND: Choices<SuspendOption> = Choices {
    key: "flash.suspend",
    table: &[
        ("off", "none", SuspendOption::Off),
        ("erase", "an erase", SuspendOption::Erase),
        ("program-erase", "a program or an erase", SuspendOption::ProgramErase),
    ],
};
/// Which commands for different planes of a die start together.
pub(crate) const MULTI_PLANE: Choices<MultiPlane> = Choices {
    key: "flash.multi_plane",
    table: &[
        ("false", "none: a die has one command at a time", MultiPlane::Off),
        ("true", "all: reads, programs and erases", MultiPlane::All),
        (
            "host-reads",
            "reads of the host, at any pages of their planes; collection reads one page after another",
            MultiPlane::HostReads,
        ),
    ],
};
/// Whether only reads of the host go first and interrupt.
pub(crate) const URGENT: Choices<bool> = Choices {
    key: "flash.urgent_reads",
    table: &[
        ("all", "all reads", false),
        ("host", "reads of the host; reads of collection, folding and refresh wait in turn", true),
    ],
};

const SUSPENDS: Condition =
    Condition::one_of(SUSPEND.key, |_, name| SUSPEND.means(name, |what| what != SuspendOption::Off));

/// The key that gives other keys their defaults, and that nothing else reads.
pub(crate) const PART: &str = "flash.part";

/// Keys of every flash part and drive.
pub(super) const FLASH: &[Parameter] = &[
    Parameter::new(
        PART,
        Kind::Choice(part_choices),
        "fast-4k",
        "Flash part: gives the default of each flash key. `nandarium explain NAME` shows the figures of a part and \
         their sources. A key that you set yourself takes precedence.",
    ),
    Parameter::new(
        "flash.channels",
        Kind::Count { min: 1, max: 256 },
        "8",
        "Channels (buses) between the controller and the flash. More channels move more bytes a second.",
    )
    .example("16"),
    Parameter::new(
        "flash.dies_per_channel",
        Kind::Count { min: 1, max: 256 },
        "4",
        "Dies behind each channel, over all its chips. More dies work on more commands at once, and share the \
         channel for their transfers.",
    )
    .example("8"),
    Parameter::new(
        "flash.planes_per_die",
        Kind::Count { min: 1, max: 16 },
        "1",
        "Planes of a die. Set flash.multi_plane as well if planes are to work at the same time, or \
         flash.planes_as_one if they are to work as one.",
    )
    .example("2"),
    Parameter::new(
        "flash.page_size",
        Kind::Size { min: 512, max: MOST_PAGE },
        "4KiB",
        "Bytes of a flash page, 16KiB on most drives of today. Page-level mappings map whole pages unless ftl.unit \
         is smaller.",
    )
    .example("16KiB"),
    Parameter::new(
        "flash.pages_per_block",
        Kind::Count { min: 2, max: Geometry::PAGES_PER_BLOCK_MAX },
        "256",
        "Pages of an erase block. With larger blocks garbage collection moves more pages for each block that it frees.",
    )
    .example("512"),
    Parameter::new(
        "flash.read_time",
        Kind::Duration { max: HOUR },
        "25us",
        "Time in which the flash array reads a page (tR), without the transfer over the channel. Built-in parts \
         have 3us (Z-NAND), 25us (SLC), 40us to 60us (TLC).",
    )
    .example("60us")
    .time(),
    Parameter::new(
        "flash.program_time",
        Kind::Duration { max: HOUR },
        "200us",
        "Time in which the flash array programs a page (tPROG), without the transfer over the channel. Built-in \
         parts have 200us (SLC), 700us to 2100us (TLC), 2500us (QLC).",
    )
    .example("700us")
    .time(),
    Parameter::new(
        "flash.erase_time",
        Kind::Duration { max: HOUR },
        "1500us",
        "Time in which the flash array erases a block (tBERS). Built-in parts have 1ms to 10ms.",
    )
    .example("3500us")
    .time(),
    Parameter::new(
        "flash.bus_bandwidth",
        Kind::Rate,
        "unlimited",
        "Bytes a second that a channel moves, for example 800MB/s.",
    )
    .example("800MB/s")
    .time(),
    Parameter::new(
        "flash.command_overhead",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time of the command and address cycles of one flash command. It matters for many small reads, for example \
         200ns.",
    )
    .example("200ns")
    .time(),
    Parameter::new(
        COMMAND_CYCLES.key,
        Kind::Choice(|| COMMAND_CYCLES.named()),
        "die",
        "The resource that the cycles of flash.command_overhead keep busy. The cycles of a program always go with its \
         data.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "flash.endurance",
        Kind::Count { min: 0, max: u32::MAX as u64 },
        "0",
        "Erases that a block survives, for example 3000 for TLC; 0: blocks never wear out. From the time at which the \
         first block is worn out, a page-level mapping keeps one more erased block in each plane (with coded zones: \
         in each segment) that has room for it, because any block can fail. With a flash.fault chance above 0 the \
         mapping does so from the beginning. Where planes have few spare blocks, this raises write amplification.",
    )
    .example("3000"),
    Parameter::new(
        MULTI_PLANE.key,
        Kind::Choice(|| MULTI_PLANE.named()),
        "false",
        "Which queued commands of one kind for different planes of a die start together. The die is free for other \
         commands when the last of them has ended.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "flash.cache_read",
        Kind::Switch,
        "false",
        "Read the next page while the channel transfers the page before it (cache read). Makes sequential reads of a \
         die faster.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "flash.cache_program",
        Kind::Switch,
        "false",
        "Transfer the next page while the flash array programs the page before it (cache program). Makes sequential \
         writes of a die faster.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "flash.read_priority",
        Kind::Switch,
        "false",
        "Queued reads go before queued programs and erases of their die. Lowers read latency under writes.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        URGENT.key,
        Kind::Choice(|| URGENT.named()),
        "all",
        "Which reads go before queued programs and erases (flash.read_priority) and interrupt running programs and \
         erases (flash.suspend).",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        CLEANING.key,
        Kind::Choice(|| CLEANING.named()),
        "interleaved",
        "Whether other commands of a die may run between the commands of a collection or merge.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        SUSPEND.key,
        Kind::Choice(|| SUSPEND.named()),
        "off",
        "The commands that a read may interrupt (suspend). All names but off imply flash.read_priority. Suspending \
         lowers the tail latency of reads, and makes programs and erases longer.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "flash.suspend_time",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time that each interruption adds to the interrupted program or erase: the flash has to stop and to resume.",
    )
    .example("40us")
    .only(SUSPENDS),
    Parameter::new(
        "flash.suspend_step",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time between the moments at which a program or erase can be interrupted, as between the pulses of a program. \
         0ns: a read can interrupt at any moment.",
    )
    .example("100us")
    .only(SUSPENDS),
    Parameter::new(
        "flash.suspend_end",
        Kind::Duration { max: HOUR },
        "0ns",
        "A program or erase that ends within this time is not interrupted: a read waits for its end. Most reads wait \
         at most flash.suspend_step, the rest at most this time.",
    )
    .example("300us")
    .only(SUSPENDS),
    Parameter::new(
        "flash.suspend_limit",
        Kind::Count { min: 1, max: 255 },
        "8",
        "How often one program or erase is interrupted at most. After that many interruptions it runs to its end.",
    )
    .example("4")
    .only(SUSPENDS),
    Parameter::new(
        "flash.read_in_flight",
        Kind::Switch,
        "false",
        "Answer a read of a page that is still being programmed from the controller's buffer. Otherwise the read \
         waits until the page is on flash.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
];
