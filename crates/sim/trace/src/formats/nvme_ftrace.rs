//! ftrace text of the `nvme:nvme_setup_cmd` trace point: every command at submission.
//!
//! `slba` counts namespace blocks, whose size is not in the trace: 512 bytes in `nvme-ftrace`,
//! 4096 in `nvme-ftrace-4k`. `len` is zero-based: `len=7` is eight blocks. Bit 14 of `ctrl` is
//! force unit access. Write Zeroes becomes a trim (drives deallocate); Dataset Management carries
//! its ranges elsewhere and is counted, like admin commands and the other trace points.
//!
//! A zone append is a write behind what was appended to its zone before. A reset of a zone frees a zone
//! whose length is not in the trace; it and other commands to zones are counted and left out.

use units::HostOp;

use super::reading::fields::{FieldResult, NOT_NEGATIVE, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::reading::rwbs::{Appends, Zone};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "nvme-ftrace",
    doc: "ftrace text with nvme_setup_cmd events, namespace blocks of 512 bytes",
    columns: "task-pid [cpu] flags seconds: nvme_setup_cmd: nvmeX: disk=.., cmd=(.. slba=.., len=.., ctrl=..)",
    time_unit: "s, decimal",
    address_unit: "512-byte namespace blocks",
    extensions: &[".nvme-ftrace"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(NvmeFtrace::of(512))),
};

pub(super) const FORMAT_4K: Format = Format {
    name: "nvme-ftrace-4k",
    doc: "ftrace text with nvme_setup_cmd events, namespace blocks of 4096 bytes",
    address_unit: "4096-byte namespace blocks",
    extensions: &[".nvme-ftrace-4k"],
    parser: || Parser::Lines(Box::new(NvmeFtrace::of(4096))),
    ..FORMAT
};

const EVENT: &[u8] = b": nvme_setup_cmd: ";
const CTRL_FUA: u64 = 1 << 14;

struct NvmeFtrace {
    block_bytes: u64,
    disks: Names,
    appends: Appends,
}

impl LineParser for NvmeFtrace {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let Some(event) = find(line, EVENT) else {
            sink.other();
            return Ok(());
        };
        let Some(command) = find(line, b"cmd=(").map(|at| &line[at + 5..]) else {
            return Err(field_error(0, "command", line, "cmd=(...)"));
        };
        let name = command.split(|byte| matches!(byte, b' ' | b')')).next().unwrap_or_default();
        let op = match name {
            b"nvme_cmd_read" => HostOp::Read,
            b"nvme_cmd_write" | b"nvme_cmd_zone_append" => HostOp::Write,
            b"nvme_cmd_write_zeroes" => HostOp::Trim,
            b"nvme_cmd_flush" => HostOp::Flush,
            b"nvme_cmd_zone_mgmt_send" => {
                self.manage_zone(line, command, sink);
                return Ok(());
            }
            // Kernels from before 5.12 do not know the commands to zones.
            b"0x7d" | b"0x79" => {
                sink.left_out("commands to zones that the trace has as bytes");
                return Ok(());
            }
            _ => {
                sink.other();
                return Ok(());
            }
        };
        let disk = value(line, b"disk=").unwrap_or_default();
        let mut record = TraceRecord::new(time(&line[..event])?, self.disks.number(disk), op, 0, 0);
        if op != HostOp::Flush {
            record.offset_bytes = self.blocks(command, "slba", b"slba=", 0)?;
            record.length_bytes = self.blocks(command, "len", b"len=", 1)?;
            let ctrl = value(command, b"ctrl=").and_then(number::c_integer).unwrap_or(0);
            record.fua = op == HostOp::Write && ctrl & CTRL_FUA != 0;
        }
        if name == b"nvme_cmd_zone_append" {
            let TraceRecord { device, offset_bytes, length_bytes, .. } = record;
            record.offset_bytes = self.appends.place(Zone::Append, device, offset_bytes, length_bytes);
        }
        sink.push(record)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.disks.name(device)
    }
}

impl NvmeFtrace {
    fn of(block_bytes: u64) -> NvmeFtrace {
        NvmeFtrace { block_bytes, disks: Names::default(), appends: Appends::default() }
    }

    /// Leaves out a zone management command, after which appends to the zone may begin anew.
    fn manage_zone(&mut self, line: &[u8], command: &[u8], sink: &mut Sink) {
        let number = |key: &[u8]| value(command, key).and_then(|text| number::integer(leading_digits(text)));
        let zone = match number(b"zsa=") {
            Some(1) => Zone::Close,
            Some(2) => Zone::Finish,
            Some(3) => Zone::Open,
            Some(4) if number(b"all=") == Some(1) => Zone::ResetAll,
            Some(4) => Zone::Reset,
            _ => return sink.left_out("other commands to zones"),
        };
        let device = self.disks.number(value(line, b"disk=").unwrap_or_default());
        let start = number(b"slba=").and_then(|slba| slba.checked_mul(self.block_bytes)).unwrap_or(0);
        self.appends.place(zone, device, start, 0);
        sink.left_out(zone.left_out());
    }

    fn blocks(&self, command: &[u8], name: &'static str, key: &[u8], add: u64) -> FieldResult<u64> {
        let text = value(command, key).unwrap_or_default();
        number::integer(text)
            .and_then(|blocks| blocks.checked_add(add))
            .and_then(|blocks| blocks.checked_mul(self.block_bytes))
            .ok_or_else(|| field_error(0, name, text, "an integer number of blocks"))
    }
}

/// The digits that `text` begins with: newer kernels write `4:reset zone`.
fn leading_digits(text: &[u8]) -> &[u8] {
    text.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default()
}

/// Where `key` begins in a line. Lines are short, so that a search that is prepared for long texts takes longer.
pub(super) fn find(line: &[u8], key: &[u8]) -> Option<usize> {
    let (first, rest) = key.split_first()?;
    memchr::memchr_iter(*first, line).find(|at| line[at + 1..].starts_with(rest))
}

/// The text that follows `key`, up to the next comma, blank or parenthesis.
pub(super) fn value<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let start = find(line, key)? + key.len();
    line[start..].split(|byte| matches!(byte, b',' | b' ' | b')')).next()
}

/// The time stands between the last blank and the colon before the event.
pub(super) fn time(head: &[u8]) -> FieldResult<i64> {
    let text = head.rsplit(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
    match number::decimal(text, 9) {
        Some(time) if time >= 0 => Ok(time),
        Some(_) => Err(field_error(0, "time", text, NOT_NEGATIVE)),
        None => Err(field_error(0, "time", text, "seconds before the event name")),
    }
}
