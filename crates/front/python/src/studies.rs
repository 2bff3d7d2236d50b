//! Published studies, run again: here, or simulation by simulation elsewhere.

use crate::beside::beside;
use crate::errors::{ConfigError, SimulationError};
use crate::run::Stop;
use crate::sweeps::{Counter, Errand, trace_digest};
use pyo3::prelude::*;
use repro::{Options, Scale, StudyError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn of_study(error: StudyError) -> PyErr {
    match error {
        StudyError::Usage(_) | StudyError::Config { .. } | StudyError::Workload(_) => {
            ConfigError::new_err(error.to_string())
        }
        _ => SimulationError::new_err(error.to_string()),
    }
}

/// Names of all studies.
#[pyfunction]
pub fn studies() -> Vec<&'static str> {
    repro::STUDIES.iter().map(|study| study.name).collect()
}

/// A study, its options, and the folder of its simulations until it is done.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Study {
    about: &'static repro::Study,
    options: Options,
    out: Option<PathBuf>,
}

impl Study {
    /// Counts simulations, and keeps them in the folder of the command line.
    fn counter(&self, stop: Option<&Bound<'_, Stop>>, jobs: Option<usize>) -> PyResult<Counter> {
        let cache = cli::study_cache(self.out.as_deref(), self.about, &self.options).ok_or_else(|| {
            ConfigError::new_err("simulations can be kept nowhere, or a trace cannot be read; give a folder (out)")
        })?;
        Ok(Counter::new(stop, jobs).keeping(cache))
    }
}

#[pymethods]
impl Study {
    #[new]
    #[pyo3(signature = (name, scale, seed, traces, settings, family, figure, out))]
    #[expect(clippy::too_many_arguments, reason = "one call, whose arguments the package names")]
    fn new(
        name: &str,
        scale: Option<&str>,
        seed: u64,
        traces: BTreeMap<String, String>,
        settings: BTreeMap<String, String>,
        family: u32,
        figure: Option<String>,
        out: Option<PathBuf>,
    ) -> PyResult<Self> {
        let study = repro::find(name).ok_or_else(|| {
            ConfigError::new_err(format!("there is no study `{name}`; choose one of {}", studies().join(", ")))
        })?;
        let scale = scale.map_or(Ok(study.usual), Scale::parse).map_err(of_study)?;
        // A process elsewhere has another folder.
        let absolute =
            |path: String| std::path::absolute(&path).map_or(path, |absolute| absolute.to_string_lossy().into_owned());
        let traces = traces.into_iter().map(|(name, path)| (name, absolute(path))).collect();
        let options = Options { scale, seed, traces, settings, family, figure, ..Options::default() };
        options.check(study).map_err(of_study)?;
        Ok(Self { about: study, options, out })
    }

    /// Simulations that are not kept yet, for other processes to run.
    #[pyo3(signature = (stop=None))]
    fn errand(&self, py: Python<'_>, stop: Option<&Bound<'_, Stop>>) -> PyResult<Errand> {
        let counter = Arc::new(self.counter(stop, None)?);
        let digest = |path: &String| Ok((path.clone(), trace_digest(Path::new(path))?));
        let files = self.options.traces.values().map(digest).collect::<PyResult<_>>()?;
        let errand = py.detach(|| repro::Errand::new(self.about, self.options.clone(), files, counter));
        Ok(Errand::new(Arc::new(errand.map_err(of_study)?)))
    }

    /// Runs what is not kept yet, on `jobs` threads of this process, and forgets what was kept. Returns the document of
    /// `--json`, and the table.
    #[pyo3(signature = (jobs=None, progress=None))]
    fn run(&self, py: Python<'_>, jobs: Option<usize>, progress: Option<Py<PyAny>>) -> PyResult<(String, String)> {
        let counter = self.counter(None, jobs)?;
        let tell = |py: Python<'_>| counter.tell(py, progress.as_ref());
        let findings = beside(py, counter.stop(), tell, || self.about.reproduce(&self.options, &counter))?;
        let findings = findings.map_err(of_study)?;
        tell(py)?;
        if let Some(out) = &self.out {
            cli::write_study(out, self.about, &findings).map_err(SimulationError::new_err)?;
        }
        counter.forget();
        let document = repro::to_json(&findings.rows, findings.missing == 0);
        Ok((cli::pretty(&document), cli::study_text(self.about, &findings)))
    }
}
