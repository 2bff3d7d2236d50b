//! Values that rows and figures take from the measurements.

use super::drives::{BLOCK_PAGES, LIMIT, NFTL, Place, RECORD, TWO_LEVEL};
use super::runs::Results;
use crate::simulate::Measurement;

impl Results {
    /// The place of a buffer with the log blocks and the limit of record.
    pub fn place(&self, variant: &'static str, mib: u64) -> Place {
        Place { variant, mib: if variant == NFTL { 0 } else { mib }, logs: self.logs, limit: LIMIT }
    }

    /// A measurement that was counted, without time.
    /// Panics if the study did not run it.
    pub fn at(&self, place: Place) -> &Measurement {
        &self.counted[&place]
    }

    /// The same for a buffer of record.
    pub fn of(&self, variant: &'static str, mib: u64) -> &Measurement {
        self.at(self.place(variant, mib))
    }

    /// The two-level buffer of the size of record with another limit of a small request.
    pub fn with_limit(&self, limit: u64) -> &Measurement {
        self.at(Place { limit, ..self.place(TWO_LEVEL, RECORD) })
    }
}

/// Erases by switches and by full merges.
fn kinds(measured: &Measurement) -> (f64, f64) {
    let of = |name| measured.counter(name) as f64;
    (of("merge_erases_switch"), of("merge_erases_full") + of("merge_erases_partial"))
}

/// Blocks erased by merges of any kind.
pub fn erases(measured: &Measurement) -> f64 {
    let (switch, merge) = kinds(measured);
    switch + merge
}

/// Erases by switches, % of erases.
pub fn switch_share(measured: &Measurement) -> f64 {
    kinds(measured).0 / erases(measured) * 100.0
}

/// Erases by merges that copy, % of erases.
pub fn merge_share(measured: &Measurement) -> f64 {
    kinds(measured).1 / erases(measured) * 100.0
}

/// Page writes that found their page in the page part, %.
pub fn page_hits(measured: &Measurement) -> f64 {
    let (hits, misses) = (measured.buffer_counter("page_hits") as f64, measured.buffer_counter("page_misses") as f64);
    hits / (hits + misses) * 100.0
}

/// Pages that leaving blocks held, % of a block.
pub fn utilisation(measured: &Measurement) -> f64 {
    let (held, blocks) = (measured.buffer_counter("block_pages_held"), measured.buffer_counter("blocks_written_back"));
    held as f64 / (blocks * BLOCK_PAGES) as f64 * 100.0
}

/// Programs for each page the host wrote.
pub fn write_amplification(measured: &Measurement) -> f64 {
    nand::Counters::total(&measured.flash.programs) as f64 / measured.host_page_writes as f64
}
