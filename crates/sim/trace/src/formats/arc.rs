//! The `.lis` traces of the ARC paper (P1 to P14): reads of 512-byte blocks, without times, so
//! every record arrives at 0 and only a closed-loop run makes sense.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "arc",
    doc: "ARC cache traces (.lis): reads only, no times",
    columns: "start_block n_blocks ignored request_number",
    time_unit: "none",
    address_unit: "512-byte blocks",
    extensions: &[".lis"],
    usual_order: Order::Error,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let offset = fields.bytes("start_block", SECTOR)?;
    let length = fields.bytes("n_blocks", SECTOR)?;
    fields.integer("ignored")?;
    fields.integer("request_number")?;
    fields.end()?;
    sink.push(TraceRecord::new(0, 0, HostOp::Read, offset, length))
}
