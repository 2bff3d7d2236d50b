//! `fast`: log blocks are shared, so that each is filled before it is merged.
//!
//! Faithful to: one log block takes sequential writes. It begins with the first page of a logical block and goes on
//! as long as the pages follow each other. An overwrite of its logical block out of sequence merges it. All other
//! overwrites are appended to log blocks that logical blocks share. The oldest shared one is reclaimed by a full
//! merge of each logical block with a valid page in it.
//! Simplified: see [`crate::mapping::log_block`]. The page out of sequence goes where any other page would go after
//! that merge; an option leaves the log block as it is instead.
//! Protects: shared log blocks are erased in the order they were opened.

use crate::mapping::Mapping;
use crate::mapping::log_block::{self, InPlace, Put, Scheme, Tables};
use layer::{Choices, Parameter, ParameterKind, Values};
use nand::Flash;
use std::collections::VecDeque;
use units::{BlockId, Lpn, Ppn};

/// Whether a page out of sequence merges the sequential log block of its logical block first.
const MERGES: Choices<bool> = Choices {
    key: "ftl.fast.out_of_sequence",
    table: &[
        ("merge", "it merges the sequential log block first, as published", true),
        (
            "share",
            "it keeps the sequential log block, and writes the page to the shared log blocks: saves copies where \
             sequential writes skip or repeat pages",
            false,
        ),
    ],
};

/// Shared log blocks, oldest first; the sequential one is its logical block's own.
pub(in crate::mapping) struct Fast {
    random: VecDeque<BlockId>,
    /// A page out of sequence merges the sequential log block of its logical block first.
    merges: bool,
}

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "data blocks in place, one sequential log block, and other log blocks that all logical blocks share";
    let when = "Use it like bast where some writes are random: logical blocks share the log blocks, so merges come \
                later. One merge of a shared log block may copy as many logical blocks as it has pages.";
    log_block::mapping::<Fast>("fast", doc, when, parameters)
}

fn parameters() -> Vec<Parameter> {
    let mut parameters = log_block::common();
    parameters.push(Parameter::new(
        MERGES.key,
        ParameterKind::Choice(|| MERGES.named()),
        "merge",
        "How fast treats an overwrite that does not continue the sequential log block of its logical block.",
    ));
    parameters
}

impl Fast {
    /// The next page of the shared log blocks.
    fn append<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F) -> Option<Ppn> {
        let limit = tables.log_limit(flash);
        let random = (limit - Fast::own_logs(limit)).max(1) as usize;
        loop {
            let newest = self.random.back().copied();
            if let Some(page) = newest.and_then(|block| tables.blocks.next_page(flash, block)) {
                return Some(page);
            }
            if self.random.len() < random {
                self.random.push_back(tables.blocks.open_shared(flash)?);
            } else if !self.reclaim(tables, flash) {
                return None;
            }
        }
    }
}

impl Scheme for Fast {
    const SHARED: bool = true;

    fn new(values: &Values, _: u64) -> Self {
        Self { random: VecDeque::new(), merges: MERGES.read(values) }
    }

    #[inline]
    fn place<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F, logical: Lpn, put: Put) -> Option<Ppn> {
        if put == Put::Tombstone {
            return self.append(tables, flash);
        }
        match tables.place_in_data(flash, logical) {
            InPlace::Page(page) => return Some(page),
            InPlace::Wait => return None,
            InPlace::Taken => {}
        }
        let (lbn, offset) = (tables.lbns.of(logical), tables.lbns.offset(logical));
        if offset == 0 && Fast::own_logs(tables.log_limit(flash)) > 0 {
            let current = tables.log_owners().next();
            if current.is_none() && tables.blocks.table.logs() > 0
                || current.is_some_and(|current| !tables.merge(flash, current))
            {
                return None;
            }
            let block = tables.blocks.open_log(flash, lbn)?;
            return tables.blocks.next_page(flash, block);
        }
        let Some(log) = tables.blocks.table.log(lbn) else { return self.append(tables, flash) };
        let next = tables.blocks.next_page(flash, log).filter(|page| tables.offset_of(*page) == offset);
        if next.is_some() || !self.merges {
            return next.or_else(|| self.append(tables, flash));
        }
        // Its logical block has no log block then, but may have a place for the page.
        if tables.merge(flash, lbn) { self.place(tables, flash, logical, put) } else { None }
    }

    fn reclaim<F: Flash>(&mut self, tables: &mut Tables, flash: &mut F) -> bool {
        let Some(&oldest) = self.random.front() else { return false };
        while let Some(lbn) = tables.next_to_merge(oldest) {
            if !tables.merge_full(flash, lbn) {
                // Others may be merged at the same time.
                for other in tables.logical_blocks_in(oldest) {
                    tables.merge_full(flash, other);
                }
                return false;
            }
        }
        if !tables.pages.is_empty(oldest) || tables.may_be_returned_to(flash, oldest) {
            return false;
        }
        self.random.pop_front();
        tables.erase_shared(flash, oldest);
        true
    }

    fn own_logs(logs: u32) -> u32 {
        u32::from(logs > 1)
    }

    fn shared(&self) -> Vec<BlockId> {
        self.random.iter().copied().collect()
    }

    fn adopt(&mut self, blocks: Vec<BlockId>) {
        self.random = blocks.into();
    }

    fn log_bytes(logs: u64, pages: u64) -> u64 {
        // Logical page of each page of a log block.
        logs * (4 + 4 * pages)
    }
}
