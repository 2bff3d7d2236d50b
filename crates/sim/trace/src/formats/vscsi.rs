//! `VMware` `vSCSI` binary traces (`CloudPhysics`), versions 1 and 2.
//!
//! ```text
//!   v1, 32 bytes, little-endian: u32 sn len sg; u16 cmd ver; u64 lbn; u64 time_us
//!   v2, 40 bytes, little-endian: u16 cmd ver; u32 sn len sg; u64 lbn; u64 time_us; u64 response_us
//! ```
//!
//! `ver` holds the version in its upper byte. Length is in bytes, `lbn` in 512-byte blocks. Other
//! commands than reads, writes and cache synchronisation are counted and left out.

use units::HostOp;

use super::reading::fields::{FieldResult, field_error};
use super::reading::number::{u16_at, u32_at, u64_at};
use super::reading::parser::{FrameParser, Parser, Sink};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT_1: Format = Format {
    name: "vscsi1",
    doc: "VMware vSCSI binary traces, version 1",
    columns: "serial length segments command version block time_us",
    time_unit: "us",
    address_unit: "512-byte blocks, sizes in bytes",
    extensions: &[".vscsi", ".vscsi1"],
    usual_order: Order::Sort,
    parser: || Parser::Frames(Box::new(Version1)),
};

pub(super) const FORMAT_2: Format = Format {
    name: "vscsi2",
    doc: "VMware vSCSI binary traces, version 2, with response times",
    columns: "command version serial length segments block time_us response_us",
    extensions: &[".vscsi", ".vscsi2"],
    parser: || Parser::Frames(Box::new(Version2)),
    ..FORMAT_1
};

struct Version1;
struct Version2;

struct Frame {
    command: u16,
    version: u16,
    length: u32,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

impl FrameParser for Version1 {
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>> {
        let Some(bytes) = bytes.first_chunk::<32>() else { return Ok(None) };
        let frame = Frame {
            length: u32_at(bytes, 4),
            command: u16_at(bytes, 12),
            version: u16_at(bytes, 14),
            block: u64_at(bytes, 16),
            time_us: u64_at(bytes, 24),
            response_us: None,
        };
        frame.push(1, sink)?;
        Ok(Some(bytes.len()))
    }
}

impl FrameParser for Version2 {
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>> {
        let Some(bytes) = bytes.first_chunk::<40>() else { return Ok(None) };
        let frame = Frame {
            command: u16_at(bytes, 0),
            version: u16_at(bytes, 2),
            length: u32_at(bytes, 8),
            block: u64_at(bytes, 16),
            time_us: u64_at(bytes, 24),
            response_us: Some(u64_at(bytes, 32)),
        };
        frame.push(2, sink)?;
        Ok(Some(bytes.len()))
    }
}

impl Frame {
    fn push(&self, version: u16, sink: &mut Sink) -> FieldResult<()> {
        if self.version >> 8 != version {
            let found = format!("{:#x}", self.version);
            let expected = if version == 1 { "version 0x100" } else { "version 0x200" };
            return Err(field_error(0, "version", found.as_bytes(), expected));
        }
        let op = match self.command {
            0x08 | 0x28 | 0x88 | 0xa8 => HostOp::Read,
            0x0a | 0x2a | 0x8a | 0xaa => HostOp::Write,
            0x35 | 0x91 => HostOp::Flush,
            _ => {
                sink.other();
                return Ok(());
            }
        };
        let time = i64::try_from(self.time_us)
            .ok()
            .and_then(|us| us.checked_mul(1000))
            .ok_or_else(|| field_error(0, "time_us", self.time_us.to_string().as_bytes(), "a time below 292 years"))?;
        let mut record = TraceRecord::new(time, 0, op, 0, 0);
        record.latency_ns = self.response_us.and_then(|us| us.checked_mul(1000));
        if op != HostOp::Flush {
            record.length_bytes = u64::from(self.length);
            record.offset_bytes = self.block.checked_mul(SECTOR).ok_or_else(|| {
                field_error(0, "block", self.block.to_string().as_bytes(), "an address below 2^64 bytes")
            })?;
        }
        sink.push(record)
    }
}
