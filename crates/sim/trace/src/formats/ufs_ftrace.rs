//! ftrace text of the `ufs:ufshcd_command` trace point: phones and other machines with UFS storage.
//!
//! ```text
//!   task-pid [cpu] flags seconds: ufshcd_command: send_req: device: tag: N, DB: 0x0, size: bytes, IS: N, LBA: block,
//!                                                 opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: N
//! ```
//!
//! `send_req` is the request; `complete_rsp` of the same device and tag tells its latency. `size` is in bytes and `LBA`
//! in logical blocks, which UFS has of 4096 bytes. Kernels from before 5.11 wrote `send` and counted sectors, and
//! are not read. Other commands are counted and left out.

use units::HostOp;

use super::nvme_ftrace::{find, time, value};
use super::reading::fields::{FieldResult, field_error};
use super::reading::in_flight::InFlight;
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "ufs-ftrace",
    doc: "ftrace text with ufshcd_command events of UFS storage",
    columns: "task-pid [cpu] flags seconds: ufshcd_command: send_req: device: tag: .., size: .., LBA: .., opcode: ..",
    time_unit: "s, decimal",
    address_unit: "4096-byte blocks, sizes in bytes",
    extensions: &[".ufs-ftrace"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(UfsFtrace::default())),
};

const EVENT: &[u8] = b": ufshcd_command: ";
const BLOCK_BYTES: u64 = 4096;

#[derive(Default)]
struct UfsFtrace {
    devices: Names,
    in_flight: InFlight,
}

impl LineParser for UfsFtrace {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let Some(at) = find(line, EVENT) else {
            sink.other();
            return Ok(());
        };
        let event = &line[at + EVENT.len()..];
        let Some(colon) = memchr::memchr(b':', event) else {
            return Err(field_error(0, "event", event, "send_req: or complete_rsp:"));
        };
        let (what, command) = (&event[..colon], &event[colon + 1..]);
        if !matches!(what, b"send_req" | b"complete_rsp") {
            sink.other();
            return Ok(());
        }
        let tag = field(command, "tag", b"tag: ")?;
        let device = find(command, b"tag: ").map_or(&b""[..], |tag| &command[..tag]);
        let device = device.trim_ascii().strip_suffix(b":").unwrap_or(b"");
        let time = time(&line[..at])?;
        let device = self.devices.number(device);
        if what == b"complete_rsp" {
            sink.other();
            return self.in_flight.complete(device, tag, time, sink);
        }
        let opcode = value(command, b"opcode: ").unwrap_or_default();
        let opcode = number::c_integer(opcode).ok_or_else(|| field_error(0, "opcode", opcode, "a SCSI code"))?;
        let op = match opcode {
            0x08 | 0x28 | 0x88 | 0xa8 => HostOp::Read,
            0x0a | 0x2a | 0x8a | 0xaa => HostOp::Write,
            0x42 => HostOp::Trim,
            0x35 | 0x91 => HostOp::Flush,
            _ => {
                sink.other();
                return Ok(());
            }
        };
        let mut record = TraceRecord::new(time, device, op, 0, 0);
        if op != HostOp::Flush {
            if value(command, b"size: ").is_some_and(|size| size.starts_with(b"-")) {
                sink.left_out("commands whose size the trace does not have");
                return Ok(());
            }
            record.length_bytes = field(command, "size", b"size: ")?;
            let block = field(command, "LBA", b"LBA: ")?;
            let beyond = || field_error(0, "LBA", block.to_string().as_bytes(), "an address below 2^64 bytes");
            record.offset_bytes = block.checked_mul(BLOCK_BYTES).ok_or_else(beyond)?;
        }
        self.in_flight.issue(tag, record, sink)
    }

    fn finish(&mut self, sink: &mut Sink) -> FieldResult<()> {
        self.in_flight.finish(sink)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.devices.name(device).filter(|name| !name.is_empty())
    }
}

fn field(command: &[u8], name: &'static str, key: &[u8]) -> FieldResult<u64> {
    let text = value(command, key).unwrap_or_default();
    number::integer(text).ok_or_else(|| field_error(0, name, text, "an integer of 0 or more, below 2^64"))
}
