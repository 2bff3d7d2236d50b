//! Reads around banks that clean one after the other, under server traces.
//!
//! Every group has a parity that is written with its data; a read whose bank is cleaning is answered by the others.

use super::TARGETS;
use crate::cells::Cells;
use crate::error::StudyError;
use crate::load::Load;
use crate::simulate::{Bench, Measurement};
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;

/// Workloads: the first is judged, the second has few writes.
pub const TITLES: [&str; 2] = ["Financial1", "Financial2"];
/// Bytes the user sees at full size.
const CAPACITY: u64 = 16 << 30;
/// Bytes of a zone: no drive is smaller.
const ZONE: u64 = 256 << 20;

/// A drive with so much room that it never cleans.
pub const NO_CLEANING: usize = 0;
/// Plain reads; any bank may clean at any time.
pub const ANYWHERE: usize = 1;
/// Reads around cleaning banks; any bank may clean.
pub const AROUND: usize = 2;
/// The same where banks clean one after the other.
pub const IN_TURN: usize = 3;

/// Drives by their names in the study's file, which has their settings.
const DRIVES: [&str; 4] = ["no cleaning", "cleaning anywhere", "reads around cleaning", "cleaning in turn"];

pub const RUNS: usize = TITLES.len() * DRIVES.len();

/// The drives under each workload, by workload and drive.
#[derive(Debug, Default)]
pub struct Tails(Cells<(usize, usize), Measurement>);

impl Tails {
    /// None: a draw of a family does not judge them.
    pub fn none(options: &Options) -> Self {
        Self(Cells::of(options))
    }

    /// A drive under a workload.
    pub fn of(&self, load: usize, drive: usize) -> &Measurement {
        &self.0[&(load, drive)]
    }

    /// 99, 99.9 and 99.99th percentile of reads of a drive, no cleaning = 1.
    pub fn slower(&self, load: usize, drive: usize) -> [f64; 3] {
        let [own, none] = [drive, NO_CLEANING].map(|drive| self.of(load, drive).reads.tail);
        [0, 1, 2].map(|at| own[at] as f64 / none[at] as f64)
    }

    /// Simulations that had not ended when the user stopped.
    pub fn missing(&self) -> usize {
        self.0.holes()
    }
}

fn bench(options: &Options, drive: usize) -> Result<Bench, StudyError> {
    let capacity = options.scale.of(CAPACITY).max(ZONE);
    let code_zones = if [AROUND, IN_TURN].contains(&drive) { capacity / ZONE } else { 0 };
    let further = [
        ("drive.capacity", format!("{capacity}B")),
        ("coded.size", format!("{ZONE}B")),
        ("coded.code_zones", code_zones.to_string()),
    ];
    TARGETS.bench(options, DRIVES[drive], &["every drive", "under server traces", DRIVES[drive]], further)
}

/// Runs every drive under every workload.
/// Errors: a drive cannot be built.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Tails, StudyError> {
    let places: Vec<(usize, usize)> =
        (0..TITLES.len()).flat_map(|load| (0..DRIVES.len()).map(move |drive| (load, drive))).collect();
    let single = |(load, drive): &(usize, usize)| {
        let bench = bench(options, *drive)?;
        let load = Load::new(options, TARGETS.pattern(TITLES[*load]), options.seed)?;
        let mut workload = load.open(bench.sectors())?;
        let filled = bench.filled(monitor)?;
        let warm = bench.warmed(&filled, &mut *workload, load.warm_up, monitor)?;
        bench.time(&warm, &mut *workload, monitor)
    };
    let name = |(load, drive): &(usize, usize)| format!("{}, {}", TITLES[*load], DRIVES[*drive]);
    let measured = simulate_all(monitor, &places, name, single)?;
    let mut tails = Tails::default();
    tails.0.extend(places.into_iter().zip(measured));
    Ok(tails)
}
