//! Text of blkparse in its default layout.
//!
//! blktrace shows each request several times on its way. Exactly one step must be replayed, and
//! the choice changes sizes by orders of magnitude, because merging happens between them:
//!
//! ```text
//!   Q queued by the host (blkparse) -> merged -> D issued to the drive (blkparse-issue)
//!                                               -> C completed (blkparse-complete)
//! ```
//!
//! A trace begun while requests were under way starts with D and C rows, so detection looks at four
//! megabytes before it settles for them; a Q row after that is an error and never lost.
//!
//! Message rows (`m`) and the other steps are counted and left out; the summary after the last
//! row ends the trace. A leading `F` in the letters becomes a flush before the data.
//!
//! A zone append (`ZA`) is a write. Q and D rows name its zone, and its data lies behind what was
//! appended to the zone before; C rows name the place. A zone reset (`ZR`) with a length is a trim.
//! Other commands to zones are counted and left out.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{LineParser, Parser, Sink};
use super::reading::rwbs::{self, Appends, Rwbs};
use super::reading::steps::Step;
use super::{Format, Order, SECTOR, TraceRecord};

const COLUMNS: &str = "major,minor cpu sequence seconds.nanoseconds pid action RWBS sector + sectors [process]";

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    doc: "blkparse text, rows of action Q: requests that the host queued",
    columns: COLUMNS,
    time_unit: "s since the start of the trace, 9 decimals",
    address_unit: "512-byte sectors",
    extensions: &[".blkparse"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Blkparse::of(b'Q'))),
};

pub(super) const FORMAT_ISSUE: Format = Format {
    name: "blkparse-issue",
    doc: "blkparse text, rows of action D: requests issued to the drive after merging",
    parser: || Parser::Lines(Box::new(Blkparse::of(b'D'))),
    ..FORMAT
};

pub(super) const FORMAT_COMPLETE: Format = Format {
    name: "blkparse-complete",
    doc: "blkparse text, rows of action C: completions, at the time of completion",
    parser: || Parser::Lines(Box::new(Blkparse::of(b'C'))),
    ..FORMAT
};

struct Blkparse {
    step: Step,
    /// The summary has begun.
    ended: bool,
    appends: Appends,
}

impl Blkparse {
    fn of(letter: u8) -> Blkparse {
        Blkparse { step: Step::of(letter), ended: false, appends: Appends::default() }
    }
}

const LATE: &str = "only actions that are less usual, as in the first part of the trace \
     (--format blkparse reads the Q rows, blkparse-issue the D rows, blkparse-complete the C rows)";

impl LineParser for Blkparse {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        self.ended |= starts_summary(line);
        if self.ended || line.starts_with(b"Input file ") {
            sink.comment();
            return Ok(());
        }
        let mut fields = Fields::blanks(line);
        let device_text = fields.text("device")?;
        let device = rwbs::device(device_text).ok_or_else(|| fields.wrong("device", "MAJOR,MINOR"))?;
        fields.integer("cpu")?;
        fields.integer("sequence")?;
        let time = fields.decimal_time("time", 9)?;
        fields.integer("pid")?;
        let action = fields.text("action")?;
        if action.len() > 3 || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(fields.wrong("action", "letters such as Q, D or C"));
        }
        match action {
            [letter] if self.step.is(*letter) => {}
            [letter] if self.step.is_late(*letter) => return Err(fields.wrong("action", LATE).fatal()),
            _ => {
                sink.other();
                return Ok(());
            }
        }
        let letters = rwbs::parse(fields.text("RWBS")?)
            .ok_or_else(|| fields.wrong("RWBS", "letters such as R, W, WS or FWFS"))?;
        self.push(&mut fields, letters, TraceRecord::new(time, device, HostOp::Flush, 0, 0), sink)
    }

    fn detected(&mut self) {
        self.step.detected = true;
    }

    fn device_name(&self, device: u32) -> Option<String> {
        Some(rwbs::device_name(device))
    }
}

fn starts_summary(line: &[u8]) -> bool {
    line.starts_with(b"CPU") || line.starts_with(b"Total ") || line.starts_with(b"Throughput ")
}

impl Blkparse {
    /// Reads `sector + sectors`, which a bare flush and a passthrough command do not have.
    fn push(
        &mut self,
        fields: &mut Fields<'_>,
        letters: Rwbs,
        record: TraceRecord,
        sink: &mut Sink,
    ) -> FieldResult<()> {
        let sector = fields.next().unwrap_or(b"[");
        let Some(mut sector) = number::integer(sector).filter(|_| fields.next() == Some(b"+")) else {
            // `[process]`, or `bytes (command bytes)` of a passthrough command.
            let op = letters.op.filter(|op| *op == HostOp::Flush);
            return rwbs::push(Rwbs { op, ..letters }, 0, 0, record, sink);
        };
        let length = fields.bytes("sectors", SECTOR)?;
        if let Some(zone) = letters.zone.filter(|_| !self.step.is(b'C')) {
            sector = self.appends.place(zone, record.device, sector, length / SECTOR);
        }
        rwbs::push(letters, sector, length, record, sink)
    }
}
