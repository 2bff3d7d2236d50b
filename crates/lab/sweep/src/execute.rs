//! Running a grid: on all cores, each result kept as soon as it is there.

use crate::error::ExecuteError;
use crate::grid::{Grid, Run, trace_digest};
use crate::metric::METRICS;
use crate::store::Store;
use crate::threads;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use simulator::session::{self, Phase, SessionError, SessionOptions, Snapshots, Watcher};
use simulator::{Config, ConfigError};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Version of the JSON form of an outcome.
const SCHEMA: &str = "nandarium.sweep-run/1";

/// Most threads a sweep may be given.
pub const MOST_THREADS: u16 = 1024;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All requests were served.
    Complete,
    /// The drive took no more writes; what was measured until then counts.
    DriveFull,
    /// The same, because too many blocks went bad.
    WornOut,
    /// The combination cannot be built.
    Impossible,
    /// It could not be measured: a steady state that did not come, a trace that does not fit.
    Failed,
    /// This machine has too little memory for it. It is due again: another machine may have more, or this one later.
    NoMemory,
}

impl Status {
    pub const ALL: [Status; 6] =
        [Status::Complete, Status::DriveFull, Status::WornOut, Status::Impossible, Status::Failed, Status::NoMemory];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::DriveFull => "drive-full",
            Status::WornOut => "worn-out",
            Status::Impossible => "impossible",
            Status::Failed => "failed",
            Status::NoMemory => "no-memory",
        }
    }

    /// Whether it says something of the run, and not of the machine: such a run is not due again.
    pub fn is_of_run(self) -> bool {
        self != Status::NoMemory
    }

    /// Whether a result stands behind it.
    pub fn is_measured(self) -> bool {
        matches!(self, Status::Complete | Status::DriveFull | Status::WornOut)
    }
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: Status,
    /// Why it was not measured.
    pub error: Option<String>,
    /// Hash of the simulated result.
    pub hash: Option<String>,
    /// Its metrics, by place in [`METRICS`].
    pub metrics: Vec<Option<f64>>,
    /// What was chosen for it, and what to look out for, a sentence each.
    pub notes: Vec<String>,
}

/// Texts of a list.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

impl Outcome {
    /// One that was not measured.
    pub fn without_result(status: Status, error: String) -> Self {
        Self { status, error: Some(error), hash: None, metrics: vec![None; METRICS.len()], notes: Vec::new() }
    }

    /// What a result says.
    pub fn of_result(result: &Value) -> Option<Self> {
        let status = result["status"].as_str()?;
        let status = Status::ALL.into_iter().find(|known| known.name() == status)?;
        let hash = result["hash"].as_str().map(str::to_owned);
        let notes = texts(&result["notes"]).filter(|note| metrics::is_caution(note)).map(str::to_owned).collect();
        Some(Self {
            status,
            error: None,
            hash,
            metrics: METRICS.iter().map(|metric| metric.of(result)).collect(),
            notes,
        })
    }

    /// As it is kept, with the run it belongs to.
    pub fn to_json(&self, run: &Value) -> Value {
        let metrics: Map<String, Value> = METRICS
            .iter()
            .zip(&self.metrics)
            .filter_map(|(metric, value)| Some((metric.name.to_owned(), json!((*value)?))))
            .collect();
        json!({
            "schema": SCHEMA, "status": self.status.name(), "error": self.error, "hash": self.hash,
            "metrics": metrics, "notes": self.notes, "run": run,
        })
    }

    /// Reads what [`Outcome::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let status = value["status"].as_str().filter(|_| value["schema"] == SCHEMA)?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Self {
            status: Status::ALL.into_iter().find(|known| known.name() == status)?,
            error: text("error"),
            hash: text("hash"),
            metrics: METRICS.iter().map(|metric| value["metrics"][metric.name].as_f64()).collect(),
            notes: texts(&value["notes"]).map(str::to_owned).collect(),
        })
    }
}

/// Watches a sweep, from several threads, and may stop it.
pub trait Monitor: Sync {
    /// Runs to be done, and runs that were found done.
    fn begin(&self, runs: usize, found: usize);
    fn ended(&self, run: &Run, outcome: &Outcome);
    fn is_stopped(&self) -> bool;
    /// Seconds since any fixed moment.
    fn seconds(&self) -> f64;
}

/// A part of a grid: every `count`-th run, from `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 0.
    pub index: usize,
    /// How many parts there are.
    pub count: usize,
}

impl Shard {
    /// The whole plan: one shard of one.
    pub const ALL: Shard = Shard { index: 0, count: 1 };
}

/// Hands what a session says on to a monitor.
struct Relay<'a>(&'a dyn Monitor);

impl Watcher for Relay<'_> {
    fn phase(&mut self, _: Phase, _: Option<u64>) {}

    fn progress(&mut self, _: u64) -> bool {
        !self.0.is_stopped()
    }

    fn seconds(&self) -> f64 {
        self.0.seconds()
    }

    fn remark(&mut self, _: &str) {}
}

/// Runs a configuration, as far as there is one: what became of it, and its result. `None`: it was stopped.
pub(crate) fn run_one(
    config: Result<Config, ConfigError>,
    workload: &str,
    snapshots: Option<Snapshots>,
    watcher: &mut dyn Watcher,
) -> Option<(Outcome, Option<Value>)> {
    let options = SessionOptions { workload: workload.to_owned(), snapshots };
    let failed = |status, error: String| Some((Outcome::without_result(status, error), None));
    let config = match config {
        Ok(config) => config,
        Err(error) => return failed(Status::Impossible, error.to_string()),
    };
    match session::run(config, &options, watcher) {
        Ok(result) if result.status == metrics::Status::Interrupted => None,
        Ok(result) => {
            let document = result.to_json();
            let outcome = Outcome::of_result(&document).expect("results have a status");
            Some((outcome, Some(document)))
        }
        Err(SessionError::Interrupted) => None,
        Err(error @ SessionError::Config(ConfigError::Memory { .. })) => failed(Status::NoMemory, error.to_string()),
        Err(error @ SessionError::Config(_)) => failed(Status::Impossible, error.to_string()),
        Err(error) => failed(Status::Failed, error.to_string()),
    }
}

/// Runs what the store does not hold yet. Outcomes in the order of the grid; `None` for what was not run, because
/// somebody stopped it or it belongs to another shard.
///
/// `jobs` is how many runs there may be at once; without it, one for each core.
/// Errors: a result cannot be written, or the system does not give the threads.
pub fn execute(
    grid: &Grid,
    store: &Store,
    shard: Shard,
    build: &str,
    jobs: Option<usize>,
    monitor: &dyn Monitor,
) -> Result<Vec<Option<Outcome>>, ExecuteError> {
    let ledger = Ledger::of(grid, store, shard);
    monitor.begin(ledger.outcomes.len() + ledger.due.len(), ledger.outcomes.len());
    if ledger.due.is_empty() {
        return Ok(in_order(grid, &ledger.outcomes));
    }
    // A thread without a run would only take memory.
    let pool = threads::for_runs(ledger.due.len(), jobs)?;
    Ok(pool.install(|| run_due(grid, store, build, ledger, monitor))?)
}

/// Runs what is due on the threads it is called on. What finds too little memory beside others runs once more, alone.
fn run_due(
    grid: &Grid,
    store: &Store,
    build: &str,
    ledger: Ledger<'_>,
    monitor: &dyn Monitor,
) -> io::Result<Vec<Option<Outcome>>> {
    let Ledger { mut outcomes, due, .. } = ledger;
    let due: Vec<&Run> = due.into_iter().map(|index| &grid.runs[index]).collect();
    let snapshots = Snapshots { folder: store.snapshots(), build: build.to_owned(), files: usize::MAX };
    let one = |run| run_due_one(run, store, &snapshots, monitor);
    let (leaders, others) = leaders(&due);
    let mut crowded = Vec::new();
    for group in [leaders, others] {
        let done: Vec<Option<Outcome>> =
            group.par_iter().with_max_len(1).map(|run| one(run)).collect::<io::Result<_>>()?;
        for (run, outcome) in group.into_iter().zip(done) {
            match outcome {
                Some(outcome) if !outcome.status.is_of_run() => crowded.push(run),
                Some(outcome) => _ = outcomes.insert(run.address.as_str(), outcome),
                None => {}
            }
        }
    }
    for run in crowded {
        if let Some(outcome) = one(run)? {
            if !outcome.status.is_of_run() {
                monitor.ended(run, &outcome);
            }
            outcomes.insert(run.address.as_str(), outcome);
        }
    }
    Ok(in_order(grid, &outcomes))
}

/// Runs one of a grid, and keeps what became of it; `None`: it was stopped. The monitor is told, unless the run finds
/// too little memory.
fn run_due_one(run: &Run, store: &Store, snapshots: &Snapshots, monitor: &dyn Monitor) -> io::Result<Option<Outcome>> {
    if monitor.is_stopped() {
        return Ok(None);
    }
    let ran = run_one(run.config(), &run.workload, Some(snapshots.clone()), &mut Relay(monitor));
    let Some((mut outcome, result)) = ran else { return Ok(None) };
    if let Some(problem) = changed_trace(run) {
        outcome = Outcome::without_result(Status::Failed, problem);
    } else {
        store.put(&run.address, &run.to_json(), &outcome, result.as_ref())?;
    }
    if outcome.status.is_of_run() {
        monitor.ended(run, &outcome);
    }
    Ok(Some(outcome))
}

/// Why a trace is not the one whose bytes are in the address of a run, if so: what was read then is no result of it.
fn changed_trace(run: &Run) -> Option<String> {
    let digest = run.trace.as_deref()?;
    let is_same = trace_digest(&run.workload).is_ok_and(|now| now == digest);
    (!is_same).then(|| format!("{} has changed since the sweep began; the same sweep runs it again", run.workload))
}

/// How many runs failed and why the first of them did, if some did and none was measured: there is nothing to look at.
pub fn nothing_measured(outcomes: &[Option<Outcome>]) -> Option<(usize, &str)> {
    let failed =
        || outcomes.iter().flatten().filter(|outcome| matches!(outcome.status, Status::Failed | Status::NoMemory));
    let is_measured = outcomes.iter().flatten().any(|outcome| outcome.hash.is_some());
    let first = failed().next().filter(|_| !is_measured)?;
    Some((failed().count(), first.error.as_deref().unwrap_or("it is not known why")))
}

/// How many runs ended how, without what there is none of.
pub fn counts(outcomes: &[Option<Outcome>]) -> Vec<(&'static str, usize)> {
    let of = |status: Status| outcomes.iter().flatten().filter(|outcome| outcome.status == status).count();
    let known = Status::ALL.into_iter().map(|status| (status.name(), of(status)));
    known
        .chain([("not run", outcomes.iter().filter(|outcome| outcome.is_none()).count())])
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// What is known of each run without running anything, in the order of the grid.
pub fn known(grid: &Grid, store: &Store) -> Vec<Option<Outcome>> {
    let Ledger { outcomes, mut lacking, .. } = Ledger::of(grid, store, Shard::ALL);
    lacking.extend(outcomes);
    in_order(grid, &lacking)
}

fn in_order(grid: &Grid, outcomes: &BTreeMap<&str, Outcome>) -> Vec<Option<Outcome>> {
    grid.runs.iter().map(|run| outcomes.get(run.address.as_str()).cloned()).collect()
}

/// What is known of a grid, and what is to be run.
pub(crate) struct Ledger<'a> {
    /// By address, which several runs of the grid may share.
    pub(crate) outcomes: BTreeMap<&'a str, Outcome>,
    /// The same of runs that are due again.
    lacking: BTreeMap<&'a str, Outcome>,
    /// Numbers of runs, one for each address.
    pub(crate) due: Vec<usize>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn of(grid: &'a Grid, store: &Store, shard: Shard) -> Self {
        let mut ledger = Self { outcomes: BTreeMap::new(), lacking: BTreeMap::new(), due: Vec::new() };
        let mut seen = BTreeSet::new();
        let runs: Vec<(usize, &Run)> =
            grid.runs.iter().enumerate().filter(|(_, run)| seen.insert(run.address.as_str())).collect();
        // Results are read to see whether they are whole.
        let known = threads::each(threads::for_many(runs.len()).as_ref(), &runs, |(_, run)| match &run.impossible {
            Some(problem) => Some(Outcome::without_result(Status::Impossible, problem.clone())),
            None => store.get(&run.address),
        });
        for ((index, run), outcome) in runs.into_iter().zip(known) {
            if let Some(outcome) = outcome {
                let is_due = !outcome.status.is_of_run();
                let known = if is_due { &mut ledger.lacking } else { &mut ledger.outcomes };
                known.insert(&run.address, outcome);
                if !is_due {
                    continue;
                }
            }
            if index % shard.count == shard.index {
                ledger.due.push(index);
            }
        }
        ledger
    }
}

/// The first run of each initial state that several runs share, which computes it, and the others, which find it.
fn leaders<'a>(due: &[&'a Run]) -> (Vec<&'a Run>, Vec<&'a Run>) {
    let mut sharing: BTreeMap<&str, usize> = BTreeMap::new();
    for state in due.iter().filter_map(|run| run.state.as_deref()) {
        *sharing.entry(state).or_default() += 1;
    }
    due.iter()
        .partition(|run| run.state.as_deref().and_then(|state| sharing.remove(state)).is_some_and(|runs| runs > 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use std::path::Path;
    use std::sync::Mutex;

    const SET: &str = "[set]\ndrive.capacity = \"64MiB\"\nflash.channels = 1\nflash.dies_per_channel = \
        1\nflash.pages_per_block = 64\nworkload.requests = 500\n";

    /// Does something when runs begin, and hears what became of them.
    struct Meanwhile<F> {
        act: F,
        heard: Mutex<Vec<Outcome>>,
    }

    impl<F: Fn() + Sync> Monitor for Meanwhile<F> {
        fn begin(&self, _: usize, _: usize) {
            (self.act)();
        }
        fn ended(&self, _: &Run, outcome: &Outcome) {
            self.heard.lock().unwrap().push(outcome.clone());
        }
        fn is_stopped(&self) -> bool {
            false
        }
        fn seconds(&self) -> f64 {
            0.0
        }
    }

    /// What became of the runs of a plan in a folder while a file of it is written anew.
    fn swept(folder: &Path, plan: &str, file: &str, text: &str) -> (Grid, Store, Vec<Outcome>) {
        let grid = Grid::new(Plan::parse(plan, "p.toml", folder, &[]).unwrap(), "build").unwrap();
        let store = Store::open(&folder.join("out")).unwrap();
        let meanwhile = Meanwhile { act: || std::fs::write(folder.join(file), text).unwrap(), heard: Mutex::default() };
        execute(&grid, &store, Shard::ALL, "build", None, &meanwhile).unwrap();
        let heard = meanwhile.heard.into_inner().unwrap();
        (grid, store, heard)
    }

    /// A thousand threads were started to find that nothing was to be done.
    #[test]
    fn no_more_threads_than_runs_that_are_due() {
        let folder = tempfile::tempdir().unwrap();
        let plan = format!("{SET}drive.over_provisioning = \"50%\"\n");
        let grid = Grid::new(Plan::parse(&plan, "p.toml", folder.path(), &[]).unwrap(), "build").unwrap();
        let store = Store::open(folder.path()).unwrap();
        for runs in [1, 0] {
            // Whoever hears of a run is on one of the threads.
            let threads = Mutex::new(Vec::new());
            let monitor = Hearing(|| threads.lock().unwrap().push(rayon::current_num_threads()));
            execute(&grid, &store, Shard::ALL, "build", Some(1024), &monitor).unwrap();
            assert_eq!(threads.into_inner().unwrap(), vec![1; runs]);
        }
    }

    struct Hearing<F>(F);

    impl<F: Fn() + Sync> Monitor for Hearing<F> {
        fn begin(&self, _: usize, _: usize) {}
        fn ended(&self, _: &Run, _: &Outcome) {
            (self.0)();
        }
        fn is_stopped(&self) -> bool {
            false
        }
        fn seconds(&self) -> f64 {
            0.0
        }
    }

    /// One combination that needs more memory than there is ended the program, and all others with it.
    #[test]
    fn a_drive_that_does_not_fit_into_memory_is_one_row_and_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let plan = "[set]\nflash.channels = 1\nflash.dies_per_channel = 1\nflash.page_size = \"4KiB\"\n\
            flash.pages_per_block = 1024\ndrive.over_provisioning = \"50%\"\nengine.contents = \"stamp\"\n\
            workload.requests = 500\n[axes]\ndrive.capacity = [\"64MiB\", \"5TiB\"]\n";
        let (grid, store, heard) = swept(folder.path(), plan, "unread", "");
        let statuses =
            |outcomes: &[Option<Outcome>]| outcomes.iter().flatten().map(|outcome| outcome.status).collect::<Vec<_>>();
        assert_eq!(heard.len(), 2, "each is told once");
        assert_eq!(statuses(&known(&grid, &store)), [Status::Complete, Status::NoMemory]);
        let (.., again) = swept(folder.path(), plan, "unread", "");
        assert_eq!(again.len(), 1, "this machine may have more memory now");
        let lacking = heard.iter().find(|outcome| outcome.status == Status::NoMemory).expect("it is a row");
        assert!(lacking.error.as_deref().unwrap().contains("drive.capacity = 5TiB"), "{lacking:?}");
        assert_eq!(nothing_measured(&[Some(lacking.clone())]).map(|(failed, _)| failed), Some(1));
    }

    /// Results of the new file were kept under the address of the old one.
    #[test]
    fn a_stack_file_that_changes_meanwhile_is_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let stack = |victim: &str| {
            format!("extends = \"page\"\ndrive.over_provisioning = \"50%\"\nftl.gc.victim = \"{victim}\"\n")
        };
        std::fs::write(folder.path().join("mine.toml"), stack("greedy")).unwrap();
        let (grid, store, heard) =
            swept(folder.path(), &format!("stacks = [\"mine.toml\"]\n{SET}"), "mine.toml", &stack("fifo"));
        assert_eq!(heard[0].status, Status::Complete, "{heard:?}");
        let result = std::fs::read_to_string(store.place(&grid.runs[0].address).join("result.json")).unwrap();
        assert!(result.contains("\"ftl.gc.victim\": \"greedy\""), "{result}");
    }

    #[test]
    fn a_trace_that_changes_meanwhile_gives_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let trace = |requests: u32| {
            "time_ns,device,op,offset_bytes,length_bytes\n".to_owned() + &"0,0,W,0,4096\n".repeat(requests as usize)
        };
        std::fs::write(folder.path().join("t.csv"), trace(2)).unwrap();
        let plan = format!("workloads = [\"t.csv\"]\n{SET}drive.over_provisioning = \"50%\"\n");
        let (grid, store, heard) = swept(folder.path(), &plan, "t.csv", &trace(3));
        assert!(
            heard[0].status == Status::Failed && heard[0].error.as_deref().unwrap().contains("has changed since"),
            "{heard:?}"
        );
        assert_eq!(nothing_measured(&[heard.first().cloned()]).map(|(failed, _)| failed), Some(1));
        assert_eq!(store.get(&grid.runs[0].address), None);
        let (_, _, again) = swept(folder.path(), &plan, "t.csv", &trace(3));
        assert_eq!(again[0].status, Status::Complete, "{again:?}");
    }
}
