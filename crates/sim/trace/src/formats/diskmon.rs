//! Log of the Sysinternals `DiskMon`, saved as text: tab-separated, no header.
//!
//! Rows are logged at completion. The duration column is in microseconds, milliseconds or
//! seconds depending on the version, and often 0, so it is not used. The decimal mark follows the
//! locale. Time is seconds since the capture began, or the time of day.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{LineParser, Parser, Sink};
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "diskmon",
    doc: "Sysinternals DiskMon log",
    columns: "number, time, duration, disk, request, sector, length (tab-separated)",
    time_unit: "s or HH:MM:SS, of completion",
    address_unit: "512-byte sectors",
    extensions: &[".diskmon"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(DiskMon::default())),
};

const DAY_NS: i64 = 86_400_000_000_000;

#[derive(Default)]
struct DiskMon {
    last_clock_ns: i64,
    days: i64,
}

impl LineParser for DiskMon {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"#\t") {
            sink.comment();
            return Ok(());
        }
        let mut fields = Fields::separated(line, b'\t');
        fields.integer("number")?;
        let (time, clock) = self.time(&mut fields)?;
        let duration = fields.text("duration")?;
        number::localised_decimal(duration, 9).ok_or_else(|| fields.wrong("duration", "a decimal number"))?;
        let disk = fields.small("disk")?;
        let op = match fields.text("request")? {
            text if text.eq_ignore_ascii_case(b"read") => HostOp::Read,
            text if text.eq_ignore_ascii_case(b"write") => HostOp::Write,
            _ => return Err(fields.wrong("request", "Read or Write")),
        };
        let offset = fields.bytes("sector", SECTOR)?;
        let length = fields.bytes("length", SECTOR)?;
        if let Some(extra) = fields.next()
            && !extra.is_empty()
        {
            return Err(fields.wrong("trailing column", "nothing"));
        }
        // A row that is left out does not set the clock.
        if let Some(clock) = clock {
            *self = clock;
        }
        sink.push(TraceRecord::new(time, disk, op, offset, length))
    }
}

impl DiskMon {
    /// The time of a row, and where it is the time of day the clock after it.
    fn time(&self, fields: &mut Fields<'_>) -> FieldResult<(i64, Option<DiskMon>)> {
        let text = fields.text("time")?;
        if !text.contains(&b':') {
            let time = number::localised_decimal(text, 9).ok_or_else(|| fields.wrong("time", "seconds or HH:MM:SS"));
            return Ok((time?, None));
        }
        let (text, half_day) = twelve_hour(text);
        let clock = number::clock(text).ok_or_else(|| fields.wrong("time", "seconds or HH:MM:SS"))?;
        let clock = match half_day {
            Some(afternoon) => clock % (DAY_NS / 2) + if afternoon { DAY_NS / 2 } else { 0 },
            None => clock,
        };
        let days = self.days + i64::from(self.last_clock_ns - clock > DAY_NS / 2);
        Ok((clock + days * DAY_NS, Some(DiskMon { last_clock_ns: clock, days })))
    }
}

/// Splits off `AM` or `PM`; the second value is true in the afternoon.
fn twelve_hour(text: &[u8]) -> (&[u8], Option<bool>) {
    for (suffix, afternoon) in [(b" AM", false), (b" PM", true)] {
        if let Some(clock) = text.strip_suffix(suffix) {
            return (clock, Some(afternoon));
        }
    }
    (text, None)
}
