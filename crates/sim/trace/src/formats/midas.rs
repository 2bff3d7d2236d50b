//! `MiDAS` simulator traces: seconds, 4 KiB addresses, sizes in bytes; 0 read, 1 write, 3 trim.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "midas",
    doc: "MiDAS garbage-collection traces",
    columns: "time type(0 read, 1 write, 3 trim) address size [stream]",
    time_unit: "s, decimal",
    address_unit: "4 KiB, sizes in bytes",
    extensions: &[".midas"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

const ADDRESS_BYTES: u64 = 4096;

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let time = fields.decimal_time("time", 9)?;
    let op = match fields.text("type")? {
        b"0" => HostOp::Read,
        b"1" => HostOp::Write,
        b"3" => HostOp::Trim,
        _ => return Err(fields.wrong("type", "0 (read), 1 (write) or 3 (trim)")),
    };
    let offset = fields.bytes("address", ADDRESS_BYTES)?;
    let length = fields.bytes("size", 1)?;
    if fields.next().is_some() {
        fields.end()?;
    }
    sink.push(TraceRecord::new(time, 0, op, offset, length))
}
