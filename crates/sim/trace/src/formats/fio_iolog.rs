//! fio I/O logs, versions 2 and 3 (told apart by their first line).
//!
//! Version 2 has no times: `wait` lines give delays in microseconds, each relative to the one
//! before, and fio ignores those under 100. Version 3 starts each line with microseconds since
//! the start of the run and knows no `wait`.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields, field_error};
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
                return Err(field_error(0, "first line", line, "\"fio version 2 iolog\" or \"fio version 3 iolog\""));
            }
            Version::Two => self.waited_ns,
            Version::Three => fields.time("timestamp", 1000)?,
        };
        let file = fields.text("file")?;
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

    fn device_name(&self, device: u32) -> Option<String> {
        self.files.name(device)
    }
}

impl FioLog {
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
        _ => Err(field_error(0, "first line", line, "version 2 or 3 of the iolog")),
    }
}
