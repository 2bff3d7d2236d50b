//! Text of ftrace (`/sys/kernel/tracing/trace`, `trace-cmd report`, `perf script`) with events of the
//! block layer.
//!
//! ```text
//!   task-pid [cpu] flags seconds: block_rq_issue: major,minor RWBS bytes (command) sector + sectors [task]
//!   task-pid [cpu] flags seconds: block_bio_queue: major,minor RWBS sector + sectors [task]
//! ```
//!
//! As in blkparse text, a trace may show each request at both steps, and exactly one is read. Newer
//! kernels put a priority behind the sectors, which is skipped, like the task. The bytes count only passthrough
//! commands on some kernels and all commands on others, so sizes are taken from the sectors. Other events, and
//! passthrough commands, are counted and left out. Commands to zones are read as in blkparse text.

use units::HostOp;

use super::nvme_ftrace::{find, time};
use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{LineParser, Parser, Sink};
use super::reading::rwbs::{self, Appends};
use super::reading::steps::Step;
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "block-ftrace",
    doc: "ftrace text, events block_bio_queue: requests that the host queued",
    columns: "task-pid [cpu] flags seconds: event: major,minor RWBS [bytes (command)] sector + sectors [task]",
    time_unit: "s, decimal",
    address_unit: "512-byte sectors",
    extensions: &[".block-ftrace"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(BlockFtrace::of(b'Q'))),
};

pub(super) const FORMAT_ISSUE: Format = Format {
    name: "block-ftrace-issue",
    doc: "ftrace text, events block_rq_issue: requests issued to the drive after merging",
    parser: || Parser::Lines(Box::new(BlockFtrace::of(b'D'))),
    ..FORMAT
};

const EVENTS: [(u8, &[u8]); 2] = [(b'Q', b"block_bio_queue:"), (b'D', b"block_rq_issue:")];

const LATE: &str = "only events block_rq_issue, as in the first part of the trace \
     (--format block-ftrace reads the events block_bio_queue, block-ftrace-issue these)";

struct BlockFtrace {
    step: Step,
    appends: Appends,
}

impl BlockFtrace {
    fn of(letter: u8) -> BlockFtrace {
        BlockFtrace { step: Step::of(letter), appends: Appends::default() }
    }
}

impl LineParser for BlockFtrace {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let Some((letter, head, event)) = EVENTS.into_iter().find_map(|(letter, name)| {
            let at = find(line, name)?;
            Some((letter, head(&line[..at])?, &line[at + name.len()..]))
        }) else {
            sink.other();
            return Ok(());
        };
        let mut fields = Fields::blanks(event);
        let device = fields.text("device")?;
        if self.step.is_late(letter) {
            return Err(fields.wrong("event", LATE).fatal());
        }
        if !self.step.is(letter) {
            sink.other();
            return Ok(());
        }
        let device = rwbs::device(device).ok_or_else(|| fields.wrong("device", "MAJOR,MINOR"))?;
        let letters = rwbs::parse(fields.text("RWBS")?)
            .ok_or_else(|| fields.wrong("RWBS", "letters such as R, W, WS or FWFS"))?;
        if letter == b'D' {
            fields.integer("bytes")?;
            while !fields.text("command")?.ends_with(b")") {}
        }
        let mut sector = fields.integer("sector")?;
        if fields.text("plus")? != b"+" {
            return Err(fields.wrong("plus", "+"));
        }
        let length = fields.bytes("sectors", SECTOR)?;
        if let Some(zone) = letters.zone {
            sector = self.appends.place(zone, device, sector, length / SECTOR);
        }
        rwbs::push(letters, sector, length, TraceRecord::new(time(head)?, device, HostOp::Flush, 0, 0), sink)
    }

    fn detected(&mut self) {
        self.step.detected = true;
    }

    fn device_name(&self, device: u32) -> Option<String> {
        Some(rwbs::device_name(device))
    }
}

/// What stands before the colon that is before the event; perf writes `block:` in between.
fn head(before: &[u8]) -> Option<&[u8]> {
    let before = before.trim_ascii_end();
    before.strip_suffix(b"block:").unwrap_or(before).trim_ascii_end().strip_suffix(b":")
}
