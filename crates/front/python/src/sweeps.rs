//! Sweeps: plans, grids, and runs on all cores of this machine or, job by job, on others.

use crate::beside::beside;
use crate::columns::given;
use crate::command::Given;
use crate::depth::Inside;
use crate::errors::{ClusterError, ConfigError, SimulationError};
use crate::run::Stop;
use experiment::{Cache, Monitor};
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::Value;
use simulator::session::{Phase, Snapshots, Watcher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use sweep::{Cells, Column, Cost, Findings, Outcome, PlanError, Store, Summary};

fn of_plan(error: PlanError) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// Names what is loaded by its bytes: runs of another one are not taken for its own.
#[pyfunction]
pub fn program_hash() -> String {
    cli::program_hash()
}

/// Names of all metrics, in the order of columns.
#[pyfunction]
pub fn metrics() -> Vec<&'static str> {
    sweep::METRICS.iter().map(|metric| metric.name).collect()
}

/// Which designs no other one beats by more than the intervals allow. `costs` has the mean of each metric and half of
/// its interval, NaN where there is none, for each design.
#[pyfunction]
pub fn unbeaten(metrics: Vec<String>, costs: Vec<Vec<(f64, f64)>>) -> PyResult<Vec<bool>> {
    let known = |name: &String| {
        sweep::Metric::named(name).ok_or_else(|| ConfigError::new_err(format!("`{name}` is not a metric")))
    };
    let metrics = metrics.iter().map(known).collect::<PyResult<Vec<_>>>()?;
    let cost = |(metric, (mean, half)): (&&sweep::Metric, &(f64, f64))| {
        Cost::new(metric, *mean, Some(*half).filter(|half| !half.is_nan()))
    };
    let costs: Vec<Vec<Cost>> = costs.iter().map(|of| metrics.iter().zip(of).map(cost).collect()).collect();
    Ok(sweep::unbeaten(&costs))
}

/// A plan, read and checked as far as that goes without its combinations.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Plan {
    plan: sweep::Plan,
}

/// Key, values, and whether they are numbers.
type AxisParts = (&'static str, Vec<String>, bool);

#[pymethods]
impl Plan {
    /// `file` is what messages call it; relative paths in it begin at `folder`.
    #[new]
    fn new(text: &str, file: &str, folder: PathBuf, settings: Given) -> PyResult<Self> {
        Ok(Self { plan: sweep::Plan::parse(text, file, &folder, &settings).map_err(of_plan)? })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.plan.seed
    }

    #[getter]
    fn stacks(&self) -> Vec<String> {
        self.plan.stacks.clone()
    }

    #[getter]
    fn workloads(&self) -> Vec<String> {
        self.plan.workloads.clone()
    }

    #[getter]
    fn axes(&self) -> Vec<AxisParts> {
        self.plan.axes.iter().map(|axis| (axis.key, axis.values.clone(), axis.is_of_numbers())).collect()
    }

    /// Every combination, checked.
    fn grid(&self, py: Python<'_>) -> PyResult<Grid> {
        py.detach(|| Grid::of(sweep::Grid::new(self.plan.clone(), &cli::program_hash())))
    }

    /// A hash of what the plan means and of what is said besides; stacks, keys and workloads are checked.
    fn identity(&self, py: Python<'_>, more: &str) -> PyResult<String> {
        py.detach(|| sweep::identity(&self.plan, &cli::program_hash(), more)).map_err(of_plan)
    }

    /// A key of the load that designs would be compared over, and the part of the plan where it stands.
    fn compared_circumstance(&self, py: Python<'_>) -> PyResult<Option<(String, &'static str)>> {
        py.detach(|| sweep::compared_circumstance(&self.plan)).map_err(of_plan)
    }

    /// One combination alone, whether it can be built or not, by numbers of stack and workload and of a value of each
    /// axis.
    fn only(&self, py: Python<'_>, stack: usize, workload: usize, values: Vec<usize>) -> PyResult<Grid> {
        py.detach(|| Grid::of(sweep::Grid::expand(self.plan.only(stack, workload, &values), &cli::program_hash())))
    }
}

/// All runs of a plan.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Grid {
    grid: Arc<sweep::Grid>,
}

impl Grid {
    fn of(grid: Result<sweep::Grid, PlanError>) -> PyResult<Self> {
        Ok(Self { grid: Arc::new(grid.map_err(of_plan)?) })
    }
}

fn store(folder: &Path) -> PyResult<Store> {
    Store::open(folder)
        .map_err(|error| SimulationError::new_err(format!("{} could not be written: {error}", folder.display())))
}

/// Counts jobs, and knows whether to stop.
pub struct Counter {
    begun: Instant,
    found: AtomicUsize,
    all: AtomicUsize,
    ended: AtomicUsize,
    stop: Arc<AtomicBool>,
    jobs: Option<usize>,
    /// Where jobs are kept that have no store of their own.
    cache: Option<Cache>,
}

impl Counter {
    /// `jobs`: how many may run at once.
    pub fn new(stop: Option<&Bound<'_, Stop>>, jobs: Option<usize>) -> Self {
        let stop = stop.map_or_else(Arc::default, |stop| stop.get().wanted());
        let [found, all, ended] = [0; 3].map(AtomicUsize::new);
        Self { begun: Instant::now(), found, all, ended, stop, jobs, cache: None }
    }

    /// Keeps what jobs give.
    pub fn keeping(self, cache: Cache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Removes what is kept: the work is done.
    pub fn forget(&self) {
        if let Some(cache) = &self.cache {
            cache.forget();
            // The folder above it goes as well, unless something else is in it.
            let _ = cache.folder().parent().map(std::fs::remove_dir);
        }
    }

    /// Set once jobs are to end.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Calls a function of Python with the jobs that are done, and with all.
    pub fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let done = self.found.load(Ordering::Relaxed) + self.ended.load(Ordering::Relaxed);
        let all = self.all.load(Ordering::Relaxed);
        progress.map_or(Ok(()), |progress| progress.call1(py, (done, all)).map(drop))
    }
}

impl Monitor for Counter {
    fn expect(&self, jobs: usize) {
        self.all.store(jobs, Ordering::Relaxed);
    }

    fn found(&self, jobs: usize) {
        self.found.fetch_add(jobs, Ordering::Relaxed);
    }

    fn ended(&self, _: &str, _: &str) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.cache.as_ref()?.recall(name)
    }

    fn keep(&self, name: &str, given: &[u8]) {
        // What cannot be kept is there all the same: it would be run once more after a stop.
        let _ = self.cache.as_ref().map(|cache| cache.keep(name, given));
    }

    fn threads(&self) -> Option<usize> {
        self.jobs
    }
}

#[pymethods]
impl Grid {
    fn __len__(&self) -> usize {
        self.grid.runs.len()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.grid.plan.name
    }

    /// Runs what a folder does not hold yet, on `jobs` threads of this process. Another thread does it, while this one
    /// looks at signals and tells how far it is.
    #[pyo3(signature = (folder, jobs=None, progress=None, stop=None))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        jobs: Option<usize>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Bound<'_, Stop>>,
    ) -> PyResult<()> {
        let _inside = Inside::begin(Stop::around(stop))?;
        let counter = Counter::new(stop, jobs);
        let store = store(&folder)?;
        let tell = |py: Python<'_>| counter.tell(py, progress.as_ref());
        let run = || sweep::execute(&self.grid, &store, &cli::program_hash(), &counter).map(drop);
        let written = beside(py, &counter.stop, tell, run)?;
        written.map_err(|error| SimulationError::new_err(error.to_string()))?;
        tell(py)
    }

    /// What a folder does not hold yet, for other processes to run.
    #[pyo3(signature = (folder, stop=None))]
    fn errand(&self, folder: PathBuf, stop: Option<&Bound<'_, Stop>>) -> PyResult<Errand> {
        let counter = Arc::new(Counter::new(stop, None));
        let errand = sweep::Errand::new(Arc::clone(&self.grid), store(&folder)?, counter);
        Ok(Errand::new(Arc::new(errand)))
    }

    /// What a folder holds of it.
    fn known(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Swept> {
        let store = store(&folder)?;
        Ok(Swept { grid: Arc::clone(&self.grid), outcomes: py.detach(|| sweep::known(&self.grid, &store)) })
    }
}

/// Jobs that go out, and answers that come in.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Errand {
    errand: Arc<dyn experiment::Errand>,
}

impl Errand {
    pub fn new(errand: Arc<dyn experiment::Errand>) -> Self {
        Self { errand }
    }
}

#[pymethods]
impl Errand {
    fn __len__(&self) -> usize {
        self.errand.len()
    }

    /// Number of results that were there, or will never be.
    fn found(&self) -> usize {
        self.errand.found()
    }

    /// Name and text of a job; the name of a run is its address.
    fn job(&self, index: usize) -> PyResult<(String, String)> {
        self.errand.job(index).map_err(SimulationError::new_err)
    }

    /// Paths and hashes of the traces that jobs read.
    fn traces(&self) -> Vec<(String, String)> {
        self.errand.files().into_iter().collect()
    }

    /// Keeps the answer to a job.
    fn keep(&self, py: Python<'_>, index: usize, answer: &str) -> PyResult<()> {
        py.detach(|| self.errand.keep(index, answer)).map_err(SimulationError::new_err)
    }

    /// Whether somebody wants it to stop.
    fn is_stopped(&self) -> bool {
        self.errand.is_stopped()
    }
}

/// A watcher that has a clock, and hears that a job is to end.
struct Clock<'a>(Instant, &'a AtomicBool);

impl Watcher for Clock<'_> {
    fn phase(&mut self, _: Phase, _: Option<u64>) {}

    fn progress(&mut self, _: u64) -> bool {
        !self.1.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn remark(&mut self, _: &str) {}
}

/// Runs a job of an errand; the answer is a text for `Errand.keep`. Preconditioned drives are kept in a folder, all of
/// them, as a sweep comes back to each; without one in the user's cache folder, the usual number of them.
#[pyfunction]
#[pyo3(signature = (job, snapshots=None))]
pub fn run_job(py: Python<'_>, job: &str, snapshots: Option<PathBuf>) -> PyResult<String> {
    let keeps_all = snapshots.is_some();
    let snapshots = cli::snapshots(snapshots)
        .map(|usual| if keeps_all { Snapshots { files: usize::MAX, bytes: u64::MAX, ..usual } } else { usual });
    let told: Value =
        serde_json::from_str(job).map_err(|error| ClusterError::new_err(format!("a job cannot be read: {error}")))?;
    let stop = AtomicBool::new(false);
    if told["study"].is_null() {
        let run = || sweep::answer(job, snapshots, &mut Clock(Instant::now(), &stop));
        return beside(py, &stop, |_| Ok(()), run)?.map_err(ClusterError::new_err);
    }
    let files = told["files"].as_array().into_iter().flatten();
    let mut files = files.filter_map(|file| file[0].as_str().zip(file[1].as_str()));
    if let Some(problem) = files.find_map(|(path, digest)| sweep::trace_problem(path, digest)) {
        return Err(ClusterError::new_err(problem));
    }
    let run = || repro::answer(job, &|| stop.load(Ordering::Relaxed));
    beside(py, &stop, |_| Ok(()), run)?.map_err(SimulationError::new_err)
}

/// Paths and hashes of the files of policies that a job needs and that this process has not read.
#[pyfunction]
pub fn unread_policies(job: &str) -> PyResult<Vec<(String, String)>> {
    sweep::unread_policies(job).map_err(ClusterError::new_err)
}

/// The hash of a trace's bytes.
pub fn trace_digest(path: &Path) -> PyResult<String> {
    let unread = |error| ConfigError::new_err(format!("{} cannot be read: {error}", path.display()));
    sweep::file_digest(path).map_err(unread)
}

/// Why a trace cannot be used for a job, if so.
#[pyfunction]
pub fn trace_problem(py: Python<'_>, path: &str, digest: &str) -> Option<String> {
    py.detach(|| sweep::trace_problem(path, digest))
}

/// The outcomes of the runs of a grid.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Swept {
    grid: Arc<sweep::Grid>,
    outcomes: Vec<Option<Outcome>>,
}

/// A name, a kind, and `i` (`int64`) or `f` (`float64`) as bytes or `U` as a list of texts.
type Named<'py> = (String, char, Bound<'py, PyAny>);

/// What is missing is NaN or an empty text.
fn handed_over(py: Python<'_>, columns: Vec<Column>) -> PyResult<Vec<Named<'_>>> {
    columns
        .into_iter()
        .map(|Column { name, cells }| {
            Ok(match cells {
                Cells::Whole(cells) => {
                    (name, 'i', given(py, cells.into_iter().map(Option::unwrap_or_default)).into_any())
                }
                Cells::Real(cells) => {
                    (name, 'f', given(py, cells.into_iter().map(|cell| cell.unwrap_or(f64::NAN))).into_any())
                }
                Cells::Text(cells) => {
                    (name, 'U', PyList::new(py, cells.into_iter().map(Option::unwrap_or_default))?.into_any())
                }
            })
        })
        .collect()
}

#[pymethods]
impl Swept {
    /// A row for each run.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        handed_over(py, sweep::runs(&self.grid, &self.outcomes))
    }

    /// A row for each combination.
    fn combinations<'py>(&self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        let all = Summary::all(&self.grid, &self.outcomes);
        let findings = Findings::of(&self.grid, &self.outcomes, &all);
        handed_over(py, sweep::combinations(&self.grid, &all, &findings))
    }

    /// How many runs ended how.
    fn counts(&self) -> Vec<(&'static str, usize)> {
        sweep::counts(&self.outcomes)
    }

    /// What is to be said if some runs failed and none was measured.
    fn problem(&self) -> Option<String> {
        cli::sweep_problem(&self.outcomes)
    }

    /// What `nandarium sweep --json` prints.
    fn document(&self) -> String {
        cli::sweep_document(&self.grid, &self.outcomes)
    }

    /// What `nandarium sweep` prints.
    fn text(&self) -> String {
        cli::sweep_text(&self.grid, &self.outcomes)
    }

    /// Writes `results.parquet`, `summary.csv` and `report.html`.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| cli::write_sweep(&self.grid, &self.outcomes, &folder)).map_err(SimulationError::new_err)
    }
}
