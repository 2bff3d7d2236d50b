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

/// A mapping with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

/// Index of the studied mapping.
pub const TPM: usize = 0;
/// Index of what it is compared with: DFTL with segmented LRU and batch updates.
pub const DFTL: usize = 1;
/// Index of a later mapping, compared with DFTL in rows of its own.
pub const LEAFTL: usize = 5;
/// Index of a hybrid mapping, compared with DFTL in rows of its own.
pub const FAST: usize = 6;
/// Index of the same hybrid mapping with a log of [`SMALL_LOG_PERCENT`].
pub const FAST_SMALL_LOG: usize = 7;
/// The mappings of the study itself: the studied one, and the variants of DFTL.
pub const STUDIED: std::ops::Range<usize> = TPM..LEAFTL;

/// All mappings that are run.
pub const VARIANTS: [Variant; 8] = [
    Variant { name: "TPM", settings: &[("ftl.kind", "tpm")] },
    dftl("DFTL", &[KIND, SHARED, ("ftl.dftl.replacement", "slru"), ("ftl.dftl.batch_update", "true")]),
    dftl("DFTL, single updates", &[KIND, SHARED, ("ftl.dftl.replacement", "slru"), ("ftl.dftl.batch_update", "false")]),
    dftl("DFTL, by age", &[KIND, SHARED, ("ftl.dftl.replacement", "flashsim-age"), ("ftl.dftl.batch_update", "true")]),
    dftl(
        "DFTL, by age, single updates",
        &[KIND, SHARED, ("ftl.dftl.replacement", "flashsim-age"), ("ftl.dftl.batch_update", "false")],
    ),
    // As much error as its authors allow without a cost worth naming.
    Variant { name: "LeaFTL", settings: &[("ftl.kind", "leaftl"), SHARED, ("ftl.leaftl.error_bound", "4")] },
    // All spare blocks are its log.
    Variant { name: "FAST", settings: &[("ftl.kind", "fast")] },
    Variant { name: "FAST, log of 3 %", settings: &[("ftl.kind", "fast")] },
];

const KIND: (&str, &str) = ("ftl.kind", "dftl");
/// DFTL copies the pages it collects to its one current data block.
const SHARED: (&str, &str) = ("ftl.gc.frontier", "shared");

const fn dftl(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, settings }
}

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
pub fn bench(options: &Options, variant: &Variant, cache: usize) -> Result<Bench, StudyError> {
    with_cache(options, variant, CACHES[cache] << 10)
}

/// The drive for uniform traffic, whose cache shrinks with the drive: it serves no streams, only a share
/// of the map. No mapping can do with less than a few translation pages.
/// Errors: the scale leaves too little flash.
pub fn uniform_bench(options: &Options, variant: &Variant) -> Result<Bench, StudyError> {
    with_cache(options, variant, options.scale.of(CACHES[PUBLISHED_CACHE] << 10).max(LEAST_CACHE_BYTES))
}

fn with_cache(options: &Options, variant: &Variant, cache_bytes: u64) -> Result<Bench, StudyError> {
    let flash = options.scale.of(FLASH_PAGES);
    let user = user_pages(flash, TARGETS.chosen(options, "reserve"));
    let serial = TARGETS.chosen(options, "service") == "serial";
    // One server has no use for several dies, and its free blocks are one pool.
    let (channels, dies) = if serial { (1, 1) } else { (8, 2) };
    let mut settings = vec![
        ("drive.capacity", format!("{}B", user * PAGE_BYTES)),
        ("drive.over_provisioning", over_provisioning(flash, user)),
        ("flash.part", "slc-2k-serial".to_owned()),
        ("flash.channels", channels.to_string()),
        ("flash.dies_per_channel", dies.to_string()),
        ("engine.seed", options.seed.to_string()),
        ("engine.service", TARGETS.chosen(options, "service").to_owned()),
        ("ftl.gc.free_blocks", "3".to_owned()),
        ("ftl.map_cache", format!("{cache_bytes}B")),
        ("ftl.map_cache_covers", TARGETS.chosen(options, "memory").to_owned()),
        ("ftl.translation.write_pointers", "one".to_owned()),
    ];
    if *variant == VARIANTS[FAST_SMALL_LOG] {
        let blocks = flash / PAGES_PER_BLOCK * SMALL_LOG_PERCENT / 100;
        settings.push(("ftl.log.blocks", blocks.max(1).to_string()));
    }
    settings.extend(variant.settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
    Bench::new(&format!("{} with {} of cache", variant.name, quantity::format_size(cache_bytes)), &settings)
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
            let bench = bench(&options, &VARIANTS[TPM], PUBLISHED_CACHE).unwrap();
            assert_eq!(bench.flash_pages(), 16_777_216);
            let user = bench.sectors() as f64 * 512.0 / (1_u64 << 30) as f64;
            assert!((user - user_gb).abs() < 0.01, "{user} GB");
        }
    }

    #[test]
    fn every_drive_can_be_built_at_every_size() {
        for scale in ["1/4", "1/64", "1/256", "1/4096"] {
            let options = Options { scale: Scale::parse(scale).unwrap(), ..Options::default() };
            for variant in &VARIANTS {
                (0..CACHES.len()).for_each(|cache| {
                    bench(&options, variant, cache).unwrap_or_else(|error| panic!("{scale}: {error}"));
                });
                uniform_bench(&options, variant).unwrap_or_else(|error| panic!("{scale}: {error}"));
            }
        }
    }
}
