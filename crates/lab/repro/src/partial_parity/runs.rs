//! Every simulation of the study, on all cores.

use super::drives::{
    self, BUFFERS, DATA, ELASTIC, FPC, FPC_CACHED, FRA, NO_PC, NO_PC_BLOCK, PPC, PPC_BLOCK, PPC_COPY, PPC6, RAID0,
    RAID0_DATA, RAID0_SPARE, RAID6, SIZES, VARIANTS,
};
use super::exact::{self, Exact};
use super::loads::{LOCAL, Load, NAMES, TITLES};
use super::share::{self, Shares};
use crate::cells::Cells;
use crate::error::StudyError;
use crate::simulate::{Bench, Measurement};
use crate::simulations::simulate_from;
use crate::study::Options;
use experiment::Monitor;
use units::quantity;

/// A drive under a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`VARIANTS`].
    pub variant: usize,
    /// Entries of its parity cache.
    pub entries: u64,
    /// Bytes of its buffer.
    pub buffer: u64,
    /// Index of the workload.
    pub load: usize,
    /// Requests that the host keeps under way.
    pub depth: u32,
}

#[derive(Debug, Default)]
pub struct Results {
    /// Entries of the cache of record.
    pub entries: u64,
    /// Bytes of the buffer of record.
    pub buffer: u64,
    /// Requests under way in the rows.
    pub depth: u32,
    /// In virtual time, on aged drives.
    pub raced: Cells<Place, Measurement>,
    /// Counts on tiny drives.
    pub exact: Exact,
    /// Share of parity among programs under a Zipf law.
    pub shares: Shares,
}

impl Results {
    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        self.raced.holes() + self.shares.holes()
    }
}

/// Depth that shows whether the queue depth matters.
pub const ONE: u32 = 1;
/// Drives that are run with one request at a time, with other buffers, and under the local workload.
pub const COMPARED: [usize; 4] = [RAID0, NO_PC, FPC, PPC];

/// A drive and the workloads it is run under, each at some depths.
struct Job {
    variant: usize,
    entries: u64,
    buffer: u64,
    runs: Vec<(usize, Vec<u32>)>,
    bench: Bench,
}

fn jobs(options: &Options) -> Result<Vec<Job>, StudyError> {
    let (record, buffer_of_record) = (drives::entries_of_record(options), drives::buffer_of_record(options));
    let depth = drives::depth_of_record(options);
    let others = [
        RAID0,
        RAID0_DATA,
        RAID0_SPARE,
        NO_PC,
        FPC_CACHED,
        PPC_COPY,
        NO_PC_BLOCK,
        PPC_BLOCK,
        FRA,
        RAID6,
        PPC6,
        ELASTIC,
    ];
    let swept = [PPC, FPC].into_iter().flat_map(|variant| SIZES.map(|entries| (variant, entries)));
    let buffers = COMPARED.into_iter().flat_map(|variant| BUFFERS.map(|buffer| (variant, record, buffer)));
    let places = swept
        .chain(others.map(|variant| (variant, record)))
        .map(|(variant, entries)| (variant, entries, buffer_of_record))
        .chain(buffers.filter(|(.., buffer)| *buffer != buffer_of_record));
    let job = |(variant, entries, buffer): (usize, u64, u64)| {
        let is_compared = COMPARED.contains(&variant) && entries == record && buffer == buffer_of_record;
        let depths = if is_compared && depth != ONE { vec![depth, ONE] } else { vec![depth] };
        let mut runs: Vec<_> = (0..NAMES.len()).map(|load| (load, depths.clone())).collect();
        if is_compared || variant == FPC_CACHED {
            runs.push((LOCAL, vec![depth]));
        }
        Ok(Job { variant, entries, buffer, runs, bench: drives::bench(options, variant, entries, buffer)? })
    };
    places.map(job).collect()
}

/// Runs everything.
/// Errors: a drive or a file that cannot be used, or the user stopped.
pub fn run(options: &Options, loads: &[Load], monitor: &dyn Monitor) -> Result<Results, StudyError> {
    // What cannot be built or opened is said before anything runs.
    let jobs = jobs(options)?;
    let sectors = drives::sectors(options);
    for load in loads {
        load.open(sectors)?;
    }
    monitor.expect(jobs.iter().map(|job| job.runs.len()).sum::<usize>() + share::SPARE.len());
    let mut results = Results {
        entries: drives::entries_of_record(options),
        buffer: drives::buffer_of_record(options),
        depth: drives::depth_of_record(options),
        exact: exact::run(options)?,
        shares: share::run(options, monitor)?,
        ..Results::default()
    };
    let run_one = |job: &Job| run_job(job, loads, sectors, monitor);
    let finished: Vec<Vec<Option<Vec<Measurement>>>> = experiment::side_by_side(monitor, &jobs, run_one)?;
    for (job, finished) in jobs.iter().zip(finished) {
        for ((load, depths), measured) in job.runs.iter().zip(finished) {
            for (at, depth) in depths.iter().enumerate() {
                let place = Place {
                    variant: job.variant,
                    entries: job.entries,
                    buffer: job.buffer,
                    load: *load,
                    depth: *depth,
                };
                results.raced.insert(place, measured.as_ref().map(|by_depth| by_depth[at].clone()));
            }
        }
    }
    Ok(results)
}

/// What a drive gives under each workload: at each of its depths.
fn run_job(
    job: &Job,
    loads: &[Load],
    sectors: u64,
    monitor: &dyn Monitor,
) -> Result<Vec<Option<Vec<Measurement>>>, StudyError> {
    let Job { variant, entries, buffer, runs, bench } = job;
    let name = |(load, _): &(usize, Vec<u32>)| {
        format!(
            "{}, {entries} entries, a buffer of {}, {}",
            VARIANTS[*variant].name,
            quantity::format_size(*buffer),
            TITLES[*load]
        )
    };
    simulate_from(
        monitor,
        runs,
        name,
        || bench.filled(monitor),
        |filled, (load, depths)| {
            let about = &loads[*load];
            let aged = bench.aged(filled, || about.rehearse(sectors), monitor)?;
            let warm = bench.warmed(&aged, &mut *about.open(sectors)?, about.warm_up, monitor)?;
            let race = |depth: &u32| {
                let mut workload = about.open(sectors)?;
                skip(&mut *workload, about.warm_up)?;
                let measured = bench.race(&warm, &mut *workload, *depth, monitor)?;
                check(*variant, &measured);
                Ok(measured)
            };
            depths.iter().map(race).collect()
        },
    )
}

/// Takes requests that were run before.
fn skip(workload: &mut dyn trace::Workload, requests: u64) -> Result<(), StudyError> {
    let (mut left, mut batch) = (requests, Vec::new());
    while left > 0 {
        batch.clear();
        workload.next_batch(&mut batch, left.min(8192) as usize)?;
        if batch.is_empty() {
            break;
        }
        left -= batch.len() as u64;
    }
    Ok(())
}

/// No update and no commit of a stripe with one parity reads more than half of its pages.
fn check(variant: usize, measured: &Measurement) {
    if [NO_PC, PPC, PPC_COPY, NO_PC_BLOCK, PPC_BLOCK].contains(&variant) {
        let most = measured.stripe_counter("commit_reads_most");
        assert!(most <= DATA.div_ceil(2), "{}: a commit read {most} pages", VARIANTS[variant].name);
    }
}
