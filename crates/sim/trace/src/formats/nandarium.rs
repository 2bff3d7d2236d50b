//! The project's own CSV, written by `trace convert`: nanoseconds, bytes, one letter per
//! operation. The header names the columns; `fua` and `latency_ns` may be absent.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields, field_error};
use super::reading::parser::{LineParser, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "nandarium",
    doc: "the simulator's own CSV, as trace convert writes it",
    columns: "time_ns,device,op(R W T F),offset_bytes,length_bytes[,fua(0 1)[,latency_ns]]",
    time_unit: "ns",
    address_unit: "bytes",
    extensions: &[".nandarium", ".nandarium.csv"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Nandarium { columns: 0 })),
};

/// The five columns every file has.
pub(super) const HEADER_SHORT: &str = "time_ns,device,op,offset_bytes,length_bytes";
const HEADER: &[u8] = HEADER_SHORT.as_bytes();
/// All columns, as written.
pub(super) const HEADER_WRITTEN: &str = "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns";

struct Nandarium {
    /// 0 before the header.
    columns: u32,
}

impl LineParser for Nandarium {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if self.columns == 0 || line.starts_with(HEADER) {
            self.columns = match line.strip_prefix(HEADER) {
                Some(b"") => 5,
                Some(b",fua") => 6,
                Some(b",fua,latency_ns") => 7,
                _ => return Err(field_error(0, "header", line, HEADER_WRITTEN).fatal()),
            };
            sink.comment();
            return Ok(());
        }
        // A server writes down faults and power cuts beside the requests.
        if line.starts_with(b"#") {
            sink.comment();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        let time = fields.decimal_time("time_ns", 0)?;
        let device = fields.small("device")?;
        let op = match fields.text("op")? {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            b"T" => HostOp::Trim,
            b"F" => HostOp::Flush,
            _ => return Err(fields.wrong("op", "R, W, T or F")),
        };
        let offset = fields.bytes("offset_bytes", 1)?;
        let length = fields.bytes("length_bytes", 1)?;
        if length > 0 && op == HostOp::Flush {
            return Err(fields.wrong("length_bytes", "0 for a flush"));
        }
        let mut record = TraceRecord::new(time, device, op, offset, length);
        self.optional(&mut fields, &mut record)?;
        fields.end()?;
        sink.push(record)
    }
}

impl Nandarium {
    fn optional(&self, fields: &mut Fields<'_>, record: &mut TraceRecord) -> FieldResult<()> {
        if self.columns >= 6 {
            record.fua = match fields.text("fua")? {
                b"0" => false,
                b"1" => true,
                _ => return Err(fields.wrong("fua", "0 or 1")),
            };
        }
        if self.columns >= 7 {
            let text = fields.next().unwrap_or(b"");
            if !text.is_empty() {
                let latency = super::reading::number::integer(text);
                record.latency_ns = Some(latency.ok_or_else(|| fields.wrong("latency_ns", "nanoseconds or nothing"))?);
            }
        }
        Ok(())
    }
}
