//! Building blocks of map caches: items by logical page, items by age, items in two levels.

mod age;
mod index;
mod items;
mod nodes;

pub(super) use age::AgeHeap;
use index::Index;
pub(super) use items::ItemTable;
pub(super) use nodes::NodeTable;
use units::Lpn;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// No logical page.
pub(super) const NO_LPN: Lpn = Lpn(NONE);
