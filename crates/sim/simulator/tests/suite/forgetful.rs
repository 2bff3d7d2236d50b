//! Memory for programs that a power cut takes: what flushes cost there.

use metrics::RunResult;
use simulator::config::Setting;
use simulator::session::{self, SessionOptions};
use simulator::{Config, DrivePlan};
use units::Cause;

/// One open block for the host, and 12 units of 4 KiB in a program.
const DRIVE: [&str; 10] = [
    "flash.part=tlc-176l",
    "flash.channels=1",
    "flash.dies_per_channel=1",
    "flash.planes_per_die=1",
    "flash.pages_per_block=48",
    "drive.capacity=64MiB",
    "drive.over_provisioning=60%",
    "drive.precondition=none",
    "ftl.unit=4KiB",
    "flash.program_memory_protected=false",
];

fn settings(more: &[&str]) -> Vec<Setting> {
    DRIVE.iter().chain(more).map(|text| Setting::from_argument(text).unwrap()).collect()
}

fn written(workload: &str, more: &[&str]) -> RunResult {
    let config = Config::load("page", &settings(more)).unwrap();
    let options = SessionOptions { workload: workload.to_owned(), snapshots: None };
    session::run(config, &options, &mut ()).unwrap()
}

fn programs(result: &RunResult, cause: Cause) -> u64 {
    result.flash[1][cause.index()]
}

/// Each flush fills up the one program that waits.
#[test]
fn a_flush_costs_what_its_program_lacks() {
    for (every, pads) in [(1, 11), (5, 7), (12, 0), (18, 6)] {
        let every_text = format!("workload.flush_every={every}");
        let size = ["workload.request_size=4KiB", "workload.requests=1900", "workload.queue_depth=1"];
        let result = written("sequential-write", &[&size[..], &[&every_text]].concat());
        // A flush is a request as well.
        let flushes = result.host[3].requests;
        assert!(flushes >= 100, "{flushes} flushes");
        let per_flush = programs(&result, Cause::Padding) as f64 / flushes as f64;
        assert!((per_flush - f64::from(pads)).abs() < 0.01, "a flush every {every} writes: {per_flush} pages");
        let expected = 1.0 + f64::from(pads) / f64::from(every);
        let waf =
            (programs(&result, Cause::Host) + programs(&result, Cause::Padding)) as f64 / result.host[1].pages as f64;
        assert!((waf / expected - 1.0).abs() < 0.02, "{waf} times what was written, {expected} expected");
    }
}

#[test]
fn protected_memory_makes_flushes_cost_nothing() {
    let result = written(
        "sequential-write",
        &["workload.flush_every=1", "flash.program_memory_protected=true", "workload.requests=1000"],
    );
    assert_eq!(programs(&result, Cause::Padding), 0);
}

/// Collection ends although its last copies wait for a program to be full.
#[test]
fn random_writes_with_flushes_go_on_for_long() {
    let more = [
        "workload.requests=60000",
        "workload.request_size=4KiB",
        "workload.flush_every=7",
        "drive.precondition=fill",
        "engine.contents=stamp",
        "flash.channels=2",
    ];
    let result = written("uniform-write", &more);
    assert!(result.host[1].requests > 40_000 && programs(&result, Cause::Gc) > 0);
}

/// Each lane filled up its program whenever another one was emptied, which took more room than that gave.
#[test]
fn a_full_drive_that_cleans_fills_up_few_programs() {
    let more = [
        "workload.requests=20000",
        "workload.request_size=4KiB",
        "drive.precondition=overwrite",
        "drive.capacity=256MiB",
        "drive.over_provisioning=16%",
        "flash.channels=8",
        "ftl.gc.superblocks=true",
    ];
    let result = written("uniform-write", &more);
    let [padding, moved] = [Cause::Padding, Cause::Gc].map(|cause| programs(&result, cause));
    assert!(moved > 20_000, "{moved} pages were moved");
    assert!(padding < moved / 50, "{padding} pages fill up programs beside {moved} that were moved");
}

#[test]
fn what_counts_on_programmed_pages_is_refused_with_the_reason() {
    for (stack, more, wanted) in [
        ("dftl", &[][..], "ftl.kind = dftl counts on what was programmed"),
        ("raid5", &[], "set stripe.kind to \"none\""),
        ("page", &["ftl.gc.frontier=shared"], "set ftl.gc.frontier to \"separate\""),
        ("page", &["flash.pages_per_block=3"], "raise flash.pages_per_block"),
    ] {
        let error = DrivePlan::new(Config::load(stack, &settings(more)).unwrap()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{stack} {more:?}: {error}");
    }
}
