//! Reads around banks that clean one after the other, under server traces.
//!
//! Every group has a parity that is written with its data; a read whose bank is cleaning is answered by the others.

use super::drives::zones;
use crate::cells::Cells;
use crate::error::StudyError;
use crate::simulate::{Bench, Measurement};
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;
use trace::synthetic::{WorkloadParameters, build};

/// Workloads: the first is judged, the second has few writes.
const LOADS: [&str; 2] = ["oltp", "financial2"];
/// How they are called.
pub const TITLES: [&str; 2] = ["Financial1", "Financial2"];
/// Bytes the user sees, and requests, at full size; as many requests come before those that are measured.
const CAPACITY: u64 = 16 << 30;
const REQUESTS: u64 = 1_600_000;
/// Bytes of a zone: no drive is smaller.
const ZONE: u64 = 256 << 20;
/// Spare erase blocks of a segment of 256: 7 %, and enough that none is ever cleaned.
const SPARE: u64 = 18;
const PLENTY: u64 = 800;

/// A drive with so much room that it never cleans.
pub const NO_CLEANING: usize = 0;
/// Plain reads; any bank may clean at any time.
pub const ANYWHERE: usize = 1;
/// Reads around cleaning banks; any bank may clean.
pub const AROUND: usize = 2;
/// The same where banks clean one after the other.
pub const IN_TURN: usize = 3;

/// A name, spare blocks of a segment, settings.
type Described = (&'static str, u64, &'static [(&'static str, &'static str)]);

const DRIVES: [Described; 4] = [
    ("no cleaning", PLENTY, &[]),
    ("cleaning anywhere", SPARE, &[]),
    ("reads around cleaning", SPARE, CODED),
    ("cleaning in turn", SPARE, &[CODED[0], CODED[1], CODED[2], ("coded.cleaning", "in-turn")]),
];
const CODED: &[(&str, &str)] =
    &[("coded.code", "parity"), ("coded.stale_codes", "update"), ("coded.reads", "gc-aware")];

pub const RUNS: usize = LOADS.len() * DRIVES.len();

/// The drives under each workload, by workload and drive.
#[derive(Debug, Default)]
pub struct Tails(Cells<(usize, usize), Measurement>);

impl Tails {
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

fn bench(options: &Options, (name, spare, settings): Described) -> Result<Bench, StudyError> {
    let capacity = options.scale.of(CAPACITY).max(ZONE);
    let code_zones = if settings.is_empty() { 0 } else { capacity / ZONE };
    let mut all = zones(options, capacity, ZONE);
    all.extend([
        ("coded.spare_blocks", spare.to_string()),
        ("coded.code_zones", code_zones.to_string()),
        ("coded.offline_first", "at-start".to_owned()),
        ("coded.read_ahead.after", "0B".to_owned()),
    ]);
    all.extend(settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
    Bench::new(name, &all)
}

/// Runs every drive under every workload.
/// Errors: a drive cannot be built.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Tails, StudyError> {
    let places: Vec<(usize, usize)> =
        (0..LOADS.len()).flat_map(|load| (0..DRIVES.len()).map(move |drive| (load, drive))).collect();
    let single = |(load, drive): &(usize, usize)| {
        let bench = bench(options, DRIVES[*drive])?;
        let requests = options.scale.of(REQUESTS);
        let parameters =
            WorkloadParameters { seed: options.seed, ..WorkloadParameters::new(bench.sectors(), 2 * requests) };
        let mut workload = build(LOADS[*load], &parameters)?;
        let filled = bench.filled(monitor)?;
        let warm = bench.warmed(&filled, &mut *workload, requests, monitor)?;
        bench.time(&warm, &mut *workload, monitor)
    };
    let name = |(load, drive): &(usize, usize)| format!("{}, {}", TITLES[*load], DRIVES[*drive].0);
    let measured = simulate_all(monitor, &places, name, single)?;
    let mut tails = Tails::default();
    tails.0.extend(places.into_iter().zip(measured));
    Ok(tails)
}
