//! How long a drive lives.

use crate::beside::{Together, beside};
use crate::command::{Given, settings_of};
use crate::depth::Inside;
use crate::errors::{of_compare, of_life};
use crate::outcome::Outcome;
use crate::requests::RequestColumns;
use crate::run::{Asked, early, full, snapshots_in};
use ::compare::{Comparison, LifeError, LifeOverSeeds, LifePlan, LifeQuestion, Lived, Source, Stack};
use metrics::{LifeReport, RunResult};
use pyo3::prelude::*;
use simulator::Config;
use simulator::session::Prepared;
use std::path::PathBuf;

/// What is asked of a life besides its run: bytes a day and warranty as texts, price for a gigabyte of flash, price of
/// the drive, the data sheet's bytes as a text.
type Question = (Option<String>, String, Option<f64>, Option<f64>, Option<String>);

/// Runs one configuration, in steady state unless something else is set, and tells the life of its drive: the result,
/// `life.json`, the table `nandarium life` prints, and `life.html`. Arguments are as in `run`.
#[pyfunction]
#[pyo3(signature = (
    name, text, settings, question, workload, requests=None, snapshots=None, progress=None, repetitions=1
))]
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
    repetitions: usize,
) -> PyResult<(Outcome, String, String, String)> {
    let _inside = Inside::begin(0)?;
    let (per_day, warranty, price_per_gb, price, tbw) = question;
    let settings = settings_of(settings);
    let load = |mut under: Vec<_>| {
        under.extend(settings.iter().cloned());
        Ok::<_, LifeError>(Config::from_text_with(name, text, &under)?)
    };
    let question = LifeQuestion { per_day, warranty, price_per_gb, price, currency: None, tbw };
    let plan = LifePlan::new(load, &question).map_err(of_life)?;
    let asked = Asked { workload, requests, snapshots, progress };
    let (result, life, over_seeds) = if repetitions > 1 {
        over_seeds(py, plan, asked, repetitions)?
    } else {
        let (result, window) = asked.session(py, plan.config().clone(), Prepared::run_wear)?;
        early(py, &result)?;
        (result.clone(), plan.report(result, window), None)
    };
    let report = life.map_err(|error| match error {
        LifeError::Ended { message, .. } => full(py, message, &result),
        other => of_life(other),
    })?;
    let document = cli::pretty(&::compare::life::document(&report, over_seeds.as_ref()));
    let page = ::compare::life::page::render(&report, over_seeds.as_ref());
    Ok((Outcome::new(result), document, cli::life_text(&report, over_seeds.as_ref()), page))
}

/// The result and the life of a first run, and what repetitions tell.
type Repeated = (RunResult, Result<LifeReport, LifeError>, Option<LifeOverSeeds>);

fn over_seeds(py: Python<'_>, plan: LifePlan, asked: Asked<'_, '_>, repetitions: usize) -> PyResult<Repeated> {
    let requests = asked.requests.map(|requests| requests.get().requests().clone());
    let name = asked.workload.as_str();
    let source = requests.as_ref().map_or(Source::Named(name), |requests| Source::Given(name, requests));
    let snapshots = snapshots_in(asked.snapshots);
    let comparison = Comparison { snapshots: snapshots.as_ref(), repetitions, ..Comparison::new(source) };
    let together = Together::new(None);
    let run = || comparison.run(vec![Stack::with_life(plan, source)?], &together, &together);
    let compared = beside(py, together.stop(), |_| Ok(()), run)?.map_err(of_compare)?;
    compared.results().into_iter().try_for_each(|result| early(py, result))?;
    compared.unrepeated.map_or(Ok(()), |error| Err(of_compare(error)))?;
    let first = compared.ran.into_iter().next().and_then(|ran| Some((ran.result, ran.lived?)));
    let (result, Lived { life, over_seeds, .. }) = first.expect("a stack that was run to its end has a life, or none");
    Ok((result, life, over_seeds))
}
