//! Latencies and what they were made of.

use metrics::{LatencyRecorder, Tail, Waits};
use proptest::prelude::*;
use units::{Cause, Nanos, WAIT_KINDS, Wait};

/// A request: its own work, what its last command waited for by kind, and its waits before the drive took it.
#[derive(Clone, Debug)]
struct Served {
    service: Nanos,
    waits: Vec<(usize, Nanos)>,
    queue: Nanos,
}

impl Served {
    fn latency(&self) -> Nanos {
        self.service + self.queue + self.waits.iter().map(|wait| wait.1).sum::<Nanos>()
    }

    fn waited_for(&self, kind: usize) -> Nanos {
        let queue = if kind == Wait::Queue.index() { self.queue } else { 0 };
        queue + self.waits.iter().filter(|wait| wait.0 == kind).map(|wait| wait.1).sum::<Nanos>()
    }
}

fn served(most: usize) -> impl Strategy<Value = Vec<Served>> {
    let waits = prop::collection::btree_map(0..WAIT_KINDS, 0..100_000_u64, 0..4);
    let one = (1..1_000_000_u64, waits, 0..50_000_u64);
    let one = one.prop_map(|(service, waits, queue)| Served { service, waits: waits.into_iter().collect(), queue });
    prop::collection::vec(one, 1..most)
}

fn recorder(requests: &[Served]) -> LatencyRecorder {
    let mut recorder = LatencyRecorder::default();
    for request in requests {
        // What bits leave out means nothing.
        let mut entries = [[77; 2]; WAIT_KINDS];
        let mut kinds = 0;
        for (kind, time) in &request.waits {
            entries[*kind] = [*time, *time];
            kinds |= 1 << kind;
        }
        let waits = Waits { entries: &entries, kinds };
        recorder.record(request.latency(), Some(waits), request.queue);
    }
    recorder
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-6 + expected.abs() * 1e-9
}

fn words(tail: &Tail) -> String {
    format!("{tail:?}")
}

proptest! {
    #[test]
    fn service_and_waits_by_cause_add_up_to_the_latency(requests in served(200)) {
        let all = recorder(&requests).tail(1.0);
        let count = requests.len() as f64;
        prop_assert_eq!(all.requests, requests.len() as u64);
        let mean = |of: &dyn Fn(&Served) -> Nanos| requests.iter().map(of).sum::<Nanos>() as f64 / count;
        prop_assert!(is_near(all.latency, mean(&Served::latency)));
        prop_assert!(is_near(all.service(), mean(&|request| request.service)), "{} ns of service", all.service());
        for kind in 0..WAIT_KINDS {
            let waited = mean(&|request| request.waited_for(kind));
            prop_assert!(is_near(all.direct[kind], waited), "{}", Wait::name_at(kind));
        }
        prop_assert!(is_near(all.direct.iter().sum::<f64>(), all.root.iter().sum()), "both ways of charging agree");
    }

    #[test]
    fn the_slowest_share_has_the_latencies_at_the_end_of_the_sorted_list(requests in served(200), share in 0.001..1.0) {
        let slow = recorder(&requests).tail(share);
        let mut latencies: Vec<Nanos> = requests.iter().map(Served::latency).collect();
        latencies.sort_unstable();
        let wanted = (latencies.len() as f64 * share).ceil() as usize;
        prop_assert_eq!(slow.requests, wanted as u64);
        let exact = latencies[latencies.len() - wanted..].iter().sum::<Nanos>() as f64 / wanted as f64;
        prop_assert!((slow.latency - exact).abs() <= exact / 64.0, "{} is not near {exact}", slow.latency);
    }

    #[test]
    fn recorders_added_in_any_parts_are_that_of_the_whole(
        requests in served(100), cut in any::<prop::sample::Index>(), share in 0.01..1.0,
    ) {
        let (one, other) = requests.split_at(cut.index(requests.len()));
        let mut sum = recorder(one);
        sum.merge(&recorder(other));
        prop_assert_eq!(words(&sum.tail(share)), words(&recorder(&requests).tail(share)));
        prop_assert_eq!(sum.histogram().count(), requests.len() as u64);
    }

    #[test]
    fn a_slower_share_is_no_faster(requests in served(100), shares in any::<[u16; 2]>()) {
        let all = recorder(&requests);
        let [low, high] = shares.map(|share| f64::from(share.max(1)) / f64::from(u16::MAX));
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(all.tail(low).latency >= all.tail(high).latency - 1e-6);
    }
}

#[test]
fn what_was_in_the_way_and_what_that_was_waiting_for_are_told_apart() {
    let mut recorder = LatencyRecorder::default();
    let mut entries = [[0; 2]; WAIT_KINDS];
    entries[Cause::Host.index()] = [300, 100];
    entries[Cause::Gc.index()] = [0, 200];
    let waits = Waits { entries: &entries, kinds: 1 << Cause::Host.index() | 1 << Cause::Gc.index() };
    recorder.record(1_000, Some(waits), 0);
    let tail = recorder.tail(1.0);
    assert_eq!(words(&tail), words(&Tail { requests: 1, latency: 1_000.0, ..tail.clone() }));
    assert!(is_near(tail.direct[Cause::Host.index()], 300.0) && is_near(tail.direct[Cause::Gc.index()], 0.0));
    assert!(is_near(tail.root[Cause::Host.index()], 100.0) && is_near(tail.root[Cause::Gc.index()], 200.0));
    assert!(is_near(tail.service(), 700.0));
}

#[test]
fn a_recorder_without_requests_has_no_tail() {
    let tail = LatencyRecorder::default().tail(0.01);
    assert_eq!((tail.requests, tail.latency.to_bits()), (0, 0.0_f64.to_bits()));
}
