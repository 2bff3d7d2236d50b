//! The traces of the study: generated from the statistics printed of them, or the user's files.

use crate::error::StudyError;
use crate::file::TraceFile;
use crate::source::{Opened, Source};
use crate::study::Options;
use trace::synthetic::{WorkloadParameters, build};
use units::{HostOp, SECTOR_BYTES};

/// Names under which files may be given.
pub const NAMES: [&str; 5] = ["websearch", "financial", "systemdisk1", "systemdisk2", "systemdisk3"];

/// The published table of traces: a workload's statistics, no result.
const PUBLISHED: [Published; 5] = [
    Published {
        title: "Websearch",
        requests: 1_055_448,
        write_percent: 0.02,
        mean_kb: 15.05,
        generator: Generator::Search,
    },
    Published {
        title: "Financial",
        requests: 3_698_864,
        write_percent: 17.66,
        mean_kb: 5.24,
        generator: Generator::Financial,
    },
    Published {
        title: "Systemdisk1",
        requests: 670_412,
        write_percent: 71.89,
        mean_kb: 42.30,
        generator: Generator::SystemDisk,
    },
    Published {
        title: "Systemdisk2",
        requests: 1_730_415,
        write_percent: 67.21,
        mean_kb: 41.10,
        generator: Generator::SystemDisk,
    },
    Published {
        title: "Systemdisk3",
        requests: 875_928,
        write_percent: 63.44,
        mean_kb: 47.75,
        generator: Generator::SystemDisk,
    },
];

/// What other studies print as the address span of Financial2.
const FINANCIAL_SPAN_BYTES: u64 = 512 << 20;

/// A line of the published table.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Name in the publication.
    pub title: &'static str,
    pub requests: u64,
    /// Writes, % of requests.
    pub write_percent: f64,
    /// Mean size of a request, KB.
    pub mean_kb: f64,
    generator: Generator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generator {
    Search,
    Financial,
    SystemDisk,
}

/// A trace to be run.
#[derive(Debug)]
pub struct Trace {
    /// What was published of it.
    pub published: Published,
    /// The requests, scaled with the drive.
    pub source: Source,
}

/// The three columns of the published table.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub requests: u64,
    /// Writes, % of requests.
    pub write_percent: f64,
    /// Mean size of a request, KB.
    pub mean_kb: f64,
}

/// All traces, files opened and summed up.
/// Errors: a file cannot be read.
pub fn all(options: &Options) -> Result<Vec<Trace>, StudyError> {
    let trace = |(index, name): (usize, &&str)| {
        let published = PUBLISHED[index];
        let file = TraceFile::given(options, name)?;
        let requests = options.scale.of(published.requests);
        // The three laptops are three traces, not three pieces of one.
        let seed = options.seed.wrapping_add(index as u64);
        Ok(Trace { published, source: Source { file, requests, seed } })
    };
    NAMES.iter().enumerate().map(trace).collect()
}

impl Trace {
    /// Writes, % of requests: of the file, where there is one.
    fn write_percent(&self) -> f64 {
        self.file_sample().map_or(self.published.write_percent, |sample| sample.write_percent)
    }

    /// Most of its requests are writes.
    pub fn is_write_dominant(&self) -> bool {
        self.write_percent() > 50.0
    }

    /// It writes enough to use up spare blocks.
    pub fn ages_drives(&self) -> bool {
        self.write_percent() > 1.0
    }

    /// It is the search engine's.
    pub fn is_search(&self) -> bool {
        self.published.generator == Generator::Search
    }

    /// It is the one of the financial institution.
    pub fn is_financial(&self) -> bool {
        self.published.generator == Generator::Financial
    }

    /// Whether the user gave a file for it.
    pub fn is_file(&self) -> bool {
        self.source.file.is_some()
    }

    /// The columns of the user's file, the whole of it.
    pub fn file_sample(&self) -> Option<Sample> {
        let summary = &self.source.file.as_ref()?.summary;
        let writes = summary.ops.iter().find(|op| op.op == HostOp::Write.name()).map_or(0, |op| op.records);
        let requests = summary.records;
        let mean_kb = summary.sizes.as_ref().map_or(0.0, |sizes| sizes.bytes_mean / 1024.0);
        Some(Sample { requests, write_percent: writes as f64 / requests.max(1) as f64 * 100.0, mean_kb })
    }

    /// The columns of what is generated.
    /// Errors: the generator refuses its parameters.
    pub fn generated_sample(&self, sectors: u64) -> Result<Sample, StudyError> {
        let mut workload = self.generate(&self.source.parameters(sectors))?;
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

    /// Its requests, for a drive of `sectors`.
    /// Errors: a file cannot be read or does not fit.
    pub fn open(&self, sectors: u64) -> Opened {
        self.source.open(sectors, |plain| self.generate(plain))
    }

    /// Requests of the same kind without an end, or the file once more.
    pub fn rehearse(&self, sectors: u64) -> Opened {
        self.source.rehearse(sectors, |plain| self.generate(plain))
    }

    fn generate(&self, plain: &WorkloadParameters) -> Opened {
        let Published { write_percent, mean_kb, generator, .. } = self.published;
        let plain = WorkloadParameters { read_share: Some(1.0 - write_percent / 100.0), ..*plain };
        let (name, parameters) = match generator {
            Generator::Search => ("search", plain),
            Generator::Financial => {
                let share = FINANCIAL_SPAN_BYTES as f64 / (plain.user_sectors * SECTOR_BYTES) as f64;
                ("financial2", WorkloadParameters { footprint_share: share.min(1.0), ..plain })
            }
            Generator::SystemDisk => {
                let request_bytes = Some((mean_kb * 1024.0).round() as u64);
                ("system-disk", WorkloadParameters { request_bytes, ..plain })
            }
        };
        Ok(build(name, &parameters)?)
    }
}
