//! Every configuration key: the drive's own, and those the tables of layers and policies declare.

use super::flash_keys::FLASH;
use super::trace_keys::OF_TRACES;
use crate::session::{rest, tile, warm_up};
use ftl::mapping;
use layer::{Choices, Condition, IN_TIME, Parameter, ParameterKind as Kind, SERVICE, SIDE_BY_SIDE, TIME};
use nand::ContentsKind;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use units::HOUR;

/// State of the drive before the measured run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// What suits the workload.
    Auto,
    /// The drive is erased.
    None,
    /// Each page was written once, in order.
    Fill,
    /// Written once, then at random.
    Overwrite,
    /// Written by the workload until it is steady.
    Steady,
}

/// State of the drive before the measured run, by name.
pub const PRECONDITION: Choices<Precondition> = Choices {
    key: "drive.precondition",
    table: &[
        ("auto", "overwrite where the workload writes, fill where it only reads", Precondition::Auto),
        ("none", "erased, as new from the factory", Precondition::None),
        ("fill", "every page written once, in order of address", Precondition::Fill),
        ("overwrite", "as fill, then random page writes of twice the capacity", Precondition::Overwrite),
        (
            "steady",
            "as overwrite, then the workload itself in rounds until write amplification is steady; exit code 4 if it \
             does not become steady",
            Precondition::Steady,
        ),
    ],
};
pub(crate) const CONTENTS: Choices<ContentsKind> = Choices {
    key: "engine.contents",
    table: &[
        ("none", "nothing: pages have no contents", ContentsKind::None),
        ("stamp", "a version stamp for each sector, with which every read is checked", ContentsKind::Stamp),
        ("bytes", "the bytes of every sector; only blocks that hold data take memory", ContentsKind::Bytes),
    ],
};
/// Whether reads wait behind writes that wait for room.
pub(crate) const READS_WHEN_FULL: Choices<bool> = Choices {
    key: "controller.reads_when_full",
    table: &[
        ("pass", "reads go on at once", false),
        (
            "in-order",
            "reads wait behind the waiting writes: the drive takes all commands from one queue, in order",
            true,
        ),
    ],
};
/// Whether a queue depth is kept instead of arrival times; `None`: as the workload wants it.
pub(crate) const CLOSED: Choices<Option<bool>> = Choices {
    key: "workload.loop",
    table: &[
        ("auto", "open for traces, closed for generators", None),
        ("open", "requests arrive at their own times", Some(false)),
        ("closed", "workload.queue_depth requests are always under way, and arrival times are ignored", Some(true)),
    ],
};

const IN_CLOSED_LOOP: Condition =
    Condition::one_of(CLOSED.key, |_, name| CLOSED.means(name, |closed| closed == Some(true)))
        .otherwise("requests arrive at their own times");
const IN_OPEN_LOOP: Condition =
    Condition::one_of(CLOSED.key, |_, name| CLOSED.means(name, |closed| closed == Some(false)))
        .otherwise("requests follow each other in a closed loop");
const SHARES_SPACE: Condition = Condition::one_of("stripe.kind", |_, name| name != coded::KIND)
    .otherwise("segments have spare blocks of their own, coded.spare_blocks");
const NOT_CODED: Condition =
    Condition::one_of(SHARES_SPACE.key, |_, name| name != coded::KIND).otherwise("segments are parts of a plane");
const NOT_STRIPED: Condition = Condition::one_of(SHARES_SPACE.key, |_, name| name == "none")
    .otherwise("collection below stripes has turns of its own");

const DRIVE: &[Parameter] = &[
    Parameter::new(
        "drive.capacity",
        Kind::Size { min: 1 << 12, max: 1 << 46 },
        "8GiB",
        "Bytes that the host sees, rounded down to whole flash pages, for example 64GiB. Set it to the size of your \
         drive. A larger drive takes longer to precondition and to simulate; drive.scale shortens both.",
    )
    .example("64GiB"),
    Parameter::new(
        "drive.over_provisioning",
        Kind::Share { max: 10.0 },
        "15%",
        "Spare flash as a share of the host's bytes: (physical - user) / user, rounded up to whole blocks in each \
         plane. More spare flash lowers write amplification, and costs money. Drives for sale have 7% to 28%.",
    )
    .example("28%")
    .only(SHARES_SPACE),
    Parameter::optional(
        "drive.data_sheet_writes",
        Kind::Size { min: 1, max: 1 << 62 },
        "Bytes that the data sheet of the drive lets the host write (TBW), for example 1752TB. `life` and `compare \
         --life` show this number beside the life that they find. It does not change a run.",
    )
    .example("1752TB")
    .circumstance(),
    Parameter::new(
        PRECONDITION.key,
        Kind::Choice(|| PRECONDITION.named()),
        "auto",
        "State of the drive before the measured run. An erased drive is faster than a drive in use, because it does \
         not collect garbage yet.",
    )
    .circumstance(),
    crate::promises::ATOMIC_BYTES,
    tile::PARAMETER,
    rest::PARAMETER,
    Parameter::new(
        TIME.key,
        Kind::Choice(|| TIME.named()),
        "virtual",
        "Whether commands take time. Use none for studies of write amplification and wear: a run is much faster and \
         has no latencies.",
    )
    .circumstance()
    .time(),
    Parameter::new(
        SERVICE.key,
        Kind::Choice(|| SERVICE.named()),
        "parallel",
        "How requests share virtual time. Use serial to compare with publications that model the drive as one queue.",
    )
    .circumstance()
    .only(IN_TIME),
    Parameter::new(
        metrics::CAUSES_KEY,
        Kind::Switch,
        "true",
        "Record the causes of waiting for each request. Without this record a run is up to a sixth faster, and its \
         result has latencies but no causes.",
    )
    .circumstance()
    .only(SIDE_BY_SIDE),
    Parameter::new(
        CONTENTS.key,
        Kind::Choice(|| CONTENTS.named()),
        "none",
        "The contents of pages that the simulation keeps. Use stamp to check every read, and bytes to store real data.",
    )
    .circumstance(),
    Parameter::new(
        "engine.seed",
        Kind::Count { min: 0, max: u64::MAX },
        "1",
        "Seed of the drive's own random streams (victim choice, faults). Runs with the same seed give the same \
         result; change it to see how much a result depends on chance.",
    )
    .circumstance(),
    Parameter::new(
        "host.link_bandwidth",
        Kind::Rate,
        "unlimited",
        "Bytes a second that the host link moves in each direction, for example 3.5GB/s for PCIe 3.0 with four lanes.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "host.latency",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time of a request on its way from the host to the drive and back: driver, bus and interrupt. For example 5us.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "controller.latency",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time that each request spends in the drive outside firmware and flash, for example in its interface. Any \
         number of requests can spend this time at once, so it limits no throughput.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "controller.request_time",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time of the drive's firmware for each request, however large the request is. One core starts at most one \
         request in this time: 2us is 500,000 requests a second.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::optional(
        "controller.write_request_time",
        Kind::Duration { max: HOUR },
        "Time of the drive's firmware for each write, however large the write is. Set it where writes cost more than \
         reads; otherwise controller.request_time counts for both.",
    )
    .example("2us")
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "controller.page_time",
        Kind::Duration { max: HOUR },
        "0ns",
        "Time of the drive's firmware for each page (ftl.unit) of a read or write, added to controller.request_time. \
         It limits large requests: with 4 KiB pages, 1us is 4.1 GB/s. A trim or a flush takes this time once, however \
         large it is.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::optional(
        "controller.write_time",
        Kind::Duration { max: HOUR },
        "Time of the drive's firmware for each page of a write. Set it where writes cost more than reads; otherwise \
         controller.page_time counts for both.",
    )
    .example("500ns")
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "controller.cores",
        Kind::Count { min: 1, max: 1024 },
        "1",
        "Cores of the controller that share the firmware's work (controller.request_time, controller.page_time). \
         Twice the cores take twice the requests a second.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        READS_WHEN_FULL.key,
        Kind::Choice(|| READS_WHEN_FULL.named()),
        "pass",
        "Whether a read passes the writes that wait for room in the drive.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
    Parameter::new(
        "host.queue_limit",
        Kind::Count { min: 1, max: 1 << 20 },
        "1024",
        "Requests that the drive takes at once in an open loop; further requests wait in the host's queue. For \
         example 1024 for one NVMe queue.",
    )
    .only(IN_OPEN_LOOP),
    Parameter::new(
        "host.idle_after",
        Kind::Duration { max: HOUR },
        "1ms",
        "Time without a request after which the drive may begin background work. 0ns turns background work off.",
    )
    .only(IN_TIME)
    .only(SIDE_BY_SIDE),
];

const WORKLOAD: &[Parameter] = &[
    Parameter::new(
        "workload.requests",
        Kind::Count { min: 1, max: u64::MAX },
        "1000000",
        "Requests to run, for example 1000000. More requests make tail latencies steadier, and take longer. A trace \
         with fewer requests ends earlier.",
    )
    .example("100000"),
    Parameter::new(
        CLOSED.key,
        Kind::Choice(|| CLOSED.named()),
        "auto",
        "Whether requests arrive at times of their own, or when earlier requests end. Use closed to measure the most \
         that a drive can do, and open to measure latency under a given load.",
    ),
    Parameter::new(
        "workload.queue_depth",
        Kind::Count { min: 1, max: 65_536 },
        "32",
        "Requests under way at once in a closed loop (queue depth), for example 1 to measure latency and 32 to \
         measure throughput.",
    )
    .example("1")
    .only(IN_CLOSED_LOOP),
    warm_up::PARAMETER,
    Parameter::new(
        "workload.seed",
        Kind::Count { min: 0, max: u64::MAX },
        "1",
        "Seed of the generator. Runs with the same seed have the same requests. Change it to see how far a result \
         depends on chance, or use `compare --repetitions`.",
    )
    .example("2"),
    Parameter::new(
        "workload.time_scale",
        Kind::Number { min: 1e-9, max: 1e9 },
        "1",
        "Factor for arrival times in an open loop: 0.5 makes requests arrive twice as fast. Use it to find the load \
         at which a drive can no longer follow a trace.",
    )
    .example("0.5")
    .only(IN_OPEN_LOOP),
];

/// Keys that only generators read.
pub(crate) const OF_GENERATORS: &[Parameter] = &[
    Parameter::optional(
        "workload.request_size",
        Kind::Size { min: 512, max: 1 << 30 },
        "Bytes of a request, for generators with one size, for example 4KiB.",
    )
    .example("16KiB"),
    Parameter::optional(
        "workload.read_share",
        Kind::Share { max: 1.0 },
        "Share of reads, for generators that mix reads and writes, for example 70%.",
    )
    .example("70%"),
    Parameter::optional(
        "workload.trim_share",
        Kind::Share { max: 1.0 },
        "Share of trims, for generators with trims, for example 10%.",
    )
    .example("5%"),
    Parameter::new(
        "workload.flush_every",
        Kind::Count { min: 0, max: u64::MAX },
        "0",
        "Requests of a generator between two flushes, for example 100; 0: no flushes.",
    )
    .example("100"),
    crate::in_use::OF_GENERATORS,
    Parameter::optional(
        "workload.zipf_exponent",
        Kind::Number { min: 0.0, max: 10.0 },
        "Exponent of the zipf generator, for example 0.99: the larger it is, the more requests go to few addresses. 0 \
         is uniform.",
    )
    .example("1.2"),
    Parameter::optional(
        "workload.hot_space",
        Kind::Share { max: 1.0 },
        "Share of the addresses that is hot, for the generator hot-cold, for example 20%.",
    )
    .example("10%"),
    Parameter::optional(
        "workload.hot_traffic",
        Kind::Share { max: 1.0 },
        "Share of the requests that go to hot addresses, for the generator hot-cold, for example 80%.",
    )
    .example("90%"),
    Parameter::optional(
        "workload.interarrival",
        Kind::Duration { max: HOUR },
        "Mean time between two arrivals of a generator in an open loop: 100us is 10,000 requests a second.",
    )
    .example("100us")
    .only(IN_OPEN_LOOP),
];

/// Every key there is, in display order.
pub fn all_keys() -> &'static [Parameter] {
    static KEYS: LazyLock<Vec<Parameter>> = LazyLock::new(declared);
    &KEYS
}

fn declared() -> Vec<Parameter> {
    let buffer = Parameter::new(
        buffer::KEY,
        Kind::Choice(buffer::buffer_choices),
        "none",
        "The write buffer between the host and the flash translation layer. A buffer absorbs overwrites and makes \
         larger writes of small ones. Use page-lru for page-level mappings, and kinds with logical blocks for \
         log-block mappings.",
    )
    .uses(buffer::buffer_uses);
    let mapping = Parameter::new(
        mapping::KEY,
        Kind::Choice(mapping::mapping_choices),
        "page",
        "The flash translation layer: how logical pages find their place on flash. Use page unless memory for the \
             map is scarce; the other kinds save memory and cost reads, copies or merges.",
    )
    .uses(mapping::mapping_uses);
    let stripes = [stripe::parameters(), coded::parameters()].concat();
    let buffers = [vec![buffer], buffer::parameters()].concat();
    let of_mappings = mapping::parameters().into_iter().map(|parameter| match parameter.key {
        mapping::SUPERBLOCKS => parameter.only(NOT_CODED).under(stripe::MAPPED),
        mapping::PACE => parameter.only(NOT_STRIPED),
        _ => parameter.under(stripe::MAPPED),
    });
    let mappings = [vec![mapping], of_mappings.collect()].concat();
    let own = [
        DRIVE.to_vec(),
        vec![crate::scale::parameter()],
        crate::in_use::parameters(),
        FLASH.to_vec(),
        super::fault_keys::FAULTS.to_vec(),
        crate::array::parameters(),
        crate::errors::parameters(),
    ]
    .concat();
    let workloads = [WORKLOAD, OF_GENERATORS, OF_TRACES].concat().into_iter().map(Parameter::circumstance);
    [own, buffers, stripes, mappings, remap::keys(), workloads.collect()].concat()
}

/// Whether no state of a drive without time depends on a key, by its name of today: it changes times alone.
pub fn is_of_time(name: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
        let keys = all_keys();
        keys.iter().filter(|key| key.is_of_time(keys)).map(|key| key.key).collect()
    });
    NAMES.contains(name)
}

/// The key called `name`, today or in the version before.
pub fn find_key<'a>(keys: &'a [Parameter], name: &str) -> Option<&'a Parameter> {
    let name = metrics::key_of_today(name);
    keys.iter().find(|parameter| parameter.key == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layer::Test;

    #[test]
    fn a_condition_asks_a_key_there_is_for_what_it_may_hold() {
        let keys = all_keys();
        for key in keys {
            for condition in key.read_when.iter() {
                let (key, asked) = (key.key, condition.key);
                let kind = find_key(keys, asked).unwrap_or_else(|| panic!("{key} asks {asked}, which is no key")).kind;
                match condition.test {
                    Test::OneOf(_) => assert!(!condition.names(key, keys)[0].is_empty(), "{key} is never read"),
                    Test::Off => assert!(kind.parse("false").is_ok(), "{key}: {asked}"),
                    Test::AboveZero => assert!(kind.parse("0").is_ok() || kind.parse("0B").is_ok(), "{key}: {asked}"),
                    Test::AboveZeroOr(other) => {
                        for asked in [asked, other] {
                            let kind = find_key(keys, asked).map(|known| known.kind);
                            assert!(kind.is_some_and(|kind| kind.limits()[1].is_some()), "{key} asks for a number");
                        }
                    }
                    Test::SetOr(other) => {
                        for asked in [asked, other] {
                            let default = find_key(keys, asked).map(|known| known.default);
                            assert_eq!(default, Some(None), "{key} asks whether {asked} is set");
                        }
                    }
                }
                if let Some(name) = condition.counts_as {
                    assert!(find_key(keys, key).is_some_and(|own| own.kind.parse(name).is_ok()), "{key}: {name}");
                }
            }
        }
    }

    #[test]
    fn every_key_and_every_choice_says_what_it_is() {
        for key in all_keys() {
            assert!(!key.doc.is_empty(), "{}", key.key);
            for (name, doc) in key.kind.choices() {
                assert!(!doc.is_empty(), "{} = {name}", key.key);
            }
            let example = key.shown_example();
            let is_obvious = key.default.is_some() && !matches!(key.kind, Kind::Text);
            assert!(example.is_some() || is_obvious, "{} needs an example", key.key);
            assert!(example.is_none_or(|value| key.parse(value).is_ok()), "{}: {example:?}", key.key);
        }
    }
}
