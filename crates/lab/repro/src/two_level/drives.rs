//! The drives of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;

/// Buffer sizes, MiB: 8 for logical blocks and 1 to 64 for pages.
pub const SIZES: [u64; 9] = [9, 10, 12, 16, 20, 24, 40, 56, 72];
/// Sizes of the rows in a draw of a family.
pub const DRAWN_SIZES: [u64; 5] = [9, 16, RECORD, 40, 72];
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

/// Pages of a block.
pub const BLOCK_PAGES: u64 = 128;

// Buffers by their names in the study's table, which has their settings.

/// The drive without a buffer.
pub const NFTL: &str = "NFTL";
/// The buffer that the publication proposes.
pub const TWO_LEVEL: &str = "Two-level";
/// The same with twice the part for blocks.
pub const WIDE: &str = "Two-level, 16 MB for blocks";
/// The same, but a page leaves alone.
pub const VICTIM_ONLY: &str = "Two-level, a page leaves alone";
/// The same, but blocks take room for the pages they have.
pub const TWO_LEVEL_PAGES: &str = "Two-level, by pages";
/// The block buffer that completes every block.
pub const BLOCK_LRU: &str = "Block LRU";
/// The same with room by pages.
pub const BLOCK_LRU_PAGES: &str = "Block LRU, by pages";
/// The studied block part alone.
pub const BLOCK_ONLY: &str = "Block-only";
/// The same with room by pages.
pub const BLOCK_ONLY_PAGES: &str = "Block-only, by pages";
/// The studied page part alone.
pub const PAGE_ONLY: &str = "Page-only";
/// The studied buffer with other ways to tell random writes.
pub const IDENTIFIED: [&str; 2] = ["Two-level, hash counters", "Two-level, two lists"];
/// A descendant of the studied buffer.
pub const CBM: &str = "CBM";
/// Buffers of other publications.
pub const OTHERS: [&str; 4] = ["FAB", "LB-CLOCK", "CFLRU", CBM];

/// A drive: buffer by name and size, log blocks, limit of a small request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the buffer.
    pub variant: &'static str,
    /// Size of the buffer, MiB; 0 where there is none.
    pub mib: u64,
    /// Log blocks of the drive.
    pub logs: u64,
    /// Largest request that counts as small, sectors.
    pub limit: u64,
}

impl Place {
    /// Its name in messages.
    pub fn name(&self) -> String {
        format!("{}, {} MB, {} log blocks, limit {}", self.variant, self.mib, self.logs, self.limit)
    }
}

/// The number of log blocks of record.
pub fn logs_of_record(options: &Options) -> u64 {
    options.drawn("ftl.log.blocks", TARGETS.chosen_number(options, "log-blocks")) as u64
}

/// Whether drives are written once before anything is counted.
pub fn starts_filled(options: &Options) -> bool {
    TARGETS.chosen(options, "state") == "filled"
}

/// The drive of a place.
/// Errors: none with the places of the study.
pub fn bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    with_settings(options, place, &["every drive", place.variant])
}

/// The same drive of flash with blocks of 128 KB, which the publication about installations has.
pub fn small_block_bench(options: &Options, place: &Place) -> Result<Bench, StudyError> {
    with_settings(options, place, &["every drive", place.variant, "an installation"])
}

fn with_settings(options: &Options, place: &Place, drives: &[&str]) -> Result<Bench, StudyError> {
    let mut further = vec![("ftl.log.blocks", place.logs.to_string())];
    if place.variant != NFTL {
        further.push(("buffer.size", format!("{}MiB", place.mib)));
        further.push(("buffer.small_request", format!("{}B", place.limit * 512)));
    }
    further.extend(options.drawn_settings());
    TARGETS.bench(options, &place.name(), drives, further)
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
