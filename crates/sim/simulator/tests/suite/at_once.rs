//! Flash without time serves requests and copies at once where nothing can go wrong. It leaves the drive that the long
//! way of each command leaves, which a drive with contents takes.

use crate::support::{go, plan};
use nand::{CountedFlash, Flash};
use simulator::run::{Ended, HostMeasurements, Loop, Probe, RunPlan, run_probed};
use simulator::{BlockDevice, Drive};
use trace::synthetic::{WorkloadParameters, build};
use units::{Cause, DIE_CAUSES, HostOp, Request};

const SMALL: [&str; 4] =
    ["drive.capacity=32MiB", "drive.over_provisioning=28%", "flash.channels=2", "flash.dies_per_channel=2"];

/// The last erases of the first blocks fail.
const WORN: &[&str] = &["flash.pages_per_block=16", "flash.endurance=8"];

fn drive(settings: &[&str], contents: &str) -> Drive<CountedFlash> {
    let plan = plan(&[&SMALL[..], settings, &[contents]].concat());
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

/// What a drive and a host counted, as text.
fn found(drive: &Drive<CountedFlash>, sheets: &[HostMeasurements]) -> String {
    drive.top().check(drive.flash()).unwrap();
    let state = drive.flash().state();
    assert!(state.counters.programs[Cause::Gc.index()] > 1000, "collection has to move pages");
    let host = sheets.iter().map(|sheet| format!("{:?} {:?}", sheet.totals, sheet.addresses.counts(1)));
    let erases: Vec<u32> = state.blocks().iter().map(|row| row.erases).collect();
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let valid: Vec<_> = reports.iter().map(|report| &report.valid_pages).collect();
    let host: Vec<String> = host.collect();
    format!("{:x} {:?} {erases:?} {valid:?} {host:?}", state.hash(), state.counters)
}

#[test]
fn requests_served_at_once_leave_the_drive_that_single_ones_leave() {
    for settings in [
        &["flash.pages_per_block=16"][..],
        &["flash.pages_per_block=40", "ftl.gc.copyback=true"],
        &["flash.pages_per_block=64", "ftl.gc.frontier=shared", "ftl.gc.free_blocks=1"],
        &["flash.pages_per_block=16", "ftl.allocation.placement=static"],
        &["flash.pages_per_block=16", "ftl.gc.pace=host"],
        &["flash.pages_per_block=16", "ftl.wear.static_gap=3", "ftl.gc.victim=random"],
        &["flash.pages_per_block=16", "ftl.allocation.run_pages=3"],
        &["flash.pages_per_block=16", "ftl.gc.superblocks=true"],
        &["flash.pages_per_block=16", "flash.endurance=100"],
        WORN,
    ] {
        for depth in [1, 7] {
            let [at_once, alone] = ["engine.contents=none", "engine.contents=stamp"].map(|contents| {
                let mut drive = drive(settings, contents);
                let arrivals = Loop::Closed { depth };
                let sheets = [("sequential-write", 256), ("uniform-write", 20_000), ("mixed", 5_000), ("zipf", 5_000)]
                    .map(|(workload, requests)| go(&mut drive, workload, requests, arrivals, |_| {}));
                found(&drive, &sheets)
            });
            assert_eq!(at_once, alone, "{settings:?}, depth {depth}");
            assert_ne!(at_once.contains("failed_erases: 0"), settings == WORN, "{settings:?}: {at_once:.400}");
        }
    }
}

#[test]
fn writes_of_whole_pages_are_served_at_once_and_nothing_else() {
    let page = |page: u64| Request::of_bytes(HostOp::Write, page * 4096, 4096, false);
    let read = Request { op: HostOp::Read, ..page(1) };
    let (part, two) = (Request { sectors: 3, ..page(1) }, Request { sectors: 16, ..page(1) });
    for (other, served) in [(read, 2), (part, 2), (two, 2), (page(3), 4)] {
        let mut drive = drive(&["flash.pages_per_block=16"], "engine.contents=none");
        // The first block of each lane is opened by a request that takes the long way.
        go(&mut drive, "sequential-write", 1, Loop::Closed { depth: 1 }, |_| {});
        assert_eq!(drive.serve_at_once(&[page(1), page(2), other, page(4)]), served, "{other:?}");
    }
    let beyond = page(32 << 8);
    assert_eq!(drive(&["flash.pages_per_block=16"], "engine.contents=none").serve_at_once(&[beyond]), 0);
}

/// Notes where marks fall: a hundred requests after the one before, or as soon after that as it is asked.
struct Marks<'a>(&'a mut Vec<u64>);

impl Probe<Drive<CountedFlash>> for Marks<'_> {
    fn programs(&self, _: &Drive<CountedFlash>) -> [u64; DIE_CAUSES] {
        [0; DIE_CAUSES]
    }

    fn next_mark(&self) -> u64 {
        self.0.last().map_or(100, |last| last + 100)
    }

    fn mark(&mut self, _: &Drive<CountedFlash>, _: &HostMeasurements, done: u64) {
        self.0.push(done);
    }
}

#[test]
fn marks_fall_behind_whole_rounds_of_requests_served_at_once() {
    for (depth, second) in [(1, 200), (7, 210), (32, 256)] {
        let [at_once, alone] = ["engine.contents=none", "engine.contents=stamp"].map(|contents| {
            let mut drive = drive(&["flash.pages_per_block=16"], contents);
            let mut source = build("uniform-write", &WorkloadParameters::new(drive.sectors(), 1003)).unwrap();
            let arrivals = Loop::Closed { depth };
            let plan = RunPlan { arrivals, limit: 1003, sectors_per_page: 8, timed: false };
            let mut marks = Vec::new();
            let (ended, _) = run_probed(&mut drive, &mut *source, plan, &mut (), Marks(&mut marks)).unwrap();
            assert_eq!(ended, Ended::Complete);
            marks
        });
        assert_eq!((at_once[1], &at_once), (second, &alone), "depth {depth}");
    }
}
