//! Every simulation of the study, on all cores.

use super::TARGETS;
use super::drives::{
    self, CACHES, DFTL, DFTL_SORTED, FAST, FAST_SMALL_LOG, LEAFTL, LEAFTL_SORTED, PUBLISHED_CACHE, TPM, VARIANTS,
};
use super::exact::{self, Exact};
use super::traces::{Sample, Trace};
use crate::cells::Cells;
use crate::error::StudyError;
use crate::load::{Load, Opened, in_use};
use crate::simulate::{Bench, Measurement};
use crate::simulations::{Simulated, simulate_from};
use crate::study::Options;
use experiment::Monitor;
use simulator::DriveState;
use std::collections::BTreeMap;
use trace::synthetic::{WorkloadParameters, build};
use units::SECTOR_BYTES;

/// A drive under a trace: mapping, cache size and trace by index.
pub type Place = (usize, usize, usize);

/// Bytes of a page of the published drive.
const PAGE_BYTES: u64 = 2048;

#[derive(Debug, Default)]
pub struct Results {
    /// Cache sizes that were run, by index.
    pub caches: Vec<usize>,
    /// From a filled drive, one request after the other.
    pub counted: Cells<Place, Measurement>,
    /// From a filled drive, at the times of the trace. Published cache size only.
    pub timed: Cells<Place, Measurement>,
    /// From an aged drive, one request after the other. Traces with writes only.
    pub aged: Cells<Place, Measurement>,
    /// Uniform page writes over a whole drive in use: by mapping.
    pub uniform: Cells<usize, Measurement>,
    /// Transactions at their own times: by mapping.
    pub transactions: Cells<usize, Measurement>,
    /// Columns of the published table for each generated trace, by its title.
    pub samples: BTreeMap<&'static str, Sample>,
    /// Pages of flash of the drives.
    pub flash_pages: u64,
    /// Counts on tiny drives.
    pub exact: Exact,
}

impl Results {
    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        let by_place = [&self.counted, &self.timed, &self.aged].map(Cells::holes);
        by_place.iter().sum::<usize>() + self.uniform.holes() + self.transactions.holes()
    }

    fn of_kind(&mut self, kind: Kind) -> &mut Cells<Place, Measurement> {
        match kind {
            Kind::Counted => &mut self.counted,
            Kind::Timed => &mut self.timed,
            Kind::Aged => &mut self.aged,
        }
    }
}

/// One kind of simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counted,
    Timed,
    Aged,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Counted => "counted",
            Kind::Timed => "timed",
            Kind::Aged => "aged",
        }
    }
}

/// What is run on a filled drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Trace(usize, Kind),
    Uniform,
    Transactions,
}

/// A drive and what is run on it: traces at a cache size, uniform writes, or transactions.
struct Job {
    variant: usize,
    cache: usize,
    tasks: Vec<Task>,
    bench: Bench,
}

/// The jobs, those that take longest first.
fn jobs(options: &Options, traces: &[Trace], caches: &[usize]) -> Result<Vec<Job>, StudyError> {
    if options.is_drawn() {
        return drawn_jobs(options, traces, caches);
    }
    let mut jobs = Vec::new();
    for variant in [TPM, DFTL, LEAFTL] {
        let bench = drives::uniform_bench(options, VARIANTS[variant])?;
        jobs.push(Job { variant, cache: PUBLISHED_CACHE, tasks: vec![Task::Uniform], bench });
    }
    for variant in [DFTL, FAST, FAST_SMALL_LOG] {
        let bench = drives::bench(options, VARIANTS[variant], PUBLISHED_CACHE)?;
        jobs.push(Job { variant, cache: PUBLISHED_CACHE, tasks: vec![Task::Transactions], bench });
    }
    for cache in [PUBLISHED_CACHE, 0, 1, 3] {
        for (variant, of) in VARIANTS.iter().enumerate() {
            let published = cache == PUBLISHED_CACHE;
            let is_later = [LEAFTL, LEAFTL_SORTED, DFTL_SORTED].contains(&variant);
            if is_later && !published || [FAST, FAST_SMALL_LOG].contains(&variant) {
                continue;
            }
            let compared = variant == TPM || variant == DFTL;
            let mut tasks = Vec::new();
            for (index, trace) in traces.iter().enumerate() {
                if !is_later {
                    tasks.push(Task::Trace(index, Kind::Counted));
                }
                if published {
                    tasks.push(Task::Trace(index, Kind::Timed));
                }
                if trace.ages_drives() && (published || compared) {
                    tasks.push(Task::Trace(index, Kind::Aged));
                }
            }
            jobs.push(Job { variant, cache, tasks, bench: drives::bench(options, of, cache)? });
        }
    }
    Ok(jobs)
}

/// Those that a family judges, or that are shown over the share in use.
fn drawn_jobs(options: &Options, traces: &[Trace], caches: &[usize]) -> Result<Vec<Job>, StudyError> {
    let places = caches.iter().flat_map(|cache| [TPM, DFTL].map(|variant| (variant, *cache)));
    let job = |(variant, cache)| {
        let kinds: &[Kind] =
            if cache == PUBLISHED_CACHE { &[Kind::Counted, Kind::Timed, Kind::Aged] } else { &[Kind::Counted] };
        let tasks = traces.iter().enumerate().flat_map(|(index, trace)| {
            let run = kinds.iter().filter(|kind| **kind != Kind::Aged || trace.ages_drives());
            run.map(move |kind| Task::Trace(index, *kind))
        });
        Ok(Job { variant, cache, tasks: tasks.collect(), bench: drives::bench(options, VARIANTS[variant], cache)? })
    };
    places.map(job).collect()
}

/// Runs every simulation of the study, or of a draw with caches of these sizes.
/// Errors: a drive or trace that cannot be used, or the user stopped.
pub fn run(
    options: &Options,
    traces: &[Trace],
    caches: &[usize],
    monitor: &dyn Monitor,
) -> Result<Results, StudyError> {
    // What cannot be built or opened is said before anything runs.
    let jobs = jobs(options, traces, caches)?;
    let (sectors, flash_pages) = (jobs[0].bench.sectors(), jobs[0].bench.flash_pages());
    for trace in traces {
        trace.open(sectors)?;
    }
    monitor.expect(jobs.iter().map(|job| job.tasks.len()).sum());
    let [counted, timed, aged] = [(); 3].map(|()| Cells::of(options));
    let [uniform, transactions] = [(); 2].map(|()| Cells::of(options));
    let exact = exact::run(options)?;
    let samples = BTreeMap::new();
    let caches = caches.to_vec();
    let mut results = Results { caches, counted, timed, aged, uniform, transactions, samples, flash_pages, exact };
    for trace in traces.iter().filter(|trace| !trace.is_file()) {
        results.samples.insert(trace.pattern.title.as_str(), trace.generated_sample(sectors)?);
    }
    let run_one = |job: &Job| run_job(job, traces, options, monitor);
    let finished: Vec<Vec<Simulated<Measurement>>> = experiment::side_by_side(monitor, &jobs, run_one)?;
    for (Job { variant, cache, tasks, .. }, finished) in jobs.iter().zip(finished) {
        for (task, measured) in tasks.iter().zip(finished) {
            match task {
                Task::Uniform => results.uniform.insert(*variant, measured),
                Task::Transactions => results.transactions.insert(*variant, measured),
                Task::Trace(trace, kind) => results.of_kind(*kind).insert((*variant, *cache, *trace), measured),
            }
        }
    }
    Ok(results)
}

/// What a drive gives under everything that is run on it.
fn run_job(
    job: &Job,
    traces: &[Trace],
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Vec<Simulated<Measurement>>, StudyError> {
    let Job { variant, cache, tasks, bench } = job;
    let name = VARIANTS[*variant];
    let title = |task: &Task| match task {
        Task::Uniform => format!("{name}, uniform writes"),
        Task::Transactions => format!("{name}, transactions"),
        Task::Trace(trace, kind) => {
            format!("{name}, {} KiB, {}, {}", CACHES[*cache], traces[*trace].pattern.title, kind.name())
        }
    };
    simulate_from(
        monitor,
        tasks,
        title,
        || begin(bench, options, monitor),
        |filled, task| match task {
            Task::Uniform => uniform(bench, filled, options, monitor),
            Task::Transactions => transactions(bench, filled, options, monitor),
            Task::Trace(trace, kind) => measure(bench, filled, &traces[*trace], *kind, monitor),
        },
    )
}

/// The state in which a drive begins: written once in order; of a draw a share of it, and then pages at random places
/// there.
fn begin(bench: &Bench, options: &Options, monitor: &dyn Monitor) -> Result<DriveState, StudyError> {
    if !options.is_drawn() {
        return bench.filled(monitor);
    }
    let sectors = in_use(bench.sectors(), options.drawn("trace.in_use", 1.0));
    let filled = bench.filled_first(sectors, monitor)?;
    let pages = bench.sectors() * SECTOR_BYTES / PAGE_BYTES;
    let writes = (options.drawn("trace.overwritten", 1.0) * pages as f64) as u64;
    bench.used(&filled, &mut *page_writes(sectors, options.seed.wrapping_add(99), writes)?, monitor)
}

/// Page-sized writes at uniformly random places of the first `sectors`.
fn page_writes(sectors: u64, seed: u64, requests: u64) -> Opened {
    let request_bytes = Some(PAGE_BYTES);
    let parameters = WorkloadParameters { seed, request_bytes, ..WorkloadParameters::new(sectors, requests) };
    Ok(build("uniform-write", &parameters)?)
}

fn measure(
    bench: &Bench,
    filled: &DriveState,
    trace: &Trace,
    kind: Kind,
    monitor: &dyn Monitor,
) -> Result<Measurement, StudyError> {
    let mut workload = trace.open(bench.sectors())?;
    match kind {
        Kind::Counted => bench.count(filled, &mut *workload, monitor),
        Kind::Timed => bench.time(filled, &mut *workload, monitor),
        Kind::Aged => {
            let aged = bench.aged(filled, || trace.rehearse(bench.sectors()), monitor)?;
            bench.count(&aged, &mut *workload, monitor)
        }
    }
}

/// Page-sized writes at uniformly random places: five times as many as the user has pages, after which
/// less than a hundredth is left of the order of the fill, then half as many as there are pages to be counted.
fn uniform(
    bench: &Bench,
    filled: &DriveState,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Measurement, StudyError> {
    let pages = bench.sectors() * SECTOR_BYTES / PAGE_BYTES;
    let writes = |seed, requests| page_writes(bench.sectors(), seed, requests);
    let used = bench.used(filled, &mut *writes(options.seed.wrapping_add(99), 5 * pages)?, monitor)?;
    bench.count(&used, &mut *writes(options.seed, pages / 2)?, monitor)
}

/// Transaction processing at its own times, as many requests as the published trace of it has.
fn transactions(
    bench: &Bench,
    filled: &DriveState,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Measurement, StudyError> {
    let load = Load::new(options, TARGETS.pattern("transactions"), options.seed)?;
    bench.time(filled, &mut *load.open(bench.sectors())?, monitor)
}
