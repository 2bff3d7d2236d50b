//! Keys that only traces read.

use crate::session::repeated;
use layer::{Choices, Parameter, ParameterKind as Kind};
use trace::formats::{Allocator, Fit, Order};
use units::HOUR;

/// Treatment of addresses beyond the drive.
pub(crate) const FIT: Choices<Fit> = Choices {
    key: "workload.fit",
    table: &[
        (
            Fit::Auto.name(),
            "nandarium sizes the drive to fit the trace. If drive.capacity is given, or the trace reaches beyond 64 \
             GiB and touches less than a quarter of it, regions of 1 MiB beyond the drive move to free places on the \
             drive",
            Fit::Auto,
        ),
        (Fit::Error.name(), "the trace is refused", Fit::Error),
        (Fit::Modulo.name(), "they wrap around", Fit::Modulo),
        (Fit::Compact.name(), "the regions that the trace touches are packed together", Fit::Compact),
        (Fit::Scale.name(), "all addresses shrink in the same proportion", Fit::Scale),
    ],
};

/// Treatment of trace times that go backwards.
pub(crate) const ORDER: Choices<Order> = Choices {
    key: "workload.order",
    table: &[
        (Order::Error.name(), "the trace is refused", Order::Error),
        (Order::Clamp.name(), "the request arrives with the request before it", Order::Clamp),
        (
            Order::Sort.name(),
            "requests are sorted within a window of 65,536. If a request is further back, the file is read again and \
             sorted as with whole",
            Order::Sort,
        ),
        (
            Order::Whole.name(),
            "the whole trace is sorted before its first request runs, for example two volumes one after the other in \
             a file. Up to 786,432 requests take 54 MiB of memory; more requests take 38 bytes each in a temporary \
             file (in the folder TMPDIR)",
            Order::Whole,
        ),
    ],
};

/// How the keys of a trace without addresses get addresses.
pub(crate) const ALLOCATOR: Choices<Allocator> = Choices {
    key: "workload.allocator",
    table: &[
        (
            Allocator::FirstFit.name(),
            "on the tier that is a drive, each object takes the lowest free place that holds it",
            Allocator::FirstFit,
        ),
        (
            Allocator::Log.name(),
            "on the tier that is a drive, each write takes the next free place behind the write before it. At the end \
             of the space it starts over if half of the space is free; otherwise the space grows",
            Allocator::Log,
        ),
        (
            Allocator::ByTier.name(),
            "each tier is a device with a space of its own, first fit in each",
            Allocator::ByTier,
        ),
    ],
};

/// Keys that only traces read.
pub(crate) const OF_TRACES: &[Parameter] = &[
    Parameter::optional(
        "workload.format",
        Kind::Text,
        "Trace format, where nandarium cannot recognise the file, for example blktrace. `nandarium list formats` \
         names all formats.",
    )
    .example("blkparse"),
    Parameter::optional(
        "workload.columns",
        Kind::Text,
        "Columns of a table in no known format, each with its unit: \
         \"time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes\". A column is a name in the header or a number from 1.",
    )
    .example("time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes"),
    Parameter::optional(
        "workload.member",
        Kind::Text,
        "The file to read from a tar or zip archive with several files: its whole name, or the end of its name after \
         a slash.",
    )
    .example("traces/day1.csv"),
    Parameter::new(
        "workload.devices",
        Kind::Text,
        "concat",
        "How to replay a trace of several devices: concat (side by side in one space), error (refuse the trace), or \
         the number of one device to replay alone.",
    )
    .example("0"),
    Parameter::new(
        FIT.key,
        Kind::Choice(|| FIT.named()),
        "auto",
        "How addresses beyond the end of the drive are treated.",
    ),
    repeated::TIMES_KEY,
    repeated::ORDER_KEY,
    Parameter::optional(
        "workload.gap_limit",
        Kind::Duration { max: 365 * 24 * HOUR },
        "Longest time between two requests of a trace, for example 10s. Longer gaps are cut to it, before \
         workload.time_scale.",
    )
    .example("1h"),
    Parameter::optional(
        "workload.odd_lines",
        Kind::Text,
        "Odd lines of a trace above which the trace is refused: a number such as 20, or a share of the lines such as \
         5%. An odd line does not fit the trace format. nandarium leaves out odd lines and names the first of them in \
         a note. By default 0.1 % of the lines may be odd, and 10 lines in any case. If you name no \
         format, ten requests must stand for each odd line. 0 refuses the first odd line, and a last line that is cut \
         short.",
    )
    .example("5%"),
    Parameter::optional(ORDER.key, Kind::Choice(|| ORDER.named()), "How trace times that go backwards are treated."),
    Parameter::optional(
        ALLOCATOR.key,
        Kind::Choice(|| ALLOCATOR.named()),
        "How the objects of a trace with keys in place of addresses (format mlperf-kv-cache) get addresses; first-fit \
         if not set.",
    ),
];
