//! A timeline beside a run: the same run, all of what happened, and the requests that were slowest.

use metrics::RunResult;
use simulator::session::{Prepared, SessionError, Timeline, TimelinePlan};
use simulator::{Config, Setting};
use units::Nanos;

const EVERYTHING: TimelinePlan =
    TimelinePlan { window: Some([0, Nanos::MAX / 2]), most: 1 << 20, slowest: 0, near: None };
const SMALL: [&str; 5] = [
    "drive.capacity=128MiB",
    "flash.pages_per_block=32",
    "drive.over_provisioning=60%",
    "workload.requests=3000",
    "drive.precondition=fill",
];

fn prepared(stack: &str, settings: &[&str]) -> Prepared {
    let settings: Vec<Setting> =
        SMALL.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    Prepared::new(Config::load(stack, &settings).unwrap(), "mixed").unwrap()
}

fn drawn(stack: &str, plan: TimelinePlan) -> (RunResult, Timeline) {
    let prepared = prepared(stack, &[]);
    let without = prepared.run(None, &mut ()).unwrap();
    let (result, timeline) = prepared.run_timeline(None, &mut (), plan).unwrap();
    assert_eq!(without.hash, result.hash, "{stack}: looking changes nothing");
    (result, timeline)
}

#[test]
fn a_timeline_has_all_requests_and_as_much_work_as_was_counted() {
    for stack in ["page", "dftl", "two-level", "raid5-ppc"] {
        let (result, timeline) = drawn(stack, EVERYTHING);
        let recorder = &timeline.recorder;
        assert!(!recorder.is_cut_short);
        let requests: u64 = result.host.iter().map(|op| op.requests).sum();
        assert_eq!(recorder.served.len() as u64, requests, "{stack}");
        let of_requests: Nanos = recorder.served.iter().map(nand::Served::latency).sum();
        let mean: f64 =
            result.latency.iter().map(|latency| latency.histogram().mean() * latency.histogram().count() as f64).sum();
        assert!((of_requests as f64 / mean - 1.0).abs() < 1e-9, "{stack}: {of_requests} ns, and {mean} in the result");
        let pages = |work: nand::Work| -> u64 {
            let of_it = recorder.slices.iter().filter(|slice| slice.work == work && !slice.is_interrupted);
            of_it.map(|slice| u64::from(slice.pages)).sum()
        };
        let [reads, programs, erases] = [0, 1, 2].map(|kind| result.flash[kind].iter().sum::<u64>());
        let (works, transfers) = (pages(nand::Work::Read), pages(nand::Work::DataOut));
        // What was under way when the last request ended is counted when it ends, which is never.
        assert!(works >= reads && works - reads < 200, "{stack}: {works} pages were read, {reads} counted");
        assert!(transfers >= reads && transfers - reads < 200, "{stack}: {transfers} came out, {reads} counted");
        let works = pages(nand::Work::Program);
        assert!(works >= programs && works - programs < 200, "{stack}: {works} programmed, {programs} counted");
        assert_eq!(pages(nand::Work::Erase), erases, "{stack}");
    }
}

#[test]
fn no_die_and_no_channel_does_two_things_at_once() {
    for stack in ["page", "raid5-ppc", "two-level"] {
        let (_, timeline) = drawn(stack, EVERYTHING);
        for track in 0..timeline.tracks.len() as u16 {
            let mut slices: Vec<_> = timeline.recorder.slices.iter().filter(|slice| slice.track == track).collect();
            slices.sort_by_key(|slice| (slice.begin, slice.end));
            assert!(
                slices.is_sorted_by(|one, next| one.end <= next.begin),
                "{stack}, {}",
                timeline.tracks[track as usize]
            );
        }
    }
}

#[test]
fn the_slowest_requests_are_those_and_their_commands_are_with_them() {
    let (result, timeline) = drawn("page", TimelinePlan { window: None, most: 0, slowest: 20, near: None });
    let (_, all) = drawn("page", EVERYTHING);
    let mut latencies: Vec<Nanos> = all.recorder.served.iter().map(nand::Served::latency).collect();
    latencies.sort_unstable_by(|one, other| other.cmp(one));
    let mut slowest: Vec<Nanos> = timeline.recorder.slowest.iter().map(|closeup| closeup.served.latency()).collect();
    slowest.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(slowest, latencies[..20]);
    assert!(result.latency.iter().any(|latency| latency.histogram().max() == slowest[0]));
    for closeup in &timeline.recorder.slowest {
        let (served, number) = (&closeup.served, closeup.served.number);
        let own: Vec<_> = closeup.slices.iter().filter(|slice| slice.request == number).collect();
        let its = own.iter().filter(|slice| slice.begin >= served.request.arrival && slice.end <= served.end);
        assert!(closeup.is_cut_short || its.count() > 0, "{closeup:?}");
    }
}

#[test]
fn those_nearest_to_a_latency_are_nearer_than_all_others() {
    let (result, all) = drawn("page", EVERYTHING);
    let near = result.reads_and_writes().histogram().percentile(0.9);
    let (_, timeline) = drawn("page", TimelinePlan { window: None, most: 0, slowest: 10, near: Some(near) });
    let distances = |requests: &mut dyn Iterator<Item = &nand::Served>| {
        let mut distances: Vec<Nanos> = requests.map(|served| served.latency().abs_diff(near)).collect();
        distances.sort_unstable();
        distances.truncate(10);
        distances
    };
    let found = distances(&mut timeline.recorder.slowest.iter().map(|closeup| &closeup.served));
    assert_eq!(found, distances(&mut all.recorder.served.iter()));
}

#[test]
fn without_dies_in_time_there_is_no_timeline() {
    for setting in ["engine.time=none", "engine.service=serial"] {
        let error = prepared("page", &[setting]).run_timeline(None, &mut (), EVERYTHING).unwrap_err();
        assert!(matches!(error, SessionError::Timeline { .. }), "{setting}: {error}");
    }
}
