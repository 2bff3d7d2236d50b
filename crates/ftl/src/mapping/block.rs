//! `block`: every page has its place in a block; a block is rewritten to change a page of it.
//!
//! Faithful to: a pure block map. An overwrite goes to a replacement block, in place: the pages before it are
//! copied, pages that follow are programmed behind it, and when an earlier page or another logical block is
//! written the rest is copied and the replacement block becomes the data block.
//! Simplified: see [`super::log_block`]; a trim is written like the first page it names.
//! Protects: replacement blocks are in place like data blocks.

use super::Mapping;
use super::log_block::{self, InPlace, LogMap, Put, Scheme};
use layer::Values;
use nand::Flash;
use units::Ppn;

/// Nothing but the ground.
pub(super) struct Block;

/// The line for the table of mappings.
pub(super) fn mapping() -> Mapping {
    let doc = "pure block map: an overwrite rewrites its block, copies before and after it";
    log_block::mapping::<Block>("block", doc, || {
        let mut parameters = log_block::common();
        parameters.retain(|parameter| parameter.key != "ftl.log.partial_merge");
        parameters
    })
}

impl Scheme for Block {
    const DEFAULT_LOGS: Option<u32> = Some(1);
    const IN_PLACE: bool = true;

    fn new(_: &Values, _: u64) -> Self {
        Self
    }

    #[inline]
    fn place<F: Flash>(map: &mut LogMap<Self>, flash: &mut F, logical: u32, put: Put) -> Option<Ppn> {
        let (lbn, offset) = map.split(logical);
        for _ in 0..8 {
            if let Some(replacement) = map.own_log(lbn) {
                let next = map.next_page(flash, replacement).map(|page| map.offset_of(page));
                if next.is_some_and(|next| next <= offset) {
                    // What was never written is passed over, so there may be nothing to copy.
                    return map.fill(flash, lbn, offset).then(|| map.page_of_log(lbn, offset)).flatten();
                }
                if !map.merge(flash, lbn) {
                    return None;
                }
                continue;
            }
            if put == Put::Data {
                match map.place_in_data(flash, logical) {
                    InPlace::Page(page) => return Some(page),
                    InPlace::Wait => return None,
                    InPlace::Taken => {}
                }
            }
            if map.own_log_count() < map.log_limit(flash) {
                map.open_log(flash, lbn)?;
                continue;
            }
            let victim = map.log_owners().next()?;
            if !map.merge(flash, victim) {
                return None;
            }
        }
        None
    }

    fn log_bytes(logs: u64, _: u64) -> u64 {
        logs * 8
    }
}
