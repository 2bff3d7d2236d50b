//! Choices of a session where no key was given: the size of the drive under a trace, its state before the run, and the
//! share in use. Each choice is written into the configuration, so that the result names it, and told in a sentence.
//!
//! *Protects*: a key that was given (`--set`) is never changed; giving a chosen value gives the same result.

use super::source::{self, Opened, WorkloadSource};
use super::warm_up::{self, Load};
use super::{GivenRequests, SessionError};
use crate::config::trace_keys::FIT;
use crate::config::{PRECONDITION, Precondition};
use crate::run::pages_of;
use crate::{Config, DrivePlan};
use trace::formats::{DevicePolicy, Fit, Survey};
use units::{HostOp, Request, SECTOR_BYTES, quantity};

/// A drive is made this large for a trace without a second thought. Filling and overwriting it takes some seconds.
const GROWS_TO: u64 = 64 << 30;
/// Beyond that it grows for a trace that touches at least one in this many of the bytes it reaches to.
const SPARSE: u64 = 4;
/// A drive grows in steps of this many bytes.
const STEP: u64 = 64 << 20;
/// Times that a drive is enlarged when the host sees less of it than was asked for.
const ENLARGEMENTS: usize = 8;
/// Requests of a generator that are looked at for writes.
const LOOKED_AT: usize = 1 << 16;

/// A drive and a workload that fit each other.
pub(super) struct Suited {
    pub plan: DrivePlan,
    pub source: WorkloadSource,
    /// The choices, and warnings; a sentence each.
    pub chosen: Vec<String>,
}

/// Fits a configuration to the workload of this name.
/// Errors: no such workload, a trace that cannot be read, a configuration that cannot be built.
pub(super) fn to_workload(mut config: Config, name: &str) -> Result<Suited, SessionError> {
    let mut chosen = Vec::new();
    if source::is_generator(name) {
        chosen.extend(crate::in_use::join_footprint(&mut config)?);
    }
    let survey = source::survey(name, &config.values)?;
    let plan = match &survey {
        Some(survey) => grown(config, survey, &mut chosen)?,
        None => DrivePlan::new(config)?,
    };
    let source = WorkloadSource::surveyed(name, &plan, survey.clone())?;
    let load = match &survey {
        Some(survey) => Load::recorded(survey.writes()),
        None if source.is_generated() => first_requests(source.open()?, &plan)?,
        // Standard input cannot be looked at before it is run.
        None => Load::recorded(true),
    };
    finish(plan, source, load, chosen)
}

/// Fits a configuration to requests in memory, called `name`.
/// Errors: as [`to_workload`]; requests the drive cannot serve.
pub(super) fn to_requests(config: Config, name: &str, requests: &GivenRequests) -> Result<Suited, SessionError> {
    let plan = DrivePlan::new(config)?;
    let source = WorkloadSource::given(name, requests, &plan)?;
    let load = Load::recorded(requests.write());
    finish(plan, source, load, Vec::new())
}

/// Chooses the state the drive begins in, and what runs before it is measured.
fn finish(
    mut plan: DrivePlan,
    source: WorkloadSource,
    load: Load,
    mut chosen: Vec<String>,
) -> Result<Suited, SessionError> {
    if PRECONDITION.read(&plan.config.values) == Precondition::Auto {
        let (state, why) = if load.writes {
            (Precondition::Overwrite, "the workload writes, and a drive in use has to clean")
        } else {
            (Precondition::Fill, "the workload only reads, and pages never written need no flash")
        };
        let (key, state) = (PRECONDITION.key, PRECONDITION.name_of(state));
        plan.config.choose(key, state)?;
        chosen.push(format!(
            "{key} = {state} was chosen: {why}; none begins with an erased drive, steady runs \
            the workload until write amplification stands still."
        ));
    }
    plan.touched = source.touched_share(&plan);
    let spare = plan.spare();
    let is_generated = source.is_generated();
    chosen.extend(plan.scale_note(!is_generated));
    chosen.extend(spare.warning().filter(|_| load.writes));
    chosen.extend(warm_up::choose(&mut plan, &source, load)?);
    chosen.extend(source.repetition_note());
    Ok(Suited { plan, source, chosen })
}

/// A drive that is large enough for a trace, where it may be enlarged and the trace is in proportion to it.
fn grown(mut config: Config, survey: &Survey, chosen: &mut Vec<String>) -> Result<DrivePlan, SessionError> {
    let span = survey.span_bytes();
    let devices = survey.devices();
    if devices > 1 && DevicePolicy::parse(config.values.name("workload.devices")).ok() == Some(DevicePolicy::Concat) {
        chosen.push(format!(
            "The {devices} devices of the trace lie side by side in one space of {} (workload.devices = concat; a \
             number takes one of them, error refuses).",
            quantity::format_size(span.next_multiple_of(1 << 20)),
        ));
    }
    let capacity = crate::scale::capacity(&config.values);
    let touched = survey.touched_bytes();
    let fits = |plan: &DrivePlan, bytes: u64| bytes <= plan.host_sectors() * SECTOR_BYTES;
    let plan = DrivePlan::new(config.clone())?;
    if FIT.read(&config.values) != Fit::Auto || fits(&plan, span) {
        return Ok(plan);
    }
    let is_in_proportion = span <= GROWS_TO || span / SPARSE <= touched;
    let wanted = if is_in_proportion { span } else { touched };
    let may_grow = ["drive.capacity", "drive.scale"].iter().all(|key| !config.given.contains(key));
    let told = |bytes: u64| quantity::format_size(bytes.next_multiple_of(1 << 20));
    if fits(&plan, wanted) || !may_grow {
        chosen.push(format!(
            "The trace touches {} (regions of 1 MiB) of the {} it reaches to: data beyond the {} of the drive is \
             moved to free places on it, in regions of 1 MiB (workload.fit = auto; error refuses, a larger \
             drive.capacity moves less).",
            told(touched),
            told(span),
            quantity::format_size(capacity),
        ));
        return Ok(plan);
    }
    let mut plan = plan;
    let mut size = wanted;
    for _ in 0..ENLARGEMENTS {
        size = size.next_multiple_of(STEP);
        config.choose("drive.capacity", &quantity::exact_size(size))?;
        plan = DrivePlan::new(config.clone())?;
        let seen = plan.host_sectors() * SECTOR_BYTES;
        if seen >= wanted {
            break;
        }
        // A driver of the host holds a share of the drive back.
        size += wanted - seen;
    }
    let why = if is_in_proportion {
        format!("the trace reaches to {}", told(span))
    } else {
        format!("the trace touches {} of the {} it reaches to, packed in regions of 1 MiB", told(touched), told(span))
    };
    chosen.push(format!(
        "drive.capacity = {} was chosen, in place of {}: {why}. Give drive.capacity for another size; \
        workload.fit says what becomes of addresses beyond \
        it.",
        quantity::exact_size(size),
        quantity::format_size(capacity)
    ));
    Ok(plan)
}

/// What a workload does within its first requests.
fn first_requests(mut workload: Opened, plan: &DrivePlan) -> Result<Load, SessionError> {
    let mut batch: Vec<Request> = Vec::new();
    workload.next_batch(&mut batch, LOOKED_AT)?;
    let writes = batch.iter().filter(|request| request.op == HostOp::Write);
    let written: u64 = writes.map(|request| pages_of(request, plan.geometry.page_shift())).sum();
    let [requests, last] = [batch.len() as f64, batch.last().map_or(0, |request| request.arrival) as f64];
    Ok(Load { writes: written > 0, pages: written as f64 / requests, gap_ns: last / requests })
}
