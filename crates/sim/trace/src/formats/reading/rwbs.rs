//! Common parts of traces of the Linux block layer: the operation letters `W`, `RA`, `WS`,
//! `FWFS`, `D`, `FF`, `ZA`, and devices as major and minor number.

use std::collections::BTreeMap;

use units::HostOp;

use super::TraceRecord;
use super::fields::{FieldResult, field_error};
use super::number;
use super::parser::Sink;
use crate::formats::SECTOR;

/// A decoded letter group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None` for a request that is neither of the four, such as `N` or a command that opens a zone.
    pub op: Option<HostOp>,
    /// A flush goes before the data.
    pub preflush: bool,
    pub fua: bool,
    /// The operation on a zone.
    pub zone: Option<Zone>,
}

/// A command to a zone of a zoned drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// A write behind the data that the zone has.
    Append,
    /// Frees the zone.
    Reset,
    /// Frees all zones.
    ResetAll,
    Finish,
    Open,
    Close,
}

impl Zone {
    /// The operation on a drive without zones.
    pub fn op(self) -> Option<HostOp> {
        match self {
            Zone::Append => Some(HostOp::Write),
            Zone::Reset | Zone::ResetAll => Some(HostOp::Trim),
            Zone::Finish | Zone::Open | Zone::Close => None,
        }
    }

    /// The kind of a row that is left out.
    pub fn left_out(self) -> &'static str {
        match self {
            Zone::Append => "zone appends without a length",
            Zone::Reset => "zone resets without a length",
            Zone::ResetAll => "resets of all zones",
            Zone::Finish => "zone finishes",
            Zone::Open => "zone opens",
            Zone::Close => "zone closes",
        }
    }
}

/// Where appended data goes. A zone append names its zone by the first address, and the drive writes behind what was
/// appended there since the last reset.
#[derive(Default)]
pub(crate) struct Appends {
    /// Device and start of the zone to what was appended.
    lengths: BTreeMap<(u32, u64), u64>,
}

impl Appends {
    /// The place of a command to the zone that begins at `start`; start and length in any one unit.
    pub fn place(&mut self, zone: Zone, device: u32, start: u64, length: u64) -> u64 {
        match zone {
            Zone::Append => {
                let appended = self.lengths.entry((device, start)).or_default();
                let place = start.saturating_add(*appended);
                *appended = appended.saturating_add(length);
                return place;
            }
            Zone::Reset => {
                self.lengths.remove(&(device, start));
            }
            Zone::ResetAll => self.lengths.retain(|(other, _), _| *other != device),
            Zone::Finish | Zone::Open | Zone::Close => {}
        }
        start
    }
}

/// Decodes `text`: a leading `F` is a flush before what follows, an `F` after the operation is
/// force unit access, and the other letters (ahead, sync, meta, ...) do not change what is asked.
/// A `Z` is a command to a zone, which the letter behind it names.
pub(crate) fn parse(text: &[u8]) -> Option<Rwbs> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let preflush = matches!(text, [b'F', b'R' | b'W' | b'D' | b'N' | b'F' | b'Z', ..]);
    let rest = if preflush { &text[1..] } else { text };
    let zone = if rest.first() == Some(&b'Z') { zone(&rest[1..]) } else { None };
    let op = match rest.first()? {
        b'R' => Some(HostOp::Read),
        b'W' => Some(HostOp::Write),
        b'D' => Some(HostOp::Trim),
        b'F' => Some(HostOp::Flush),
        b'Z' => zone.and_then(Zone::op),
        b'N' => None,
        _ => return None,
    };
    let fua = matches!(op, Some(HostOp::Write)) && rest[1..].contains(&b'F');
    Some(Rwbs { op, preflush, fua, zone })
}

/// The command of the letters behind `Z`.
fn zone(letters: &[u8]) -> Option<Zone> {
    match letters {
        [b'A', ..] => Some(Zone::Append),
        [b'R', b'A', ..] => Some(Zone::ResetAll),
        [b'R', ..] => Some(Zone::Reset),
        [b'F', ..] => Some(Zone::Finish),
        [b'O', ..] => Some(Zone::Open),
        [b'C', ..] => Some(Zone::Close),
        _ => None,
    }
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
    match (letters.op, letters.zone) {
        (op, Some(zone)) if op.is_none() || length_bytes == 0 => {
            sink.left_out(zone.left_out());
            Ok(())
        }
        (Some(op), _) if op != HostOp::Flush && (length_bytes > 0 || !flush) => {
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
        (None, _) if !flush => {
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
        let plain = |op, preflush, fua| Rwbs { op, preflush, fua, zone: None };
        assert_eq!(of("WS"), plain(Some(HostOp::Write), false, false));
        assert_eq!(of("WFS"), plain(Some(HostOp::Write), false, true));
        assert_eq!(of("FWFS"), plain(Some(HostOp::Write), true, true));
        assert_eq!(of("FF"), plain(Some(HostOp::Flush), true, false));
        assert_eq!(of("FN"), plain(None, true, false));
        assert_eq!(of("DS").op, Some(HostOp::Trim));
        assert_eq!(of("Z"), plain(None, false, false));
        assert_eq!(parse(b"w"), None);
        assert_eq!(parse(b"X"), None);
    }

    #[test]
    fn commands_to_zones_are_told_apart() {
        let of = |text: &str| parse(text.as_bytes()).map(|letters| (letters.op, letters.fua, letters.zone));
        let write = Some(HostOp::Write);
        assert_eq!(of("ZAS"), Some((write, false, Some(Zone::Append))));
        assert_eq!(of("ZAFS"), Some((write, true, Some(Zone::Append))));
        assert_eq!(of("FZA"), of("ZA"), "a flush before it is another matter");
        assert_eq!(of("ZRS"), Some((Some(HostOp::Trim), false, Some(Zone::Reset))));
        assert_eq!(of("ZRAS"), Some((Some(HostOp::Trim), false, Some(Zone::ResetAll))));
        for (text, zone) in [("ZFS", Zone::Finish), ("ZO", Zone::Open), ("ZC", Zone::Close)] {
            assert_eq!(of(text), Some((None, false, Some(zone))), "{text}");
        }
    }

    #[test]
    fn appends_to_a_zone_follow_each_other_until_it_is_reset() {
        let mut appends = Appends::default();
        let mut append = |device, start| appends.place(Zone::Append, device, start, 8);
        assert_eq!([append(0, 100), append(0, 100), append(1, 100), append(0, 500)], [100, 108, 100, 500]);
        assert_eq!(appends.place(Zone::Reset, 0, 100, 0), 100);
        assert_eq!(appends.place(Zone::Append, 0, 100, 8), 100);
        assert_eq!(appends.place(Zone::Append, 0, 500, 8), 508);
        appends.place(Zone::ResetAll, 0, 0, 0);
        assert_eq!([0, 1].map(|device| appends.place(Zone::Append, device, 100, 8)), [100, 108]);
    }
}
