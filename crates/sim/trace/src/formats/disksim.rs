//! `DiskSim` ASCII: milliseconds as a decimal, 512-byte blocks, hexadecimal flags, bit 0 = read.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    doc: "DiskSim ASCII traces",
    columns: "arrival_ms device block blocks flags(hexadecimal, bit 0 = read)",
    time_unit: "ms, decimal",
    address_unit: "512-byte blocks",
    extensions: &[".disksim"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

const FLAG_READ: u64 = 1;

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let time = fields.decimal_time("arrival_ms", 6)?;
    let device = fields.small("device")?;
    let offset = fields.bytes("block", SECTOR)?;
    let length = fields.bytes("blocks", SECTOR)?;
    let flags = fields.text("flags")?;
    let flags = number::hexadecimal(flags)
        .filter(|&flags| u32::try_from(flags).is_ok())
        .ok_or_else(|| fields.wrong("flags", "a hexadecimal number of up to 32 bits"))?;
    fields.end()?;
    let op = if flags & FLAG_READ == 0 { HostOp::Write } else { HostOp::Read };
    sink.push(TraceRecord::new(time, device, op, offset, length))
}
