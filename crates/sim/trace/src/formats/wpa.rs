//! Disk I/O table of the Windows Performance Analyzer, as `wpaexporter` writes it.
//!
//! The header names the columns and gives away the delimiter. Numbers are localised: `42.496` is
//! 42,496 bytes and `35,020173300` is seconds in one export, the other way round in the next; the
//! rule is that seconds and microseconds always carry decimals, sizes never. Offsets are
//! hexadecimal bytes, the upper one inclusive, and check the size.

use units::HostOp;

use super::reading::fields::{FieldError, FieldResult, NOT_NEGATIVE, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "wpa",
    doc: "Windows Performance Analyzer disk I/O export",
    columns: "IO Type, Init Time (s), IO Time (us), Size (B), Min Offset, Max Offset, Disk, ... by header",
    time_unit: "s, 9 decimals, localised",
    address_unit: "bytes, hexadecimal",
    extensions: &[".wpa.csv", ".wpa"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Wpa { layout: None })),
};

/// Number of columns a row can have; real exports have about fourteen.
const COLUMNS_MAX: usize = 40;

struct Wpa {
    layout: Option<Layout>,
}

/// Where the columns stand.
struct Layout {
    delimiter: u8,
    io_type: usize,
    init_time: usize,
    io_time: Option<usize>,
    size: usize,
    min_offset: usize,
    max_offset: Option<usize>,
    disk: usize,
}

impl LineParser for Wpa {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"IO Type") {
            self.layout = Some(Layout::from_header(line).map_err(FieldError::fatal)?);
            sink.comment();
            return Ok(());
        }
        let Some(layout) = &self.layout else {
            return Err(field_error(0, "header", line, "a header that starts with \"IO Type\"").fatal());
        };
        layout.parse(&Row::split(line, layout.delimiter), sink)
    }
}

impl Layout {
    fn from_header(line: &[u8]) -> FieldResult<Layout> {
        let delimiter = line[b"IO Type".len()..].first().copied().unwrap_or(b';');
        if !matches!(delimiter, b';' | b',' | b'\t' | b'|') {
            return Err(field_error(0, "delimiter", &[delimiter], "a semicolon, comma, tab or bar"));
        }
        let row = Row::split(line, delimiter);
        let column = |name: &'static str| {
            (0..row.count)
                .find(|&index| row.items[index].starts_with(name.as_bytes()))
                .ok_or_else(|| field_error(0, "header", line, name))
        };
        let exactly = |name: &[u8]| (0..row.count).find(|&index| row.items[index] == name);
        Ok(Layout {
            delimiter,
            io_type: column("IO Type")?,
            init_time: column("Init Time (s)")?,
            io_time: column("IO Time").ok(),
            size: column("Size")?,
            min_offset: column("Min Offset")?,
            max_offset: column("Max Offset").ok(),
            disk: exactly(b"Disk").ok_or_else(|| field_error(0, "header", line, "a column Disk"))?,
        })
    }

    fn parse(&self, row: &Row<'_>, sink: &mut Sink) -> FieldResult<()> {
        let op = match row.text(self.io_type) {
            b"Read" => HostOp::Read,
            b"Write" => HostOp::Write,
            b"Flush" => HostOp::Flush,
            _ => return Err(row.wrong(self.io_type, "IO Type", "Read, Write or Flush")),
        };
        let time =
            number::localised_decimal(row.text(self.init_time), 9).ok_or_else(|| match row.text(self.init_time) {
                [b'-', ..] => row.wrong(self.init_time, "Init Time", NOT_NEGATIVE),
                _ => row.wrong(self.init_time, "Init Time", "seconds with decimals"),
            })?;
        let disk = number::localised_integer(row.text(self.disk))
            .and_then(|disk| u32::try_from(disk).ok())
            .ok_or_else(|| row.wrong(self.disk, "Disk", "a disk number"))?;
        let mut record = TraceRecord::new(time, disk, op, 0, 0);
        if let Some(column) = self.io_time {
            let latency = number::localised_decimal(row.text(column), 3).and_then(|ns| u64::try_from(ns).ok());
            record.latency_ns =
                Some(latency.ok_or_else(|| row.wrong(column, "IO Time", "microseconds with decimals"))?);
        }
        if op != HostOp::Flush {
            (record.offset_bytes, record.length_bytes) = self.range(row)?;
        }
        sink.push(record)
    }

    fn range(&self, row: &Row<'_>) -> FieldResult<(u64, u64)> {
        let length = number::localised_integer(row.text(self.size))
            .ok_or_else(|| row.wrong(self.size, "Size", "a number of bytes"))?;
        let offset = number::hexadecimal(row.text(self.min_offset))
            .ok_or_else(|| row.wrong(self.min_offset, "Min Offset", "a hexadecimal number"))?;
        if let Some(column) = self.max_offset
            && length > 0
        {
            let last = number::hexadecimal(row.text(column));
            if last.and_then(|last| last.checked_sub(offset)).and_then(|span| span.checked_add(1)) != Some(length) {
                return Err(row.wrong(column, "Max Offset", "Min Offset + Size - 1 (one request per row)"));
            }
        }
        Ok((offset, length))
    }
}

/// The columns of a row; a delimiter within double quotes does not count.
struct Row<'a> {
    items: [&'a [u8]; COLUMNS_MAX],
    count: usize,
}

impl<'a> Row<'a> {
    fn split(line: &'a [u8], delimiter: u8) -> Row<'a> {
        let mut row = Row { items: [b""; COLUMNS_MAX], count: 0 };
        let (mut start, mut quoted) = (0, false);
        for (position, &byte) in line.iter().enumerate() {
            if byte == b'"' {
                quoted = !quoted;
            } else if byte == delimiter && !quoted {
                row.push(&line[start..position]);
                start = position + 1;
            }
        }
        row.push(&line[start..]);
        row
    }

    fn push(&mut self, item: &'a [u8]) {
        if let Some(place) = self.items.get_mut(self.count) {
            let bare = item.strip_prefix(b"\"").and_then(|item| item.strip_suffix(b"\""));
            *place = bare.unwrap_or(item).trim_ascii();
            self.count += 1;
        }
    }

    /// Column `index`, empty when the row is shorter.
    fn text(&self, index: usize) -> &'a [u8] {
        self.items.get(index).copied().unwrap_or_default()
    }

    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    fn wrong(
        &self,
        index: usize,
        name: &'static str,
        expected: &'static str,
    ) -> Box<super::reading::fields::FieldError> {
        field_error(index as u32 + 1, name, self.text(index), expected)
    }
}
