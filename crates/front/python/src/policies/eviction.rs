//! Pages that leave a write buffer, chosen by Python.

use super::{InPython, asked, of_file};
use crate::columns::array;
use crate::errors::ConfigError;
use layer::Values;
use pyo3::prelude::*;
use std::sync::Arc;

/// The view of a policy: the buffered pages, the one written longest ago first.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct EvictionView {
    pages: Vec<u32>,
    writes: Vec<u32>,
    reads: Vec<u32>,
    #[pyo3(get)]
    block_pages: u32,
}

#[pymethods]
impl EvictionView {
    fn __len__(&self) -> usize {
        self.pages.len()
    }

    /// Logical page of each.
    #[getter]
    fn page<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.pages)
    }

    /// Times each was written since it came.
    #[getter]
    fn writes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.writes)
    }

    /// Times each was read since it came.
    #[getter]
    fn reads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.reads)
    }
}

impl buffer::EvictionPolicy for InPython {
    fn pick(&mut self, view: &buffer::EvictionView<'_>) -> Option<usize> {
        let seen = EvictionView {
            pages: view.pages.to_vec(),
            writes: view.writes.to_vec(),
            reads: view.reads.to_vec(),
            block_pages: view.block_pages,
        };
        Some(asked(|py| self.choice(py, seen, view.pages.len())))
    }
}

/// Makes `buffer.kind = name` a buffer of single pages whose evictions what `make` builds decides, for each buffer
/// anew.
/// `source`: path and hash of the file that was read.
#[pyfunction]
#[pyo3(signature = (name, doc, make, source=None))]
pub fn register_eviction(name: &str, doc: &str, make: Py<PyAny>, source: Option<(String, String)>) -> PyResult<()> {
    let own = name.to_owned();
    let build: Arc<buffer::EvictionFactory> = Arc::new(move |_: &Values| Box::new(InPython::built(&own, &make)));
    buffer::register(name, doc, build, source.map(of_file)).map_err(ConfigError::new_err)
}
