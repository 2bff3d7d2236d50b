//! SPC trace file format 1.0.1, as the `UMass` repository distributes it (`Financial1.spc`).
//!
//! Address in 512-byte blocks, size in **bytes** and not necessarily a multiple of 512; size 0 is
//! legal. Each application storage unit (ASU) is an address space of its
//! own. Optional fields may follow and are ignored.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    doc: "SPC trace file format, as in the UMass traces",
    columns: "ASU,LBA,Size,Opcode,Timestamp[,...]",
    time_unit: "s, decimal",
    address_unit: "512-byte blocks, sizes in bytes",
    extensions: &[".spc"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

#[inline]
fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::commas(line);
    let device = fields.small("ASU")?;
    let offset = fields.bytes("LBA", SECTOR)?;
    let length = fields.bytes("Size", 1)?;
    let op = match fields.text("Opcode")? {
        b"R" | b"r" => HostOp::Read,
        b"W" | b"w" => HostOp::Write,
        _ => return Err(fields.wrong("Opcode", "R or W")),
    };
    let time = fields.decimal_time("Timestamp", 9)?;
    sink.push(TraceRecord::new(time, device, op, offset, length))
}
