//! What can be chosen for a log cache.

use super::layout::LogLayout;
use crate::parameters::{self, PAGE_BYTES};
use crate::{DriverOptions, LayoutError, LogCache, Site, Terms, WriteCache};
use layer::{Parameter, ParameterKind as Kind, Values};
use units::{Nanos, SECTOR_BYTES, quantity};

/// The options. The first four belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogOptions {
    /// Sectors of a page, the unit of the map: a power of two, 1 to 128.
    pub page_sectors: u32,
    /// Segments are written in multiples of so many sectors, and everything begins at one: a power of two, at least a
    /// page, 2 to 8192.
    pub superpage_sectors: u32,
    /// Sectors of a segment, its header included: a power of two, at least two pages and a superpage, up to 32768.
    pub segment_sectors: u32,
    /// Share of the device that the log takes, 0.001 to 0.5. A small device gives more: four segments at least.
    pub log: f64,
    /// Bytes of data a sector: 512, or 0 where a simulation has no contents.
    pub cell_bytes: u32,
    /// How long a page waits for others before its segment is written all the same, nanoseconds.
    pub timeout_ns: Nanos,
    /// When a write is answered.
    pub write_cache: WriteCache,
    /// How long no request came, and none is under way, before the log is written back, nanoseconds.
    pub idle_after_ns: Nanos,
    /// Segments that are held in memory at most, being filled, being written, or kept: 2 or more. Writing back needs
    /// more.
    pub buffers: u32,
    /// Segments that are written back together at most, 1 or more; never more than a quarter of the log. More of them
    /// bring more neighbours together, and need more memory.
    pub batch: u32,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            page_sectors: 8,
            superpage_sectors: 32,
            segment_sectors: 1024,
            log: 0.1,
            cell_bytes: 512,
            timeout_ns: 2_000_000,
            write_cache: WriteCache::Volatile,
            idle_after_ns: 100_000_000,
            buffers: 8,
            batch: 16,
        }
    }
}

impl DriverOptions for LogOptions {
    type Driver = LogCache;
    type Layout = LogLayout;

    const NAME: &'static str = "log-cache";
    const DOC: &'static str = "writes gather in segments, go to a log at the beginning of the drive, and later to \
                               where they belong, sorted";
    const KEEPS: &'static str = "the rest is the log of its log cache";
    const SIZE_KEY: &'static str = "remap.segment";

    fn parameters() -> Vec<Parameter> {
        vec![
            parameters::superpage(),
            Parameter::new(
                "remap.segment",
                Kind::Size { min: 8 << 10, max: 16 << 20 },
                "512KiB",
                "Bytes of a segment of a log cache, a power of two: what one write to the log holds at most, its \
                 header included.",
            ),
            Parameter::new(
                "remap.log",
                Kind::Share { max: 0.5 },
                "10%",
                "Share of the drive that the log of a log cache takes. At least 0.1 %; a small drive gives more, as \
                 four segments have to fit.",
            ),
            parameters::timeout(),
            parameters::write_cache(),
            parameters::idle_after(),
        ]
    }

    fn of(values: &Values, site: &Site) -> Result<Self, String> {
        let superpage = parameters::superpage_bytes(values, site)?;
        let segment = values.whole("remap.segment");
        parameters::power_of_two("remap.segment", segment)?;
        if segment < superpage {
            let [size, least] = [segment, superpage].map(quantity::format_size);
            return Err(format!(
                "remap.segment is {size}, less than the {least} that the log is written in multiples of; raise it to \
                 \"{least}\" at least, or lower remap.superpage"
            ));
        }
        if values.real("remap.log") < 0.001 {
            return Err("remap.log is below 0.1 %, too little for a log; 10% is usual".to_owned());
        }
        Ok(Self {
            page_sectors: (PAGE_BYTES / SECTOR_BYTES) as u32,
            superpage_sectors: (superpage / SECTOR_BYTES) as u32,
            segment_sectors: (segment / SECTOR_BYTES) as u32,
            log: values.real("remap.log"),
            cell_bytes: site.cell_bytes,
            timeout_ns: values.whole("remap.timeout"),
            write_cache: parameters::write_cache_of(values),
            idle_after_ns: values.whole("remap.idle_after"),
            ..Self::default()
        })
    }

    fn terms(&self) -> Terms {
        let Self { cell_bytes, timeout_ns, idle_after_ns, write_cache, .. } = *self;
        Terms { cell_bytes, timeout_ns, idle_after_ns, write_cache, replaces_pages: true }
    }

    fn layout(&self, device_sectors: u64) -> Result<LogLayout, LayoutError> {
        LogLayout::new(self, device_sectors)
    }

    fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self {
        let page_sectors = [1, 1, 2, 4][dice(4) as usize];
        let superpage_sectors = (page_sectors * [1, 2, 4, 4, 4, 8][dice(6) as usize]).max(2);
        Self {
            page_sectors,
            superpage_sectors,
            segment_sectors: (superpage_sectors * [1, 2, 4][dice(3) as usize]).max(2 * page_sectors),
            log: [0.02, 0.2, 0.5][dice(3) as usize],
            timeout_ns: 1000,
            write_cache: [WriteCache::Through, WriteCache::Volatile][dice(2) as usize],
            idle_after_ns: [500, 5000][dice(2) as usize],
            buffers: [2, 3, 8][dice(3) as usize],
            batch: [1, 3, 16][dice(3) as usize],
            ..Self::default()
        }
    }
}
