//! Real traces, when `NANDARIUM_TRACES` names a folder that holds them.

use std::path::PathBuf;
use std::time::Instant;

use trace::Workload;
use trace::formats::{DevicePolicy, Fit, OpenOptions, TraceOptions, TraceSummary, TraceWorkload, open, summarise};
use units::HostOp;

/// The path of `name`, or `None` with the reason printed.
fn real(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("NANDARIUM_TRACES") else {
        println!("skipped: NANDARIUM_TRACES does not name a folder with real traces");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    path.into_os_string().into_string().ok()
}

fn summary(name: &str) -> Option<TraceSummary> {
    let path = real(name)?;
    let started = Instant::now();
    let mut records = open(&path, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let summary = summarise(&mut records).unwrap_or_else(|error| panic!("{error}"));
    println!("{name}: {:?} in {:?}\n{summary:#?}", summary.format, started.elapsed());
    Some(summary)
}

fn count(summary: &TraceSummary, op: HostOp) -> u64 {
    summary.ops[op.index()].records
}

#[test]
fn windows_boot() {
    let Some(summary) = summary("win11-boot.wpa.csv.bz2") else { return };
    assert_eq!(summary.format, "wpa");
    assert_eq!(count(&summary, HostOp::Read), 156_028);
    assert_eq!(count(&summary, HostOp::Write), 16_259);
    assert_eq!(count(&summary, HostOp::Flush), 343);
    assert_eq!(summary.duration_ns / 1_000_000_000, 51);
}

#[test]
fn hp_workstation() {
    let Some(summary) = summary("hplajw-1week.srt.xz") else { return };
    assert_eq!(summary.format, "hp-srt");
    assert_eq!(summary.records, 44_519);
    assert_eq!(summary.devices.len(), 2);
    let writes = count(&summary, HostOp::Write) as f64 / summary.records as f64;
    assert!((writes - 0.707).abs() < 0.001, "{writes}");
    // 1449 cylinders of 904 sectors of 256 bytes.
    assert!(summary.end_bytes_max <= 1449 * 904 * 256, "{}", summary.end_bytes_max);
}

#[test]
fn simulator_traces() {
    for (name, format, records, devices, writes) in [
        ("fin1-first10k.ssdsim.xz", "ssdsim", 10_000, 22, 0.59),
        ("websearch-60s.mqsim.xz", "mqsim", 24_783, 6, 0.0002),
        ("tpcc-small.mqsim.xz", "mqsim", 6999, 16, 0.37),
        ("disksim-ascii100k.disksim.xz", "disksim", 100_000, 14, 0.20),
    ] {
        let Some(summary) = summary(name) else { continue };
        assert_eq!((summary.format, summary.records, summary.devices.len()), (format, records, devices), "{name}");
        let share = count(&summary, HostOp::Write) as f64 / summary.records as f64;
        assert!((share - writes).abs() < 0.005, "{name}: {share}");
    }
}

#[test]
fn smartphones() {
    for (name, records) in [
        ("nexus5-googlemap.biotracer.xz", 6266),
        ("nexus5-installing.biotracer.xz", 17_952),
        ("nexus5-twitter.biotracer.xz", 13_807),
    ] {
        let Some(summary) = summary(name) else { continue };
        assert_eq!((summary.format, summary.records), ("biotracer", records), "{name}");
    }
}

#[test]
fn every_fit_replays_a_trace_of_many_devices_on_a_small_drive() {
    let Some(path) = real("fin1-first10k.ssdsim.xz") else { return };
    let capacity_sectors = (1 << 30) / 512;
    let options = TraceOptions::new(capacity_sectors);
    let refused = TraceWorkload::open(&path, &options).err().expect("several devices").to_string();
    assert!(refused.contains("22 devices"), "{refused}");
    for fit in [Fit::Modulo, Fit::Compact, Fit::Scale] {
        let options = TraceOptions { devices: DevicePolicy::Concat, fit, ..options.clone() };
        let mut workload = TraceWorkload::open(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload.remaining(), Some(10_000));
        let mut requests = Vec::new();
        workload.next_batch(&mut requests, usize::MAX).unwrap_or_else(|error| panic!("{error}"));
        assert!(requests.len() >= 10_000, "{fit:?}");
        assert!(requests.iter().all(|request| request.end_sector() <= capacity_sectors), "{fit:?}");
    }
}
