//! The traces of the study, with their columns in the published table.

use super::TARGETS;
use crate::error::StudyError;
pub use crate::load::Load as Trace;
use crate::study::Options;
use units::{HostOp, SECTOR_BYTES};

/// The three columns of the published table.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub requests: u64,
    /// Writes, % of requests.
    pub write_percent: f64,
    /// Mean size of a request, KB.
    pub mean_kb: f64,
}

/// All traces of the published table, files opened and summed up.
/// Errors: a file cannot be read.
pub fn all(options: &Options) -> Result<Vec<Trace>, StudyError> {
    let mut traces = Trace::each(options, TARGETS.patterns())?;
    traces.retain(|trace| !trace.pattern.trace.is_empty());
    for trace in &mut traces {
        trace.share = options.drawn("trace.in_use", 1.0);
    }
    Ok(traces)
}

impl Trace {
    /// Its columns as published.
    pub(super) fn published(&self) -> Sample {
        let (requests, none) = (self.pattern.requests, f64::NAN);
        let [write_percent, mean_kb] = [self.pattern.write_percent, self.pattern.mean_kb].map(|of| of.unwrap_or(none));
        Sample { requests, write_percent, mean_kb }
    }

    /// Writes, % of requests: of the file, where there is one.
    fn write_percent(&self) -> f64 {
        self.file_sample().unwrap_or_else(|| self.published()).write_percent
    }

    /// Most of its requests are writes.
    pub(super) fn is_write_dominant(&self) -> bool {
        self.write_percent() > 50.0
    }

    /// It writes enough to use up spare blocks.
    pub(super) fn ages_drives(&self) -> bool {
        self.write_percent() > 1.0
    }

    /// It is the search engine's.
    pub(super) fn is_search(&self) -> bool {
        self.pattern.generator == "search"
    }

    /// It is the one of the financial institution.
    pub(super) fn is_financial(&self) -> bool {
        self.pattern.generator == "financial2"
    }

    /// Whether the user gave a file for it.
    pub(super) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// The columns of the user's file, the whole of it.
    pub(super) fn file_sample(&self) -> Option<Sample> {
        let summary = &self.file.as_ref()?.summary;
        let writes = summary.ops.iter().find(|op| op.op == HostOp::Write.name()).map_or(0, |op| op.records);
        let requests = summary.records;
        let mean_kb = summary.sizes.as_ref().map_or(0.0, |sizes| sizes.bytes_mean / 1024.0);
        Some(Sample { requests, write_percent: writes as f64 / requests.max(1) as f64 * 100.0, mean_kb })
    }

    /// The columns of the generated trace.
    /// Errors: the generator refuses its parameters.
    pub(super) fn generated_sample(&self, sectors: u64) -> Result<Sample, StudyError> {
        let mut workload = self.open(sectors)?;
        let (mut requests, mut writes, mut moved, mut batch) = (0, 0, 0, Vec::new());
        loop {
            batch.clear();
            workload.next_batch(&mut batch, 8192)?;
            if batch.is_empty() {
                break;
            }
            requests += batch.len() as u64;
            writes += batch.iter().filter(|request| request.op == HostOp::Write).count();
            moved += batch.iter().map(|request| u64::from(request.sectors)).sum::<u64>();
        }
        let each = requests.max(1) as f64;
        let mean_kb = (moved * SECTOR_BYTES) as f64 / 1024.0 / each;
        Ok(Sample { requests, write_percent: writes as f64 / each * 100.0, mean_kb })
    }
}
