//! `fast`: log blocks are shared, so that each is filled before it is merged.
//!
//! Faithful to: one log block for sequential writes, which begins with the first page of a logical block and
//! goes on as long as the pages follow each other; an overwrite of its logical block out of sequence merges it;
//! all other overwrites appended to log blocks that logical blocks share; the oldest one is reclaimed by a
//! full merge of each logical block with a valid page in it.
//! Simplified: see [`super::log_block`]. The page out of sequence goes where any other page would go after that
//! merge; an option leaves the log block as it is instead.
//! Protects: shared log blocks are erased in the order they were opened.

use super::Mapping;
use super::log_block::{self, InPlace, LogMap, Put, Scheme};
use layer::{Choices, Parameter, ParameterKind, Values};
use nand::Flash;
use std::collections::VecDeque;
use units::{BlockId, Ppn};

/// Whether a page out of sequence merges the sequential log block of its logical block first.
const MERGES: Choices<bool> = Choices {
    key: "ftl.fast.out_of_sequence",
    table: &[
        ("merge", "that log block is merged first, as published", true),
        (
            "share",
            "it stays, and the page goes to the shared log blocks: saves copies where sequential writes skip or \
             repeat pages",
            false,
        ),
    ],
};

/// Shared log blocks, oldest first; the sequential one is its logical block's own.
pub(super) struct Fast {
    random: VecDeque<BlockId>,
    /// A page out of sequence merges the sequential log block of its logical block first.
    merges: bool,
}

/// The line for the table of mappings.
pub(super) fn mapping() -> Mapping {
    let doc = "data blocks in place, one sequential log block and others that all logical blocks share";
    log_block::mapping::<Fast>("fast", doc, parameters)
}

fn parameters() -> Vec<Parameter> {
    let mut parameters = log_block::common();
    parameters.push(Parameter::new(
        MERGES.key,
        ParameterKind::Choice(|| MERGES.named()),
        "merge",
        "What an overwrite does that does not follow the pages of the sequential log block of its own logical \
            block.",
    ));
    parameters
}

impl LogMap<Fast> {
    /// The next page of the shared log blocks.
    fn append<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        let limit = self.log_limit(flash);
        let random = (limit - Fast::own_logs(limit)).max(1) as usize;
        loop {
            let newest = self.scheme.random.back().copied();
            if let Some(page) = newest.and_then(|block| self.next_page(flash, block)) {
                return Some(page);
            }
            if self.scheme.random.len() >= random {
                if !self.reclaim_oldest(flash) {
                    return None;
                }
                continue;
            }
            let opened = self.open_shared(flash)?;
            self.scheme.random.push_back(opened);
        }
    }

    /// Empties and erases the oldest shared log block. `false`: that is under way.
    fn reclaim_oldest<F: Flash>(&mut self, flash: &mut F) -> bool {
        let Some(&oldest) = self.scheme.random.front() else { return false };
        while let Some(lbn) = self.next_to_merge(oldest) {
            if !self.merge_full(flash, lbn) {
                // Others may be merged at the same time.
                for other in self.logical_blocks_in(oldest) {
                    self.merge_full(flash, other);
                }
                return false;
            }
        }
        if !self.is_empty(oldest) || self.may_be_returned_to(flash, oldest) {
            return false;
        }
        self.scheme.random.pop_front();
        self.erase_shared(flash, oldest);
        true
    }
}

impl Scheme for Fast {
    const SHARED: bool = true;

    fn new(values: &Values, _: u64) -> Self {
        Self { random: VecDeque::new(), merges: MERGES.read(values) }
    }

    #[inline]
    fn place<F: Flash>(map: &mut LogMap<Self>, flash: &mut F, logical: u32, put: Put) -> Option<Ppn> {
        if put == Put::Tombstone {
            return map.append(flash);
        }
        match map.place_in_data(flash, logical) {
            InPlace::Page(page) => return Some(page),
            InPlace::Wait => return None,
            InPlace::Taken => {}
        }
        let (lbn, offset) = map.split(logical);
        if offset == 0 && Fast::own_logs(map.log_limit(flash)) > 0 {
            let current = map.log_owners().next();
            if current.is_none() && map.own_log_count() > 0 || current.is_some_and(|current| !map.merge(flash, current))
            {
                return None;
            }
            let block = map.open_log(flash, lbn)?;
            return map.next_page(flash, block);
        }
        let Some(log) = map.own_log(lbn) else { return map.append(flash) };
        let next = map.next_page(flash, log).filter(|page| map.offset_of(*page) == offset);
        if next.is_some() || !map.scheme.merges {
            return next.or_else(|| map.append(flash));
        }
        // Its logical block has no log block then, but may have a place for the page.
        if map.merge(flash, lbn) { Self::place(map, flash, logical, put) } else { None }
    }

    fn reclaim<F: Flash>(map: &mut LogMap<Self>, flash: &mut F) -> bool {
        map.reclaim_oldest(flash)
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
