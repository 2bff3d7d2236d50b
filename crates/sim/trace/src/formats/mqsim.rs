//! `MQSim` ASCII: nanoseconds, 512-byte sectors, **1 = read**, 0 = write.
//!
//! The `Time_Unit` of its configuration file is documented, but the simulator never applies it,
//! so times are nanoseconds. Address and size may carry C's prefixes (`0x10`, `010`). Where the
//! simulator stops silently at the first odd line, reading here is an error.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "mqsim",
    doc: "MQSim ASCII traces",
    columns: "time device sector sectors type(0 write, 1 read)",
    time_unit: "ns",
    address_unit: "512-byte sectors",
    extensions: &[".mqsim"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let time = fields.time("time", 1)?;
    let device = fields.small("device")?;
    let offset = prefixed(&mut fields, "sector")?;
    let length = prefixed(&mut fields, "sectors")?;
    let op = match fields.text("type")? {
        b"0" => HostOp::Write,
        b"1" => HostOp::Read,
        _ => return Err(fields.wrong("type", "0 (write) or 1 (read)")),
    };
    fields.end()?;
    sink.push(TraceRecord::new(time, device, op, offset, length))
}

fn prefixed(fields: &mut Fields<'_>, name: &'static str) -> FieldResult<u64> {
    let text = fields.text(name)?;
    number::c_integer(text)
        .and_then(|sectors| sectors.checked_mul(SECTOR))
        .ok_or_else(|| fields.wrong(name, "an integer (0x for hexadecimal, 0 for octal)"))
}
