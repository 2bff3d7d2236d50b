//! `page`: the whole map is in memory.
//!
//! Faithful to: the page-level map every scheme with translation pages is measured against.
//! Simplified: see [`super::page_level`].
//! Protects: looking an entry up costs nothing.

use super::Mapping;
use super::page_level::{self, Kept, NoVersions, Resident};

/// Without old versions.
pub(super) type Page = Resident<NoVersions>;
/// With the old versions that a stripe layer asks for.
pub(super) type Versioned = Resident<Kept>;

/// The line for the table of mappings.
pub(super) fn mapping() -> Mapping {
    let doc = "every page is mapped by itself, the whole map is in memory";
    let mapping = page_level::mapping::<Page>("page", doc, || {
        let mut parameters = page_level::common();
        parameters.extend(page_level::slc::parameters());
        parameters
    });
    Mapping {
        is_versioned: true,
        reserve_blocks: |values, layout| {
            let reserve = page_level::reserve_blocks::<Page>(values, layout)?;
            Ok(reserve + page_level::slc::kept_blocks(values))
        },
        ..mapping
    }
}
