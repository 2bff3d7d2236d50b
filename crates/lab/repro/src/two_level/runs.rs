//! Every simulation of the study, on all cores.

use super::drives::{
    self, BLOCK_LRU, BLOCK_LRU_PAGES, BLOCK_ONLY, BLOCK_ONLY_PAGES, DRAWN_SIZES, IDENTIFIED, LIMIT, LIMITS, LOGS, NFTL,
    OTHERS, PAGE_ONLY, Place, RECORD, SIZES, SMALL_PAGE_PART, TWO_LEVEL, TWO_LEVEL_PAGES, VICTIM_ONLY, WIDE,
};
use super::shape::WriteShape;
use crate::cells::Cells;
use crate::error::StudyError;
use crate::load::Load;
use crate::simulate::Measurement;
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;
use std::collections::BTreeSet;

/// Size of the buffer of the study about installations, MiB.
pub const INSTALLATION_MIB: u64 = 16;

#[derive(Debug)]
pub struct Results {
    /// Log blocks of the rows.
    pub logs: u64,
    /// Sizes of the rows, MiB.
    pub sizes: &'static [u64],
    /// One request after the other.
    pub counted: Cells<Place, Measurement>,
    /// At the times of the trace.
    pub timed: Cells<Place, Measurement>,
    /// An installation, one request after the other.
    pub installed: Cells<Place, Measurement>,
    /// Writes of the trace.
    pub shape: WriteShape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Timed,
    Counted,
    Installed,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Timed => "timed",
            Kind::Counted => "counted",
            Kind::Installed => "an installation",
        }
    }
}

impl Results {
    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        [&self.counted, &self.timed, &self.installed].map(Cells::holes).iter().sum()
    }
}

/// Every simulation, those that take longest first; of a draw those that a family judges.
fn jobs(options: &Options, logs: u64) -> Vec<(Kind, Place)> {
    let mut jobs = all_jobs(logs);
    if options.is_drawn() {
        let others = [&IDENTIFIED[..], &OTHERS, &[TWO_LEVEL_PAGES]].concat();
        let is_size =
            |place: &Place| [NFTL, TWO_LEVEL, WIDE].contains(&place.variant) || DRAWN_SIZES.contains(&place.mib);
        let is_judged = |place: &Place| place.logs == logs && !others.contains(&place.variant) && is_size(place);
        jobs.retain(|(kind, place)| *kind == Kind::Counted && is_judged(place));
    }
    jobs
}

fn all_jobs(logs: u64) -> Vec<(Kind, Place)> {
    let at = |variant, mib| Place { variant, mib: if variant == NFTL { 0 } else { mib }, logs, limit: LIMIT };
    let timed = [NFTL, TWO_LEVEL, BLOCK_LRU, BLOCK_ONLY, PAGE_ONLY].map(|variant| (Kind::Timed, at(variant, RECORD)));
    // Some are needed for several rows.
    let mut counted = BTreeSet::from([at(NFTL, 0)]);
    let swept =
        [TWO_LEVEL, VICTIM_ONLY, TWO_LEVEL_PAGES, BLOCK_LRU, BLOCK_LRU_PAGES, BLOCK_ONLY, BLOCK_ONLY_PAGES, PAGE_ONLY];
    counted.extend([TWO_LEVEL, WIDE].map(|variant| at(variant, SMALL_PAGE_PART)));
    for mib in SIZES {
        counted.extend(swept.map(|variant| at(variant, mib)));
        counted.extend((mib > 16).then(|| at(WIDE, mib)));
    }
    counted.extend(LIMITS.map(|limit| Place { limit, ..at(TWO_LEVEL, RECORD) }));
    counted.extend(IDENTIFIED.iter().chain(&OTHERS).map(|variant| at(*variant, RECORD)));
    let mut installed = Vec::new();
    for logs in LOGS {
        let with_logs = |place| Place { logs, ..place };
        counted.insert(with_logs(at(NFTL, 0)));
        counted.extend(SIZES.map(|mib| with_logs(at(TWO_LEVEL, mib))));
        installed
            .extend([NFTL, BLOCK_LRU_PAGES].map(|variant| (Kind::Installed, with_logs(at(variant, INSTALLATION_MIB)))));
    }
    let counted = counted.into_iter().map(|place| (Kind::Counted, place));
    timed.into_iter().chain(counted).chain(installed).collect()
}

/// Runs every simulation of the study.
/// Errors: a trace that cannot be used, or the user stopped.
pub fn run(
    options: &Options,
    desktop: &Load,
    installation: &Load,
    monitor: &dyn Monitor,
) -> Result<Results, StudyError> {
    let logs = drives::logs_of_record(options);
    let jobs = jobs(options, logs);
    let sectors = drives::bench(options, &jobs[0].1)?.sectors();
    installation.open(sectors)?;
    monitor.expect(jobs.len());
    let [counted, timed, installed] = [(); 3].map(|()| Cells::of(options));
    let sizes = if options.is_drawn() { &DRAWN_SIZES[..] } else { &SIZES };
    let mut results = Results { logs, sizes, counted, timed, installed, shape: WriteShape::of(desktop, sectors)? };
    let run_one = |(kind, place): &(Kind, Place)| {
        let (bench, trace) = match kind {
            Kind::Installed => (drives::small_block_bench(options, place)?, installation),
            Kind::Timed | Kind::Counted => (drives::bench(options, place)?, desktop),
        };
        let mut workload = trace.open(sectors)?;
        let state = if drives::starts_filled(options) {
            bench.warmed(&bench.filled(monitor)?, &mut *workload, trace.warm_up, monitor)?
        } else {
            bench.warmed_on(bench.fresh(), &mut *workload, trace.warm_up, monitor)?
        };
        match kind {
            Kind::Timed => bench.time(&state, &mut *workload, monitor),
            Kind::Counted | Kind::Installed => bench.count(&state, &mut *workload, monitor),
        }
    };
    let name = |(kind, place): &(Kind, Place)| format!("{}, {}", place.name(), kind.name());
    let finished = simulate_all(monitor, &jobs, name, run_one)?;
    for ((kind, place), measured) in jobs.into_iter().zip(finished) {
        let kept = match kind {
            Kind::Timed => &mut results.timed,
            Kind::Counted => &mut results.counted,
            Kind::Installed => &mut results.installed,
        };
        kept.insert(place, measured);
    }
    Ok(results)
}
