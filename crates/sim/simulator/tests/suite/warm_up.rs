//! Requests that run before the clock starts: what they mend, and that they are in no count.

use metrics::{OpTotals, RunResult};
use nand::Choice;
use simulator::session::{Prepared, TimelinePlan};
use simulator::{Config, Setting};
use std::path::Path;
use units::HostOp;

/// A small drive of four planes in use.
const SMALL: [&str; 7] = [
    "drive.capacity=64MiB",
    "drive.over_provisioning=30%",
    "drive.precondition=overwrite",
    "flash.channels=2",
    "flash.dies_per_channel=2",
    "flash.pages_per_block=32",
    "workload.requests=2000",
];
/// Chips for stripes.
const STRIPED: [&str; 3] = ["flash.channels=5", "flash.dies_per_channel=1", "drive.over_provisioning=60%"];
const KEY: &str = "measure.warm_up";

fn prepared(stack: &str, workload: &str, settings: &[&str]) -> Prepared {
    let settings: Vec<Setting> =
        SMALL.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    Prepared::new(Config::load(stack, &settings).unwrap(), workload).unwrap()
}

fn run(stack: &str, workload: &str, settings: &[&str]) -> RunResult {
    prepared(stack, workload, settings).run(None, &mut ()).unwrap()
}

/// What was chosen.
fn chosen(result: &RunResult) -> &str {
    &result.config[KEY]
}

fn host(result: &RunResult) -> Vec<[u64; 4]> {
    let totals = |op: &OpTotals| [op.requests, op.pages, op.bytes, op.failed];
    result.host.iter().map(totals).collect()
}

/// The longest write of a run stood in its first moments, whatever its length: all dies collected at the same time.
#[test]
fn the_longest_writes_are_not_those_of_the_first_moments_after_preconditioning() {
    let tail = |warm_up: &str, seed: u32| {
        let settings = [
            "drive.capacity=2GiB",
            "drive.over_provisioning=15%",
            "flash.channels=8",
            "flash.dies_per_channel=4",
            "flash.pages_per_block=256",
            "workload.requests=20000",
            &format!("workload.seed={seed}"),
            &format!("{KEY}={warm_up}"),
        ];
        let result = run("page", "oltp", &settings);
        let series = &result.to_json()["series"]["columns"]["write_latency_max_ns"];
        let longest: Vec<f64> = series.as_array().unwrap().iter().map(|cell| cell.as_f64().unwrap_or(0.0)).collect();
        let (first, rest) = longest.split_at(longest.len() / 8);
        let most = |longest: &[f64]| longest.iter().copied().fold(0.0, f64::max);
        (most(first) > most(rest), result.latency[HostOp::Write.index()].histogram().percentile(0.999))
    };
    let [mut cold, mut warm] = [0; 2];
    for seed in 1..=3 {
        let ((is_first_cold, of_cold), (is_first_warm, of_warm)) = (tail("0", seed), tail("auto", seed));
        assert!(is_first_cold, "seed {seed}: the artefact is gone, and so is the reason for a warm-up");
        assert!(!is_first_warm, "seed {seed}: the longest write is in the first moments");
        cold += of_cold;
        warm += of_warm;
    }
    assert!(warm * 4 < cold * 3, "p99.9 {warm} ns in the sum of three seeds, {cold} without a warm-up");
}

#[test]
fn requests_before_the_clock_are_in_no_count() {
    let buffer = ["buffer.kind=page-lru", "buffer.size=64KiB"];
    for (stack, more) in [("page", &[][..]), ("dftl", &[]), ("raid5-ppc", &STRIPED), ("page", &buffer)] {
        let with = |count: &str| run(stack, "mixed", &[&[format!("{KEY}={count}").as_str()][..], more].concat());
        let (cold, warm) = (with("0"), with("20000"));
        assert_ne!(cold.hash, warm.hash, "{stack}: the state is another one");
        assert_eq!(host(&cold), host(&warm), "{stack}: the measured requests are the same");
        for result in [&cold, &warm] {
            let json = result.to_json();
            let sum = |column: &str| {
                let cells = json["series"]["columns"][column].as_array().unwrap();
                cells.iter().map(|cell| cell.as_f64().unwrap_or(0.0)).sum::<f64>().round() as u64
            };
            let latencies: u64 = result.latency.iter().map(|latency| latency.histogram().count()).sum();
            assert_eq!((result.requests(), latencies), (2000, 2000), "{stack}");
            assert_eq!(sum("read_requests") + sum("write_requests"), 2000, "{stack}");
            assert_eq!(sum("gc_programs"), result.flash[1][units::Cause::Gc.index()], "{stack}");
        }
        let seconds = |result: &RunResult| result.sim_ns as f64;
        assert!((0.3..3.0).contains(&(seconds(&warm) / seconds(&cold))), "{stack}: {} ns", warm.sim_ns);
        let accesses =
            |result: &RunResult| -> u64 { result.caches.iter().map(|(_, hits, misses)| hits + misses).sum() };
        assert!(accesses(&warm) <= accesses(&cold) * 2, "{stack}: {} of the cache", accesses(&warm));
        let programs = |result: &RunResult| -> u64 { result.flash[1].iter().sum() };
        assert!(programs(&warm) < programs(&cold) * 2, "{stack}: {} programs", programs(&warm));
    }
    let warm = run("page", "uniform-write", &[&format!("{KEY}=20000")]);
    assert_eq!(warm.flash[1][0], warm.host[HostOp::Write.index()].pages);
}

#[test]
fn wear_and_timelines_begin_with_the_clock() {
    let prepared = prepared("page", "uniform-write", &[&format!("{KEY}=20000")]);
    let (result, window) = prepared.run_wear(None, &mut ()).unwrap();
    let worn: u64 = window.erases.iter().map(|[before, .., after]| u64::from(after - before)).sum();
    assert_eq!(worn, result.flash[2].iter().sum::<u64>());
    let plan =
        TimelinePlan { window: Some([0, u64::MAX / 2]), most: 1 << 20, closeups: Choice::Nobody, samples: false };
    let (again, timeline) = prepared.run_timeline(None, &mut (), plan).unwrap();
    assert_eq!((again.hash, timeline.recorder.served.len()), (result.hash, 2000));
    assert!(timeline.started > 0 && timeline.recorder.served.iter().all(|one| one.request.arrival >= timeline.started));
    assert!(timeline.gauges.iter().all(|gauge| gauge.at >= timeline.started));
}

#[test]
fn one_seed_has_one_result_and_another_seed_another_one() {
    let hash = |seed: &str| run("page", "mixed", &[seed]).hash;
    assert_eq!(hash("workload.seed=1"), hash("workload.seed=1"));
    assert_ne!(hash("workload.seed=1"), hash("workload.seed=2"));
    let auto = run("page", "mixed", &[]);
    let given = run("page", "mixed", &[&format!("{KEY}={}", chosen(&auto))]);
    assert_eq!(auto.hash, given.hash, "what was chosen can be given");
}

#[test]
fn dies_fail_after_so_many_requests_of_the_measured_run() {
    let fault = ["flash.fault.dies=1", "flash.fault.dies_after=1000"];
    let lost = |requests: &str| {
        let result =
            run("raid5", "uniform-write", &[&STRIPED[..], &fault, &[requests, "measure.warm_up=5000"]].concat());
        (result.counters["flash.dies_lost"], result.notes.iter().any(|note| note.contains("No die failed")))
    };
    assert_eq!(lost("workload.requests=900"), (0, true));
    assert_eq!(lost("workload.requests=1100"), (1, false));
}

#[test]
fn where_nothing_is_in_step_or_the_load_would_use_something_up_there_is_no_warm_up() {
    for (workload, settings) in [
        ("uniform-write", &["drive.precondition=none"][..]),
        ("uniform-write", &["engine.time=none"]),
        ("uniform-write", &["engine.service=serial"]),
        ("uniform-read", &[]),
    ] {
        let result = run("page", workload, settings);
        assert_eq!(chosen(&result), "auto", "{workload} {settings:?}");
        let told = result.notes.iter().any(|note| note.contains("after preconditioning") || note.contains(KEY));
        assert!(!told, "{workload} {settings:?}: {:?}", result.notes);
    }
    let cached = ["flash.part=tlc-176l", "ftl.slc.blocks=1", "drive.over_provisioning=50%"];
    let cached = cached.map(|text| Setting::from_argument(text).unwrap());
    let prepared = Prepared::new(Config::load("page", &cached).unwrap(), "mixed").unwrap();
    assert_eq!(prepared.plan().config.resolved[KEY], "0");
    assert!(chosen(&run("page", "uniform-write", &[])).parse::<u64>().unwrap() > 0);
}

/// A note said that requests before the clock would use up code zones, of which none was coded, and another one that
/// all dies collect at the same time. Each zone cleans by itself.
#[test]
fn a_drive_of_zones_is_told_neither_a_warm_up_nor_dies_that_collect_at_the_same_time() {
    const ZONES: [&str; 3] = ["flash.dies_per_channel=1", "flash.channels=8", "coded.size=16MiB"];
    let folder = tempfile::tempdir().unwrap();
    for (stack, settings) in [
        ("striping-coded", &["coded.code_zones=2"][..]),
        ("striping-coded", &["coded.code_zones=2", "coded.offline_first=at-start"]),
        ("striping-in-turn", &["coded.code_zones=0"]),
    ] {
        let zoned = |workload: &str, more: &[&str]| run(stack, workload, &[&ZONES, settings, more].concat());
        for workload in ["uniform-write", &trace(folder.path())] {
            let result = zoned(workload, &[]);
            assert_eq!(chosen(&result), "auto", "{stack} {workload}");
            let told = result.notes.iter().any(|note| note.contains("after preconditioning") || note.contains(KEY));
            assert!(!told, "{stack} {workload}: {:?}", result.notes);
        }
        let given = |count: u32| zoned("uniform-write", &[&format!("{KEY}={count}")]).hash;
        assert_ne!(given(0), given(500), "{stack}: a number that is given counts");
    }
}

#[test]
fn a_warm_up_takes_at_most_as_long_as_the_run_or_some_moments() {
    let blocks =
        ["flash.pages_per_block=1024", "drive.capacity=1GiB", "flash.channels=8", "drive.over_provisioning=100%"];
    let result = run("page", "uniform-write", &[&blocks[..], &["workload.request_size=4KiB"]].concat());
    // 16 planes of 9.5 blocks are 155,648 pages.
    assert_eq!(chosen(&result), "155648");
    let result =
        run("page", "uniform-write", &[&blocks[..], &["flash.dies_per_channel=4", "drive.capacity=2GiB"]].concat());
    assert_eq!(chosen(&result), "262144");
    assert!(result.notes.iter().any(|note| note.contains("more than the run has")), "{:?}", result.notes);
}

#[test]
fn a_trace_has_no_warm_up_and_its_first_moments_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(folder.path());
    let told = |settings: &[&str]| {
        let result = run("page", &trace, settings);
        assert_eq!(chosen(&result), "auto");
        result.notes.iter().any(|note| note.contains("A trace has no warm-up"))
    };
    assert!(told(&[]));
    assert!(!told(&["drive.precondition=none"]) && !told(&["engine.time=none"]));
    let settings: Vec<Setting> =
        SMALL.iter().chain(&["measure.warm_up=5"]).map(|text| Setting::from_argument(text).unwrap()).collect();
    let refused = Prepared::new(Config::load("page", &settings).unwrap(), &trace).err().unwrap().to_string();
    assert!(refused.contains("measure.warm_up = 5 has no effect") && refused.contains("leave it out"), "{refused}");
}

fn trace(folder: &Path) -> String {
    let rows = (0..200_u64).map(|at| format!("{},0,W,{},4096\n", at * 100_000, at * 37 % 200 * 4096));
    let path = folder.join("trace.csv");
    let head = "time_ns,device,op,offset_bytes,length_bytes\n".to_owned();
    std::fs::write(&path, head + &rows.collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Nothing was known of it but an error, where the run itself ends with a result.
#[test]
fn a_drive_that_is_worn_out_by_the_warm_up_ends_with_a_result() {
    let result =
        run("page", "uniform-write", &["flash.endurance=1", "drive.precondition=fill", "measure.warm_up=100000"]);
    assert_eq!((result.status, result.requests()), (metrics::Status::WornOut, 0));
    assert!(result.notes.iter().any(|note| note.contains("Set measure.warm_up = 0")), "{:?}", result.notes);
    result.to_json();
}
