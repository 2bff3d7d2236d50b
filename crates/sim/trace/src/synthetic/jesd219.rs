//! `jesd219`: the random mix of the JEDEC endurance workload for enterprise drives.
//!
//! Faithful to: the public description of JESD219A's enterprise workload, which gives the sizes,
//! the mix of reads and writes and three address bands. Simplified: written from that public
//! description and not from the standard; the client trace is another matter; bands start at
//! sector 0 on every drive; data contents do not exist. Protects: requests of whole 4 KiB are
//! aligned to 4 KiB, smaller ones to sectors.
//!
//! ```text
//! sector 0     5 %          20 %                                     footprint end
//!   | 50 % of it | 30 % of requests |          20 % of requests            |
//! ```

use engine::random::Stream;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::{OpMix, Region, Weighted, draw_index};
use crate::Workload;

/// Request sizes in sectors, and percent of requests.
const SIZES: [(u32, u32); 12] =
    [(1, 4), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 67), (16, 10), (32, 7), (64, 3), (128, 3)];

const READ_SHARE: f64 = 0.4;
const SECTORS_PER_PAGE: u32 = 8;

/// An address band with its percentage of requests.
struct Band {
    region: Region,
    percent: u32,
}

impl Weighted for Band {
    fn weight(&self) -> u32 {
        self.percent
    }
}

struct Jesd219 {
    random: Stream,
    ops: OpMix,
    bands: Vec<Band>,
    footprint: Region,
}

impl Source for Jesd219 {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let (sectors, _) = SIZES[draw_index(&mut self.random, &SIZES)];
        let sectors = self.footprint.clip(sectors);
        let region = self.bands[draw_index(&mut self.random, &self.bands)].region;
        let alignment = if sectors.is_multiple_of(SECTORS_PER_PAGE) { SECTORS_PER_PAGE } else { 1 };
        // The start is inside the band; a long request may reach into the next one.
        let first_sector = region.random(&mut self.random, 1, alignment);
        let last_start = (self.footprint.sectors - u64::from(sectors)) / u64::from(alignment);
        let first_sector = first_sector.min(last_start * u64::from(alignment));
        Access { first_sector, sectors, op }
    }
}

/// The three bands; boundaries fall on pages, and each band holds at least one.
fn bands(footprint: Region) -> Vec<Band> {
    let page = u64::from(SECTORS_PER_PAGE);
    let pages = footprint.sectors / page;
    if pages < 3 {
        return vec![Band { region: footprint, percent: 100 }];
    }
    let hot = (pages / 20).max(1);
    let warm = (pages * 3 / 20).max(1);
    let (hot, rest) = footprint.split(hot * page);
    let (warm, cold) = rest.split(warm * page);
    vec![Band { region: hot, percent: 50 }, Band { region: warm, percent: 30 }, Band { region: cold, percent: 20 }]
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let footprint = Region::footprint(parameters);
    let source = Jesd219 {
        random: Stream::new(parameters.seed, "workload.jesd219"),
        ops: OpMix::new(parameters, READ_SHARE),
        bands: bands(footprint),
        footprint,
    };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
