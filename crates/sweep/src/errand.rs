//! Runs in other processes: a job goes out, an answer comes back.
//!
//! A job holds the resolved configuration, so whoever runs it needs no stack file and no plan; only a trace is named by its
//! path, with the hash of its bytes. Answers go into the store by address: one that comes twice is kept once, and one that
//! never comes is due again the next time.

use crate::execute::{Ledger, Monitor, Outcome, Shard, run_one};
use crate::grid::{Grid, Run, file_digest, from_plan};
use crate::store::Store;
use device::session::{Snapshots, Watcher};
use device::{Config, Setting};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What of a grid is due, for whoever runs it elsewhere.
pub struct Errand {
    grid: Arc<Grid>,
    store: Store,
    due: Vec<usize>,
    found: usize,
    monitor: Arc<dyn Monitor + Send + Sync>,
}

impl Errand {
    /// What the store does not hold yet; the monitor is told how much that is.
    pub fn new(grid: Arc<Grid>, store: Store, monitor: Arc<dyn Monitor + Send + Sync>) -> Self {
        let ledger = Ledger::of(&grid, &store, Shard::ALL);
        let (found, due) = (ledger.outcomes.len(), ledger.due);
        monitor.begin(found + due.len(), found);
        Self { grid, store, due, found, monitor }
    }

    /// Number of jobs.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Number of results that were there, or will never be.
    pub fn found(&self) -> usize {
        self.found
    }

    /// Whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    fn run(&self, index: usize) -> Result<&Run, String> {
        let run = self.due.get(index).map(|index| &self.grid.runs[*index]);
        run.ok_or_else(|| format!("there is no job {index} among {}", self.due.len()))
    }

    /// Address and text of a job, from 0.
    ///
    /// # Errors
    /// In words: there are fewer jobs, or a stack file is no longer what it was when the grid was checked.
    pub fn job(&self, index: usize) -> Result<(&str, String), String> {
        let run = self.run(index)?;
        let config = run.config().map_err(|error| error.to_string())?;
        let job = json!({"stack": config.name, "settings": config.resolved, "workload": place(run), "trace": run.trace});
        Ok((&run.address, job.to_string()))
    }

    /// Files that jobs read, each with the hash of its bytes.
    pub fn traces(&self) -> BTreeSet<(String, String)> {
        let runs = self.due.iter().map(|index| &self.grid.runs[*index]);
        runs.filter_map(|run| Some((place(run), run.trace.clone()?))).collect()
    }

    /// Keeps the answer to a job.
    ///
    /// # Errors
    /// In words: it is no answer, or cannot be written.
    pub fn keep(&self, index: usize, answer: &str) -> Result<(), String> {
        let run = self.run(index)?;
        let answer: Value = serde_json::from_str(answer).map_err(|error| format!("the answer to run {}: {error}", run.address))?;
        let outcome = Outcome::from_json(&answer["outcome"]).ok_or_else(|| format!("the answer to run {} is none", run.address))?;
        let result = Some(&answer["result"]).filter(|result| !result.is_null());
        self.store.put(&run.address, &run.to_json(), &outcome, result).map_err(|error| format!("run {} could not be kept: {error}", run.address))?;
        self.monitor.ended(run, &outcome);
        Ok(())
    }

    /// Whether somebody wants it to stop.
    pub fn is_stopped(&self) -> bool {
        self.monitor.is_stopped()
    }
}

/// The workload of a run as every process calls it: a path that begins at the root, or a name.
fn place(run: &Run) -> String {
    let path = run.trace.as_ref().and_then(|_| std::path::absolute(&run.workload).ok());
    path.map_or_else(|| run.workload.clone(), |path| path.to_string_lossy().into_owned())
}

/// Runs a job of [`Errand::job`]; the answer is for [`Errand::keep`].
///
/// # Errors
/// In words: it is no job, its trace is not there or another one, or it was stopped.
pub fn answer(job: &str, snapshots: Option<Snapshots>, watcher: &mut dyn Watcher) -> Result<String, String> {
    let job: Value = serde_json::from_str(job).map_err(|error| format!("a job cannot be read: {error}"))?;
    let workload = job["workload"].as_str().ok_or("a job has no workload")?;
    if let Some(problem) = job["trace"].as_str().and_then(|digest| trace_problem(workload, digest)) {
        return Err(problem);
    }
    let (name, settings) = job["stack"].as_str().zip(job["settings"].as_object()).ok_or("a job has no configuration")?;
    let setting = |(key, value): (&String, &Value)| Some(from_plan(key, value.as_str()?));
    let settings: Option<Vec<Setting>> = settings.iter().map(setting).collect();
    let config = Config::resolve(name.to_owned(), &settings.ok_or("a value of a job is no text")?);
    let (outcome, result) = run_one(config, workload, snapshots, watcher).ok_or("the run was stopped")?;
    Ok(json!({"outcome": outcome.to_json(&Value::Null), "result": result}).to_string())
}

/// Why a trace cannot be used for a job that asks for the bytes of `digest`, if so. A file is read once as long as it stays
/// as it is.
pub fn trace_problem(path: &str, digest: &str) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<(String, u64, Option<SystemTime>), String>> = Mutex::new(BTreeMap::new());
    let read = std::fs::metadata(path).and_then(|file| {
        let key = (path.to_owned(), file.len(), file.modified().ok());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        let found = file_digest(Path::new(path))?;
        known.insert(key, found.clone());
        Ok(found)
    });
    match read {
        Ok(found) if found == digest => None,
        Ok(_) => Some(format!("{path} is another file there; every worker needs the same trace at the same path")),
        Err(error) => Some(format!("{path} cannot be read there ({error}); every worker needs the trace at the same path")),
    }
}
