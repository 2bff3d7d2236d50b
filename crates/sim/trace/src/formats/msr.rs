//! MSR Cambridge: Windows FILETIME, bytes, one volume per file.
//!
//! A FILETIME counts 100 ns since 1601 and does not fit a double; as nanoseconds it does not even
//! fit 64 bits, so it is moved to 1970 first. Copies with counts from zero are taken as they are, and
//! so are copies with date and time of day in place of the count.

use units::HostOp;

use super::reading::fields::{FieldResult, Fields};
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "msr",
    doc: "MSR Cambridge CSV",
    columns: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    time_unit: "FILETIME, 100 ns since 1601, or YYYY-MM-DD HH:MM:SS[.fraction]",
    address_unit: "bytes",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Msr::default())),
};

const TICK_NS: i64 = 100;
/// Disks a host may have before its numbers run into those of the next host.
const DISKS_PER_HOST: u32 = 1 << 16;

#[derive(Default)]
struct Msr {
    hosts: Names,
}

impl LineParser for Msr {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.first() == Some(&b'T') && line.starts_with(b"Timestamp,") {
            sink.comment();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        let time = time(&mut fields)?;
        let host = fields.text("Hostname")?;
        let disk = fields.small("DiskNumber")?;
        if disk >= DISKS_PER_HOST {
            return Err(fields.wrong("DiskNumber", "a disk number below 65536"));
        }
        let op = match fields.text("Type")? {
            b"Read" => HostOp::Read,
            b"Write" => HostOp::Write,
            text if text.eq_ignore_ascii_case(b"read") => HostOp::Read,
            text if text.eq_ignore_ascii_case(b"write") => HostOp::Write,
            _ => return Err(fields.wrong("Type", "Read or Write")),
        };
        let offset = fields.bytes("Offset", 1)?;
        let length = fields.bytes("Size", 1)?;
        let response = match fields.bytes("ResponseTime", TICK_NS as u64) {
            Ok(response) => Some(response),
            Err(error) => fields.below_zero(error, sink)?,
        };
        fields.end()?;
        let host = self.hosts.number(host).min(u32::from(u16::MAX));
        let mut record = TraceRecord::new(time, host * DISKS_PER_HOST + disk, op, offset, length);
        record.latency_ns = response;
        sink.push(record)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        let host = self.hosts.name(device / DISKS_PER_HOST)?;
        Some(format!("{host}_{}", device % DISKS_PER_HOST))
    }
}

fn time(fields: &mut Fields<'_>) -> FieldResult<i64> {
    let ticks = if let Some(ticks) = fields.digits() {
        ticks as i64
    } else {
        let text = fields.text("Timestamp")?;
        if text.contains(&b':') {
            let expected = "a FILETIME, or YYYY-MM-DD HH:MM:SS[.fraction] from 1970 on";
            return number::date_time(text)
                .filter(|time| *time >= 0)
                .ok_or_else(|| fields.wrong("Timestamp", expected));
        }
        fields.as_time(text, "Timestamp", 1)?
    };
    let ns = number::since_1970(ticks).checked_mul(TICK_NS);
    ns.ok_or_else(|| fields.wrong("Timestamp", "a FILETIME before 2262"))
}
