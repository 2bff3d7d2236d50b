//! The share of parity among programs when pages are written one by one under a Zipf law.

use super::TARGETS;
use super::drives::PAGE_BYTES;
use crate::cells::Cells;
use crate::error::StudyError;
use crate::simulate::Measurement;
use crate::simulations::simulate_all;
use crate::study::Options;
use experiment::Monitor;
use nand::Counters;
use serde::{Deserialize, Serialize};
use simulator::DriveState;
use trace::Workload;
use trace::synthetic::{WorkloadParameters, build};
use units::Cause;

/// Chips of the drive.
const CHIPS: u64 = 8;
/// Spare flash, %; the first value is of record: the study's drives have it.
pub const SPARE: [u64; 4] = [15, 28, 60, 100];
/// Shares of spare flash that are run: a family judges none of them.
pub fn spare(options: &Options) -> &'static [u64] {
    if options.is_drawn() { &[] } else { &SPARE }
}

/// Pages at full size; smaller ones have too few blocks to a chip to choose from.
const PAGES: u64 = 1 << 19;
const LEAST_PAGES: u64 = 1 << 15;
/// Pages in a thousand that were written when the start is over.
const START: u64 = 10;
/// Times the drive is written over.
const ROUNDS: u64 = 4;

/// Shares of parity among all programs of a drive, %.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Share {
    /// While it was erased.
    pub start: f64,
    /// In the last of the rounds.
    pub end: f64,
}

/// Shares by spare flash.
pub type Shares = Cells<u64, Share>;

fn parity(measured: &Measurement) -> f64 {
    measured.flash.programs[Cause::Parity.index()] as f64 / Counters::total(&measured.flash.programs) as f64 * 100.0
}

/// Runs all of it.
/// Errors: a drive cannot go on.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Shares, StudyError> {
    let pages = options.scale.of(PAGES).max(LEAST_PAGES);
    let name = |spare: &u64| format!("{CHIPS} chips under a Zipf law, {spare} % spare");
    let measured = simulate_all(monitor, spare(options), name, |spare| with_spare(options, pages, *spare, monitor))?;
    let mut shares = Shares::of(options);
    shares.extend(spare(options).iter().copied().zip(measured));
    Ok(shares)
}

fn with_spare(options: &Options, pages: u64, spare: u64, monitor: &dyn Monitor) -> Result<Share, StudyError> {
    let further =
        [("drive.capacity", format!("{}B", pages * PAGE_BYTES)), ("drive.over_provisioning", format!("{spare}%"))];
    let name = format!("RAID-5 of {CHIPS} chips with {spare} % spare");
    let bench = TARGETS.bench(options, &name, &["every drive", "a Zipf law"], further)?;
    let writes = |requests| -> Result<Box<dyn Workload + Send>, StudyError> {
        let parameters = WorkloadParameters {
            seed: options.seed,
            request_bytes: Some(PAGE_BYTES),
            read_share: Some(0.0),
            ..WorkloadParameters::new(bench.sectors(), requests)
        };
        Ok(build("zipf", &parameters)?)
    };
    let fresh = DriveState::of(&mut bench.fresh());
    let start = bench.count(&fresh, &mut *writes(pages * START / 1000)?, monitor)?;
    let mut rounds = writes(ROUNDS * pages)?;
    let used = bench.warmed(&fresh, &mut *rounds, (ROUNDS - 1) * pages, monitor)?;
    Ok(Share { start: parity(&start), end: parity(&bench.count(&used, &mut *rounds, monitor)?) })
}
