//! Sweeps: plans, grids, and runs on all cores of this machine or, job by job, on others.

use crate::beside::beside;
use crate::columns::given;
use crate::command::Given;
use crate::depth::Inside;
use crate::errors::{ClusterError, ConfigError, SimulationError, of_unwinding};
use crate::run::Stop;
use experiment::Monitor;
use pyo3::prelude::*;
use pyo3::types::PyList;
use simulator::session::{Phase, Snapshots, Watcher};
use std::panic::{AssertUnwindSafe, catch_unwind};
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
        sweep::Metric::named(name).ok_or_else(|| ConfigError::new_err(format!("`{name}` is no metric")))
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

/// Counts runs, and knows whether to stop.
struct Counter {
    begun: Instant,
    found: AtomicUsize,
    all: AtomicUsize,
    ended: AtomicUsize,
    stop: Arc<AtomicBool>,
    jobs: Option<usize>,
}

impl Counter {
    /// `jobs`: how many may run at once.
    fn new(stop: Option<&Bound<'_, Stop>>, jobs: Option<usize>) -> Self {
        let stop = stop.map_or_else(Arc::default, |stop| stop.get().wanted());
        Self {
            begun: Instant::now(),
            found: AtomicUsize::new(0),
            all: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            stop,
            jobs,
        }
    }

    fn counts(&self) -> (usize, usize) {
        (self.found.load(Ordering::Relaxed) + self.ended.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}

impl Monitor for Counter {
    fn expect(&self, runs: usize) {
        self.all.store(runs, Ordering::Relaxed);
    }

    fn found(&self, runs: usize) {
        self.found.store(runs, Ordering::Relaxed);
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
        let tell = |py: Python<'_>| {
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, counter.counts()).map(drop))
        };
        let run = || sweep::execute(&self.grid, &store, &cli::program_hash(), &counter).map(drop);
        let written = beside(py, &counter.stop, tell, run)?;
        written.map_err(|error| SimulationError::new_err(error.to_string()))?;
        py.check_signals()?;
        tell(py)
    }

    /// What a folder does not hold yet, for other processes to run.
    #[pyo3(signature = (folder, stop=None))]
    fn errand(&self, folder: PathBuf, stop: Option<&Bound<'_, Stop>>) -> PyResult<Errand> {
        let counter = Arc::new(Counter::new(stop, None));
        let errand = sweep::Errand::new(Arc::clone(&self.grid), store(&folder)?, counter);
        Ok(Errand { errand: Arc::new(errand) })
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
    errand: Arc<sweep::Errand>,
}

impl Errand {
    pub fn new(errand: Arc<sweep::Errand>) -> Self {
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

    /// Address and text of a job.
    fn job(&self, index: usize) -> PyResult<(&str, String)> {
        self.errand.job(index).map_err(SimulationError::new_err)
    }

    /// Paths and hashes of the traces that jobs read.
    fn traces(&self) -> Vec<(String, String)> {
        self.errand.traces().into_iter().collect()
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

/// A watcher that only has a clock: nobody sees or stops a job from inside.
struct Clock(Instant);

impl Watcher for Clock {
    fn phase(&mut self, _: Phase, _: Option<u64>) {}

    fn progress(&mut self, _: u64) -> bool {
        true
    }

    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn remark(&mut self, _: &str) {}
}

/// Runs a job of an errand; the answer is a text for `Errand.keep`. Preconditioned drives are kept in a folder, all of
/// them, as a sweep comes back to each.
#[pyfunction]
pub fn run_job(py: Python<'_>, job: &str, snapshots: PathBuf) -> PyResult<String> {
    let snapshots = cli::snapshots(Some(snapshots)).map(|usual| Snapshots { files: usize::MAX, ..usual });
    let answered =
        py.detach(|| catch_unwind(AssertUnwindSafe(|| sweep::answer(job, snapshots, &mut Clock(Instant::now())))));
    answered.map_err(of_unwinding)?.map_err(ClusterError::new_err)
}

/// Why a trace cannot be used for a job, if so.
#[pyfunction]
pub fn trace_problem(py: Python<'_>, path: &str, digest: &str) -> Option<String> {
    py.detach(|| sweep::trace_problem(path, digest))
}

/// What became of the runs of a grid.
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
