//! Pixel 6a traces (mobile applications): CSV with 512-byte sectors.
//!
//! The time column is seconds since the phone started. Part of the rows are the same I/O seen at
//! the loop or mapper device and again at the disk: select one device. The row
//! `preconditioning_ended` marks the end of the installation phase and is skipped. The process
//! name may contain commas, so a line is read from the right.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields, field_error};
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::reading::rwbs;
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "pixel",
    doc: "Pixel 6a mobile application traces",
    columns: "proces,device,rw_flag,sector,size,timestamp",
    time_unit: "s since boot, decimal",
    address_unit: "512-byte sectors",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Pixel::default())),
};

/// Columns right of the process name.
const RIGHT_COLUMNS: usize = 5;

#[derive(Default)]
struct Pixel {
    devices: Names,
}

impl LineParser for Pixel {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        // The misspelling stands in the published files.
        let header = line.starts_with(b"proces,") || line.starts_with(b"process,");
        if header || without_quotes(line) == b"preconditioning_ended" {
            sink.comment();
            return Ok(());
        }
        let Some(comma) = memchr::memrchr_iter(b',', line).nth(RIGHT_COLUMNS - 1) else {
            return Err(field_error(0, "line", line, "six fields separated by commas"));
        };
        let mut fields = Fields::commas(&line[comma + 1..]);
        let device = fields.text("device")?;
        // Rows of systor have the same columns but for seconds here.
        if device.contains(&b'.') {
            return Err(fields.wrong("device", "a number or a name without a point"));
        }
        let letters = fields.text("rw_flag")?;
        let letters = rwbs::parse(letters).ok_or_else(|| fields.wrong("rw_flag", "R or W"))?;
        let Some(op) = letters.op.filter(|op| *op != HostOp::Flush) else {
            sink.other();
            return Ok(());
        };
        let offset = fields.bytes("sector", SECTOR)?;
        let length = fields.bytes("size", SECTOR)?;
        let time = fields.decimal_time("timestamp", 9)?;
        let mut record = TraceRecord::new(time, self.devices.number(device), op, offset, length);
        record.fua = letters.fua;
        sink.push(record)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.devices.name(device)
    }
}

fn without_quotes(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}
