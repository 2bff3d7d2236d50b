//! The log of the faults that happened.

use super::Fault;
use units::{HostOp, Nanos, SECTOR_BYTES};

/// A fault that was given, or that has hit a request or sectors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Injected {
    /// Simulated time since the drive was made, ns.
    pub time: Nanos,
    /// The number of the fault, from 1, in the order in which faults of requests and power cuts were given; 0 for
    /// others.
    pub fault: u32,
    /// The name of the fault.
    pub kind: &'static str,
    /// The fault in words, in the entry that tells that it was given.
    pub given: Option<String>,
    /// The operation that was hit; `None`: no request was.
    pub op: Option<HostOp>,
    /// The first byte that is affected.
    pub offset: u64,
    /// Bytes that are affected.
    pub length: u64,
    /// The first byte of the place where a misdirected request went.
    pub to_offset: Option<u64>,
    /// The bit that was flipped, from the lowest bit of the byte at `offset` on.
    pub bit: Option<u32>,
}

impl Injected {
    /// A fault without a number was given.
    pub(crate) fn given(time: Nanos, fault: Fault) -> Self {
        Self { given: Some(fault.to_string()), ..Self::new(time, 0, fault.name()) }
    }

    pub(super) fn new(time: Nanos, fault: u32, kind: &'static str) -> Self {
        Self { time, fault, kind, given: None, op: None, offset: 0, length: 0, to_offset: None, bit: None }
    }

    pub(super) fn at(self, op: HostOp, sectors: (u64, u64)) -> Self {
        let (offset, length) = (sectors.0 * SECTOR_BYTES, (sectors.1 - sectors.0) * SECTOR_BYTES);
        Self { op: Some(op), offset, length, ..self }
    }

    /// An object in one line, by `fault-log.schema.json`.
    pub fn to_json(&self) -> String {
        let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
        let place = |bytes: u64| or_null(self.op.map(|_| bytes.to_string()));
        let (time, fault, kind) = (self.time, self.fault, self.kind);
        format!(
            "{{\"time_ns\":{time},\"fault\":{fault},\"kind\":\"{kind}\",\"given\":{},\"op\":{},\"offset\":{},\
             \"length\":{},\"to_offset\":{},\"bit\":{}}}",
            or_null(self.given.as_ref().map(|given| format!("\"{given}\""))),
            or_null(self.op.map(|op| format!("\"{}\"", op.name()))),
            place(self.offset),
            place(self.length),
            or_null(self.to_offset.map(|offset| offset.to_string())),
            or_null(self.bit.map(|bit| bit.to_string())),
        )
    }
}
