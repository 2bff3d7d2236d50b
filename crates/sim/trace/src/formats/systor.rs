//! SYSTOR '17 (virtual desktops): Unix seconds with nine decimals, bytes, one hour and logical
//! unit per file. A row with a blank operation was never answered; it is counted and left out.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "systor",
    doc: "SYSTOR '17 virtual desktop traces",
    columns: "Timestamp,Response,IOType,LUN,Offset,Size",
    time_unit: "s since 1970, 9 decimals",
    address_unit: "bytes",
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
    let time = fields.decimal_time("Timestamp", 9)?;
    let response = fields.next().unwrap_or_default();
    let latency = match response {
        b"" => None,
        text => number::decimal(text, 9)
            .and_then(|ns| u64::try_from(ns).ok())
            .map(Some)
            .ok_or_else(|| fields.wrong("Response", "seconds or nothing"))
            .or_else(|error| fields.below_zero(error, sink))?,
    };
    let op = match fields.next().unwrap_or_default() {
        b"R" => Some(HostOp::Read),
        b"W" => Some(HostOp::Write),
        b"" => None,
        _ => return Err(fields.wrong("IOType", "R, W or nothing")),
    };
    let device = fields.small("LUN")?;
    let offset = fields.bytes("Offset", 1)?;
    let length = fields.bytes("Size", 1)?;
    fields.end()?;
    let Some(op) = op else {
        sink.other();
        return Ok(());
    };
    let mut record = TraceRecord::new(time, device, op, offset, length);
    record.latency_ns = latency;
    sink.push(record)
}
