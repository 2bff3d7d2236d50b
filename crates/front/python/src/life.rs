//! How long a drive lives, and what a trace holds.

use crate::command::{Given, settings_of};
use crate::depth::Inside;
use crate::errors::{WorkloadError, of_life};
use crate::outcome::Outcome;
use crate::requests::RequestColumns;
use crate::run::{Asked, early, full};
use compare::{LifeError, LifePlan, LifeQuestion};
use pyo3::prelude::*;
use simulator::Config;
use simulator::session::Prepared;
use std::path::PathBuf;

/// What is asked of a life besides its run: bytes a day and warranty as texts, price for a gigabyte of flash, price of
/// the drive.
type Question = (Option<String>, String, Option<f64>, Option<f64>);

/// Runs one configuration, in steady state unless something else is set, and tells the life of its drive: the result,
/// `life.json`, the table `nandarium life` prints, and `life.html`. Arguments are those of `run`.
#[pyfunction]
#[pyo3(signature = (name, text, settings, question, workload, requests=None, snapshots=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one call, whose arguments the package names")]
pub fn life(
    py: Python<'_>,
    name: &str,
    text: &str,
    settings: Given,
    question: Question,
    workload: String,
    requests: Option<&Bound<'_, RequestColumns>>,
    snapshots: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Outcome, String, String, String)> {
    let _inside = Inside::begin(0)?;
    let (per_day, warranty, price_per_gb, price) = question;
    let settings = settings_of(settings);
    let load = |mut under: Vec<_>| {
        under.extend(settings.iter().cloned());
        Ok::<_, LifeError>(Config::from_text_with(name, text, &under)?)
    };
    let plan = LifePlan::new(load, &LifeQuestion { per_day, warranty, price_per_gb, price }).map_err(of_life)?;
    let asked = Asked { workload, requests, snapshots, progress };
    let (result, window) = asked.session(py, plan.config().clone(), Prepared::run_wear)?;
    early(py, &result)?;
    let report = plan.report(result.clone(), window).map_err(|error| match error {
        LifeError::Ended(message) => full(py, message, &result),
        other => of_life(other),
    })?;
    let page = compare::life::page::render(&report);
    Ok((Outcome::new(result), cli::pretty(&report.to_json()), cli::life_text(&report), page))
}

/// What a trace holds: the table `nandarium trace info` prints, and the document of its `--json`.
#[pyfunction]
#[pyo3(signature = (path, format=None, order=None, gap_limit=None))]
pub fn trace_info(
    py: Python<'_>,
    path: &str,
    format: Option<String>,
    order: Option<&str>,
    gap_limit: Option<&str>,
) -> PyResult<(String, String)> {
    let told = py.detach(|| cli::trace_info(path, format, order, gap_limit));
    told.map(|(text, document)| (text, cli::pretty(&document))).map_err(WorkloadError::new_err)
}
