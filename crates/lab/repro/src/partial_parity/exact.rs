//! Costs that hold exactly, on drives small enough to look at every request.

use super::TARGETS;
use super::drives::{self, PAGE_BYTES, PPC};
use crate::error::StudyError;
use crate::simulate::{Bench, Measurement, serve};
use crate::study::Options;
use engine::random::Stream;
use nand::{CountedFlash, Counters};
use simulator::{BlockDevice, Completions, Drive, Progress};
use units::{Cause, DieId, HostOp, Request, SECTOR_BYTES};

/// Data chips of the small drives.
pub const WIDTHS: [u64; 3] = [4, 5, 8];
/// Stripes of a small drive.
const STRIPES: u64 = 40;
/// Stripes of the one that is short of room.
const MANY: u64 = 4000;
const PAGE_SECTORS: u64 = PAGE_BYTES / SECTOR_BYTES;

/// Flash reads and programs.
pub type Cost = (u64, u64);

#[derive(Debug, Default)]
pub struct Exact {
    /// Parity reads and programs of the three cases of an update.
    pub cases: Vec<Cost>,
    /// Parity reads and programs of a commit of 1, 2 and so on pages, but not all: by data chips.
    pub commits: Vec<(u64, Vec<Cost>)>,
    /// All reads and programs of an update of one page under native RAID-5.
    pub update: Cost,
    /// Reads that compute a page of a lost chip: one that the partial parity covers, by newer pages of its stripe; then
    /// one that it does not cover, and one of a stripe whose parity is up to date.
    pub recovery: (Vec<u64>, [u64; 2]),
    /// Most reads of a commit under random writes with collection at work: by data chips; and commits.
    pub most_reads: Vec<(u64, u64, u64)>,
    /// Size of a partial parity cache.
    pub cache: CacheSize,
}

/// The size of a partial parity cache, and the numbers it follows from.
#[derive(Debug, Default)]
pub struct CacheSize {
    /// The size that the drive reports, bits.
    pub bits: u64,
    /// Entries of the cache of parities.
    pub entries: u64,
    /// Stripes of the drive.
    pub stripes: u64,
    /// Chips that hold data.
    pub data: u64,
    /// Bits of a page.
    pub page_bits: u64,
}

/// `data` chips and one more, no buffer; `spare` % of flash beyond what data and parity take.
fn small(
    options: &Options,
    kind: &str,
    data: u64,
    stripes: u64,
    entries: u64,
    spare: u64,
) -> Result<Bench, StudyError> {
    let further = [
        ("drive.capacity", format!("{}B", data * stripes * PAGE_BYTES)),
        ("drive.over_provisioning", format!("{spare}%")),
        ("flash.channels", (data + 1).to_string()),
        ("stripe.kind", kind.to_owned()),
        ("stripe.cache.entries", entries.to_string()),
    ];
    TARGETS.bench(options, &format!("{kind} of {data} data chips"), &["every drive", "small"], further)
}

/// Writes pages, waits until nothing is left to do, and says what that cost.
fn write(drive: &mut Drive<CountedFlash>, page: u64, pages: u64) -> Measurement {
    drive.flash_mut().state_mut().reset_counters();
    drive.top_mut().reset_counters();
    put(drive, page, pages);
    Bench::counters(drive)
}

fn put(drive: &mut Drive<CountedFlash>, page: u64, pages: u64) {
    let sectors = (pages * PAGE_SECTORS) as u32;
    drive.submit(0, &Request { arrival: 0, first_sector: page * PAGE_SECTORS, sectors, op: HostOp::Write, fua: false });
    let mut completions = Completions::default();
    while drive.advance(&mut completions) != Progress::Idle {}
}

fn parity_cost(measured: &Measurement) -> Cost {
    let parity = Cause::Parity.index();
    (measured.flash.reads[parity], measured.flash.programs[parity])
}

/// A drive written once as full stripes.
fn filled(bench: &Bench) -> Drive<CountedFlash> {
    let mut drive = bench.fresh();
    let pages = drive.sectors() / PAGE_SECTORS;
    put(&mut drive, 0, pages);
    drive
}

/// Runs all of it.
/// Errors: a drive cannot be built.
pub fn run(options: &Options) -> Result<Exact, StudyError> {
    Ok(Exact {
        cases: cases(options)?,
        commits: WIDTHS.iter().map(|data| Ok((*data, commits(options, *data)?))).collect::<Result<_, StudyError>>()?,
        update: update(options)?,
        recovery: recovery(options)?,
        most_reads: WIDTHS.iter().map(|data| most_reads(options, *data)).collect::<Result<_, StudyError>>()?,
        cache: cache(options)?,
    })
}

/// Page 1 is written to a stripe without entry, page 2 beside it, page 1 again.
fn cases(options: &Options) -> Result<Vec<Cost>, StudyError> {
    let mut drive = filled(&small(options, "raid5-ppc", 4, STRIPES, 4, 900)?);
    Ok([1, 2, 1].iter().map(|page| parity_cost(&write(&mut drive, *page, 1))).collect())
}

/// A cache of one entry: the next stripe drives the last one out.
fn commits(options: &Options, data: u64) -> Result<Vec<Cost>, StudyError> {
    let mut drive = filled(&small(options, "raid5-ppc", data, STRIPES, 1, 900)?);
    let mut costs = Vec::new();
    for newer in 1..data {
        let (stripe, next) = (newer, newer + STRIPES / 2);
        (0..newer).for_each(|page| put(&mut drive, stripe * data + page, 1));
        costs.push(parity_cost(&write(&mut drive, next * data, 1)));
        // A full stripe leaves the cache at once, and its place is free.
        put(&mut drive, next * data, data);
    }
    Ok(costs)
}

fn update(options: &Options) -> Result<Cost, StudyError> {
    let mut drive = filled(&small(options, "raid5", 4, STRIPES, 1, 900)?);
    let flash = write(&mut drive, 1, 1).flash;
    Ok((Counters::total(&flash.reads), Counters::total(&flash.programs)))
}

/// Page 0 of a stripe of four is on chip 0, which is lost.
fn recovery(options: &Options) -> Result<(Vec<u64>, [u64; 2]), StudyError> {
    let bench = small(options, "raid5-ppc", 4, STRIPES, 4, 900)?;
    let reads_after = |newer: &[u64]| {
        let mut drive = filled(&bench);
        for page in newer {
            put(&mut drive, *page, 1);
        }
        drive.kill_die(DieId(0));
        drive.advance(&mut Completions::default());
        let read = Request { arrival: 0, first_sector: 0, sectors: PAGE_SECTORS as u32, op: HostOp::Read, fua: false };
        Counters::total(&serve(&mut drive, &read).flash.reads)
    };
    let covered = [&[0][..], &[0, 1], &[0, 1, 2]].map(reads_after);
    Ok((covered.to_vec(), [&[1, 2][..], &[]].map(reads_after)))
}

/// Single pages anywhere, four times as many as there are: data chips, most reads of a commit, commits.
fn most_reads(options: &Options, data: u64) -> Result<(u64, u64, u64), StudyError> {
    let mut drive = filled(&small(options, "raid5-ppc", data, MANY, MANY / 10, 30)?);
    let mut stream = Stream::new(options.seed, "repro.partial-parity.commits");
    (0..4 * data * MANY).for_each(|_| put(&mut drive, stream.below(data * MANY), 1));
    let counted = Bench::counters(&drive);
    let commits = counted.stripe_counter("commits_replacement") + counted.stripe_counter("commits_collection");
    Ok((data, counted.stripe_counter("commit_reads_most"), commits))
}

fn cache(options: &Options) -> Result<CacheSize, StudyError> {
    let bench = drives::bench(options, drives::of_record(options, PPC))?;
    let bits = Bench::counters(&bench.fresh()).stripe_counter("cache_bits");
    let (data, entries) = (drives::DATA, bench.whole("stripe.cache.entries"));
    let stripes = bench.sectors() / PAGE_SECTORS / data;
    Ok(CacheSize { bits, entries, stripes, data, page_bits: PAGE_BYTES * 8 })
}
