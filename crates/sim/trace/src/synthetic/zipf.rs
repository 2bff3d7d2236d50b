//! `zipf`: a few places are very popular, many are rare, by Zipf's law.
//!
//! Faithful to: the law as YCSB and most storage studies use it (exponent 0.99). Simplified: the
//! popularity of a place never changes. Popular places are scattered over the footprint by a
//! seeded permutation ([`Scatter`]), so that skew alone is tested, without spatial locality.
//! Protects: exact probabilities for any exponent from 0 to 10.

use engine::random::Stream;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::{OpMix, Slots};
use super::zipf_law::{Scatter, Zipf};
use crate::Workload;

const REQUEST_BYTES: u64 = 4096;
/// The exponent of the YCSB core workloads (Cooper et al., 2010).
const EXPONENT: f64 = 0.99;
/// Writes only, unless asked otherwise.
const READ_SHARE: f64 = 0.0;

struct ZipfSource {
    random: Stream,
    slots: Slots,
    ops: OpMix,
    law: Zipf,
    scatter: Scatter,
}

impl Source for ZipfSource {
    #[inline]
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let slot = self.scatter.place(self.law.draw(&mut self.random));
        Access { first_sector: self.slots.first_sector(slot), sectors: self.slots.slot_sectors, op }
    }
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let slots = Slots::footprint(parameters, REQUEST_BYTES);
    let mut random = Stream::new(parameters.seed, "workload.zipf");
    let scatter = Scatter::new(slots.slot_count, &mut random);
    let law = Zipf::new(slots.slot_count, parameters.zipf_exponent.unwrap_or(EXPONENT));
    let source = ZipfSource { random, slots, ops: OpMix::new(parameters, READ_SHARE), law, scatter };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
