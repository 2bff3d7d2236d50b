//! `sequential-write` and `sequential-read`: from sector 0 to the end of the footprint, again and
//! again.
//!
//! Faithful to: a fill or a scan of the whole drive by one process. Simplified: no file system in
//! between. Protects: each place is visited exactly once per pass.

use units::HostOp;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::Slots;
use crate::Workload;

/// Request size where none is given, in bytes: large enough to keep every channel busy.
const REQUEST_BYTES: u64 = 128 * 1024;

/// A cursor over the slots; `iozone` uses it too.
pub(super) struct Sequential {
    slots: Slots,
    next_slot: u64,
    op: HostOp,
}

impl Sequential {
    /// Starts at slot 0.
    pub fn new(slots: Slots, op: HostOp) -> Self {
        Self { slots, next_slot: 0, op }
    }
}

impl Source for Sequential {
    #[inline]
    fn next_access(&mut self) -> Access {
        let slot = self.next_slot;
        self.next_slot = if slot + 1 == self.slots.slot_count { 0 } else { slot + 1 };
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
    let source = Sequential::new(Slots::footprint(parameters, REQUEST_BYTES), op);
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
