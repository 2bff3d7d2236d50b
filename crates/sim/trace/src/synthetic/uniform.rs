//! `uniform-write` and `uniform-read`: every aligned place is equally likely each time.
//!
//! Faithful to: the independent reference model, for which the analytic write amplification
//! results hold. Simplified: one size, one operation. Protects: one multiplication per address,
//! so that the generator costs little beside the simulator it feeds.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::Slots;
use crate::Workload;

/// Request size where none is given, in bytes: one mapping unit of most drives.
const REQUEST_BYTES: u64 = 4096;

struct Uniform {
    random: Stream,
    slots: Slots,
    op: HostOp,
}

impl Source for Uniform {
    #[inline(always)]
    fn next_access(&mut self) -> Access {
        let slot = self.random.below(self.slots.slot_count);
        Access { first_sector: self.slots.first_sector(slot), sectors: self.slots.slot_sectors, op: self.op }
    }
}

pub(super) fn write(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    build(name, parameters, HostOp::Write)
}

pub(super) fn read(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    build(name, parameters, HostOp::Read)
}

fn build(name: &'static str, parameters: &WorkloadParameters, op: HostOp) -> Box<dyn Workload + Send> {
    let random = Stream::new(parameters.seed, &format!("workload.{name}"));
    let source = Uniform { random, slots: Slots::footprint(parameters, REQUEST_BYTES), op };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
