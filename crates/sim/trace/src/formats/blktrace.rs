//! Binary records of blktrace: one file of a processor (`sda.blktrace.0`), or the stream of all of
//! them (`blktrace -o -`, `blkparse -d`).
//!
//! ```text
//!   version 7, 48 bytes: u32 magic sequence; u64 time_ns sector; u32 bytes action pid device cpu;
//!                        u16 error pdu
//!   version 8, 64 bytes: u32 magic sequence; u64 time_ns sector; u32 bytes pid; u64 action;
//!                        u32 device cpu; u16 error pdu; 12 bytes of nothing
//!   then pdu bytes that are skipped
//! ```
//!
//! The byte order is the traced machine's, told by the magic `0x656174` above the version. The lower 16
//! bits of `action` are the step, the upper ones its kind: read or write, flush, discard, force unit
//! access, a command to a zone. As in blkparse text, exactly one step is read, and the same one by
//! default. The file of one processor has only what was queued on it: blkparse joins them (`-d`).

use units::HostOp;

use super::reading::fields::{FieldResult, field_error};
use super::reading::number::{u16_at, u32_at, u64_at};
use super::reading::parser::{FrameParser, Parser, Sink};
use super::reading::rwbs::{self, Appends, Rwbs, Zone};
use super::reading::steps::Step;
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "blktrace",
    doc: "binary blktrace, records of action Q: requests that the host queued (join files of several processors: \
          blkparse -i sda -d all.bin)",
    columns: "magic sequence time_ns sector bytes action pid device cpu error pdu",
    time_unit: "ns since the start of the trace",
    address_unit: "512-byte sectors, sizes in bytes",
    extensions: &[],
    usual_order: Order::Sort,
    parser: || Parser::Frames(Box::new(Blktrace::of(b'Q'))),
};

pub(super) const FORMAT_ISSUE: Format = Format {
    name: "blktrace-issue",
    doc: "binary blktrace, records of action D: requests issued to the drive after merging",
    parser: || Parser::Frames(Box::new(Blktrace::of(b'D'))),
    ..FORMAT
};

pub(super) const FORMAT_COMPLETE: Format = Format {
    name: "blktrace-complete",
    doc: "binary blktrace, records of action C: completions, at the time of completion",
    parser: || Parser::Frames(Box::new(Blktrace::of(b'C'))),
    ..FORMAT
};

const MAGIC: u32 = 0x6561_7400;
/// Length of a record of version 7, and of version 8.
const LENGTHS: [usize; 2] = [48, 64];
const LENGTH_MAX: usize = 64;
/// Steps, in the lower bits of the action.
const QUEUE: u64 = 1;
const ISSUE: u64 = 7;
const COMPLETE: u64 = 8;
/// The step is of a control group, whose number is part of the pdu.
const CGROUP: u64 = 1 << 8;
/// Kinds, in the upper bits of the action.
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASSTHROUGH: u64 = 1 << 25;
const NOTIFY: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const FUA: u64 = 1 << 31;
/// Commands to zones, which only version 8 has.
const ZONES: [(u64, Zone); 6] = [
    (1 << 32, Zone::Append),
    (1 << 33, Zone::Reset),
    (1 << 34, Zone::ResetAll),
    (1 << 35, Zone::Finish),
    (1 << 36, Zone::Open),
    (1 << 37, Zone::Close),
];
/// Anything above: not known.
const UNKNOWN: u64 = !0 << 38;

const LATE: &str = "only actions that are less usual, as in the first part of the trace \
     (--format blktrace reads action Q, blktrace-issue action D, blktrace-complete action C)";

struct Blktrace {
    step: Step,
    appends: Appends,
}

/// One record, whatever its version.
struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
}

impl FrameParser for Blktrace {
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>> {
        let Some(magic) = bytes.first_chunk::<4>() else { return Ok(None) };
        let swapped = u32::from_le_bytes(*magic) & 0xffff_ff00 != MAGIC;
        let number = if swapped { u32::from_be_bytes(*magic) } else { u32::from_le_bytes(*magic) };
        let version = (number ^ MAGIC) as usize;
        let Some(&length) = version.checked_sub(7).and_then(|index| LENGTHS.get(index)) else {
            return Err(field_error(1, "magic", format!("{number:#x}").as_bytes(), "0x65617407 or 0x65617408"));
        };
        let Some(record) = bytes.get(..length) else { return Ok(None) };
        let mut ordered = [0; LENGTH_MAX];
        ordered[..length].copy_from_slice(record);
        if swapped {
            swap(&mut ordered, version);
        }
        let (event, pdu) = event(&ordered, version);
        let length = length + usize::from(pdu);
        if bytes.len() < length {
            return Ok(None);
        }
        self.push(&event, sink)?;
        Ok(Some(length))
    }

    fn detected(&mut self) {
        self.step.detected = true;
    }

    fn device_name(&self, device: u32) -> Option<String> {
        Some(rwbs::device_name(device))
    }
}

impl Blktrace {
    fn of(letter: u8) -> Blktrace {
        Blktrace { step: Step::of(letter), appends: Appends::default() }
    }

    fn push(&mut self, event: &Event, sink: &mut Sink) -> FieldResult<()> {
        let letter = match event.action & 0xffff & !CGROUP {
            _ if event.action & (NOTIFY | PASSTHROUGH | UNKNOWN) != 0 => None,
            QUEUE => Some(b'Q'),
            ISSUE => Some(b'D'),
            COMPLETE => Some(b'C'),
            _ => None,
        };
        match letter {
            Some(letter) if self.step.is(letter) => {}
            Some(letter) if self.step.is_late(letter) => return Err(field_error(6, "action", &[letter], LATE).fatal()),
            _ => {
                sink.other();
                return Ok(());
            }
        }
        let time = i64::try_from(event.time_ns)
            .map_err(|_| field_error(3, "time_ns", event.time_ns.to_string().as_bytes(), "a time below 292 years"))?;
        let is = |kind: u64| event.action & kind != 0;
        let zone = ZONES.into_iter().find_map(|(kind, zone)| is(kind).then_some(zone));
        let op = if let Some(zone) = zone {
            zone.op()
        } else if is(DISCARD) {
            Some(HostOp::Trim)
        } else if is(WRITE) {
            Some(HostOp::Write)
        } else {
            (event.bytes > 0).then_some(HostOp::Read)
        };
        let letters = Rwbs { op, preflush: is(FLUSH), fua: is(FUA) && op == Some(HostOp::Write), zone };
        let (mut sector, length) = (event.sector, u64::from(event.bytes));
        if let Some(zone) = zone.filter(|_| !self.step.is(b'C')) {
            sector = self.appends.place(zone, event.device, sector, length / SECTOR);
        }
        let record = TraceRecord::new(time, event.device, HostOp::Flush, 0, 0);
        rwbs::push(letters, sector, length, record, sink)
    }
}

/// A record in little-endian order, and the bytes that follow it.
fn event(record: &[u8; LENGTH_MAX], version: usize) -> (Event, u16) {
    let (time_ns, sector, bytes) = (u64_at(record, 8), u64_at(record, 16), u32_at(record, 24));
    if version == 7 {
        let action = u64::from(u32_at(record, 28));
        return (Event { time_ns, sector, bytes, action, device: u32_at(record, 36) }, u16_at(record, 46));
    }
    let (action, device) = (u64_at(record, 32), u32_at(record, 40));
    (Event { time_ns, sector, bytes, action, device }, u16_at(record, 50))
}

/// Turns round every number of a record.
fn swap(record: &mut [u8; LENGTH_MAX], version: usize) {
    let widths: &[usize] = match version {
        7 => &[4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2],
        _ => &[4, 4, 8, 8, 4, 4, 8, 4, 4, 2, 2],
    };
    let mut at = 0;
    for width in widths {
        record[at..at + width].reverse();
        at += width;
    }
}
