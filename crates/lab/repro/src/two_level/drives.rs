//! The drives of the study.

use super::{LOG_BLOCKS, STATE};
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;

/// Buffer sizes, MiB: 8 for logical blocks and 1 to 64 for pages.
pub const SIZES: [u64; 9] = [9, 10, 12, 16, 20, 24, 40, 56, 72];
/// The size of record.
pub const RECORD: u64 = 24;
/// Sizes whose page part beside 16 MiB for blocks is small, or large.
pub const SMALL_PAGE_PART: u64 = 17;
/// Sizes whose page part beside 16 MiB for blocks is large.
pub const LARGE_PAGE_PARTS: [u64; 2] = [56, 72];
/// Limits of a small request, sectors.
pub const LIMITS: [u64; 6] = [4, 8, 16, 32, 64, 128];
/// The limit of record.
pub const LIMIT: u64 = 8;
/// Numbers of log blocks. The largest is all that fits.
pub const LOGS: [u64; 4] = [2046, 1024, 256, 64];

const USER_BYTES: u64 = 20 << 30;
/// Pages of a block.
pub const BLOCK_PAGES: u64 = 128;

/// A buffer over the log-block mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    kind: &'static str,
    /// MiB of the part for logical blocks, where it has two parts.
    block_part: Option<u64>,
    settings: &'static [(&'static str, &'static str)],
}

/// Index of the drive without a buffer.
pub const NFTL: usize = 0;
/// Index of the studied buffer.
pub const TWO_LEVEL: usize = 1;
/// The same with twice the part for blocks.
pub const WIDE: usize = 2;
/// The same, but a page leaves alone.
pub const VICTIM_ONLY: usize = 3;
/// The same, but blocks take room for the pages they have.
pub const TWO_LEVEL_PAGES: usize = 4;
/// Index of the block buffer that completes every block.
pub const BLOCK_LRU: usize = 5;
/// The same with room by pages.
pub const BLOCK_LRU_PAGES: usize = 6;
/// Index of the studied block part alone.
pub const BLOCK_ONLY: usize = 7;
/// The same with room by pages.
pub const BLOCK_ONLY_PAGES: usize = 8;
/// Index of the studied page part alone.
pub const PAGE_ONLY: usize = 9;
/// The studied buffer with other ways to tell random writes.
pub const IDENTIFIED: [usize; 2] = [10, 11];
/// Buffers of other publications.
pub const OTHERS: [usize; 4] = [12, 13, 14, CBM];
/// Index of a descendant of the studied buffer.
pub const CBM: usize = 15;

const FRAMES: (&str, &str) = ("buffer.accounting", "frames");
const PAGES: (&str, &str) = ("buffer.accounting", "pages");

const fn two_level(name: &'static str, block_part: u64, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, kind: "two-level", block_part: Some(block_part), settings }
}

const fn one_part(
    name: &'static str,
    kind: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> Variant {
    Variant { name, kind, block_part: None, settings }
}

/// All buffers that are run.
pub const VARIANTS: [Variant; 16] = [
    one_part("NFTL", "none", &[]),
    two_level("Two-level", 8, &[]),
    two_level("Two-level, 16 MB for blocks", 16, &[]),
    two_level("Two-level, a page leaves alone", 8, &[("buffer.flush_unit", "page")]),
    two_level("Two-level, by pages", 8, &[PAGES]),
    one_part("Block LRU", "block-lru", &[FRAMES]),
    one_part("Block LRU, by pages", "block-lru", &[PAGES]),
    one_part("Block-only", "block-only", &[FRAMES]),
    one_part("Block-only, by pages", "block-only", &[PAGES]),
    one_part("Page-only", "page-only", &[]),
    two_level("Two-level, hash counters", 8, &[("buffer.identify", "hash-counters")]),
    two_level("Two-level, two lists", 8, &[("buffer.identify", "two-lists")]),
    one_part("FAB", "fab", &[]),
    one_part("LB-CLOCK", "lb-clock", &[]),
    one_part("CFLRU", "cflru", &[]),
    one_part("CBM", "cbm", &[]),
];

/// A drive: buffer by index and size, log blocks, limit of a small request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`VARIANTS`].
    pub variant: usize,
    /// Size of the buffer, MiB; 0 where there is none.
    pub mib: u64,
    /// Log blocks of the drive.
    pub logs: u64,
    /// Largest request that counts as small, sectors.
    pub limit: u64,
}

impl Place {
    /// What it is called in messages.
    pub fn name(&self) -> String {
        format!("{}, {} MB, {} log blocks, limit {}", VARIANTS[self.variant].name, self.mib, self.logs, self.limit)
    }
}

/// The number of log blocks of record.
pub fn logs_of_record(options: &Options) -> u64 {
    options.setting(&LOG_BLOCKS).parse().expect("the choices are numbers")
}

/// Whether drives are written once before anything is counted.
pub fn starts_filled(options: &Options) -> bool {
    options.setting(&STATE) == "filled"
}

/// The drive of a place.
/// Errors: none with the places of the study.
pub fn bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    with_part(options, place, "mlc-4k")
}

/// The same drive of flash with blocks of 128 KB, which the publication about installations has.
pub fn small_block_bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    with_part(options, place, "slc-2k")
}

fn with_part(options: &Options, place: &Place, part: &str) -> Result<Bench, StudyError> {
    let variant = &VARIANTS[place.variant];
    let mut settings = vec![
        ("drive.capacity", format!("{USER_BYTES}B")),
        // 21 GB of flash for 20 GB.
        ("drive.over_provisioning", "5%".to_owned()),
        ("flash.part", part.to_owned()),
        ("flash.channels", "1".to_owned()),
        ("flash.dies_per_channel", "1".to_owned()),
        ("engine.seed", options.seed.to_string()),
        ("ftl.kind", "bast".to_owned()),
        ("ftl.log.blocks", place.logs.to_string()),
        // The publication knows switch and merge only.
        ("ftl.log.partial_merge", "false".to_owned()),
        ("buffer.kind", variant.kind.to_owned()),
    ];
    if place.variant != NFTL {
        settings.push(("buffer.size", format!("{}MiB", place.mib)));
        settings.push(("buffer.small_request", format!("{}B", place.limit * 512)));
    }
    if let Some(part) = variant.block_part {
        settings.push(("buffer.block_buffer", format!("{part}MiB")));
    }
    settings.extend(variant.settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
    Bench::new(&place.name(), &settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_drive_has_21_gb_of_flash_and_2048_spare_blocks() {
        let place = Place { variant: NFTL, mib: 0, logs: LOGS[0], limit: LIMIT };
        let bench = bench(&Options::default(), &place).unwrap();
        assert_eq!(bench.flash_pages() * 4096, 21 << 30);
        assert_eq!((bench.flash_pages() * 8 - bench.sectors()) / 8 / BLOCK_PAGES, LOGS[0] + 2);
    }
}
