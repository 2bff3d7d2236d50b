//! FIU traces (`SRCMap`, I/O deduplication): nanoseconds, 512-byte blocks, a content hash per row.
//! The process name may contain blanks, so a line is read from the right.

use units::HostOp;

use super::reading::fields::{FieldResult, NOT_NEGATIVE, field_error};
use super::reading::parser::{LineParser, Parser, Sink};
use super::reading::rwbs;
use super::reading::tokens::Tokens;
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    doc: "FIU block traces (SRCMap, I/O deduplication)",
    columns: "time_ns pid process block blocks W|R major minor md5",
    time_unit: "ns",
    address_unit: "512-byte blocks",
    extensions: &[".fiu"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Fiu)),
};

struct Fiu;

impl LineParser for Fiu {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        let tokens = Tokens::split(line)?;
        let count = tokens.count();
        if count < 9 {
            return Err(field_error(0, "line", line, "nine fields"));
        }
        if tokens.get(0).starts_with(b"-") {
            return Err(tokens.wrong(0, "time_ns", NOT_NEGATIVE));
        }
        let time = tokens.integer(0, "time_ns")?;
        let time = i64::try_from(time).map_err(|_| tokens.wrong(0, "time_ns", "a time below 292 years"))?;
        tokens.integer(1, "pid")?;
        let offset = tokens.bytes(count - 6, "block", SECTOR)?;
        let length = tokens.bytes(count - 5, "blocks", SECTOR)?;
        let op = match tokens.get(count - 4) {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            _ => return Err(tokens.wrong(count - 4, "operation", "W or R")),
        };
        let major = small(&tokens, count - 3, "major")?;
        let minor = small(&tokens, count - 2, "minor")?;
        if !tokens.get(count - 1).iter().all(u8::is_ascii_hexdigit) {
            return Err(tokens.wrong(count - 1, "md5", "hexadecimal digits"));
        }
        sink.push(TraceRecord::new(time, major << 20 | minor, op, offset, length))
    }

    fn device_name(&self, device: u32) -> Option<String> {
        Some(rwbs::device_name(device))
    }
}

fn small(tokens: &Tokens<'_>, index: usize, name: &'static str) -> FieldResult<u32> {
    let value = tokens.integer(index, name)?;
    if value >= 1 << 12 {
        return Err(tokens.wrong(index, name, "a device number below 4096"));
    }
    Ok(value as u32)
}
