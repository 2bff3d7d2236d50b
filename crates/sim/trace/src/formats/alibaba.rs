//! Alibaba block traces of 2020: a thousand cloud disks in one file, microseconds, bytes.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    doc: "Alibaba block traces 2020, io_traces.csv, with or without header",
    columns: "device_id,opcode,offset,length,timestamp",
    time_unit: "us since 1970",
    address_unit: "bytes",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    if line.starts_with(b"device_id,") {
        sink.comment();
        return Ok(());
    }
    let mut fields = Fields::commas(line);
    let device = fields.small("device_id")?;
    let op = match fields.text("opcode")? {
        b"R" => HostOp::Read,
        b"W" => HostOp::Write,
        _ => return Err(fields.wrong("opcode", "R or W")),
    };
    let offset = fields.bytes("offset", 1)?;
    let length = fields.bytes("length", 1)?;
    let time = fields.time("timestamp", 1000)?;
    fields.end()?;
    sink.push(TraceRecord::new(time, device, op, offset, length))
}
