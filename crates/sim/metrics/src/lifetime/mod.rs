//! How long a drive lives: from the wear of a measured window to the writes it takes until it is worn out.
//!
//! ```text
//!  erases of each block at the beginning, middle and end of the window, erases over host bytes
//!      -> rate with its error, spread between blocks that lasts, spread that is chance
//!      -> blocks worn out after x bytes of host writes
//!      -> earliest (no block is worn out yet) <= estimate (spare blocks are used up) <= latest (every block is)
//! ```
//! Faithful to: a block survives `endurance` erases and fails the next one, as in `nand`. A drive cannot end before its
//! first block is worn out, and not after all of them are: these are the ends of the interval, widened by the error of
//! the rate (two-sided 95 % over batches of the window, and 5 % for what "steady" leaves open). A window whose halves
//! differ in their rate is none of a steady drive: then the second half counts, and how far its own halves differ
//! widens the interval. Whether blocks differ for good or by chance is read off the two halves of the window:
//! differences in which both halves agree (their covariance) last; the rest is a random walk. Simplified: the workload
//! goes on as it was in the window; blocks that wear faster in it do so for life (for `earliest` and the estimate: data
//! that changes its place later only lengthens life); copies grow as spare space shrinks in proportion to its inverse
//! (for the estimate); blocks that fail by chance, wear of RAM and NVRAM are left out. Protects: `earliest <= estimate
//! <= latest`, and a window in which next to nothing was erased has no answer.

mod error;
mod pace;
mod spread;

use serde::{Deserialize, Serialize};
use units::{CAUSES, Cause, DIE_CAUSES};

pub use self::error::LifetimeError;
pub use self::pace::Pace;
use self::spread::Spread;

/// Fewest erases of the average block in a window that says something.
const ERASES_MIN: f64 = 1.0;
/// Fewest blocks whose spread says something.
const BLOCKS_MIN: usize = 16;
/// A drive whose live data grow by more than this share of its capacity from one quarter of a window to the next will
/// copy more than it did.
const FILLING_MAX: f64 = 0.01;
/// Chance that a block is worn out already at the early end of the interval.
const CHANCE_EARLY: f64 = 0.05;
/// Pieces in which the time of dying blocks is added up.
const PIECES: usize = 256;

/// The wear of a measured run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WearWindow {
    /// Erases of each block that is not bad since the drive was made: at the beginning, about after each quarter of the
    /// erases, and at the end.
    pub erases: Vec<[u32; 5]>,
    /// Samples at steps through the window.
    pub steps: Vec<WearStep>,
    /// Bytes the host sees.
    pub capacity_bytes: u64,
    /// Bytes of all flash, bad blocks included, without out-of-band areas.
    pub flash_bytes: u64,
    /// Pages of flash that hold neither data nor parity, as the result counts pages.
    pub spare_pages: u64,
    /// Bytes of a block (of a group of blocks, where chips act as one).
    pub block_bytes: u64,
    /// Bytes of valid pages, including parity and maps: the largest value at a step of the second half, or at the end.
    pub live_bytes: u64,
    /// Time over which requests arrived at their own time, the mean distance after the last one included, ns; nothing
    /// in a closed loop.
    pub arrivals_ns: Option<f64>,
    /// How many times larger the drive is that this stands for (`drive.scale`); 0 is 1.
    pub scale: u64,
    /// The workload is a trace that writes many pages once: repeated in the same order, it would wear the drive less
    /// than a load does.
    pub writes_once: bool,
    /// Of a trace that ran several times: how often, and the share of the drive that one pass touches.
    pub passes: Option<(u64, f64)>,
}

impl WearWindow {
    /// So many bytes of this drive are as many of the one that it stands for.
    pub fn whole(&self, bytes: u64) -> u64 {
        bytes * self.scale.max(1)
    }
}

/// A step through a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WearStep {
    /// Bytes the host had written since the beginning.
    pub host_bytes: u64,
    /// Erases of all blocks since the beginning.
    pub erases: u64,
    /// Bytes of valid pages.
    pub live_bytes: u64,
}

impl WearWindow {
    /// How much more live data the last quarter of the window had at most than the third, as a share of the capacity.
    fn filling(&self) -> f64 {
        let (half, last) = (self.steps.len() / 2, self.steps.len() * 3 / 4);
        let most = |steps: &[WearStep]| steps.iter().map(|step| step.live_bytes).max().map(|most| most as f64);
        let quarters = (most(&self.steps[half..last]), most(&self.steps[last..]));
        if let (Some(before), Some(after)) = quarters { (after - before) / self.capacity_bytes as f64 } else { 0.0 }
    }

    /// Erases of each block within the window.
    pub fn worn(&self) -> impl Iterator<Item = u32> + '_ {
        self.erases.iter().map(|[before, .., after]| after - before)
    }

    /// Erases of the average block within the window.
    pub fn mean(&self) -> f64 {
        self.worn().map(f64::from).sum::<f64>() / self.erases.len().max(1) as f64
    }
}

/// When a life begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// With a new drive, whose blocks were never erased: the wear of preconditioning does not count.
    New,
    /// With the measured run: what preconditioning wore is gone.
    Window,
}

/// The inputs of a life.
#[derive(Clone, Copy, Debug)]
pub struct Wearing<'a> {
    /// Wear during the run.
    pub window: &'a WearWindow,
    /// Bytes the host wrote in it.
    pub host_bytes: u64,
    /// Flash programs in it by cause.
    pub programs: &'a [u64; DIE_CAUSES],
    /// Flash erases in it, and pages of a block: pages erased without having been programmed are a cause of their own.
    pub erased_pages: u64,
    /// Erases a block survives; not 0.
    pub endurance: u32,
    /// From which moment the life is counted.
    pub origin: Origin,
}

/// An amount with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end of the interval of the estimate.
    pub earliest: f64,
    /// The most likely value.
    pub estimate: f64,
    /// Upper end of the interval of the estimate.
    pub latest: f64,
}

impl Range {
    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { earliest: self.earliest * factor, estimate: self.estimate * factor, latest: self.latest * factor }
    }

    /// With ends that are so many times farther out: something that it is proportional to is known within this factor.
    #[must_use]
    pub fn within(self, factor: f64) -> Self {
        Self { earliest: self.earliest / factor, latest: self.latest * factor, ..self }
    }

    /// `amount` divided by this range, end by end: a price spread over years.
    #[must_use]
    pub fn dividing(self, amount: f64) -> Self {
        Self { earliest: amount / self.earliest, estimate: amount / self.estimate, latest: amount / self.latest }
    }
}

/// The share of a life that a cause takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its name: a cause of flash commands, or `unfilled`: pages erased without having been programmed.
    pub cause: &'static str,
    pub pages: u64,
    /// Share of the life it takes.
    pub share: f64,
    /// Host bytes that could be written more if it did not exist and nothing else changed; nothing for the host's own
    /// pages.
    pub gained: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lifetime {
    /// Host bytes until the drive is worn out.
    pub bytes: Range,
    /// Host bytes until the average block is worn out, without the error of the rate: the value under perfectly even
    /// wear.
    pub even_bytes: f64,
    /// Erases over host bytes.
    pub pace: Pace,
    /// Standard deviation of the blocks' erases in the window, as a share of their mean.
    pub spread: f64,
    /// Share of the variance between blocks that lasts; the rest is chance.
    pub lasting: f64,
    /// Whether blocks were still drifting apart: then `spread` and `lasting` come from the second half of the window.
    pub is_drifting: bool,
    /// Blocks that live data could do without.
    pub spare_blocks: f64,
    /// The causes of wear, largest first.
    pub causes: Vec<Share>,
    projection: Projection,
}

/// Wear of the blocks after a number of erases of the average one.
#[derive(Clone, Debug, PartialEq)]
struct Projection {
    /// Blocks that are not bad.
    blocks: Vec<Block>,
    /// Erases of the average block in the window.
    mean: f64,
    /// Share of the variance that lasts.
    lasting: f64,
    /// Variance by chance for each erase of the average block.
    chance: f64,
}

/// A block from the beginning of a window on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    /// Erases in the window.
    worn: f64,
    /// Erases that a block survives.
    limit: f64,
    /// How often it was erased of late, as a share of the average.
    rate: f64,
}

impl Projection {
    /// How often a block is erased from the window on, as a share of the average.
    fn rate(&self, block: &Block) -> f64 {
        1.0 + self.lasting * (block.rate - 1.0)
    }

    /// Erases expected of a block once the average block has `erases`.
    fn wear(&self, block: &Block, erases: f64) -> f64 {
        block.worn + self.rate(block) * (erases - self.mean)
    }

    /// Share of all erases that blocks get which are not expected to be worn out then: the fastest are worn out first.
    fn survivors(&self, erases: f64) -> f64 {
        let sigma = self.sigma(erases);
        let rates =
            self.blocks.iter().map(|block| self.rate(block) * normal((block.limit - self.wear(block, erases)) / sigma));
        rates.sum::<f64>() / self.blocks.len() as f64
    }

    /// Standard deviation by chance of a block's erases then.
    fn sigma(&self, erases: f64) -> f64 {
        (self.chance * (erases - self.mean)).sqrt().max(1e-9)
    }

    /// Blocks expected to be worn out then.
    fn worn_out(&self, erases: f64) -> f64 {
        let sigma = self.sigma(erases);
        self.blocks.iter().map(|block| normal((self.wear(block, erases) - block.limit) / sigma)).sum()
    }

    /// Erases of the average block when `blocks` blocks are worn out; never before the end of the window.
    fn until(&self, blocks: f64) -> f64 {
        let mut high = self.mean * 2.0;
        // If any block has a rate above 0 there is an end; where most blocks never wear there may be none.
        while self.worn_out(high) < blocks && high < 1e15 {
            high *= 2.0;
        }
        let mut low = self.mean;
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.worn_out(middle) < blocks { low = middle } else { high = middle }
        }
        high
    }
}

/// Distribution function of the standard normal variable (Abramowitz and Stegun 26.2.17, error below 10^-7).
fn normal(z: f64) -> f64 {
    if z.abs() > 8.0 {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series;
    if z > 0.0 { 1.0 - tail } else { tail }
}

impl Lifetime {
    /// How long a drive lives that goes on as in the window.
    /// Errors: everything [`LifetimeError`] names.
    pub fn project(wearing: &Wearing<'_>) -> Result<Self, LifetimeError> {
        let window = wearing.window;
        if wearing.host_bytes == 0 {
            return Err(LifetimeError::NoWrites);
        }
        let erases = window.mean();
        if erases <= 0.0 {
            return Err(LifetimeError::NoErases);
        }
        if erases < ERASES_MIN {
            return Err(LifetimeError::TooShort { erases, factor: 2.0 * ERASES_MIN / erases });
        }
        if window.erases.len() < BLOCKS_MIN {
            return Err(LifetimeError::TooFew { blocks: window.erases.len() });
        }
        let grown = window.filling();
        if grown > FILLING_MAX {
            return Err(LifetimeError::Filling { grown });
        }
        let endurance = wearing.endurance;
        let most = window
            .erases
            .iter()
            .map(|[before, .., after]| if wearing.origin == Origin::New { after - before } else { *after });
        match most.max() {
            Some(most) if most >= endurance => return Err(LifetimeError::Worn { most, endurance }),
            _ => {}
        }
        Ok(Self::of_window(wearing, erases, Pace::of(window, wearing.host_bytes)?))
    }

    fn of_window(wearing: &Wearing<'_>, mean: f64, pace: Pace) -> Self {
        let Wearing { window, endurance, origin, .. } = *wearing;
        let limit = |before: u32| f64::from(if origin == Origin::New { endurance } else { endurance - before });
        let (whole, late) = Spread::of(window);
        let projection = |spread: &Spread, lasting: f64| {
            let worn = window.erases.iter().map(|[before, .., after]| (f64::from(after - before), limit(*before)));
            let blocks =
                worn.zip(&spread.rates).map(|((worn, limit), rate)| Block { worn, limit, rate: *rate }).collect();
            Projection { chance: (1.0 - lasting) * spread.variance * spread.mean, blocks, mean, lasting }
        };
        let cautious = |spread: &Spread| projection(spread, spread.cautious()).until(CHANCE_EARLY);
        let first_worn = late.as_ref().map_or(f64::INFINITY, cautious).min(cautious(&whole));
        let spread = late.as_ref().unwrap_or(&whole);
        let likely = projection(spread, spread.likely());
        let blocks = &likely.blocks;
        let even = blocks.iter().map(|block| block.limit).sum::<f64>() / blocks.len() as f64;
        let spare_blocks =
            (blocks.len() as f64 - (window.live_bytes as f64 / window.block_bytes as f64).ceil()).max(1.0);
        let latest = pace.bytes(even, 1.0 / (1.0 + pace.error));
        let earliest = pace.bytes(first_worn, 1.0 + pace.error).min(latest);
        let estimate = pace.bytes(dying(&likely, spare_blocks, wearing.programs), 1.0);
        let bytes = Range { earliest, estimate: estimate.clamp(earliest, latest), latest };
        Self {
            causes: causes(wearing, bytes.estimate),
            bytes,
            even_bytes: pace.bytes(even, 1.0),
            pace,
            spread: spread.variance.sqrt(),
            lasting: likely.lasting,
            is_drifting: late.is_some(),
            spare_blocks,
            projection: likely,
        }
    }

    /// Share of the blocks expected to be worn out after `bytes` of the host, at the window's rate.
    pub fn worn_out(&self, bytes: f64) -> f64 {
        self.projection.worn_out(self.pace.erases(bytes)) / self.projection.blocks.len() as f64
    }

    /// Erases expected of each block at the end of the estimate, in the order of the window; never more than it
    /// survives.
    pub fn wear_at_end(&self) -> impl Iterator<Item = f64> + '_ {
        let erases = self.pace.erases(self.bytes.estimate);
        self.projection.blocks.iter().map(move |block| self.projection.wear(block, erases).min(block.limit))
    }
}

/// Erases of the average block that the host gets out of a drive until `spare` blocks are worn out: the blocks left
/// are erased more often, and copies grow as spare space shrinks.
fn dying(projection: &Projection, spare: f64, programs: &[u64; DIE_CAUSES]) -> f64 {
    let (from, to) = (projection.until(CHANCE_EARLY), projection.until(spare));
    let total = programs.iter().sum::<u64>().max(1) as f64;
    let copies: f64 =
        [Cause::Gc, Cause::Merge, Cause::Wear].iter().map(|cause| programs[cause.index()] as f64 / total).sum();
    let piece = (to - from).max(0.0) / PIECES as f64;
    let gained: f64 = (0..PIECES)
        .map(|index| from + (index as f64 + 0.5) * piece)
        .map(|erases| (projection.survivors(erases), spare - projection.worn_out(erases)))
        .map(|(survivors, left)| piece * survivors / (1.0 - copies + copies * spare / left.max(0.5)))
        .sum();
    from + gained
}

fn causes(wearing: &Wearing<'_>, bytes: f64) -> Vec<Share> {
    let programmed: u64 = wearing.programs.iter().sum();
    let all = wearing.erased_pages.max(programmed).max(1);
    let named = CAUSES.iter().map(|cause| (cause.name(), wearing.programs[cause.index()]));
    let mut found: Vec<Share> = named
        .chain([("unfilled", all - programmed.min(all))])
        .filter(|(_, pages)| *pages > 0)
        .map(|(cause, pages)| {
            let share = pages as f64 / all as f64;
            let gained = (cause != Cause::Host.name() && share < 1.0).then(|| bytes * share / (1.0 - share));
            Share { cause, pages, share, gained }
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

#[cfg(test)]
mod tests {
    use super::pace::UNSTEADY;
    use super::*;

    /// Blocks with these erases in both halves of a window over 1,000 bytes.
    fn window(halves: &[[u32; 2]]) -> WearWindow {
        let row =
            |[first, second]: &[u32; 2]| [5, 5 + first / 2, 5 + first, 5 + first + second / 2, 5 + first + second];
        let erases: Vec<[u32; 5]> = halves.iter().map(row).collect();
        let blocks = erases.len() as u64;
        let sizes = WearWindow {
            capacity_bytes: blocks * 90,
            flash_bytes: blocks * 100,
            block_bytes: 100,
            live_bytes: blocks * 90,
            ..WearWindow::default()
        };
        WearWindow { erases, ..sizes }
    }

    fn life(window: &WearWindow, endurance: u32) -> Lifetime {
        let programs = [0; DIE_CAUSES];
        Lifetime::project(&Wearing {
            window,
            host_bytes: 1000,
            programs: &programs,
            erased_pages: 0,
            endurance,
            origin: Origin::New,
        })
        .unwrap()
    }

    #[test]
    fn even_wear_is_known_to_the_byte() {
        let window = window(&[[5, 5]; 100]);
        let life = life(&window, 1000);
        // Ten erases of each block took 1,000 bytes, which are known; the other 990 have the error of the rate.
        let [earliest, latest] = [life.bytes.earliest, life.bytes.latest].map(|bytes| bytes - 1000.0);
        for bytes in [earliest * (1.0 + UNSTEADY), latest / (1.0 + UNSTEADY), life.even_bytes - 1000.0] {
            assert!((bytes - 99_000.0).abs() < 1.0, "{bytes}");
        }
    }

    #[test]
    fn what_both_halves_agree_in_lasts_and_what_they_do_not_is_chance() {
        let lasting: Vec<[u32; 2]> = (0..200).map(|block| if block % 4 == 0 { [20, 20] } else { [5, 5] }).collect();
        let lasting = life(&window(&lasting), 1000);
        assert!(lasting.lasting > 0.99, "{}", lasting.lasting);
        // The worn quarter of the blocks gets 40 erases for 1,000 bytes, and the drive can do without a tenth.
        assert!((lasting.bytes.estimate / 25_000.0 - 1.0).abs() < 0.02, "{}", lasting.bytes.estimate);
        // Each half has the same spread, and they know nothing of each other.
        let chance: Vec<[u32; 2]> = (0..200).map(|block| [[20, 20], [20, 5], [5, 20], [5, 5]][block % 4]).collect();
        let chance = life(&window(&chance), 1000);
        assert!(chance.lasting < 0.01, "{}", chance.lasting);
        assert!(
            chance.bytes.earliest > lasting.bytes.earliest && chance.bytes.estimate > 0.85 * chance.even_bytes,
            "{:?}",
            chance.bytes
        );
    }

    #[test]
    fn more_blocks_are_worn_out_the_more_is_written() {
        let halves: Vec<[u32; 2]> = (0..64).map(|block| [3 + block % 5, 4 + block % 3]).collect();
        let life = life(&window(&halves), 500);
        let shares: Vec<f64> = (0..=20).map(|step| life.worn_out(life.bytes.latest * f64::from(step) / 10.0)).collect();
        assert!(shares[0] < 1e-6 && shares[20] > 0.9 && shares.is_sorted(), "{shares:?}");
        assert!(life.bytes.earliest <= life.bytes.estimate && life.bytes.estimate <= life.bytes.latest);
        assert!(life.wear_at_end().all(|erases| erases <= 500.0));
    }

    #[test]
    fn a_drive_that_still_fills_up_has_no_answer_even_where_its_rate_is_flat() {
        // 32 blocks of 100 bytes. Data take ten more bytes at each step, and erases do not show it yet.
        let steps =
            (1..=64).map(|step| WearStep { host_bytes: step * 1000, erases: step, live_bytes: 2000 + step * 10 });
        let filling = WearWindow { steps: steps.collect(), ..window(&[[1, 1]; 32]) };
        let of = |window: &WearWindow| {
            Lifetime::project(&Wearing {
                window,
                host_bytes: 64_000,
                programs: &[0; DIE_CAUSES],
                erased_pages: 0,
                endurance: 1000,
                origin: Origin::New,
            })
        };
        let error = of(&filling).unwrap_err();
        assert!(matches!(error, LifetimeError::Filling { grown } if (grown - 160.0 / 2880.0).abs() < 1e-9), "{error}");
        // As full by turns as it is at its fullest.
        let steps =
            (1..=64).map(|step| WearStep { host_bytes: step * 1000, erases: step, live_bytes: 2000 + step % 8 * 100 });
        assert!(of(&WearWindow { steps: steps.collect(), ..filling }).is_ok());
    }

    #[test]
    fn blocks_that_wear_fastest_leave_few_erases_to_the_others_when_they_are_worn_out() {
        // A quarter of the blocks gets 40 of 70 erases, and is worn out first.
        let halves: Vec<[u32; 2]> = (0..200).map(|block| if block % 4 == 0 { [20, 20] } else { [5, 5] }).collect();
        let life = life(&window(&halves), 1000);
        let after = life.projection.until(50.0) * 1.05;
        let survivors = life.projection.survivors(after);
        assert!((survivors - 30.0 / 70.0).abs() < 0.01, "three quarters of the blocks, with {survivors} of the erases");
    }

    #[test]
    fn the_normal_distribution_is_the_known_one() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.841_345), (-1.96, 0.024_998), (9.0, 1.0)] {
            assert!((normal(z) - share).abs() < 1e-5, "{z}");
        }
    }
}
