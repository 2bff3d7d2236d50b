//! `oltp`: a transaction-processing database with its log.
//!
//! Faithful to: the first 10,000 requests of SPC Financial1 (sizes, runs, locality, gaps) and the
//! published counts of the whole trace (76.8 % writes, the default). Generated figures below are
//! the mean of ten seeds on 16 GiB with the 59.2 % writes of those requests.
//!
//! | figure                                             | measured     | generated    |
//! |----------------------------------------------------|--------------|--------------|
//! | mean read, sectors                                 | 12.2         | 12.2         |
//! | mean write, sectors                                | 9.8          | 9.7          |
//! | requests that go on where one of the last 64 of the same operation ended | 65 % | 64 % |
//! | requests on the busiest 26 % of 4 KiB addresses    | 69 %         | 63 %         |
//! | distinct 4 KiB addresses per request               | 0.38         | 0.49         |
//! | mean and deviation of the gap                      | 26.0, 83.5 ms | 25.8, 83.4 ms |
//!
//! With the published 17.66 % writes of SPC Financial2 the mean request is 5.9 KiB instead of the
//! published 5.24 KB: its reads are shorter than those of Financial1.
//!
//! Simplified: one address space instead of 22 disks; the opening of the trace stands for all of
//! it; pages keep their popularity; no transactions. Protects: the log is written in order, in a
//! region of its own, and is never read.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, GapPhase, Paced, Source};
use super::calibration::{Aim, Comparison, percent, profile, row};
use super::parameters::{SyntheticError, WorkloadParameters};
use super::place::{OpMix, Region, draw_index};
use super::size_classes::{SizeClass, SizeClasses};
use super::zipf_law::{Scatter, Zipf};
use crate::Workload;

/// Share of reads in the whole of SPC Financial1: 1,235,633 of 5,334,987.
const READ_SHARE: f64 = 0.2316;

/// Share of writes that go to the log: the one disk that is written strictly in order.
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

/// Reads, in tenths of a percent of all reads. The 8 KiB ones are table scans; 99.7 % of them were
/// seen to go on, but 99 % gives tables short enough to be scanned again within the same length.
const READ_SIZES: [SizeClass; 6] = [
    SizeClass { sectors: 16, weight: 712, continues: 0.99 },
    SizeClass { sectors: 1, weight: 149, continues: 0.2 },
    SizeClass { sectors: 6, weight: 58, continues: 0.7 },
    SizeClass { sectors: 2, weight: 47, continues: 0.57 },
    SizeClass { sectors: 8, weight: 17, continues: 0.05 },
    SizeClass { sectors: 4, weight: 17, continues: 0.28 },
];

/// 45 % of requests arrive together with the one before; the rest reproduces mean and deviation.
const ARRIVALS: ArrivalProcess = ArrivalProcess {
    phases: &[
        GapPhase { share: 0.454, mean_ns: 0.0 },
        GapPhase { share: 0.425, mean_ns: 20e6 },
        GapPhase { share: 0.1, mean_ns: 100e6 },
        GapPhase { share: 0.021, mean_ns: 357e6 },
    ],
    session_requests: 0,
    idle_ns: 0.0,
};

/// Exponent of page popularity, chosen with the revisits for the locality figures.
const EXPONENT: f64 = 0.99;
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

struct Oltp {
    random: Stream,
    ops: OpMix,
    log: Region,
    log_cursor: u64,
    tables: Region,
    writes: TableTraffic,
    reads: TableTraffic,
    law: Zipf,
    scatter: Scatter,
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

impl Oltp {
    fn log_write(&mut self) -> (u64, u32) {
        let index = draw_index(&mut self.random, &LOG_SIZES);
        let sectors = self.log.clip(LOG_SIZES[index].0);
        let first_sector = self.log.wrapped(self.log_cursor, sectors);
        self.log_cursor = first_sector + u64::from(sectors);
        (first_sector, sectors)
    }

    fn table_access(&mut self, op: HostOp) -> (u64, u32) {
        let (tables, law, scatter) = (self.tables, &self.law, &self.scatter);
        let traffic = if op == HostOp::Read { &mut self.reads } else { &mut self.writes };
        let recent = &mut traffic.recent;
        let jump = |random: &mut Stream, sectors: u32| {
            let row = recent.revisit_or(random, |random| {
                // Rows are anywhere in their page, but always at the same place.
                let page = scatter.place(law.draw(random));
                page * PAGE_SECTORS + page % PAGE_SECTORS
            });
            // A long request is pulled back inside the tables.
            tables.first_sector + row.min(tables.sectors - u64::from(sectors))
        };
        traffic.sizes.draw(&mut self.random, tables, jump)
    }
}

impl Source for Oltp {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let to_log = op == HostOp::Write && self.random.chance(LOG_SHARE);
        let (first_sector, sectors) = if to_log { self.log_write() } else { self.table_access(op) };
        Access { first_sector, sectors, op }
    }
}

/// Compares 10,000 requests on 16 GiB with the piece measured, whose share of reads is given.
///
/// # Errors
/// None with the parameters used here; the type is that of building any workload.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let parameters = WorkloadParameters {
        seed,
        read_share: Some(0.4077),
        ..WorkloadParameters::new(16 << 21, 10_000)
    };
    let profile = profile("oltp", &parameters)?;
    let recent = percent(profile.continues_recent_share);
    let busiest = percent(profile.busiest_26_percent_share);
    let distinct = profile.distinct_addresses_per_request;
    Ok(vec![
        row("reads, % of requests", 40.77, percent(profile.read_share), Aim::Within(2.0)),
        row("mean read, sectors", 12.2, profile.read_sectors_mean, Aim::Within(0.3)),
        row("mean write, sectors", 9.8, profile.write_sectors_mean, Aim::Within(0.6)),
        row("going on where one of the last 64 of its kind ended, %", 65.0, recent, Aim::Within(3.0)),
        row("mean gap, ms", 26.0, profile.interarrival_ns_mean / 1e6, Aim::Within(2.5)),
        row("deviation of the gap, ms", 83.5, profile.interarrival_ns_deviation / 1e6, Aim::Within(8.0)),
        row("requests on the busiest 26 % of addresses, %", 69.0, busiest, Aim::Missed(LESS_LOCAL)),
        row("distinct 4 KiB addresses per request", 0.38, distinct, Aim::Missed(LESS_LOCAL)),
    ])
}

/// Why two figures are missed.
const LESS_LOCAL: &str = "one Zipf law over the whole drive stands for 22 disks of their own popularity";

/// Builds `oltp`.
pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let footprint = Region::footprint(parameters);
    let (log, tables) = footprint.split(footprint.sectors / LOG_PART);
    let pages = tables.sectors / PAGE_SECTORS;
    let mut random = Stream::new(parameters.seed, "workload.oltp");
    let source = Oltp {
        ops: OpMix::new(parameters, READ_SHARE),
        log,
        log_cursor: log.first_sector,
        tables,
        writes: TableTraffic::new(&WRITE_SIZES, REVISITS[1]),
        reads: TableTraffic::new(&READ_SIZES, REVISITS[0]),
        law: Zipf::new(pages, parameters.zipf_exponent.unwrap_or(EXPONENT)),
        scatter: Scatter::new(pages, &mut random),
        random,
    };
    Box::new(Paced::new(name, parameters, ARRIVALS, source))
}
