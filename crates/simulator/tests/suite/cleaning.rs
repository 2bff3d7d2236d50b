//! Collection in idle time and wear levelling do what they are for.
#![allow(missing_docs)]

use crate::support::{go, go_from, plan, timed};
use engine::random::Stream;
use nand::CountedFlash;
use simulator::run::Loop;
use simulator::{BlockDevice, Drive};
use trace::{Workload, WorkloadError};
use units::{HostOp, Request};

const WRITE: usize = HostOp::Write as usize;

fn spread<F: simulator::Clocked>(drive: &Drive<F>) -> u32 {
    let erases = || drive.flash().state().blocks().iter().map(|row| row.erases);
    erases().max().unwrap() - erases().min().unwrap()
}

/// Fills the drive, then writes only a tenth of it over and over.
fn wear(settings: &[&str]) -> Drive<CountedFlash> {
    let shape = ["drive.capacity=64MiB", "flash.channels=1", "flash.dies_per_channel=1", "flash.pages_per_block=64"];
    let plan = plan(&[&shape[..], settings].concat());
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    go(&mut drive, "sequential-write", 512, Loop::Closed { depth: 1 }, |_| {});
    go(&mut drive, "uniform-write", 400_000, Loop::Closed { depth: 1 }, |parameters| parameters.footprint_share = 0.1);
    drive.top().check(drive.flash()).unwrap();
    drive
}

#[test]
fn static_wear_levelling_bounds_the_spread_of_erases() {
    let without = spread(&wear(&["ftl.wear.static_gap=0"]));
    let with = spread(&wear(&["ftl.wear.static_gap=16"]));
    assert!(without > 60, "cold blocks never moved: {without}");
    assert!(with <= 2 * 16, "the gap is looked at every few closings, one block at a time: {with}");
}

#[test]
fn dynamic_wear_levelling_narrows_the_spread() {
    let off = spread(&wear(&["ftl.wear.dynamic=false", "ftl.wear.static_gap=16"]));
    let on = spread(&wear(&["ftl.wear.dynamic=true", "ftl.wear.static_gap=16"]));
    assert!(on <= off, "{on} with, {off} without");
}

/// Bursts of 200 page writes at random places, one every second.
struct Bursts {
    stream: Stream,
    pages: u64,
    made: u64,
}

impl Workload for Bursts {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        for _ in 0..limit {
            let arrival = self.made / 200 * 1_000_000_000;
            let first_sector = self.stream.below(self.pages) * 8;
            batch.push(Request { arrival, first_sector, sectors: 8, op: HostOp::Write, fua: false });
            self.made += 1;
        }
        Ok(())
    }
}

/// 99th percentile of writes that come in bursts, ns.
fn bursts(background: &str) -> u64 {
    let shape = ["drive.capacity=64MiB", "flash.channels=1", "flash.dies_per_channel=2", "flash.pages_per_block=64"];
    let mut drive = timed(&[&shape[..], &[background]].concat());
    go(&mut drive, "sequential-write", 512, Loop::Closed { depth: 8 }, |_| {});
    go(&mut drive, "uniform-write", 30_000, Loop::Closed { depth: 8 }, |_| {});
    let mut source = Bursts { stream: Stream::new(1, "bursts"), pages: drive.sectors() / 8, made: 0 };
    let sheet = go_from(&mut drive, &mut source, 20_000, Loop::Open { limit: 512 });
    drive.top().check(drive.flash()).unwrap();
    sheet.latency[WRITE].histogram().percentile(0.99)
}

#[test]
fn background_collection_takes_the_waiting_out_of_bursts() {
    let without = bursts("ftl.gc.background_free_blocks=0");
    let with = bursts("ftl.gc.background_free_blocks=8");
    assert!(with * 3 < without * 2, "p99 of a write {with} ns with, {without} ns without");
}
