//! Building blocks of map caches: recency lists, items by logical page, items by age.

mod age;
mod items;
mod recency;

pub(super) use age::AgeHeap;
pub(super) use items::ItemTable;
pub(super) use recency::{Links, List};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
