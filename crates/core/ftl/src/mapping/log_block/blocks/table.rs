//! Data block and own log block of each logical block.
//!
//! *Protects*: a logical block is in the list, by use of its log block, if and only if it has one. Only `Blocks`
//! changes it, others read it.

use super::Lbn;
use layer::recency::{Links, List};
use units::BlockId;

/// No block: an entry has four bytes.
const NONE: u32 = u32::MAX;

pub(in crate::mapping) struct Table {
    data: Vec<u32>,
    log: Vec<u32>,
    /// Logical blocks with a log block of their own.
    links: Links,
    logs: List,
}

#[inline(always)]
fn entry(table: &[u32], lbn: Lbn) -> Option<BlockId> {
    let block = table[lbn.index()];
    (block != NONE).then_some(BlockId(block))
}

impl Table {
    /// No logical block has any.
    pub(super) fn new(logical_blocks: u32) -> Self {
        let count = logical_blocks as usize;
        let none = vec![NONE; count];
        Self { data: none.clone(), log: none, links: Links::new(count), logs: List::default() }
    }

    pub fn len(&self) -> u32 {
        self.data.len() as u32
    }

    #[inline(always)]
    pub fn data(&self, lbn: Lbn) -> Option<BlockId> {
        entry(&self.data, lbn)
    }

    #[inline(always)]
    pub fn log(&self, lbn: Lbn) -> Option<BlockId> {
        entry(&self.log, lbn)
    }

    /// Sets the data block; returns the one before.
    pub(super) fn set_data(&mut self, lbn: Lbn, block: Option<BlockId>) -> Option<BlockId> {
        let old = self.data(lbn);
        self.data[lbn.index()] = block.map_or(NONE, |block| block.0);
        old
    }

    /// Gives a logical block a log block, the one used last.
    pub(super) fn attach_log(&mut self, lbn: Lbn, block: BlockId) {
        debug_assert!(self.log(lbn).is_none(), "a logical block has one log block");
        self.log[lbn.index()] = block.0;
        self.links.push_front(&mut self.logs, lbn.0);
    }

    /// Takes a log block away from its logical block.
    pub(super) fn detach_log(&mut self, lbn: Lbn) -> Option<BlockId> {
        let block = self.log(lbn)?;
        self.log[lbn.index()] = NONE;
        self.links.remove(&mut self.logs, lbn.0);
        Some(block)
    }

    /// A log block is used.
    #[inline]
    pub(super) fn touch_log(&mut self, lbn: Lbn) {
        debug_assert!(self.log(lbn).is_some(), "logical block {lbn} has no log block to use");
        self.links.touch(&mut self.logs, lbn.0);
    }

    /// Logical blocks with a log block.
    pub fn logs(&self) -> u32 {
        self.logs.len()
    }

    /// Logical blocks with a log block, by its use, longest ago first.
    pub fn log_owners(&self) -> impl Iterator<Item = Lbn> {
        self.links.oldest_first(&self.logs).map(Lbn)
    }

    /// Returns how many have a data block and a log block.
    ///
    /// # Errors
    /// The list is wrong, in words.
    pub(super) fn check(&self) -> Result<(u32, u32), String> {
        let list = self.links.check(&self.logs)?;
        let some = |table: &[u32]| table.iter().filter(|block| **block != NONE).count();
        let logs = some(&self.log);
        if list.len() != logs || list.iter().any(|lbn| self.log(Lbn(*lbn)).is_none()) {
            return Err(format!("{} logical blocks are listed with a log block, {logs} have one", list.len()));
        }
        Ok((some(&self.data) as u32, logs as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn log_blocks_are_listed_by_their_last_use(steps in prop::collection::vec((0..6_u32, 0..4_u8), 0..200)) {
            let mut table = Table::new(6);
            // Logical blocks with a log block, used longest ago first.
            let mut order: Vec<Lbn> = Vec::new();
            let mut data = [None; 6];
            for (step, (number, what)) in (0..).zip(steps) {
                let lbn = Lbn(number);
                let place = order.iter().position(|other| *other == lbn);
                match (what, place) {
                    (0, None) => { table.attach_log(lbn, BlockId(step)); order.push(lbn); }
                    (1, Some(at)) => { table.touch_log(lbn); order.remove(at); order.push(lbn); }
                    (2, at) => {
                        prop_assert_eq!(table.detach_log(lbn).is_some(), at.is_some());
                        at.map(|at| order.remove(at));
                    }
                    (3, _) => {
                        let block = (step % 3 > 0).then_some(BlockId(step));
                        prop_assert_eq!(table.set_data(lbn, block), std::mem::replace(&mut data[lbn.index()], block));
                    }
                    _ => {}
                }
                prop_assert_eq!(table.log_owners().collect::<Vec<_>>(), order.clone());
                let with_data = data.iter().flatten().count() as u32;
                prop_assert_eq!(table.check(), Ok((with_data, order.len() as u32)));
            }
        }
    }
}
