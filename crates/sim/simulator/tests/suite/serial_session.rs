//! Whole sessions with `engine.service = serial`: the same drive as without time, and the same result
//! however it is reached.

use metrics::{RunResult, Status};
use simulator::session::{SessionOptions, Snapshots, run};
use simulator::{Config, Setting};
use std::path::Path;

const TINY: [&str; 5] = [
    "drive.capacity=16MiB",
    "drive.over_provisioning=30%",
    "flash.channels=2",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
];

fn result_in(folder: Option<&Path>, workload: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<Setting> = [&["workload.requests=20000"], &TINY[..], settings]
        .concat()
        .into_iter()
        .map(|text| Setting::from_argument(text).unwrap())
        .collect();
    let snapshots = folder.map(|folder| Snapshots {
        folder: folder.to_owned(),
        build: "test".to_owned(),
        files: 12,
        bytes: u64::MAX,
    });
    let options = SessionOptions { workload: workload.to_owned(), snapshots };
    run(Config::load("page", &settings).unwrap(), &options, &mut ()).unwrap()
}

fn result(workload: &str, settings: &[&str]) -> RunResult {
    result_in(None, workload, settings)
}

const SERIAL: &str = "engine.service=serial";

/// Workloads and settings that reach collection, partial pages, trims, flushes and both loops.
const RUNS: [(&str, &[&str]); 5] = [
    ("uniform-write", &["drive.precondition=overwrite"]),
    ("hot-cold", &["drive.precondition=steady", "workload.read_share=30%"]),
    ("mixed", &["drive.precondition=fill", "workload.trim_share=20%", "workload.flush_every=50"]),
    ("mixed", &["drive.precondition=fill", "workload.request_size=1536B", "ftl.gc.victim=cost-benefit"]),
    ("mixed", &["drive.precondition=overwrite", "workload.loop=open", "workload.interarrival=2ms"]),
];

#[test]
fn the_drive_does_what_it_does_without_time() {
    for (workload, settings) in RUNS {
        let serial = result(workload, &[settings, &[SERIAL]].concat());
        let counted = result(workload, &[settings, &["engine.time=none"]].concat());
        assert_eq!(serial.status, Status::Complete);
        assert_eq!(serial.flash, counted.flash, "{workload} {settings:?}");
        assert_eq!(serial.erases, counted.erases);
        assert_eq!(serial.host, counted.host);
        assert!(serial.sim_ns > 0 && serial.counters["server.busy_ns"] <= serial.sim_ns);
        assert!(!counted.counters.contains_key("server.busy_ns"));
    }
}

#[test]
fn the_hash_depends_on_the_run_and_on_nothing_else() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serial-snapshots");
    let _ = std::fs::remove_dir_all(&folder);
    for (workload, settings) in RUNS {
        let settings = [settings, &[SERIAL]].concat();
        let plain = result(workload, &settings).hash;
        assert_eq!(plain, result_in(Some(&folder), workload, &settings).hash, "writing a snapshot");
        assert_eq!(plain, result_in(Some(&folder), workload, &settings).hash, "reading it");
        let stamped = result(workload, &[&settings[..], &["engine.contents=stamp"]].concat());
        assert_eq!(plain, stamped.hash, "contents change nothing but what is checked");
        let parallel = result(workload, &settings[..settings.len() - 1]);
        assert_ne!(plain, parallel.hash);
        assert_ne!(plain, result(workload, &[&settings[..], &["workload.seed=2"]].concat()).hash);
    }
}

#[test]
fn every_read_returns_what_was_written_last_faults_included() {
    // A violation ends the session with an error.
    let faults = [
        SERIAL,
        "engine.contents=stamp",
        "drive.over_provisioning=100%",
        "flash.fault.program=0.1%",
        "flash.fault.erase=0.1%",
        "flash.fault.read=0.1%",
        "flash.fault.factory_bad=1%",
    ];
    for (workload, settings) in RUNS {
        let serial = result(workload, &[settings, &faults].concat());
        let counted = result(workload, &[settings, &faults, &["engine.time=none"]].concat());
        assert!(serial.counters["flash.failed_programs"] > 0, "{workload} {settings:?}");
        assert_eq!((serial.flash, serial.erases), (counted.flash, counted.erases));
    }
}

#[test]
fn a_drive_wears_out_as_it_does_without_time() {
    let settings = ["flash.endurance=30", "workload.requests=1000000"];
    let serial = result("mixed", &[&settings[..], &[SERIAL]].concat());
    let counted = result("mixed", &[&settings[..], &["engine.time=none"]].concat());
    assert_eq!((serial.status, counted.status), (Status::WornOut, Status::WornOut));
    assert_eq!(serial.flash, counted.flash);
    assert_eq!(serial.host, counted.host);
}

#[test]
fn collection_explains_the_tail_and_the_series_covers_the_run() {
    let serial = result("uniform-write", &["drive.precondition=overwrite", SERIAL]);
    let slow = serial.latency[1].tail(0.01);
    let collection = slow.direct[units::Cause::Gc.index()] / slow.latency;
    assert!(collection > 0.8, "collection explains {collection:.2} of the slowest writes");
    let (interval, samples) = &serial.series;
    let writes: u64 = samples.iter().map(|sample| sample.requests[1]).sum();
    assert_eq!(writes, 20_000);
    assert!(samples.iter().all(|sample| sample.occupancy <= 32 * interval));
    let programs: u64 = samples.iter().flat_map(|sample| sample.programs).sum();
    assert_eq!(programs, serial.flash[1].iter().sum::<u64>());
}

#[test]
fn settings_that_cannot_matter_are_named() {
    let unused = |settings: &[&str]| result("mixed", settings).notes.join("\n");
    let notes = unused(&[SERIAL, "flash.cache_read=true", "host.link_bandwidth=1GB/s", "host.idle_after=0ns"]);
    for key in ["flash.cache_read", "host.link_bandwidth", "host.idle_after"] {
        assert!(notes.contains(&format!("{key} has no effect here")), "{key}: {notes}");
    }
    assert!(unused(&[SERIAL, "engine.time=none"]).contains("engine.service has no effect here"));
    assert!(!unused(&[SERIAL]).contains("has no effect"));
    let counted = unused(&["engine.time=none", "flash.cache_read=true"]);
    assert!(counted.contains("flash.cache_read has no effect here because no time passes (engine.time = none)."));
}

/// Counted, parities that follow pages written together cost three times as many programs as in time, and no note said
/// so.
#[test]
fn stripes_that_are_another_drive_where_commands_take_no_time_say_so() {
    let told = |stack: &str, time: &str| {
        let settings = ["drive.capacity=64MiB", "flash.pages_per_block=32", "drive.over_provisioning=60%", time];
        let settings: Vec<Setting> = settings
            .into_iter()
            .chain(["drive.precondition=none", "workload.requests=500"])
            .map(|text| Setting::from_argument(text).unwrap())
            .collect();
        let options = SessionOptions { workload: "uniform-write".to_owned(), snapshots: None };
        let result = run(Config::load(stack, &settings).unwrap(), &options, &mut ()).unwrap();
        result.notes.into_iter().find(|note| note.starts_with("No two commands are under way at once"))
    };
    let stacks = [
        ("raid-elastic", [false, true]),
        ("fra", [true, true]),
        ("hard-log-cache", [true, true]),
        ("raid5", [false, false]),
        ("page", [false, false]),
    ];
    for (stack, are_others) in stacks {
        let times = [("engine.time=none", "engine.time = none"), (SERIAL, "engine.service = serial")];
        for ((time, key), is_another) in times.into_iter().zip(are_others) {
            let note = told(stack, time);
            assert_eq!(note.as_ref().is_some_and(|note| note.contains(key)), is_another, "{stack}, {time}: {note:?}");
        }
        assert_eq!(told(stack, "engine.time=virtual"), None, "{stack}");
    }
}
