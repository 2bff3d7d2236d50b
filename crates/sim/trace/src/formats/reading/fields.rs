//! Splitting a line into fields, with errors that name the field.

use std::borrow::Cow;

use super::number;
use super::parser::Sink;

/// A field that is not what the format says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// 1-based; 0 when the whole line is at fault.
    pub column: u32,
    /// Name of the field.
    pub name: Cow<'static, str>,
    pub found: String,
    pub expected: &'static str,
    /// The whole file is read wrongly, so leaving out the line does not help.
    pub is_fatal: bool,
}

impl FieldError {
    /// Marks an error that says that the whole file is read wrongly: such a line is never left out.
    #[must_use]
    pub fn fatal(mut self: Box<Self>) -> Box<Self> {
        self.is_fatal = true;
        self
    }
}

/// The result of a parser. The error is boxed, so that the good path returns in registers.
pub type FieldResult<T> = Result<T, Box<FieldError>>;

/// The expected form where a time below zero stands.
pub(crate) const NOT_NEGATIVE: &str = "a time of 0 or more (add one amount to all times, so that none is negative)";

const FOUND_LIMIT: usize = 60;

/// Digits of a number that surely fits.
const SAFE_DIGITS: usize = 18;
/// Bytes that are looked at together: most fields are shorter than what a search by vectors costs.
const TOGETHER: usize = 8;

/// The error of a field: its column (1-based; 0 is the whole line), the text found, and the expected form.
#[must_use]
pub fn field_error(
    column: u32,
    name: impl Into<Cow<'static, str>>,
    found: &[u8],
    expected: &'static str,
) -> Box<FieldError> {
    let shown = &found[..found.len().min(FOUND_LIMIT)];
    let mut text: String = String::from_utf8_lossy(shown).chars().flat_map(char::escape_debug).collect();
    if found.len() > FOUND_LIMIT {
        text.push_str("...");
    }
    Box::new(FieldError { column, name: name.into(), found: text, expected, is_fatal: false })
}

/// A cursor over the fields of one line.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    /// `None` separates at runs of blanks and tabs.
    separator: Option<u8>,
    column: u32,
    last: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Fields separated by commas, blanks around them ignored.
    pub fn commas(line: &'a [u8]) -> Fields<'a> {
        Fields::separated(line, b',')
    }

    pub fn separated(line: &'a [u8], separator: u8) -> Fields<'a> {
        Fields { rest: Some(line), separator: Some(separator), column: 0, last: b"" }
    }

    /// Fields separated by any run of blanks and tabs.
    pub fn blanks(line: &'a [u8]) -> Fields<'a> {
        Fields { rest: Some(line.trim_ascii()), separator: None, column: 0, last: b"" }
    }

    /// The next field, if there is one.
    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = match self.separator {
            Some(separator) => {
                let near = rest.first_chunk::<TOGETHER>().and_then(|first| number::place_of(separator, *first));
                near.or_else(|| memchr::memchr(separator, rest))
            }
            None => memchr::memchr2(b' ', b'\t', rest),
        };
        let (field, tail) = match end {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        self.rest = tail;
        self.column += 1;
        self.last = field;
        if self.separator.is_none() {
            self.rest = tail.map(<[u8]>::trim_ascii_start);
            return (!field.is_empty()).then_some(field);
        }
        Some(match field {
            // Nothing to be trimmed.
            [first, .., last] if *first > b' ' && *last > b' ' => field,
            _ => field.trim_ascii(),
        })
    }

    /// The next field, which must be there and not empty.
    #[inline]
    pub fn text(&mut self, name: &'static str) -> FieldResult<&'a [u8]> {
        match self.next() {
            Some(field) if !field.is_empty() => Ok(field),
            Some(_) => Err(self.wrong(name, "a value")),
            None => Err(field_error(self.column + 1, name, b"the end of the line", "a value")),
        }
    }

    /// The next field, if it is nothing but digits, and of a separated line; otherwise it is still the next one.
    #[inline]
    pub fn digits(&mut self) -> Option<u64> {
        let (rest, separator) = (self.rest?, self.separator?);
        if let [digit @ b'0'..=b'9', next, tail @ ..] = rest
            && *next == separator
        {
            // Numbers of disks and flags have one digit.
            (self.rest, self.last) = (Some(tail), &rest[..1]);
            self.column += 1;
            return Some(u64::from(digit - b'0'));
        }
        let (mut value, mut end) = rest.first_chunk().map_or((0, 0), |first| number::leading_digits(*first));
        if end == TOGETHER || rest.len() < TOGETHER {
            if let Some(next) = rest.get(TOGETHER..).and_then(<[u8]>::first_chunk) {
                let (part, digits) = number::leading_digits(*next);
                value = value * number::TENS[digits] + part;
                end += digits;
            }
            while end < SAFE_DIGITS
                && let Some(digit) = rest.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
            {
                value = value * 10 + u64::from(digit);
                end += 1;
            }
        }
        let tail = match rest.get(end) {
            Some(byte) if *byte == separator => Some(&rest[end + 1..]),
            None => None,
            Some(_) => return None,
        };
        if end == 0 {
            return None;
        }
        self.rest = tail;
        self.column += 1;
        self.last = &rest[..end];
        Some(value)
    }

    /// The rest after the field read last; `None` after the last field.
    pub fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }

    /// Takes the first `end` bytes of the rest as one field, including separators. For fields between
    /// blanks.
    pub fn skip(&mut self, rest: &'a [u8], end: usize) -> &'a [u8] {
        let (field, tail) = rest.split_at(end);
        self.rest = Some(tail.trim_ascii_start());
        self.column += 1;
        self.last = field;
        field
    }

    /// An error about the field read last.
    #[must_use]
    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    #[cold]
    pub fn wrong(&self, name: &'static str, expected: &'static str) -> Box<FieldError> {
        field_error(self.column, name, self.last, expected)
    }

    #[inline]
    pub fn integer(&mut self, name: &'static str) -> FieldResult<u64> {
        if let Some(value) = self.digits() {
            return Ok(value);
        }
        let text = self.text(name)?;
        number::integer(text).ok_or_else(|| self.wrong(name, "an integer of 0 or more, below 2^64"))
    }

    /// An integer of at most 32 bits, such as a device number.
    #[inline]
    pub fn small(&mut self, name: &'static str) -> FieldResult<u32> {
        let value = self.integer(name)?;
        u32::try_from(value).map_err(|_| self.wrong(name, "an integer below 2^32"))
    }

    /// A time of 0 or more as a decimal number, times 10^`digits`.
    #[inline]
    pub fn decimal_time(&mut self, name: &'static str, digits: u32) -> FieldResult<i64> {
        let text = self.text(name)?;
        match number::decimal(text, digits) {
            Some(time) if time >= 0 => Ok(time),
            Some(_) => Err(self.wrong(name, NOT_NEGATIVE)),
            None => Err(self.wrong(name, "a decimal number")),
        }
    }

    /// An integer number of nanoseconds or of another unit of `unit_ns` nanoseconds.
    #[inline]
    pub fn time(&mut self, name: &'static str, unit_ns: i64) -> FieldResult<i64> {
        if let Some(time) = self.digits().map(|value| (value as i64).checked_mul(unit_ns)) {
            return time.ok_or_else(|| self.wrong_time(self.last, name));
        }
        let text = self.text(name)?;
        self.as_time(text, name, unit_ns)
    }

    /// As [`Fields::time`], of the field read last.
    #[inline]
    pub fn as_time(&self, text: &[u8], name: &'static str, unit_ns: i64) -> FieldResult<i64> {
        number::integer(text)
            .and_then(|value| i64::try_from(value).ok())
            .and_then(|value| value.checked_mul(unit_ns))
            .ok_or_else(|| self.wrong_time(text, name))
    }

    #[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
    #[cold]
    fn wrong_time(&self, text: &[u8], name: &'static str) -> Box<FieldError> {
        if let Some(..0) = number::decimal(text, 0) {
            return self.wrong(name, NOT_NEGATIVE);
        }
        self.wrong(name, "an integer time, below 292 years in its unit")
    }

    /// An address or a length in units of `unit` bytes, as bytes.
    #[inline]
    pub fn bytes(&mut self, name: &'static str, unit: u64) -> FieldResult<u64> {
        let value = self.integer(name)?;
        value.checked_mul(unit).ok_or_else(|| self.wrong(name, "an address below 2^64 bytes"))
    }

    /// An error about the field read last, unless it is a number below 0: no response time is, so the request has none.
    #[cold]
    pub fn below_zero(&self, error: Box<FieldError>, sink: &mut Sink) -> FieldResult<Option<u64>> {
        if number::decimal(self.last.trim_ascii(), 0).is_none() || !self.last.trim_ascii().starts_with(b"-") {
            return Err(error);
        }
        sink.statistics.dropped_latency += 1;
        Ok(None)
    }

    /// The record ends here: anything else is an error.
    #[inline]
    pub fn end(&mut self) -> FieldResult<()> {
        match self.next() {
            None => Ok(()),
            Some(extra) if extra.is_empty() && self.rest.is_none() => Ok(()),
            Some(_) => Err(self.wrong("extra field", "the end of the line")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_blanks_are_one_separator() {
        let mut fields = Fields::blanks(b"  1\t\t 22   x ");
        assert_eq!(fields.integer("a"), Ok(1));
        assert_eq!(fields.integer("b"), Ok(22));
        assert_eq!(fields.text("c"), Ok(&b"x"[..]));
        assert_eq!(fields.end(), Ok(()));
    }

    #[test]
    fn digits_are_taken_alone_or_not_at_all() {
        let mut fields = Fields::commas(b"12,x1, 3,,1234567890123456789,4");
        assert_eq!((fields.digits(), fields.digits()), (Some(12), None));
        assert_eq!(fields.text("name"), Ok(&b"x1"[..]));
        assert_eq!((fields.digits(), fields.integer("blank")), (None, Ok(3)));
        assert_eq!((fields.digits(), fields.next()), (None, Some(&b""[..])));
        assert_eq!((fields.digits(), fields.integer("long")), (None, Ok(1_234_567_890_123_456_789)));
        assert_eq!((fields.digits(), fields.digits(), fields.column), (Some(4), None, 6));
    }

    #[test]
    fn errors_name_the_column() {
        let mut fields = Fields::commas(b"1, y,");
        fields.integer("a").unwrap();
        let error = fields.integer("b").unwrap_err();
        assert_eq!((error.column, &*error.name, error.found.as_str()), (2, "b", " y"));
        assert_eq!(fields.text("c").unwrap_err().column, 3);
        assert_eq!(fields.text("d").unwrap_err().found, "the end of the line");
    }
}
