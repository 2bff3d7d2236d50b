//! Where a result comes from.

use serde::{Deserialize, Serialize};

/// The data to repeat a run, and to tell whether the files are still the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Command line, the program's name first; `None` for runs of a library.
    pub command: Option<Vec<String>>,
    /// Stack and workload as they were asked for: names or paths.
    pub asked: Asked,
    /// The trace; `None` for generators, standard input and requests in memory.
    pub workload: Option<SourceFile>,
    /// The stack file; `None` for built-in stacks.
    pub stack: Option<SourceFile>,
}

/// The request of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Name or file of the stack.
    pub stack: String,
    /// Name or file of the workload, or `-`.
    pub workload: String,
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, as it was given.
    pub path: String,
    /// Length of the file.
    pub bytes: u64,
    /// Its digest, in hexadecimal digits.
    pub sha256: String,
}
