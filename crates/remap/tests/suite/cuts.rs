//! Power cuts after every command of the device.

use crate::bench::{Bench, Shape};
use engine::random::Stream;
use remap::{HostDriver, LogOptions, Options};

/// One run; how often it was cut.
fn run<O: Shape>(seed: u64, faults: f64) -> u64 {
    let mut random = Stream::new(seed, "options");
    let options = O::random(&mut random);
    let superpages = 12 + random.below(30) as u32;
    let mut bench = Bench::new(options, superpages, seed);
    bench.device.faults = faults;
    bench.oracle.atomic &= faults == 0.0;
    if random.chance(0.5) {
        bench.hot = (bench.hot / 4).max(u64::from(options.superpage_sectors()) * 2).min(bench.hot);
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
        if bench.driver.host_report().is_broken() {
            assert!(faults > 0.0, "it broke without a fault");
            break;
        }
        bench.driver.check().expect("all is consistent");
    }
    if !bench.driver.host_report().is_broken() {
        bench.drain();
    }
    assert!(faults > 0.0 || bench.failures == 0, "something failed without a fault");
    bench.driver.check().expect("all is consistent");
    bench.cut();
    cuts + 1
}

fn campaign<O: Shape>(first: u64, cuts: u64, faults: fn(u64) -> f64) {
    let mut done = 0;
    for seed in first.. {
        let result = std::panic::catch_unwind(|| run::<O>(seed, faults(seed)));
        done += result.unwrap_or_else(|_| panic!("the run of seed {seed} failed"));
        if done >= cuts {
            return;
        }
    }
}

/// `REMAP_CUTS` asks for more.
fn wanted(usual: u64) -> u64 {
    std::env::var("REMAP_CUTS").map_or(usual, |text| text.parse().expect("REMAP_CUTS is a number"))
}

#[test]
fn what_was_flushed_is_there_after_a_cut_at_every_command() {
    campaign::<Options>(0, wanted(100_000), |_| 0.0);
}

#[test]
fn commands_that_fail_lose_nothing_silently() {
    campaign::<Options>(1_000_000, wanted(100_000) / 4, |seed| [0.01, 0.05, 0.2][seed as usize % 3]);
}

#[test]
fn what_was_flushed_is_there_after_a_cut_at_every_command_of_a_log_cache() {
    campaign::<LogOptions>(2_000_000, wanted(60_000), |_| 0.0);
}

#[test]
fn commands_of_a_log_cache_that_fail_lose_nothing_silently() {
    campaign::<LogOptions>(3_000_000, wanted(60_000) / 4, |seed| [0.01, 0.05, 0.2][seed as usize % 3]);
}
