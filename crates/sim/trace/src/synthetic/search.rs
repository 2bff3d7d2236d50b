//! `search`: the index servers of a web search engine.
//!
//! Faithful to: the first 60 seconds (24,783 requests) of an SPC `WebSearch` trace, and the request
//! counts of the SPC `WebSearch1` trace (1,055,236 reads, 212 writes).
//!
//! | figure                                  | published | generated |
//! |-----------------------------------------|-----------|-----------|
//! | share of reads                          | 99.98 %   | 99.98 %   |
//! | mean request                            | 15.05 KB  | 14.98 KiB |
//! | requests of 8 / 16 / 24 / 32 KiB        | 60.1 / 12.2 / 7.8 / 19.8 % | the same |
//! | requests that go on where one of the last 64 ended | 32.0 % | 32.4 % |
//! | mean and deviation of the gap           | 2.42 and 3.23 ms | 2.42 and 3.23 ms |
//! | distinct 4 KiB addresses per request    | 1.00      | 1.00 on 45 GiB |
//! | distinct 1 MiB regions per request      | 0.186     | 0.19 on 45 GiB |
//!
//! Most requests go on with a list that was read before: of requests that do not continue exactly where a recent one
//! ended, 82 % start at most 1 MiB after the end of an earlier one, often thousands of requests later. Lists are read
//! forward and hardly ever again.
//!
//! Simplified: one address space instead of three busy disks (16.7, 16.5 and 12.4 GiB are touched
//! of them); lists start uniformly over it; 0.1 % of single-sector requests are left out. Protects:
//! starts of reads lie on 8 KiB boundaries, as long as the footprint allows.

use engine::random::Stream;
use units::HostOp;

use super::calibration::{Aim, Comparison, percent, profile, row};
use super::pace::{Access, ArrivalProcess, GapPhase, Paced, Source};
use super::parameters::{SyntheticError, WorkloadParameters};
use super::place::{OpMix, Region, draw_index};
use super::size_classes::SizeClass;
use crate::Workload;

/// Sizes and runs as measured, in tenths of a percent.
const SIZES: [SizeClass; 4] = [
    SizeClass { sectors: 16, weight: 602, continues: 0.165 },
    SizeClass { sectors: 32, weight: 122, continues: 0.514 },
    SizeClass { sectors: 48, weight: 78, continues: 0.567 },
    SizeClass { sectors: 64, weight: 198, continues: 0.575 },
];

const READ_SHARE: f64 = 0.9998;
const RUN_ALIGNMENT_SECTORS: u32 = 16;

/// Share of the requests that do not simply go on which open a new list, in percent: 12 % of all.
const NEW_LISTS: u64 = 18;
/// Lists that are read side by side. Of the returns to one, half come after 500 requests or later.
const OPEN_LISTS: usize = 1024;
/// Lists opened before any is returned to.
const LISTS_FIRST: usize = 128;
/// How much of a list is skipped on return, in units of 8 KiB: most, and percent of returns; chosen
/// for the figure on distinct regions among the distances that were seen.
const SKIPS: [(u32, u32); 4] = [(0, 20), (4, 35), (16, 25), (128, 20)];

/// Two phases reproduce the measured mean and deviation.
const ARRIVALS: ArrivalProcess = ArrivalProcess {
    phases: &[GapPhase { share: 0.85, mean_ns: 1_792_000.0 }, GapPhase { share: 0.15, mean_ns: 6_000_000.0 }],
    session_requests: 0,
    idle_ns: 0.0,
};

struct Search {
    random: Stream,
    ops: OpMix,
    lists: Lists,
}

/// Where the lists that are being read go on.
struct Lists {
    footprint: Region,
    /// The sector after the last one read, by list.
    ends: Vec<u64>,
    /// The list each size was last read from: one query reads one list in requests of one size.
    last: [usize; SIZES.len()],
    oldest: usize,
}

impl Lists {
    fn read(&mut self, random: &mut Stream) -> (u64, u32) {
        let size = draw_index(random, &SIZES);
        let sectors = self.footprint.clip(SIZES[size].sectors);
        let list = if random.chance(SIZES[size].continues) && self.last[size] < self.ends.len() {
            Some((self.last[size], 0))
        } else if self.ends.len() < LISTS_FIRST || random.below(100) < NEW_LISTS {
            None
        } else {
            let (most, _) = SKIPS[draw_index(random, &SKIPS)];
            let skipped = random.below(u64::from(most) + 1) * u64::from(RUN_ALIGNMENT_SECTORS);
            Some((random.below(self.ends.len() as u64) as usize, skipped))
        };
        let fits = |start: u64| start + u64::from(sectors) <= self.footprint.end_sector();
        let open = list.map(|(list, skipped)| (list, self.ends[list] + skipped)).filter(|(_, start)| fits(*start));
        let (list, start) =
            open.unwrap_or_else(|| (self.room(), self.footprint.random(random, sectors, RUN_ALIGNMENT_SECTORS)));
        self.ends[list] = start + u64::from(sectors);
        self.last[size] = list;
        (start, sectors)
    }

    /// A place for a new list: that of the oldest once there are enough.
    fn room(&mut self) -> usize {
        if self.ends.len() < OPEN_LISTS {
            self.ends.push(0);
            return self.ends.len() - 1;
        }
        self.oldest = (self.oldest + 1) % OPEN_LISTS;
        self.oldest
    }
}

impl Source for Search {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let (first_sector, sectors) = if op == HostOp::Write {
            // Both kinds of writes seen in the piece are 8 KiB, in no order.
            let sectors = self.lists.footprint.clip(RUN_ALIGNMENT_SECTORS);
            (self.lists.footprint.random(&mut self.random, sectors, RUN_ALIGNMENT_SECTORS), sectors)
        } else {
            self.lists.read(&mut self.random)
        };
        Access { first_sector, sectors, op }
    }
}

/// Compares as many requests as the measured piece has, on as much space as it touches.
/// Errors: none with the parameters used here; building other workloads can fail.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let profile = profile("search", &WorkloadParameters { seed, ..WorkloadParameters::new(45 << 21, 24_783) })?;
    let recent = percent(profile.continues_recent_share);
    let distinct = profile.distinct_addresses_per_request;
    let regions = profile.distinct_regions_per_request;
    Ok(vec![
        row("reads, % of requests", 99.98, percent(profile.read_share), Aim::Within(0.03)),
        row("mean read, sectors", 30.1, profile.read_sectors_mean, Aim::Within(0.5)),
        row("going on where one of the last 64 ended, %", 32.0, recent, Aim::Within(1.5)),
        row("mean gap, ms", 2.42, profile.interarrival_ns_mean / 1e6, Aim::Within(0.1)),
        row("deviation of the gap, ms", 3.23, profile.interarrival_ns_deviation / 1e6, Aim::Within(0.2)),
        row("distinct 4 KiB addresses per request", 1.0, distinct, Aim::Within(0.01)),
        row("distinct 1 MiB regions per request", 0.186, regions, Aim::Within(0.02)),
    ])
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let lists = Lists {
        footprint: Region::footprint(parameters),
        ends: Vec::with_capacity(OPEN_LISTS),
        last: [usize::MAX; SIZES.len()],
        oldest: 0,
    };
    let source = Search {
        random: Stream::new(parameters.seed, "workload.search"),
        ops: OpMix::new(parameters, READ_SHARE),
        lists,
    };
    Box::new(Paced::new(name, parameters, ARRIVALS, source))
}
