//! The drives of the study.

use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;

/// Banks: chips of one die, each with a queue of its own.
pub const BANKS: u64 = 8;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 2048;
/// Bytes of an erase block.
const ERASE_BLOCK: u64 = 64 * PAGE_BYTES;
/// Bytes the user sees.
const CAPACITY: u64 = 20 << 30;
/// Pages of a stripe block, MiB of a zone, code zones, and % of the drive in use, of record.
pub const RECORD: Place = Place { variant: DYNAMIC, pages: 4, zone_mib: 256, code_zones: 8, used: 90 };

/// A way to read and to treat code blocks.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name in figures.
    pub name: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

pub const STATIC: usize = 0;
pub const DYNAMIC: usize = 1;
pub const EAGER: usize = 2;
pub const GC_AWARE: usize = 3;
pub const GAUSS: usize = 4;
pub const MIRROR: usize = 5;
pub const PARITY: usize = 6;
pub const MDS: usize = 7;
pub const PEEL_BEST: usize = 8;
pub const UPDATE: usize = 9;
pub const REENCODE: usize = 10;
pub const STATIC_PLAIN: usize = 11;
pub const DYNAMIC_PLAIN: usize = 12;

const fn with(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, settings }
}

pub const VARIANTS: [Variant; 13] = [
    with("static", &[("zones.reads", "direct")]),
    with("dynamic", &[]),
    with("eager", &[("zones.reads", "eager")]),
    with("around cleaning", &[("zones.reads", "gc-aware")]),
    with("elimination", &[("zones.decoder", "gauss")]),
    with("mirror", &[("zones.code", "mirror")]),
    with("parity", &[("zones.code", "parity")]),
    with("MDS", &[("zones.code", "mds")]),
    with("best for peeling", &[("zones.code", "peel-best")]),
    with("codes updated", &[("zones.stale_codes", "update")]),
    with("codes encoded when idle", &[("zones.stale_codes", "reencode-idle")]),
    with("static, no read-ahead", &[("zones.reads", "direct"), ("zones.read_ahead.after", "0B")]),
    with("dynamic, no read-ahead", &[("zones.read_ahead.after", "0B")]),
];

/// A drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`VARIANTS`].
    pub variant: usize,
    /// Pages of a stripe block.
    pub pages: u64,
    /// MiB of a zone.
    pub zone_mib: u64,
    /// Code zones.
    pub code_zones: u64,
    /// Of the drive in use, %.
    pub used: u64,
}

impl Place {
    /// The same drive without codes.
    pub fn plain(self) -> Self {
        let variant = if self.variant == DYNAMIC_PLAIN { STATIC_PLAIN } else { STATIC };
        Self { variant, code_zones: 0, ..self }
    }
}

/// The drive of a place.
///
/// # Errors
/// The values do not fit together.
pub fn bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    let mut settings = vec![
        ("drive.capacity", format!("{CAPACITY}B")),
        ("flash.part", "slc-2k".to_owned()),
        ("flash.channels", BANKS.to_string()),
        ("flash.dies_per_channel", "1".to_owned()),
        ("engine.seed", options.seed.to_string()),
        ("ftl.kind", "page".to_owned()),
        ("ftl.gc.victim", "greedy".to_owned()),
        ("ftl.gc.frontier", "shared".to_owned()),
        ("ftl.gc.free_blocks", "0".to_owned()),
        ("ftl.gc.copies_in_flight", "64".to_owned()),
        ("stripe.kind", "zones".to_owned()),
        ("zones.size", format!("{}MiB", place.zone_mib)),
        ("zones.block", format!("{}B", place.pages * PAGE_BYTES)),
        ("zones.code_zones", place.code_zones.to_string()),
        ("zones.offline_first", "at-start".to_owned()),
    ];
    settings.extend(VARIANTS[place.variant].settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
    Bench::new(VARIANTS[place.variant].name, &settings)
}
