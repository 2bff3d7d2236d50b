//! A drive without time writes what the same drive writes in time, or its result says that it does not.

use metrics::{RunResult, Status};
use simulator::session::{SessionOptions, run};
use simulator::{Config, Setting};
use units::{CAUSES, HostOp};

/// Difference that is accepted, as a share of all programs: small drives collect one block more or less.
const ACCEPTED: f64 = 0.02;

/// Single pages, some of them often, on a drive in use: small, and of many small blocks, so that what is being erased
/// is little beside the spare flash.
const SMALL: [&str; 7] = [
    "drive.capacity=64MiB",
    "drive.over_provisioning=28%",
    "flash.pages_per_block=16",
    "measure.warm_up=0",
    "workload.requests=25000",
    "stripe.cache.entries=128",
    "stripe.in_flight=64",
];
/// The same for four dies.
const DIES: [&str; 2] = ["flash.channels=2", "flash.dies_per_channel=2"];
/// Buffers that hold many times what is on its way to flash.
const BUFFERS: [&str; 2] = ["buffer.size=4MiB", "buffer.block_buffer=2MiB"];
const ZONES: [&str; 2] = ["coded.size=8MiB", "coded.code_zones=0"];
const CODED_ZONES: [&str; 2] = ["coded.size=8MiB", "coded.code_zones=2"];

/// Stacks that write something else without time, what their results say of it, and settings that take the reason away,
/// where there are any.
const OTHERS: [(&str, &str, &[&str]); 9] = [
    ("fra", ROOM, NO_BUFFER),
    ("hard-log-cache", "the log cache writes pages home at once", &[]),
    ("raid0", ROOM, NO_BUFFER),
    ("raid4", ROOM, NO_BUFFER),
    ("raid5", ROOM, NO_BUFFER),
    ("raid5-fpc", ROOM, NO_BUFFER),
    ("raid5-ppc", ROOM, NO_BUFFER),
    ("raid6", ROOM, NO_BUFFER),
    ("raid6-ppc", ROOM, NO_BUFFER),
];
const ROOM: &str = "is on its way to flash";
const NO_BUFFER: &[&str] = &["stripe.buffer_size=0B"];

fn result(stack: &str, settings: &[&str], time: &str) -> RunResult {
    let settings = [settings, &[time]].concat();
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    let options = SessionOptions { workload: "zipf".to_owned(), snapshots: None };
    let result = run(Config::load(stack, &settings).unwrap(), &options, &mut ());
    let result = result.unwrap_or_else(|error| panic!("{stack}, {time}: {error}"));
    assert_eq!(result.status, Status::Complete, "{stack}, {time}");
    result
}

fn settings_of(stack: &str) -> Vec<&'static str> {
    let values = Config::load(stack, &[]).unwrap().values;
    let more: &[&str] = match values.name("stripe.kind") {
        "none" => &DIES,
        "coded" if values.whole("coded.code_zones") == 0 => &ZONES,
        "coded" => &CODED_ZONES,
        _ => &[],
    };
    let buffers: &[&str] = if values.name("buffer.kind") == "none" { &[] } else { &BUFFERS };
    [&SMALL, more, buffers].concat()
}

/// How far the write amplification without time is from the one in time, and the cause that is furthest, as shares of
/// the one in time; and the result without time.
fn apart(stack: &str, settings: &[&str]) -> (f64, String, RunResult) {
    let [counted, timed] = ["engine.time=none", "engine.time=virtual"].map(|time| result(stack, settings, time));
    let written = |result: &RunResult, index: usize| {
        result.flash[1][index] as f64 / result.host[HostOp::Write.index()].pages as f64
    };
    let all: f64 = CAUSES.iter().map(|cause| written(&timed, cause.index())).sum();
    let share = |cause: &units::Cause| (written(&counted, cause.index()) - written(&timed, cause.index())) / all;
    let shares = CAUSES.iter().map(|cause| (share(cause), cause.name()));
    let total: f64 = CAUSES.iter().map(share).sum();
    let (worst, name) =
        shares.chain([(total, "all")]).max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).expect("there are causes");
    (worst.abs(), format!("{stack} {settings:?}: {name} {:+.2} % without time", worst * 100.0), counted)
}

fn tie(stack: &str, settings: &[&str]) -> Option<String> {
    let (apart, text, _) = apart(stack, settings);
    (apart > ACCEPTED).then_some(text)
}

fn is_other(stack: &str) -> bool {
    OTHERS.iter().any(|(other, ..)| *other == stack)
}

#[test]
fn every_built_in_stack_writes_without_time_what_it_writes_in_time() {
    let stacks = simulator::config::stacks();
    let wrong = stacks.iter().filter(|stack| !is_other(stack.name));
    let wrong: Vec<String> = wrong.filter_map(|stack| tie(stack.name, &settings_of(stack.name))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_stack_that_writes_something_else_without_time_says_why() {
    let mut wrong = Vec::new();
    for (stack, why, without) in OTHERS {
        let settings = settings_of(stack);
        let (apart, text, counted) = apart(stack, &settings);
        assert!(apart > ACCEPTED, "{stack} is no other drive without time: {text}");
        assert!(counted.notes.iter().any(|note| note.contains(why)), "{stack}: {:?}", counted.notes);
        if !without.is_empty() {
            wrong.extend(tie(stack, &[&settings[..], without].concat()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A stripe of every kind over every mapping that leaves pages on their chips, one request at a time: none gathers.
#[test]
fn stripes_of_every_kind_write_without_time_what_they_write_in_time() {
    let mut wrong = Vec::new();
    for mapping in ftl::mapping::mappings().into_iter().filter(|mapping| mapping.is_versioned) {
        let mapping = format!("ftl.kind={}", mapping.name);
        for kind in stripe::stripe_names().into_iter().filter(|kind| !["none", "coded"].contains(kind)) {
            let kind = format!("stripe.kind={kind}");
            let own = [&mapping, &kind, "flash.channels=6", "flash.dies_per_channel=1", "flash.part=mlc-4k"];
            for depth in ["workload.queue_depth=1", "workload.queue_depth=8"] {
                wrong.extend(tie("page", &[&SMALL[..], &own, NO_BUFFER, &[depth]].concat()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
