//! I/O logs of the KV-cache benchmark of `MLPerf` Storage (`kv-cache.py --io-trace-log`): objects that a server of
//! language models moves between its tiers, `Tier-0` (GPU), `Tier-1` (memory) and `Tier-2` (drive).
//!
//! A row is one object, named by its key; an [`Allocator`] gives it an address. The tier that is a drive is replayed,
//! and rows of the others are counted and left out; by tier, each tier is a device. An object that is read in order to
//! be evicted leaves its tier, and so does one that is deleted: its place is trimmed. The benchmark does not log that
//! its last tier drops an object, so the space of such a trace does not shrink.

use std::borrow::Cow;

use super::Allocator;
use super::allocator::Objects;
use crate::formats::reading::fields::{FieldResult, Fields, field_error};
use crate::formats::reading::parser::{LineParser, Names, Parser, Sink};
use crate::formats::{Format, Order, TraceRecord};
use units::HostOp;

pub(in crate::formats) const FORMAT: Format = Format {
    name: "mlperf-kv-cache",
    doc: "I/O logs of the KV-cache benchmark of MLPerf Storage, keys placed by workload.allocator",
    columns: HEADER,
    time_unit: "s since 1970, decimal",
    address_unit: "keys, sizes in bytes",
    extensions: &[],
    // Rows stand in the order of the operations, which the places depend on.
    usual_order: Order::Clamp,
    parser: || Parser::Lines(Box::new(KvCache::default())),
};

const HEADER: &str = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase";

#[derive(Default)]
struct KvCache {
    allocator: Allocator,
    /// The header has been read.
    has_header: bool,
    tiers: Names,
    /// Of each tier that is placed, by its number.
    objects: Vec<Objects>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Delete,
}

impl LineParser for KvCache {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.trim_ascii() == HEADER.as_bytes() {
            self.has_header = true;
            sink.comment();
            return Ok(());
        }
        if !self.has_header {
            return Err(field_error(0, "header", line, HEADER));
        }
        let mut fields = Fields::commas(line);
        let time = fields.decimal_time("Timestamp", 9)?;
        let action = match fields.text("Operation")? {
            text if text.eq_ignore_ascii_case(b"read") => Action::Read,
            text if text.eq_ignore_ascii_case(b"write") => Action::Write,
            text if text.eq_ignore_ascii_case(b"delete") => Action::Delete,
            _ => return Err(fields.wrong("Operation", "Read, Write or Delete")),
        };
        let size = fields.integer("Object_Size_Bytes")?;
        let tier = fields.text("Tier")?;
        let rest = fields.rest().unwrap_or_default();
        let Some(comma) = memchr::memrchr(b',', rest) else {
            return Err(field_error(5, "Key", rest, "a key and a phase"));
        };
        let (key, phase) = (unquoted(rest[..comma].trim_ascii()), rest[comma + 1..].trim_ascii());
        if key.is_empty() {
            return Err(field_error(5, "Key", b"", "the name of an object"));
        }
        if self.allocator != Allocator::ByTier && !is_drive(tier) {
            sink.left_out(
                "rows of tiers that are not a drive (workload.allocator = by-tier reads each tier as a device)",
            );
            return Ok(());
        }
        let device = self.tiers.number(tier);
        let allocator = self.allocator;
        self.objects.resize_with(self.objects.len().max(device as usize + 1), || Objects::new(allocator));
        let row = Row { time, device, key: &key, size, leaves: phase.eq_ignore_ascii_case(b"evict") };
        row.push(action, &mut self.objects[device as usize], sink)
    }

    fn allocate(&mut self, allocator: Allocator) -> bool {
        self.allocator = allocator;
        true
    }

    fn notes(&self) -> Vec<String> {
        let note = |(objects, number): (&Objects, u32)| {
            objects.note(&self.tiers.name(number).unwrap_or_default(), self.allocator)
        };
        self.objects.iter().zip(0..).map(note).collect()
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.tiers.name(device)
    }
}

/// One row of a tier that is placed.
struct Row<'a> {
    time: i64,
    device: u32,
    key: &'a [u8],
    size: u64,
    /// The object leaves its tier once it is read.
    leaves: bool,
}

impl Row<'_> {
    fn push(&self, action: Action, objects: &mut Objects, sink: &mut Sink) -> FieldResult<()> {
        if action == Action::Delete {
            return self.trim(objects, sink);
        }
        if self.size == 0 {
            sink.zero();
            return Ok(());
        }
        let record = |op, start, length| TraceRecord::new(self.time, self.device, op, start, length);
        let beyond = || {
            let size = self.size.to_string();
            field_error(3, "Object_Size_Bytes", size.as_bytes(), "objects that take less than 2^64 bytes together")
        };
        if action == Action::Read {
            let start = objects.read(self.key, self.size).ok_or_else(beyond)?;
            sink.push(record(HostOp::Read, start, self.size))?;
            return if self.leaves { self.trim(objects, sink) } else { Ok(()) };
        }
        let written = objects.write(self.key, self.size).ok_or_else(beyond)?;
        let left = written.left.map(|piece| record(HostOp::Trim, piece.start, piece.length));
        if let Some(trim) = left.filter(|_| written.is_left_first) {
            sink.push(trim)?;
        }
        sink.push(record(HostOp::Write, written.start, self.size))?;
        left.filter(|_| !written.is_left_first).map_or(Ok(()), |trim| sink.push(trim))
    }

    fn trim(&self, objects: &mut Objects, sink: &mut Sink) -> FieldResult<()> {
        let Some(piece) = objects.delete(self.key) else {
            sink.left_out("deletes of objects that were never read or written");
            return Ok(());
        };
        sink.push(TraceRecord::new(self.time, self.device, HostOp::Trim, piece.start, piece.length))
    }
}

/// Whether a tier is a drive, by the name that the benchmark gives it.
fn is_drive(tier: &[u8]) -> bool {
    tier.eq_ignore_ascii_case(b"tier-2") || tier.eq_ignore_ascii_case(b"nvme")
}

/// The text of a CSV field.
fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    let inner = field.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\""));
    match inner {
        None => Cow::Borrowed(field),
        Some(inner) if memchr::memchr(b'"', inner).is_none() => Cow::Borrowed(inner),
        Some(inner) => {
            let mut bytes = inner.to_vec();
            bytes.dedup_by(|next, before| *next == b'"' && *before == b'"');
            Cow::Owned(bytes)
        }
    }
}
