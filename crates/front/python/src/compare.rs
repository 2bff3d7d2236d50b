//! Stacks side by side.

use crate::beside::{Together, beside};
use crate::command::{Given, config};
use crate::depth::Inside;
use crate::errors::of_compare;
use crate::outcome::Outcome;
use crate::requests::RequestColumns;
use crate::run::{early, snapshots_in};
use ::compare::{Comparison, Source, Stack};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Runs stacks (names and texts) under one workload, each of them `repetitions` times, `threads` at once. The other
/// arguments are as in `run`.
#[pyfunction]
#[pyo3(signature = (stacks, settings, workload, requests=None, snapshots=None, threads=None, repetitions=1))]
#[expect(clippy::too_many_arguments, reason = "one call, whose arguments the package names")]
pub fn compare(
    py: Python<'_>,
    stacks: Vec<(String, String)>,
    settings: Given,
    workload: String,
    requests: Option<&Bound<'_, RequestColumns>>,
    snapshots: Option<PathBuf>,
    threads: Option<usize>,
    repetitions: usize,
) -> PyResult<Vec<Outcome>> {
    let _inside = Inside::begin(0)?;
    let configs = stacks.iter().map(|(name, text)| config(name, text, settings.clone()));
    let configs = configs.collect::<PyResult<Vec<_>>>()?;
    let requests = requests.map(|requests| requests.get().requests().clone());
    let source = requests.as_ref().map_or(Source::Named(&workload), |requests| Source::Given(&workload, requests));
    let snapshots = snapshots_in(snapshots);
    let comparison = Comparison { snapshots: snapshots.as_ref(), repetitions, ..Comparison::new(source) };
    let together = Together::new(threads);
    let compared = beside(
        py,
        together.stop(),
        |_| Ok(()),
        || {
            let stacks = configs.into_iter().map(|config| Stack::new(config, source)).collect::<Result<_, _>>()?;
            comparison.run(stacks, &together, &together)
        },
    )?;
    let compared = compared.map_err(of_compare)?;
    compared.results().into_iter().try_for_each(|result| early(py, result))?;
    compared.interrupted.or(compared.unrepeated).map_or(Ok(()), |error| Err(of_compare(error)))?;
    let told = compared.repeated.iter().map(|repeated| Some(repeated.to_json())).chain(std::iter::repeat(None));
    Ok(compared.ran.into_iter().zip(told).map(|(ran, repeated)| Outcome::repeated(ran.result, repeated)).collect())
}
