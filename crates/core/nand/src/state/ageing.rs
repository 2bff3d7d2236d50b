//! Errors of cells as they wear, age and are read, and the remedies.
//!
//! Faithful to: the raw bit error rate as a floor and three powers, of wear, of retention and of disturbance by reads
//! (Kim, Choi and Min, FAST 2019); a code that corrects so many bits of a codeword, and reads repeated with other
//! reference voltages until it does (Park et al., ASPLOS 2021).
//! Simplified: errors fall on the bits of a page independently, as many as its place and its block's erases decide, so
//! a page that cannot be corrected stays so; every repetition lowers the rate by the same factor; every page of a word
//! line has the same rate; cells with one bit make no errors; the drive's own pages and out-of-band areas have a
//! stronger code. Data of a block is as old as its first page, and a read of any page disturbs all of them alike.
//! Protects: a run without errors pays one branch a read.

use std::collections::BTreeSet;
use units::{BlockId, Geometry, Nanos, Ppn};

/// Raw bit error rate of cells.
///
/// `floor + wear * C^a + retention * C^b * H^c + disturb * C^d * R^e` with C erases, H hours since the page was
/// programmed, and R reads of the block since its erase, divided by its pages.
///
/// In the terms of retention and disturbance C is at least 1. A power of no erases is 0: new cells would never lose
/// charge, and reads would never disturb them. The published powers say that wear matters little there: retention
/// after 100 erases is twice that after one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorRate {
    /// Rate of new cells.
    pub floor: f64,
    /// Factor of wear, and its power of erases.
    pub wear: [f64; 2],
    /// Factor of retention, and its powers of erases and hours.
    pub retention: [f64; 3],
    /// Factor of disturbance, and its powers of erases and reads.
    pub disturb: [f64; 3],
}

impl ErrorRate {
    /// Wrong bits among all, where `reads` is a block's reads divided by its pages.
    pub fn at(&self, erases: f64, hours: f64, reads: f64) -> f64 {
        let [wear, by_wear] = self.wear;
        let [retention, worn_retention, by_hours] = self.retention;
        let [disturb, worn_disturb, by_reads] = self.disturb;
        let cycles = erases.max(1.0);
        self.floor
            + wear * erases.powf(by_wear)
            + retention * cycles.powf(worn_retention) * hours.powf(by_hours)
            + disturb * cycles.powf(worn_disturb) * reads.powf(by_reads)
    }
}

/// The correction of a codeword, and the repetitions of a read for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// Bytes of a codeword.
    pub codeword_bytes: u32,
    /// Wrong bits of a codeword that can be corrected.
    pub bits: u32,
    /// Times a read is repeated at most.
    pub retries: u32,
    /// The factor of each repetition on the error rate, below 1.
    pub gain: f64,
    /// Time of the decoder for each repetition, beside the time of the array, ns.
    pub decode_ns: Nanos,
}

/// When a block is written anew: its data move, and it is erased. 0: never for that reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RefreshLimits {
    /// Reads of the block since its erase.
    pub reads: u32,
    /// Age of its data, ns.
    pub age_ns: Nanos,
    /// Repetitions that a read of it took.
    pub retries: u32,
}

/// The errors of cells, and the remedies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgeingOptions {
    /// How many bits err, by age and reads.
    pub rate: ErrorRate,
    /// How many errors of a page are corrected.
    pub correction: Correction,
    /// When blocks are written anew.
    pub refresh: RefreshLimits,
    /// Age of all data when a run begins, ns.
    pub data_age_ns: Nanos,
}

/// Ages and reads of all blocks, and pages that were lost (see [`Ageing::export`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// Age of each block's first page, ns.
    pub ages_ns: Vec<Nanos>,
    /// Reads of each block since its erase.
    pub reads: Vec<u32>,
    /// Pages that hold what could not be corrected elsewhere.
    pub lost: Vec<u32>,
}

/// Age and use of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// When its first page was programmed: before the clock began, where that is below zero.
    since: i64,
    /// Reads since its erase.
    reads: u32,
}

/// Cells as they wear, age and are read, where they err at all.
#[derive(Clone, Debug)]
pub struct Ageing(Option<Box<Cells>>);

/// Cells that err.
#[derive(Clone, Debug)]
struct Cells {
    options: AgeingOptions,
    rows: Vec<Row>,
    tolerance: Tolerance,
    /// Pages written from others that could not be corrected, where contents do not say so.
    lost: BTreeSet<u32>,
    /// Pages of a codeword, where it is more than one.
    codeword_pages: u32,
    /// Pages of flash that a block has: of the pages of the geometry several may be in one.
    pages: f64,
    seed: u64,
    now: Nanos,
}

impl Ageing {
    /// Cells that do not err.
    pub(super) const NONE: Ageing = Ageing(None);

    /// Cells that err. `page_bytes`: bytes of a physical page; `seed` decides which pages are better than others.
    pub(super) fn new(options: AgeingOptions, geometry: &Geometry, page_bytes: u32, seed: u64) -> Self {
        let Correction { codeword_bytes, bits, .. } = options.correction;
        let unit = geometry.page_bytes;
        let codewords = (unit / codeword_bytes).max(1);
        Self(Some(Box::new(Cells {
            options,
            rows: vec![Row::default(); geometry.blocks() as usize],
            tolerance: Tolerance::new(codeword_bytes * 8, bits, codewords),
            lost: BTreeSet::new(),
            codeword_pages: (codeword_bytes / unit).max(1),
            pages: f64::from(geometry.pages_per_block) / f64::from((page_bytes / unit).max(1)),
            seed,
            now: 0,
        })))
    }

    /// Whether cells err.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A run begins with the data on flash, which are at least as old as [`AgeingOptions::data_age_ns`].
    pub fn begin_run(&mut self) {
        self.restart_clock();
        if let Some(cells) = self.0.as_deref_mut() {
            let since = -(cells.options.data_age_ns as i64);
            cells.rows.iter_mut().for_each(|row| row.since = row.since.min(since));
        }
    }

    /// Ages and reads of all blocks, and pages that were lost, for a snapshot; empty where cells do not err.
    pub fn export(&self) -> Ages {
        let Some(cells) = self.0.as_deref() else { return Ages::default() };
        let of = |block: usize| cells.age_ns(BlockId(block as u32));
        Ages {
            ages_ns: (0..cells.rows.len()).map(of).collect(),
            reads: cells.rows.iter().map(|row| row.reads).collect(),
            lost: cells.lost.iter().copied().collect(),
        }
    }

    /// Takes back what [`Ageing::export`] gave. `false`: it is of another number of blocks.
    pub fn import(&mut self, ages: Ages) -> bool {
        let Some(cells) = self.0.as_deref_mut() else { return ages == Ages::default() };
        if ages.ages_ns.len() != cells.rows.len() || ages.reads.len() != cells.rows.len() {
            return false;
        }
        let row = |(age, reads): (&Nanos, &u32)| Row { since: -(*age as i64), reads: *reads };
        cells.rows = ages.ages_ns.iter().zip(&ages.reads).map(row).collect();
        cells.lost = ages.lost.into_iter().collect();
        cells.now = 0;
        true
    }

    /// Whether blocks are ever written anew because of their age.
    pub fn refreshes_by_age(&self) -> bool {
        self.0.as_deref().is_some_and(|cells| cells.options.refresh.age_ns > 0)
    }

    /// Time of the decoder for a repetition, ns.
    pub(crate) fn decode_ns(&self) -> Nanos {
        self.0.as_deref().map_or(0, |cells| cells.options.correction.decode_ns)
    }

    /// Times that a read is repeated at most.
    pub(super) fn most_retries(&self) -> u32 {
        self.0.as_deref().map_or(0, |cells| cells.options.correction.retries)
    }

    /// From now on events happen at `now`.
    #[inline]
    pub(crate) fn keep_clock(&mut self, now: Nanos) {
        if let Some(cells) = self.0.as_deref_mut() {
            cells.now = now;
        }
    }

    /// The clock begins anew, as after a power cut; ages stay.
    pub(crate) fn restart_clock(&mut self) {
        if let Some(cells) = self.0.as_deref_mut() {
            let now = std::mem::take(&mut cells.now) as i64;
            cells.rows.iter_mut().for_each(|row| row.since -= now);
        }
    }

    /// The first page of a block is programmed.
    pub(super) fn begin(&mut self, block: BlockId) {
        if let Some(cells) = self.0.as_deref_mut() {
            cells.rows[block.index()] = Row { since: cells.now as i64, reads: 0 };
        }
    }

    /// The block of these pages is erased.
    pub(super) fn end(&mut self, pages: std::ops::Range<u32>) {
        if let Some(cells) = self.0.as_deref_mut().filter(|cells| !cells.lost.is_empty()) {
            let gone: Vec<u32> = cells.lost.range(pages).copied().collect();
            for page in &gone {
                cells.lost.remove(page);
            }
        }
    }

    /// A page was written from one that could not be corrected, and contents do not say so.
    #[cold]
    pub(super) fn note_lost(&mut self, page: Ppn) {
        if let Some(cells) = self.0.as_deref_mut() {
            cells.lost.insert(page.0);
        }
    }

    /// Whether a page was written from one that could not be corrected.
    pub(super) fn has_lost(&self, page: Ppn) -> bool {
        self.0.as_deref().is_some_and(|cells| cells.lost.contains(&page.0))
    }

    /// A page of a block was read, so many times in addition. `true`: the block is to be written anew.
    pub(super) fn disturb(&mut self, block: BlockId, retries: u32) -> bool {
        let Some(cells) = self.0.as_deref_mut() else { return false };
        let row = &mut cells.rows[block.index()];
        row.reads = row.reads.saturating_add(1);
        let limit = cells.options.refresh.retries;
        limit > 0 && retries >= limit || cells.is_due(block)
    }

    /// Whether a block was read too often, or its data is too old.
    pub(super) fn is_due(&self, block: BlockId) -> bool {
        self.0.as_deref().is_some_and(|cells| cells.is_due(block))
    }

    /// Raw bit error rate of the pages of a block that is worn by so many erases; 0 where cells do not err.
    pub(super) fn error_rate(&self, block: BlockId, wear: u32) -> f64 {
        self.0.as_deref().map_or(0.0, |cells| cells.error_rate(block, wear))
    }

    /// Times the read of a page of that block must be repeated; `erases`: all that the block had.
    pub(super) fn retries_needed(&self, page: Ppn, block: BlockId, wear: u32, erases: u32) -> u32 {
        let Some(cells) = self.0.as_deref() else { return 0 };
        let tolerated = cells.tolerance.rate(cells.luck(page, erases));
        let excess = cells.error_rate(block, wear) / tolerated;
        if excess <= 1.0 { 0 } else { (-excess.ln() / cells.options.correction.gain.ln()).ceil() as u32 }
    }
}

impl Cells {
    fn error_rate(&self, block: BlockId, wear: u32) -> f64 {
        let hours = self.age_ns(block) as f64 / units::HOUR as f64;
        self.options.rate.at(f64::from(wear), hours, f64::from(self.rows[block.index()].reads) / self.pages)
    }

    fn age_ns(&self, block: BlockId) -> Nanos {
        (self.now as i64).saturating_sub(self.rows[block.index()].since).max(0) as Nanos
    }

    fn is_due(&self, block: BlockId) -> bool {
        let RefreshLimits { reads, age_ns, .. } = self.options.refresh;
        reads > 0 && self.rows[block.index()].reads >= reads || age_ns > 0 && self.age_ns(block) >= age_ns
    }

    /// How good a page is since its block's last erase: a share of pages is worse.
    fn luck(&self, page: Ppn, erases: u32) -> f64 {
        let codeword = page.0 / self.codeword_pages * self.codeword_pages;
        engine::random::drawn_from(self.seed ^ u64::from(codeword) << 32 ^ u64::from(erases))
    }
}

/// The error rate that a page tolerates, by its luck.
///
/// A page is lost to its code if one of its codewords has too many errors, which are binomial; with many bits and a low
/// rate that is a Poisson number. The rate at which a share `q` of pages is lost is tabled by the logit of `q`.
#[derive(Clone, Debug)]
struct Tolerance(Vec<f64>);

impl Tolerance {
    /// Logits from minus to plus this, in steps.
    const REACH: f64 = 36.0;
    const STEP: f64 = 0.25;

    fn new(word_bits: u32, corrected: u32, codewords: u32) -> Self {
        let steps = (2.0 * Self::REACH / Self::STEP) as usize;
        let at = |step: usize| {
            let logit = step as f64 * Self::STEP - Self::REACH;
            let share = 1.0 / (1.0 + (-logit).exp());
            let is_too_many = |mean: f64| lost_share(mean, corrected, codewords) > share;
            let (mut low, mut high) = (0.0, f64::from(word_bits));
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if is_too_many(middle) { high = middle } else { low = middle }
            }
            low / f64::from(word_bits)
        };
        Self((0..=steps).map(at).collect())
    }

    /// The highest rate at which a page can be corrected of which a share `luck` of all is worse.
    fn rate(&self, luck: f64) -> f64 {
        let luck = luck.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        let place = (luck / (1.0 - luck)).ln().clamp(-Self::REACH, Self::REACH) + Self::REACH;
        let place = (place / Self::STEP).min(self.0.len() as f64 - 1.001);
        let (below, part) = (place as usize, place.fract());
        self.0[below] * (1.0 - part) + self.0[below + 1] * part
    }
}

/// Share of pages of so many codewords that cannot be corrected, with a mean number of errors of a codeword.
pub fn lost_share(mean: f64, corrected: u32, codewords: u32) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    let term = |count: u32| {
        let factorial: f64 = (1..=count).map(|number| f64::from(number).ln()).sum();
        (f64::from(count) * mean.ln() - mean - factorial).exp()
    };
    // The side of the distribution with fewer terms of weight, so that small shares stay exact.
    let (mut count, mut share) = (corrected + 1, 0.0);
    let word = if mean < f64::from(corrected) {
        let mut next = term(count);
        while next > share * 1e-17 {
            share += next;
            count += 1;
            next *= mean / f64::from(count);
        }
        share
    } else {
        let mut next = term(corrected);
        for below in (0..=corrected).rev() {
            share += next;
            next *= f64::from(below) / mean;
        }
        1.0 - share
    };
    -f64::exp_m1(f64::from(codewords) * (-word.min(1.0)).ln_1p())
}
