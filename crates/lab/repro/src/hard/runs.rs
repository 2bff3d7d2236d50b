//! Every simulation of the study, on all cores.

use super::drives::{
    self, DEMAND, HARD, KIB, LITTLE_SPARE, LOG_CACHE, PAGES, PLAIN, SHARES, SHRD, Shape, VOLATILE, WAYS,
};
use super::elevator::Elevator;
use super::exact::{self, Reclaimed};
use super::phases::{PHASES, Phase, Records, Scattered};
use crate::cells::Cells;
use crate::error::StudyError;
use crate::simulate::{Bench, Watch};
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;
use nand::TimedFlash;
use remap::probe::Point;
use serde::{Deserialize, Serialize};
use simulator::run::{self, Ended, Loop, RunPlan};
use simulator::{BlockDevice, Drive, DriveState, Driver, Fill, Remapped};
use trace::Workload;
use units::{DIE_CAUSES, SECTOR_BYTES};

/// Bytes of a record.
pub const RECORDS: [u64; 9] =
    [4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 1024 * KIB];
/// Requests under way in the rows: the depth that writes through the host's page cache come to.
pub const DEPTH: u32 = 32;
/// Direct requests, one at a time.
pub const ONE: u32 = 1;
/// Random overwrites before the steady state is timed, as a multiple of the drive.
const OVERWRITES: u64 = 2;
/// Sectors of a page.
const PAGE_SECTORS: u32 = 8;
/// States of the plain drive: per cent in use, and whether that was overwritten at random. The first holds the file
/// alone.
pub const STATES: [(u64, bool); 5] = [(25, false), (100, false), (60, true), (80, true), (100, true)];

/// One run of all phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub kind: &'static str,
    /// Chips on each channel.
    pub ways: u64,
    /// Bytes of a record.
    pub record: u64,
    /// Requests that the host keeps under way.
    pub depth: u32,
}

/// All phases on a fresh drive.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Fresh {
    /// Nanoseconds of each phase.
    pub times: [u64; PHASES.len()],
    /// Virtual superpages reclaimed meanwhile.
    pub victims: u64,
}

/// Random writes of a page to a drive that was overwritten.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Steady {
    /// Writes a second with 32 under way, and with one.
    pub rates: [f64; 2],
    /// Pages that left HARD for each page written, with 32 under way: copies, pads and its own included.
    pub amplification: f64,
    /// Bytes of HARD's memory.
    pub ram_bytes: u64,
}

#[derive(Debug, Default)]
pub struct Results {
    pub fresh: Cells<Place, Fresh>,
    pub steady: Cells<Shape, Steady>,
    /// Nanoseconds that the plain drive takes for the random writes of the file, by its state before.
    pub states: Cells<(u64, bool), u64>,
    /// The sweep of fresh drives, by their ways.
    pub probes: Cells<u64, Vec<Point>>,
    /// The figure of reclamation.
    pub reclaimed: Reclaimed,
    /// Bytes of a drive.
    pub capacity: u64,
}

impl Place {
    /// In words, for whoever watches.
    fn name(&self) -> String {
        format!("{}, {} ways, records of {} KiB, {} under way", self.kind, self.ways, self.record / KIB, self.depth)
    }
}

fn places() -> Vec<Place> {
    let of = |kind, ways, depth| RECORDS.into_iter().map(move |record| Place { kind, ways, record, depth });
    let compared = [PLAIN, HARD, PAGES].into_iter().flat_map(|kind| WAYS.map(|ways| (kind, ways, DEPTH)));
    let alone = [PLAIN, HARD, VOLATILE].map(|kind| (kind, WAYS[0], ONE));
    compared.chain(alone).flat_map(|(kind, ways, depth)| of(kind, ways, depth)).collect()
}

fn steady_shapes() -> Vec<Shape> {
    let plain = WAYS.map(|ways| Shape::of(PLAIN, ways));
    let held = SHARES.map(|held| Shape { held, ..Shape::of(HARD, WAYS[0]) });
    let little = [PLAIN, HARD].map(|kind| Shape { spare: LITTLE_SPARE, ..Shape::of(kind, WAYS[0]) });
    let later = [VOLATILE, LOG_CACHE, DEMAND, SHRD].map(|kind| Shape::of(kind, WAYS[0]));
    plain.into_iter().chain(held).chain([Shape::of(HARD, WAYS[1])]).chain(little).chain(later).collect()
}

/// Runs every simulation of the study.
/// Errors: a drive that cannot be built, or the user stopped.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Results, StudyError> {
    let (places, shapes) = (places(), steady_shapes());
    for shape in &shapes {
        drives::bench(options, *shape)?;
    }
    monitor.expect(WAYS.len() + places.len() + shapes.len() + STATES.len());
    let mut results = Results {
        reclaimed: exact::reclamation().map_err(StudyError::Usage)?,
        capacity: drives::capacity(options),
        ..Results::default()
    };
    let probes = simulate_all(
        monitor,
        &WAYS,
        |ways| format!("probe, {ways} ways"),
        |ways| {
            let points = exact::probe(options, *ways, monitor)?;
            Ok(points.into_iter().map(|Point { bytes, writes, seconds }| (bytes, writes, seconds)).collect::<Vec<_>>())
        },
    )?;
    let point = |(bytes, writes, seconds)| Point { bytes, writes, seconds };
    let points = probes.into_iter().map(|probe| probe.map(|points| points.into_iter().map(point).collect()));
    results.probes.extend(WAYS.into_iter().zip(points));
    // The longest first.
    let measured = simulate_all(
        monitor,
        &shapes,
        |shape| format!("{}, steady", shape.name()),
        |shape| steady(options, *shape, monitor),
    )?;
    results.steady.extend(shapes.into_iter().zip(measured));
    let measured = simulate_all(
        monitor,
        &STATES,
        |(in_use, is_overwritten)| {
            format!("plain, {in_use} % in use{}", if *is_overwritten { ", overwritten" } else { "" })
        },
        |state| plain(options, *state, monitor),
    )?;
    results.states.extend(STATES.into_iter().zip(measured));
    let measured = simulate_all(monitor, &places, Place::name, |place| fresh(options, place, monitor))?;
    results.fresh.extend(places.into_iter().zip(measured));
    Ok(results)
}

/// Runs a workload to its end; how long it took, ns.
/// Errors: the drive cannot go on, or the user stopped.
pub fn race<D: BlockDevice>(
    device: &mut D,
    workload: &mut dyn Workload,
    depth: u32,
    monitor: &dyn Monitor,
) -> Result<u64, StudyError> {
    let plan = RunPlan {
        arrivals: Loop::Closed { depth },
        limit: u64::MAX,
        sectors_per_page: PAGE_SECTORS,
        timed: device.has_time(),
    };
    match run::run(device, workload, plan, &mut Watch(monitor), |_| [0; DIE_CAUSES])? {
        (Ended::Complete, sheet) => Ok(sheet.ended - sheet.started),
        (Ended::Stopped, _) => Err(StudyError::Interrupted),
        (Ended::Stuck, _) => Err(StudyError::Full { name: "hard".to_owned() }),
    }
}

fn fresh(options: &Options, place: &Place, monitor: &dyn Monitor) -> Result<Fresh, StudyError> {
    let bench = drives::bench(options, Shape::of(place.kind, place.ways))?;
    let drive = bench.factory_fresh();
    match bench.plan().remap.as_deref() {
        Some(remap) => {
            let mut drive = Remapped::new(drive, Driver::format(remap, options.seed));
            drive.settle();
            let mut drive = Elevator::new(drive);
            let times = phases(options, &mut drive, place, monitor)?;
            let victims = drive.device().report().get("victims").unwrap_or(0);
            Ok(Fresh { times, victims })
        }
        None => Ok(Fresh { times: phases(options, &mut Elevator::new(drive), place, monitor)?, victims: 0 }),
    }
}

fn phases<D: BlockDevice>(
    options: &Options,
    device: &mut D,
    place: &Place,
    monitor: &dyn Monitor,
) -> Result<[u64; PHASES.len()], StudyError> {
    let mut times = [0; PHASES.len()];
    for (phase, time) in PHASES.into_iter().zip(&mut times) {
        let mut records =
            Records::new(phase, drives::file(options), (place.record / SECTOR_BYTES) as u32, options.seed);
        *time = race(device, &mut records, place.depth, monitor)?;
    }
    Ok(times)
}

/// Writes everything in order and then at random, without time: as many requests at once as later, so that a driver
/// fills its virtual superpages.
fn overwrite<D: BlockDevice>(options: &Options, device: &mut D, monitor: &dyn Monitor) -> Result<(), StudyError> {
    let sectors = device.sectors();
    race(device, &mut Fill::of(sectors, PAGE_SECTORS, 1.0), DEPTH, monitor)?;
    let pages = sectors / u64::from(PAGE_SECTORS);
    race(device, &mut Scattered::new(sectors, OVERWRITES * pages, options.seed, "hard.overwrite"), DEPTH, monitor)?;
    Ok(())
}

fn steady(options: &Options, shape: Shape, monitor: &dyn Monitor) -> Result<Steady, StudyError> {
    let bench = drives::bench(options, shape)?;
    let plan = bench.plan();
    let mut counted = bench.fresh();
    if let Some(remap) = plan.remap.as_deref() {
        let mut drive = Remapped::new(counted, Driver::format(remap, options.seed));
        drive.settle();
        overwrite(options, &mut drive, monitor)?;
        drive.settle();
        let (mut drive, mut driver) = drive.into_parts();
        driver.reset_counters();
        let mut device = Elevator::new(Remapped::new(timed(&bench, &DriveState::of(&mut drive))?, driver));
        let with_many = rate(options, &mut device, DEPTH, monitor)?;
        let report = device.device().report();
        // A log cache has no superpages of its own to be counted.
        let (own, host_pages, ram_bytes) = if report.driver == "hard" {
            let count = |name| report.get(name).expect("a remapping driver counts it");
            let written = ["journal_superpages", "checkpoint_superpages", "superpages"].map(count).iter().sum::<u64>();
            let slots = u64::from(remap.shape.superpage_sectors / remap.shape.page_sectors);
            (written * slots, count("host_pages"), report.ram_bytes)
        } else {
            (0, 1, 0)
        };
        let with_one = rate(options, &mut device, ONE, monitor)?;
        Ok(Steady { rates: [with_many, with_one], amplification: own as f64 / host_pages as f64, ram_bytes })
    } else {
        overwrite(options, &mut counted, monitor)?;
        let mut device = Elevator::new(timed(&bench, &DriveState::of(&mut counted))?);
        let rates = [rate(options, &mut device, DEPTH, monitor)?, rate(options, &mut device, ONE, monitor)?];
        Ok(Steady { rates, amplification: 1.0, ram_bytes: 0 })
    }
}

/// Random writes of 4 KiB to the file on a plain drive in a state: how long they take, ns.
fn plain(options: &Options, (in_use, is_overwritten): (u64, bool), monitor: &dyn Monitor) -> Result<u64, StudyError> {
    let bench = drives::bench(options, Shape::of(PLAIN, WAYS[0]))?;
    let file = drives::file(options);
    let mut counted = bench.fresh();
    let pages = (counted.sectors() * in_use / 100).max(file) / u64::from(PAGE_SECTORS);
    let sectors = pages * u64::from(PAGE_SECTORS);
    race(&mut counted, &mut Fill::of(sectors, PAGE_SECTORS, 1.0), DEPTH, monitor)?;
    if is_overwritten {
        let writes = OVERWRITES * pages;
        race(&mut counted, &mut Scattered::new(sectors, writes, options.seed, "hard.overwrite"), DEPTH, monitor)?;
    }
    let mut device = Elevator::new(timed(&bench, &DriveState::of(&mut counted))?);
    race(&mut device, &mut Records::new(Phase::RandomWrite, file, PAGE_SECTORS, options.seed), DEPTH, monitor)
}

fn timed(bench: &Bench, state: &DriveState) -> Result<Drive<TimedFlash>, StudyError> {
    let plan = bench.plan();
    Ok(state.resume(plan, plan.fresh_state(), |flash| plan.timed(flash))?)
}

/// Random writes of a page all over a drive, a second.
fn rate<D: BlockDevice>(
    options: &Options,
    device: &mut D,
    depth: u32,
    monitor: &dyn Monitor,
) -> Result<f64, StudyError> {
    let writes = drives::file(options) / u64::from(PAGE_SECTORS);
    let mut scattered = Scattered::new(device.sectors(), writes, options.seed, "hard.steady");
    let elapsed = race(device, &mut scattered, depth, monitor)?;
    Ok(writes as f64 * 1e9 / elapsed as f64)
}

impl Results {
    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        self.probes.holes() + self.steady.holes() + self.states.holes() + self.fresh.holes()
    }

    /// How much faster a fresh driver writes records of 4 KiB to the file at random than the plain drive does, in each
    /// of its states.
    pub fn over_states(&self) -> [f64; STATES.len()] {
        let driver = Place { kind: HARD, ways: WAYS[0], record: RECORDS[0], depth: DEPTH };
        let fresh = self.time(driver, Phase::RandomWrite);
        STATES.map(|state| self.states[&state] as f64 / fresh)
    }

    /// Virtual superpages reclaimed on fresh drives with many requests under way.
    pub fn victims(&self) -> u64 {
        let ways = WAYS.into_iter();
        let places = ways.flat_map(|ways| RECORDS.map(|record| Place { kind: HARD, ways, record, depth: DEPTH }));
        places.map(|place| self.fresh[&place].victims).sum()
    }

    /// How long a phase took on a fresh drive, ns.
    /// Panics if the study did not run it.
    pub fn time(&self, place: Place, phase: Phase) -> f64 {
        let at = PHASES.iter().position(|known| *known == phase).expect("all phases are run");
        self.fresh[&place].times[at] as f64
    }

    /// How much faster a drive is than the plain one in a phase.
    pub fn speed_up(&self, place: Place, phase: Phase) -> f64 {
        self.time(Place { kind: PLAIN, ..place }, phase) / self.time(place, phase)
    }

    /// A drive that was overwritten.
    pub fn steady(&self, shape: Shape) -> Steady {
        self.steady[&shape]
    }
}
