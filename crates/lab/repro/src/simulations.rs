//! The simulations of a study: on all cores, and kept as they end. One that was stopped is not there.

use crate::error::StudyError;
use experiment::Monitor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// The measurement of a simulation, by its name. `None`: it was stopped, or is not to be run.
#[derive(Clone, Debug)]
pub(crate) struct Simulated<T> {
    pub name: String,
    pub given: Option<T>,
}

impl<T> Simulated<T> {
    /// The same simulation with its measurement in another form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Simulated<U> {
        Simulated { name: self.name, given: self.given.map(form) }
    }
}

/// `None`: the user stopped it.
fn unless_stopped<T>(ended: Result<T, StudyError>) -> Result<Option<T>, StudyError> {
    match ended {
        Ok(given) => Ok(Some(given)),
        Err(StudyError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs simulations on all cores, in their order. Their names have to differ. Kept simulations are not run again.
/// Errors: one of them fails.
pub(crate) fn simulate_all<J: Sync, T: Serialize + DeserializeOwned + Send + Sync + Clone>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String,
    run: impl Fn(&J) -> Result<T, StudyError> + Sync,
) -> Result<Vec<Simulated<T>>, StudyError> {
    simulate_from(monitor, jobs, name, || Ok(()), |(), job| run(job))
}

/// As [`simulate_all`], for simulations that begin with one state, which is made only if one of them has to be run.
/// Errors: as [`simulate_all`], or the state cannot be made.
pub(crate) fn simulate_from<J: Sync, S: Send + Sync, T: Serialize + DeserializeOwned + Send + Sync + Clone>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String,
    state: impl FnOnce() -> Result<S, StudyError> + Send,
    run: impl Fn(&S, &J) -> Result<T, StudyError> + Sync,
) -> Result<Vec<Simulated<T>>, StudyError> {
    let names: Vec<String> = jobs.iter().map(&name).collect();
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), jobs.len(), "simulations are told apart by their names");
    let run = |state: &S, job: &J| unless_stopped(run(state, job));
    let given = experiment::all_from(monitor, jobs, name, |_| unless_stopped(state()), run)?;
    Ok(names.into_iter().zip(given).map(|(name, given)| Simulated { name: monitor.full_name(&name), given }).collect())
}
