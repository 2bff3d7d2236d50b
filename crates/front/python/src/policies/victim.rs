//! Victims of garbage collection chosen by Python.

use super::{InPython, asked, of_file};
use crate::columns::array;
use crate::errors::ConfigError;
use engine::random::Stream;
use ftl::gc;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The view of a policy: the blocks of one plane that may be collected, as they are at the moment of the call.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct VictimView {
    blocks: Vec<u32>,
    valid: Vec<u32>,
    age: Vec<u32>,
    erases: Vec<u32>,
    #[pyo3(get)]
    pages_per_block: u32,
    stream: Mutex<Stream>,
}

#[pymethods]
impl VictimView {
    fn __len__(&self) -> usize {
        self.blocks.len()
    }

    /// Numbers of the blocks, ascending.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.blocks)
    }

    /// Valid pages of each.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.valid)
    }

    /// Blocks of the plane closed since each was.
    #[getter]
    fn age<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.age)
    }

    /// Erases of each.
    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.erases)
    }

    /// A number below `bound`, from the drive's own stream.
    fn below(&self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        let whole = bound
            .call_method0("__index__")
            .map_err(|_| PyTypeError::new_err(format!("view.below({bound}): give a whole number")))?;
        match whole.extract::<u64>() {
            Ok(bound) if bound > 0 => Ok(self.stream.lock().unwrap_or_else(PoisonError::into_inner).below(bound)),
            _ => Err(PyValueError::new_err(format!(
                "view.below({bound}): it draws a number from 0 to bound - 1, so the bound is from 1 to 2^64 - 1; for \
                 any candidate: view.below(len(view))"
            ))),
        }
    }
}

impl gc::VictimPolicy for InPython {
    fn pick(&mut self, view: &gc::VictimView<'_>, stream: &mut Stream) -> Option<usize> {
        let (blocks, valid): (Vec<u32>, Vec<u32>) =
            view.candidates().map(|(block, valid)| (block as u32, valid)).unzip();
        if blocks.is_empty() {
            return None;
        }
        let seen = VictimView {
            age: blocks.iter().map(|block| view.closings - view.closed_at[*block as usize]).collect(),
            erases: blocks.iter().map(|block| view.rows[*block as usize].erases).collect(),
            valid,
            blocks,
            pages_per_block: view.pages_per_block,
            stream: Mutex::new(stream.clone()),
        };
        asked(|py| {
            let seen = Bound::new(py, seen)?;
            let index = self.choice(py, &seen, seen.get().blocks.len())?;
            let seen = seen.get();
            stream.clone_from(&seen.stream.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(Some(seen.blocks[index] as usize))
        })
    }
}

/// Makes `ftl.gc.victim = name` mean what `make` builds: a callable from a view to an index, for each drive anew.
/// `source`: path and hash of the file that was read.
#[pyfunction]
#[pyo3(signature = (name, doc, make, source=None))]
pub fn register_victim(name: &str, doc: &str, make: Py<PyAny>, source: Option<(String, String)>) -> PyResult<()> {
    let own = name.to_owned();
    let build: Arc<gc::VictimFactory> = Arc::new(move |_| Box::new(InPython::built(&own, &make)));
    gc::register(name, doc, build, source.map(of_file)).map_err(ConfigError::new_err)
}
