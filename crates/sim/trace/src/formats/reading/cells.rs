//! Cells of a row of a table: any separator, quotes and blanks around them.

/// The separator of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

impl Separator {
    /// The separators that are looked for, the rarest within a cell first.
    pub const ALL: [Separator; 5] = [
        Separator::Byte(b'\t'),
        Separator::Byte(b';'),
        Separator::Byte(b'|'),
        Separator::Byte(b','),
        Separator::Blanks,
    ];

    /// How messages call it.
    pub fn name(self) -> String {
        match self {
            Separator::Byte(b'\t') => "tab".to_owned(),
            Separator::Byte(byte) => format!("\"{}\"", char::from(byte)),
            Separator::Blanks => "blanks".to_owned(),
        }
    }
}

/// The cells of `line`, without quotes and blanks around them. A cell whose quotes do not close reaches to the end
/// of the line and keeps its quotation mark, which no number has.
pub(crate) fn cells(line: &[u8], separator: Separator) -> Cells<'_> {
    Cells { rest: Some(line), separator }
}

pub(crate) struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = match self.separator {
            Separator::Blanks => Some(self.rest?.trim_ascii()).filter(|rest| !rest.is_empty()),
            Separator::Byte(_) => self.rest,
        };
        let Some(rest) = rest else {
            self.rest = None;
            return None;
        };
        let inner = rest.iter().position(|byte| *byte != b' ').map_or(rest, |start| &rest[start..]);
        if let Some((cell, behind)) = inner.strip_prefix(b"\"").and_then(|quoted| self.quoted(quoted)) {
            self.rest = behind;
            return Some(cell.trim_ascii());
        }
        let end = match self.separator {
            Separator::Byte(separator) => memchr::memchr(separator, rest),
            Separator::Blanks => memchr::memchr2(b' ', b'\t', rest),
        };
        let (cell, behind) = end.map_or((rest, None), |end| (&rest[..end], Some(&rest[end + 1..])));
        self.rest = behind;
        Some(cell.trim_ascii())
    }
}

impl<'a> Cells<'a> {
    /// The first cell with a text behind the next `many` cells.
    #[inline]
    pub fn beyond(self, many: usize) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let few = match self.separator {
            Separator::Byte(separator) => memchr::memchr_iter(separator, rest).count() < many,
            Separator::Blanks => false,
        };
        if few { None } else { self.skip(many).find(|cell| !cell.is_empty()) }
    }

    /// What stands before the closing quotation mark of `quoted`, and what stands behind the separator after it.
    fn quoted(&self, quoted: &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        memchr::memchr_iter(b'"', quoted).find_map(|end| {
            let behind = &quoted[end + 1..];
            let next = behind.iter().position(|byte| *byte != b' ').unwrap_or(behind.len());
            match (self.separator, behind.get(next)) {
                (_, None) => Some((&quoted[..end], None)),
                (Separator::Byte(separator), Some(byte)) if *byte == separator => {
                    Some((&quoted[..end], Some(&behind[next + 1..])))
                }
                (Separator::Blanks, Some(_)) if matches!(behind[0], b' ' | b'\t') => {
                    Some((&quoted[..end], Some(behind)))
                }
                _ => None,
            }
        })
    }
}

/// Whether `line` is a comment of a table.
#[inline]
pub(crate) fn is_comment(line: &[u8]) -> bool {
    matches!(line, [b'#' | b'%', ..] | [b'/', b'/', ..])
}

/// Digits that a number in scientific notation shows, and whether it leaves digits before the decimal mark open:
/// `1.281664e+17` shows 7 of 18. `None` for any other text.
pub(crate) fn scientific(text: &[u8]) -> Option<(usize, bool)> {
    let mark = memchr::memchr2(b'e', b'E', text)?;
    let (mantissa, exponent) = (&text[..mark], std::str::from_utf8(&text[mark + 1..]).ok()?);
    let exponent: i64 = exponent.parse().ok()?;
    let point = memchr::memchr(b'.', mantissa);
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit()).count();
    let fraction = point.map_or(0, |point| mantissa.len() - point - 1);
    (digits > 0 && digits + usize::from(point.is_some()) == mantissa.len())
        .then_some((digits, exponent > fraction as i64))
}

/// Digits to which the numbers of a column were rounded when they were written, where they were. Programs round to 6
/// to 9 digits; the shortest text of a double has up to 17, and a round number has few.
pub(crate) fn rounded_to<'a>(column: impl Iterator<Item = &'a [u8]>) -> Option<(usize, &'a [u8])> {
    let (mut most, mut open) = (0, None::<(usize, &[u8])>);
    for (text, (digits, is_open)) in column.filter_map(|text| Some((text, scientific(text)?))) {
        most = most.max(digits);
        if is_open && open.is_none_or(|(known, _)| digits > known) {
            open = Some((digits, text));
        }
    }
    open.filter(|(digits, _)| is_rounded(*digits, most))
}

/// Whether a number that shows `digits` and leaves some open was rounded; `most`: the most digits in its column.
pub(crate) fn is_rounded(digits: usize, most: usize) -> bool {
    digits >= 5 && most <= 9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str, separator: u8) -> Vec<String> {
        let separator = if separator == b' ' { Separator::Blanks } else { Separator::Byte(separator) };
        cells(line.as_bytes(), separator).map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    }

    #[test]
    fn cells_lose_their_quotes_and_the_blanks_around_them() {
        assert_eq!(split("\"a,b\" , c,\"\", d e ,", b','), ["a,b", "c", "", "d e", ""]);
        assert_eq!(split("  1\t\"2 3\"  4 ", b' '), ["1", "2 3", "4"]);
        assert_eq!(split("\t a\t", b'\t'), ["", "a", ""]);
        assert_eq!(split("1,\"2,3", b','), ["1", "\"2", "3"], "quotes that do not close");
        assert_eq!(split("1,2\"x\",3", b','), ["1", "2\"x\"", "3"]);
    }

    #[test]
    fn rounded_columns_are_told_from_short_numbers() {
        let told = |texts: &[&'static str]| rounded_to(texts.iter().map(|text| text.as_bytes())).map(|(most, _)| most);
        assert_eq!(told(&["1.281664e+17", "1.281664e+17"]), Some(7));
        assert_eq!(told(&["7.01461e+09", "4096"]), Some(6));
        assert_eq!(told(&["1.281663720030616e+17", "1.2816637e+17"]), None, "the shortest text of doubles");
        assert_eq!(told(&["1e+05", "4.096000e+03"]), None, "nothing is left open");
    }
}
