//! The mapping unit, which the layers call a page: where its size comes from.

use crate::Values;

/// The key of the mapping unit.
pub const UNIT: &str = "ftl.unit";
/// The key of the bytes that a power cut never tears.
pub const ATOMIC: &str = "drive.atomic";

/// For messages: the key that a page of `page_bytes` has its size from.
pub fn page_key(values: &Values, page_bytes: u64) -> &'static str {
    let page_size = "flash.page_size";
    match () {
        () if values.get(UNIT).is_some() => UNIT,
        () if values.get(page_size).is_some() && values.whole(page_size) < page_bytes => {
            "flash.page_size times the chips in lockstep"
        }
        () => page_size,
    }
}
