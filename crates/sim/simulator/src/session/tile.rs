//! A large drive brought into use by a small one: see [`layer::Tiling`].
//!
//! Faithful to: the state after `drive.precondition = overwrite`. A small drive of the same planes, blocks and spare
//! share is filled and overwritten, and stands in the large one many times. Writes of a tenth of the capacity on
//! the large drive follow. Simplified: nothing else is copied. A Zipf law over the whole drive is no sum of Zipf laws
//! over its parts, so a workload that brings a drive into its steady state runs on the large one.

use super::precondition::{OVERWRITES, Preconditioner, Primed, flush, write};
use super::written::Written;
use super::{Phase, SessionError};
use crate::DrivePlan;
use crate::build::mapping_of;
use crate::config::{PRECONDITION, Precondition};
use crate::drive::Drive;
use crate::in_use::InUse;
use crate::state::DriveState;
use engine::random::Stream;
use ftl::alloc::{FRONTIERS, Frontiers};
use layer::{Condition, Parameter, ParameterKind as Kind, Tiling, Value};
use nand::{CountedFlash, Flash, FlashState};
use trace::{Workload, WorkloadError};
use units::{BlockId, Geometry, Lpn, Request, Shape};

/// The name of the key.
const KEY: &str = "drive.tile";
/// Flash pages, or smaller units of the map, from which on it pays.
const LEAST_PAGES: u32 = 1 << 24;
/// Closed blocks of a plane that the small drive has, and the fewest for a number of copies that was asked for.
const BLOCKS: u32 = 64;
const LEAST_BLOCKS: u32 = 8;
/// Fewest copies that pay, and most.
const COPIES: std::ops::RangeInclusive<u32> = 4..=32;
/// Fewest where blocks are collected together: a superblock is one victim of all planes.
const LEAST_SUPERBLOCKS: u32 = 32;
/// The writes on the large drive are its capacity divided by this.
const BURN_IN: u64 = 10;
/// Blocks' worth of valid pages that are in no closed block, for each open block of a plane. Measured: 0.7 on average.
/// Chosen: 0.6, because planes of a small drive have more unequal shares of spare flash, and with 0.7 it amplifies
/// 0.7 % more. Fitted on blocks of 64 pages with 13.9 % of spare flash.
const HELD_OPEN: f64 = 0.6;

const OVERWRITTEN: Condition = Condition::one_of(PRECONDITION.key, |_, name| PRECONDITION.means(name, is_overwritten))
    .otherwise("the drive is not overwritten before the run");

pub(crate) const PARAMETER: Parameter = Parameter::new(
    KEY,
    Kind::CountOrAuto { max: 1024, auto: "as many as leave each plane 64 blocks, on drives of 64 GiB or more" },
    "auto",
    "Copies of a small drive that bring a large one into use. nandarium fills and overwrites a small drive with \
     the same planes and the same share of spare flash. Its blocks stand in the large drive this many times. \
     Random writes of a tenth of the capacity follow. A run on a drive of 1 TB begins sooner. Use 1 to write the \
     whole drive, for example to see that both ways give the same write amplification, or where wear must be exact: \
     with little spare flash, blocks of copies are worn a few per cent less. A drive whose tables cannot be copied is \
     written as a whole, and a note tells the reason. The 64 GiB of auto are for a map of 4 KiB units.",
)
.example("16")
.circumstance()
.only(OVERWRITTEN);

/// Whether a drive may be overwritten at random before a run.
fn is_overwritten(state: Precondition) -> bool {
    !matches!(state, Precondition::None | Precondition::Fill)
}

/// How a drive is brought into use.
pub(super) enum Tiles {
    /// As a whole, as it was asked for or is no slower.
    Whole,
    /// As a whole, for a reason: a note.
    Refused(String),
    Of(Box<Tile>),
}

/// A small drive that brings a large one into use.
pub(super) struct Tile {
    small: DrivePlan,
    copies: u32,
}

/// How a new drive is brought into use.
pub(super) fn of(plan: &DrivePlan, drive: &Drive<CountedFlash>, kind: Precondition) -> Tiles {
    if !is_overwritten(kind) {
        return Tiles::Whole;
    }
    let (geometry, values) = (&plan.geometry, &plan.config.values);
    // A block that was just freed, and the one that collection cannot do without.
    let kept = mapping_of(&plan.config).kept_erased.map_or(0, |kept| kept(values)) + 2;
    let open = FRONTIERS.read_if_set(values).map_or(0, Frontiers::open_blocks);
    let closed = geometry.blocks_per_plane().saturating_sub(kept + open);
    let copies = match values.get(KEY) {
        Some(Value::Whole(copies)) => (*copies as u32).max(1),
        _ if geometry.pages() < LEAST_PAGES => 1,
        _ => Some((closed / (BLOCKS + open)).min(*COPIES.end())).filter(|copies| COPIES.contains(copies)).unwrap_or(1),
    };
    if copies == 1 {
        return Tiles::Whole;
    }
    let few = "each plane has too few blocks for so many copies";
    let small = refusal(plan, drive).map_or_else(|| small(plan, copies, [closed, open, kept]).ok_or(few), Err);
    match small {
        Ok(small) => Tiles::Of(Box::new(Tile { small, copies })),
        Err(why) => Tiles::Refused(not_used(why)),
    }
}

fn not_used(why: &str) -> String {
    format!("The whole drive was written, and {KEY} was not used, because {why}.")
}

/// Whether blocks of the small drive, or blocks that are like them, have all the erases that they survive.
fn wears_out(large: &DrivePlan, small: &FlashState, tiling: &Tiling) -> bool {
    let erases = |block| tiling.erases(small.blocks.kept(block).erases, block, large.geometry.blocks());
    let endurance = large.part.endurance;
    endurance > 0 && (0..small.geometry.blocks()).any(|block| erases(BlockId(block)) >= endurance)
}

fn collects_superblocks(plan: &DrivePlan) -> bool {
    matches!(plan.config.values.get("ftl.gc.superblocks"), Some(Value::On(true)))
}

/// Why a drive cannot be tiled, whatever its size.
fn refusal(plan: &DrivePlan, drive: &Drive<CountedFlash>) -> Option<&'static str> {
    let state = drive.flash().state();
    if plan.remap.is_some() {
        return Some("a driver of the host has a map of its own");
    }
    if let Err(why) = drive.top().may_tile() {
        return Some(why);
    }
    if !InUse::of(&plan.config.values).is_all() {
        return Some("only a part of the drive is in use (drive.fill)");
    }
    let fails = state.expects_failures() || state.blocks().iter().any(nand::BlockRow::is_bad);
    fails.then_some("blocks are bad or commands fail (flash.fault)")
}

/// The small drive: as many closed blocks in each plane as a copy has room for, and all open and free blocks. `None`:
/// they are too few. A plane of the large drive has so many `closed`, `open` and `free` blocks.
///
/// The blocks that are left over take what stands in the open blocks of all copies but one. *Why that needs room*:
/// else closed blocks would hold less than those of the large drive, and the host would write the rest anew. Then 65
/// blocks in a plane had 2 % fewer valid pages, and writes amplified 5 % less.
fn small(plan: &DrivePlan, copies: u32, [closed, open, free]: [u32; 3]) -> Option<DrivePlan> {
    let geometry = &plan.geometry;
    let row = f64::from(geometry.planes()) * f64::from(geometry.pages_per_block);
    let held_open = HELD_OPEN * f64::from(open);
    let valid = (f64::from(plan.user_pages) / row - held_open) / f64::from(closed);
    let few = (f64::from(plan.user_pages / copies) / row - held_open) / valid;
    let few = if valid > 0.0 { few as u32 } else { 0 };
    if few < if collects_superblocks(plan) { LEAST_SUPERBLOCKS } else { LEAST_BLOCKS } {
        return None;
    }
    let pages = (row * (f64::from(few) * valid + held_open)) as u32 / Tiling::STRETCH * Tiling::STRETCH;
    let shape = Shape { blocks_per_die: (few + open + free) * geometry.planes_per_die, ..**geometry };
    let shape = Geometry::new(shape).and_then(|shape| shape.programmed_by(geometry.pages_per_program()));
    let mut small = plan.clone();
    (small.geometry, small.user_pages) = (shape.expect("fewer blocks fit as well"), pages);
    (pages > 0).then_some(small)
}

impl Tile {
    /// Brings a new drive into use. Note: how, without a full stop.
    pub fn bring_into_use<D: Primed>(self, work: &mut Preconditioner<'_, D>) -> Result<Vec<String>, SessionError> {
        let Self { small, copies } = self;
        let mut drive = small.assemble(CountedFlash::new(small.fresh_state()));
        // What it writes has no bytes, as what is written on the large drive.
        if work.drive.drive_mut().flash().state().holds_contents() && work.drive.drive_mut().oracle().is_none() {
            drive.carry_cells();
        }
        let mut written = Written::nothing_of(&small);
        let mut first = Preconditioner {
            plan: &small,
            source: work.source,
            drive: &mut drive,
            watcher: work.watcher,
            written: &mut written,
        };
        // The burn-in is one of the overwrites: else blocks were worn more than those of a whole drive.
        let count = OVERWRITES * first.pages() - first.pages() / BURN_IN;
        let overwritten = first.fill().and_then(|()| first.overwrite(count, "precondition.overwrite"));
        let tiling = self::tiling(work.plan, &small, copies, work.drive.drive_mut().flash().state());
        let unfit = match overwritten {
            Err(SessionError::Stuck { what, .. }) => Some(what),
            Err(other) => return Err(other),
            Ok(()) => wears_out(work.plan, drive.flash().state(), &tiling).then_some("worn out"),
        };
        if let Some(what) = unfit {
            let why = not_used(&format!("a small drive was {what}"));
            return Ok([work.whole(Precondition::Overwrite)?, vec![why]].concat());
        }
        flush(&mut drive);
        let unwritten = DriveState::tile(work.drive.drive_mut(), &mut drive, &tiling)?;
        drop((drive, tiling));
        work.written.set_all();
        let page = work.plan.host_page_sectors();
        work.pour(Phase::Overwrite, &mut Unwritten(unwritten.into_iter(), page.into()))?;
        work.overwrite(work.pages() / BURN_IN, "precondition.burn_in")?;
        Ok(vec![format!(
            "Preconditioned: a drive {copies} times smaller was filled once in order and overwritten at random, its \
             blocks stand {copies} times in this drive ({KEY}), and page-sized random writes of {} % of the capacity \
             followed",
            100 / BURN_IN
        )])
    }
}

/// A random place for each stretch of each copy. `new`: the large drive before it is in use.
fn tiling(large: &DrivePlan, small: &DrivePlan, copies: u32, new: &FlashState) -> Tiling {
    let seed = large.config.values.whole("engine.seed");
    let mut places: Vec<u32> = (0..large.user_pages / Tiling::STRETCH).collect();
    Stream::new(seed, "precondition.tile").shuffle(&mut places);
    Tiling::new(small.geometry, small.user_pages, copies, places, new.block(BlockId(0)).erases, seed)
}

/// Pages that are written once.
struct Unwritten(std::vec::IntoIter<Lpn>, u64);

impl Workload for Unwritten {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        batch.extend(self.0.by_ref().take(limit).map(|page| write(u64::from(page.0) * self.1, self.1)));
        Ok(())
    }
}
