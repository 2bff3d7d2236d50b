//! What a trace holds, and traces and workloads as files.

use crate::command::{Given, config};
use crate::errors::{ConfigError, WorkloadError};
use cli::TraceReading;
use pyo3::prelude::*;
use simulator::DrivePlan;
use std::path::PathBuf;

/// What a trace holds: the table `nandarium trace info` prints, and the document of its `--json`.
#[pyfunction]
#[pyo3(signature = (
    path, format=None, order=None, gap_limit=None, columns=None, member=None, allocator=None, odd_lines=None,
))]
#[expect(clippy::too_many_arguments, reason = "named arguments of Python")]
pub fn trace_info(
    py: Python<'_>,
    path: &str,
    format: Option<String>,
    order: Option<&str>,
    gap_limit: Option<&str>,
    columns: Option<String>,
    member: Option<String>,
    allocator: Option<&str>,
    odd_lines: Option<&str>,
) -> PyResult<(String, String)> {
    let reading = TraceReading { format, columns, member, order, gap_limit, allocator, odd_lines };
    let told = py.detach(|| cli::trace_info(path, reading));
    told.map(|(text, document)| (text, cli::pretty(&document))).map_err(WorkloadError::new_err)
}

/// Writes a trace as CSV, and tells what is to be known of it.
#[pyfunction]
#[pyo3(signature = (
    path, out, format=None, order=None, gap_limit=None, columns=None, member=None, allocator=None, odd_lines=None,
))]
#[expect(clippy::too_many_arguments, reason = "named arguments of Python")]
pub fn trace_convert(
    py: Python<'_>,
    path: &str,
    out: PathBuf,
    format: Option<String>,
    order: Option<&str>,
    gap_limit: Option<&str>,
    columns: Option<String>,
    member: Option<String>,
    allocator: Option<&str>,
    odd_lines: Option<&str>,
) -> PyResult<Vec<String>> {
    let reading = TraceReading { format, columns, member, order, gap_limit, allocator, odd_lines };
    py.detach(|| cli::trace_convert(path, reading, &out)).map_err(WorkloadError::new_err)
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
