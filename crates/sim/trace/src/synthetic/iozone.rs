//! `iozone`: one file through the phases of the `IOzone` benchmark.
//!
//! ```text
//! sequential write -> rewrite -> sequential read -> random read -> random write
//! ```
//!
//! Faithful to: the order of `IOzone`'s automatic mode, with 64 KiB records by default. Simplified:
//! five phases of equal request counts (the last takes the remainder) instead of one pass each;
//! the file is the whole footprint, without a file system; the host's page cache is left to the
//! run's queue depth. Protects: phases of a sequential kind restart at record 0 and wrap at the
//! end of the file.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::Slots;
use super::sequential::Sequential;
use crate::Workload;

/// Record size where none is given, in bytes.
const RECORD_BYTES: u64 = 64 * 1024;

/// Operation and order of each phase.
const PHASES: [(HostOp, Order); 5] = [
    (HostOp::Write, Order::Sequential),
    (HostOp::Write, Order::Sequential),
    (HostOp::Read, Order::Sequential),
    (HostOp::Read, Order::Random),
    (HostOp::Write, Order::Random),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

struct Iozone {
    random: Stream,
    records: Slots,
    cursor: Sequential,
    phase: usize,
    phase_requests: u64,
    left_in_phase: u64,
}

impl Iozone {
    fn enter_next_phase(&mut self) {
        self.phase += 1;
        self.left_in_phase = self.phase_requests;
        self.cursor = Sequential::new(self.records, PHASES[self.phase].0);
    }
}

impl Source for Iozone {
    fn next_access(&mut self) -> Access {
        while self.left_in_phase == 0 && self.phase + 1 < PHASES.len() {
            self.enter_next_phase();
        }
        self.left_in_phase = self.left_in_phase.saturating_sub(1);
        let (op, order) = PHASES[self.phase];
        match order {
            Order::Sequential => self.cursor.next_access(),
            Order::Random => {
                let record = self.random.below(self.records.slot_count);
                let first_sector = self.records.first_sector(record);
                Access { first_sector, sectors: self.records.slot_sectors, op }
            }
        }
    }
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    let records = Slots::footprint(parameters, RECORD_BYTES);
    let phase_requests = parameters.access_count() / PHASES.len() as u64;
    let source = Iozone {
        random: Stream::new(parameters.seed, "workload.iozone"),
        records,
        cursor: Sequential::new(records, PHASES[0].0),
        phase: 0,
        phase_requests,
        left_in_phase: phase_requests,
    };
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, source))
}
