//! Every configuration key: the drive's own, and those the tables of layers and policies declare.

use super::presets::part_choices;
use layer::{Choices, Named, Parameter, ParameterKind as Kind};
use nand::{ContentsKind, SuspendOption};
use units::HOUR;

const PRECONDITIONS: [Named; 5] = [
    ("auto", "overwrite where the workload writes, fill where it only reads"),
    ("none", "erased: nothing was ever written"),
    ("fill", "written once, in order"),
    ("overwrite", "as fill, then random page writes of twice the capacity"),
    (
        "steady",
        "as overwrite, then the workload itself in rounds until write amplification is steady; exit code 4 if it does \
         not become so",
    ),
];
/// Whether commands take time.
pub(crate) const TIME: Choices<bool> = Choices {
    key: "engine.time",
    table: &[
        ("none", "commands complete at once and are only counted", false),
        ("virtual", "discrete events in integer nanoseconds", true),
    ],
};
/// How requests share the drive: whether one at a time holds all of it.
pub(crate) const SERVICE: Choices<bool> = Choices {
    key: "engine.service",
    table: &[
        ("parallel", "dies and channels work side by side", false),
        (
            "serial",
            "the drive is a single server, one request at a time in order of arrival; each holds it for the sum of the \
             times of all flash commands it causes, collection and mapping included, so response = waiting for the \
             server + service. A host link takes no time then, and idle time starts no work",
            true,
        ),
    ],
};
/// What pages hold.
pub(crate) const CONTENTS: Choices<ContentsKind> = Choices {
    key: "engine.contents",
    table: &[
        ("none", "nothing", ContentsKind::None),
        ("stamp", "a version stamp a sector, with which every read is checked", ContentsKind::Stamp),
        ("bytes", "the bytes of every sector, with memory for blocks that hold something", ContentsKind::Bytes),
    ],
};
/// Whether nothing of a die runs between the commands of a collection.
pub(crate) const CLEANING: Choices<bool> = Choices {
    key: "flash.cleaning",
    table: &[
        ("interleaved", "they may, in order of arrival", false),
        ("uninterrupted", "not before it has ended or waits for something else", true),
    ],
};
/// What a read may interrupt.
pub(crate) const SUSPEND: Choices<SuspendOption> = Choices {
    key: "flash.suspend",
    table: &[
        ("off", "nothing", SuspendOption::Off),
        ("erase", "an erase", SuspendOption::Erase),
        ("program-erase", "a program or an erase", SuspendOption::ProgramErase),
    ],
};
const LOOPS: [Named; 3] = [
    ("auto", "open for traces, closed for generators"),
    ("open", "requests arrive at their own time"),
    ("closed", "workload.queue_depth requests are always under way, and their times are ignored"),
];
const FITS: [Named; 5] = [
    (
        "auto",
        "the drive is made as large as the trace needs; if drive.capacity is given, or the trace reaches beyond 64 GiB \
         and touches less than a quarter of that, regions of 1 MiB beyond the drive move to free places on it",
    ),
    ("error", "the trace is refused"),
    ("modulo", "they wrap around"),
    ("compact", "the regions that are touched are packed together"),
    ("scale", "all addresses shrink in the same proportion"),
];
const ORDERS: [Named; 3] = [
    ("error", "the trace is refused"),
    ("clamp", "the request arrives with the one before"),
    ("sort", "requests are sorted within a window"),
];

const DRIVE: &[Parameter] = &[
    Parameter::new(
        "drive.capacity",
        Kind::Size { min: 1 << 12, max: 1 << 43 },
        "8GiB",
        "Bytes the user sees; a whole number of flash pages.",
    ),
    Parameter::new(
        "drive.over_provisioning",
        Kind::Share { max: 10.0 },
        "15%",
        "Spare flash as a share of the user's bytes: (physical - user) / user; rounded up to whole blocks in each \
         plane.",
    ),
    Parameter::new(
        "drive.precondition",
        Kind::Choice(|| PRECONDITIONS.to_vec()),
        "auto",
        "State of the drive before the measured run.",
    ),
    Parameter::new(
        "drive.fill",
        Kind::Share { max: 1.0 },
        "100%",
        "Share of the drive that drive.precondition writes, in stretches of 256 pages evenly spread over it; the rest \
         stays unwritten, which leaves cleaning more room.",
    ),
    Parameter::new(TIME.key, Kind::Choice(|| TIME.named()), "virtual", "Whether commands take time."),
    Parameter::new(SERVICE.key, Kind::Choice(|| SERVICE.named()), "parallel", "How requests share virtual time."),
    Parameter::new(CONTENTS.key, Kind::Choice(|| CONTENTS.named()), "none", "What pages hold."),
    Parameter::new(
        "engine.seed",
        Kind::Count { min: 0, max: u64::MAX },
        "1",
        "Seed of the drive's own random streams (victim choice, faults).",
    ),
    Parameter::new(
        "host.link_bandwidth",
        Kind::Rate,
        "unlimited",
        "Bytes a second the host link moves in each direction.",
    ),
    Parameter::new(
        "host.queue_limit",
        Kind::Count { min: 1, max: 1 << 20 },
        "1024",
        "Open loop: requests the drive takes at once; further ones wait in the host's queue.",
    ),
    Parameter::new(
        "host.idle_after",
        Kind::Duration { max: HOUR },
        "1ms",
        "Idle time after which the drive may begin background work; 0ns turns it off.",
    ),
];

const FLASH: &[Parameter] = &[
    Parameter::new(
        "flash.part",
        Kind::Choice(part_choices),
        "fast-4k",
        "Flash part: gives the defaults of the keys below it does not list here.",
    ),
    Parameter::new("flash.channels", Kind::Count { min: 1, max: 256 }, "8", "Channels (buses)."),
    Parameter::new(
        "flash.dies_per_channel",
        Kind::Count { min: 1, max: 256 },
        "4",
        "Dies behind each channel, over all its chips.",
    ),
    Parameter::new("flash.planes_per_die", Kind::Count { min: 1, max: 16 }, "1", "Planes of a die."),
    Parameter::new(
        "flash.page_size",
        Kind::Size { min: 512, max: 32 << 10 },
        "4KiB",
        "Bytes of a page; the mapping unit of page-mapped FTLs.",
    ),
    Parameter::new("flash.pages_per_block", Kind::Count { min: 2, max: 16_383 }, "256", "Pages of an erase block."),
    Parameter::new("flash.read_time", Kind::Duration { max: HOUR }, "25us", "Array read time of a page (tR)."),
    Parameter::new(
        "flash.program_time",
        Kind::Duration { max: HOUR },
        "200us",
        "Array program time of a page (tPROG).",
    ),
    Parameter::new("flash.erase_time", Kind::Duration { max: HOUR }, "1500us", "Erase time of a block (tBERS)."),
    Parameter::new("flash.bus_bandwidth", Kind::Rate, "unlimited", "Bytes a second a channel moves."),
    Parameter::new(
        "flash.command_overhead",
        Kind::Duration { max: HOUR },
        "0ns",
        "Command and address cycles of one command.",
    ),
    Parameter::new(
        "flash.endurance",
        Kind::Count { min: 0, max: u32::MAX as u64 },
        "0",
        "Erases a block survives; 0: never wears out. Where blocks can fail, each plane keeps a second block in \
         reserve, if there is room.",
    ),
    Parameter::new(
        "flash.multi_plane",
        Kind::Switch,
        "false",
        "Queued commands of one kind for different planes of a die run together.",
    ),
    Parameter::new("flash.cache_read", Kind::Switch, "false", "Read the next page while the last one is transferred."),
    Parameter::new(
        "flash.cache_program",
        Kind::Switch,
        "false",
        "Transfer the next page while the last one is programmed.",
    ),
    Parameter::new(
        "flash.read_priority",
        Kind::Switch,
        "false",
        "Queued reads go before queued programs and erases of their die.",
    ),
    Parameter::new(
        CLEANING.key,
        Kind::Choice(|| CLEANING.named()),
        "interleaved",
        "Whether other commands of a die may run between those of a collection or merge.",
    ),
    Parameter::new(
        SUSPEND.key,
        Kind::Choice(|| SUSPEND.named()),
        "off",
        "What a read may interrupt; all but off imply flash.read_priority.",
    ),
    Parameter::new(
        "flash.suspend_time",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time added to a command by each interruption.",
    ),
    Parameter::new(
        "flash.read_in_flight",
        Kind::Switch,
        "false",
        "Answer a read of a page under way from the controller's buffer instead of waiting for the flash.",
    ),
    Parameter::new(
        "flash.fault.program",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that a program fails (its block is given up).",
    ),
    Parameter::new(
        "flash.fault.erase",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that an erase fails (its block is given up).",
    ),
    Parameter::new(
        "flash.fault.read",
        Kind::Share { max: 1.0 },
        "0%",
        "Chance that a programmed page turns out uncorrectable; needs engine.contents = stamp.",
    ),
    Parameter::optional(
        "flash.fault.dies",
        Kind::Text,
        "Dies that fail for good during the measured run: their numbers, separated by commas, such as \"3\" or \"0,5\" \
         (die 1 is behind channel 1 where there are several channels).",
    ),
    Parameter::optional(
        "flash.fault.channels",
        Kind::Text,
        "Channels all of whose dies fail for good, as flash.fault.dies.",
    ),
    Parameter::new(
        "flash.fault.dies_after",
        Kind::Count { min: 0, max: u64::MAX },
        "0",
        "Requests of the measured run before those dies fail.",
    ),
    Parameter::new(
        "flash.fault.factory_bad",
        Kind::Share { max: 0.5 },
        "0%",
        "Share of blocks that are bad from the start, drawn with engine.seed.",
    ),
];

const WORKLOAD: &[Parameter] = &[
    Parameter::new(
        "workload.requests",
        Kind::Count { min: 1, max: u64::MAX },
        "1000000",
        "Requests to run; a trace ends earlier if it has fewer.",
    ),
    Parameter::new("workload.loop", Kind::Choice(|| LOOPS.to_vec()), "auto", "What decides when a request comes."),
    Parameter::new(
        "workload.queue_depth",
        Kind::Count { min: 1, max: 65_536 },
        "32",
        "Closed loop: requests under way at once.",
    ),
    Parameter::new("workload.seed", Kind::Count { min: 0, max: u64::MAX }, "1", "Seed of the generator."),
    Parameter::new(
        "workload.time_scale",
        Kind::Number { min: 1e-9, max: 1e9 },
        "1",
        "Open loop: arrival times are multiplied by this; 0.5 is twice as fast.",
    ),
    Parameter::optional(
        "workload.request_size",
        Kind::Size { min: 512, max: 1 << 30 },
        "Bytes of a request, for generators of one size.",
    ),
    Parameter::optional("workload.read_share", Kind::Share { max: 1.0 }, "Share of reads, for generators that mix."),
    Parameter::optional("workload.trim_share", Kind::Share { max: 1.0 }, "Share of trims, for generators that mix."),
    Parameter::new(
        "workload.flush_every",
        Kind::Count { min: 0, max: u64::MAX },
        "0",
        "A flush after this many requests of a generator; 0: none.",
    ),
    Parameter::new("workload.footprint", Kind::Share { max: 1.0 }, "100%", "Share of the drive a generator uses."),
    Parameter::optional(
        "workload.zipf_exponent",
        Kind::Number { min: 0.0, max: 10.0 },
        "Exponent of the zipf generator.",
    ),
    Parameter::optional("workload.hot_space", Kind::Share { max: 1.0 }, "Share of the space that is hot (hot-cold)."),
    Parameter::optional(
        "workload.hot_traffic",
        Kind::Share { max: 1.0 },
        "Share of requests that go to the hot space (hot-cold).",
    ),
    Parameter::optional(
        "workload.interarrival",
        Kind::Duration { max: HOUR },
        "Mean time between arrivals of a generator in an open loop.",
    ),
    Parameter::optional(
        "workload.format",
        Kind::Text,
        "Trace format, where it cannot be told from the file; `nandarium list formats` names them.",
    ),
    Parameter::new(
        "workload.devices",
        Kind::Text,
        "concat",
        "Several devices in a trace: concat (side by side in one space), error (refuse), or the number of the one to \
         take.",
    ),
    Parameter::new(
        "workload.fit",
        Kind::Choice(|| FITS.to_vec()),
        "auto",
        "What becomes of addresses beyond the drive.",
    ),
    Parameter::new(
        "workload.repeat",
        Kind::Count { min: 1, max: 1_000_000 },
        "1",
        "Times a trace is run, one after the other; times go on where the last one ended.",
    ),
    Parameter::optional(
        "workload.gap_limit",
        Kind::Duration { max: 365 * 24 * HOUR },
        "A trace with a longer time between two requests has it cut to this, before workload.time_scale.",
    ),
    Parameter::optional(
        "workload.order",
        Kind::Choice(|| ORDERS.to_vec()),
        "What becomes of trace times that go backwards.",
    ),
];

/// Every key there is, in display order.
pub fn all_keys() -> Vec<Parameter> {
    let mut keys: Vec<Parameter> = [DRIVE, FLASH].concat();
    keys.push(Parameter::new(
        "buffer.kind",
        Kind::Choice(buffer::buffer_choices),
        "none",
        "The write buffer between the host and the flash translation layer.",
    ));
    let buffers = buffer::buffers();
    add(&mut keys, buffers.iter().flat_map(|entry| (entry.parameters)()));
    keys.extend(stripe::parameters());
    keys.extend(zones::parameters());
    keys.push(Parameter::new(
        "ftl.kind",
        Kind::Choice(ftl::mapping::mapping_choices),
        "page",
        "The flash translation layer.",
    ));
    let mappings = ftl::mapping::mappings();
    add(&mut keys, mappings.iter().flat_map(|entry| (entry.parameters)()));
    keys.extend(remap::keys());
    keys.extend_from_slice(WORKLOAD);
    keys
}

/// Adds keys that several entries of a table may declare, once each.
fn add(keys: &mut Vec<Parameter>, declared: impl Iterator<Item = Parameter>) {
    for parameter in declared {
        if !keys.iter().any(|known| known.key == parameter.key) {
            keys.push(parameter);
        }
    }
}

/// The key called `name`.
pub fn find_key<'a>(keys: &'a [Parameter], name: &str) -> Option<&'a Parameter> {
    keys.iter().find(|parameter| parameter.key == name)
}
