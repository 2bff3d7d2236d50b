//! The operation letters of the Linux block layer: `W`, `RA`, `WS`, `FWFS`, `D`, `FF`.

use units::HostOp;

/// A decoded letter group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None` for a request that is neither of the four, such as `N`.
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
        b'N' => None,
        _ => return None,
    };
    let fua = matches!(op, Some(HostOp::Write)) && rest[1..].contains(&b'F');
    Some(Rwbs { op, preflush, fua })
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
        assert_eq!(parse(b"w"), None);
        assert_eq!(parse(b"X"), None);
    }
}
