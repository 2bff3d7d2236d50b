//! Tencent cloud block storage 2018: whole Unix seconds (thousands of ties, useless for queueing
//! without spreading), 512-byte sectors, **1 = write**, 0 = read.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    doc: "Tencent cloud block storage 2018",
    columns: "Timestamp,Offset,Size,IOType(0 read, 1 write),VolumeID",
    time_unit: "whole s since 1970",
    address_unit: "512-byte sectors",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    if line.starts_with(b"Timestamp,") {
        sink.comment();
        return Ok(());
    }
    let mut fields = Fields::commas(line);
    let time = fields.time("Timestamp", 1_000_000_000)?;
    let offset = fields.bytes("Offset", SECTOR)?;
    let length = fields.bytes("Size", SECTOR)?;
    let op = match fields.text("IOType")? {
        b"0" => HostOp::Read,
        b"1" => HostOp::Write,
        _ => return Err(fields.wrong("IOType", "0 (read) or 1 (write)")),
    };
    let device = fields.small("VolumeID")?;
    fields.end()?;
    sink.push(TraceRecord::new(time, device, op, offset, length))
}
