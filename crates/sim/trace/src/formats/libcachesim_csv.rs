//! CSV of the cache simulator libCacheSim: time, object, size, and sometimes an operation.
//!
//! A header names the columns; without one they are time, object and size, and the format must be
//! named. Other columns are skipped. Objects are addresses under the same conditions as in
//! `oracleGeneral`, and there are two formats for the same reason. Operations are words, or SCSI
//! codes as in the sample of libCacheSim; without them every row is a read.

use units::HostOp;

use super::oracle_general::OBJECT;
use super::reading::fields::{FieldResult, NOT_NEGATIVE, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Parser, Sink};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "libcachesim-csv",
    doc: "libCacheSim CSV, objects as 512-byte sectors",
    columns: "time, obj_id (or lbn), obj_size and op by header, else time,object,size",
    time_unit: "s, decimal",
    address_unit: "objects as 512-byte sectors, sizes in bytes",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(LibCacheSim::of(SECTOR))),
};

pub(super) const FORMAT_BYTES: Format = Format {
    name: "libcachesim-csv-bytes",
    doc: "libCacheSim CSV, objects as byte offsets",
    address_unit: "objects as bytes, sizes in bytes",
    parser: || Parser::Lines(Box::new(LibCacheSim::of(1))),
    ..FORMAT
};

const TIMES: [&str; 4] = ["time", "timestamp", "clock_time", "real_time"];
const OBJECTS: [&str; 6] = ["obj_id", "object_id", "object", "obj", "id", "lbn"];
const SIZES: [&str; 3] = ["obj_size", "object_size", "size"];
const OPERATIONS: [&str; 3] = ["op", "operation", "op_type"];

/// Where the columns stand.
#[derive(Clone, Copy)]
struct Columns {
    time: usize,
    object: usize,
    size: usize,
    op: Option<usize>,
}

struct LibCacheSim {
    /// Bytes of an object number.
    unit: u64,
    /// Known after the first line.
    columns: Option<Columns>,
    detected: bool,
}

impl LibCacheSim {
    fn of(unit: u64) -> LibCacheSim {
        LibCacheSim { unit, columns: None, detected: false }
    }
}

impl LineParser for LibCacheSim {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        let columns = match self.columns {
            Some(columns) => columns,
            None if line.first().is_some_and(u8::is_ascii_digit) && !self.detected => {
                Columns { time: 0, object: 1, size: 2, op: None }
            }
            None => {
                self.columns = Some(columns(line)?);
                sink.comment();
                return Ok(());
            }
        };
        self.columns = Some(columns);
        let mut row = Row { columns, texts: [b""; 4] };
        for (index, text) in line.split(|&byte| byte == b',').enumerate() {
            row.take(index, text.trim_ascii());
        }
        let op = match columns.op {
            None => HostOp::Read,
            Some(column) => {
                let expected = "read, write, get, set or a SCSI code such as 28 or 2a";
                operation(row.texts[3]).ok_or_else(|| wrong(column, "op", row.texts[3], expected))?
            }
        };
        sink.push(TraceRecord::new(row.time()?, 0, op, row.offset(self.unit)?, row.size()?))
    }

    fn detected(&mut self) {
        self.detected = true;
    }
}

/// The fields of a row that are read: time, object, size, operation.
struct Row<'a> {
    columns: Columns,
    texts: [&'a [u8]; 4],
}

impl<'a> Row<'a> {
    fn take(&mut self, index: usize, text: &'a [u8]) {
        let Columns { time, object, size, op } = self.columns;
        let places = [Some(time), Some(object), Some(size), op];
        if let Some(place) = places.iter().position(|place| *place == Some(index)) {
            self.texts[place] = text;
        }
    }

    fn time(&self) -> FieldResult<i64> {
        let error = |expected| wrong(self.columns.time, "time", self.texts[0], expected);
        match number::decimal(self.texts[0], 9) {
            Some(time) if time >= 0 => Ok(time),
            Some(_) => Err(error(NOT_NEGATIVE)),
            None => Err(error("a number of seconds")),
        }
    }

    fn offset(&self, unit: u64) -> FieldResult<u64> {
        let object = number::integer(self.texts[1]).and_then(|object| object.checked_mul(unit));
        object.ok_or_else(|| wrong(self.columns.object, "object", self.texts[1], OBJECT))
    }

    fn size(&self) -> FieldResult<u64> {
        let size = number::integer(self.texts[2]);
        size.ok_or_else(|| wrong(self.columns.size, "size", self.texts[2], "a number of bytes"))
    }
}

fn columns(header: &[u8]) -> FieldResult<Columns> {
    let find = |names: &[&str]| {
        header
            .split(|&byte| byte == b',')
            .position(|column| names.iter().any(|name| column.trim_ascii().eq_ignore_ascii_case(name.as_bytes())))
    };
    match (find(&TIMES), find(&OBJECTS), find(&SIZES)) {
        (Some(time), Some(object), Some(size)) => Ok(Columns { time, object, size, op: find(&OPERATIONS) }),
        _ => Err(field_error(0, "header", header, "columns time, obj_id and obj_size").fatal()),
    }
}

fn operation(text: &[u8]) -> Option<HostOp> {
    const READS: [&str; 8] = ["r", "read", "get", "gets", "28", "88", "08", "a8"];
    const WRITES: [&str; 8] = ["w", "write", "set", "put", "2a", "8a", "0a", "aa"];
    let is_one = |names: [&str; 8]| names.iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes()));
    if is_one(READS) {
        return Some(HostOp::Read);
    }
    is_one(WRITES).then_some(HostOp::Write)
}

#[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
fn wrong(
    column: usize,
    name: &'static str,
    text: &[u8],
    expected: &'static str,
) -> Box<super::reading::fields::FieldError> {
    field_error(column as u32 + 1, name, text, expected)
}
