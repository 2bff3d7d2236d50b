//! `financial2`: a transaction-processing database that mostly reads.
//!
//! Faithful to: the figures that the study of translation pages (TPM, ASP-DAC 2012) prints of its
//! trace "Financial", whose count and share of writes equal SPC Financial2; the time that
//! trace lasted; the address span other studies print for it. Figures of 400,000 requests on
//! 512 MiB (seed 1):
//!
//! | figure                                   | published | generated |
//! |------------------------------------------|-----------|-----------|
//! | requests (give them as a parameter)      | 3,698,864 (`UMass`: 3,699,194) | - |
//! | writes, % of requests                    | 17.66     | 17.6      |
//! | mean request, KiB                        | 5.24      | 5.25      |
//! | mean gap, ms                             | 11.08     | 11.16     |
//! | address span (give it as the footprint)  | 512 MiB   | -         |
//!
//! Simplified: runs, locality and the shape of the gaps are those measured at SPC Financial1
//! (`oltp`), a trace of the same institution, because no piece of Financial2 was at hand; reads
//! only have more short requests. Address span and mean gap are quoted from the literature and were not
//! checked against the file. Copies of Financial2 as distributed are said to have a mean of
//! about 2.4 KB; the 5.24 KB of the study are kept here, and are on the side of longer runs.
//! Protects: the log is written in order, in a region of its own, and is never read.

use super::calibration::{Aim, Comparison, percent, profile, row};
use super::pace::Paced;
use super::parameters::{SyntheticError, WorkloadParameters};
use super::size_classes::SizeClass;
use super::transactions::{ARRIVALS, Business, Transactions};
use crate::Workload;

pub(super) use super::transactions::MINIMUM_SECTORS;

/// 17.66 % of requests are writes.
const READ_SHARE: f64 = 0.8234;

/// Reads, in tenths of a percent: the sizes of `oltp`, the short ones raised until the mean of all
/// requests is the published one.
const READ_SIZES: [SizeClass; 6] = [
    SizeClass { sectors: 16, weight: 596, continues: 0.99 },
    SizeClass { sectors: 1, weight: 209, continues: 0.2 },
    SizeClass { sectors: 6, weight: 81, continues: 0.7 },
    SizeClass { sectors: 2, weight: 66, continues: 0.57 },
    SizeClass { sectors: 8, weight: 24, continues: 0.05 },
    SizeClass { sectors: 4, weight: 24, continues: 0.28 },
];

/// 3.7 million requests in 11.4 hours.
const MEAN_GAP_NS: u64 = 11_080_000;

/// Compares 400,000 requests on the published address span.
/// Errors: none with the parameters used here; building other workloads can fail.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let parameters = WorkloadParameters { seed, ..WorkloadParameters::new(1 << 20, 400_000) };
    let profile = profile("financial2", &parameters)?;
    let writes = 1.0 - profile.read_share;
    let sectors = profile.read_share * profile.read_sectors_mean + writes * profile.write_sectors_mean;
    Ok(vec![
        row("writes, % of requests", 17.66, percent(writes), Aim::Within(0.3)),
        row("mean request, KiB", 5.24, sectors / 2.0, Aim::Within(0.1)),
        row("mean gap, ms", 11.08, profile.interarrival_ns_mean / 1e6, Aim::Within(0.2)),
    ])
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let business = Business { read_share: READ_SHARE, reads: &READ_SIZES, stream: "workload.financial2" };
    let mean_gap_ns = parameters.mean_interarrival_ns.unwrap_or(MEAN_GAP_NS);
    let paced = WorkloadParameters { mean_interarrival_ns: Some(mean_gap_ns), ..parameters.clone() };
    Box::new(Paced::new(name, &paced, ARRIVALS, Transactions::new(business, parameters)))
}
