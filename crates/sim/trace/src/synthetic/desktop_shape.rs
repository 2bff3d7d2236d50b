//! The structure of `desktop-ntfs` below its published statistics.
//!
//! Protects: in every shape, 63 % of the writes have 1 to 8 sectors, 68 % of these are random, 80 % of the writes of 8
//! sectors are, and 20 % of the longer ones.

use super::desktop_layout::BLOCK_PAGES;
use super::desktop_ntfs::{COLD, HOT, WARM, WriteRun};
use super::parameters::SyntheticError;

/// Runs of all kinds.
const ALL_RUNS: u32 = 10_000;
/// Runs of one small write, which are random: with the others they give 63 % small writes, and 68 % of them random.
const SINGLE_RUNS: f64 = 7_524.0;
/// Runs of several small writes.
const SMALL_RUNS: u32 = 1_003;
/// Single writes of whole pages for each run of temporary pages: 80 % of the writes of 8 sectors are random.
const WHOLE_PER_TEMPORARY: f64 = 15.0;
/// Share of the hot pages among single writes that are not lone.
const HOT_SHARE: f64 = 55.0 / 95.0;
/// Sizes of writes longer than a page, and their shares of those that are not the longest.
const LONG_SIZES: [(u32, f64); 4] = [(16, 0.5), (24, 0.15), (32, 0.2), (64, 0.15)];
/// The largest transfer of that system, sectors.
const LONGEST: u32 = 128;

/// Properties of the laptop behind `desktop-ntfs` that were not published. The published statistics hold for every
/// shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DesktopShape {
    /// Share of the single small writes that go to a page of their own, anywhere on the drive; 0 to 1.
    pub lone_share: f64,
    /// Warm pages, which are written now and then; 1 to 100,000.
    pub warm_pages: f64,
    /// Warm pages of a block of 512 KiB, on average; 1 to 80.
    pub warm_pages_per_block: f64,
    /// Share of the single small writes that are shorter than a page; 0 to 1.
    pub part_share: f64,
    /// Share of the long files that begin anywhere, instead of where the last one ended; 0 to 1.
    pub scattered_share: f64,
    /// Share of the long writes that have 64 KiB; 0 to 1.
    pub longest_share: f64,
}

impl Default for DesktopShape {
    /// The shape of `desktop-ntfs`.
    fn default() -> Self {
        Self {
            lone_share: 0.05,
            warm_pages: 480.0,
            warm_pages_per_block: 24.0,
            part_share: 0.25,
            scattered_share: 0.0,
            longest_share: 0.2,
        }
    }
}

/// Distributions that a generator draws from: names and weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Draws {
    /// Runs of writes.
    pub runs: [(WriteRun, u32); 5],
    /// Places of single small writes.
    pub places: [(u32, u32); 3],
    /// Sizes of long writes, sectors.
    pub long_sizes: [(u32, u32); 5],
    /// Share of the long files that begin anywhere.
    pub scattered_share: f64,
}

impl DesktopShape {
    /// Refuses values outside of their ranges.
    pub(super) fn check(&self, workload: &'static str) -> Result<(), SyntheticError> {
        let share = (0.0, 1.0);
        for (parameter, value, (low, high)) in [
            ("lone_share", self.lone_share, share),
            ("warm_pages", self.warm_pages, (1.0, 100_000.0)),
            ("warm_pages_per_block", self.warm_pages_per_block, (1.0, 80.0)),
            ("part_share", self.part_share, share),
            ("scattered_share", self.scattered_share, share),
            ("longest_share", self.longest_share, share),
        ] {
            if !(low..=high).contains(&value) {
                let (value, limit) = (value.to_string(), format!("{low} to {high}"));
                let remedy = "choose a value inside the range";
                return Err(SyntheticError::OutOfRange { workload, parameter, value, limit, remedy });
            }
        }
        Ok(())
    }

    /// Blocks that hold warm pages, on a drive large enough.
    pub(super) fn warm_blocks(&self) -> u64 {
        libm::round(self.warm_pages / self.warm_pages_per_block).max(1.0) as u64
    }

    /// The fewest and the most warm pages of a block: two and four thirds of the average.
    pub(super) fn warm_range(&self) -> (u64, u64) {
        let third = self.warm_pages_per_block / 3.0;
        (libm::round(2.0 * third).max(1.0) as u64, (libm::round(4.0 * third) as u64).clamp(1, BLOCK_PAGES - 1))
    }

    /// Weights of everything that is drawn.
    pub(super) fn draws(&self) -> Draws {
        let part = libm::round(SINGLE_RUNS * self.part_share) as u32;
        let whole = SINGLE_RUNS as u32 - part;
        let temporary = libm::round(f64::from(whole) / WHOLE_PER_TEMPORARY) as u32;
        let long = ALL_RUNS - SINGLE_RUNS as u32 - SMALL_RUNS;
        let weight = |share: f64| libm::round(10_000.0 * share) as u32;
        let lone = weight(self.lone_share);
        let hot = libm::round(f64::from(10_000 - lone) * HOT_SHARE) as u32;
        let [a, b, c, d] = LONG_SIZES.map(|(sectors, share)| (sectors, weight(share * (1.0 - self.longest_share))));
        Draws {
            runs: [
                (WriteRun::WholePage, whole),
                (WriteRun::PartOfPage, part),
                (WriteRun::LogRecords, SMALL_RUNS - temporary),
                (WriteRun::TemporaryPages, temporary),
                (WriteRun::LongFile, long),
            ],
            places: [(HOT, hot), (WARM, 10_000 - lone - hot), (COLD, lone)],
            long_sizes: [a, b, c, d, (LONGEST, weight(self.longest_share))],
            scattered_share: self.scattered_share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::desktop_ntfs::shaped;
    use super::super::parameters::WorkloadParameters;
    use super::super::profile::Profile;
    use super::*;
    use engine::random::Stream;

    /// The weights that the generator had before its shape could be chosen.
    #[test]
    fn the_default_shape_draws_the_requests_it_always_drew() {
        let draws = DesktopShape::default().draws();
        assert_eq!(draws.runs.map(|(_, weight)| weight), [5_643, 1_881, 627, 376, 1_473]);
        assert_eq!(draws.places.map(|(_, weight)| weight), [5_500, 4_000, 500]);
        assert_eq!(draws.long_sizes.map(|(_, weight)| weight), [4_000, 1_200, 1_600, 1_200, 2_000]);
        assert_eq!((DesktopShape::default().warm_blocks(), DesktopShape::default().warm_range()), (20, (16, 32)));
    }

    #[test]
    fn the_published_statistics_hold_for_every_shape() {
        let mut random = Stream::new(1, "shapes");
        for _ in 0..20 {
            let mut between = |low: f64, high: f64| low + random.unit() * (high - low);
            let shape = DesktopShape {
                lone_share: between(0.0, 0.2),
                warm_pages: between(1.0, 5_000.0),
                warm_pages_per_block: between(1.0, 80.0),
                part_share: between(0.0, 0.8),
                scattered_share: between(0.0, 1.0),
                longest_share: between(0.0, 1.0),
            };
            let parameters = WorkloadParameters::new(20 << 21, 100_000);
            let mut workload = shaped(&parameters, shape).unwrap();
            let mut requests = Vec::new();
            workload.next_batch(&mut requests, 100_000).unwrap();
            let profile = Profile::of(&requests);
            for (found, published) in [
                (profile.small_write_share, 0.63),
                (profile.small_write_random_share, 0.68),
                (profile.page_write_random_share, 0.80),
                (profile.large_write_random_share, 0.20),
            ] {
                assert!((found - published).abs() < 0.03, "{found} is not {published}: {shape:?}");
            }
        }
    }

    #[test]
    fn a_value_out_of_its_range_is_named() {
        let shape = DesktopShape { part_share: 1.5, ..DesktopShape::default() };
        let refused = shaped(&WorkloadParameters::new(20 << 21, 1), shape).err().unwrap().to_string();
        assert!(refused.contains("part_share = 1.5"), "{refused}");
    }
}
