//! The common parts of all mappings: map entries, answers, pages that are read or written in part or were never
//! written, and pages that a power cut left.

use crate::blocks::BlockTable;
use layer::{Answer, OpHandle, Parameter, ParameterKind};
use nand::{Awaits, Closed, CommandId, Completion, Flash, FlashState, JoinId, Owner, PayloadId, Read};
use units::{BlockId, Cause, Geometry, HostOp, Ppn, Request};

/// Logical page of a program or copy that is of none.
pub(super) const UNMAPPED: u32 = u32::MAX;

/// When cold data is moved to worn blocks.
pub(super) const STATIC_GAP: Parameter = Parameter::new(
    "ftl.wear.static_gap",
    ParameterKind::Count { min: 0, max: 1_000_000 },
    "0",
    "Difference of erase counts above which cold data moves away from the least worn block (static wear levelling), \
     for example 100; 0 turns it off. The least worn block is the one of a plane, or of the drive in a log-block \
     mapping.",
);

/// Blocks with programmed pages that can be read; bad blocks and blocks of a lost die are left out.
pub(super) fn written_blocks(image: &FlashState) -> impl Iterator<Item = BlockId> + use<'_> {
    (0..image.geometry.blocks()).map(BlockId).filter(|block| {
        let row = image.block(*block);
        !row.is_bad() && row.done > 0 && !image.die_is_dead(image.geometry.die_of(*block))
    })
}

/// The programmed pages of a block, in the order in which they were programmed.
pub(super) fn written_pages(image: &FlashState, block: BlockId) -> impl Iterator<Item = Ppn> + use<> {
    let geometry = image.geometry;
    (0..u32::from(image.block(block).done)).map(move |position| geometry.page_at(block, position))
}

/// All programmed pages that can be read, block by block.
pub(super) fn written(image: &FlashState) -> impl Iterator<Item = Ppn> + use<'_> {
    written_blocks(image).flat_map(|block| written_pages(image, block))
}

/// Passes over the pages of a block before the one that is programmed next.
#[inline]
pub(super) fn reach<F: Flash>(flash: &mut F, page: Ppn) {
    let geometry = flash.state().geometry;
    if geometry.page_in_block(page) != u32::from(flash.state().block(geometry.block_of(page)).issued) {
        flash.blocks_mut().skip_to(page);
    }
}

/// Closes an operation's join and says what became of it so far.
#[inline]
pub(super) fn answer<F: Flash>(flash: &mut F, join: JoinId, awaits: Awaits) -> Answer {
    match flash.close(join, awaits) {
        Closed::Done { failed } => Answer::Done { failed },
        Closed::Pending => Answer::Pending(OpHandle(Some(join))),
    }
}

/// Brings the blocks that coming requests read or invalidate into the cache. `find`: where a logical page is.
pub(super) fn prefetch_blocks<F: Flash>(
    flash: &F,
    geometry: &Geometry,
    find: impl Fn(usize) -> Option<Ppn>,
    blocks: &BlockTable,
    next: &[Request],
) {
    let shift = geometry.page_shift();
    // Commands that end at once put no pin into the block of an older version.
    let has_pins = !flash.ends_at_once();
    for request in next {
        if let Some(page) = find((request.first_sector >> shift) as usize) {
            if request.op == HostOp::Write {
                blocks.prefetch(page);
            }
            if has_pins {
                units::prefetch(flash.state().blocks(), geometry.block_of(page).index());
            }
        }
    }
}

/// Reads the sectors of the old page that a partial write keeps; the command to wait for.
pub(super) fn read_missing<F: Flash>(
    flash: &mut F,
    owner: Owner,
    geometry: &Geometry,
    old: Ppn,
    mask: u64,
    join: JoinId,
    known: Option<CommandId>,
) -> Option<CommandId> {
    let sectors = geometry.sectors_per_page() - mask.count_ones();
    let read = Read {
        page: old,
        cause: Cause::Padding,
        sectors: sectors as u8,
        payload: PayloadId::NONE,
        completion: Some(Completion::Join(join)),
        after: known,
    };
    flash.read(owner, read).pending()
}
