//! Traces revised by `TraceTracker` (Camelab). The operation may be `RS` or `WS`; a reader that
//! only tests for `R` would turn reads into writes.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "tracetracker",
    doc: "MSR and other traces as revised by TraceTracker (Camelab)",
    columns: "time op(R W RS WS) sector sectors seq|rand t1 t2 t3",
    time_unit: "s, decimal",
    address_unit: "512-byte sectors",
    extensions: &[".tracetracker"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let time = fields.decimal_time("time", 9)?;
    let op = match fields.text("op")? {
        b"R" | b"RS" => HostOp::Read,
        b"W" | b"WS" => HostOp::Write,
        _ => return Err(fields.wrong("op", "R, W, RS or WS")),
    };
    let offset = fields.bytes("sector", SECTOR)?;
    let length = fields.bytes("sectors", SECTOR)?;
    match fields.text("locality")? {
        b"seq" | b"rand" => {}
        _ => return Err(fields.wrong("locality", "seq or rand")),
    }
    sink.push(TraceRecord::new(time, 0, op, offset, length))
}
