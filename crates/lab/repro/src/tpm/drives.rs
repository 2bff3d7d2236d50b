//! The drives of the study.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;
use units::quantity;

/// Cache sizes, KiB.
pub const CACHES: [u64; 4] = [128, 256, 512, 1024];
/// Index of the size all but the hit ratios are published for.
pub const PUBLISHED_CACHE: usize = 2;

/// Indices of all sizes.
pub const ALL_CACHES: [usize; CACHES.len()] = [0, 1, 2, 3];
/// Indices of the sizes that a draw of a family is run with.
pub const DRAWN_CACHES: [usize; 3] = [0, PUBLISHED_CACHE, 3];

/// Pages of 32 GB of flash.
const FLASH_PAGES: u64 = (32 << 30) / PAGE_BYTES;
const PAGE_BYTES: u64 = 2048;
const PAGES_PER_BLOCK: u64 = 64;
/// Share of the flash that a small log takes, %.
const SMALL_LOG_PERCENT: u64 = 3;
/// Smallest cache of the drive for uniform traffic.
const LEAST_CACHE_BYTES: u64 = 4 * PAGE_BYTES;
/// Map entries of a translation page.
const ENTRIES: u64 = PAGE_BYTES / 4;

/// Index of the studied mapping.
pub const TPM: usize = 0;
/// Index of the mapping it is compared with: DFTL with segmented LRU and batch updates.
pub const DFTL: usize = 1;
/// Index of a later mapping, compared with DFTL in rows of its own.
pub const LEAFTL: usize = 5;
/// Index of a hybrid mapping, compared with DFTL in rows of its own.
pub const FAST: usize = 6;
/// Index of the same hybrid mapping with a log of [`SMALL_LOG_PERCENT`].
pub const FAST_SMALL_LOG: usize = 7;
/// The later mapping behind the buffer that sorts pages by their logical addresses, and the mapping it is compared
/// with.
pub const LEAFTL_SORTED: usize = 8;
pub const DFTL_SORTED: usize = 9;
/// The mappings of the study itself: the studied one, and the variants of DFTL.
pub const STUDIED: std::ops::Range<usize> = TPM..LEAFTL;

/// All mappings that are run, by their names in the study's file, which has their settings.
pub const VARIANTS: [&str; 10] = [
    "TPM",
    "DFTL",
    "DFTL, single updates",
    "DFTL, by age",
    "DFTL, by age, single updates",
    "LeaFTL",
    "FAST",
    "FAST, log of 3 %",
    "LeaFTL, sorted",
    "DFTL, sorted",
];

/// Bytes of the buffer that sorts pages at full size, as the public simulator of its publication has.
const BUFFER_BYTES: u64 = 8 << 20;

/// Pages the user sees of `flash` pages, in whole translation pages.
fn user_pages(flash: u64, reserve: &str) -> u64 {
    let pages = match reserve {
        "user" => flash * 100 / 115,
        _ => flash * 85 / 100,
    };
    pages / ENTRIES * ENTRIES
}

/// Spare flash as a share of the user's bytes, in percent. Rounded down, so that rounding up to whole
/// blocks gives exactly the flash that was meant.
fn over_provisioning(flash: u64, user: u64) -> String {
    let percent = (flash as f64 / user as f64 - 1.0) * 100.0;
    format!("{:.7}%", (percent * 1e7).floor() / 1e7)
}

/// The drive with a mapping and a cache of one of the published sizes.
/// Errors: the scale leaves too little flash.
pub fn bench(options: &Options, variant: &str, cache: usize) -> Result<Bench, StudyError> {
    with_cache(options, variant, CACHES[cache] << 10)
}

/// The drive for uniform traffic, whose cache shrinks with the drive: it serves no streams, only a share
/// of the map. No mapping can do with less than a few translation pages.
/// Errors: the scale leaves too little flash.
pub fn uniform_bench(options: &Options, variant: &str) -> Result<Bench, StudyError> {
    with_cache(options, variant, options.scale.of(CACHES[PUBLISHED_CACHE] << 10).max(LEAST_CACHE_BYTES))
}

fn with_cache(options: &Options, variant: &str, cache_bytes: u64) -> Result<Bench, StudyError> {
    let flash = options.scale.of(FLASH_PAGES);
    let user = user_pages(flash, TARGETS.chosen(options, "reserve"));
    let mut further = vec![
        ("drive.capacity", format!("{}B", user * PAGE_BYTES)),
        ("drive.over_provisioning", over_provisioning(flash, user)),
        ("ftl.map_cache", format!("{cache_bytes}B")),
        ("ftl.map_cache_covers", TARGETS.chosen(options, "memory").to_owned()),
    ];
    if variant == VARIANTS[FAST_SMALL_LOG] {
        let blocks = flash / PAGES_PER_BLOCK * SMALL_LOG_PERCENT / 100;
        further.push(("ftl.log.blocks", blocks.max(1).to_string()));
    }
    if [LEAFTL_SORTED, DFTL_SORTED].map(|sorted| VARIANTS[sorted]).contains(&variant) {
        further.push(("buffer.size", format!("{}B", options.scale.of(BUFFER_BYTES))));
    }
    further.extend(options.drawn_settings());
    let name = format!("{variant} with {} of cache", quantity::format_size(cache_bytes));
    TARGETS.bench(options, &name, &["every drive", TARGETS.chosen(options, "service"), variant], further)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Scale;

    #[test]
    fn the_published_drive_has_exactly_32_gb_of_flash() {
        for (reserve, user_gb) in [("flash", 27.2), ("user", 27.83)] {
            let mut options = Options { scale: Scale::FULL, ..Options::default() };
            options.settings.insert("reserve".to_owned(), reserve.to_owned());
            let bench = bench(&options, VARIANTS[TPM], PUBLISHED_CACHE).unwrap();
            assert_eq!(bench.flash_pages(), 16_777_216);
            let user = bench.sectors() as f64 * 512.0 / (1_u64 << 30) as f64;
            assert!((user - user_gb).abs() < 0.01, "{user} GB");
        }
    }

    #[test]
    fn every_drive_can_be_built_at_every_size() {
        for scale in ["1/4", "1/64", "1/256", "1/4096"] {
            let options = Options { scale: Scale::parse(scale).unwrap(), ..Options::default() };
            for variant in VARIANTS {
                (0..CACHES.len()).for_each(|cache| {
                    bench(&options, variant, cache).unwrap_or_else(|error| panic!("{scale}: {error}"));
                });
                uniform_bench(&options, variant).unwrap_or_else(|error| panic!("{scale}: {error}"));
            }
        }
    }
}
