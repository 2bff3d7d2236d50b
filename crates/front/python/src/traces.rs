//! The contents of a trace, and traces and workloads as files.

use crate::command::{Given, config};
use crate::errors::{ConfigError, WorkloadError};
use cli::TraceReading;
use pyo3::prelude::*;
use simulator::DrivePlan;
use std::path::PathBuf;

/// How a trace is read: a dictionary with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    columns: Option<String>,
    member: Option<String>,
    order: Option<String>,
    gap_limit: Option<String>,
    allocator: Option<String>,
    odd_lines: Option<String>,
}

impl Reading {
    fn get(&self) -> TraceReading<'_> {
        TraceReading {
            format: self.format.clone(),
            columns: self.columns.clone(),
            member: self.member.clone(),
            order: self.order.as_deref(),
            gap_limit: self.gap_limit.as_deref(),
            allocator: self.allocator.as_deref(),
            odd_lines: self.odd_lines.as_deref(),
        }
    }
}

/// The contents of a trace: the table `nandarium trace info` prints, and the document of its `--json`.
#[pyfunction]
pub fn trace_info(py: Python<'_>, path: &str, reading: Reading) -> PyResult<(String, String)> {
    let told = py.detach(|| cli::trace_info(path, reading.get()));
    told.map(|(text, document)| (text, cli::pretty(&document))).map_err(WorkloadError::new_err)
}

/// Writes a trace as CSV, and tells what is to be known of it.
#[pyfunction]
pub fn trace_convert(py: Python<'_>, path: &str, out: PathBuf, reading: Reading) -> PyResult<Vec<String>> {
    py.detach(|| cli::trace_convert(path, reading.get(), &out)).map_err(WorkloadError::new_err)
}

/// Writes the requests of a built-in workload as CSV, and tells what is to be known of them. `is_stack_given`: the
/// stack was chosen, so it says how large the drive is.
#[pyfunction]
pub fn workload_convert(
    py: Python<'_>,
    name: &str,
    text: &str,
    settings: Given,
    workload: &str,
    out: PathBuf,
    is_stack_given: bool,
) -> PyResult<Vec<String>> {
    let config = config(name, text, settings)?;
    DrivePlan::new(config.clone()).map_err(|error| ConfigError::new_err(error.to_string()))?;
    py.detach(|| cli::workload_convert(config, is_stack_given, workload, &out)).map_err(WorkloadError::new_err)
}

/// Whether a workload of this name is a generator or the recorded sample.
#[pyfunction]
pub fn is_built_in(name: &str) -> bool {
    simulator::session::is_built_in(name)
}
