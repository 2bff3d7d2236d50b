//! Collection in idle time and wear levelling do what they are for.

use crate::support::{go, go_from, plan, timed};
use engine::random::Stream;
use nand::{CountedFlash, Flash as _, TimedFlash};
use simulator::run::Loop;
use simulator::{BlockDevice, Drive};
use trace::{Workload, WorkloadError};
use units::{Cause, HostOp, Request};

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

/// 99th percentile of writes that come in bursts, ns, and the pages that collection copied.
fn bursts(background: &str) -> (u64, u64) {
    let shape = ["drive.capacity=64MiB", "flash.channels=1", "flash.dies_per_channel=2", "flash.pages_per_block=64"];
    let mut drive = timed(&[&shape[..], &[background]].concat());
    go(&mut drive, "sequential-write", 512, Loop::Closed { depth: 8 }, |_| {});
    go(&mut drive, "uniform-write", 30_000, Loop::Closed { depth: 8 }, |_| {});
    let mut source = Bursts { stream: Stream::new(1, "bursts"), pages: drive.sectors() / 8, made: 0 };
    let sheet = go_from(&mut drive, &mut source, 20_000, Loop::Open { limit: 512 });
    drive.top().check(drive.flash()).unwrap();
    let copies = drive.flash().state().counters.programs[Cause::Gc.index()];
    (sheet.latency[WRITE].histogram().percentile(0.99), copies)
}

#[test]
fn background_collection_takes_the_waiting_out_of_bursts() {
    let without = bursts("ftl.gc.background_free_blocks=0");
    let with = bursts("ftl.gc.background_free_blocks=8");
    assert!(with.0 * 3 < without.0 * 2, "p99 of a write {} ns with, {} ns without", with.0, without.0);
    // The text of the key said nothing of its price.
    assert!(with.1 > without.1, "{} pages copied with, {} without", with.1, without.1);
}

/// The text of the key advised it for hot and cold data, where it copies more than others.
#[test]
fn windowed_greedy_wears_blocks_more_evenly_than_greedy() {
    let of = |victim: &str| spread(&wear(&["ftl.wear.static_gap=0", &format!("ftl.gc.victim={victim}")]));
    let [greedy, windowed] = ["greedy", "windowed-greedy"].map(of);
    assert!(windowed < greedy, "erases differ by {windowed}, and with greedy by {greedy}");
}

/// Writes that arrive by themselves, so many ns apart.
struct Steady {
    stream: Stream,
    pages: u64,
    made: u64,
    gap: u64,
}

impl Workload for Steady {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        for _ in 0..limit {
            let first_sector = self.stream.below(self.pages) * 8;
            let arrival = self.made * self.gap;
            batch.push(Request { arrival, first_sector, sectors: 8, op: HostOp::Write, fua: false });
            self.made += 1;
        }
        Ok(())
    }
}

/// Copies for each write, of writes that leave the drive idle between them.
fn copies_beside(settings: &[&str]) -> f64 {
    let shape = ["drive.capacity=64MiB", "flash.channels=1", "flash.dies_per_channel=2", "flash.pages_per_block=256"];
    let mut drive = timed(&[&shape[..], settings].concat());
    go(&mut drive, "sequential-write", 512, Loop::Closed { depth: 8 }, |_| {});
    go(&mut drive, "uniform-write", 30_000, Loop::Closed { depth: 8 }, |_| {});
    let copies = |drive: &Drive<TimedFlash>| drive.flash().state().counters.programs[Cause::Gc.index()];
    let pages = drive.sectors() / 8;
    let mut source = Steady { stream: Stream::new(1, "idle"), pages, made: 0, gap: 300_000_000 };
    // What was due at first is another matter.
    go_from(&mut drive, &mut source, 20, Loop::Open { limit: 512 });
    let before = copies(&drive);
    go_from(&mut drive, &mut source, 300, Loop::Open { limit: 512 });
    (copies(&drive) - before) as f64 / 300.0
}

/// Commits took 181 us without and 5 ms with it: each page that was written let it copy a whole block.
#[test]
fn background_collection_leaves_blocks_alone_that_are_nearly_valid() {
    for more in ["ftl.gc.superblocks=false", "ftl.gc.superblocks=true"] {
        let copies = ["0", "64"].map(|free| copies_beside(&[more, &format!("ftl.gc.background_free_blocks={free}")]));
        assert!(copies[1] < copies[0] + 32.0, "{more}: {copies:?} copies a write, without and with it");
    }
}

/// Mean and 99.9th percentile of writes, in ns, and seconds that all took: of writes `gap` ns apart, or as many as the
/// drive takes.
fn paced(pace: &str, gap: Option<u64>) -> (f64, u64, f64) {
    let shape = [
        "drive.capacity=512MiB",
        "drive.over_provisioning=20%",
        "flash.channels=2",
        "flash.dies_per_channel=2",
        "flash.page_size=16KiB",
        "flash.pages_per_block=24",
        "flash.word_line_pages=3",
        "flash.program_time=1ms",
        "ftl.unit=4KiB",
        "ftl.gc.superblocks=true",
        "ftl.gc.copies_in_flight=24",
    ];
    let mut drive = timed(&[&shape[..], &[pace]].concat());
    go(&mut drive, "sequential-write", 4096, Loop::Closed { depth: 8 }, |_| {});
    go(&mut drive, "uniform-write", 300_000, Loop::Closed { depth: 32 }, |_| {});
    let start = drive.flash().now();
    let pages = drive.sectors() / 8;
    let mut source = Steady { stream: Stream::new(1, "steady"), pages, made: 0, gap: gap.unwrap_or(0) };
    let arrivals = if gap.is_some() { Loop::Open { limit: 512 } } else { Loop::Closed { depth: 64 } };
    let sheet = go_from(&mut drive, &mut source, 100_000, arrivals);
    drive.top().check(drive.flash()).unwrap();
    let writes = sheet.latency[WRITE].histogram();
    (writes.mean(), writes.percentile(0.999), (drive.flash().now() - start) as f64 / 1e9)
}

#[test]
fn collection_that_keeps_pace_takes_the_waiting_out_of_writes() {
    let [eager, host] = ["ftl.gc.pace=eager", "ftl.gc.pace=host"].map(|pace| paced(pace, None));
    assert!((host.2 / eager.2 - 1.0).abs() < 0.05, "it takes {} s, and eager {}", host.2, eager.2);
    assert!((host.1 as f64) < 2.2 * host.0, "at full speed all wait alike: mean {} ns, p99.9 {} ns", host.0, host.1);
    assert!((eager.1 as f64) > 3.0 * eager.0, "mean {} ns, p99.9 {} ns", eager.0, eager.1);
    // Seven tenths of that.
    let gap = (host.2 * 1e9 / 100_000.0 / 0.7) as u64;
    let [eager, host] = ["ftl.gc.pace=eager", "ftl.gc.pace=host"].map(|pace| paced(pace, Some(gap)));
    assert!(host.1 * 20 < eager.1, "p99.9 of a write below the knee: {} ns, and eager {} ns", host.1, eager.1);
}
