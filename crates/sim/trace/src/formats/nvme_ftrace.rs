//! ftrace text of the `nvme:nvme_setup_cmd` trace point: every command at submission.
//!
//! `slba` counts namespace blocks, whose size is not in the trace: 512 bytes in `nvme-ftrace`,
//! 4096 in `nvme-ftrace-4k`. `len` is zero-based: `len=7` is eight blocks. Bit 14 of `ctrl` is
//! force unit access. Write Zeroes becomes a trim (drives deallocate); Dataset Management carries
//! its ranges elsewhere and is counted, like admin commands and the other trace points.

use units::HostOp;

use super::reading::fields::{FieldResult, NOT_NEGATIVE, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "nvme-ftrace",
    doc: "ftrace text with nvme_setup_cmd events, namespace blocks of 512 bytes",
    columns: "task-pid [cpu] flags seconds: nvme_setup_cmd: nvmeX: disk=.., cmd=(.. slba=.., len=.., ctrl=..)",
    time_unit: "s, decimal",
    address_unit: "512-byte namespace blocks",
    extensions: &[".nvme-ftrace"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(NvmeFtrace { block_bytes: 512, disks: Names::default() })),
};

pub(super) const FORMAT_4K: Format = Format {
    name: "nvme-ftrace-4k",
    doc: "ftrace text with nvme_setup_cmd events, namespace blocks of 4096 bytes",
    address_unit: "4096-byte namespace blocks",
    extensions: &[".nvme-ftrace-4k"],
    parser: || Parser::Lines(Box::new(NvmeFtrace { block_bytes: 4096, disks: Names::default() })),
    ..FORMAT
};

const EVENT: &[u8] = b": nvme_setup_cmd: ";
const CTRL_FUA: u64 = 1 << 14;

struct NvmeFtrace {
    block_bytes: u64,
    disks: Names,
}

impl LineParser for NvmeFtrace {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let Some(event) = memchr::memmem::find(line, EVENT) else {
            sink.other();
            return Ok(());
        };
        let Some(command) = memchr::memmem::find(line, b"cmd=(").map(|at| &line[at + 5..]) else {
            return Err(field_error(0, "command", line, "cmd=(...)"));
        };
        let op = match command.split(|byte| matches!(byte, b' ' | b')')).next().unwrap_or_default() {
            b"nvme_cmd_read" => HostOp::Read,
            b"nvme_cmd_write" => HostOp::Write,
            b"nvme_cmd_write_zeroes" => HostOp::Trim,
            b"nvme_cmd_flush" => HostOp::Flush,
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
        sink.push(record)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.disks.name(device)
    }
}

impl NvmeFtrace {
    fn blocks(&self, command: &[u8], name: &'static str, key: &[u8], add: u64) -> FieldResult<u64> {
        let text = value(command, key).unwrap_or_default();
        number::integer(text)
            .and_then(|blocks| blocks.checked_add(add))
            .and_then(|blocks| blocks.checked_mul(self.block_bytes))
            .ok_or_else(|| field_error(0, name, text, "an integer number of blocks"))
    }
}

/// What follows `key`, up to the next comma, blank or parenthesis.
fn value<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let start = memchr::memmem::find(line, key)? + key.len();
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
