//! Policies written in Python, behind the same traits as those written in Rust.
//!
//! The interpreter lock is taken for the call and no longer. An exception ends the run at once: it unwinds out of the
//! simulation, and comes out as it was raised.

pub mod commit;
pub mod eviction;
pub mod victim;

use crate::errors::{PolicyError, Raised};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use std::panic::resume_unwind;

/// A policy in Python: a callable that takes a view and answers with an index or `None`.
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
    fn choice<'py, View>(&self, py: Python<'py>, seen: View, count: usize) -> PyResult<Option<usize>>
    where
        (View,): PyCallArgs<'py>,
    {
        index_of(&self.pick.bind(py).call1((seen,))?, &self.name, count)
    }
}

/// Asks Python; an exception leaves the simulation.
fn asked<T>(question: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(question).unwrap_or_else(|raised| resume_unwind(Box::new(Raised(raised))))
}

/// The answer of a policy that chooses among `count` candidates; `None`: it chooses none.
fn index_of(answer: &Bound<'_, PyAny>, policy: &str, count: usize) -> PyResult<Option<usize>> {
    if answer.is_none() {
        return Ok(None);
    }
    let index = answer.call_method0("__index__").and_then(|index| index.extract::<i64>()).map_err(|_| {
        PolicyError::new_err(format!(
            "policy `{policy}` answered {}, but an answer is the index of a candidate, from 0 to {}, or None",
            answer.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string()),
            count.saturating_sub(1)
        ))
    })?;
    match usize::try_from(index) {
        Ok(index) if index < count => Ok(Some(index)),
        _ => Err(PolicyError::new_err(format!("policy `{policy}` chose candidate {index} of {count}; the first is 0"))),
    }
}
