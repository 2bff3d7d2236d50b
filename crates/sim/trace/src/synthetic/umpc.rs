//! `umpc`: a month of a small laptop with Windows XP, whose reads are long and in a few parts of the disk.
//!
//! Faithful to: the description that the study of coded striping (NCTU 2007) gives of its private trace: most reads are
//! sequential and bulk, none is longer than 128 sectors, few parts of the disk receive most of them, most writes are
//! small and go to few places. For what it gives no figures of: writes, gaps and shares as published of other traces of
//! the same group (`desktop-ntfs`); the locality of one of them, 74 % of the requests on 26 % of the addresses, taken
//! for how reads spread over the disk; mean read and its pieces as in its later traces of system disks (`system-disk`).
//! Nothing is fitted to a simulator's result. Figures of 500,000 requests on 18 GiB (seed 1):
//!
//! | figure                                        | published | generated |
//! |-----------------------------------------------|-----------|-----------|
//! | reads, % of requests                          | 48        | 48.0      |
//! | longest read, sectors                         | 128       | 128       |
//! | mean read, KiB                                | 41.1      | 41.1      |
//! | reads that go on where one of the last 64 ended or are 64 KiB long, % | "most" | 71 |
//! | reads in the busiest 26 % of the disk, %      | 74        | 74.0      |
//! | writes of 1 to 8 sectors, % of writes         | 63        | 63.2      |
//! | random among them, %                          | 68        | 67.6      |
//! | mean and deviation of the gap, ms             | 32, 229   | 32.1, 230 |
//!
//! Simplified: the disk has 64 parts whose popularity follows the power law through that one point and does not change;
//! within a part files lie anywhere. A file is read from its beginning in pieces of 64 KiB, five on average.
//! Protects: writes are the ones of `desktop-ntfs`, whichever reads lie between them.

use engine::random::Stream;
use units::HostOp;

use super::calibration::{Aim, Comparison, percent, requests, row};
use super::desktop_layout::PAGE_SECTORS;
use super::desktop_ntfs::{ARRIVALS, DesktopNtfs, MINIMUM_SECTORS, READ_SHARE};
use super::desktop_shape::DesktopShape;
use super::pace::{Access, Paced, Source};
use super::parameters::{Parameter, SyntheticError, WorkloadParameters};
use super::place::{OpMix, Region, draw_index};
use super::profile::Profile;
use super::system_disk::{FILE_PIECES, MEAN_BYTES, SMALL_SIZES, file_runs, piece};
use crate::Workload;

/// Parts of the disk that are popular as wholes.
const PARTS: u64 = 64;
/// A share of the disk.
const BUSY_SPACE: f64 = 0.26;

/// Properties of the laptop behind `umpc` that were not published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UmpcShape {
    /// Share of the reads that the busiest 26 % of the disk get; above 0.26, below 1.
    pub busy_reads: f64,
}

impl Default for UmpcShape {
    /// The shape of `umpc`: the locality printed of another trace of the same group.
    fn default() -> Self {
        Self { busy_reads: 0.74 }
    }
}

struct Umpc {
    random: Stream,
    ops: OpMix,
    writes: DesktopNtfs,
    space: Region,
    /// Parts of the disk, most popular first.
    parts: Vec<u64>,
    /// The busiest share p of the space gets p to this power of the reads.
    exponent: f64,
    /// Probability that a new run of reads is a file.
    file_runs: f64,
    /// Where the file that is being read goes on.
    reading: Option<u64>,
}

impl Umpc {
    fn read(&mut self) -> (u64, u32) {
        let place = match self.reading.take() {
            Some(place) => place,
            None if self.random.chance(self.file_runs) => self.place(),
            None => {
                let (sectors, _) = SMALL_SIZES[draw_index(&mut self.random, &SMALL_SIZES)];
                return (self.place(), sectors);
            }
        };
        let goes_on = self.random.chance(1.0 - 1.0 / FILE_PIECES);
        let sectors = self.space.clip(piece(&mut self.random, goes_on));
        let first_sector = self.space.wrapped(place, sectors);
        self.reading = goes_on.then_some(first_sector + u64::from(sectors));
        (first_sector, sectors)
    }

    /// First sector of a page in one of the parts.
    fn place(&mut self) -> u64 {
        let rank = libm::pow(self.random.unit(), 1.0 / self.exponent) * self.parts.len() as f64;
        let part = self.parts[(rank as usize).min(self.parts.len() - 1)];
        let sectors = self.space.sectors / self.parts.len() as u64 / u64::from(PAGE_SECTORS) * u64::from(PAGE_SECTORS);
        let part = Region { first_sector: self.space.first_sector + part * sectors, sectors };
        part.random(&mut self.random, PAGE_SECTORS, PAGE_SECTORS)
    }
}

impl Source for Umpc {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let (first_sector, sectors) = if op == HostOp::Read { self.read() } else { self.writes.write() };
        Access { first_sector, sectors, op }
    }
}

/// Share of reads in the busiest part of the space, of a hundred equal ones.
fn busiest(reads: &[(u64, u32)], sectors: u64, share: f64) -> f64 {
    let mut counts = [0_u64; 100];
    for (first, _) in reads {
        counts[(first * 100 / sectors) as usize] += 1;
    }
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    counts[..(share * 100.0) as usize].iter().sum::<u64>() as f64 / reads.len() as f64
}

/// Compares 500,000 requests on 18 GiB with the published figures.
/// Errors: none with the parameters used here; building other workloads can fail.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let parameters = WorkloadParameters { seed, ..WorkloadParameters::new(18 << 21, 500_000) };
    let requests = requests("umpc", &parameters)?;
    let profile = Profile::of(&requests);
    let reads: Vec<(u64, u32)> = requests
        .iter()
        .filter(|request| request.op == HostOp::Read)
        .map(|request| (request.first_sector, request.sectors))
        .collect();
    let longest = reads.iter().map(|read| read.1).max().unwrap_or(0);
    let bulk = reads.iter().filter(|read| read.1 > 2 * PAGE_SECTORS).count() as f64 / reads.len() as f64;
    Ok(vec![
        row("reads, % of requests", 48.0, percent(profile.read_share), Aim::Within(1.0)),
        row("longest read, sectors", 128.0, f64::from(longest), Aim::Within(0.0)),
        row("mean read, KiB", 41.1, profile.read_sectors_mean / 2.0, Aim::Within(0.5)),
        row("reads longer than 8 KiB, %: most", 75.0, percent(bulk), Aim::Within(25.0)),
        row(
            "reads in the busiest 26 % of the disk, %",
            74.0,
            percent(busiest(&reads, 18 << 21, BUSY_SPACE)),
            Aim::Within(3.0),
        ),
        row("writes of 1 to 8 sectors, % of writes", 63.0, percent(profile.small_write_share), Aim::Within(3.0)),
        row("random among them, %", 68.0, percent(profile.small_write_random_share), Aim::Within(3.0)),
        row("random among longer writes, %", 20.0, percent(profile.large_write_random_share), Aim::Within(3.0)),
        row("mean gap, ms", 32.0, profile.interarrival_ns_mean / 1e6, Aim::Within(2.0)),
        row("deviation of the gap, ms", 229.0, profile.interarrival_ns_deviation / 1e6, Aim::Within(15.0)),
    ])
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    construct(name, parameters, UmpcShape::default())
}

/// `umpc` with reads that keep closer together, or less close. Its writes stay the same.
/// Errors: as [`super::build`], or a share out of its range.
pub fn shaped(parameters: &WorkloadParameters, shape: UmpcShape) -> Result<Box<dyn Workload + Send>, SyntheticError> {
    const NAME: &str = "umpc";
    parameters.check(NAME, &[Parameter::ReadShare], MINIMUM_SECTORS)?;
    let UmpcShape { busy_reads } = shape;
    if !(busy_reads > BUSY_SPACE && busy_reads < 1.0) {
        return Err(SyntheticError::OutOfRange {
            workload: NAME,
            parameter: "busy_reads",
            value: busy_reads.to_string(),
            limit: format!("above {BUSY_SPACE}, below 1"),
            remedy: "choose a value inside the range",
        });
    }
    Ok(construct(NAME, parameters, shape))
}

fn construct(name: &'static str, parameters: &WorkloadParameters, shape: UmpcShape) -> Box<dyn Workload + Send> {
    let mut random = Stream::new(parameters.seed, "workload.umpc");
    let space = Region::footprint(parameters);
    let mut parts: Vec<u64> = (0..PARTS).collect();
    random.shuffle(&mut parts);
    let source = Umpc {
        writes: DesktopNtfs::new(parameters, DesktopShape::default(), "workload.umpc.writes"),
        random,
        ops: OpMix::new(parameters, READ_SHARE),
        space,
        parts,
        // So that the point of the shape is on the curve.
        exponent: libm::log(shape.busy_reads) / libm::log(BUSY_SPACE),
        file_runs: file_runs(MEAN_BYTES as f64 / units::SECTOR_BYTES as f64, 1.0),
        reading: None,
    };
    Box::new(Paced::new(name, parameters, ARRIVALS, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Request;

    fn requests(busy_reads: f64) -> Vec<Request> {
        let parameters = WorkloadParameters::new(18 << 21, 60_000);
        let mut requests = Vec::new();
        shaped(&parameters, UmpcShape { busy_reads }).unwrap().next_batch(&mut requests, 60_000).unwrap();
        requests
    }

    #[test]
    fn a_shape_decides_how_close_reads_keep_together_and_leaves_writes_alone() {
        let reads = |requests: &[Request]| -> Vec<(u64, u32)> {
            let reads = requests.iter().filter(|request| request.op == HostOp::Read);
            reads.map(|request| (request.first_sector, request.sectors)).collect()
        };
        for share in [0.4, 0.74, 0.97] {
            let found = busiest(&reads(&requests(share)), 18 << 21, BUSY_SPACE);
            assert!((found - share).abs() < 0.05, "{share}: {found}");
        }
        let writes = |requests: Vec<Request>| -> Vec<u64> {
            let writes = requests.into_iter().filter(|request| request.op == HostOp::Write);
            writes.map(|request| request.first_sector).take(5_000).collect()
        };
        assert_eq!(writes(requests(0.5)), writes(requests(0.9)));
        for wrong in [0.26, 1.0, f64::NAN] {
            let parameters = WorkloadParameters::new(18 << 21, 10);
            assert!(shaped(&parameters, UmpcShape { busy_reads: wrong }).is_err(), "{wrong}");
        }
    }
}
