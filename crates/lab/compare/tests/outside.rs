//! Comparisons as a Rust program makes them.

use compare::{CompareError, Comparison, Drawing, LifeError, LifePlan, LifeQuestion, Source, Stack, Stage};
use experiment::Monitor;
use simulator::session::{TimelinePlan, Watcher};
use simulator::{Config, Setting};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn config(stack: &str, more: &[&str]) -> Config {
    let small = [
        "drive.capacity=64MiB",
        "flash.channels=2",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=32",
        "drive.over_provisioning=60%",
        "drive.precondition=none",
        "workload.requests=1000",
    ];
    let settings: Vec<Setting> = small.iter().chain(more).map(|text| Setting::from_argument(text).unwrap()).collect();
    Config::load(stack, &settings).unwrap()
}

fn question() -> LifeQuestion {
    let warranty = "5y".to_owned();
    LifeQuestion { per_day: None, warranty, price_per_gb: None, price: None, currency: None, tbw: None }
}

/// Counts the runs that are begun, and keeps what they give.
#[derive(Default)]
struct Desk {
    begun: AtomicUsize,
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Stage for Desk {
    fn watcher(&self, _: &str) -> Box<dyn Watcher + '_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Box::new(())
    }
}

impl Monitor for Desk {
    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().get(name).cloned()
    }

    fn keep(&self, name: &str, given: &[u8]) {
        self.kept.lock().unwrap().insert(name.to_owned(), given.to_vec());
    }
}

/// Repetitions and what they tell could be had from the command line alone.
#[test]
fn a_program_compares_and_goes_on_with_what_was_kept() {
    let desk = Desk::default();
    let source = Source::Named("mixed");
    let compared = |repetitions| {
        let stacks = ["page", "dftl"].map(|name| Stack::new(config(name, &[]), source).unwrap());
        Comparison { repetitions, ..Comparison::new(source) }.run(stacks.into(), &desk, &desk).unwrap()
    };
    let two = compared(2);
    assert!(two.repeated[0].sentence().is_none());
    assert!(two.repeated[1].sentence().unwrap().starts_with("dftl against page, 2 repetitions: better in "));
    assert_eq!(two.documents()[1]["repeated"]["count"], 2);
    assert_eq!(desk.begun.load(Ordering::Relaxed), 4);
    assert_eq!(compared(3).repeated.len(), 2);
    assert_eq!(desk.begun.load(Ordering::Relaxed), 6, "what was kept is not run again");
}

#[test]
fn lives_over_seeds_go_on_with_what_was_kept() {
    let desk = Desk::default();
    let source = Source::Named("uniform-write");
    let over_seeds = |repetitions, price| {
        let question = LifeQuestion { price: Some(price), ..question() };
        let worn = ["flash.endurance=3000", "drive.precondition=overwrite", "workload.requests=100000"];
        let plan = LifePlan::new(|_| Ok::<_, LifeError>(config("page", &worn)), &question).unwrap();
        let stack = Stack::with_life(plan, source).unwrap();
        let asked = Comparison { repetitions, ..Comparison::new(source) };
        let compared = asked.run(vec![stack], &desk, &desk).unwrap();
        compared.ran[0].lived.as_ref().unwrap().over_seeds.as_ref().unwrap().to_json()
    };
    let [two, three] = [2, 3].map(|repetitions| over_seeds(repetitions, 10.0));
    assert_eq!((&two["count"], &three["count"]), (&2.into(), &3.into()));
    assert_eq!(desk.begun.load(Ordering::Relaxed), 3, "what was kept is not run again");
    let dearer = over_seeds(3, 20.0);
    assert_eq!(dearer["tbw"], three["tbw"]);
    assert_ne!(dearer["price_per_tb_written"], three["price_per_tb_written"], "another question has another answer");
}

#[test]
fn what_cannot_be_done_is_told_before_anything_runs() {
    let source = Source::Named("mixed");
    let drawing = Drawing { plan: TimelinePlan::default(), percentile: None, path: "no/such/folder/t.json".into() };
    let mut stacks = vec![Stack::new(config("page", &[]), source).unwrap()];
    let error = Comparison { drawing: Some(&drawing), ..Comparison::new(source) }.give_files(&mut stacks).unwrap_err();
    assert!(matches!(error, CompareError::Stack { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "stack `page`: no/such/folder/t.json: there is no folder no/such/folder",
        "a stack among several is named"
    );
    let question = LifeQuestion { price: Some(-1.0), ..question() };
    let plan = LifePlan::new(|_| Ok::<_, LifeError>(config("page", &[])), &question);
    assert!(
        matches!(plan, Err(LifeError::Question(problem)) if problem.contains("--price -1: write a number above 0"))
    );
}
