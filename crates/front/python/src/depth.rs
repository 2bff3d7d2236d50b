//! Runs inside runs: a policy or a progress function may begin one, and one that begins its own never ends.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use std::cell::Cell;

/// Runs that may lie inside each other. Each takes a piece of the thread's stack that the interpreter does not count,
/// and a stack that is used up ends the whole process; nobody who means to do it needs more than two or three.
const DEEPEST: u32 = 8;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs around what this thread does now.
pub fn depth() -> u32 {
    DEPTH.get()
}

/// A run or sweep under way on this thread, until it is dropped.
pub struct Inside {
    before: u32,
}

impl Inside {
    /// Begins one. `around` are the runs around the thread that gave the work to this one, if another did.
    /// Errors: there are too many around it.
    pub fn begin(around: u32) -> PyResult<Self> {
        let before = DEPTH.get();
        let now = before.max(around) + 1;
        if now > DEEPEST {
            return Err(PyRecursionError::new_err(format!(
                "a run was begun inside {DEEPEST} others, and {DEEPEST} is the most; a policy or progress function \
                 that runs \
                 itself does this for ever. Give the inner run another policy than the one that begins it"
            )));
        }
        DEPTH.set(now);
        Ok(Self { before })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(self.before);
    }
}
