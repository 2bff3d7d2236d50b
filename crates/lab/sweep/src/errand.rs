//! Runs in other processes: a job goes out, an answer comes back.
//!
//! A job holds the resolved configuration, so whoever runs it needs no stack file and no plan; only a trace is named by
//! its path, with the hash of its bytes. Answers go into the store by address: one that comes twice is kept once, and
//! one that never comes is due again the next time.

use crate::execute::{Outcome, Runs, run_one};
use crate::grid::{Grid, Run, from_plan, trace_digest};
use crate::page::label;
use crate::store::Store;
use experiment::{Monitor, Watched};
use serde_json::{Value, json};
use simulator::config::{OutsidePolicy, policy_source};
use simulator::session::{Snapshots, Watcher};
use simulator::{Config, Setting};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The due runs of a grid, for machines elsewhere.
pub struct Errand {
    grid: Arc<Grid>,
    store: Store,
    due: Vec<usize>,
    watched: Watched,
}

impl Errand {
    /// The runs that the store does not hold yet; the monitor is told their number.
    pub fn new(grid: Arc<Grid>, store: Store, monitor: Arc<dyn Monitor + Send + Sync>) -> Self {
        let (found, due) = {
            let ledger = Runs::known(&store).ledger(&grid);
            (ledger.found(), ledger.due().to_vec())
        };
        let watched = Watched::begin(due.len(), found, monitor);
        Self { grid, store, due, watched }
    }

    fn run(&self, index: usize) -> Result<&Run, String> {
        self.watched.job(&self.due, index).map(|number| &self.grid.runs[*number])
    }
}

impl experiment::Errand for Errand {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Its name says which run it is, and ends with the address of the run.
    fn job(&self, index: usize) -> Result<(String, String), String> {
        let run = self.run(index)?;
        let config = run.config().map_err(|error| error.to_string())?;
        let policies: Vec<Value> = config.outside_policies().into_iter().map(policy_json).collect();
        let job = json!({
            "stack": config.name, "settings": config.resolved, "workload": place(run), "trace": run.trace,
            "policies": policies,
        });
        let (what, seed, address) = (label(&self.grid, &run.point), run.seed, &run.address);
        Ok((format!("{what}, seed {seed} ({address})"), job.to_string()))
    }

    fn files(&self) -> BTreeSet<(String, String)> {
        let runs = self.due.iter().map(|index| &self.grid.runs[*index]);
        runs.filter_map(|run| Some((place(run), run.trace.clone()?))).collect()
    }

    fn keep(&self, index: usize, answer: &str) -> Result<(), String> {
        let run = self.run(index)?;
        let answer: Value =
            serde_json::from_str(answer).map_err(|error| format!("the answer to run {}: {error}", run.address))?;
        let outcome = Outcome::from_json(&answer["outcome"])
            .ok_or_else(|| format!("the answer to run {} is none", run.address))?;
        let result = Some(&answer["result"]).filter(|result| !result.is_null());
        self.store
            .put(&run.address, &run.to_json(), &outcome, result)
            .map_err(|error| format!("run {} could not be kept: {error}", run.address))?;
        self.watched.monitor.ended(&run.address, outcome.status.name());
        Ok(())
    }
}

/// A policy of a file, as a job names it.
fn policy_json(policy: OutsidePolicy<'_>) -> Value {
    let source = policy.source.expect("a sweep refuses a policy without a file");
    json!({"key": policy.key, "name": policy.name, "path": source.path, "digest": source.digest})
}

/// Files of policies that a job needs and that this process has not read: paths and hashes of their bytes.
/// Errors: in words: it is no job.
pub fn unread_policies(job: &str) -> Result<Vec<(String, String)>, String> {
    Ok(unread(&parsed(job)?))
}

fn unread(job: &Value) -> Vec<(String, String)> {
    let one = |policy: &Value| {
        let [key, name, path, digest] = ["key", "name", "path", "digest"].map(|part| policy[part].as_str());
        let is_read = policy_source(key?, name?).is_some_and(|source| Some(source.digest.as_str()) == digest);
        (!is_read).then(|| Some((path?.to_owned(), digest?.to_owned()))).flatten()
    };
    job["policies"].as_array().into_iter().flatten().filter_map(one).collect()
}

fn parsed(job: &str) -> Result<Value, String> {
    serde_json::from_str(job).map_err(|error| format!("a job cannot be read: {error}"))
}

/// The workload of a run as every process calls it: a path that begins at the root, or a name.
fn place(run: &Run) -> String {
    let path = run.trace.as_ref().and_then(|_| std::path::absolute(&run.workload).ok());
    path.map_or_else(|| run.workload.clone(), |path| path.to_string_lossy().into_owned())
}

/// Runs a job of an [`Errand`]; the answer is its stored form.
/// Errors: in words: it is no job, its trace is not there or another one, or it was stopped.
pub fn answer(job: &str, snapshots: Option<Snapshots>, watcher: &mut dyn Watcher) -> Result<String, String> {
    let job = parsed(job)?;
    let workload = job["workload"].as_str().ok_or("a job has no workload")?;
    if let Some(problem) = job["trace"].as_str().and_then(|digest| trace_problem(workload, digest)) {
        return Err(problem);
    }
    if let Some((path, _)) = unread(&job).first() {
        return Err(format!(
            "the policies of {path} are not known there; every worker needs the file at the same path"
        ));
    }
    let (name, settings) =
        job["stack"].as_str().zip(job["settings"].as_object()).ok_or("a job has no configuration")?;
    let setting = |(key, value): (&String, &Value)| Some(from_plan(key, value.as_str()?));
    let settings: Option<Vec<Setting>> = settings.iter().map(setting).collect();
    let config = Config::resolve(name.to_owned(), &settings.ok_or("a value of a job is not a text")?);
    let (outcome, result) = run_one(config, workload, snapshots, watcher).ok_or("the run was stopped")?;
    Ok(json!({"outcome": outcome.to_json(&Value::Null), "result": result}).to_string())
}

/// Why a trace cannot be used for a job that asks for the bytes of `digest`, if so.
pub fn trace_problem(path: &str, digest: &str) -> Option<String> {
    match trace_digest(path) {
        Ok(found) if found == digest => None,
        Ok(_) => Some(format!("{path} is another file there; every worker needs the same trace at the same path")),
        Err(error) => {
            Some(format!("{path} cannot be read there ({error}); every worker needs the trace at the same path"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::{Status, execute, known};
    use crate::grid::file_digest;
    use crate::plan::Plan;
    use experiment::Errand as _;
    use std::path::Path;

    const SMALL: &str = "repetitions = 2\n[set]\ndrive.capacity = \"64MiB\"\nflash.channels = \
        1\nflash.dies_per_channel = 1\nflash.pages_per_block = 64\n\
                         workload.requests = 500\n[axes]\ndrive.over_provisioning = [\"50%\", \"0.1%\"]\n";

    fn grid(text: &str) -> Arc<Grid> {
        Arc::new(Grid::new(Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap(), "build").unwrap())
    }

    #[test]
    fn answers_from_elsewhere_are_what_is_run_here() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let grid = grid(SMALL);
        let (local, store) = (Store::open(here.path()).unwrap(), Store::open(there.path()).unwrap());
        let run_here = execute(&grid, &local, "build", &()).unwrap();
        let errand = Errand::new(Arc::clone(&grid), store.clone(), Arc::new(()));
        assert_eq!((errand.len(), errand.found()), (2, 2), "what cannot be built goes nowhere");
        let (name, job) = errand.job(1).unwrap();
        let run = &grid.runs[1];
        assert_eq!(name, format!("page, drive.over_provisioning 50%, seed {} ({})", run.seed, run.address));
        let answered = answer(&job, None, &mut ()).unwrap();
        errand.keep(1, &answered).unwrap();
        // A worker was taken for dead and was not.
        errand.keep(1, &answered).unwrap();
        assert!(errand.keep(0, "{}").unwrap_err().contains("is none"));
        let rest = Errand::new(Arc::clone(&grid), store.clone(), Arc::new(()));
        assert_eq!((rest.len(), rest.found()), (1, 3));
        assert_ne!(rest.job(0).unwrap().0, name);
        assert!(rest.job(1).is_err());
        rest.keep(0, &answer(&rest.job(0).unwrap().1, None, &mut ()).unwrap()).unwrap();
        let known = known(&grid, &store);
        assert_eq!(known.iter().flatten().filter(|outcome| outcome.status == Status::Complete).count(), 2);
        assert_eq!(known, run_here);
    }

    #[test]
    fn a_job_with_another_trace_is_no_run_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace.csv");
        std::fs::write(&trace, "something").unwrap();
        let path = trace.to_string_lossy();
        assert_eq!(trace_problem(&path, &file_digest(&trace).unwrap()), None);
        assert!(trace_problem(&path, "0").unwrap().contains("another file"));
        let job = json!({"stack": "page", "settings": {}, "workload": path, "trace": "0"}).to_string();
        assert!(answer(&job, None, &mut ()).unwrap_err().contains("same trace at the same path"));
        std::fs::remove_file(&trace).unwrap();
        assert!(answer(&job, None, &mut ()).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_job_needs_the_policies_of_its_file() {
        let policies = [json!({"key": "ftl.gc.victim", "name": "far-away", "path": "/mine.py", "digest": "1"})];
        let job = json!({"stack": "page", "settings": {}, "workload": "mixed", "policies": policies}).to_string();
        let wanted = vec![("/mine.py".to_owned(), "1".to_owned())];
        assert_eq!(unread_policies(&job), Ok(wanted.clone()));
        assert!(answer(&job, None, &mut ()).unwrap_err().contains("policies of /mine.py are not known there"));
        for (digest, unread) in [("2", wanted), ("1", Vec::new())] {
            let source = layer::registry::Source { path: "/mine.py".to_owned(), digest: digest.to_owned() };
            ftl::gc::register("far-away", "", Arc::new(|_| unreachable!("nothing is run")), Some(source)).unwrap();
            assert_eq!(unread_policies(&job), Ok(unread));
        }
    }

    #[test]
    fn one_combination_of_a_plan_is_the_row_of_its_grid() {
        let grid = grid(SMALL);
        let only = Grid::expand(grid.plan.only(0, 0, &[1]), "build").unwrap();
        let addresses = |grid: &Grid| grid.runs.iter().map(|run| run.address.clone()).collect::<Vec<_>>();
        assert_eq!(addresses(&only), addresses(&grid)[2..]);
        assert!(only.runs[0].impossible.as_deref().unwrap().contains("too little spare flash"));
        let identity = |text: &str, more: &str| {
            crate::identity(&Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap(), "build", more).unwrap()
        };
        assert_eq!(identity(SMALL, "waf"), identity(SMALL, "waf"));
        assert_ne!(identity(SMALL, "waf"), identity(SMALL, "iops"));
        assert_ne!(identity(SMALL, "waf"), identity(&SMALL.replace("\"50%\"", "\"50%\", \"60%\""), "waf"));
    }
}
