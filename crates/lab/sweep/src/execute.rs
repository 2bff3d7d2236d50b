//! Running a grid: on all cores, each result kept as soon as it is there.

use crate::error::ExecuteError;
use crate::grid::{Grid, Run, trace_digest};
use crate::metric::METRICS;
use crate::store::Store;
use experiment::{Ledger, Monitor, Work};
use serde_json::{Map, Value, json};
use simulator::session::{self, Phase, SessionError, SessionOptions, Snapshots, Watcher};
use simulator::{Config, ConfigError};

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

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: Status,
    /// Why it was not measured.
    pub error: Option<String>,
    /// Hash of the simulated result.
    pub hash: Option<String>,
    /// Its metrics, by place in [`METRICS`].
    pub metrics: Vec<Option<f64>>,
    /// The choices for it, and warnings, a sentence each.
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

    /// The figures of a result.
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

/// Runs a configuration, if there is one: its outcome and result. `None`: it was stopped.
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

/// The runs of a grid, each kept in a store as it ends.
pub(crate) struct Runs<'a> {
    store: &'a Store,
    snapshots: Option<Snapshots>,
    monitor: &'a dyn Monitor,
}

impl<'a> Runs<'a> {
    /// As far as a store knows of them.
    pub(crate) fn known(store: &'a Store) -> Self {
        Self { store, snapshots: None, monitor: &() }
    }

    /// The known outcomes of a grid, and the runs to do.
    pub(crate) fn ledger<'g>(&self, grid: &'g Grid) -> Ledger<'g, Self> {
        let addresses = grid.runs.iter().map(|run| run.address.as_str()).collect();
        Ledger::of(self, &grid.runs, addresses, self.monitor.shard())
    }
}

impl Work for Runs<'_> {
    type Job = Run;
    type Given = Outcome;
    type Error = ExecuteError;

    fn recall(&self, run: &Run, address: &str) -> Option<Outcome> {
        let impossible = run.impossible.clone().map(|problem| Outcome::without_result(Status::Impossible, problem));
        impossible.or_else(|| self.store.get(address))
    }

    fn begins_with<'a>(&self, run: &'a Run) -> Option<&'a str> {
        run.state.as_deref()
    }

    fn run(&self, run: &Run, address: &str) -> Result<Option<Outcome>, ExecuteError> {
        let ran = run_one(run.config(), &run.workload, self.snapshots.clone(), &mut Relay(self.monitor));
        let Some((outcome, result)) = ran else { return Ok(None) };
        if let Some(problem) = changed_trace(run) {
            return Ok(Some(Outcome::without_result(Status::Failed, problem)));
        }
        self.store.put(address, &run.to_json(), &outcome, result.as_ref())?;
        Ok(Some(outcome))
    }

    fn how(&self, outcome: &Outcome) -> &'static str {
        outcome.status.name()
    }

    fn lacked_memory(&self, outcome: &Outcome) -> bool {
        !outcome.status.is_of_run()
    }
}

/// Runs what the store does not hold yet. Outcomes in the order of the grid; `None` for what was not run, because
/// somebody stopped it or it belongs to another shard.
/// Errors: a result cannot be written, or the system does not give the threads.
pub fn execute(
    grid: &Grid,
    store: &Store,
    build: &str,
    monitor: &dyn Monitor,
) -> Result<Vec<Option<Outcome>>, ExecuteError> {
    let snapshots =
        Snapshots { folder: store.snapshots(), build: build.to_owned(), files: usize::MAX, bytes: u64::MAX };
    let runs = Runs { store, snapshots: Some(snapshots), monitor };
    let ledger = runs.ledger(grid);
    monitor.expect(ledger.found() + ledger.due().len());
    ledger.run(&runs, monitor)
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

/// The known outcome of each run, without running anything, in the order of the grid.
pub fn known(grid: &Grid, store: &Store) -> Vec<Option<Outcome>> {
    Runs::known(store).ledger(grid).into_known()
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
        heard: Mutex<Vec<String>>,
    }

    impl<F: Fn() + Sync> Monitor for Meanwhile<F> {
        fn expect(&self, _: usize) {
            (self.act)();
        }
        fn ended(&self, address: &str, _: &str) {
            self.heard.lock().unwrap().push(address.to_owned());
        }
    }

    /// What became of the runs of a plan in a folder while a file of it is written anew.
    fn swept(folder: &Path, plan: &str, file: &str, text: &str) -> (Grid, Store, Vec<Outcome>) {
        let grid = Grid::new(Plan::parse(plan, "p.toml", folder, &[]).unwrap(), "build").unwrap();
        let store = Store::open(&folder.join("out")).unwrap();
        let meanwhile = Meanwhile { act: || std::fs::write(folder.join(file), text).unwrap(), heard: Mutex::default() };
        let outcomes = execute(&grid, &store, "build", &meanwhile).unwrap();
        let heard = meanwhile.heard.into_inner().unwrap();
        let heard = grid.runs.iter().zip(outcomes).filter(|(run, _)| heard.contains(&run.address));
        let heard = heard.filter_map(|(_, outcome)| outcome).collect();
        (grid, store, heard)
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
