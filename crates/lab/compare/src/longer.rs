//! How long a load is run, and how often, until all lives can be told: one choice for all stacks.
//!
//! The first runs say how many times as many erases each life needs. The load is lengthened by the largest of these, a
//! trace by further passes and a generator by further requests, and all stacks run again: they are compared under the
//! same requests. The choice depends on results alone, never on the time that they took, so it is the same everywhere.

use crate::error::CompareError;
use crate::life::LEAST_LONGER;
use crate::runs::{Measured, Source, Stack};
use metrics::Status;
use simulator::session::{SAMPLE, is_trace};

/// Most requests that a stack is given in all runs that are told, where their number is chosen. Shorter runs, after
/// which the load was lengthened, come on top.
pub const REQUESTS_MAX: u64 = 250_000_000;
/// Runs of each stack where their number is chosen, unless [`REQUESTS_MAX`] allows fewer: the fewest whose 95 %
/// intervals are not far wider than the differences between drives (Student's t: 12.7 for two runs, 4.3 for three).
pub const RUNS_CHOSEN: usize = 3;
/// Most times that a load is lengthened.
pub(crate) const ROUNDS: usize = 4;

const REQUESTS: &str = "workload.requests";
const REPEAT: &str = "workload.repeat";
const ORDER: &str = "workload.repeat_order";

/// How long a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    requests: u64,
    /// Passes of a trace.
    passes: Option<u64>,
    /// Further passes need a new order.
    is_shuffled: bool,
}

/// The length that all lives need, with intervals that are not wide; `None`: they can be told, a longer load would not
/// help, the user has chosen a length, or it would be above [`REQUESTS_MAX`].
pub(crate) fn needed(stacks: &[Stack], measured: &[&Measured], source: Source<'_>) -> Option<Length> {
    let is_chosen = |stack: &Stack| [REQUESTS, REPEAT, ORDER].iter().any(|key| stack.config.given.contains(key));
    if stacks.iter().any(is_chosen) || matches!(source, Source::Named("-")) {
        return None;
    }
    let first = measured.first()?;
    let setting = |key: &str| first.result.config.get(key).and_then(|value| value.parse::<u64>().ok());
    let limit = setting(REQUESTS)?;
    let requests = measured.iter().map(|one| one.result.requests()).max()?;
    // Drives of other sizes split other requests of one trace in pieces, and each piece counts.
    let has_ended = |one: &Measured| one.result.requests() == requests || one.result.requests() < limit;
    let is_whole = |one: &&Measured| one.result.status == Status::Complete && has_ended(one);
    if !measured.iter().all(is_whole) {
        return None;
    }
    let missing = stacks.iter().zip(measured).filter_map(|(stack, measured)| {
        let (plan, window) = stack.plan.as_ref().zip(measured.window.as_ref())?;
        plan.missing(&measured.result, window)
    });
    let [least, narrow] = missing.reduce(|[a, b], [c, d]| [a.max(c), b.max(d)])?;
    // A wide interval is better than no life.
    let is_allowed = |factor: &f64| *factor >= LEAST_LONGER && (requests as f64 * factor).ceil() <= REQUESTS_MAX as f64;
    let factor = [narrow, least].into_iter().find(is_allowed)?;
    let wanted = (requests as f64 * factor).ceil();
    let is_generated = matches!(source, Source::Named(name) if name != SAMPLE && !is_trace(name));
    if is_generated || requests >= limit {
        return Some(Length { requests: wanted as u64, passes: None, is_shuffled: false });
    }
    let before = setting(REPEAT).unwrap_or(1);
    let passes = (before as f64 * factor).ceil() as u64;
    let is_shuffled = measured.iter().any(|one| one.window.as_ref().is_some_and(|window| window.writes_once));
    Some(Length { requests: limit.max(requests.div_ceil(before) * passes), passes: Some(passes), is_shuffled })
}

/// Runs of each stack that [`REQUESTS_MAX`] allows, at most as many as asked for.
pub(crate) fn runs(most: usize, requests: u64) -> usize {
    let allowed = usize::try_from(REQUESTS_MAX / requests.max(1)).unwrap_or(usize::MAX);
    allowed.clamp(1, most.max(1))
}

impl Stack {
    /// The same stack under a load of this length.
    ///
    /// # Errors
    /// The load cannot be used so.
    pub(crate) fn lengthened(self, length: Length, source: Source<'_>) -> Result<Self, CompareError> {
        let Self { name, mut config, plan, provenance, timeline, .. } = self;
        let Length { requests, passes, is_shuffled } = length;
        let mut choices = vec![(REQUESTS, requests.to_string())];
        choices.extend(passes.map(|passes| (REPEAT, passes.to_string())));
        choices.extend(is_shuffled.then(|| (ORDER, "shuffle".to_owned())));
        for (key, value) in choices {
            config.choose(key, &value).map_err(|error| CompareError::of_stack(&name, crate::LifeError::from(error)))?;
        }
        let prepared = source.prepare(config.clone()).map_err(|error| CompareError::of_stack(&name, error))?;
        Ok(Self { name, config, prepared, plan, provenance, timeline })
    }
}
