//! Requests of a generator that run before the clock starts.
//!
//! A drive is preconditioned without time: each command is done before the next one begins. All dies then have their
//! open blocks filled alike and their spare blocks at the mark where collection begins, so in time they collect at the
//! same moment, and the first moments of a run have the longest writes. Faithful to: a drive that has been in use under
//! this load. Protects: measurements count nothing of the warm-up, and the measured requests are the same with and
//! without one.

use super::WorkloadSource;
use crate::DrivePlan;
use crate::array::slc_bits;
use crate::build::Service;
use crate::config::{ConfigError, PRECONDITION, Precondition};
use layer::{Condition, IN_TIME, Parameter, ParameterKind as Kind, SIDE_BY_SIDE, Value};

/// The name of the key.
pub(super) const KEY: &str = "measure.warm_up";
pub(super) const IN_USE: Condition =
    Condition::one_of(PRECONDITION.key, |_, name| PRECONDITION.means(name, |state| state != Precondition::None))
        .otherwise("the drive begins erased");
pub(crate) const PARAMETER: Parameter = Parameter::new(
    KEY,
    Kind::CountOrAuto { max: u64::MAX, auto: "as many as it takes until the dies no longer collect at the same time" },
    "auto",
    "Requests of a generator that run before the clock starts. They appear in no count, latency or series. Directly \
     after preconditioning all dies collect garbage at the same time, and the first writes are slower than later \
     ones. 0 turns the warm-up off. A trace has no warm-up.",
)
.example("20000")
.only(IN_TIME)
.only(SIDE_BY_SIDE)
.only(IN_USE);

/// Blocks that the host fills in each plane until the planes are apart. Measured over page-mapped stacks and drives,
/// with blocks of 64 to 1,024 pages and several loads: after four blocks the longest writes are nearly those of any
/// later moment, and after nine no difference is left (a SATA drive, stripes, a driver of the host). The half is for
/// the rest of the step, which shows when all planes open a block.
const BLOCKS: f64 = 9.5;
/// Pages that a warm-up may write however short the run is: less than a second of work.
const LEAST_PAGES: f64 = 262_144.0;
/// Time in which its requests may arrive however short the run is, ns: the clock of a drive has an end.
const LEAST_NS: f64 = 60e9;

/// Facts about a workload from its first requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Whether any of them writes.
    pub writes: bool,
    /// Mean pages that a request writes.
    pub pages: f64,
    /// Mean time between two requests, where they arrive at times of their own, ns.
    pub gap_ns: f64,
}

impl Load {
    /// A trace, whose requests all count.
    pub const fn recorded(writes: bool) -> Self {
        Self { writes, pages: 0.0, gap_ns: 0.0 }
    }
}

/// Requests that run before the clock starts.
pub(super) fn requests(plan: &DrivePlan) -> u64 {
    match plan.config.values.get(KEY) {
        Some(Value::Whole(count)) if begins_in_step(plan) => *count,
        _ => 0,
    }
}

/// Chooses the number of requests, where it is left open. Returns a sentence on the choice, or on the lack of a
/// warm-up.
/// Errors: the number is out of the range of the key, which it never is.
pub(super) fn choose(plan: &mut DrivePlan, source: &WorkloadSource, load: Load) -> Result<Option<String>, ConfigError> {
    if !begins_in_step(plan) || !load.writes || cleans_by_address(plan) {
        return Ok(None);
    }
    if !source.is_generated() {
        return Ok(Some(
            "The run begins directly after preconditioning: all dies collect at the same time, and the longest writes \
             may be among the first. A trace has no warm-up (measure.warm_up)."
                .to_owned(),
        ));
    }
    if matches!(plan.config.values.get(KEY), Some(Value::Whole(_))) {
        return Ok(None);
    }
    // A load uses the cache up, and only a rest in time, which takes long to simulate, brings it back.
    let has_cache = slc_bits(&plan.config.values).is_some();
    let wanted = until_apart(plan, load);
    let arriving = if source.is_closed() { f64::INFINITY } else { LEAST_NS / load.gap_ns };
    let most = (LEAST_PAGES / load.pages).min(arriving).max(plan.config.values.whole("workload.requests") as f64);
    let count = if has_cache { 0 } else { wanted.min(most).ceil() as u64 };
    plan.config.choose(KEY, &count.to_string())?;
    Ok(Some(if has_cache {
        format!(
            "{KEY} = 0 was chosen: requests before the clock would use up the SLC cache. The run begins directly \
             after preconditioning, and the longest writes may be among the first."
        )
    } else if wanted > most {
        format!(
            "{KEY} = {count} was chosen: so many requests run before the clock starts, and no figure counts them. \
             After preconditioning all dies collect at the same time, and this passes after {wanted:.0} requests, \
             more than the run has. The longest writes may be among the first of the run."
        )
    } else {
        format!(
            "{KEY} = {count} was chosen: so many requests run before the clock starts, and no figure counts them. \
             After preconditioning all dies collect at the same time, and the first writes would be the longest ones. \
             0 turns the warm-up off."
        )
    }))
}

/// The note about a drive that took no more writes before the clock started.
pub(super) fn stuck() -> String {
    format!(
        "The drive took no more writes before the clock started. Set {KEY} = 0 to measure it from its first request on."
    )
}

/// Whether dies that work side by side begin in a state that was made without time.
fn begins_in_step(plan: &DrivePlan) -> bool {
    plan.service() == Service::Parallel && PRECONDITION.read(&plan.config.values) != Precondition::None
}

/// Whether each part of the addresses has blocks of its own and cleans by itself, as zones do. Random writes fill these
/// parts unevenly, before the clock starts as well, so dies do not collect at the same time.
fn cleans_by_address(plan: &DrivePlan) -> bool {
    plan.coded.is_some()
}

/// Requests until the planes are apart.
fn until_apart(plan: &DrivePlan, load: Load) -> f64 {
    BLOCKS * f64::from(plan.geometry.planes()) * f64::from(plan.geometry.pages_per_block) / load.pages
}
