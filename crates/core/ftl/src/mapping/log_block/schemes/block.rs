//! `block`: every page has its place in a block; a block is rewritten to change a page of it.
//!
//! Faithful to: a pure block map. An overwrite goes to a replacement block, in place: the pages before it are copied,
//! and following pages are programmed behind it. When an earlier page or another logical block is written, the rest
//! is copied and the replacement block becomes the data block.
//! Simplified: see [`crate::mapping::log_block`]; a trim is written like the first page it names.
//! Protects: replacement blocks are in place like data blocks.

use crate::mapping::Mapping;
use crate::mapping::log_block::{self, InPlace, Put, Scheme, Tables};
use layer::Values;
use nand::Flash;
use units::{Lpn, Ppn};

/// It needs nothing but the shared tables.
pub(in crate::mapping) struct Block;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "pure block map: an overwrite rewrites its block, and copies the pages before and after it";
    let when = "Use it for the simplest card, which is written in order: its map is the smallest. Every other \
                overwrite copies the rest of its block.";
    log_block::mapping::<Block>("block", doc, when, || {
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
    fn place<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F, logical: Lpn, put: Put) -> Option<Ppn> {
        let (lbn, offset) = (tables.lbns.of(logical), tables.lbns.offset(logical));
        for _ in 0..8 {
            if let Some(replacement) = tables.blocks.table.log(lbn) {
                let next = tables.blocks.next_page(flash, replacement).map(|page| tables.offset_of(page));
                if next.is_some_and(|next| next <= offset) {
                    // What was never written is passed over, so there may be nothing to copy.
                    return tables.fill(flash, lbn, offset).then(|| tables.page_of_log(lbn, offset)).flatten();
                }
                if !tables.merge(flash, lbn) {
                    return None;
                }
                continue;
            }
            if put == Put::Data {
                match tables.place_in_data(flash, logical) {
                    InPlace::Page(page) => return Some(page),
                    InPlace::Wait => return None,
                    InPlace::Taken => {}
                }
            }
            if tables.blocks.table.logs() < tables.log_limit(flash) {
                tables.blocks.open_log(flash, lbn)?;
                continue;
            }
            let victim = tables.log_owners().next()?;
            if !tables.merge(flash, victim) {
                return None;
            }
        }
        None
    }

    fn log_bytes(logs: u64, _: u64) -> u64 {
        logs * 8
    }
}
