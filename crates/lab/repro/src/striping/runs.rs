//! Every simulation of the study, on all cores.

use super::drives::{self, DYNAMIC, EAGER, EAGER_TIME, Place, RECORD, STATIC_INTERLEAVED, STATIC_PLAIN, VARIANTS};
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

/// A drive under the trace, or a quicker look at it.
type Run = (Place, Length);

#[derive(Debug, Default)]
pub struct Results {
    /// In virtual time, at the times of the trace.
    pub timed: Cells<Run, Measurement>,
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
        self.timed.holes() + self.tails.missing()
    }

    /// A measurement.
    /// Panics if the study did not run it.
    pub fn of(&self, place: &Place, length: Length) -> &Measurement {
        self.timed.get(&(*place, length)).unwrap_or_else(|| panic!("{} is run", place.name()))
    }

    /// Mean response of reads, as a share of that of the same drive without codes.
    pub fn reads(&self, place: &Place, length: Length) -> f64 {
        self.of(place, length).reads.mean / self.of(&place.plain(), length).reads.mean
    }

    /// The same of writes.
    pub fn writes(&self, place: &Place, length: Length) -> f64 {
        self.of(place, length).writes.mean / self.of(&place.plain(), length).writes.mean
    }
}

fn runs() -> BTreeSet<Run> {
    let with_plain = |place: Place| [place, place.plain()];
    let swept = drives::swept().into_iter().flatten().flat_map(with_plain);
    let others = (DYNAMIC..VARIANTS.len())
        .filter(|variant| ![STATIC_PLAIN, STATIC_INTERLEAVED].contains(variant))
        .map(|variant| Place { variant, ..RECORD });
    let looks = swept.chain(others.flat_map(with_plain)).map(|place| (place, Length::Sweep));
    let eager = [EAGER, EAGER_TIME].map(|variant| Place { variant, ..RECORD });
    let of_record = [RECORD, RECORD.plain(), eager[0], eager[1]].map(|place| (place, Length::Record));
    looks.chain(of_record).collect()
}

/// Runs everything.
/// Errors: a drive or a file that cannot be used, or the user stopped.
pub fn run(options: &Options, trace: &Trace, monitor: &dyn Monitor) -> Result<Results, StudyError> {
    // Long ones first, so that no state is left with one at the end.
    let mut runs: Vec<Run> = runs().into_iter().collect();
    runs.sort_by_key(|(place, length)| (*length, std::cmp::Reverse(place.used), *place));
    for (place, length) in &runs {
        let bench = drives::bench(options, place)?;
        trace.open(bench.sectors(), place.share(), *length)?;
    }
    monitor.expect(runs.len() + tail::RUNS);
    let bench = drives::bench(options, &RECORD)?;
    let mut results = Results {
        exact: exact::run(options)?,
        shape: trace.shape(bench.sectors(), bench.whole("coded.size") / units::SECTOR_BYTES, &RECORD)?,
        ..Results::default()
    };
    let name = |(place, length): &Run| format!("{}, {}", place.name(), length.name());
    let measured = simulate_all(monitor, &runs, name, |run| run_one(options, trace, run, monitor))?;
    results.timed.extend(runs.into_iter().zip(measured));
    results.tails = tail::run(options, monitor)?;
    Ok(results)
}

pub(super) fn run_one(
    options: &Options,
    trace: &Trace,
    (place, length): &Run,
    monitor: &dyn Monitor,
) -> Result<Measurement, StudyError> {
    let bench = drives::bench(options, place)?;
    let filled = bench.filled_to(place.share(), monitor)?;
    let mut workload = trace.open(bench.sectors(), place.share(), *length)?;
    let warm = bench.warmed(&filled, &mut *workload, trace.warm_up(), monitor)?;
    drop(filled);
    if TARGETS.chosen(options, "history") == FORESIGHT {
        // The requests that were counted are those that are measured.
        workload = trace.open_again(bench.sectors(), place.share(), *length)?;
    }
    bench.time(&warm, &mut *workload, monitor)
}
