//! Functions without a run: the command line, lists, explanations, configurations.

use crate::errors::{ClusterError, ConfigError, Raised};
use crate::sweeps::Errand;
use cli::Listing;
use layer::spelling;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use simulator::config::{all_keys, drives, stacks};
use simulator::{Config, DrivePlan, Setting};
use std::any::Any;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Python for `--policies`: a function that registers the policies of a file.
struct Reader(Py<PyAny>);

impl cli::Python for Reader {
    fn read(&self, file: &Path) -> Result<(), String> {
        let read = |py: Python<'_>| {
            let failed = |error: PyErr| error.value(py).to_string();
            self.0.call1(py, (file,)).map(drop).map_err(failed)
        };
        Python::attach(read)
    }

    fn raised(&self, payload: &(dyn Any + Send)) -> Option<String> {
        let Raised(error) = payload.downcast_ref()?;
        Python::attach(|py| {
            let trace = error.traceback(py).and_then(|trace| trace.format().ok()).unwrap_or_default();
            Some(format!("a policy of --policies raised an exception\n{trace}{error}"))
        })
    }
}

/// The command line; the answer is the exit code. The interpreter lock is free while it works. `elsewhere` is called
/// with the address of a scheduler and the errand of a sweep that is to be run there, and `read` with a file of
/// policies.
#[pyfunction]
#[pyo3(signature = (arguments, elsewhere=None, read=None))]
pub fn command(py: Python<'_>, arguments: Vec<OsString>, elsewhere: Option<Py<PyAny>>, read: Option<Py<PyAny>>) -> u8 {
    if let Some(read) = read {
        cli::set_python(Box::new(Reader(read)));
    }
    if let Some(elsewhere) = elsewhere {
        cli::set_elsewhere(Box::new(move |address, errand| {
            Python::attach(|py| {
                let failed = |error: PyErr| {
                    (if error.is_instance_of::<ClusterError>(py) { 2 } else { 1 }, error.value(py).to_string())
                };
                elsewhere.call1(py, (address, Errand::new(errand))).map(drop).map_err(failed)
            })
        }));
    }
    py.detach(|| cli::execute(&arguments))
}

/// Which file this module was loaded from: snapshots of another build are not used.
#[pyfunction]
pub fn set_library(path: PathBuf) {
    cli::set_program(path);
}

/// Name and description of everything of a kind.
#[pyfunction]
pub fn items(kind: &str) -> PyResult<Vec<(String, String)>> {
    let listing = match kind {
        "stacks" => Listing::Stacks,
        "drives" => Listing::Drives,
        "workloads" => Listing::Workloads,
        "parts" => Listing::Parts,
        "formats" => Listing::Formats,
        "studies" => Listing::Studies,
        _ => return Err(PyValueError::new_err(format!("nothing is listed as `{}`", spelling::readable(kind)))),
    };
    Ok(cli::items(listing))
}

/// Every policy: name, key, idea, and when to use it, which nobody has said of a registered one.
#[pyfunction]
pub fn policies() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    cli::policies().into_iter().map(|(name, key, doc, when)| (name, key, doc, when.unwrap_or_default())).collect()
}

/// A key, its default, what its values look like, and what it is.
type Key = (&'static str, Option<&'static str>, String, &'static str);

/// Every configuration key.
#[pyfunction]
pub fn keys() -> Vec<Key> {
    all_keys().iter().map(|key| (key.key, key.default, key.kind.describe(), key.doc)).collect()
}

/// A message whose words are short enough to be read: of a name of 100 kB, its beginning.
#[pyfunction]
pub fn readable(message: &str) -> String {
    spelling::readable(message)
}

/// The explanation of a name.
#[pyfunction]
pub fn explain(name: &str) -> PyResult<String> {
    cli::explanation(name).map_err(|problem| PyKeyError::new_err(spelling::readable(&problem)))
}

/// The file of a built-in stack.
#[pyfunction]
pub fn stack_text(name: &str) -> Option<&'static str> {
    [stacks(), drives()].concat().into_iter().find(|stack| stack.name == name).map(|stack| stack.text)
}

/// Key and value of settings given beside a stack.
pub type Given = Vec<(String, String)>;

/// Settings given beside a stack, as a configuration takes them.
pub fn settings_of(given: Given) -> Vec<Setting> {
    given.into_iter().map(|(key, value)| Setting::new(&key, &value, "settings")).collect()
}

/// The configuration of a stack's text.
/// Errors: the first mistake in it.
pub fn config(name: &str, text: &str, settings: Given) -> PyResult<Config> {
    Config::from_text_with(name, text, &settings_of(settings)).map_err(|error| ConfigError::new_err(error.to_string()))
}

/// Every key that has a value, with the value.
#[pyfunction]
pub fn resolve(name: &str, text: &str, settings: Given) -> PyResult<std::collections::BTreeMap<String, String>> {
    Ok(config(name, text, settings)?.resolved)
}

/// Checks that a drive can be made of a stack; the answer is its pages, blocks, pages of a block, and dies.
#[pyfunction]
pub fn checked(name: &str, text: &str, settings: Given) -> PyResult<(u32, u32, u32, u32)> {
    let plan =
        DrivePlan::new(config(name, text, settings)?).map_err(|error| ConfigError::new_err(error.to_string()))?;
    Ok((plan.user_pages, plan.geometry.blocks(), plan.geometry.pages_per_block, plan.geometry.dies()))
}
