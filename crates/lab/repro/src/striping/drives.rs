//! The drives of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;

/// Banks: chips of one die, each with a queue of its own.
pub const BANKS: u64 = 8;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 2048;
/// Bytes of an erase block.
pub const ERASE_BLOCK: u64 = 64 * PAGE_BYTES;
/// Spare erase blocks of a segment.
pub const SPARE: u64 = 2;
/// Bytes the user sees.
const CAPACITY: u64 = 20 << 30;
/// Sizes below one over this many shrink the drive as well, down to a sixteenth: enough to see that all of it runs.
const LEAST_FULL: u64 = 64;
/// Pages of a stripe block, MiB of a zone, code zones, and % of the drive in use, of record.
pub const RECORD: Place = Place { variant: DYNAMIC, pages: 4, zone_mib: 256, code_zones: 8, used: 90 };
/// Code zones, pages of a stripe block, MiB of a zone and % of the drive in use that are tried.
pub const CODE_ZONES: [u64; 7] = [1, 2, 4, 6, 8, 12, 16];
pub const BLOCKS: [u64; 4] = [1, 2, 4, 8];
pub const ZONES: [u64; 6] = [32, 64, 128, 256, 512, 1024];
pub const USED: [u64; 5] = [60, 80, 90, 95, 100];

/// The values that sweeps go over.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub code_zones: &'static [u64],
    pub blocks: &'static [u64],
    pub zones: &'static [u64],
    pub used: &'static [u64],
}

impl Sizes {
    /// The values of the study; in a draw of a family only the values that its rows need.
    pub fn of(options: &Options) -> Self {
        if options.is_drawn() {
            return Self { code_zones: &[1, 8, 16], blocks: &[1, 4, 8], zones: &[32, 256, 1024], used: &[] };
        }
        Self { code_zones: &CODE_ZONES, blocks: &BLOCKS, zones: &ZONES, used: &USED }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self::of(&Options::default())
    }
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
pub const SHORTER: usize = 13;
pub const THREE_PEEL: usize = 14;
pub const THREE_GAUSS: usize = 15;
pub const EAGER_TIME: usize = 16;
pub const INTERLEAVED: usize = 17;
pub const STATIC_INTERLEAVED: usize = 18;
pub const ONE_BUS: usize = 19;
pub const STATIC_ONE_BUS: usize = 20;
pub const LOCKSTEP: usize = 21;
pub const ONE_QUEUE: usize = 22;
pub const ONE_QUEUE_ONE_BUS: usize = 23;
/// The architectures of figure 1, in its order, with a bus for each bank and with one for all; chips in lockstep are
/// one bank.
pub const ARCHITECTURES: [(&str, [Option<usize>; 2]); 3] = [
    ("interleaving", [Some(LOCKSTEP), None]),
    ("one queue", [Some(ONE_QUEUE), Some(ONE_QUEUE_ONE_BUS)]),
    ("a queue for each bank", [Some(STATIC), Some(STATIC_ONE_BUS)]),
];

/// Ways to read and to treat code blocks, by their names in the study's file, which has their settings.
pub const VARIANTS: [&str; 24] = [
    "static",
    "dynamic",
    "eager",
    "around cleaning",
    "G_4^2, elimination",
    "mirror",
    "parity",
    "MDS",
    "best for peeling",
    "codes updated",
    "codes encoded when idle",
    "static, no read-ahead",
    "dynamic, no read-ahead",
    "mirror, shorter queue",
    "G_4^3",
    "G_4^3, elimination",
    "eager by time",
    "cleaning interleaved",
    "static, cleaning interleaved",
    "one controller",
    "static, one controller",
    "chips in lockstep",
    "one queue",
    "one queue, one controller",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`VARIANTS`].
    pub variant: usize,
    /// Pages of a stripe block.
    pub pages: u64,
    /// MiB of a zone.
    pub zone_mib: u64,
    pub code_zones: u64,
    /// Of the drive in use, %.
    pub used: u64,
}

impl Place {
    /// The same drive without codes.
    pub fn plain(self) -> Self {
        let variant = match self.variant {
            DYNAMIC_PLAIN => STATIC_PLAIN,
            INTERLEAVED => STATIC_INTERLEAVED,
            ONE_BUS => STATIC_ONE_BUS,
            _ => STATIC,
        };
        Self { variant, ..self.uncoded() }
    }

    /// The same without code zones.
    pub fn uncoded(self) -> Self {
        Self { code_zones: 0, ..self }
    }

    /// In words, for whoever watches.
    pub fn name(&self) -> String {
        let Place { pages, zone_mib, code_zones, used, .. } = self;
        format!(
            "{}, {code_zones} code zones, zones of {zone_mib} MiB, blocks of {pages} pages, {used} % in use",
            VARIANTS[self.variant]
        )
    }
}

/// Places with another number of code zones, other stripe blocks, other zones with as much room for codes, other zones
/// with as many code zones, and more or less of the drive in use.
pub fn swept(sizes: Sizes) -> [Vec<Place>; 5] {
    let all = |along: &[u64], place: &dyn Fn(u64) -> Place| along.iter().map(|size| place(*size)).collect();
    let as_much_room = |zone_mib| RECORD.code_zones * RECORD.zone_mib / zone_mib;
    [
        all(sizes.code_zones, &|code_zones| Place { code_zones, ..RECORD }),
        all(sizes.blocks, &|pages| Place { pages, ..RECORD }),
        all(sizes.zones, &|zone_mib| Place { zone_mib, code_zones: as_much_room(zone_mib), ..RECORD }),
        all(sizes.zones, &|zone_mib| Place { zone_mib, ..RECORD }),
        all(sizes.used, &|used| Place { used, ..RECORD }),
    ]
}

/// The drive of a place.
/// Errors: the values do not fit together.
pub fn bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    let capacity = options.scale.of(CAPACITY * LEAST_FULL).clamp(CAPACITY / 16, CAPACITY);
    let zone = (place.zone_mib << 20) / (CAPACITY / capacity);
    let mut further = vec![
        ("drive.capacity", format!("{capacity}B")),
        ("coded.size", format!("{zone}B")),
        ("coded.spare_blocks", SPARE.to_string()),
        ("coded.block", format!("{}B", place.pages * PAGE_BYTES)),
        ("coded.code_zones", place.code_zones.to_string()),
    ];
    let channels = options.drawn("flash.channels", BANKS as f64) as u64;
    if channels != BANKS {
        further.push(("flash.dies_per_channel", (BANKS / channels).to_string()));
    }
    further.extend(options.drawn_settings());
    let variant = VARIANTS[place.variant];
    TARGETS.bench(options, variant, &["every drive", variant], further)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Scale;

    #[test]
    fn every_drive_can_be_built_at_every_size() {
        for scale in ["1", "1/4", "1/256", "1/4096"] {
            let options = Options { scale: Scale::parse(scale).unwrap(), ..Options::default() };
            let variants = (0..VARIANTS.len()).map(|variant| Place { variant, ..RECORD });
            for place in swept(Sizes::default()).into_iter().flatten().chain(variants) {
                for place in [place, place.plain()] {
                    bench(&options, &place).unwrap_or_else(|error| panic!("{scale}: {error}"));
                }
            }
        }
    }
}
