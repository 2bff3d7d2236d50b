//! The settings that the keys of a host driver give over a drive.

use crate::config::keys::CONTENTS;
use layer::{SERVICE, TIME, Values};
use nand::ContentsKind;
use remap::{RemapPlan, Site};
use units::{Geometry, SECTOR_BYTES};

/// The driver that `values` ask for over a drive of this geometry; `None`: none.
/// Errors: in words, where values do not fit the drive, or each other.
pub fn plan(values: &Values, geometry: &Geometry, user_pages: u32) -> Result<Option<RemapPlan>, String> {
    let contents = CONTENTS.read(values);
    let kind = values.name(remap::KEY);
    if kind != "none" && contents == ContentsKind::Stamp {
        return Err(format!(
            "remap.kind = {kind} moves data and keeps metadata on the drive, for which stamps have no room; use \
             engine.contents = bytes (or none)"
        ));
    }
    if kind != "none" && contents == ContentsKind::Bytes && SERVICE.read(values) && TIME.read(values) {
        return Err(
            "a single server carries no bytes; use engine.service = parallel, or engine.contents = none".to_owned()
        );
    }
    let cell_bytes = if contents == ContentsKind::Bytes { SECTOR_BYTES as u32 } else { 0 };
    let sectors = u64::from(user_pages) * u64::from(geometry.sectors_per_page());
    remap::plan(values, &Site { sectors, unit_bytes: u64::from(geometry.page_bytes), cell_bytes })
}
