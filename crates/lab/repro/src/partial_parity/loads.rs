//! The workloads of the study: generated, or the user's files.

use super::RECORD;
use crate::error::StudyError;
use crate::file::TraceFile;
use crate::source::{Opened, Source, desktop_shape};
use crate::study::Options;
use trace::synthetic::{DesktopShape, WorkloadParameters, build, desktop_ntfs};
use units::quantity;

/// Names under which files may be given, in the order of the publication's figures.
pub const NAMES: [&str; 4] = ["pcntfs", "financial", "iozone", "postmark"];
/// Index of the workload that is a desktop.
const DESKTOP: usize = 0;
/// Index of the workload with random requests that is the trace of a financial institution.
pub const FINANCIAL: usize = 1;
/// Index of the other workload with random requests.
pub const POSTMARK: usize = 3;
/// Index of the workload that is not the publication's: most writes to few pages.
pub const LOCAL: usize = 4;
/// How workloads are called.
pub const TITLES: [&str; 5] = ["pcNTFS", "Financial", "Iozone", "Postmark", "local"];

/// Requests at full size. Financial: those of the published trace; `IOzone` is as long as its phases.
const REQUESTS: [u64; 5] = [2_400_000, 5_334_987, IOZONE_PHASES * IOZONE_BYTES / (64 << 10), 2_000_000, 2_000_000];
const GENERATORS: [&str; 5] = ["desktop-ntfs", "oltp", "iozone", "postmark", "hot-cold"];
/// Index of the workload that is one file in phases.
const IOZONE: usize = 2;
/// Bytes of that file. Each phase takes every record once.
const IOZONE_BYTES: u64 = 4 << 30;
const IOZONE_PHASES: u64 = 5;
/// Pages that take most writes of the local workload, and how many of them: what a small model found to come
/// near the published averages.
const HOT_PAGES: f64 = 1000.0;
const HOT_WRITES: f64 = 0.9;
/// A quarter of the requests comes before those that are measured.
const WARM_UP: u64 = 4;

/// A workload to be run.
#[derive(Debug)]
pub struct Load {
    index: usize,
    /// Its requests, those that come before the measured ones included.
    source: Source,
    /// Requests that come before those that are measured.
    pub warm_up: u64,
    /// Bytes of a record, where it has records.
    record: Option<u64>,
    /// Share of the drive it goes to.
    footprint: f64,
    /// Structure of the desktop.
    shape: DesktopShape,
    /// Skew of the financial institution; `None`: that of its generator.
    skew: Option<f64>,
}

/// All workloads.
/// Errors: the user's file cannot be read.
pub fn all(options: &Options) -> Result<Vec<Load>, StudyError> {
    (0..TITLES.len()).map(|index| load(options, index)).collect()
}

fn load(options: &Options, index: usize) -> Result<Load, StudyError> {
    let file = NAMES.get(index).map(|name| TraceFile::given(options, name)).transpose()?.flatten();
    let seed = options.seed.wrapping_add(index as u64);
    let counted = options.scale.of(REQUESTS[index]);
    let source = Source { file, requests: counted, seed };
    let skew = (index == FINANCIAL && options.is_drawn()).then(|| options.drawn("trace.skew", 1.0));
    let shape = desktop_shape(options);
    let plain = Load { index, source, warm_up: 0, record: None, footprint: 1.0, shape, skew };
    if let Some(file) = &plain.source.file {
        return Ok(Load { warm_up: counted.min(file.summary.records) / WARM_UP, ..plain });
    }
    if index == IOZONE {
        // Its phases are the workload: none of them is left out.
        let record = quantity::parse_size(options.setting(&RECORD)).expect("the choices are sizes");
        let share = IOZONE_BYTES as f64 / (32_u64 << 30) as f64;
        let requests = options.scale.of(IOZONE_PHASES * IOZONE_BYTES / record);
        return Ok(Load {
            source: Source { requests, ..plain.source },
            record: Some(record),
            footprint: share,
            ..plain
        });
    }
    let warm_up = counted / WARM_UP;
    Ok(Load { source: Source { requests: counted + warm_up, ..plain.source }, warm_up, ..plain })
}

/// What stands in the column of workloads of a row about all of them.
pub fn label(loads: &[Load]) -> String {
    Source::label(loads.iter().take(NAMES.len()).map(|load| &load.source))
}

impl Load {
    /// Its requests, for drives whose first `sectors` are used.
    /// Errors: a file cannot be read or does not fit.
    pub fn open(&self, sectors: u64) -> Opened {
        self.source.open(sectors, |plain| self.generate(plain))
    }

    /// Requests of the same kind without an end, or the file once more.
    pub fn rehearse(&self, sectors: u64) -> Opened {
        self.source.rehearse(sectors, |plain| self.generate(plain))
    }

    fn generate(&self, plain: &WorkloadParameters) -> Opened {
        let pages = plain.user_sectors * units::SECTOR_BYTES / super::drives::PAGE_BYTES;
        let is_local = self.index == LOCAL;
        let parameters = WorkloadParameters {
            request_bytes: self.record,
            footprint_share: self.footprint,
            hot_space: is_local.then(|| (HOT_PAGES / pages as f64).min(0.5)),
            hot_traffic: is_local.then_some(HOT_WRITES),
            zipf_exponent: self.skew,
            ..*plain
        };
        if self.index == DESKTOP {
            return Ok(desktop_ntfs::shaped(&parameters, self.shape)?);
        }
        Ok(build(GENERATORS[self.index], &parameters)?)
    }
}
