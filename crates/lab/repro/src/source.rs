//! Where the requests of a trace come from: the user's file, or a generator.

use crate::error::StudyError;
use crate::file::TraceFile;
use crate::study::Options;
use trace::Workload;
use trace::synthetic::{DesktopShape, WorkloadParameters};

/// Requests, ready to be run.
pub type Opened = Result<Box<dyn Workload + Send>, StudyError>;

/// A file, or what a generator starts from.
#[derive(Debug)]
pub struct Source {
    /// A file of the user that stands in for the generated trace.
    pub file: Option<TraceFile>,
    pub requests: u64,
    /// Seed of the generator.
    pub seed: u64,
}

/// The structure of `desktop-ntfs` below its published statistics: of a draw, as it was drawn.
pub fn desktop_shape(options: &Options) -> DesktopShape {
    let known = DesktopShape::default();
    DesktopShape {
        lone_share: options.drawn("trace.lone_share", known.lone_share),
        warm_pages: options.drawn("trace.warm_pages", known.warm_pages),
        warm_pages_per_block: options.drawn("trace.warm_pages_per_block", known.warm_pages_per_block),
        part_share: options.drawn("trace.part_share", known.part_share),
        scattered_share: options.drawn("trace.scattered_share", known.scattered_share),
        longest_share: options.drawn("trace.longest_share", known.longest_share),
    }
}

impl Source {
    /// What stands in the column of workloads of a row about all of them.
    pub fn label<'a>(sources: impl IntoIterator<Item = &'a Source>) -> String {
        let sources: Vec<&Source> = sources.into_iter().collect();
        let files: Vec<String> =
            sources.iter().filter_map(|source| source.file.as_ref()).map(TraceFile::label).collect();
        match files.len() {
            0 => "generated".to_owned(),
            count if count == sources.len() => files.join(", "),
            _ => format!("{}, others generated", files.join(", ")),
        }
    }

    /// Parameters of a generator, for a drive of `sectors`.
    pub fn parameters(&self, sectors: u64) -> WorkloadParameters {
        WorkloadParameters { seed: self.seed, ..WorkloadParameters::new(sectors, self.requests) }
    }

    /// Its requests, for a drive of `sectors`; without a file they are what `generate` makes of parameters.
    /// Errors: the file cannot be read or does not fit, or the generator refuses its parameters.
    pub fn open(&self, sectors: u64, generate: impl FnOnce(&WorkloadParameters) -> Opened) -> Opened {
        match &self.file {
            Some(file) => file.open(sectors, self.requests),
            None => generate(&self.parameters(sectors)),
        }
    }

    /// Requests of the same kind without an end, or the file once more.
    pub fn rehearse(&self, sectors: u64, generate: impl FnOnce(&WorkloadParameters) -> Opened) -> Opened {
        let seed = self.seed.wrapping_add(0x5851_F42D_4C95_7F2D);
        self.open(sectors, |plain| generate(&WorkloadParameters { seed, requests: u64::MAX, ..*plain }))
    }
}
