//! `page`: the whole map is in memory.
//!
//! Faithful to: the page-level map every scheme with translation pages is measured against.
//! Simplified: see [`super::page_level`].
//! Protects: looking an entry up costs nothing.

use super::MappingEntry;
use super::page_level::{self, scheme::Resident};
use nand::Flash;

/// The line for the table of mappings.
pub(super) fn entry<F: Flash>() -> MappingEntry<F> {
    let doc = "every page is mapped by itself, the whole map is in memory";
    let versioned = Some(page_level::versioned::<Resident<true>, F>());
    MappingEntry { versioned, ..page_level::entry::<Resident<false>, F>("page", doc, page_level::common) }
}
