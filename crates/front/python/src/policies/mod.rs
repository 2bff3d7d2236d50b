//! Policies written in Python, behind the same traits as those written in Rust.
//!
//! The interpreter lock is taken for the call and no longer. An exception ends the run at once: it unwinds out of the
//! simulation, and comes out as it was raised.

pub mod commit;
pub mod eviction;
pub mod victim;

use crate::errors::{PolicyError, Raised};
use layer::registry::Source;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use std::panic::resume_unwind;

/// A policy in Python: a callable that takes a view and answers with an index.
struct InPython {
    name: String,
    pick: Py<PyAny>,
}

impl InPython {
    /// What `make` builds, for one drive.
    fn built(name: &str, make: &Py<PyAny>) -> Self {
        Self { name: name.to_owned(), pick: asked(|py| make.call0(py)) }
    }

    /// The index of the candidate it chooses among the `count` of a view.
    fn choice<'py, View>(&self, py: Python<'py>, seen: View, count: usize) -> PyResult<usize>
    where
        (View,): PyCallArgs<'py>,
    {
        index_of(&self.pick.bind(py).call1((seen,))?, &self.name, count)
    }
}

/// A file of policies, by its path and the hash of its bytes.
fn of_file((path, digest): (String, String)) -> Source {
    Source { path, digest }
}

/// Asks Python; an exception leaves the simulation.
fn asked<T>(question: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(question).unwrap_or_else(|raised| resume_unwind(Box::new(Raised(raised))))
}

/// The answer of a policy that chooses among `count` candidates.
fn index_of(answer: &Bound<'_, PyAny>, policy: &str, count: usize) -> PyResult<usize> {
    let index = answer.call_method0("__index__").and_then(|index| index.extract::<i64>());
    if let Some(index) =
        index.as_ref().ok().and_then(|index| usize::try_from(*index).ok()).filter(|index| *index < count)
    {
        return Ok(index);
    }
    let said = answer.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
    let hint = if answer.is_none() { "; a function without `return` answers None" } else { "" };
    let last = count.saturating_sub(1);
    Err(PolicyError::new_err(format!(
        "policy `{policy}` answered {said}, but an answer is the index of a candidate in its view, from 0 to \
         {last}{hint}"
    )))
}
