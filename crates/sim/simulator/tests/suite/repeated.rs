//! A trace that is run several times: whether its passes are a load, and what a new order makes of them.

use engine::random::Stream;
use metrics::RunResult;
use simulator::session::{Prepared, SessionError};
use simulator::{Config, Setting};
use std::fmt::Write;
use std::path::Path;

/// A drive of 32 dies, counted.
const DRIVE: [&str; 5] = [
    "drive.capacity=512MiB",
    "flash.pages_per_block=128",
    "drive.precondition=overwrite",
    "engine.time=none",
    "workload.loop=closed",
];
/// Its pages.
const PAGES: u64 = 131_072;
const REPEAT: &str = "workload.repeat=4";
const SHUFFLE: &str = "workload.repeat_order=shuffle";

fn prepared(trace: &str, settings: &[&str]) -> Prepared {
    let settings: Vec<Setting> =
        DRIVE.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect();
    Prepared::new(Config::load("page", &settings).unwrap(), trace).unwrap()
}

fn run(trace: &str, settings: &[&str]) -> RunResult {
    prepared(trace, settings).run(None, &mut ()).unwrap()
}

fn waf(result: &RunResult) -> f64 {
    result.flash[1].iter().sum::<u64>() as f64 / result.flash[1][0] as f64
}

fn is_told(result: &RunResult) -> bool {
    result.notes.iter().any(|note| note.contains("workload.repeat_order = shuffle") && note.contains("same order"))
}

/// A trace of page-sized writes at these pages.
fn trace(folder: &Path, name: &str, pages: impl Iterator<Item = u64>) -> String {
    let mut rows = "time_ns,device,op,offset_bytes,length_bytes\n".to_owned();
    for (at, page) in (0_u64..).zip(pages) {
        writeln!(rows, "{},0,W,{},4096", at * 50_000, page * 4096).unwrap();
    }
    let path = folder.join(name);
    std::fs::write(&path, rows).unwrap();
    path.to_str().unwrap().to_owned()
}

/// All pages once, in an order of this seed.
fn once(seed: u64) -> Vec<u64> {
    let mut stream = Stream::new(seed, "order");
    let mut order: Vec<u64> = (0..PAGES).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    order
}

/// Its pages died in the order in which they were written: write amplification was 1.0, a life five times too long, and
/// no word of it.
#[test]
fn a_trace_that_writes_each_place_once_is_no_life_when_it_is_repeated_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let short = trace(folder.path(), "once.csv", once(1).into_iter());
    let same = run(&short, &["workload.repeat=12"]);
    assert!(is_told(&same) && waf(&same) < 2.0, "{} {:?}", waf(&same), same.notes);
    match prepared(&short, &[REPEAT]).run_wear(None, &mut ()) {
        Err(error @ SessionError::InOneOrder { .. }) => {
            let text = error.to_string();
            assert!(
                text.contains("Set workload.repeat_order = shuffle") && text.contains("workload.repeat = 4"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    let (shuffled, _) = prepared(&short, &[REPEAT, SHUFFLE]).run_wear(None, &mut ()).unwrap();
    // Passes that really have four orders.
    let long = trace(folder.path(), "four.csv", (1..=4).flat_map(once));
    let real = waf(&run(&long, &[]));
    assert!((waf(&shuffled) / real - 1.0).abs() < 0.03 && real > 4.0, "{} and {real}", waf(&shuffled));
    assert!(!is_told(&shuffled));
    // Without a repetition nothing is wrong with it.
    let single = prepared(&short, &[]).run_wear(None, &mut ()).unwrap().0;
    assert!(!is_told(&single));
}

/// A journal of 61 pages took half of the bytes, and hid that all other pages were written once: a life twice too long,
/// and no word of it.
#[test]
fn a_small_ring_does_not_hide_pages_that_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let beside = (0_u64..).map(|at| PAGES - 61 + at % 61);
    let pages = once(1).into_iter().filter(|page| *page < PAGES - 61).take(98_304).zip(beside);
    let journal = trace(folder.path(), "journal.csv", pages.flat_map(|(page, ring)| [page, ring]));
    let same = run(&journal, &[REPEAT]);
    let shuffled = run(&journal, &[REPEAT, SHUFFLE]);
    assert!(is_told(&same) && waf(&shuffled) > 1.3 * waf(&same), "{} and {}", waf(&same), waf(&shuffled));
    let refused = prepared(&journal, &[REPEAT]).run_wear(None, &mut ());
    assert!(matches!(refused, Err(SessionError::InOneOrder { .. })), "{refused:?}");
}

/// The rounds of a steady state repeat a short trace by themselves.
#[test]
fn rounds_that_reach_a_steady_state_give_each_pass_a_new_order() {
    let folder = tempfile::tempdir().unwrap();
    let short = trace(folder.path(), "once.csv", once(1).into_iter());
    let result = run(&short, &["drive.precondition=steady"]);
    let steady = result.notes.iter().find(|note| note.starts_with("Steady after")).expect("it became steady");
    let (_, last) = steady.rsplit_once("last five: ").unwrap();
    let values = last.trim_end_matches('.').split(", ").map(|value| value.parse::<f64>().unwrap());
    assert!(values.clone().count() == 5 && values.clone().all(|waf| waf > 4.0), "{steady}");
}

#[test]
fn a_trace_that_overwrites_itself_or_writes_in_sequence_may_be_repeated_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let twice = once(1).into_iter().take(10_000).chain(once(1).into_iter().take(10_000).rev());
    let own = trace(folder.path(), "own.csv", twice);
    let sequence = trace(folder.path(), "sequence.csv", 0..PAGES);
    for trace in [&own, &sequence] {
        let (result, _) = prepared(trace, &[REPEAT]).run_wear(None, &mut ()).unwrap();
        assert!(!is_told(&result), "{trace}: {:?}", result.notes);
    }
    // In sequence it stays.
    assert_eq!(run(&sequence, &[REPEAT]).hash, run(&sequence, &[REPEAT, SHUFFLE]).hash);
    // In between there is a note, and no refusal.
    let part = once(1).into_iter().take(10_000).chain(once(1).into_iter().take(7_000));
    let part = trace(folder.path(), "part.csv", part);
    let (result, _) = prepared(&part, &[REPEAT]).run_wear(None, &mut ()).unwrap();
    assert!(is_told(&result), "{:?}", result.notes);
}

#[test]
fn new_orders_follow_from_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let short = trace(folder.path(), "short.csv", once(1).into_iter().take(5_000));
    let hash = |seed: &str| run(&short, &[REPEAT, SHUFFLE, seed]).hash;
    assert_eq!(hash("workload.seed=1"), hash("workload.seed=1"));
    assert_ne!(hash("workload.seed=1"), hash("workload.seed=2"));
    assert_ne!(hash("workload.seed=1"), run(&short, &[REPEAT]).hash);
}
