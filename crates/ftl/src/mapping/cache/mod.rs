//! Building blocks of map caches: recency lists, items by logical page, items by age, items in two levels.

mod age;
mod index;
mod items;
mod nodes;
mod recency;

pub(super) use age::AgeHeap;
use index::Index;
pub(super) use items::ItemTable;
pub(super) use nodes::NodeTable;
pub(super) use recency::{Links, List};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
