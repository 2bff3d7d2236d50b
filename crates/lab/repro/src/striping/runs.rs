//! Every simulation of the study, on all cores.

use super::drives::{
    self, ARCHITECTURES, DYNAMIC, EAGER, EAGER_TIME, ONE_BUS, Place, RECORD, STATIC, STATIC_INTERLEAVED,
    STATIC_ONE_BUS, STATIC_PLAIN, Sizes, VARIANTS,
};
use super::exact::{self, Exact};
use super::loads::{Length, Shape, Trace};
use super::tail::{self, Tails};
use super::{FORESIGHT, TARGETS};
use crate::cells::Cells;
use crate::error::StudyError;
use crate::simulate::Measurement;
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;
use std::collections::BTreeSet;

/// Requests that are raced, and how many of them a drive with a queue for each bank has at once.
const RACED: u64 = 20_000;
const RACED_DEPTH: u32 = 32;

/// A drive under the trace, or a quicker look at it.
type Run = (Place, Length);

#[derive(Debug, Default)]
pub struct Results {
    /// The values that sweeps went over.
    pub sizes: Sizes,
    /// Whether the rows of record are as long as points of sweeps, as in a draw of a family.
    pub is_short: bool,
    /// In virtual time, at the times of the trace.
    pub timed: Cells<Run, Measurement>,
    /// Drives of figure 1 whose requests are all there from the beginning, by their variant.
    pub raced: Cells<usize, Measurement>,
    /// Counts that need no drive.
    pub exact: Exact,
    /// A day of the trace.
    pub shape: Shape,
    /// Reads around cleaning banks under server traces.
    pub tails: Tails,
}

impl Results {
    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        self.timed.holes() + self.raced.holes() + self.tails.missing()
    }

    /// A measurement.
    /// Panics if the study did not run it.
    pub fn of(&self, place: &Place, length: Length) -> &Measurement {
        let length = if self.is_short { Length::Sweep } else { length };
        &self.timed[&(*place, length)]
    }

    /// Mean response of reads, as a share of the mean on the same drive without codes.
    pub fn reads(&self, place: &Place, length: Length) -> f64 {
        self.of(place, length).reads.mean / self.of(&place.plain(), length).reads.mean
    }

    /// The same of writes.
    pub fn writes(&self, place: &Place, length: Length) -> f64 {
        self.of(place, length).writes.mean / self.of(&place.plain(), length).writes.mean
    }
}

fn runs(options: &Options) -> BTreeSet<Run> {
    let with_plain = |place: Place| [place, place.plain()];
    let swept = drives::swept(Sizes::of(options)).into_iter().flatten().flat_map(with_plain);
    if options.is_drawn() {
        return swept.map(|place| (place, Length::Sweep)).collect();
    }
    let others = (DYNAMIC..=ONE_BUS)
        .filter(|variant| ![STATIC_PLAIN, STATIC_INTERLEAVED].contains(variant))
        .map(|variant| Place { variant, ..RECORD });
    let architectures = architectures().map(|variant| Place { variant, ..RECORD }.uncoded());
    let looks = swept.chain(others.flat_map(with_plain)).chain(architectures).map(|place| (place, Length::Sweep));
    let eager = [EAGER, EAGER_TIME].map(|variant| Place { variant, ..RECORD });
    let of_record = [RECORD, RECORD.plain(), eager[0], eager[1]].map(|place| (place, Length::Record));
    looks.chain(of_record).collect()
}

/// The drives of figure 1.
fn architectures() -> impl Iterator<Item = usize> {
    ARCHITECTURES.into_iter().flat_map(|(_, variants)| variants).flatten()
}

/// The first requests of the trace as fast as a drive of figure 1 serves them, which was written in order.
fn race(options: &Options, trace: &Trace, variant: usize, monitor: &dyn Monitor) -> Result<Measurement, StudyError> {
    let place = Place { variant, ..RECORD }.uncoded();
    let bench = drives::bench(options, &place)?;
    let filled = bench.filled_to(trace.share(&place), monitor)?;
    let depth = if [STATIC, STATIC_ONE_BUS].contains(&variant) { RACED_DEPTH } else { 1 };
    bench.race(&filled, &mut *trace.open_first(bench.sectors(), &place, RACED)?, depth, monitor)
}

/// Runs every simulation of the study.
/// Errors: a drive or a file that cannot be used, or the user stopped.
pub fn run(options: &Options, trace: &Trace, monitor: &dyn Monitor) -> Result<Results, StudyError> {
    // Long ones first, so that no state is left with one at the end.
    let mut runs: Vec<Run> = runs(options).into_iter().collect();
    runs.sort_by_key(|(place, length)| (*length, std::cmp::Reverse(place.used), *place));
    for (place, length) in &runs {
        let bench = drives::bench(options, place)?;
        trace.open(bench.sectors(), place, *length)?;
    }
    let raced: Vec<usize> = if options.is_drawn() { Vec::new() } else { architectures().collect() };
    let tails = if options.is_drawn() { 0 } else { tail::RUNS };
    monitor.expect(runs.len() + raced.len() + tails);
    let bench = drives::bench(options, &RECORD)?;
    let mut results = Results {
        sizes: Sizes::of(options),
        is_short: options.is_drawn(),
        timed: Cells::of(options),
        raced: Cells::of(options),
        exact: exact::run(options)?,
        shape: trace.shape(bench.sectors(), bench.whole("coded.size") / units::SECTOR_BYTES, &RECORD)?,
        ..Results::default()
    };
    let name = |(place, length): &Run| format!("{}, {}", place.name(), length.name());
    let measured = simulate_all(monitor, &runs, name, |run| run_one(options, trace, run, monitor))?;
    results.timed.extend(runs.into_iter().zip(measured));
    let name = |variant: &usize| format!("{}, as fast as it goes", VARIANTS[*variant]);
    let measured = simulate_all(monitor, &raced, name, |variant| race(options, trace, *variant, monitor))?;
    results.raced.extend(raced.into_iter().zip(measured));
    results.tails = if options.is_drawn() { Tails::none(options) } else { tail::run(options, monitor)? };
    Ok(results)
}

pub(super) fn run_one(
    options: &Options,
    trace: &Trace,
    (place, length): &Run,
    monitor: &dyn Monitor,
) -> Result<Measurement, StudyError> {
    let bench = drives::bench(options, place)?;
    let filled = bench.filled_to(trace.share(place), monitor)?;
    let mut workload = trace.open(bench.sectors(), place, *length)?;
    let warm = bench.warmed(&filled, &mut *workload, trace.warm_up(), monitor)?;
    drop(filled);
    if TARGETS.chosen(options, "history") == FORESIGHT {
        // The requests that were counted are those that are measured.
        workload = trace.open_again(bench.sectors(), place, *length)?;
    }
    bench.time(&warm, &mut *workload, monitor)
}
