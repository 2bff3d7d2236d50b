//! `SSDsim` (HUST) ASCII: integer nanoseconds, 512-byte sectors, **1 = read**, 0 = write. The
//! simulator ignores the device column and so lays all devices over each other; here they stay
//! apart.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "ssdsim",
    doc: "SSDsim (HUST) ASCII traces",
    columns: "time device sector sectors operation(0 write, 1 read)",
    time_unit: "ns",
    address_unit: "512-byte sectors",
    extensions: &[".ssdsim"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let time = fields.time("time", 1)?;
    let device = fields.small("device")?;
    let offset = fields.bytes("sector", SECTOR)?;
    let length = fields.bytes("sectors", SECTOR)?;
    let op = match fields.text("operation")? {
        b"0" => HostOp::Write,
        b"1" => HostOp::Read,
        _ => return Err(fields.wrong("operation", "0 (write) or 1 (read)")),
    };
    fields.end()?;
    sink.push(TraceRecord::new(time, device, op, offset, length))
}
