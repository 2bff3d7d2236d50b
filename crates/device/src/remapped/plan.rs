//! What the keys of a driver of the host come to over a drive.

use layer::Values;
use remap::{RemapPlan, Site};
use units::Geometry;

/// The driver that `values` ask for over a drive of this geometry; `None`: none.
///
/// # Errors
/// In words, where values do not fit the drive, or each other.
pub fn plan(values: &Values, geometry: &Geometry, user_pages: u32) -> Result<Option<RemapPlan>, String> {
    let kind = values.name("remap.kind");
    if kind == "none" {
        return Ok(None);
    }
    let contents = values.name("engine.contents");
    if contents == "stamp" {
        return Err(format!(
            "remap.kind = {kind} moves data and keeps metadata on the drive, for which stamps have no room; use \
             engine.contents = bytes (or none)"
        ));
    }
    if contents == "bytes" && values.name("engine.service") == "serial" && values.name("engine.time") == "virtual" {
        return Err(
            "a single server carries no bytes; use engine.service = parallel, or engine.contents = none".to_owned()
        );
    }
    let sectors = u64::from(user_pages) * u64::from(geometry.sectors_per_page());
    remap::plan(values, &Site { sectors, unit_bytes: u64::from(geometry.page_bytes) })
}
