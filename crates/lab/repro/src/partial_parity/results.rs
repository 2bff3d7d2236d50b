//! Values that rows and figures take from the measurements.

use super::drives::{DriveSetup, RAID0};
use super::loads::PUBLISHED;
use super::runs::{Place, Results};
use crate::simulate::Measurement;
use units::Cause;

impl Results {
    /// A drive with the cache, the buffer and the updates of record.
    pub fn drive(&self, variant: &'static str) -> DriveSetup {
        DriveSetup { variant, ..self.record }
    }

    /// A measurement at the depth of record.
    ///
    /// # Panics
    /// If the study did not run it.
    pub fn of(&self, drive: DriveSetup, load: &'static str) -> &Measurement {
        self.at_depth(drive, load, self.depth)
    }

    fn at_depth(&self, drive: DriveSetup, load: &'static str, depth: u32) -> &Measurement {
        &self.raced[&Place { drive, load, depth }]
    }

    /// IOPS as a share of the IOPS of another drive with the same buffer under the same workload.
    pub fn normalised(&self, drive: DriveSetup, load: &'static str, base: &'static str) -> f64 {
        let base = DriveSetup { buffer: drive.buffer, group: drive.group, ..self.drive(base) };
        iops(self.of(drive, load)) / iops(self.of(base, load))
    }

    /// IOPS as a share of the IOPS of RAID-0: mean over the workloads.
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
pub fn mean(value: impl Fn(&'static str) -> f64) -> f64 {
    PUBLISHED.into_iter().map(value).sum::<f64>() / PUBLISHED.len() as f64
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

/// Pages of a stripe that are written together, where an update writes its parity: their mean.
pub fn together(measured: &Measurement) -> f64 {
    page_writes(measured) / measured.stripe_counter("commits_with_writes") as f64
}

/// Page writes whose stripe was written as a whole, %.
pub fn whole_stripes(measured: &Measurement, data: u64) -> f64 {
    (measured.stripe_counter("full_stripe_writes") * data) as f64 / page_writes(measured) * 100.0
}
