//! Rust's errors as the exceptions of the package, with their own words.

use compare::{CompareError, LifeError, TimelineError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;
use pyo3::prelude::*;
use simulator::session::SessionError;
use std::any::Any;

import_exception!(nandarium.errors, ClusterError);
import_exception!(nandarium.errors, ConfigError);
import_exception!(nandarium.errors, DriveFull);
import_exception!(nandarium.errors, IntegrityError);
import_exception!(nandarium.errors, InternalError);
import_exception!(nandarium.errors, NotSteady);
import_exception!(nandarium.errors, PolicyError);
import_exception!(nandarium.errors, SimulationError);
import_exception!(nandarium.errors, WorkloadError);

/// The exception of a session without a result.
pub fn of_session(error: SessionError) -> PyErr {
    match error {
        SessionError::Config(problem) => ConfigError::new_err(problem.to_string()),
        SessionError::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        SessionError::Integrity { .. } => IntegrityError::new_err(error.to_string()),
        SessionError::NotSteady { .. } => NotSteady::new_err(error.to_string()),
        SessionError::Stuck { .. } => DriveFull::new_err(error.to_string()),
        SessionError::Snapshot(_) => SimulationError::new_err(error.to_string()),
        other => WorkloadError::new_err(cli::failed(other)),
    }
}

/// The exception of a life that cannot be told.
pub fn of_life(error: LifeError) -> PyErr {
    match error {
        LifeError::Session(error) => of_session(error),
        LifeError::Config(_) | LifeError::Question(_) | LifeError::NeverWears { .. } => {
            ConfigError::new_err(error.to_string())
        }
        LifeError::Ended { .. } => DriveFull::new_err(error.to_string()),
        LifeError::Untold { .. } => WorkloadError::new_err(error.to_string()),
    }
}

/// The exception of a comparison without a result.
pub fn of_compare(error: CompareError) -> PyErr {
    match error {
        CompareError::Session(error) | CompareError::Timeline(TimelineError::Session(error)) => of_session(error),
        CompareError::Life(error) => of_life(error),
        CompareError::Stack { problem, .. } | CompareError::Repetition { problem, .. } => of_compare(*problem),
        CompareError::Ended { .. } => DriveFull::new_err(error.to_string()),
        CompareError::Interrupted(_) | CompareError::Unrepeated => PyKeyboardInterrupt::new_err(error.to_string()),
        CompareError::Timeline(_) | CompareError::Threads(_) => SimulationError::new_err(error.to_string()),
    }
}

/// An exception that a policy raised, on its way out of a simulation: it unwinds like a panic, so that nothing more is
/// simulated, and is told from one by its type.
pub struct Raised(pub PyErr);

/// The exception of a simulation that unwound.
pub fn of_unwinding(payload: Box<dyn Any + Send>) -> PyErr {
    let payload = match payload.downcast::<Raised>() {
        Ok(raised) => return raised.0,
        Err(other) => other,
    };
    let said = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    InternalError::new_err(format!(
        "the simulator broke one of its own invariants: {}. This is a defect of nandarium; please report it with the \
         stack and the workload",
        said.unwrap_or("it did not say which")
    ))
}
