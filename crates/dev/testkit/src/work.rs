//! Running a random host against a drive in either time mode.

use crate::host::Host;
use crate::stack::Stack;
use nand::FlashState;
use simulator::{BlockDevice, Clocked, Completions, Drive, DrivePlan, Progress};
use std::fmt::Write;
use units::BlockId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All requests were served.
    Served,
    /// Requests wait for room that will never come.
    Stuck,
}

/// Advances between two checks of the layers' invariants.
const CHECK_EVERY: u64 = 16;

/// Lets `host` work until it has submitted `requests` more, and the drive has served them.
/// Errors: the oracle objects, or a layer breaks an invariant.
pub fn work<F: Clocked>(drive: &mut Drive<F>, host: &mut Host, requests: u64) -> Result<Ended, String> {
    let per_page = u64::from(drive.flash().state().geometry.sectors_per_page());
    let end = host.submitted + requests;
    let mut completions = Completions::default();
    let mut advances = 0;
    loop {
        if host.submitted < end {
            host.fill(drive, per_page);
        }
        if host.outstanding() == 0 {
            if host.submitted >= end {
                break;
            }
            continue;
        }
        if drive.advance(&mut completions) == Progress::Idle {
            check(drive)?;
            return Ok(Ended::Stuck);
        }
        for completion in &completions.done {
            host.completed(completion.failed);
        }
        advances += 1;
        if advances % CHECK_EVERY == 0 {
            check(drive)?;
        }
    }
    check(drive)?;
    Ok(Ended::Served)
}

/// Whether the blocks that did not fail still hold all user pages and, in each plane, the blocks
/// that the mapping keeps in reserve. Only where they do not may a drive stop serving writes.
pub fn can_serve(stack: &Stack, plan: &DrivePlan, state: &FlashState) -> bool {
    let geometry = plan.geometry;
    let reserve = plan.reserve_blocks();
    if stack.pools_blocks() {
        let rows = state.blocks();
        let usable = rows.iter().filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
        // Targets of merges may fail one after the other; without an erased block no merge begins.
        let lost = rows.len() as u32 - usable;
        let merges = lost < 2 || rows.iter().any(|row| !row.is_bad() && row.issued == 0);
        let needed = plan.user_pages.div_ceil(geometry.pages_per_block) + reserve * geometry.planes();
        return merges && usable >= needed;
    }
    if plan.stripes.is_some_and(|stripes| stripes.own_reserve().is_some()) {
        return elastic_can_serve(plan, state, reserve);
    }
    if let Some(coded) = &plan.coded {
        let layout = coded.layout();
        let segments = layout.zones + layout.code_zones;
        let blocks = geometry.blocks_per_plane() / segments;
        let data = layout.rows * layout.pages / geometry.pages_per_block;
        return (0..geometry.planes() * segments).all(|segment| {
            let rows = (segment * blocks..(segment + 1) * blocks).map(|block| state.block(BlockId(block)));
            let usable = rows.filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
            usable >= data + reserve
        });
    }
    let rooms = (0..geometry.planes()).map(|lane| {
        let first = lane * geometry.blocks_per_plane();
        let blocks = (first..first + geometry.blocks_per_plane()).map(|block| state.block(BlockId(block)));
        let usable = blocks.clone().filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
        // The blocks kept for collection may fail one after the other; without an erased block none begins.
        let collects =
            usable == geometry.blocks_per_plane() || blocks.clone().any(|row| !row.is_bad() && row.issued == 0);
        if collects { usable.saturating_sub(reserve) * geometry.pages_per_block } else { 0 }
    });
    let pages = plan.mapped_pages() as u32;
    if stack.get("ftl.allocation.placement") == "static" || plan.stripes.is_some() {
        let share = pages.div_ceil(geometry.planes());
        rooms.min().is_some_and(|least| least >= share)
    } else {
        rooms.sum::<u32>() >= pages
    }
}

/// The same where a failed block is missing from one superblock, whose stripes are shorter for it.
fn elastic_can_serve(plan: &DrivePlan, state: &FlashState, reserve: u32) -> bool {
    let geometry = plan.geometry;
    let chips = plan.stripes.expect("there are stripes").layout().chips();
    let room = |superblock: u32| {
        let blocks =
            (0..geometry.planes()).map(|plane| state.block(BlockId(plane * geometry.blocks_per_plane() + superblock)));
        let usable = blocks.filter(|row| !row.is_bad() && !row.has_failed()).count() as u32;
        usable.saturating_sub(usable.div_ceil(chips).max(geometry.planes_per_die)) * geometry.pages_per_block
    };
    let mut rooms: Vec<u32> = (0..geometry.blocks_per_plane()).map(room).collect();
    rooms.sort_unstable();
    let kept = rooms.len().saturating_sub(reserve as usize);
    rooms[..kept].iter().sum::<u32>() >= plan.user_pages
}

/// Lets everything under way end, background work included.
pub fn drain<F: Clocked>(drive: &mut Drive<F>) {
    let mut completions = Completions::default();
    while drive.advance(&mut completions) != Progress::Idle {}
}

fn check<F: Clocked>(drive: &Drive<F>) -> Result<(), String> {
    if let Some(violation) = drive.oracle().and_then(|oracle| oracle.violation()) {
        return Err(violation.to_owned());
    }
    drive.top().check(drive.flash())
}

/// Blocks of a drive plane by plane as `valid/done`, with pages under way, pending erases, failures and pins.
pub fn describe_blocks<F: Clocked>(drive: &Drive<F>) -> String {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let valid =
        reports.iter().map(|report| &report.valid_pages).find(|pages| !pages.is_empty()).cloned().unwrap_or_default();
    let state = drive.flash().state();
    let per_plane = state.geometry.blocks_per_plane() as usize;
    let mut text = String::new();
    for (block, row) in state.blocks().iter().enumerate() {
        let lead = if block.is_multiple_of(per_plane) { "\n    " } else { " " };
        let valid = valid.get(block).copied().unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = write!(text, "{lead}{valid}/{}", row.done);
        if row.issued > row.done {
            let _ = write!(text, "+{}", row.issued - row.done);
        }
        text.push_str(if row.erase_pending() { "e" } else { "" });
        text.push_str(if row.is_bad() || row.has_failed() { "x" } else { "" });
        if row.pins() > 0 {
            let _ = write!(text, "p{}", row.pins());
        }
    }
    text
}
