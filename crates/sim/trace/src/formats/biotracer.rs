//! `BIOtracer` (Nexus 5, smartphone traces): eight tab-separated fields, writes marked by bit 0.
//!
//! The driver adds a few sectors to some sizes, so about one size in nine is no multiple of
//! 4 KiB; sizes are taken as they stand. A trace that begins before the phone set its clock jumps
//! by decades.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::parser::{Parser, Sink, Stateless};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "biotracer",
    doc: "BIOtracer smartphone traces (Nexus 5)",
    columns: "start_sector size_sectors size_bytes flags t_generate t_process t_submit t_finish",
    time_unit: "s since 1970, 9 decimals",
    address_unit: "512-byte sectors",
    extensions: &[".biotracer"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Stateless(parse))),
};

const FLAG_WRITE: u64 = 1;

fn parse(line: &[u8], sink: &mut Sink) -> FieldResult<()> {
    let mut fields = Fields::blanks(line);
    let offset = fields.bytes("start_sector", SECTOR)?;
    let size = fields.bytes("size_sectors", SECTOR)?;
    let length = fields.bytes("size_bytes", 1)?;
    if length != size {
        return Err(fields.wrong("size_bytes", "512 times size_sectors"));
    }
    let flags = fields.integer("flags")?;
    let op = if flags & FLAG_WRITE == 0 { HostOp::Read } else { HostOp::Write };
    let time = fields.decimal_time("t_generate", 9)?;
    fields.decimal_time("t_process", 9)?;
    fields.decimal_time("t_submit", 9)?;
    let finish = fields.decimal_time("t_finish", 9)?;
    fields.end()?;
    let mut record = TraceRecord::new(time, 0, op, offset, length);
    record.latency_ns = finish.checked_sub(time).and_then(|ns| u64::try_from(ns).ok());
    sink.push(record)
}
