//! `system-disk`: the system disk of a laptop while files are copied, installed and downloaded.
//!
//! Faithful to: the shares of writes and the mean sizes printed of three private `DiskMon` traces
//! (TPM study, ASP-DAC 2012: `Systemdisk1` to `3`), which are the two parameters; that "most write
//! requests are with consecutive logical addresses"; for what was not published of them, the shares
//! of random writes and the gaps published of another laptop (`desktop-ntfs`). Figures of 300,000
//! requests on 27 GiB with 67.21 % writes and 41 KiB, the defaults (seed 1):
//!
//! | figure                                        | published | generated |
//! |-----------------------------------------------|-----------|-----------|
//! | writes, % of requests                         | 67.21     | 67.1      |
//! | mean request, KiB                             | 41.10     | 41.12     |
//! | writes that go on where one of the last 64 ended, % | "most" | 71 %     |
//! | random among writes longer than 8 sectors, %  | 20        | 20.1      |
//! | random among writes of 1 to 8 sectors, %      | 68        | 67.6      |
//! | mean and deviation of the gap, ms             | 32, 229   | 31.4, 223 |
//! | distinct 1 MiB regions per write, of 16,259   | 0.112     | 0.110     |
//! | distinct 1 MiB regions per read, of 16,259    | 0.136     | 0.134     |
//!
//! The last two are measured at a recorded boot of another laptop (Windows 11, NTFS): how far
//! requests spread decides how much of a map they touch.
//!
//! Simplified: a request is either small (`desktop-ntfs`) or a piece of a file of five pieces on
//! average, 64 KiB each but the last; their shares follow from the mean size. Half of the written
//! files are temporary ones, rewritten in place; of the others most lie somewhere among two thousand
//! regions of Zipf popularity, and some fill the disk in four streams. Two thirds of the read runs
//! start near one of the last, the others in a larger set of regions. No nights. Protects: the mean
//! size, for reads and writes alike.

use engine::random::Stream;
use units::{HostOp, Request, SECTOR_BYTES};

use super::calibration::{Aim, Comparison, percent, requests, row};
use super::desktop_layout::{Layout, PAGE_SECTORS};
use super::desktop_shape::DesktopShape;
use super::pace::{Access, ArrivalProcess, GapPhase, Paced, Source};
use super::parameters::{SyntheticError, WorkloadParameters};
use super::place::{OpMix, Region, draw_index};
use super::popularity::{Popularity, Skew};
use super::profile::Profile;
use crate::Workload;

/// Share of reads of `Systemdisk2`, the longest of the three.
const READ_SHARE: f64 = 0.3279;
/// Its mean request: 41.10 KB.
pub(super) const MEAN_BYTES: u64 = 42_086;

/// Writes of the recorded boot.
const BOOT_WRITES: usize = 16_259;

/// Largest transfer of the system, in sectors: 64 KiB.
const PIECE_SECTORS: u32 = 128;
/// Pieces of a file on average.
pub(super) const FILE_PIECES: f64 = 5.0;
/// Small requests: sectors and weights; they average 6.3 sectors.
pub(super) const SMALL_SIZES: [(u32, u32); 6] = [(1, 5), (2, 9), (4, 6), (6, 5), (7, 5), (8, 70)];
/// Share of small writes that are random, as published for `desktop-ntfs`; the others go to the log
/// in runs of five, whose first is random too.
const SMALL_RANDOM_SHARE: f64 = 0.68;
/// Share of the written files that are temporary ones, as in `desktop-ntfs`; and of the others, those
/// that go to a popular place instead of filling the disk in order.
const TEMPORARY_SHARE: f64 = 0.5;
const SCATTERED_SHARE: f64 = 0.7;
/// Where small requests and scattered files go.
const WRITE_SKEW: Skew = Skew { regions_most: 2048, regions: 0.6, pages: 0.5 };
const READ_SKEW: Skew = Skew { regions_most: 16_384, regions: 0.7, pages: 0.0 };

/// Share of the read runs that start in the region of one of the last, and how many are remembered.
const NEARBY_SHARE: f64 = 0.69;
const RECENT_RUNS: usize = 64;

/// The gaps of `desktop-ntfs`: bursts, pauses and rests.
const ARRIVALS: ArrivalProcess = ArrivalProcess {
    phases: &[
        GapPhase { share: 0.894, mean_ns: 3e6 },
        GapPhase { share: 0.09, mean_ns: 100e6 },
        GapPhase { share: 0.016, mean_ns: 1_269.9e6 },
    ],
    session_requests: 0,
    idle_ns: 0.0,
};

/// Writes come in runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Run {
    /// A file, on one of the tracks: temporary files first, then streams.
    Track(usize),
    /// A file that goes on at this sector.
    File(u64),
    /// Records appended to the log.
    Log,
}

struct SystemDisk {
    random: Stream,
    ops: OpMix,
    layout: Layout,
    /// Where small requests and scattered files go: writes and reads.
    popular: [Popularity; 2],
    /// Probability that a new run is a file, by operation.
    file_runs: [f64; 2],
    /// Probability that a new small run is one of log records.
    log_runs: f64,
    writing: Option<Run>,
    /// Pages at which the last read runs started, and the one to be forgotten next.
    recent: Vec<u64>,
    oldest: usize,
    /// Where the file that is being read goes on.
    reading: Option<u64>,
}

impl SystemDisk {
    fn write(&mut self) -> (u64, u32) {
        let run = self.writing.take().or_else(|| self.start_writing());
        let Some(run) = run else { return self.small(HostOp::Write) };
        let goes_on = self.random.chance(1.0 - 1.0 / FILE_PIECES);
        self.writing = goes_on.then_some(run);
        match run {
            Run::Log => {
                let (sectors, _) = SMALL_SIZES[draw_index(&mut self.random, &SMALL_SIZES)];
                self.layout.log.advance(sectors)
            }
            Run::File(place) => {
                let sectors = self.layout.bulk.clip(piece(&mut self.random, goes_on));
                let first_sector = self.layout.bulk.wrapped(place, sectors);
                self.writing = goes_on.then_some(Run::File(first_sector + u64::from(sectors)));
                (first_sector, sectors)
            }
            Run::Track(track) => {
                let sectors = piece(&mut self.random, goes_on);
                let Layout { temporary, streams, .. } = &mut self.layout;
                temporary.iter_mut().chain(streams).nth(track).expect("tracks do not vanish").advance(sectors)
            }
        }
    }

    /// The run that begins, or none for a single small write.
    fn start_writing(&mut self) -> Option<Run> {
        let (temporary, streams) = (self.layout.temporary.len(), self.layout.streams.len());
        if self.random.chance(self.file_runs[HostOp::Write.index()]) {
            let is_temporary = self.random.chance(TEMPORARY_SHARE);
            if !is_temporary && self.random.chance(SCATTERED_SHARE) {
                return Some(Run::File(self.popular_page(HostOp::Write)));
            }
            let (first, count) = if is_temporary { (0, temporary) } else { (temporary, streams) };
            return Some(Run::Track(first + self.random.below(count as u64) as usize));
        }
        self.random.chance(self.log_runs).then_some(Run::Log)
    }

    fn read(&mut self) -> (u64, u32) {
        let bulk = self.layout.bulk;
        let place = match self.reading.take() {
            Some(place) => place,
            None if self.random.chance(self.file_runs[HostOp::Read.index()]) => self.popular_page(HostOp::Read),
            None => return self.small(HostOp::Read),
        };
        let goes_on = self.random.chance(1.0 - 1.0 / FILE_PIECES);
        let sectors = bulk.clip(piece(&mut self.random, goes_on));
        let first_sector = bulk.wrapped(place, sectors);
        self.reading = goes_on.then_some(first_sector + u64::from(sectors));
        (first_sector, sectors)
    }

    /// A page of metadata or of a small file, or a part of it.
    fn small(&mut self, op: HostOp) -> (u64, u32) {
        let (sectors, _) = SMALL_SIZES[draw_index(&mut self.random, &SMALL_SIZES)];
        (self.popular_page(op), sectors)
    }

    /// First sector of a page.
    fn popular_page(&mut self, op: HostOp) -> u64 {
        let page = match op {
            HostOp::Read => self.read_page(),
            _ => self.popular[0].page(&mut self.random),
        };
        self.layout.bulk.first_sector + page * u64::from(PAGE_SECTORS)
    }

    /// Programs read here and there in a few places, then in others.
    fn read_page(&mut self) -> u64 {
        let is_nearby = !self.recent.is_empty() && self.random.chance(NEARBY_SHARE);
        if is_nearby {
            let recent = self.recent[self.random.below(self.recent.len() as u64) as usize];
            return self.popular[1].neighbour(recent, &mut self.random);
        }
        let page = self.popular[1].page(&mut self.random);
        if self.recent.len() < RECENT_RUNS {
            self.recent.push(page);
        } else {
            self.recent[self.oldest] = page;
            self.oldest = (self.oldest + 1) % RECENT_RUNS;
        }
        page
    }
}

impl Source for SystemDisk {
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let (first_sector, sectors) = if op == HostOp::Read { self.read() } else { self.write() };
        Access { first_sector, sectors, op }
    }
}

/// A piece of a file; the last one is as long as the rest happens to be.
pub(super) fn piece(random: &mut Stream, goes_on: bool) -> u32 {
    let pages = u64::from(PIECE_SECTORS / PAGE_SECTORS);
    if goes_on { PIECE_SECTORS } else { (2 + random.below(pages - 1)) as u32 * PAGE_SECTORS }
}

/// Probability that a new run is one of log records, so that the published share of small writes is
/// random: all single ones, and the first of each run.
fn log_runs() -> f64 {
    let in_log = (1.0 - SMALL_RANDOM_SHARE) / (1.0 - 1.0 / FILE_PIECES);
    in_log / (in_log + FILE_PIECES * (1.0 - in_log))
}

/// Probability that a new run is a file, so that requests have `mean_sectors`; a run of small
/// requests has `small_run` of them on average.
pub(super) fn file_runs(mean_sectors: f64, small_run: f64) -> f64 {
    let weights: u32 = SMALL_SIZES.iter().map(|(_, weight)| weight).sum();
    let small: f64 = SMALL_SIZES.iter().map(|(sectors, weight)| f64::from(sectors * weight)).sum();
    let small = small / f64::from(weights);
    let last = f64::from(PIECE_SECTORS / 2 + PAGE_SECTORS);
    let piece = (f64::from(PIECE_SECTORS) * (FILE_PIECES - 1.0) + last) / FILE_PIECES;
    let pieces = (mean_sectors - small) / (piece - small);
    pieces * small_run / (FILE_PIECES * (1.0 - pieces) + pieces * small_run)
}

/// Compares 300,000 requests on 27 GiB with the published figures.
/// Errors: none with the parameters used here; building other workloads can fail.
pub(super) fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let parameters = WorkloadParameters { seed, ..WorkloadParameters::new(27 << 21, 300_000) };
    let requests = requests("system-disk", &parameters)?;
    let profile = Profile::of(&requests);
    let regions = |op| {
        let first: Vec<Request> =
            requests.iter().filter(|request| request.op == op).take(BOOT_WRITES).copied().collect();
        Profile::of(&first).distinct_regions_per_request
    };
    let writes = 1.0 - profile.read_share;
    let sectors = profile.read_share * profile.read_sectors_mean + writes * profile.write_sectors_mean;
    let (long, small) = (profile.large_write_random_share, profile.small_write_random_share);
    Ok(vec![
        row("writes, % of requests", 67.21, percent(writes), Aim::Within(0.5)),
        row("mean request, KiB", 41.1, sectors / 2.0, Aim::Within(0.5)),
        row("random among writes longer than 8 sectors, %", 20.0, percent(long), Aim::Within(3.0)),
        row("random among writes of 1 to 8 sectors, %", 68.0, percent(small), Aim::Within(3.0)),
        row("distinct 1 MiB regions per write, of 16,259", 0.112, regions(HostOp::Write), Aim::Within(0.015)),
        row("distinct 1 MiB regions per read, of 16,259", 0.136, regions(HostOp::Read), Aim::Within(0.015)),
        row("mean gap, ms", 32.0, profile.interarrival_ns_mean / 1e6, Aim::Within(2.0)),
        row("deviation of the gap, ms", 229.0, profile.interarrival_ns_deviation / 1e6, Aim::Within(15.0)),
    ])
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let mut random = Stream::new(parameters.seed, "workload.system-disk");
    let layout = Layout::new(Region::footprint(parameters), &DesktopShape::default(), &mut random);
    let mean_sectors = parameters.request_bytes.unwrap_or(MEAN_BYTES) as f64 / SECTOR_BYTES as f64;
    let small_write_run = 1.0 + log_runs() * (FILE_PIECES - 1.0);
    let mut runs = [0.0; 2];
    runs[HostOp::Read.index()] = file_runs(mean_sectors, 1.0);
    runs[HostOp::Write.index()] = file_runs(mean_sectors, small_write_run);
    let page_sectors = u64::from(PAGE_SECTORS);
    let writes = Popularity::new(layout.bulk.sectors, page_sectors, WRITE_SKEW, &mut random);
    let source = SystemDisk {
        popular: [writes.clone(), writes.skewed(READ_SKEW)],
        random,
        ops: OpMix::new(parameters, READ_SHARE),
        layout,
        file_runs: runs,
        log_runs: log_runs(),
        writing: None,
        recent: Vec::with_capacity(RECENT_RUNS),
        oldest: 0,
        reading: None,
    };
    Box::new(Paced::new(name, parameters, ARRIVALS, source))
}
