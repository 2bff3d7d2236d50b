//! Power cuts after every command of the device.

use crate::bench::{Bench, Subject};
use crate::toy::ToyOptions;
use engine::random::Stream;
use remap::{HOST_DRIVERS, HostDriverEntry};

/// One run: how often it was cut, and the digest of all commands and of the last report.
pub fn run(entry: &HostDriverEntry, seed: u64, faults: f64) -> (u64, u32) {
    let mut random = Stream::new(seed, "options");
    let superpages = 12 + random.below(30) as u32;
    let plan = (entry.small)(superpages, &mut |below| random.below(u64::from(below)) as u32);
    let mut bench = Bench::over(plan, seed);
    bench.device.faults = faults;
    bench.oracle.atomic &= faults == 0.0;
    if random.chance(0.5) {
        let superpage = u64::from(bench.plan.plan().shape.superpage_sectors);
        bench.hot = (bench.hot / 4).max(superpage * 2).min(bench.hot);
    }
    let depth = [1, 2, 8, 32][random.below(4) as usize];
    let mut cuts = 0;
    for _ in 0..200 + random.below(400) {
        let full = bench.outstanding() >= depth;
        if !full && random.chance(0.5) {
            bench.submit_any();
        } else if !bench.device.held.is_empty() {
            bench.complete();
            bench.cut();
            cuts += 1;
        } else if full {
            assert!(bench.wait(), "requests wait for nothing: {:?}", bench.driver);
        } else if random.chance(0.3) {
            bench.wait();
        }
        if random.chance(0.02) {
            bench.checkpoint();
        }
        if random.chance(0.01) {
            bench.restart();
        }
        if bench.driver.front().is_broken() {
            assert!(faults > 0.0, "it broke without a fault");
            break;
        }
        bench.driver.check().expect("all is consistent");
    }
    if !bench.driver.front().is_broken() {
        bench.drain();
    }
    assert!(faults > 0.0 || bench.failures == 0, "something failed without a fault");
    bench.driver.check().expect("all is consistent");
    bench.cut();
    let report = bench.driver.report();
    let counts: Vec<_> = report.counters.iter().map(|counter| (counter.name, counter.count)).collect();
    bench.device.digest.update(format!("{counts:?} {} {}", report.ram_bytes, report.broken).as_bytes());
    (cuts + 1, bench.device.digest.clone().finalize())
}

fn campaign(entry: &HostDriverEntry, first: u64, cuts: u64, faults: fn(u64) -> f64) {
    let mut done = 0;
    for seed in first.. {
        let result = std::panic::catch_unwind(|| run(entry, seed, faults(seed)));
        done += result.unwrap_or_else(|_| panic!("the run of seed {seed} of {} failed", entry.name)).0;
        if done >= cuts {
            return;
        }
    }
}

/// `REMAP_CUTS` asks for more.
fn wanted(usual: u64) -> u64 {
    std::env::var("REMAP_CUTS").map_or(usual, |text| text.parse().expect("REMAP_CUTS is a number"))
}

/// Each driver of the table, at once.
fn each(first: u64, cuts: u64, faults: fn(u64) -> f64) {
    std::thread::scope(|scope| {
        for (number, entry) in (0..).zip(HOST_DRIVERS) {
            scope.spawn(move || campaign(entry, first + number * 2_000_000, cuts, faults));
        }
    });
}

#[test]
fn what_was_flushed_is_there_after_a_cut_at_every_command() {
    each(0, wanted(100_000), |_| 0.0);
}

#[test]
fn commands_that_fail_lose_nothing_silently() {
    each(1_000_000, wanted(100_000) / 4, |seed| [0.01, 0.05, 0.2][seed as usize % 3]);
}

/// A driver that is not of this crate: its file, and its line.
#[test]
fn a_driver_from_outside_is_tried_like_those_of_the_table() {
    let entry = HostDriverEntry::of::<ToyOptions>();
    campaign(&entry, 0, wanted(100_000) / 10, |_| 0.0);
    campaign(&entry, 1_000_000, wanted(100_000) / 40, |seed| [0.01, 0.05, 0.2][seed as usize % 3]);
}
