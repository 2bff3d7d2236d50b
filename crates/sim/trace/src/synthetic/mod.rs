//! Synthetic workloads: seeded generators behind one table.
//!
//! To add one: write a file with a `pace::Source` and a `build` function, its `mod` and a line in
//! [`WORKLOADS`]. Counting, arrival times and flushes are the pacer's business, ranges and
//! unsuitable parameters are checked before anything is built.
//!
//! Each workload draws from `Stream::new(seed, "workload.<name>")`, and its arrival times from a
//! second stream, so that the requests stay the same when the arrival rate changes.

mod calibration;
mod desktop_calibration;
mod desktop_layout;
pub mod desktop_ntfs;
mod desktop_shape;
mod financial2;
mod hot_cold;
mod iozone;
mod jesd219;
mod mixed;
mod oltp;
mod pace;
mod parameters;
mod place;
mod popularity;
mod postmark;
mod profile;
mod search;
mod sequential;
mod size_classes;
mod system_disk;
mod transactions;
pub mod umpc;
mod uniform;
mod zipf;
mod zipf_law;

pub use calibration::{Aim, Comparison};
pub use desktop_shape::DesktopShape;
pub use parameters::{
    MEAN_BYTES_RANGE, Parameter, REQUEST_BYTES_MAX, SyntheticError, USER_SECTORS_MAX, WorkloadParameters,
    sectors_of_share,
};
pub use profile::Profile;
pub use umpc::UmpcShape;
pub use zipf_law::{Scatter, Zipf};

use crate::Workload;

/// Compares what a workload gives under a seed with the figures it is made after.
pub type Calibration = fn(u64) -> Result<Vec<Comparison>, SyntheticError>;

/// One line of [`WORKLOADS`].
#[derive(Debug)]
pub struct WorkloadEntry {
    /// The name used in configurations.
    pub name: &'static str,
    /// Its pattern, in one line.
    pub summary: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    /// The optional parameters it takes; setting another one is an error.
    pub takes: &'static [Parameter],
    /// Smallest footprint in sectors.
    pub minimum_sectors: u64,
    /// Compares what it gives under a seed with every published figure, where there are any.
    pub calibration: Option<Calibration>,
    construct: fn(&'static str, &WorkloadParameters) -> Box<dyn Workload + Send>,
}

impl WorkloadEntry {
    /// Builds the workload.
    /// Errors: [`SyntheticError`] when a parameter is out of range or not taken.
    pub fn build(&self, parameters: &WorkloadParameters) -> Result<Box<dyn Workload + Send>, SyntheticError> {
        parameters.check(self.name, self.takes, self.minimum_sectors)?;
        Ok((self.construct)(self.name, parameters))
    }
}

use Parameter::{HotSpace, HotTraffic, MeanBytes, ReadShare, RequestBytes, TrimShare, ZipfExponent};

/// Every synthetic workload, in alphabetical order.
pub static WORKLOADS: [WorkloadEntry; 16] = [
    WorkloadEntry {
        name: "desktop-ntfs",
        summary: "a month of a Windows XP laptop: hot metadata, temporary files, long streams, nights",
        source: "trace statistics published by Lin (2009) and its group",
        takes: &[ReadShare],
        minimum_sectors: desktop_ntfs::MINIMUM_SECTORS,
        calibration: Some(desktop_ntfs::calibration),
        construct: desktop_ntfs::build,
    },
    WorkloadEntry {
        name: "financial2",
        summary: "transaction processing that mostly reads: scans, short reads, skewed updates, a log",
        source: "statistics published of SPC Financial2; runs and locality measured at SPC Financial1",
        takes: &[ReadShare, ZipfExponent],
        minimum_sectors: financial2::MINIMUM_SECTORS,
        calibration: Some(financial2::calibration),
        construct: financial2::build,
    },
    WorkloadEntry {
        name: "hot-cold",
        summary: "a part of the drive gets most requests (20 % of space, 80 % of writes)",
        source: "two-temperature model, Rosenblum and Ousterhout (1992)",
        takes: &[RequestBytes, ReadShare, TrimShare, HotSpace, HotTraffic],
        minimum_sectors: 1,
        calibration: None,
        construct: hot_cold::build,
    },
    WorkloadEntry {
        name: "iozone",
        summary: "one file: sequential write, rewrite, read, then random read and random write",
        source: "order of IOzone's automatic mode, 64 KiB records",
        takes: &[RequestBytes],
        minimum_sectors: 1,
        calibration: None,
        construct: iozone::build,
    },
    WorkloadEntry {
        name: "jesd219",
        summary: "enterprise endurance mix: 12 sizes, 60 % writes, three address bands",
        source: "public description of JESD219A, not the standard itself",
        takes: &[ReadShare],
        minimum_sectors: 1,
        calibration: None,
        construct: jesd219::build,
    },
    WorkloadEntry {
        name: "mixed",
        summary: "uniform 4 KiB reads and writes (70 % reads), trims on request",
        source: "customary mix of drive data sheets",
        takes: &[RequestBytes, ReadShare, TrimShare],
        minimum_sectors: 1,
        calibration: None,
        construct: mixed::build,
    },
    WorkloadEntry {
        name: "oltp",
        summary: "transaction processing: skewed small updates, table scans, a log",
        source: "first 10,000 requests of SPC Financial1, counts of the whole trace",
        takes: &[ReadShare, ZipfExponent],
        minimum_sectors: oltp::MINIMUM_SECTORS,
        calibration: Some(oltp::calibration),
        construct: oltp::build,
    },
    WorkloadEntry {
        name: "postmark",
        summary: "a mail server's small files: create, append, read, delete, with metadata writes",
        source: "Katcher (1997); metadata share and locality are ours",
        takes: &[TrimShare],
        minimum_sectors: postmark::MINIMUM_SECTORS,
        calibration: None,
        construct: postmark::build,
    },
    WorkloadEntry {
        name: "search",
        summary: "a search engine's index: nearly only reads, 8 to 32 KiB, short runs",
        source: "first 60 s of an SPC WebSearch trace, counts of SPC WebSearch1",
        takes: &[ReadShare],
        minimum_sectors: 1,
        calibration: Some(search::calibration),
        construct: search::build,
    },
    WorkloadEntry {
        name: "sequential-read",
        summary: "reads from the first sector to the last, again and again (128 KiB)",
        source: "none needed",
        takes: &[RequestBytes],
        minimum_sectors: 1,
        calibration: None,
        construct: sequential::read,
    },
    WorkloadEntry {
        name: "sequential-write",
        summary: "writes from the first sector to the last, again and again (128 KiB)",
        source: "none needed",
        takes: &[RequestBytes],
        minimum_sectors: 1,
        calibration: None,
        construct: sequential::write,
    },
    WorkloadEntry {
        name: "system-disk",
        summary: "a laptop's system disk while files are copied and installed: long transfers among small ones",
        source: "write shares and mean sizes of three DiskMon traces (TPM study, 2012); runs as in desktop-ntfs",
        takes: &[MeanBytes, ReadShare],
        minimum_sectors: desktop_ntfs::MINIMUM_SECTORS,
        calibration: Some(system_disk::calibration),
        construct: system_disk::build,
    },
    WorkloadEntry {
        name: "umpc",
        summary: "a month of a small Windows XP laptop: long reads in a few parts of the disk, small writes",
        source: "statements of the coded striping study (2007), figures of its group's other traces",
        takes: &[ReadShare],
        minimum_sectors: desktop_ntfs::MINIMUM_SECTORS,
        calibration: Some(umpc::calibration),
        construct: umpc::build,
    },
    WorkloadEntry {
        name: "uniform-read",
        summary: "reads of 4 KiB at uniformly random places",
        source: "independent reference model",
        takes: &[RequestBytes],
        minimum_sectors: 1,
        calibration: None,
        construct: uniform::read,
    },
    WorkloadEntry {
        name: "uniform-write",
        summary: "writes of 4 KiB at uniformly random places",
        source: "independent reference model",
        takes: &[RequestBytes],
        minimum_sectors: 1,
        calibration: None,
        construct: uniform::write,
    },
    WorkloadEntry {
        name: "zipf",
        summary: "places of Zipf popularity (exponent 0.99), scattered over the drive",
        source: "Hörmann and Derflinger (1996); exponent of the YCSB core workloads (2010)",
        takes: &[RequestBytes, ReadShare, TrimShare, ZipfExponent],
        minimum_sectors: 1,
        calibration: None,
        construct: zipf::build,
    },
];

/// The entry called `name`, if there is one.
pub fn find(name: &str) -> Option<&'static WorkloadEntry> {
    WORKLOADS.iter().find(|entry| entry.name == name)
}

/// Builds the workload called `name`.
/// Errors: [`SyntheticError`] when the name is unknown, or a parameter is out of range or not taken.
pub fn build(name: &str, parameters: &WorkloadParameters) -> Result<Box<dyn Workload + Send>, SyntheticError> {
    let Some(entry) = find(name) else {
        let known = WORKLOADS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
        return Err(SyntheticError::UnknownName { name: name.to_owned(), known });
    };
    entry.build(parameters)
}
