//! `hot-cold`: a part f of the footprint gets a share r of the requests, uniformly inside each part.
//!
//! Faithful to: the two-temperature model of log-structured cleaning studies (Rosenblum and
//! Ousterhout, 1992, use 10/90; here 20/80 is the default). Simplified: the hot part is the lowest
//! addresses and never moves. Protects: both parts hold at least one place where the footprint
//! does; with a single place, everything goes there.

use engine::random::Stream;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::{OpMix, Slots};
use crate::Workload;

const REQUEST_BYTES: u64 = 4096;
const HOT_SPACE: f64 = 0.2;
const HOT_TRAFFIC: f64 = 0.8;
/// Writes only, unless asked otherwise: cleaning studies count writes.
const READ_SHARE: f64 = 0.0;

struct HotCold {
    random: Stream,
    slots: Slots,
    hot_count: u64,
    hot_traffic: f64,
    ops: OpMix,
}

impl Source for HotCold {
    #[inline]
    fn next_access(&mut self) -> Access {
        let op = self.ops.draw(&mut self.random);
        let (first, count) = if self.random.chance(self.hot_traffic) {
            (0, self.hot_count)
        } else {
            (self.hot_count, self.slots.slot_count - self.hot_count)
        };
        // A footprint of a single place has no cold part.
        let slot = if count == 0 { 0 } else { first + self.random.below(count) };
        Access { first_sector: self.slots.first_sector(slot), sectors: self.slots.slot_sectors, op }
    }
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let slots = Slots::footprint(parameters, REQUEST_BYTES);
    let hot_space = parameters.hot_space.unwrap_or(HOT_SPACE);
    let hot_count = libm::round(slots.slot_count as f64 * hot_space) as u64;
    let source = HotCold {
        random: Stream::new(parameters.seed, "workload.hot-cold"),
        slots,
        hot_count: hot_count.min(slots.slot_count - 1).max(1),
        hot_traffic: parameters.hot_traffic.unwrap_or(HOT_TRAFFIC),
        ops: OpMix::new(parameters, READ_SHARE),
    };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
