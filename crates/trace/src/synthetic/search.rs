//! `search`: the index servers of a web search engine.
//!
//! Faithful to: the first 60 seconds (24,783 requests) of an SPC `WebSearch` trace, and the request
//! counts of the SPC `WebSearch1` trace (1,055,236 reads, 212 writes).
//!
//! | figure                                  | published | generated |
//! |-----------------------------------------|-----------|-----------|
//! | share of reads                          | 99.98 %   | 99.98 %   |
//! | mean request                            | 15.05 KB  | 14.98 KiB |
//! | requests of 8 / 16 / 24 / 32 KiB        | 60.1 / 12.2 / 7.8 / 19.8 % | the same |
//! | requests that go on where one of the last 64 ended | 32.0 % | 31.6 % |
//! | mean and deviation of the gap           | 2.42 and 3.23 ms | 2.42 and 3.23 ms |
//! | distinct 4 KiB addresses per request    | 1.00      | 0.99 on 16 GiB |
//!
//! Simplified: one address space instead of three busy disks; starts are uniform over it; 0.1 % of
//! single-sector requests are left out. Protects: starts of new runs lie on 8 KiB boundaries.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, GapPhase, Paced, Source};
use super::calibration::{Aim, Comparison, percent, profile, row};
use super::parameters::{SyntheticError, WorkloadParameters};
use super::place::{OpMix, Region};
use super::size_classes::{SizeClass, SizeClasses};
use crate::Workload;

/// Sizes and runs as measured, in tenths of a percent.
const SIZES: [SizeClass; 4] = [
    SizeClass { sectors: 16, weight: 602, continues: 0.165 },
    SizeClass { sectors: 32, weight: 122, continues: 0.514 },
    SizeClass { sectors: 48, weight: 78, continues: 0.567 },
    SizeClass { sectors: 64, weight: 198, continues: 0.575 },
];

const READ_SHARE: f64 = 0.9998;
const RUN_ALIGNMENT_SECTORS: u32 = 16;

/// Two phases reproduce the measured mean and deviation.
const ARRIVALS: ArrivalProcess = ArrivalProcess {
    phases: &[GapPhase { share: 0.85, mean_ns: 1_792_000.0 }, GapPhase { share: 0.15, mean_ns: 6_000_000.0 }],
    session_requests: 0,
    idle_ns: 0.0,
};

struct Search {
    random: Stream,
    ops: OpMix,
    sizes: SizeClasses,
    footprint: Region,
}

impl Source for Search {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let footprint = self.footprint;
        let jump = |random: &mut Stream, sectors| footprint.random(random, sectors, RUN_ALIGNMENT_SECTORS);
        if op == HostOp::Write {
            // Both kinds of writes seen in the piece are 8 KiB, in no order.
            let sectors = footprint.clip(RUN_ALIGNMENT_SECTORS);
            return Access { first_sector: jump(&mut self.random, sectors), sectors, op };
        }
        let (first_sector, sectors) = self.sizes.draw(&mut self.random, footprint, jump);
        Access { first_sector, sectors, op }
    }
}

/// Compares 200,000 requests on 16 GiB with the measured piece.
///
/// # Errors
/// None with the parameters used here; the type is that of building any workload.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let profile = profile("search", &WorkloadParameters { seed, ..WorkloadParameters::new(16 << 21, 200_000) })?;
    let recent = percent(profile.continues_recent_share);
    let distinct = profile.distinct_addresses_per_request;
    Ok(vec![
        row("reads, % of requests", 99.98, percent(profile.read_share), Aim::Within(0.02)),
        row("mean read, sectors", 30.1, profile.read_sectors_mean, Aim::Within(0.3)),
        row("going on where one of the last 64 ended, %", 32.0, recent, Aim::Within(1.0)),
        row("mean gap, ms", 2.42, profile.interarrival_ns_mean / 1e6, Aim::Within(0.05)),
        row("deviation of the gap, ms", 3.23, profile.interarrival_ns_deviation / 1e6, Aim::Within(0.1)),
        row("distinct 4 KiB addresses per request", 1.0, distinct, Aim::Missed(FEW_PLACES)),
    ])
}

/// Why one figure is missed.
const FEW_PLACES: &str = "starts are uniform, so some repeat: the more, the longer the run and the smaller the drive";

/// Builds `search`.
pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let source = Search {
        random: Stream::new(parameters.seed, "workload.search"),
        ops: OpMix::new(parameters, READ_SHARE),
        sizes: SizeClasses::new(&SIZES),
        footprint: Region::footprint(parameters),
    };
    Box::new(Paced::new(name, parameters, ARRIVALS, source))
}
