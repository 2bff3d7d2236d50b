//! `page`: the whole map is in memory.
//!
//! Faithful to: the page-level map that every scheme with translation pages is measured against.
//! Simplified: see [`crate::mapping::page_level`].
//! Protects: looking an entry up costs nothing.

use crate::mapping::Mapping;
use crate::mapping::page_level::{self, KeptVersions, NoVersions, Resident};

/// Without old versions.
pub(in crate::mapping) type Page = Resident<NoVersions>;
/// With the old versions that a stripe layer asks for.
pub(in crate::mapping) type Versioned = Resident<KeptVersions>;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "every page is mapped by itself; the whole map is in memory";
    let when = "Use it unless memory for the map is scarce: it has the lowest write amplification and no reads for \
                the map. It needs four bytes of memory for each page.";
    let mapping = page_level::mapping::<Page>("page", doc, when, || {
        let mut parameters = page_level::common();
        parameters.extend(page_level::slc::parameters());
        parameters
    });
    Mapping {
        is_versioned: true,
        reserve_blocks: |values, layout| {
            let reserve = page_level::reserve_blocks::<Page>(values, layout)?;
            Ok(reserve + page_level::slc::kept_blocks(values, layout))
        },
        ..mapping
    }
}
