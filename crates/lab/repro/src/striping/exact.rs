//! Results that hold exactly: the appendix of the publication, its examples, and where blocks are.

use super::drives::{self, BLOCKS, ERASE_BLOCK, Place, RECORD, SPARE, ZONES};
use crate::error::StudyError;
use crate::simulate::Bench;
use crate::study::Options;
use coded::{ZoneLayout, ZoneShape};
use erasure::{Decoder, GroupCode, Known, decodable_sets, ways};

/// Data blocks of the smallest code of the table, and of the largest.
pub const LEAST: u32 = 3;
const MOST: u32 = 8;

#[derive(Debug, Default)]
pub struct Exact {
    /// By data blocks from 3 on: sets that decode of each regular code.
    pub table: Vec<Vec<u64>>,
    /// Ways to read {x, y}; {z} with x and y buffered; {x, y, z}.
    pub ways: [u64; 3],
    /// Each step of the worked examples, and whether it is as published.
    pub vectors: Vec<(&'static str, bool)>,
    /// Of each bank, the banks of the data its code block is the sum of.
    pub placement: Vec<Vec<u32>>,
    /// Bytes of map by pages of a stripe block, and spare blocks by MiB of a zone.
    pub map_bytes: Vec<u64>,
    pub spare_blocks: Vec<u64>,
    /// Bytes of code zones, % of the bytes of data zones.
    pub extra_space: f64,
}

/// Runs all of it.
/// Errors: a drive cannot be built.
pub fn run(options: &Options) -> Result<Exact, StudyError> {
    let row = |n: u32| (1..=n).map(|m| decodable_sets(&regular(n, m), Decoder::Gauss)).collect();
    let (x, y, z) = (1, 2, 4);
    let three = regular(3, 2);
    let of = |wanted, buffered| ways(&three, Decoder::Peel, wanted, buffered);
    let map_bytes = |pages: &u64| {
        Ok(Bench::counters(&drives::bench(options, &Place { pages: *pages, ..RECORD }.plain())?.fresh())
            .zones_counter("map_bytes"))
    };
    let spare_blocks = |zone_mib: &u64| {
        let bench = drives::bench(options, &Place { zone_mib: *zone_mib, ..RECORD }.plain())?;
        let blocks = bench.flash_pages() * drives::PAGE_BYTES / ERASE_BLOCK;
        Ok(blocks - bench.sectors() * units::SECTOR_BYTES / ERASE_BLOCK)
    };
    Ok(Exact {
        table: (LEAST..=MOST).map(row).collect(),
        ways: [of(x | y, 0), of(z, x | y), of(x | y | z, 0)],
        vectors: vectors(),
        placement: placement(),
        map_bytes: BLOCKS.iter().map(map_bytes).collect::<Result<_, StudyError>>()?,
        spare_blocks: ZONES.iter().map(spare_blocks).collect::<Result<_, StudyError>>()?,
        extra_space: extra_space(options)?,
    })
}

/// Flash of the code zones beside that of the data zones, %.
fn extra_space(options: &Options) -> Result<f64, StudyError> {
    let [with, without] =
        [RECORD, RECORD.plain()].map(|place| Ok::<u64, StudyError>(drives::bench(options, &place)?.flash_pages()));
    let (with, without) = (with?, without?);
    Ok((with - without) as f64 / without as f64 * 100.0)
}

/// Spare blocks of a drive with `segments`, for the check of a row.
pub fn expected_spare(zones: u64) -> u64 {
    zones * drives::BANKS * SPARE
}

fn regular(n: u32, m: u32) -> GroupCode {
    GroupCode::regular(n, m).expect("m is 1 to n")
}

/// The steps of sections 3.1 and 3.2 of the publication.
fn vectors() -> Vec<(&'static str, bool)> {
    // Elements: a b c d, then ab bc cd da.
    let known = Known::new(regular(4, 2), Decoder::Peel);
    let [a, b, c, d, ab, bc, cd, da] = [0, 1, 2, 3, 4, 5, 6, 7].map(|element| 1_u32 << element);
    let after = known.from(a | d | cd);
    let all = known.code().all_data();
    let decodes = |have| known.decodes(have, all);
    vec![
        ("a, d, cd: c is known", after & c != 0),
        ("a, d, cd: c and da are taken back", after & da != 0),
        ("a, d, cd: b, ab, bc stay", after & (b | ab | bc) == 0),
        ("any of them ends it", [b, ab, bc].iter().all(|one| decodes(a | d | cd | one))),
        ("S20 S21 S76 S23", decodes(a | b | cd | d)),
        ("S20 S21 S75 S23", decodes(a | b | bc | d)),
        ("S74 S75 S76 S23", decodes(ab | bc | cd | d)),
    ]
}

/// Eight banks in groups of four.
fn placement() -> Vec<Vec<u32>> {
    let code = regular(4, 2);
    let shape = ZoneShape { banks: 8, zones: 8, code_zones: 1, rows: 16, pages: 4, group: 4 };
    let layout = ZoneLayout::new(shape, &code).expect("eight banks in groups of four");
    let mut banks = vec![Vec::new(); 8];
    for (group, row) in (0..2).flat_map(|group| (0..4).map(move |row| (group, row))) {
        let sources = (0..4).filter(|at| code.sources(row) >> at & 1 == 1).map(|at| group * 4 + at);
        banks[layout.code_bank(group, row) as usize] = sources.collect();
    }
    banks
}
