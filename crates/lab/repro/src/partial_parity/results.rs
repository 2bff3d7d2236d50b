//! What rows and figures ask of the measurements.

use super::drives::{RAID0, VARIANTS};
use super::loads::{NAMES, TITLES};
use super::runs::{Place, Results};
use crate::simulate::Measurement;
use units::Cause;

/// A drive: a variant, the entries of its cache and the bytes of its buffer.
#[derive(Clone, Copy, Debug)]
pub struct DriveSetup {
    /// Index into [`VARIANTS`].
    pub variant: usize,
    /// Entries of its parity cache.
    pub entries: u64,
    /// Bytes of its buffer.
    pub buffer: u64,
}

impl Results {
    /// A drive with the cache and the buffer of record.
    pub fn drive(&self, variant: usize) -> DriveSetup {
        DriveSetup { variant, entries: self.entries, buffer: self.buffer }
    }

    /// A measurement at the depth of record.
    ///
    /// # Panics
    /// If the study did not run it.
    pub fn of(&self, drive: DriveSetup, load: usize) -> &Measurement {
        self.at_depth(drive, load, self.depth)
    }

    fn at_depth(&self, drive: DriveSetup, load: usize, depth: u32) -> &Measurement {
        let place = Place { variant: drive.variant, entries: drive.entries, buffer: drive.buffer, load, depth };
        let found = self.raced.get(&place);
        found.unwrap_or_else(|| panic!("{} is run under {}", VARIANTS[drive.variant].name, TITLES[load]))
    }

    /// IOPS as a share of those of another drive with the same buffer under the same workload.
    pub fn normalised(&self, drive: DriveSetup, load: usize, base: usize) -> f64 {
        let base = DriveSetup { buffer: drive.buffer, ..self.drive(base) };
        iops(self.of(drive, load)) / iops(self.of(base, load))
    }

    /// IOPS as a share of those of RAID-0: mean over the workloads.
    pub fn mean_iops(&self, drive: DriveSetup) -> f64 {
        mean(|load| self.normalised(drive, load, RAID0))
    }

    /// The same at another queue depth.
    pub fn mean_iops_at(&self, drive: DriveSetup, depth: u32) -> f64 {
        let iops_of = |drive, load| iops(self.at_depth(drive, load, depth));
        mean(|load| iops_of(drive, load) / iops_of(self.drive(RAID0), load))
    }

    /// Extra reads of a page write: mean over the workloads.
    pub fn mean_reads(&self, drive: DriveSetup) -> f64 {
        mean(|load| reads(self.of(drive, load)))
    }

    /// Extra programs of a page write: mean over the workloads.
    pub fn mean_writes(&self, drive: DriveSetup) -> f64 {
        mean(|load| writes(self.of(drive, load)))
    }
}

/// The mean of a value over the workloads of the study.
pub fn mean(value: impl Fn(usize) -> f64) -> f64 {
    (0..NAMES.len()).map(value).sum::<f64>() / NAMES.len() as f64
}

/// Requests a second.
pub fn iops(measured: &Measurement) -> f64 {
    measured.requests as f64 * 1e9 / measured.elapsed_ns as f64
}

/// Pages of the host that were programmed.
fn page_writes(measured: &Measurement) -> f64 {
    measured.flash.programs[Cause::Host.index()] as f64
}

/// Extra reads of a page write.
pub fn reads(measured: &Measurement) -> f64 {
    measured.flash.reads[Cause::Parity.index()] as f64 / page_writes(measured)
}

/// Extra programs of a page write.
pub fn writes(measured: &Measurement) -> f64 {
    measured.flash.programs[Cause::Parity.index()] as f64 / page_writes(measured)
}

/// Pages programmed for each page write: the page, parity, copies and records.
pub fn programs(measured: &Measurement) -> f64 {
    measured.flash.programs.iter().sum::<u64>() as f64 / page_writes(measured)
}

/// Pages that collection copied, for each page write.
pub fn copies(measured: &Measurement) -> f64 {
    measured.flash.programs[Cause::Gc.index()] as f64 / page_writes(measured)
}

/// Page writes whose stripe was written as a whole, %.
pub fn whole_stripes(measured: &Measurement, data: u64) -> f64 {
    (measured.stripe_counter("full_stripe_writes") * data) as f64 / page_writes(measured) * 100.0
}
