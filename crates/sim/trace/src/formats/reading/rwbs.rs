//! What traces of the Linux block layer have in common: the operation letters `W`, `RA`, `WS`,
//! `FWFS`, `D`, `FF`, and devices as major and minor number.

use units::HostOp;

use super::TraceRecord;
use super::fields::{FieldResult, field_error};
use super::number;
use super::parser::Sink;
use crate::formats::SECTOR;

/// A decoded letter group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None` for a request that is neither of the four, such as `N` or a command to a zone.
    pub op: Option<HostOp>,
    /// A flush goes before the data.
    pub preflush: bool,
    pub fua: bool,
}

/// Decodes `text`: a leading `F` is a flush before what follows, an `F` after the operation is
/// force unit access, and the other letters (ahead, sync, meta, ...) do not change what is asked.
pub(crate) fn parse(text: &[u8]) -> Option<Rwbs> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let preflush = matches!(text, [b'F', b'R' | b'W' | b'D' | b'N' | b'F', ..]);
    let rest = if preflush { &text[1..] } else { text };
    let op = match rest.first()? {
        b'R' => Some(HostOp::Read),
        b'W' => Some(HostOp::Write),
        b'D' => Some(HostOp::Trim),
        b'F' => Some(HostOp::Flush),
        b'N' | b'Z' => None,
        _ => return None,
    };
    let fua = matches!(op, Some(HostOp::Write)) && rest[1..].contains(&b'F');
    Some(Rwbs { op, preflush, fua })
}

/// Keeps what a row asks for: a flush that goes before, then the data. `record` has time and device,
/// and is otherwise a flush.
pub(crate) fn push(
    letters: Rwbs,
    sector: u64,
    length_bytes: u64,
    mut record: TraceRecord,
    sink: &mut Sink,
) -> FieldResult<()> {
    let flush = letters.preflush || letters.op == Some(HostOp::Flush);
    if flush {
        sink.push(record)?;
    }
    match letters.op {
        Some(op) if op != HostOp::Flush && (length_bytes > 0 || !flush) => {
            record.op = op;
            record.fua = letters.fua;
            record.length_bytes = length_bytes;
            if length_bytes > 0 {
                record.offset_bytes = sector.checked_mul(SECTOR).ok_or_else(|| {
                    field_error(0, "sector", sector.to_string().as_bytes(), "an address below 2^64 bytes")
                })?;
            }
            sink.push(record)
        }
        None if !flush => {
            sink.other();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A device `MAJOR,MINOR` as one number, as the kernel packs it.
pub(crate) fn device(text: &[u8]) -> Option<u32> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let major = number::integer(&text[..comma]).filter(|&major| major < 1 << 12)?;
    let minor = number::integer(&text[comma + 1..]).filter(|&minor| minor < 1 << 20)?;
    Some((major << 20 | minor) as u32)
}

/// The name of a device packed so.
pub(crate) fn device_name(device: u32) -> String {
    format!("{},{}", device >> 20, device & 0xf_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flush_and_force_unit_access_are_told_apart() {
        let of = |text: &str| parse(text.as_bytes()).unwrap();
        assert_eq!(of("WS"), Rwbs { op: Some(HostOp::Write), preflush: false, fua: false });
        assert_eq!(of("WFS"), Rwbs { op: Some(HostOp::Write), preflush: false, fua: true });
        assert_eq!(of("FWFS"), Rwbs { op: Some(HostOp::Write), preflush: true, fua: true });
        assert_eq!(of("FF"), Rwbs { op: Some(HostOp::Flush), preflush: true, fua: false });
        assert_eq!(of("FN"), Rwbs { op: None, preflush: true, fua: false });
        assert_eq!(of("DS").op, Some(HostOp::Trim));
        assert_eq!(of("ZA").op, None);
        assert_eq!(parse(b"w"), None);
        assert_eq!(parse(b"X"), None);
    }
}
