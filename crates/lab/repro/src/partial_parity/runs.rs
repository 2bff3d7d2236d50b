//! Every simulation of the study, on all cores.

use super::TARGETS;
use super::drives::{
    self, BUFFERS, DATA, DriveSetup, FPC, FPC_CACHED, GROUPS, NO_PC, NO_PC_BLOCK, PPC, PPC_BLOCK, PPC_COPY, RAID0,
    SIZES, UPDATES, VARIANTS,
};
use super::exact::{self, Exact};
use super::loads::{LOCAL, PUBLISHED};
use super::share::{self, Shares};
use crate::cells::Cells;
use crate::error::StudyError;
use crate::load::Load;
use crate::simulate::{Bench, Measurement};
use crate::simulations::{Simulated, simulate_from};
use crate::study::Options;
use experiment::Monitor;
use std::collections::BTreeSet;

/// A drive under a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The drive.
    pub drive: DriveSetup,
    /// Title of the workload.
    pub load: &'static str,
    /// Requests that the host keeps under way.
    pub depth: u32,
}

#[derive(Debug, Default)]
pub struct Results {
    /// Cache, buffer and updates of record, of any variant.
    pub record: DriveSetup,
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
pub const COMPARED: [&str; 4] = [RAID0, NO_PC, FPC, PPC];

/// A drive and the workloads it is run under, each at some depths.
struct Job {
    drive: DriveSetup,
    runs: Vec<(&'static str, Vec<u32>)>,
    bench: Bench,
}

fn jobs(options: &Options) -> Result<Vec<Job>, StudyError> {
    let of_record = |variant| drives::of_record(options, variant);
    let depth: u32 = TARGETS.chosen_number(options, "queue-depth");
    let all = VARIANTS.into_iter().map(of_record);
    let caches =
        [PPC, FPC].into_iter().flat_map(|variant| SIZES.map(|entries| DriveSetup { entries, ..of_record(variant) }));
    let compared = || COMPARED.into_iter().map(of_record);
    let buffers = compared().flat_map(|drive| BUFFERS.map(|buffer| DriveSetup { buffer, ..drive }));
    let groups = compared().flat_map(|drive| GROUPS.map(|group| DriveSetup { group, ..drive }));
    let updates = UPDATES.into_iter().map(|update| DriveSetup { update, ..of_record(NO_PC) });
    let updates = updates.flat_map(|drive| GROUPS.map(|group| DriveSetup { group, ..drive }));
    let drives: BTreeSet<DriveSetup> = all.chain(caches).chain(buffers).chain(groups).chain(updates).collect();
    let job = |drive: DriveSetup| {
        let is_of_record = drive == of_record(drive.variant);
        let is_compared = COMPARED.contains(&drive.variant) && is_of_record;
        let depths = if is_compared && depth != ONE { vec![depth, ONE] } else { vec![depth] };
        let mut runs: Vec<_> = PUBLISHED.map(|load| (load, depths.clone())).to_vec();
        if is_compared || drive.variant == FPC_CACHED {
            runs.push((LOCAL, vec![depth]));
        }
        if options.is_drawn() {
            runs.truncate(PUBLISHED.len());
            for (_, depths) in &mut runs {
                depths.truncate(1);
            }
        }
        Ok(Job { drive, runs, bench: drives::bench(options, drive)? })
    };
    // A family judges the published schemes of record.
    let is_of_record = |drive: &DriveSetup| COMPARED.contains(&drive.variant) && *drive == of_record(drive.variant);
    drives.into_iter().filter(|drive| !options.is_drawn() || is_of_record(drive)).map(job).collect()
}

/// Runs every simulation of the study.
/// Errors: a drive or a file that cannot be used, or the user stopped.
pub fn run(options: &Options, loads: &[Load], monitor: &dyn Monitor) -> Result<Results, StudyError> {
    // What cannot be built or opened is said before anything runs.
    let jobs = jobs(options)?;
    let sectors = drives::sectors(options);
    for load in loads {
        load.open(sectors)?;
    }
    monitor.expect(jobs.iter().map(|job| job.runs.len()).sum::<usize>() + share::spare(options).len());
    let mut results = Results {
        record: drives::of_record(options, RAID0),
        depth: TARGETS.chosen_number(options, "queue-depth"),
        raced: Cells::of(options),
        exact: exact::run(options)?,
        shares: share::run(options, monitor)?,
    };
    let run_one = |job: &Job| run_job(job, loads, sectors, monitor);
    let finished: Vec<Vec<Simulated<Vec<Measurement>>>> = experiment::side_by_side(monitor, &jobs, run_one)?;
    for (job, finished) in jobs.iter().zip(finished) {
        for ((load, depths), measured) in job.runs.iter().zip(finished) {
            for (at, depth) in depths.iter().enumerate() {
                let place = Place { drive: job.drive, load, depth: *depth };
                let given = measured.given.as_ref().map(|by_depth| by_depth[at].clone());
                results.raced.insert(place, Simulated { name: measured.name.clone(), given });
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
) -> Result<Vec<Simulated<Vec<Measurement>>>, StudyError> {
    let Job { drive, runs, bench } = job;
    let name = |(load, _): &(&str, Vec<u32>)| format!("{}, {load}", drive.name());
    simulate_from(
        monitor,
        runs,
        name,
        || bench.filled(monitor),
        |filled, (load, depths)| {
            let about = loads.iter().find(|known| known.pattern.title == *load).expect("all of them are opened");
            let aged = bench.aged(filled, || about.rehearse(sectors), monitor)?;
            let warm = bench.warmed(&aged, &mut *about.open(sectors)?, about.warm_up, monitor)?;
            let race = |depth: &u32| {
                let mut workload = about.open(sectors)?;
                skip(&mut *workload, about.warm_up)?;
                let measured = bench.race(&warm, &mut *workload, *depth, monitor)?;
                check(*drive, &measured);
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

/// No commit of a stripe with one parity reads more than half of its pages, but for updates that read all they replace.
fn check(drive: DriveSetup, measured: &Measurement) {
    if is_bounded(drive) {
        let most = measured.stripe_counter("commit_reads_most");
        assert!(most <= DATA.div_ceil(2), "{}: a commit read {most} pages", drive.name());
    }
}

/// Whether half of a stripe is the most that a commit reads.
pub fn is_bounded(drive: DriveSetup) -> bool {
    let by_least = [NO_PC, NO_PC_BLOCK].contains(&drive.variant) && drive.update == "least";
    by_least || [PPC, PPC_COPY, PPC_BLOCK].contains(&drive.variant)
}
