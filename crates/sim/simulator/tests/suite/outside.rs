//! Policies that a program registers, and requests that it has in memory: the same drive, whoever decides.

use buffer::{EvictionPolicy, EvictionView};
use engine::random::Stream;
use ftl::gc::{VictimPolicy, VictimView};
use metrics::RunResult;
use simulator::session::{self, GivenRequests, Prepared, SessionError, SessionOptions, Snapshots};
use simulator::{Config, Setting};
use std::sync::Arc;
use stripe::choice::{Candidate, CommitOrder, CommitPolicy};
use units::{HostOp, Request};

const SMALL: [&str; 5] = [
    "drive.capacity=64MiB",
    "flash.channels=4",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=64",
    "drive.precondition=fill",
];

fn config(stack: &str, more: &[&str]) -> Config {
    let settings = SMALL.iter().chain(more).map(|text| Setting::from_argument(text).unwrap());
    Config::load(stack, &settings.collect::<Vec<_>>()).unwrap()
}

fn run(stack: &str, more: &[&str]) -> RunResult {
    let options = SessionOptions { workload: "zipf".to_owned(), snapshots: None };
    session::run(config(stack, &[more, &["workload.requests=5000"]].concat()), &options, &mut ()).unwrap()
}

struct Greedy;

impl VictimPolicy for Greedy {
    fn pick(&mut self, view: &VictimView<'_>, _: &mut Stream) -> Option<usize> {
        view.candidates().min_by_key(|(block, valid)| (*valid, *block)).map(|(block, _)| block)
    }
}

/// Chooses what gains least.
struct Fullest;

impl VictimPolicy for Fullest {
    fn pick(&mut self, view: &VictimView<'_>, _: &mut Stream) -> Option<usize> {
        view.candidates().max_by_key(|(_, valid)| *valid).map(|(block, _)| block)
    }
}

struct Oldest;

impl EvictionPolicy for Oldest {
    fn pick(&mut self, view: &EvictionView<'_>) -> Option<usize> {
        assert!(view.pages.len() == view.writes.len() && view.pages.len() == view.reads.len());
        Some(0)
    }
}

struct Most;

impl CommitPolicy for Most {
    fn order(&self) -> CommitOrder {
        CommitOrder::Oldest
    }

    fn choose(&mut self, idle: &mut dyn Iterator<Item = Candidate>) -> Option<u32> {
        // The first of the most, as the built-in order has it; `max_by_key` would take the last.
        let most = idle.fold(None, |most: Option<Candidate>, next| match most {
            Some(most) if most.newer >= next.newer => Some(most),
            _ => Some(next),
        });
        most.map(|candidate| candidate.stripe)
    }
}

#[test]
fn a_registered_policy_decides_as_the_built_in_one_it_copies() {
    ftl::gc::register("test-greedy", "greedy once more", Arc::new(|_| Box::new(Greedy)), None).unwrap();
    buffer::register("test-oldest", "page-only once more", Arc::new(|_| Box::new(Oldest)), None).unwrap();
    stripe::choice::register("test-largest", "largest once more", Arc::new(|| Box::new(Most)), None).unwrap();
    let striped = ["stripe.cache.entries=16", "stripe.in_flight=16"];
    let victim = |name| [&striped[..], &[name]].concat();
    for (stack, own, copy) in [
        ("page", vec!["ftl.gc.victim=greedy"], vec!["ftl.gc.victim=test-greedy"]),
        (
            "page",
            vec!["buffer.kind=page-only", "buffer.size=512KiB"],
            vec!["buffer.kind=test-oldest", "buffer.size=512KiB"],
        ),
        ("raid5-ppc", victim("stripe.cache.victim=largest"), victim("stripe.cache.victim=test-largest")),
    ] {
        let (own, copied) = (run(stack, &own), run(stack, &copy));
        assert_eq!(own.hash, copied.hash, "{stack} {copy:?}");
    }
    assert!(
        Config::load("page", &[Setting::from_argument("ftl.gc.victim=test-gredy").unwrap()])
            .unwrap_err()
            .to_string()
            .contains("test-greedy")
    );
}

#[test]
fn a_policy_that_chooses_full_blocks_for_ever_is_overruled() {
    ftl::gc::register("test-fullest", "the fullest block", Arc::new(|_| Box::new(Fullest)), None).unwrap();
    let result = run("page", &["ftl.gc.victim=test-fullest"]);
    assert!(result.counters["ftl.overruled_victims"] > 0, "{:?}", result.counters);
}

#[test]
fn the_state_of_a_drive_with_a_policy_from_outside_is_not_kept() {
    ftl::gc::register("test-unkept", "greedy once more", Arc::new(|_| Box::new(Greedy)), None).unwrap();
    let folder = std::env::temp_dir().join(format!("nandarium-unkept-{}", std::process::id()));
    let snapshots = Some(Snapshots { folder: folder.clone(), build: "test".to_owned(), files: 12, bytes: u64::MAX });
    let options = SessionOptions { workload: "zipf".to_owned(), snapshots };
    let more = ["ftl.gc.victim=test-unkept", "workload.requests=100"];
    session::run(config("page", &more), &options, &mut ()).unwrap();
    assert!(!folder.exists(), "nothing was to be kept");
    session::run(config("page", &more[1..]), &options, &mut ()).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

fn given(requests: Vec<Request>, timed: bool, more: &[&str]) -> Result<RunResult, SessionError> {
    Prepared::given(config("page", more), "mine", &GivenRequests::new(requests, timed))?.run(None, &mut ())
}

#[test]
fn requests_in_memory_are_run_and_what_cannot_be_served_is_said_before() {
    let write =
        |arrival, first_sector, sectors| Request { arrival, first_sector, sectors, op: HostOp::Write, fua: false };
    let flush = |sectors| Request { op: HostOp::Flush, ..write(9, 0, sectors) };
    let result = given(vec![write(0, 0, 8), write(5, 64, 1), flush(0)], true, &[]).unwrap();
    assert_eq!((result.requests(), result.workload.as_str(), result.queue_depth), (3, "mine", None));
    assert_eq!(given(vec![write(0, 0, 8)], false, &["workload.queue_depth=4"]).unwrap().queue_depth, Some(4));
    for (requests, words) in [
        (vec![write(5, 0, 8), write(4, 0, 8)], "request 1 (the first is 0) arrives at 4 ns"),
        (vec![write(0, 0, 0)], "has no sectors"),
        (vec![flush(8)], "a flush of 8 sectors"),
        (vec![write(0, u64::MAX, 8)], "enlarge drive.capacity"),
    ] {
        let problem = given(requests, true, &[]).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    let refused = given(vec![write(0, 0, 8)], true, &["workload.read_share=50%"]).unwrap_err().to_string();
    assert!(refused.contains("workload.read_share has no effect"), "{refused}");
}

#[test]
fn a_request_that_arrives_later_than_time_can_be_told_is_refused_with_its_number() {
    let write = |arrival| Request { arrival, first_sector: 0, sectors: 8, op: HostOp::Write, fua: false };
    let day = 86_400_000_000_000;
    for arrival in [200 * 365 * day, u64::MAX] {
        let refused = given(vec![write(0), write(day), write(arrival)], true, &[]).unwrap_err().to_string();
        assert!(refused.contains("request 3 arrives") && refused.contains("workload.time_scale"), "{refused}");
        // Arrival times that do not count may be anything.
        assert!(given(vec![write(0), write(arrival)], true, &["workload.loop=closed"]).is_ok());
        assert!(given(vec![write(0), write(arrival)], true, &["engine.time=none"]).is_ok());
    }
    assert_eq!(given(vec![write(0), write(day), write(365 * day)], true, &[]).unwrap().requests(), 3);
}
