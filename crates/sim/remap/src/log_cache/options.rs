//! Options of a log cache.

use super::layout::LogLayout;
use crate::parameters;
use crate::{DriverOptions, LayoutError, LogCache, Site, Terms, WriteCache};
use layer::{Parameter, ParameterKind as Kind, Values};
use units::{SECTOR_BYTES, quantity};

/// The options. `segment_sectors` and `log` belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogOptions {
    /// The options of every driver.
    pub terms: Terms,
    /// Sectors of a segment, its header included: a power of two, at least two pages and a superpage, up to 32768.
    pub segment_sectors: u32,
    /// Share of the device that the log takes, 0.001 to 0.5. A small device gives more: four segments at least.
    pub log: f64,
    /// Segments that are written back together at most, 1 or more; never more than a quarter of the log. More of them
    /// bring more neighbours together, and need more memory.
    pub batch: u32,
}

impl Default for LogOptions {
    fn default() -> Self {
        let terms = Terms { write_cache: WriteCache::Volatile, buffers: 8, ..Terms::default() };
        Self { terms, segment_sectors: 1024, log: 0.1, batch: 16 }
    }
}

impl DriverOptions for LogOptions {
    type Driver = LogCache;
    type Layout = LogLayout;

    const NAME: &'static str = "log-cache";
    const DOC: &'static str = "writes gather in segments, go to a log at the beginning of the drive, and later, \
                               sorted, to their own addresses";
    const WHEN: &'static str = "Use it for bursts of small writes with pauses between them: pages go home in the \
                                pauses, sorted. Most pages are written twice, so a steady load gains less than with \
                                hard.";
    const KEEPS: &'static str = "the rest is the log of its log cache";
    const SIZE_KEY: &'static str = "remap.segment";
    const ALONE: Option<&'static str> = Some(
        "the log cache writes pages home at once, before the host writes them again, so that it writes more pages, and \
         write amplification is higher",
    );

    fn parameters() -> Vec<Parameter> {
        vec![
            parameters::superpage(),
            Parameter::new(
                "remap.segment",
                Kind::Size { min: 8 << 10, max: 16 << 20 },
                "512KiB",
                "Bytes of a segment of a log cache, a power of two: one write to the log holds at most this, \
                 including its header.",
            ),
            Parameter::new(
                "remap.log",
                Kind::Share { max: 0.5 },
                "10%",
                "Share of the drive that the log of a log cache takes, at least 0.1 %. A small drive gives more, \
                 because four segments have to fit.",
            ),
            parameters::timeout(),
            parameters::write_cache(),
            parameters::idle_after(),
        ]
    }

    fn of(values: &Values, site: &Site) -> Result<Self, String> {
        let terms = Terms { buffers: Self::default().terms.buffers, ..parameters::terms(values, site)? };
        let (superpage, segment) = (u64::from(terms.superpage_sectors) * SECTOR_BYTES, values.whole("remap.segment"));
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
        let segment_sectors = (segment / SECTOR_BYTES) as u32;
        Ok(Self { terms, segment_sectors, log: values.real("remap.log"), ..Self::default() })
    }

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn layout(&self, device_sectors: u64) -> Result<LogLayout, LayoutError> {
        LogLayout::new(self, device_sectors)
    }

    fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self {
        let mut terms = Terms::small(dice);
        let Terms { page_sectors, superpage_sectors, .. } = terms;
        let segment_sectors = (superpage_sectors * [1, 2, 4][dice(3) as usize]).max(2 * page_sectors);
        let log = [0.02, 0.2, 0.5][dice(3) as usize];
        terms.write_cache = [WriteCache::Through, WriteCache::Volatile][dice(2) as usize];
        terms.idle_after_ns = [500, 5000][dice(2) as usize];
        terms.buffers = [2, 3, 8][dice(3) as usize];
        Self { terms, segment_sectors, log, batch: [1, 3, 16][dice(3) as usize] }
    }
}
