//! A file of the user's that stands in for a generated trace.

use crate::error::StudyError;
use crate::load::Opened;
use crate::study::Options;
use trace::formats::{
    DevicePolicy, Fit, OpenOptions, TraceOptions, TraceSummary, TraceWorkload, read_in_order, summarise,
};

/// Requests below which a file cannot stand for a trace.
const LEAST_REQUESTS: u64 = 1000;

/// A file and a summary of its requests.
#[derive(Debug)]
pub struct TraceFile {
    path: String,
    /// Counts and sizes of the whole file.
    pub summary: TraceSummary,
}

impl TraceFile {
    /// The file given for the trace called `name`, if there is one.
    /// Errors: it cannot be read, or holds too little.
    pub fn given(options: &Options, name: &str) -> Result<Option<Self>, StudyError> {
        let Some(path) = options.traces.get(name) else { return Ok(None) };
        let summary = read_in_order(path, &OpenOptions::default(), summarise)?;
        if summary.records < LEAST_REQUESTS {
            let found = summary.records;
            let problem = format!(
                "{path} has {found} requests, too few to stand for {name}: at least {LEAST_REQUESTS} are needed"
            );
            return Err(StudyError::Usage(problem));
        }
        Ok(Some(Self { path: path.clone(), summary }))
    }

    /// Its name without folders.
    pub fn label(&self) -> String {
        let name = std::path::Path::new(&self.path).file_name();
        name.map_or_else(|| self.path.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// Its first `requests` requests, for a drive of `sectors`: devices lie one behind the other; touched
    /// regions are packed, and so keep what is near together.
    /// Errors: it cannot be read or does not fit.
    pub fn open(&self, sectors: u64, requests: u64) -> Opened {
        let options = TraceOptions {
            devices: DevicePolicy::Concat,
            fit: Fit::Compact,
            requests: Some(requests),
            ..TraceOptions::new(sectors)
        };
        Ok(Box::new(TraceWorkload::open(&self.path, &options)?))
    }
}
