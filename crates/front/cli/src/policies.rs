//! Policies in files of Python (`--policies`). The program alone has no Python. The Python package, whose command is
//! this library, reads the files.

use crate::failure::Failure;
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Python, as far as policies need it.
pub trait Python: Send + Sync {
    /// Registers the policies of a file.
    /// Errors: the file cannot be used, in words that begin with its path.
    fn read(&self, file: &Path) -> Result<(), String>;

    /// What a policy raised, where a simulation unwound with this payload because of it.
    fn raised(&self, payload: &(dyn Any + Send)) -> Option<String>;
}

static PYTHON: OnceLock<Box<dyn Python>> = OnceLock::new();

/// Hashes of the files that were read.
static READ: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Gives `--policies` a meaning, which it has not in the program alone. Only the first call counts.
pub fn set_python(python: Box<dyn Python>) {
    let _ = PYTHON.set(python);
}

/// Registers the policies of files, in order.
/// Errors: this program has no Python; a file cannot be used.
pub fn read(files: &[PathBuf]) -> Result<(), Failure> {
    for file in files {
        let python = PYTHON.get().ok_or_else(|| {
            Failure::usage(format!(
                "--policies {}: this is the program without Python. `pip install .` in the folder of nandarium, or \
                 `pip install nandarium-*.whl` of a release, installs a `nandarium` that has it",
                file.display()
            ))
        })?;
        let digest = sweep::file_digest(file).map_err(|error| Failure::file(file, "read", &error))?;
        python.read(file).map_err(|problem| Failure::usage(format!("--policies {problem}")))?;
        READ.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
    }
    Ok(())
}

/// Hashes of the files that were read: kept runs belong to them.
pub fn identity() -> String {
    READ.lock().unwrap_or_else(PoisonError::into_inner).join(" ")
}

/// The failure of a simulation that unwound because a policy raised an exception.
pub fn failure(payload: &(dyn Any + Send)) -> Option<Failure> {
    PYTHON.get().and_then(|python| python.raised(payload)).map(Failure::failed)
}
