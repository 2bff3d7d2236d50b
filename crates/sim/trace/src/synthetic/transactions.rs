//! Transaction processing with a log, for `oltp` and `financial2`: the common part of the traces of one institution.
//!
//! ```text
//! | log 1/16, written in order | tables: regions of 1 MiB of Zipf popularity, in them pages of 8 KiB |
//! ```
//! A run starts in a popular region, or where one of the last runs started: data that was just changed is soon changed
//! again. Regions come before pages because the first 10,000 requests of SPC Financial1 start in only 174 of some 5,600
//! regions.
//!
//! Protects: the log is written in order, in a region of its own, and is never read.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, GapPhase, Source};
use super::parameters::WorkloadParameters;
use super::place::{OpMix, Region, draw_index};
use super::popularity::{Popularity, Skew};
use super::size_classes::{SizeClass, SizeClasses};

/// The differences of one trace from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Business {
    /// Share of reads, 0 to 1.
    pub read_share: f64,
    /// Sizes of reads.
    pub reads: &'static [SizeClass],
    /// Name of the random stream.
    pub stream: &'static str,
}

/// Share of writes that go to the log: the one disk of Financial1 that is written strictly in order.
const LOG_SHARE: f64 = 0.171;

/// Log writes: sectors, and percent of log writes. Each goes on where the last one ended.
const LOG_SIZES: [(u32, u32); 3] = [(7, 75), (3, 17), (24, 8)];

/// Other writes, in tenths of a percent of all writes; 13 and 48 sectors stand for many sizes.
const WRITE_SIZES: [SizeClass; 10] = [
    SizeClass { sectors: 6, weight: 297, continues: 0.51 },
    SizeClass { sectors: 2, weight: 172, continues: 0.61 },
    SizeClass { sectors: 1, weight: 130, continues: 0.06 },
    SizeClass { sectors: 16, weight: 46, continues: 0.52 },
    SizeClass { sectors: 5, weight: 43, continues: 0.11 },
    SizeClass { sectors: 13, weight: 37, continues: 0.5 },
    SizeClass { sectors: 96, weight: 37, continues: 0.84 },
    SizeClass { sectors: 8, weight: 20, continues: 0.47 },
    SizeClass { sectors: 48, weight: 18, continues: 0.5 },
    SizeClass { sectors: 4, weight: 16, continues: 0.33 },
];

/// 45 % of requests arrive together with the one before; the rest reproduces mean and deviation.
pub(super) const ARRIVALS: ArrivalProcess = ArrivalProcess {
    phases: &[
        GapPhase { share: 0.454, mean_ns: 0.0 },
        GapPhase { share: 0.425, mean_ns: 20e6 },
        GapPhase { share: 0.1, mean_ns: 100e6 },
        GapPhase { share: 0.021, mean_ns: 357e6 },
    ],
    session_requests: 0,
    idle_ns: 0.0,
};

/// Exponent of the popularity of regions, and of pages in a region, chosen with the revisits for the
/// locality figures of Financial1.
const EXPONENT: f64 = 1.35;
const PAGE_EXPONENT: f64 = 0.8;
/// Probability that a run starts where one of the last runs did: reads, writes.
const REVISITS: [f64; 2] = [0.75, 0.85];
/// How many starts are remembered.
const RECENT_RUNS: usize = 64;
/// Unit of popularity: a page of the database's cache.
const PAGE_SECTORS: u64 = 16;
/// Part of the footprint that is the log.
const LOG_PART: u64 = 16;
/// Drives below this many sectors (32 KiB) hold no log and no pages worth a name.
pub(super) const MINIMUM_SECTORS: u64 = 64;

/// The accesses of one business.
pub(super) struct Transactions {
    random: Stream,
    ops: OpMix,
    log: Region,
    log_cursor: u64,
    tables: Region,
    popularity: Popularity,
    writes: TableTraffic,
    reads: TableTraffic,
}

/// Reads or writes of the tables.
struct TableTraffic {
    sizes: SizeClasses,
    recent: RecentStarts,
}

impl TableTraffic {
    fn new(sizes: &'static [SizeClass], revisits: f64) -> Self {
        let recent = RecentStarts { starts: Vec::with_capacity(RECENT_RUNS), oldest: 0, revisits };
        Self { sizes: SizeClasses::new(sizes), recent }
    }
}

/// Where the last runs started: what was just changed is soon changed again.
struct RecentStarts {
    starts: Vec<u64>,
    oldest: usize,
    revisits: f64,
}

impl RecentStarts {
    /// A remembered start, or a `fresh` one, which replaces the oldest.
    fn revisit_or(&mut self, random: &mut Stream, fresh: impl FnOnce(&mut Stream) -> u64) -> u64 {
        if !self.starts.is_empty() && random.chance(self.revisits) {
            return self.starts[random.below(self.starts.len() as u64) as usize];
        }
        let start = fresh(random);
        if self.starts.len() < RECENT_RUNS {
            self.starts.push(start);
        } else {
            self.starts[self.oldest] = start;
            self.oldest = (self.oldest + 1) % RECENT_RUNS;
        }
        start
    }
}

impl Transactions {
    /// The accesses of `business` on the footprint.
    pub fn new(business: Business, parameters: &WorkloadParameters) -> Self {
        let footprint = Region::footprint(parameters);
        let (log, tables) = footprint.split(footprint.sectors / LOG_PART);
        let mut random = Stream::new(parameters.seed, business.stream);
        let regions = parameters.zipf_exponent.unwrap_or(EXPONENT);
        let skew = Skew { regions_most: u64::MAX, regions, pages: PAGE_EXPONENT };
        Self {
            ops: OpMix::new(parameters, business.read_share),
            log,
            log_cursor: log.first_sector,
            tables,
            popularity: Popularity::new(tables.sectors, PAGE_SECTORS, skew, &mut random),
            writes: TableTraffic::new(&WRITE_SIZES, REVISITS[1]),
            reads: TableTraffic::new(business.reads, REVISITS[0]),
            random,
        }
    }

    fn log_write(&mut self) -> (u64, u32) {
        let index = draw_index(&mut self.random, &LOG_SIZES);
        let sectors = self.log.clip(LOG_SIZES[index].0);
        let first_sector = self.log.wrapped(self.log_cursor, sectors);
        self.log_cursor = first_sector + u64::from(sectors);
        (first_sector, sectors)
    }

    fn table_access(&mut self, op: HostOp) -> (u64, u32) {
        let (tables, popularity) = (self.tables, &self.popularity);
        let traffic = if op == HostOp::Read { &mut self.reads } else { &mut self.writes };
        let recent = &mut traffic.recent;
        let jump = |random: &mut Stream, sectors: u32| {
            let row = recent.revisit_or(random, |random| {
                // Rows are anywhere in their page, but always at the same place.
                let page = popularity.page(random);
                page * PAGE_SECTORS + page % PAGE_SECTORS
            });
            // A long request is pulled back inside the tables.
            tables.first_sector + row.min(tables.sectors - u64::from(sectors))
        };
        traffic.sizes.draw(&mut self.random, tables, jump)
    }
}

impl Source for Transactions {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let to_log = op == HostOp::Write && self.random.chance(LOG_SHARE);
        let (first_sector, sectors) = if to_log { self.log_write() } else { self.table_access(op) };
        Access { first_sector, sectors, op }
    }
}
