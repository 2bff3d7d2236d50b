//! Counts that hold exactly, on drives small enough to look at every request.

use super::TARGETS;
use crate::error::StudyError;
use crate::simulate::{Bench, Measurement, serve};
use crate::study::Options;
use engine::random::Stream;
use nand::{CountedFlash, Flash};
use simulator::Drive;
use units::{Cause, HostOp, Request};

#[derive(Debug, Default)]
pub struct Exact {
    /// Least and most translation reads and programs of a missing entry in DFTL.
    pub miss_costs: Option<[(u64, u64); 2]>,
    /// TPM: data blocks collected, translation pages programmed for them, and whether there was never
    /// more than one for each.
    pub tpm_collection: (u64, u64, bool),
    /// DFTL: data pages copied, translation pages programmed for them, and whether there were never more.
    pub dftl_collection: (u64, u64, bool),
    /// Translation pages of logical pages 135 and 145.
    pub translation_pages: [u64; 2],
    /// Full blocks before and after the fourth write to one translation page.
    pub full_blocks: [usize; 2],
}

/// Map entries of a translation page, as in the published figure.
const ENTRIES: u64 = 8;
/// Logical pages of the small drives.
const USER_PAGES: u64 = 512;
const SECTORS_PER_PAGE: u64 = 4;

/// A drive of 1 MiB. Write pointers of its own take a block for each of TPM's translation pages.
fn small(
    name: &str,
    kind: &str,
    pages_per_block: u32,
    cache_bytes: u64,
    options: &Options,
) -> Result<Bench, StudyError> {
    let spare = if kind == "tpm" { "300%" } else { "60%" };
    let further = [
        ("drive.over_provisioning", spare.to_owned()),
        ("flash.pages_per_block", pages_per_block.to_string()),
        ("ftl.kind", kind.to_owned()),
        ("ftl.map_cache", format!("{cache_bytes}B")),
    ];
    TARGETS.bench(options, name, &["small"], further)
}

fn request(op: HostOp, page: u64) -> Request {
    Request { arrival: 0, first_sector: page * SECTORS_PER_PAGE, sectors: SECTORS_PER_PAGE as u32, op, fua: false }
}

fn write(drive: &mut Drive<CountedFlash>, page: u64) -> Measurement {
    serve(drive, &request(HostOp::Write, page))
}

fn read(drive: &mut Drive<CountedFlash>, page: u64) -> Measurement {
    serve(drive, &request(HostOp::Read, page))
}

/// Runs all of it.
/// Errors: a drive cannot be built.
pub fn run(options: &Options) -> Result<Exact, StudyError> {
    Ok(Exact {
        miss_costs: miss_costs(options)?,
        tpm_collection: collection("tpm", 128, options, |m| m.counter("data_victims"))?,
        dftl_collection: collection("dftl", 64, options, |m| m.counter("data_victim_translation_pages"))?,
        translation_pages: [translation_page(135, options)?, translation_page(145, options)?],
        full_blocks: fourth_write(options)?,
    })
}

/// Reads and writes at random places of a drive in use; requests that meet a collection are left out.
fn miss_costs(options: &Options) -> Result<Option<[(u64, u64); 2]>, StudyError> {
    let bench = small("DFTL of 8 entries", "dftl", 16, 64, options)?;
    let mut drive = bench.fresh();
    (0..USER_PAGES).for_each(|page| {
        write(&mut drive, page);
    });
    let mut stream = Stream::new(options.seed, "repro.tpm.misses");
    let mut costs: Option<[(u64, u64); 2]> = None;
    for _ in 0..4000 {
        let op = if stream.chance(0.3) { HostOp::Write } else { HostOp::Read };
        let measured = serve(&mut drive, &request(op, stream.below(USER_PAGES)));
        let collected = measured.counter("data_victims") + measured.counter("translation_victims");
        if measured.cache.1 == 1 && collected == 0 && measured.erases() == 0 {
            let mapping = Cause::Mapping.index();
            let cost = (measured.flash.reads[mapping], measured.flash.programs[mapping]);
            let [least, most] = costs.unwrap_or([cost; 2]);
            costs = Some([(least.0.min(cost.0), least.1.min(cost.1)), (most.0.max(cost.0), most.1.max(cost.1))]);
        }
    }
    Ok(costs)
}

/// Random writes until much was collected: the allowance of each request, what was programmed, and
/// whether the allowance was kept by each request.
fn collection(
    kind: &str,
    cache_bytes: u64,
    options: &Options,
    allowance: impl Fn(&Measurement) -> u64,
) -> Result<(u64, u64, bool), StudyError> {
    let bench = small(&format!("{kind} of 1 MiB"), kind, 16, cache_bytes, options)?;
    let mut drive = bench.fresh();
    let mut stream = Stream::new(options.seed, "repro.tpm.collection");
    let (mut allowed, mut updated, mut kept) = (0, 0, true);
    for _ in 0..20 * USER_PAGES {
        let measured = write(&mut drive, stream.below(USER_PAGES));
        let (most, updates) = (allowance(&measured), measured.counter("translation_gc_updates"));
        allowed += most;
        updated += updates;
        kept &= updates <= most;
    }
    Ok((allowed, updated, kept && allowed > 0))
}

/// The translation page of a logical page, told from outside: it is cached together with its
/// neighbours and with nothing else.
fn translation_page(page: u64, options: &Options) -> Result<u64, StudyError> {
    // Four slots of eight entries of four bytes.
    let bench = small("TPM of figure 3", "tpm", 16, 4 * ENTRIES * 4, options)?;
    let mut drive = bench.fresh();
    (0..USER_PAGES).for_each(|page| {
        write(&mut drive, page);
    });
    let mut together = Vec::new();
    for neighbour in page - 2 * ENTRIES..page + 2 * ENTRIES {
        for far in 0..4 {
            read(&mut drive, 256 + far * ENTRIES);
        }
        read(&mut drive, page);
        if read(&mut drive, neighbour).cache.0 == 1 {
            together.push(neighbour);
        }
    }
    let first = together[0];
    let whole = together.len() as u64 == ENTRIES && together.windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert!(whole && first.is_multiple_of(ENTRIES), "page {page} is cached with {together:?}");
    Ok(first / ENTRIES)
}

/// Blocks of four pages, as in the figure: three pages of translation page 18 lie behind its write
/// pointer, pages of others go elsewhere, and page 145 takes the last place.
fn fourth_write(options: &Options) -> Result<[usize; 2], StudyError> {
    let bench = small("TPM of figure 3", "tpm", 4, 64 * ENTRIES * 4, options)?;
    let mut drive = bench.fresh();
    let full = |drive: &Drive<CountedFlash>| drive.flash().state().export().0.iter().filter(|row| row[0] == 4).count();
    for page in [135, 144, 136, 146, 152, 147] {
        write(&mut drive, page);
    }
    let before = full(&drive);
    write(&mut drive, 145);
    Ok([before, full(&drive)])
}
