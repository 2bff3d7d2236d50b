//! Delayed parities that are committed, chosen by Python.

use super::{InPython, asked, of_file};
use crate::columns::array;
use crate::errors::ConfigError;
use pyo3::prelude::*;
use std::sync::Arc;
use stripe::choice::{self, Candidate, CommitOrder, CommitPolicy};

/// The view of a policy: the stripes with a delayed parity and nothing under way, the one updated longest ago first.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct CommitView {
    stripes: Vec<u32>,
    newer: Vec<u32>,
    reads: Vec<u32>,
}

#[pymethods]
impl CommitView {
    fn __len__(&self) -> usize {
        self.stripes.len()
    }

    /// Number of each.
    #[getter]
    fn stripe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.stripes)
    }

    /// Data pages of each that are newer than its parity on flash.
    #[getter]
    fn newer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.newer)
    }

    /// Pages a commit of each reads.
    #[getter]
    fn reads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.reads)
    }
}

impl CommitPolicy for InPython {
    fn order(&self) -> CommitOrder {
        CommitOrder::Oldest
    }

    fn choose(&mut self, idle: &mut dyn Iterator<Item = Candidate>) -> Option<u32> {
        let all: Vec<Candidate> = idle.collect();
        if all.is_empty() {
            return None;
        }
        let column = |value: fn(&Candidate) -> u32| all.iter().map(value).collect();
        let seen = CommitView {
            stripes: column(|one| one.stripe),
            newer: column(|one| one.newer),
            reads: column(|one| one.reads),
        };
        let index = asked(|py| self.choice(py, seen, all.len()));
        Some(all[index].stripe)
    }
}

/// Makes `stripe.cache.victim = name` mean what `make` builds, for each drive anew.
/// `source`: path and hash of the file that was read.
#[pyfunction]
#[pyo3(signature = (name, doc, make, source=None))]
pub fn register_commit(name: &str, doc: &str, make: Py<PyAny>, source: Option<(String, String)>) -> PyResult<()> {
    let own = name.to_owned();
    let build: Arc<choice::CommitFactory> = Arc::new(move || Box::new(InPython::built(&own, &make)));
    choice::register(name, doc, build, source.map(of_file)).map_err(ConfigError::new_err)
}
