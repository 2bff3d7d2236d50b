//! `oracleGeneral`: binary traces of the cache simulator libCacheSim.
//!
//! ```text
//!   24 bytes, little-endian: u32 time_s; u64 object; u32 size; i64 next_access
//! ```
//!
//! These are traces of caches: an object is no address, and there is no operation, so every record is
//! a read. In a trace that was made from a block trace the object is an address all the same: a
//! number of 512-byte sectors where it came from `CloudPhysics` (the sample of libCacheSim), and a
//! number of bytes where a byte offset was copied. Nothing in the file tells which, so there is a
//! format for each. Objects that are hashes fit neither.
//!
//! Seconds are whole, so hundreds of records arrive together.

use units::HostOp;

use super::reading::fields::{FieldResult, field_error};
use super::reading::number::{u32_at, u64_at};
use super::reading::parser::{FrameParser, Parser, Sink};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "oracle-general",
    doc: "libCacheSim oracleGeneral, objects as 512-byte sectors; reads only",
    columns: "time_s object size next_access",
    time_unit: "whole s",
    address_unit: "objects as 512-byte sectors, sizes in bytes",
    extensions: &[".oraclegeneral", ".oraclegeneral.bin"],
    usual_order: Order::Sort,
    parser: || Parser::Frames(Box::new(OracleGeneral { unit: SECTOR })),
};

pub(super) const FORMAT_BYTES: Format = Format {
    name: "oracle-general-bytes",
    doc: "libCacheSim oracleGeneral, objects as byte offsets; reads only",
    address_unit: "objects as bytes, sizes in bytes",
    parser: || Parser::Frames(Box::new(OracleGeneral { unit: 1 })),
    ..FORMAT
};

const RECORD_BYTES: usize = 24;
/// The expected form of an object.
pub(super) const OBJECT: &str = "an address below 2^64 bytes (an object that is a hash is none)";

struct OracleGeneral {
    /// Bytes of an object number.
    unit: u64,
}

impl FrameParser for OracleGeneral {
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>> {
        let Some(record) = bytes.first_chunk::<RECORD_BYTES>() else { return Ok(None) };
        let object = u64_at(record, 4);
        let offset = object
            .checked_mul(self.unit)
            .ok_or_else(|| field_error(2, "object", object.to_string().as_bytes(), OBJECT))?;
        let time = i64::from(u32_at(record, 0)) * 1_000_000_000;
        sink.push(TraceRecord::new(time, 0, HostOp::Read, offset, u64::from(u32_at(record, 12))))?;
        Ok(Some(RECORD_BYTES))
    }
}
