//! A timeline beside a run: the same run, all of what happened, and the requests that were slowest.

use metrics::RunResult;
use nand::{Choice, Closeup, Served, Slice};
use simulator::session::{Place, Prepared, SessionError, Timeline, TimelinePlan};
use simulator::{Config, Setting};
use std::collections::BTreeSet;
use units::{CAUSES, HostOp, Nanos, WAIT_KINDS, Wait};

const EVERYTHING: TimelinePlan =
    TimelinePlan { window: Some([0, Nanos::MAX / 2]), most: 1 << 20, closeups: Choice::Nobody, samples: false };
const SMALL: [&str; 6] = [
    "drive.capacity=128MiB",
    "flash.pages_per_block=32",
    "drive.over_provisioning=60%",
    "workload.requests=3000",
    "drive.precondition=fill",
    // What is drawn is counted from the state that preconditioning left.
    "measure.warm_up=0",
];

fn prepared(stack: &str, settings: &[&str]) -> Prepared {
    let settings: Vec<Setting> =
        SMALL.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    Prepared::new(Config::load(stack, &settings).unwrap(), "mixed").unwrap()
}

/// A stack, and after a `+` what is set in it.
fn drawn(stack: &str, plan: TimelinePlan) -> (RunResult, Timeline) {
    let mut parts = stack.split('+');
    let (name, settings) = (parts.next().unwrap(), parts.collect::<Vec<_>>());
    let prepared = prepared(name, &settings);
    let without = prepared.run(None, &mut ()).unwrap();
    let (result, timeline) = prepared.run_timeline(None, &mut (), plan).unwrap();
    assert_eq!(without.hash, result.hash, "{stack}: looking changes nothing");
    (result, timeline)
}

#[test]
fn a_timeline_has_all_requests_and_as_much_work_as_was_counted() {
    // None of them has to collect garbage: what the ftl asks for by itself are pages of a map.
    for (stack, wanted) in [
        ("page", &["host"][..]),
        ("dftl+ftl.map_cache=8KiB", &["host", "ftl"]),
        ("page+buffer.kind=page-lru+buffer.size=256KiB", &["host", "buffer"]),
        ("raid5-ppc", &["stripe"]),
        ("block", &["host", "ftl"]),
    ] {
        let (result, timeline) = drawn(stack, EVERYTHING);
        let recorder = &timeline.recorder;
        assert!(!recorder.is_cut_short);
        let requests: u64 = result.host.iter().map(|op| op.requests).sum();
        assert_eq!(recorder.served.len() as u64, requests, "{stack}");
        let of_requests: Nanos = recorder.served.iter().map(nand::Served::latency).sum();
        let mean: f64 =
            result.latency.iter().map(|latency| latency.histogram().mean() * latency.histogram().count() as f64).sum();
        assert!((of_requests as f64 / mean - 1.0).abs() < 1e-9, "{stack}: {of_requests} ns, and {mean} in the result");
        let (asked, done): (Vec<&Slice>, Vec<&Slice>) =
            recorder.slices.iter().partition(|slice| matches!(timeline.place(slice), Place::Layer(_)));
        let pages = |work: nand::Work| -> u64 {
            let of_it = done.iter().filter(|slice| slice.work == work && !slice.is_interrupted);
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
        // Whoever waits for a page to be programmed was drawn as a read.
        for (work, counted) in [(nand::Work::Read, reads), (nand::Work::Program, programs), (nand::Work::Erase, erases)]
        {
            let commands = asked.iter().filter(|slice| slice.work == work).count() as u64;
            assert!(commands >= counted && commands - counted < 200, "{stack}: {commands} {work:?}, {counted} counted");
        }
        let name = |slice: &&Slice| match timeline.place(slice) {
            Place::Layer(layer) => timeline.layers[layer],
            _ => unreachable!(),
        };
        let layers: BTreeSet<&str> = asked.iter().map(name).collect();
        assert_eq!(layers, wanted.iter().copied().collect(), "{stack}: who asked for commands");
    }
}

#[test]
fn no_die_and_no_channel_does_two_things_at_once() {
    for stack in ["page", "raid5-ppc", "two-level"] {
        let (_, timeline) = drawn(stack, EVERYTHING);
        for track in 0..timeline.tracks.len() as u16 {
            let of_it = |slice: &&Slice| slice.track == track && !slice.is_beside;
            let mut slices: Vec<_> = timeline.recorder.slices.iter().filter(of_it).collect();
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
    let (result, timeline) =
        drawn("page", TimelinePlan { window: None, most: 0, closeups: Choice::Slowest(20), samples: false });
    let (_, all) = drawn("page", EVERYTHING);
    let mut latencies: Vec<Nanos> = all.recorder.served.iter().map(nand::Served::latency).collect();
    latencies.sort_unstable_by(|one, other| other.cmp(one));
    let mut slowest: Vec<Nanos> = timeline.recorder.closeups.iter().map(|closeup| closeup.served.latency()).collect();
    slowest.sort_unstable_by(|one, other| other.cmp(one));
    assert_eq!(slowest, latencies[..20]);
    assert!(result.latency.iter().any(|latency| latency.histogram().max() == slowest[0]));
    for closeup in &timeline.recorder.closeups {
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
    let (_, timeline) =
        drawn("page", TimelinePlan { window: None, most: 0, closeups: Choice::Nearest(10, near), samples: false });
    let distances = |requests: &mut dyn Iterator<Item = &nand::Served>| {
        let mut distances: Vec<Nanos> = requests.map(|served| served.latency().abs_diff(near)).collect();
        distances.sort_unstable();
        distances.truncate(10);
        distances
    };
    let found = distances(&mut timeline.recorder.closeups.iter().map(|closeup| &closeup.served));
    assert_eq!(found, distances(&mut all.recorder.served.iter()));
}

#[test]
fn without_dies_in_time_there_is_no_timeline() {
    for setting in ["engine.time=none", "engine.service=serial"] {
        let error = prepared("page", &[setting]).run_timeline(None, &mut (), EVERYTHING).unwrap_err();
        assert!(matches!(error, SessionError::Timeline { .. }), "{setting}: {error}");
    }
}

const OF_EACH: TimelinePlan = TimelinePlan { window: None, most: 0, closeups: Choice::Nobody, samples: true };

#[test]
fn of_each_operation_the_slowest_are_kept_and_some_of_every_latency() {
    let (_, all) = drawn("page", EVERYTHING);
    let (_, sampled) = drawn("page", OF_EACH);
    for op in [HostOp::Read, HostOp::Write] {
        let latencies = |requests: &mut dyn Iterator<Item = &Served>| {
            let of_op = requests.filter(|served| served.request.op == op).map(Served::latency);
            let mut latencies: Vec<Nanos> = of_op.collect();
            latencies.sort_unstable_by(|one, other| other.cmp(one));
            latencies
        };
        let all = latencies(&mut all.recorder.served.iter());
        let kept = latencies(&mut sampled.recorder.samples.iter().map(|closeup| &closeup.served));
        assert_eq!(kept[..20], all[..20], "{}", op.name());
        for share in [10, 25, 50, 75, 90] {
            let wanted = all[all.len() * share / 100];
            let nearest = kept.iter().map(|latency| latency.abs_diff(wanted)).min().unwrap();
            assert!(nearest * 4 <= wanted, "{}: {nearest} ns from the latency {wanted}", op.name());
        }
    }
}

/// Waiting over time is split as waiting is in the whole run.
#[test]
fn what_the_series_tells_of_waiting_adds_up_to_all_of_it() {
    for stack in ["page", "two-level", "raid5-ppc"] {
        let result = prepared(stack, &[]).run(None, &mut ()).unwrap();
        let mut of_series = [0; WAIT_KINDS];
        for sample in &result.series.1 {
            of_series.iter_mut().zip(sample.waited).for_each(|(sum, waited)| *sum += waited);
        }
        let mut of_run = [0; WAIT_KINDS];
        for op in [HostOp::Read, HostOp::Write] {
            let waited = result.latency[op.index()].waited();
            of_run.iter_mut().zip(waited).for_each(|(sum, [_, root])| *sum += root);
        }
        assert_eq!(of_series, of_run, "{stack}");
        assert!(of_run.iter().any(|waited| *waited > 0), "{stack}: something waits");
    }
}

/// A request of one command has waited for each cause as long as the picture shows that cause on its die.
#[test]
fn what_a_closeup_shows_adds_up_to_what_the_request_waited_for() {
    for stack in ["page", "dftl"] {
        let (_, sampled) = drawn(stack, OF_EACH);
        let mut checked = 0;
        for Closeup { served, slices, is_cut_short } in &sampled.recorder.samples {
            let own: Vec<_> = slices.iter().filter(|slice| slice.request == served.number).collect();
            let ([own], Some(waited), false) = (own.as_slice(), &served.waited, *is_cut_short) else { continue };
            let outside = [Wait::Link, Wait::Firmware, Wait::Space].map(|wait| waited.direct(wait));
            let begin = served.request.arrival + served.queue_ns + outside.iter().sum::<Nanos>();
            if served.request.op != HostOp::Read || waited.total() + served.queue_ns == 0 {
                continue;
            }
            for cause in CAUSES {
                let before = slices.iter().filter(|slice| slice.cause == cause && slice.end <= own.begin);
                let shown: Nanos = before.map(|slice| slice.end.saturating_sub(slice.begin.max(begin))).sum();
                assert_eq!(
                    shown,
                    waited.direct(Wait::Cause(cause)),
                    "{stack}, {}: {served:?}\n{slices:?}",
                    cause.name()
                );
            }
            checked += 1;
        }
        assert!(checked > 20, "{stack}: {checked} requests were checked");
    }
}
