//! Text of Windows disk events as `xperf -a dumper` writes it, and of the server traces that Microsoft published (SNIA
//! IOTTA, "Microsoft Production Server Traces").
//!
//! ```text
//!   BeginHeader
//!    DiskRead,  TimeStamp,  Process Name ( PID),  ThreadID,  IrpPtr,  ByteOffset,  IOSize,  ElapsedTime,  DiskNum, ..
//!   EndHeader
//!    DiskRead,       1800,  server.exe (1234),      1808,  0xff..,  0x0a2f2000,  0x2000,          300,        1, ..
//! ```
//!
//! The header names the columns of each kind of row. Times are microseconds, and `TimeStamp` is the time of completion:
//! a request arrives `ElapsedTime` earlier, which is its latency. Offset and size are bytes, hexadecimal after `0x`.
//! The name of a process may contain blanks and commas, so it ends at its number in parentheses. Rows of other events
//! are counted and left out, such as `DiskReadInit`, which begins the request that its own row tells.

use units::HostOp;

use super::reading::fields::{FieldError, FieldResult, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "xperf",
    doc: "Windows disk events as text of xperf -a dumper, and Microsoft's published server traces",
    columns: "DiskRead, TimeStamp, Process Name ( PID), .., ByteOffset, IOSize, ElapsedTime, DiskNum, .. by header",
    time_unit: "us, of completion",
    address_unit: "bytes, hexadecimal or decimal",
    extensions: &[".xperf"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Xperf::default())),
};

/// Columns that are looked at; rows of disks have fifteen or so.
const COLUMNS_MAX: usize = 24;

#[derive(Default)]
struct Xperf {
    header: Header,
    /// Of reads, writes and flushes.
    layouts: [Option<Layout>; 3],
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Header {
    #[default]
    Missing,
    Open,
    Closed,
}

/// Where the columns of one kind of row stand.
#[derive(Clone, Copy)]
struct Layout {
    time: usize,
    /// The column that may contain commas.
    process: Option<usize>,
    offset: Option<usize>,
    size: Option<usize>,
    elapsed: usize,
    disk: usize,
}

impl LineParser for Xperf {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        let comma = memchr::memchr(b',', line).unwrap_or(line.len());
        let name = line[..comma].trim_ascii();
        match (name, self.header) {
            (b"BeginHeader", _) => self.header = Header::Open,
            (b"EndHeader", Header::Open) => self.header = Header::Closed,
            (_, Header::Missing) => return Err(field_error(0, "first line", line, "BeginHeader")),
            (_, Header::Open) => {
                if let Some((_, place)) = kind(name) {
                    self.layouts[place] = Some(Layout::from_header(line)?);
                }
            }
            (_, Header::Closed) => return self.event(name, line, sink),
        }
        sink.comment();
        Ok(())
    }

    fn is_marked(&self) -> bool {
        self.header != Header::Missing
    }
}

impl Xperf {
    fn event(&mut self, name: &[u8], line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        let Some((op, place)) = kind(name) else {
            if matches!(name, b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit") {
                sink.left_out("Init rows, which begin a request that has a row of its own");
            } else if name.starts_with(b"OS Version") {
                sink.comment();
            } else {
                sink.other();
            }
            return Ok(());
        };
        let Some(layout) = self.layouts[place] else {
            return Err(field_error(1, "event", name, "an event whose columns the header names"));
        };
        layout.parse(op, &Row::split(line, layout.process), sink)
    }
}

/// The operation of a row that is a request, and the place of its layout.
fn kind(name: &[u8]) -> Option<(HostOp, usize)> {
    match name {
        b"DiskRead" => Some((HostOp::Read, 0)),
        b"DiskWrite" => Some((HostOp::Write, 1)),
        b"DiskFlush" => Some((HostOp::Flush, 2)),
        _ => None,
    }
}

impl Layout {
    fn from_header(line: &[u8]) -> FieldResult<Layout> {
        let find =
            |name: &[u8]| line.split(|byte| *byte == b',').position(|column| column.trim_ascii().starts_with(name));
        let column = |name: &'static str| {
            let place = find(name.as_bytes()).filter(|place| *place < COLUMNS_MAX);
            place.ok_or_else(|| field_error(0, "header", line, name))
        };
        Ok(Layout {
            time: column("TimeStamp")?,
            process: find(b"Process Name"),
            offset: column("ByteOffset").ok(),
            size: column("IOSize").ok(),
            elapsed: column("ElapsedTime")?,
            disk: column("DiskNum")?,
        })
    }

    fn parse(&self, op: HostOp, row: &Row<'_>, sink: &mut Sink) -> FieldResult<()> {
        let elapsed = row.microseconds(self.elapsed, "ElapsedTime")?;
        let time = row.microseconds(self.time, "TimeStamp")?.saturating_sub(elapsed);
        let disk = row.number(self.disk, "DiskNum")?;
        let disk = u32::try_from(disk).map_err(|_| row.wrong(self.disk, "DiskNum", "a disk number below 2^32"))?;
        let mut record = TraceRecord::new(time, disk, op, 0, 0);
        record.latency_ns = Some(elapsed.unsigned_abs());
        if op != HostOp::Flush {
            let missing =
                |name: &[u8]| field_error(0, "header", name, "a header that names this column for reads and writes");
            record.offset_bytes = row.number(self.offset.ok_or_else(|| missing(b"ByteOffset"))?, "ByteOffset")?;
            record.length_bytes = row.number(self.size.ok_or_else(|| missing(b"IOSize"))?, "IOSize")?;
        }
        sink.push(record)
    }
}

/// The columns of a row.
struct Row<'a> {
    items: [&'a [u8]; COLUMNS_MAX],
    count: usize,
}

impl<'a> Row<'a> {
    /// Splits `line` at commas, but for those within the column `process`.
    fn split(line: &'a [u8], process: Option<usize>) -> Row<'a> {
        let mut row = Row { items: [b""; COLUMNS_MAX], count: 0 };
        let mut rest = Some(line);
        while let Some(text) = rest {
            let from = if process == Some(row.count) { process_end(text) } else { 0 };
            let end = memchr::memchr(b',', &text[from..]).map(|comma| from + comma);
            let Some(place) = row.items.get_mut(row.count) else { break };
            *place = text[..end.unwrap_or(text.len())].trim_ascii();
            row.count += 1;
            rest = end.map(|end| &text[end + 1..]);
        }
        row
    }

    /// Column `index`, empty when the row is shorter.
    fn text(&self, index: usize) -> &'a [u8] {
        self.items.get(index).copied().unwrap_or_default()
    }

    fn number(&self, index: usize, name: &'static str) -> FieldResult<u64> {
        number::integer_or_hexadecimal(self.text(index))
            .ok_or_else(|| self.wrong(index, name, "an integer below 2^64, or a hexadecimal one after 0x"))
    }

    /// A time of 0 or more, in nanoseconds.
    fn microseconds(&self, index: usize, name: &'static str) -> FieldResult<i64> {
        number::decimal(self.text(index), 3)
            .filter(|time| *time >= 0)
            .ok_or_else(|| self.wrong(index, name, "microseconds, 0 or more and below 292 years"))
    }

    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    fn wrong(&self, index: usize, name: &'static str, expected: &'static str) -> Box<FieldError> {
        field_error(index as u32 + 1, name, self.text(index), expected)
    }
}

/// Where the name of a process ends that `text` begins with: behind its number in parentheses, before a comma; 0 where
/// there is no such number.
fn process_end(text: &[u8]) -> usize {
    let is_number = |text: &[u8]| {
        let text = text.trim_ascii();
        number::integer(text.strip_prefix(b"-").unwrap_or(text)).is_some()
    };
    let ends = |close: &usize| {
        let open = memchr::memrchr(b'(', &text[..*close]);
        open.is_some_and(|open| is_number(&text[open + 1..*close]))
            && matches!(text[close + 1..].trim_ascii_start().first(), None | Some(b','))
    };
    memchr::memchr_iter(b')', text).find(ends).map_or(0, |close| close + 1)
}
