//! HP SRT binary traces (`cello`, `hplajw`), version 1.3.
//!
//! ```text
//!   text header ... 0x0C, then big-endian records of 32-bit words:
//!   size id sec usec start stop bytes sector device driver cylinder flags info [queue [suspect]]
//! ```
//!
//! The sector unit is the one of the traced disks (`sectorsize` in the header; 256 bytes on the
//! HP-IB disks of `hplajw`, where cylinder = sector / 904 and 335 MB only come out that way).
//! `start` and `stop` are microseconds after the enqueueing at `sec.usec`; `stop` is the response
//! time. Records of the suspect kind are counted and left out.

use units::HostOp;

use super::reading::fields::{FieldResult, field_error};
use super::reading::parser::{FrameParser, Parser, Sink};
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "hp-srt",
    doc: "HP SRT binary traces (cello, hplajw)",
    columns: "size id sec usec start stop bytes sector device driver cylinder flags info [queue]",
    time_unit: "s and us",
    address_unit: "sectors of the size the header gives, sizes in bytes",
    extensions: &[".srt"],
    usual_order: Order::Sort,
    parser: || Parser::Frames(Box::new(Srt { sector_bytes: None })),
};

const MAGIC: &[u8] = b"$$TR_IOREC";
const HEADER_END: u8 = 0x0c;
const HEADER_BYTES_MAX: usize = 60 << 10;
const SECTOR_KEY: &[u8] = b"sectorsize";
const WORD: usize = 4;
const FLAG_READ: u32 = 1;
const KIND_NORMAL: u32 = 1;

struct Srt {
    /// Known once the header is read.
    sector_bytes: Option<u64>,
}

impl FrameParser for Srt {
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>> {
        match self.sector_bytes {
            None => {
                let Some(header) = header(bytes)? else { return Ok(None) };
                self.sector_bytes = Some(sector_bytes(header)?);
                sink.comment();
                Ok(Some(header.len() + 1))
            }
            Some(sector_bytes) => record(bytes, sector_bytes, sink),
        }
    }
}

fn header(bytes: &[u8]) -> FieldResult<Option<&[u8]>> {
    let compared = bytes.len().min(MAGIC.len());
    if bytes[..compared] != MAGIC[..compared] {
        return Err(field_error(0, "header", &bytes[..compared], "$$TR_IOREC"));
    }
    let window = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
    match memchr::memchr(HEADER_END, window) {
        Some(end) => Ok(Some(&bytes[..end])),
        None if window.len() == HEADER_BYTES_MAX => {
            Err(field_error(0, "header", b"no form feed", "a form feed within 60 KiB"))
        }
        None => Ok(None),
    }
}

/// The sector size all disks of the header agree on; 512 when it gives none.
fn sector_bytes(header: &[u8]) -> FieldResult<u64> {
    let mut agreed = None;
    for start in memchr::memmem::find_iter(header, SECTOR_KEY) {
        let value = header[start + SECTOR_KEY.len()..].trim_ascii_start();
        let value = value.strip_prefix(b"=").unwrap_or(value).trim_ascii_start();
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let size = super::reading::number::integer(&value[..digits])
            .filter(|size| (1..=65_536).contains(size))
            .ok_or_else(|| field_error(0, "sectorsize", &value[..digits], "1 to 65536"))?;
        if agreed.is_some_and(|other| other != size) {
            return Err(field_error(0, "sectorsize", &value[..digits], "one sector size for all disks"));
        }
        agreed = Some(size);
    }
    Ok(agreed.unwrap_or(super::SECTOR))
}

fn record(bytes: &[u8], sector_bytes: u64, sink: &mut Sink) -> FieldResult<Option<usize>> {
    if bytes.len() < 2 * WORD {
        return Ok(None);
    }
    let word = |index: usize| {
        let at = index * WORD;
        u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let size = word(0) as usize;
    if !(13 * WORD..=15 * WORD).contains(&size) || !size.is_multiple_of(WORD) {
        return Err(field_error(1, "size", size.to_string().as_bytes(), "52 to 60 bytes"));
    }
    let (version, kind) = (word(1) >> 16, word(1) & 0xffff);
    if !(1..=4).contains(&version) {
        return Err(field_error(2, "id", version.to_string().as_bytes(), "record version 1 to 4"));
    }
    if bytes.len() < size {
        return Ok(None);
    }
    if kind != KIND_NORMAL {
        sink.other();
        return Ok(Some(size));
    }
    let time = i64::from(word(2)) * 1_000_000_000 + i64::from(word(3)) * 1000;
    let op = if word(11) & FLAG_READ == 0 { HostOp::Write } else { HostOp::Read };
    let offset = u64::from(word(7)) * sector_bytes;
    let mut record = TraceRecord::new(time, (word(8) >> 8) & 0xff, op, offset, u64::from(word(6)));
    record.latency_ns = Some(u64::from(word(5)) * 1000);
    sink.push(record)?;
    Ok(Some(size))
}
