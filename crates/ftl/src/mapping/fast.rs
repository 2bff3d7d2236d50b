//! `fast`: log blocks are shared, so that each is filled before it is merged.
//!
//! Faithful to: one log block for sequential writes, which begins with the first page of a logical block and
//! goes on as long as the pages follow each other; all other overwrites appended to log blocks that
//! logical blocks share, the oldest of which is reclaimed by a full merge of each logical block with a valid
//! page in it.
//! Simplified: see [`super::log_block`].
//! Protects: shared log blocks are erased in the order they were opened.

use super::MappingEntry;
use super::log_block::{self, InPlace, LogMap, Put, Scheme};
use layer::Values;
use nand::Flash;
use std::collections::VecDeque;
use units::{BlockId, Ppn};

/// Shared log blocks, oldest first; the sequential one is its logical block's own.
#[derive(Default)]
pub(super) struct Fast {
    random: VecDeque<BlockId>,
}

/// The line for the table of mappings.
pub(super) fn entry<F: Flash>() -> MappingEntry<F> {
    let doc = "data blocks in place, one sequential log block and others that all logical blocks share";
    log_block::entry::<Fast, F>("fast", doc, log_block::common)
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

    fn new(_: &Values, _: u64) -> Self {
        Self::default()
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
            if current.is_none() && map.own_log_count() > 0 || current.is_some_and(|current| !map.merge(flash, current)) {
                return None;
            }
            let block = map.open_log(flash, lbn)?;
            return map.next_page(flash, block);
        }
        if let Some(page) = map.own_log(lbn).and_then(|log| map.next_page(flash, log))
            && map.offset_of(page) == offset
        {
            return Some(page);
        }
        map.append(flash)
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
