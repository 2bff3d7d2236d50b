//! The compiled half of the Python package `nandarium`.
//!
//! ```text
//! python/nandarium   public names, checks of types and shapes, docstrings
//!    |               plain values, texts and whole arrays; never an object for each request
//! this module        one session, one call; the interpreter lock is free while it runs
//!    |
//! simulator::session, nandarium (the command line)
//! ```
//! Protects: a run gives the same result from Python and from the command line, because both call the same session.

#![allow(clippy::needless_pass_by_value, reason = "what comes from Python is made for the call and is the callee's")]

mod arrow;
mod beside;
mod columns;
mod command;
mod compare;
mod depth;
mod errors;
mod life;
mod outcome;
mod policies;
mod requests;
mod run;
mod studies;
mod sweeps;
mod torture;
mod traces;

#[pyo3::pymodule]
mod _nandarium {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MOST_THREADS", sweep::MOST_THREADS)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::arrow::{arrow_array, arrow_schema, arrow_stream};
    #[pymodule_export]
    use crate::command::{
        checked, command, explain, items, keys, policies, readable, resolve, set_library, stack_text,
    };
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::life::life;
    #[pymodule_export]
    use crate::outcome::{Outcome, comparison_text, write_page};
    #[pymodule_export]
    use crate::policies::commit::{CommitView, register_commit};
    #[pymodule_export]
    use crate::policies::eviction::{EvictionView, register_eviction};
    #[pymodule_export]
    use crate::policies::victim::{VictimView, register_victim};
    #[pymodule_export]
    use crate::requests::RequestColumns;
    #[pymodule_export]
    use crate::run::{Stop, run};
    #[pymodule_export]
    use crate::studies::{Study, studies};
    #[pymodule_export]
    use crate::sweeps::{
        Errand, Grid, Plan, Swept, metrics, program_hash, run_job, trace_problem, unbeaten, unread_policies,
    };
    #[pymodule_export]
    use crate::torture::{Disk, Recorded, record, record_commands, torture, torture_commands};
    #[pymodule_export]
    use crate::traces::{is_built_in, trace_convert, trace_info, workload_convert};
}
