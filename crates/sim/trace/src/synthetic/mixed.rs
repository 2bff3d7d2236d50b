//! `mixed`: uniform reads and writes, with trims on request.
//!
//! Faithful to: the random read-write mix of drive data sheets (70 % reads of 4 KiB).
//! Simplified: reads, writes and trims share sizes and places and are drawn independently, so a
//! read may meet a place never written or already trimmed. Protects: the shares asked for.

use engine::random::Stream;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::{OpMix, Slots};
use crate::Workload;

const REQUEST_BYTES: u64 = 4096;

/// The customary mix of data sheets and vendors' benchmarks.
const READ_SHARE: f64 = 0.7;

struct Mixed {
    random: Stream,
    slots: Slots,
    ops: OpMix,
}

impl Source for Mixed {
    #[inline]
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let slot = self.random.below(self.slots.slot_count);
        Access { first_sector: self.slots.first_sector(slot), sectors: self.slots.slot_sectors, op }
    }
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let source = Mixed {
        random: Stream::new(parameters.seed, "workload.mixed"),
        slots: Slots::footprint(parameters, REQUEST_BYTES),
        ops: OpMix::new(parameters, READ_SHARE),
    };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
