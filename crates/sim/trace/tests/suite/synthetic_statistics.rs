//! Synthetic workloads against the figures they are built from.

use std::collections::{BTreeMap, BTreeSet};

use trace::synthetic::{WORKLOADS, WorkloadParameters, build};
use units::{HostOp, Request};

const GIBIBYTE_SECTORS: u64 = 1 << 21;

fn requests(name: &str, parameters: &WorkloadParameters) -> Vec<Request> {
    let mut all = Vec::new();
    let mut workload = build(name, parameters).unwrap_or_else(|error| panic!("{error}"));
    workload.next_batch(&mut all, parameters.requests as usize).expect("a generator cannot fail");
    all
}

fn share(all: &[Request], which: impl Fn(&Request) -> bool) -> f64 {
    all.iter().filter(|request| which(request)).count() as f64 / all.len() as f64
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} ± {tolerance}");
}

#[test]
fn calibrated_workloads_match_what_was_published() {
    let mut calibrated = Vec::new();
    for entry in &WORKLOADS {
        let Some(calibration) = entry.calibration else { continue };
        calibrated.push(entry.name);
        for seed in 1..=3 {
            for comparison in calibration(seed).unwrap() {
                assert!(comparison.holds(), "{} seed {seed}: {comparison:?}", entry.name);
            }
        }
    }
    assert_eq!(calibrated, ["desktop-ntfs", "financial2", "oltp", "search", "system-disk", "umpc"]);
}

#[test]
fn desktop_sleeps_at_night() {
    let all = requests("desktop-ntfs", &WorkloadParameters::new(GIBIBYTE_SECTORS, 1_900_000));
    let hours = 3_600_000_000_000;
    let nights = all.windows(2).filter(|pair| pair[1].arrival - pair[0].arrival > 15 * hours).count();
    assert_eq!(nights, 2);
}

#[test]
fn a_system_disk_has_the_mean_size_and_the_writes_asked_for() {
    for (bytes, writes) in [(43_315, 0.7189), (48_896, 0.6344)] {
        let parameters = WorkloadParameters {
            request_bytes: Some(bytes),
            read_share: Some(1.0 - writes),
            ..WorkloadParameters::new(8 * GIBIBYTE_SECTORS, 200_000)
        };
        let all = requests("system-disk", &parameters);
        assert_near(share(&all, |request| request.op == HostOp::Write), writes, 0.005);
        let sectors: u64 = all.iter().map(|request| u64::from(request.sectors)).sum();
        assert_near(sectors as f64 * 512.0 / all.len() as f64 / bytes as f64, 1.0, 0.015);
    }
}

#[test]
fn oltp_writes_three_quarters_by_default() {
    let all = requests("oltp", &WorkloadParameters::new(GIBIBYTE_SECTORS, 100_000));
    assert_near(share(&all, |request| request.op == HostOp::Write), 0.768, 0.01);
}

#[test]
fn jesd219_has_its_sizes_bands_and_mix() {
    let sectors = 20 * GIBIBYTE_SECTORS;
    let all = requests("jesd219", &WorkloadParameters::new(sectors, 200_000));
    assert_near(share(&all, |request| request.op == HostOp::Write), 0.6, 0.005);
    for (size, expected) in [(1, 0.04), (7, 0.01), (8, 0.67), (16, 0.1), (32, 0.07), (64, 0.03), (128, 0.03)] {
        assert_near(share(&all, |request| request.sectors == size), expected, 0.004);
    }
    assert_near(share(&all, |request| request.first_sector < sectors / 20), 0.5, 0.005);
    assert_near(share(&all, |request| request.first_sector < sectors / 5), 0.8, 0.005);
    let aligned = |request: &Request| request.sectors < 8 || request.first_sector.is_multiple_of(8);
    assert!(all.iter().all(aligned));
}

#[test]
fn hot_cold_splits_the_traffic() {
    let parameters = WorkloadParameters {
        hot_space: Some(0.1),
        hot_traffic: Some(0.9),
        ..WorkloadParameters::new(GIBIBYTE_SECTORS, 200_000)
    };
    let all = requests("hot-cold", &parameters);
    assert_near(share(&all, |request| request.first_sector < GIBIBYTE_SECTORS / 10), 0.9, 0.005);
    assert!(all.iter().all(|request| request.op == HostOp::Write));
}

#[test]
fn mixed_keeps_the_shares_asked_for() {
    let parameters = WorkloadParameters {
        trim_share: Some(0.1),
        flush_every: 99,
        ..WorkloadParameters::new(GIBIBYTE_SECTORS, 200_000)
    };
    let all = requests("mixed", &parameters);
    assert_near(share(&all, |request| request.op == HostOp::Trim), 0.1 * 0.99, 0.003);
    assert_near(share(&all, |request| request.op == HostOp::Read), 0.63 * 0.99, 0.004);
    assert_near(share(&all, |request| request.op == HostOp::Flush), 0.01, 1e-9);
}

#[test]
fn zipf_gives_its_busiest_places_their_exact_shares() {
    let parameters = WorkloadParameters { zipf_exponent: Some(0.8), ..WorkloadParameters::new(80_000, 2_000_000) };
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for request in requests("zipf", &parameters) {
        *counts.entry(request.first_sector).or_default() += 1;
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let weight = |rank: u32| f64::from(rank).powf(-0.8);
    let total: f64 = (1..=10_000).map(weight).sum();
    for top in [1, 10, 100, 1_000] {
        let exact: f64 = (1..=top).map(weight).sum::<f64>() / total;
        let hits: u32 = counts.iter().take(top as usize).sum();
        assert_near(f64::from(hits) / 2e6 / exact, 1.0, 0.02);
    }
}

#[test]
fn uniform_reaches_every_place_evenly() {
    let all = requests("uniform-write", &WorkloadParameters::new(800, 200_000));
    let mut counts = [0_u32; 100];
    for request in &all {
        counts[request.first_sector as usize / 8] += 1;
    }
    assert!(counts.iter().all(|count| (1_750..2_250).contains(count)), "{counts:?}");
}

#[test]
fn sequential_visits_each_place_once_per_pass() {
    let parameters = WorkloadParameters { request_bytes: Some(4096), ..WorkloadParameters::new(8_000, 2_000) };
    let all = requests("sequential-read", &parameters);
    for pass in all.chunks(1_000) {
        assert!(pass.iter().enumerate().all(|(index, request)| request.first_sector == index as u64 * 8));
    }
}

#[test]
fn iozone_goes_through_its_phases() {
    let all = requests("iozone", &WorkloadParameters::new(GIBIBYTE_SECTORS, 50_003));
    let ops: Vec<HostOp> = all.chunks(10_000).map(|phase| phase[0].op).take(5).collect();
    let (read, write) = (HostOp::Read, HostOp::Write);
    assert_eq!(ops, [write, write, read, read, write]);
    for (index, phase) in all.chunks(10_000).take(5).enumerate() {
        assert!(phase.iter().all(|request| request.op == ops[index] && request.sectors == 128));
        let in_order = phase.windows(2).filter(|pair| pair[0].end_sector() == pair[1].first_sector).count();
        assert_eq!(in_order == 9_999, index < 3, "phase {index} has {in_order} requests in order");
    }
}

#[test]
fn postmark_reads_only_what_exists() {
    let parameters = WorkloadParameters { trim_share: Some(1.0), ..WorkloadParameters::new(64 << 11, 100_000) };
    let mut written = BTreeSet::new();
    let mut trims = 0;
    for request in requests("postmark", &parameters) {
        let blocks = request.first_sector / 8..request.end_sector() / 8;
        match request.op {
            HostOp::Write => written.extend(blocks),
            HostOp::Read => assert!(blocks.into_iter().all(|block| written.contains(&block)), "{request:?}"),
            _ => {
                trims += 1;
                blocks.for_each(|block| assert!(written.remove(&block), "block {block} trimmed twice"));
            }
        }
    }
    assert!(trims > 10_000, "{trims} trims");
}

#[test]
fn postmark_writes_metadata_where_it_wrote_last() {
    let all = requests("postmark", &WorkloadParameters::new(64 << 11, 100_000));
    let metadata: Vec<u64> =
        all.iter().map(|request| request.first_sector).filter(|&first_sector| first_sector < 64 * 32).collect();
    let same = metadata.windows(2).filter(|pair| pair[0] == pair[1]).count();
    // The random fifth may hit the same block too.
    assert_near(same as f64 / metadata.len() as f64, 0.8, 0.01);
}
