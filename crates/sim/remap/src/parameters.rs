//! Keys that several drivers read.

use crate::{LayoutError, Site, Terms, WriteCache};
use layer::{Choices, IN_TIME, Parameter, ParameterKind as Kind, Values};
use units::{HOUR, SECTOR_BYTES, quantity};

/// Bytes of a page, the unit of the map of a driver over a simulated drive.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a virtual superpage over a drive that maps no larger unit than a page of the driver.
const USUAL_SUPERPAGE: u64 = 16 << 10;

const CACHES: Choices<WriteCache> = Choices {
    key: "remap.write_cache",
    table: &[
        ("through", "when the drive has written its virtual superpage or its segment", WriteCache::Through),
        ("volatile", "when its data is in the host's memory", WriteCache::Volatile),
    ],
};

/// `remap.superpage`.
pub fn superpage() -> Parameter {
    Parameter::optional(
        "remap.superpage",
        Kind::Size { min: 4 << 10, max: 4 << 20 },
        "Bytes of a virtual superpage, a power of two. In a log cache, writes to the log are multiples of it. If not \
         set: the mapping unit of the drive below where that is larger than 4 KiB, 16KiB otherwise.",
    )
    .example("64KiB")
}

/// The values over a drive of [`superpage`], [`timeout`], [`write_cache`] and [`idle_after`].
///
/// # Errors
/// The superpage is not a power of two.
pub fn terms(values: &Values, site: &Site) -> Result<Terms, String> {
    let usual = if site.unit_bytes > PAGE_BYTES { site.unit_bytes } else { USUAL_SUPERPAGE };
    let superpage = values.get("remap.superpage").map_or(usual, |_| values.whole("remap.superpage"));
    power_of_two("remap.superpage", superpage)?;
    Ok(Terms {
        page_sectors: (PAGE_BYTES / SECTOR_BYTES) as u32,
        superpage_sectors: (superpage / SECTOR_BYTES) as u32,
        cell_bytes: site.cell_bytes,
        timeout_ns: values.whole("remap.timeout"),
        idle_after_ns: values.whole("remap.idle_after"),
        write_cache: write_cache_of(values),
        ..Terms::default()
    })
}

/// `remap.timeout`.
pub fn timeout() -> Parameter {
    Parameter::new(
        "remap.timeout",
        Kind::Duration { max: HOUR },
        "2ms",
        "How long a page waits for more pages before its virtual superpage, or its segment, is written anyway. \
         Without time (engine.time = none) it waits until nothing else can happen.",
    )
    .only(IN_TIME)
}

/// `remap.write_cache`.
pub fn write_cache() -> Parameter {
    Parameter::new(
        CACHES.key,
        Kind::Choice(|| CACHES.named()),
        "through",
        "When the driver acknowledges a write. In both cases only a flush ensures that the driver's map survives a \
         power cut.",
    )
}

pub fn write_cache_of(values: &Values) -> WriteCache {
    CACHES.read(values)
}

/// `remap.idle_after`.
pub fn idle_after() -> Parameter {
    Parameter::new(
        "remap.idle_after",
        Kind::Duration { max: HOUR },
        "100ms",
        "Time without a request after which the host counts as idle. Then hard reclaims superpages, and a log cache \
         writes its log back.",
    )
    .only(IN_TIME)
}

/// Refuses a size that is not a power of two.
///
/// # Errors
/// With the next one that is.
pub fn power_of_two(key: &str, bytes: u64) -> Result<(), String> {
    if bytes.is_power_of_two() {
        return Ok(());
    }
    let size = quantity::format_size(bytes.next_power_of_two());
    Err(format!("{key} is {}, no power of two; try \"{size}\"", quantity::exact_size(bytes)))
}

/// Why a driver has no layout on a drive of `sectors`, and which value to change.
pub(crate) fn does_not_fit(kind: &str, sectors: u64, error: &LayoutError, size_key: &str) -> String {
    let over = format!("remap.kind = {kind} over a drive of {}", quantity::format_size(sectors * SECTOR_BYTES));
    // Whole pages of any flash.
    let capacity = |sectors: u64| quantity::size_at_least(sectors * SECTOR_BYTES, 32 << 10).unwrap_or_default();
    match *error {
        LayoutError::Small { least, .. } | LayoutError::NoLog { least, .. } => {
            format!(
                "{over}: the drive is too small; raise drive.capacity to \"{}\" or more, or lower {size_key}",
                capacity(least)
            )
        }
        _ => format!("{over}: {error}; see drive.capacity and {size_key}"),
    }
}
