//! ftrace text of the `scsi:scsi_dispatch_cmd_start` trace point: every command to SCSI and SATA disks.
//!
//! ```text
//!   task-pid [cpu] flags seconds: scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 .. driver_tag=5 ..
//!                                 cmnd=(WRITE_10 lba=8 txlen=8 protect=0 raw=2a 00 00 00 00 08 00 00 08 00)
//! ```
//!
//! `lba` and `txlen` count logical blocks, whose size is not in the trace: 512 bytes in `scsi-ftrace`, 4096 in
//! `scsi-ftrace-4k`. Kernels with `driver_tag` tell the latency: `scsi_dispatch_cmd_done` with the same tag has it.
//! Force unit access is in the raw command. A WRITE SAME that unmaps is a trim; the ranges of an UNMAP are not in the
//! trace, and it is counted and left out, like commands to zones and all others.

use units::HostOp;

use super::nvme_ftrace::{find, time, value};
use super::reading::fields::{FieldResult, field_error};
use super::reading::in_flight::InFlight;
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "scsi-ftrace",
    doc: "ftrace text with scsi_dispatch_cmd_start events, logical blocks of 512 bytes",
    columns: "task-pid [cpu] flags seconds: scsi_dispatch_cmd_start: host_no=.. id=.. lun=.. cmnd=(.. lba=.. txlen=..)",
    time_unit: "s, decimal",
    address_unit: "512-byte blocks",
    extensions: &[".scsi-ftrace"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(ScsiFtrace::of(512))),
};

pub(super) const FORMAT_4K: Format = Format {
    name: "scsi-ftrace-4k",
    doc: "ftrace text with scsi_dispatch_cmd_start events, logical blocks of 4096 bytes",
    address_unit: "4096-byte blocks",
    extensions: &[".scsi-ftrace-4k"],
    parser: || Parser::Lines(Box::new(ScsiFtrace::of(4096))),
    ..FORMAT
};

const START: &[u8] = b": scsi_dispatch_cmd_start: ";
const DONE: &[u8] = b": scsi_dispatch_cmd_done: ";
const READS: [&[u8]; 5] = [b"READ_6", b"READ_10", b"READ_12", b"READ_16", b"READ_32"];
const WRITES: [&[u8]; 5] = [b"WRITE_6", b"WRITE_10", b"WRITE_12", b"WRITE_16", b"WRITE_32"];
const WRITES_SAME: [&[u8]; 4] = [b"WRITE_SAME", b"WRITE_SAME_10", b"WRITE_SAME_16", b"WRITE_SAME_32"];
const FLUSHES: [&[u8]; 2] = [b"SYNCHRONIZE_CACHE", b"SYNCHRONIZE_CACHE_16"];
/// Writes with force unit access in bit 3 of the second byte.
const WITH_FUA: [&[u8]; 3] = [b"WRITE_10", b"WRITE_12", b"WRITE_16"];
const FUA: u64 = 1 << 3;

struct ScsiFtrace {
    block_bytes: u64,
    devices: Names,
    in_flight: InFlight,
}

impl ScsiFtrace {
    fn of(block_bytes: u64) -> ScsiFtrace {
        ScsiFtrace { block_bytes, devices: Names::default(), in_flight: InFlight::default() }
    }
}

impl LineParser for ScsiFtrace {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let Some(at) = find(line, START) else {
            return self.other(line, sink);
        };
        let event = &line[at + START.len()..];
        let Some(command) = find(event, b"cmnd=(").map(|at| &event[at + 6..]) else {
            return Err(field_error(0, "command", line, "cmnd=(...)"));
        };
        let name = command.split(|byte| matches!(byte, b' ' | b')')).next().unwrap_or_default();
        let op = match name {
            name if READS.contains(&name) => HostOp::Read,
            name if WRITES.contains(&name) => HostOp::Write,
            name if WRITES_SAME.contains(&name) && value(command, b"unmap=") == Some(b"1") => HostOp::Trim,
            name if WRITES_SAME.contains(&name) => HostOp::Write,
            name if FLUSHES.contains(&name) => HostOp::Flush,
            b"UNMAP" => {
                sink.left_out("UNMAP commands, whose ranges the trace does not have");
                return Ok(());
            }
            b"ZBC_OUT" => {
                sink.left_out("commands to zones");
                return Ok(());
            }
            _ => {
                sink.other();
                return Ok(());
            }
        };
        let mut record = TraceRecord::new(time(&line[..at])?, self.devices.number(device(event)), op, 0, 0);
        if op != HostOp::Flush {
            record.offset_bytes = self.blocks(command, "lba", b"lba=")?;
            record.length_bytes = self.blocks(command, "txlen", b"txlen=")?;
            record.fua = WITH_FUA.contains(&name) && has_fua(command);
        }
        match tag(event) {
            Some(tag) => self.in_flight.issue(tag, record, sink),
            None => sink.push(record),
        }
    }

    fn finish(&mut self, sink: &mut Sink) -> FieldResult<()> {
        self.in_flight.finish(sink)
    }

    fn notes(&self) -> Vec<String> {
        let block_note = "The trace does not say how long its blocks are, and they were read as 512 bytes (format \
             scsi-ftrace). Give format scsi-ftrace-4k for drives with blocks of 4096 bytes, such as UFS.";
        if self.block_bytes == 512 { vec![block_note.to_owned()] } else { Vec::new() }
    }

    fn device_name(&self, device: u32) -> Option<String> {
        let name = self.devices.name(device)?;
        let numbers: Vec<&str> = name.split(' ').filter_map(|field| Some(field.split_once('=')?.1)).collect();
        (!numbers.is_empty()).then(|| numbers.join(":"))
    }
}

impl ScsiFtrace {
    /// Counts a row that is not a command, and takes note of a completion.
    fn other(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        sink.other();
        let Some(at) = find(line, DONE) else { return Ok(()) };
        let event = &line[at + DONE.len()..];
        let Some(tag) = tag(event) else { return Ok(()) };
        let device = self.devices.number(device(event));
        self.in_flight.complete(device, tag, time(&line[..at])?, sink)
    }

    fn blocks(&self, command: &[u8], name: &'static str, key: &[u8]) -> FieldResult<u64> {
        let text = value(command, key).unwrap_or_default();
        number::integer(text)
            .and_then(|blocks| blocks.checked_mul(self.block_bytes))
            .ok_or_else(|| field_error(0, name, text, "an integer number of blocks"))
    }
}

/// `host_no=0 channel=0 id=0 lun=0`.
fn device(event: &[u8]) -> &[u8] {
    let end = find(event, b" lun=").map(|lun| lun + 5);
    let end = end.map(|digits| digits + event[digits..].iter().take_while(|byte| byte.is_ascii_digit()).count());
    end.map_or(b"", |end| event[..end].trim_ascii())
}

fn tag(event: &[u8]) -> Option<u64> {
    value(event, b"driver_tag=").and_then(number::integer)
}

fn has_fua(command: &[u8]) -> bool {
    let raw = find(command, b"raw=").map(|raw| &command[raw + 4..]);
    let second = raw.and_then(|raw| raw.get(3..5)).and_then(number::hexadecimal);
    second.is_some_and(|flags| flags & FUA != 0)
}
