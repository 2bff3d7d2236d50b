//! The host side against what must hold of any queue: ceilings, Little's law, utilisation.

use crate::support::{go, timed};
use simulator::run::{HostMeasurements, Loop};
use simulator::session::{Prepared, SAMPLE};
use simulator::{BlockDevice, Completions, Config, Progress, Setting};
use units::{Cause, HostOp, Request, Wait};

const READ: usize = HostOp::Read as usize;
const SMALL: [&str; 3] = ["drive.capacity=256MiB", "flash.channels=2", "flash.dies_per_channel=2"];

fn seconds(sheet: &HostMeasurements) -> f64 {
    (sheet.ended - sheet.started) as f64 / 1e9
}

fn fill(drive: &mut simulator::Drive<nand::TimedFlash>) {
    go(drive, "sequential-write", 2048, Loop::Closed { depth: 8 }, |_| {});
}

#[test]
fn an_idle_read_costs_the_data_sheet_sum() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let sheet = go(&mut drive, "uniform-read", 1000, Loop::Closed { depth: 1 }, |_| {});
    // 25 us in the array, 4 KiB at 819.2 MB/s.
    assert_eq!(sheet.latency[READ].histogram().max(), 25_000 + 5_000);
    assert!((sheet.latency[READ].histogram().mean() - 30_000.0).abs() < 1e-6);
}

#[test]
fn deep_queues_reach_the_ceiling_of_the_dies() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let sheet = go(&mut drive, "uniform-read", 50_000, Loop::Closed { depth: 256 }, |_| {});
    let iops = 50_000.0 / seconds(&sheet);
    let ceiling = 4.0 / 30e-6; // four dies, each held for array and transfer
    assert!(iops <= ceiling * 1.0001 && iops > ceiling * 0.97, "{iops:.0} of {ceiling:.0} IOPS");
}

#[test]
fn a_request_pays_both_ways_and_the_firmware() {
    let front = ["host.latency=4us", "controller.page_time=3us", "controller.cores=2"];
    let inside = ["controller.latency=9us", "controller.request_time=7us"];
    for (front, more) in [(&front[..], 0), (&[&front[..], &inside].concat(), 9_000 + 7_000)] {
        let mut drive = timed(&[&SMALL[..], front].concat());
        fill(&mut drive);
        let sheet = go(&mut drive, "uniform-read", 1000, Loop::Closed { depth: 1 }, |_| {});
        assert_eq!(sheet.latency[READ].histogram().max(), 25_000 + 5_000 + 2 * 4_000 + 3_000 + more);
    }
}

/// One time for each page capped large requests: a drive of 500,000 small reads a second read 2 GB/s in sequence.
#[test]
fn many_small_requests_and_large_ones_at_the_speed_of_the_link_go_together() {
    let fast = ["flash.channels=8", "flash.dies_per_channel=8", "flash.read_time=5us", "flash.bus_bandwidth=8GB/s"];
    let size = ["drive.capacity=1GiB", "flash.pages_per_block=64"];
    let front = ["controller.request_time=2us", "controller.page_time=50ns", "host.link_bandwidth=4GB/s"];
    for (workload, least) in [("uniform-read", 0.97 * 4096.0 / 2.05e-6), ("sequential-read", 0.97 * 4e9)] {
        let mut drive = timed(&[&size[..], &fast, &front].concat());
        fill(&mut drive);
        let sheet = go(&mut drive, workload, 4_000, Loop::Closed { depth: 256 }, |_| {});
        let bytes: u64 = sheet.totals.iter().map(|totals| totals.bytes).sum();
        let rate = bytes as f64 / seconds(&sheet);
        assert!(rate >= least && rate < least / 0.96, "{workload}: {rate:.3e} of {least:.3e} bytes a second");
    }
}

/// One drive reads beside saturating writes in milliseconds, as it serves commands in order; others let reads pass.
#[test]
fn reads_pass_writes_that_wait_for_room_or_wait_behind_them() {
    let [passing, in_order] = ["pass", "in-order"].map(|reads| {
        let reads = format!("controller.reads_when_full={reads}");
        let flash = ["flash.part=tlc-176l", "flash.pages_per_block=24", "flash.channels=2", "flash.dies_per_channel=1"];
        let memory = ["drive.capacity=256MiB", "drive.over_provisioning=40%", "ftl.unit=4KiB"];
        let mut drive = timed(&[&flash[..], &memory, &["flash.suspend=program-erase", &reads]].concat());
        fill(&mut drive);
        let shape = |parameters: &mut trace::synthetic::WorkloadParameters| parameters.read_share = Some(0.02);
        let sheet = go(&mut drive, "mixed", 20_000, Loop::Closed { depth: 64 }, shape);
        let mean = |op: HostOp| sheet.latency[op as usize].histogram().mean();
        (mean(HostOp::Read), mean(HostOp::Write))
    });
    assert!(passing.0 < 0.2 * passing.1, "{passing:?}");
    assert!(in_order.0 > 0.7 * in_order.1, "{in_order:?}");
}

#[test]
fn the_cores_of_the_controller_are_a_ceiling() {
    for (cores, workload) in [(1.0, "uniform-read"), (2.0, "uniform-read"), (2.0, "sequential-read")] {
        let front = ["controller.page_time=50us", &format!("controller.cores={cores}")];
        let mut drive = timed(&[&SMALL[..], &front].concat());
        fill(&mut drive);
        let sheet = go(&mut drive, workload, 2_000, Loop::Closed { depth: 64 }, |_| {});
        let pages = sheet.totals[READ].pages as f64 / seconds(&sheet);
        let ceiling = cores / 50e-6;
        assert!(pages <= ceiling * 1.001 && pages > ceiling * 0.97, "{workload}: {pages:.0} of {ceiling:.0} pages/s");
    }
}

/// The firmware of a measured drive took 63,000 writes a second and 45,000 reads.
#[test]
fn the_firmware_may_take_another_time_for_writes() {
    for (workload, time) in [("uniform-read", 50e-6), ("uniform-write", 30e-6)] {
        let front = ["controller.page_time=50us", "controller.write_time=30us", "flash.program_time=10us"];
        let mut drive = timed(&[&SMALL[..], &front].concat());
        if workload == "uniform-read" {
            fill(&mut drive);
        }
        let sheet = go(&mut drive, workload, 2_000, Loop::Closed { depth: 64 }, |_| {});
        let rate = 2_000.0 / seconds(&sheet);
        assert!(rate <= 1.001 / time && rate > 0.97 / time, "{workload}: {rate:.0} of {:.0} a second", 1.0 / time);
    }
}

/// A trim of 1 GiB kept the firmware of a drive busy for 5.8 seconds, and a recorded trace read with a median of 9.
#[test]
fn a_trim_takes_the_firmware_once_and_not_for_each_page() {
    let front = ["drive.capacity=2GiB", "controller.page_time=22us"];
    let mut drive = timed(&[&SMALL[1..], &front].concat());
    let sectors = 1 << 21;
    for (arrival, op, sectors) in [(0, HostOp::Trim, sectors), (0, HostOp::Read, 8)] {
        drive.submit(0, &Request { arrival, first_sector: 0, sectors, op, fua: false });
    }
    let mut completions = Completions::default();
    while drive.outstanding() > 0 {
        assert!(drive.advance(&mut completions) == Progress::Worked);
    }
    // The read comes after the trim: each takes the only core for 22 us.
    assert_eq!(drive.now(), 44_000, "of pages that hold nothing");
}

/// The recorded sample is read from built-in drives with a median below 10 ms.
fn sample_is_read_soon(settings: [&str; 2], but: &[&str]) {
    let drives = simulator::config::drives();
    assert!(drives.len() > 6);
    for drive in drives.iter().map(|drive| drive.name).filter(|drive| !but.contains(drive)) {
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let config = Config::load(drive, &settings).unwrap();
        let result = Prepared::new(config, SAMPLE).unwrap().run(None, &mut ()).unwrap();
        let median = result.latency[READ].histogram().percentile(0.5);
        assert!(median < 10_000_000, "{drive}: half of all reads take {median} ns or more");
    }
}

/// Read latencies were those of a queue of trims: "queue 100 %", and a median of 9 s.
#[test]
fn no_erased_drive_reads_the_recorded_sample_with_a_median_above_10_ms() {
    sample_is_read_soon(["drive.scale=64", "drive.precondition=none"], &[]);
}

/// Client drives cleaned more than they gained, and had a median of 40 s. A full QLC drive is left out: it has no cache
/// left, and at 100 MB/s needs minutes for what the sample's writes and their cleaning program.
#[test]
fn no_full_drive_reads_the_recorded_sample_with_a_median_above_10_ms() {
    sample_is_read_soon(["drive.scale=256", "drive.precondition=overwrite"], &["generic-qlc-client"]);
}

#[test]
fn the_host_link_is_a_ceiling_in_each_direction() {
    for workload in ["sequential-read", "sequential-write"] {
        let mut drive = timed(&[&SMALL[..], &["host.link_bandwidth=20MB/s"]].concat());
        fill(&mut drive);
        let sheet = go(&mut drive, workload, 1000, Loop::Closed { depth: 32 }, |_| {});
        let bytes: u64 = sheet.totals.iter().map(|totals| totals.bytes).sum();
        let rate = bytes as f64 / seconds(&sheet);
        assert!(rate <= 20e6 * 1.0001 && rate > 20e6 * 0.97, "{workload}: {rate:.0} bytes a second");
    }
}

#[test]
fn littles_law_holds_and_no_die_works_more_than_all_the_time() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let busy_before: Vec<u64> = drive.flash().die_busy_ns().collect();
    let shape = |parameters: &mut trace::synthetic::WorkloadParameters| parameters.read_share = Some(0.5);
    let sheet = go(&mut drive, "mixed", 100_000, Loop::Closed { depth: 32 }, shape);
    let time = (sheet.ended - sheet.started) as f64;
    let latency: f64 = sheet.latency.iter().map(|l| l.histogram().mean() * l.histogram().count() as f64).sum::<f64>();
    let depth = latency / time; // arrival rate x mean time in the system
    assert!((depth / 32.0 - 1.0).abs() < 0.02, "mean number under way {depth:.2}");
    for (before, after) in busy_before.iter().zip(drive.flash().die_busy_ns()) {
        assert!((after - before) as f64 <= time * 1.001, "a die was busy {} of {time} ns", after - before);
    }
}

#[test]
fn waiting_never_exceeds_latency_and_explains_all_but_the_service() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let sheet = go(&mut drive, "uniform-read", 20_000, Loop::Closed { depth: 16 }, |_| {});
    let all = sheet.latency[READ].tail(1.0);
    let waiting: f64 = all.direct.iter().sum();
    let root: f64 = all.root.iter().sum();
    // A single-page read is served in exactly 30 us; the rest is waiting, by either account.
    assert!((all.latency - waiting - 30_000.0).abs() < 1.0, "{} of {} explained", waiting, all.latency);
    assert!((root - waiting).abs() < 1.0);
}

#[test]
fn an_open_loop_keeps_arrival_times_and_queues_what_comes_too_fast() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let slow =
        |parameters: &mut trace::synthetic::WorkloadParameters| parameters.mean_interarrival_ns = Some(1_000_000);
    let sheet = go(&mut drive, "uniform-read", 2000, Loop::Open { limit: 64 }, slow);
    let expected = 2000.0 * 1e-3;
    assert!((seconds(&sheet) / expected - 1.0).abs() < 0.1, "took {} s", seconds(&sheet));
    // A percentile is the bound of its bucket, at most 1/64 above the exact value.
    assert!((30_000..=30_500).contains(&sheet.latency[READ].histogram().percentile(0.5)));
    let fast = |parameters: &mut trace::synthetic::WorkloadParameters| parameters.mean_interarrival_ns = Some(1_000);
    let sheet = go(&mut drive, "uniform-read", 20_000, Loop::Open { limit: 64 }, fast);
    let tail = sheet.latency[READ].tail(1.0);
    let queue = tail.direct[Wait::Queue.index()];
    assert!(queue > tail.latency * 0.8, "most of {} ns was spent in the host's queue, not {queue}", tail.latency);
}

/// Whatever kept a drive full, the page named "queue 100 %" as the root cause; and so it did, with many places, of the
/// requests that stood in the queue when the last one had arrived.
#[test]
fn the_root_cause_of_the_hosts_queue_is_what_keeps_the_drive_full() {
    let too_fast =
        |parameters: &mut trace::synthetic::WorkloadParameters| parameters.mean_interarrival_ns = Some(1_000);
    for (front, root) in [
        ("host.link_bandwidth=20MB/s", Wait::Link),
        ("controller.page_time=300us", Wait::Firmware),
        ("flash.read_time=2ms", Wait::Cause(Cause::Host)),
    ] {
        for (limit, least_queued) in [(64, 0.8), (1024, 0.3)] {
            let mut drive = timed(&[&SMALL[..], &[front]].concat());
            fill(&mut drive);
            let sheet = go(&mut drive, "uniform-read", 3_000, Loop::Open { limit }, too_fast);
            let tail = sheet.latency[READ].tail(1.0);
            let [queue, caused] = [tail.direct[Wait::Queue.index()], tail.root[root.index()]];
            let all = tail.latency;
            assert!(queue > all * least_queued, "{front}, {limit}: {queue} of {all} ns in the host's queue");
            assert!(caused > all * 0.9, "{front}, {limit}: {caused} of {all} ns: {:?}", tail.root);
            let [direct, roots] = [tail.direct.iter().sum::<f64>(), tail.root.iter().sum()];
            assert!((direct - roots).abs() < 1.0, "{front}: {direct} ns by blocker, {roots} ns by root cause");
        }
    }
}

#[test]
fn the_slowest_writes_are_explained_without_rounding() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    go(&mut drive, "uniform-write", 60_000, Loop::Closed { depth: 32 }, |_| {});
    let sheet = go(&mut drive, "uniform-write", 60_000, Loop::Closed { depth: 32 }, |_| {});
    for share in [1.0, 0.01, 0.001] {
        let tail = sheet.latency[HostOp::Write as usize].tail(share);
        // A page write is served in exactly 5 us on the channel and 200 us in the array.
        assert!((tail.service() - 205_000.0).abs() < 1.0, "slowest {share}: service {} ns", tail.service());
    }
}

#[test]
fn no_time_is_charged_twice_to_requests_taken_in_pieces() {
    let shape = ["drive.capacity=64MiB", "flash.channels=4", "flash.dies_per_channel=4", "flash.pages_per_block=16"];
    let mut drive = timed(&shape);
    let large = |parameters: &mut trace::synthetic::WorkloadParameters| parameters.request_bytes = Some(4 << 20);
    let sheet = go(&mut drive, "sequential-write", 200, Loop::Closed { depth: 2 }, large);
    let all = sheet.latency[HostOp::Write as usize].tail(1.0);
    let waiting: f64 = all.direct.iter().sum();
    assert!(waiting <= all.latency + 1.0, "waited {waiting} of {} ns", all.latency);
}

#[test]
fn the_series_never_shows_more_under_way_than_the_queue_holds() {
    let mut drive = timed(&SMALL);
    fill(&mut drive);
    let sheet = go(&mut drive, "uniform-write", 100_000, Loop::Closed { depth: 16 }, |_| {});
    let (interval, samples) = sheet.series.finish(metrics::Look::default());
    let most = samples.iter().map(|sample| sample.occupancy).max().unwrap();
    assert!(most <= 16 * interval, "mean depth {} in one interval", most as f64 / interval as f64);
}

#[test]
fn reads_cannot_suspend_a_program_for_ever() {
    let options = ["flash.suspend=program-erase", "flash.suspend_time=30us", "flash.channels=1"];
    let shape = ["drive.capacity=64MiB", "drive.over_provisioning=200%", "flash.dies_per_channel=1"];
    let mut drive = timed(&[&options[..], &shape[..], &["flash.pages_per_block=64"]].concat());
    go(&mut drive, "sequential-write", 512, Loop::Closed { depth: 8 }, |_| {});
    let sheet = go(&mut drive, "mixed", 50_000, Loop::Open { limit: 1024 }, |parameters| {
        parameters.read_share = Some(0.98);
        parameters.mean_interarrival_ns = Some(42_000);
    });
    let mean = sheet.latency[HostOp::Write as usize].histogram().mean();
    assert!(mean < 10e6, "a write took {mean} ns on average");
}

#[test]
fn waiting_in_the_page_register_is_no_service() {
    let options = ["flash.cache_program=true", "flash.cache_read=true"];
    let mut drive = timed(&[&SMALL[..], &options[..]].concat());
    fill(&mut drive);
    for (workload, op, service) in
        [("uniform-write", HostOp::Write, 205_000.0), ("uniform-read", HostOp::Read, 30_000.0)]
    {
        let sheet = go(&mut drive, workload, 2000, Loop::Closed { depth: 32 }, |_| {});
        let all = sheet.latency[op as usize].tail(1.0);
        assert!((all.service() - service).abs() < 1.0, "{workload}: service {} ns", all.service());
    }
}

/// A drive that took 100 MB/s answered a trace with a mean of 36 s, and no note said why.
#[test]
fn a_load_above_what_the_drive_takes_is_told_with_both_rates() {
    let doubt = |settings: &[&str]| {
        let few = ["drive.precondition=fill", "workload.requests=20000", "workload.request_size=4KiB"];
        let settings: Vec<Setting> =
            [&SMALL[..], &few, settings].concat().iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let prepared = Prepared::new(Config::load("page", &settings).unwrap(), "uniform-write").unwrap();
        let result = prepared.run(None, &mut ()).unwrap();
        result.notes[0].starts_with("Doubt: the load is more than the drive takes").then(|| result.notes[0].clone())
    };
    let open = |gap: &str| doubt(&["workload.loop=open", gap]);
    let told = open("workload.interarrival=10us").expect("four dies program 4 KiB in 200 us each");
    assert!(metrics::is_caution(&told), "comparisons and sweeps hid it: {told}");
    let told: Vec<&str> = told.split_whitespace().collect();
    let rate = |after: &str| -> f64 {
        let place = told.iter().position(|word| *word == after).unwrap() + 1;
        told[place].trim_end_matches(['.', ',']).trim_end_matches("MB/s").parse().unwrap()
    };
    assert!((rate("offers") / 409.6 - 1.0).abs() < 0.03, "{told:?}");
    assert!(rate("serves") < 82.0, "{told:?}");
    assert_eq!(open("workload.interarrival=1ms"), None);
    assert_eq!(doubt(&["workload.loop=closed"]), None);
    let place = told.iter().position(|word| *word == "workload.time_scale").unwrap() + 2;
    let eased = format!("workload.time_scale={}", told[place]);
    assert_eq!(doubt(&["workload.loop=open", "workload.interarrival=10us", &eased]), None, "its advice: {eased}");
}

/// Just below the knee requests waited 86 ms for a program of 0.2 ms, and no word was said.
#[test]
fn a_load_that_the_drive_only_just_takes_is_told() {
    let doubt = |gap: &str| {
        let gap = format!("workload.interarrival={gap}");
        let settings = ["drive.capacity=256MiB", "flash.channels=1", "workload.requests=100000", "workload.loop=open"];
        let settings = [&settings[..], &[&gap]].concat();
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let prepared = Prepared::new(Config::load("page", &settings).unwrap(), "uniform-write").unwrap();
        let result = prepared.run(None, &mut ()).unwrap();
        result.notes.iter().find(|note| note.starts_with("Doubt: the load")).cloned()
    };
    let told = doubt("260us").expect("the drive takes a write in about 260 us");
    assert!(told.contains("about as much as the drive takes") && metrics::is_caution(&told), "{told}");
    assert!(told.contains("workload.time_scale to 2.0"), "{told}");
    assert_eq!(doubt("280us"), None, "requests wait 1.3 ms on average");
    assert_eq!(doubt("520us"), None, "as its advice of twice the time");
}
