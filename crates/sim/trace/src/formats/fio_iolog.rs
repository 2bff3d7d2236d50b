//! fio I/O logs, versions 2 and 3 (told apart by their first line).
//!
//! Version 2 has no times: `wait` lines give delays in microseconds, each relative to the one
//! before, and fio ignores those under 100. Version 3 starts each line with microseconds since
//! the start of the run and knows no `wait`. Paths stand without quotes and may contain blanks, so a
//! line is read from the right.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "fio-iolog",
    doc: "fio write_iolog files, versions 2 and 3",
    columns: "[microseconds] file action [offset length]",
    time_unit: "us (version 3), wait lines (version 2)",
    address_unit: "bytes",
    extensions: &[".iolog"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(FioLog::default())),
};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Version {
    #[default]
    Unknown,
    Two,
    Three,
}

#[derive(Default)]
struct FioLog {
    version: Version,
    files: Names,
    /// Sum of the waits so far (version 2).
    waited_ns: i64,
}

/// Shorter waits are ignored, as fio does.
const WAIT_US_MIN: u64 = 100;

impl LineParser for FioLog {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"fio version ") {
            self.version = version(line)?;
            sink.comment();
            return Ok(());
        }
        let mut fields = Fields::blanks(line);
        let time = match self.version {
            Version::Unknown => {
                return Err(
                    field_error(0, "first line", line, "\"fio version 2 iolog\" or \"fio version 3 iolog\"").fatal()
                );
            }
            Version::Two => self.waited_ns,
            Version::Three => fields.time("timestamp", 1000)?,
        };
        let tail = if self.version == Version::Three { fields.rest() } else { Some(line) };
        if let Some(Row { file, action, offset, length }) = tail.and_then(from_right) {
            return sink.push(TraceRecord::new(time, self.files.number(file), action, offset, length));
        }
        self.parse_other(fields, time, sink)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.files.name(device)
    }
}

/// A line that is a request with offset and length.
struct Row<'a> {
    file: &'a [u8],
    action: HostOp,
    offset: u64,
    length: u64,
}

/// Reads `file action offset length`, where the file may contain blanks; `None` for another line.
fn from_right(line: &[u8]) -> Option<Row<'_>> {
    let (rest, length) = last_word(line)?;
    let length = number::integer(length)?;
    let (rest, offset) = last_word(rest)?;
    let offset = number::integer(offset)?;
    let (file, action) = last_word(rest)?;
    let action = match action {
        b"read" => HostOp::Read,
        b"write" => HostOp::Write,
        b"trim" => HostOp::Trim,
        _ => return None,
    };
    let file = file.trim_ascii();
    (!file.is_empty()).then_some(Row { file, action, offset, length })
}

/// The last word of `text` and what stands before it.
fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let blank = memchr::memrchr2(b' ', b'\t', text)?;
    Some((&text[..blank], &text[blank + 1..]))
}

/// Where the file ends in a line `file action` or `file action number [number]` of an action that needs no offset and
/// length.
fn end_of_file(line: &[u8]) -> Option<usize> {
    let (mut file, mut action) = last_word(line)?;
    for _ in 0..2 {
        if number::integer(action).is_some() {
            (file, action) = last_word(file)?;
        }
    }
    let is_bare = matches!(action, b"add" | b"open" | b"close" | b"sync" | b"datasync" | b"wait");
    (is_bare && !file.trim_ascii().is_empty()).then_some(file.trim_ascii_end().len())
}

impl FioLog {
    /// Reads what is no request with offset and length, and says what is wrong with one.
    fn parse_other(&mut self, mut fields: Fields<'_>, time: i64, sink: &mut Sink) -> FieldResult<()> {
        let file = match fields.rest().and_then(|rest| Some((rest, end_of_file(rest)?))) {
            Some((rest, end)) => fields.skip(rest, end),
            None => fields.text("file")?,
        };
        let action = fields.text("action")?;
        let op = match action {
            b"add" | b"open" | b"close" => {
                sink.other();
                return Ok(());
            }
            b"wait" if self.version == Version::Two => return self.wait(&mut fields, sink),
            b"sync" | b"datasync" => {
                let file = self.files.number(file);
                return sink.push(TraceRecord::new(time, file, HostOp::Flush, 0, 0));
            }
            b"read" => HostOp::Read,
            b"write" => HostOp::Write,
            b"trim" => HostOp::Trim,
            _ => {
                return Err(
                    fields.wrong("action", "add, open, close, read, write, trim, sync, datasync or (version 2) wait")
                );
            }
        };
        let offset = fields.bytes("offset", 1)?;
        let length = fields.bytes("length", 1)?;
        fields.end()?;
        sink.push(TraceRecord::new(time, self.files.number(file), op, offset, length))
    }

    fn wait(&mut self, fields: &mut Fields<'_>, sink: &mut Sink) -> FieldResult<()> {
        let microseconds = fields.integer("wait")?;
        if microseconds >= WAIT_US_MIN {
            self.waited_ns = i64::try_from(microseconds)
                .ok()
                .and_then(|us| us.checked_mul(1000))
                .and_then(|ns| self.waited_ns.checked_add(ns))
                .ok_or_else(|| fields.wrong("wait", "waits of less than 292 years"))?;
        }
        sink.other();
        Ok(())
    }
}

fn version(line: &[u8]) -> FieldResult<Version> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Ok(Version::Two),
        b"fio version 3 iolog" => Ok(Version::Three),
        _ => Err(field_error(0, "first line", line, "version 2 or 3 of the iolog").fatal()),
    }
}
