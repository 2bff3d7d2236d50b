//! One session.

use crate::command::{Given, config};
use crate::depth::{Inside, depth};
use crate::errors::{DriveFull, of_session, of_unwinding};
use crate::outcome::Outcome;
use crate::requests::RequestColumns;
use compare::Early;
use metrics::RunResult;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use simulator::Config;
use simulator::session::{Phase, Prepared, SessionError, Snapshots, Watcher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks at signals and two calls of a progress function: seldom enough to cost nothing, also where other
/// threads keep the interpreter busy.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Stops runs of other threads, and tells them what runs lie around the thread that began them.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Stop {
    wanted: Arc<AtomicBool>,
    around: u32,
}

impl Stop {
    /// Set once they are to end.
    pub fn wanted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wanted)
    }

    /// Runs around the thread that made it; none where there is no other thread.
    pub fn around(stop: Option<&Bound<'_, Self>>) -> u32 {
        stop.map_or(0, |stop| stop.get().around)
    }
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self { wanted: Arc::default(), around: depth() }
    }

    /// Runs that were given this end at their next request.
    fn set(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }
}

/// Watches a session for Python: signals, a progress function.
struct Watch {
    started: Instant,
    looked: Instant,
    phase: &'static str,
    requests: Option<u64>,
    told: Option<Py<PyAny>>,
    /// Why it was stopped.
    raised: Option<PyErr>,
}

impl Watch {
    fn tell(&mut self, done: u64) -> bool {
        let asked = Python::attach(|py| {
            py.check_signals()?;
            if let Some(told) = &self.told {
                told.call1(py, (self.phase, done, self.requests))?;
            }
            Ok(())
        });
        self.raised = asked.err();
        self.raised.is_none()
    }
}

impl Watcher for Watch {
    fn phase(&mut self, phase: Phase, requests: Option<u64>) {
        (self.phase, self.requests) = (phase.name(), requests);
    }

    fn progress(&mut self, done: u64) -> bool {
        if self.looked.elapsed() < LOOK_EVERY {
            return true;
        }
        let goes_on = self.tell(done);
        self.looked = Instant::now();
        goes_on
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn remark(&mut self, _: &str) {}
}

/// Where preconditioned states are kept: `None` for no folder, an empty path for the user's cache folder.
pub fn snapshots_in(folder: Option<PathBuf>) -> Option<Snapshots> {
    folder.and_then(|path| cli::snapshots((!path.as_os_str().is_empty()).then_some(path)))
}

/// The inputs of a session, except for its configuration.
pub struct Asked<'a, 'py> {
    /// A name or a path, or only a name where `requests` are given.
    pub workload: String,
    pub requests: Option<&'a Bound<'py, RequestColumns>>,
    /// `None`: no folder; an empty path: the user's cache folder.
    pub snapshots: Option<PathBuf>,
    /// Called with the phase, requests done, and requests in all.
    pub progress: Option<Py<PyAny>>,
}

impl Asked<'_, '_> {
    /// Holds a session by `hold`, without the interpreter lock.
    /// Errors: the cause of its end: a signal, an exception of `progress` or of a policy, or no result.
    pub fn session<T: Send>(
        self,
        py: Python<'_>,
        config: Config,
        hold: impl FnOnce(&Prepared, Option<&Snapshots>, &mut dyn Watcher) -> Result<T, SessionError> + Send,
    ) -> PyResult<T> {
        let (workload, snapshots) = (self.workload, snapshots_in(self.snapshots));
        let requests = self.requests.map(|requests| requests.get().requests().clone());
        let now = Instant::now();
        let mut watch =
            Watch { started: now, looked: now, phase: "", requests: None, told: self.progress, raised: None };
        let outcome = py.detach(|| {
            catch_unwind(AssertUnwindSafe(|| {
                let prepared = match &requests {
                    Some(requests) => Prepared::given(config, &workload, requests),
                    None => Prepared::new(config, &workload),
                };
                hold(&prepared?, snapshots.as_ref(), &mut watch)
            }))
        });
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        outcome.map_err(of_unwinding)?.map_err(of_session)
    }
}

/// The exception of a run that ended before its workload did, if it did.
pub fn early(py: Python<'_>, result: &RunResult) -> PyResult<()> {
    compare::check_ended(&[result]).map_err(|early| match early {
        Early::Interrupted => PyKeyboardInterrupt::new_err("the run was stopped"),
        Early::Full { .. } => full(py, early.to_string(), result),
    })
}

/// The exception of a drive that takes no more writes, with the measurements until then.
pub fn full(py: Python<'_>, message: String, result: &RunResult) -> PyErr {
    match Py::new(py, Outcome::new(result.clone())) {
        Ok(outcome) => DriveFull::new_err((message, outcome)),
        Err(error) => error,
    }
}

/// Runs one configuration. `workload` is a name or a path, or only a name where `requests` are given. `snapshots`:
/// `None` for no folder, an empty path for the user's cache folder.
#[pyfunction]
#[pyo3(signature = (name, text, settings, workload, requests=None, snapshots=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one call, whose arguments the package names")]
pub fn run(
    py: Python<'_>,
    name: &str,
    text: &str,
    settings: Given,
    workload: String,
    requests: Option<&Bound<'_, RequestColumns>>,
    snapshots: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let _inside = Inside::begin(0)?;
    let config = config(name, text, settings)?;
    let result = Asked { workload, requests, snapshots, progress }.session(py, config, Prepared::run)?;
    early(py, &result)?;
    Ok(Outcome::new(result))
}
