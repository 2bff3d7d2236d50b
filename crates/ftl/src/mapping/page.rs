//! `page`: the whole map is in memory.
//!
//! Faithful to: the page-level map every scheme with translation pages is measured against.
//! Simplified: see [`super::page_level`].
//! Protects: looking an entry up costs nothing.

use super::Mapping;
use super::page_level::{self, scheme::Resident};

/// Without old versions.
pub(super) type Page = Resident<false>;
/// With the old versions that a stripe layer asks for.
pub(super) type Versioned = Resident<true>;

/// The line for the table of mappings.
pub(super) fn mapping() -> Mapping {
    let doc = "every page is mapped by itself, the whole map is in memory";
    Mapping { is_versioned: true, ..page_level::mapping::<Resident<false>>("page", doc, page_level::common) }
}
