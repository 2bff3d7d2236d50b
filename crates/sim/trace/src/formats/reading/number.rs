//! Numbers as traces spell them, parsed exactly: no value passes through a float, because a
//! double cannot hold a FILETIME or Unix seconds with nine decimals.

/// Digits a mantissa keeps; further fraction digits are below any unit used here.
const MANTISSA_LIMIT: u64 = 1_000_000_000_000_000_000;

/// A plain decimal integer.
pub(crate) fn integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    if text.len() > 19 {
        return long_integer(text, 10);
    }
    let mut value = 0_u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Powers of ten, as far as eight digits go.
pub(crate) const TENS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The value of the digits that eight bytes begin with, and how many they are.
#[inline]
pub(crate) fn leading_digits(bytes: [u8; 8]) -> (u64, usize) {
    let values = u64::from_le_bytes(bytes) ^ eight(b'0');
    // The high bit of each byte that is no digit: its value is above 9, or was not ASCII.
    let others = (((values & eight(0x7f)) + eight(0x76)) | values) & eight(0x80);
    let digits = (others.trailing_zeros() / 8) as usize;
    if digits == 0 {
        return (0, 0);
    }
    // Zeros in front, so that the last digit is the last byte; then pairs, fours and eights of digits at once.
    let values = values << (64 - 8 * digits);
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours * 10_000 + (fours >> 32)) & 0xffff_ffff, digits)
}

/// The first of eight bytes that is `wanted`.
#[inline]
pub(crate) fn place_of(wanted: u8, bytes: [u8; 8]) -> Option<usize> {
    let differences = u64::from_le_bytes(bytes) ^ eight(wanted);
    // The lowest high bit belongs to the first byte that is 0; those above it may be carried.
    let zeros = differences.wrapping_sub(eight(1)) & !differences & eight(0x80);
    (zeros != 0).then(|| (zeros.trailing_zeros() / 8) as usize)
}

fn long_integer(text: &[u8], radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// A hexadecimal integer, with or without `0x`.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    long_integer(strip_hex_prefix(text).unwrap_or(text), 16)
}

/// An integer as C's `strtoull` with base 0 reads it: `0x10` is 16, `010` is 8.
pub(crate) fn c_integer(text: &[u8]) -> Option<u64> {
    if let Some(digits) = strip_hex_prefix(text) {
        return long_integer(digits, 16);
    }
    match text {
        [b'0', digits @ ..] if !digits.is_empty() => long_integer(digits, 8),
        _ => integer(text),
    }
}

/// A decimal integer, or a hexadecimal one after `0x`; a leading zero changes nothing.
pub(crate) fn integer_or_hexadecimal(text: &[u8]) -> Option<u64> {
    match strip_hex_prefix(text) {
        Some(digits) => long_integer(digits, 16),
        None => integer(text),
    }
}

fn strip_hex_prefix(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))
}

/// A decimal number times 10^`digits`, rounded towards zero: `decimal("0.5", 9)` is 500,000,000.
/// Takes a sign and an exponent, as C's `printf` writes them.
pub(crate) fn decimal(text: &[u8], digits: u32) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mantissa = Mantissa::parse(text)?;
    let exponent = match text.get(mantissa.length..)? {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let power = i64::from(digits) + exponent - i64::from(mantissa.fraction_digits);
    let value = shift(mantissa.value, power)?;
    Some(if negative { -value } else { value })
}

struct Mantissa {
    value: u64,
    fraction_digits: u32,
    length: usize,
}

impl Mantissa {
    #[inline]
    fn parse(text: &[u8]) -> Option<Mantissa> {
        let mut mantissa = Mantissa { value: 0, fraction_digits: 0, length: text.len() };
        let (mut in_fraction, mut any) = (false, false);
        for (position, &byte) in text.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    mantissa.push(byte - b'0', in_fraction)?;
                }
                b'.' if !in_fraction => in_fraction = true,
                _ => {
                    mantissa.length = position;
                    break;
                }
            }
        }
        any.then_some(mantissa)
    }

    #[inline]
    fn push(&mut self, digit: u8, in_fraction: bool) -> Option<()> {
        if self.value < MANTISSA_LIMIT {
            self.value = self.value * 10 + u64::from(digit);
            self.fraction_digits += u32::from(in_fraction);
            return Some(());
        }
        // A fraction digit this far down changes nothing; an integer digit would overflow.
        in_fraction.then_some(())
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    let value = integer(text).filter(|&value| value < 1000)?;
    Some(sign * value as i64)
}

#[inline]
fn shift(value: u64, power: i64) -> Option<i64> {
    if power >= 0 {
        if value == 0 {
            return Some(0);
        }
        let factor = 10_u64.checked_pow(u32::try_from(power).ok()?)?;
        return i64::try_from(value.checked_mul(factor)?).ok();
    }
    let factor = u32::try_from(-power).ok().and_then(|power| 10_u64.checked_pow(power));
    i64::try_from(factor.map_or(0, |factor| value / factor)).ok()
}

/// Bytes of a number of units of `unit` bytes. The number is an integer, one with `0x` in front, or a decimal or
/// scientific number; the bytes must be whole.
pub(crate) fn whole_bytes(text: &[u8], unit: u64) -> Option<u64> {
    if let Some(value) = integer(text).or_else(|| long_integer(strip_hex_prefix(text)?, 16)) {
        return value.checked_mul(unit);
    }
    let mantissa = Mantissa::parse(text)?;
    let exponent = match text.get(mantissa.length..)? {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let power = exponent - i64::from(mantissa.fraction_digits);
    let factor = 10_u128.checked_pow(u32::try_from(power.abs()).ok()?)?;
    let value = u128::from(mantissa.value).checked_mul(u128::from(unit))?;
    let bytes =
        if power >= 0 { value.checked_mul(factor) } else { value.is_multiple_of(factor).then(|| value / factor) };
    u64::try_from(bytes?).ok()
}

/// A decimal number of a localised export: the last `.` or `,` is the decimal mark, every other
/// separator (points, commas, spaces, apostrophes, their UTF-8 relatives) groups thousands.
/// Only for columns that always carry decimals.
pub(crate) fn localised_decimal(text: &[u8], digits: u32) -> Option<i64> {
    let mark = text.iter().rposition(|byte| matches!(byte, b'.' | b','));
    let (whole, fraction) = match mark {
        Some(mark) => (&text[..mark], &text[mark + 1..]),
        None => (text, &b""[..]),
    };
    let mut plain = Plain::default();
    plain.extend_grouped(whole)?;
    if mark.is_some() {
        plain.push(b'.')?;
        fraction.iter().try_for_each(|&byte| plain.push(byte))?;
    }
    decimal(plain.bytes(), digits)
}

/// An integer of a localised export, with any grouping of thousands.
pub(crate) fn localised_integer(text: &[u8]) -> Option<u64> {
    let mut plain = Plain::default();
    plain.extend_grouped(text)?;
    integer(plain.bytes())
}

/// A number being rewritten without its grouping, on the stack.
#[derive(Default)]
struct Plain {
    buffer: [u8; 32],
    length: usize,
}

impl Plain {
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.buffer.get_mut(self.length)? = byte;
        self.length += 1;
        Some(())
    }

    fn extend_grouped(&mut self, text: &[u8]) -> Option<()> {
        for &byte in text {
            match byte {
                b'0'..=b'9' => self.push(byte)?,
                // Not ASCII: the bytes of a no-break space in UTF-8, Latin-1 or Windows-1252.
                b'.' | b',' | b' ' | b'\'' | 0x80.. => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// A FILETIME (100 ns since 1601) as 100 ns since 1970. A count that is earlier than 1970 began at zero and stays.
pub(crate) fn since_1970(ticks: i64) -> i64 {
    const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;
    if ticks >= UNIX_EPOCH_TICKS { ticks - UNIX_EPOCH_TICKS } else { ticks }
}

/// A time of day `HH:MM:SS[.fraction]`, in nanoseconds since midnight.
pub(crate) fn clock(text: &[u8]) -> Option<i64> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let hours = integer(parts.next()?).filter(|&hours| hours < 24)? as i64;
    let minutes = integer(parts.next()?).filter(|&minutes| minutes < 60)? as i64;
    let seconds = decimal(parts.next()?, 9).filter(|seconds| (0..61_000_000_000).contains(seconds))?;
    Some((hours * 60 + minutes) * 60_000_000_000 + seconds)
}

/// A date and a time of day, `YYYY-MM-DD HH:MM:SS[.fraction]`, also with slashes, with a `T` between
/// them and a `Z` behind, in nanoseconds since 1970.
pub(crate) fn date_time(text: &[u8]) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let (&between, time) = time.split_first()?;
    let separator = date[4];
    if !matches!(between, b' ' | b'T') || !matches!(separator, b'-' | b'/') || date[7] != separator {
        return None;
    }
    let year = integer(&date[..4])?;
    let month = integer(&date[5..7]).filter(|month| (1..=12).contains(month))?;
    let day = integer(&date[8..]).filter(|day| (1..=days_of(year, month)).contains(day))?;
    let clock = clock(time.strip_suffix(b"Z").unwrap_or(time))?;
    let before = (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1;
    // Leap days since the year 1, of this year's Gregorian calendar, less those before 1970.
    let past = year.checked_sub(1)?;
    let days = past * 365 + past / 4 - past / 100 + past / 400 + before;
    (days as i64 - 719_162).checked_mul(86_400_000_000_000)?.checked_add(clock)
}

/// As [`date_time`], also with a time zone behind: `Z`, `UTC`, `GMT`, `+02`, `+0200` or `+02:00`.
pub(crate) fn zoned_date_time(text: &[u8]) -> Option<i64> {
    for zone in [&b"UTC"[..], b"GMT", b"Z", b"z"] {
        if let Some(before) = text.strip_suffix(zone) {
            return date_time(before.trim_ascii_end());
        }
    }
    // The signs before the time of day are those of the date.
    let sign = text.iter().skip(11).position(|byte| matches!(byte, b'+' | b'-')).map(|place| place + 11);
    let Some(sign) = sign else { return date_time(text) };
    let (hours, minutes) = match &text[sign + 1..] {
        [a, b] => ([*a, *b], *b"00"),
        [a, b, b':', c, d] | [a, b, c, d] => ([*a, *b], [*c, *d]),
        _ => return None,
    };
    let hours = integer(&hours).filter(|hours| *hours < 24)? as i64;
    let minutes = integer(&minutes).filter(|minutes| *minutes < 60)? as i64;
    let ahead = (hours * 60 + minutes) * 60_000_000_000;
    let local = date_time(text[..sign].trim_ascii_end())?;
    if text[sign] == b'+' { local.checked_sub(ahead) } else { local.checked_add(ahead) }
}

fn days_of(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A little-endian number of 16 bits at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// A little-endian number of 32 bits at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// A little-endian number of 64 bits at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(b"1398396860.168065791", 9), Some(1_398_396_860_168_065_791));
        assert_eq!(decimal(b"0.000000", 9), Some(0));
        assert_eq!(decimal(b"13.191135", 6), Some(13_191_135));
        assert_eq!(decimal(b"-2", 9), Some(-2_000_000_000));
        assert_eq!(decimal(b".5", 1), Some(5));
        assert_eq!(decimal(b"1.5e-05", 9), Some(15_000));
        assert_eq!(decimal(b"1e3", 0), Some(1000));
        assert_eq!(decimal(b"0.12345678901234567890123", 9), Some(123_456_789));
    }

    #[test]
    fn eight_bytes_are_read_at_once_as_one_by_one() {
        assert_eq!(leading_digits(*b"98765432"), (98_765_432, 8));
        assert_eq!(leading_digits(*b"99999999"), (99_999_999, 8));
        let mut stream = engine::random::Stream::new(1, "digits");
        let alphabet = b"0123456789,/: .\x00\x7f\x80\xb0\xb9\xff";
        for _ in 0..100_000 {
            let bytes: [u8; 8] = std::array::from_fn(|_| alphabet[stream.below(alphabet.len() as u64) as usize]);
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            assert_eq!(leading_digits(bytes), (integer(&bytes[..digits]).unwrap_or(0), digits), "{bytes:?}");
            for wanted in [b',', b' ', 0, 0x80, 0xff] {
                assert_eq!(place_of(wanted, bytes), bytes.iter().position(|byte| *byte == wanted), "{bytes:?}");
            }
        }
    }

    #[test]
    fn units_of_bytes_are_exact() {
        assert_eq!(whole_bytes(b"8", 512), Some(4096));
        assert_eq!(whole_bytes(b"0x10", 512), Some(8192));
        assert_eq!(whole_bytes(b"4096.0", 1), Some(4096));
        assert_eq!(whole_bytes(b"0.5", 1024), Some(512));
        assert_eq!(whole_bytes(b"7.014609920e+09", 1), Some(7_014_609_920));
        assert_eq!(whole_bytes(b"18446744073709551615", 1), Some(u64::MAX));
        for text in [&b"0.3"[..], b"", b"-1", b"x", b"1e30", b"nan", b"0x", b"1e"] {
            assert_eq!(whole_bytes(text, 1), None, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [&b""[..], b".", b"-", b"1.2.3", b"1e", b"0x10", b"1 2", b"99999999999999999999", b"e5"] {
            assert_eq!(decimal(text, 9), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(decimal(b"9300000000", 9), None, "more than 292 years");
        assert_eq!(integer(b"18446744073709551616"), None);
        assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn prefixes_follow_c() {
        assert_eq!(c_integer(b"0x10"), Some(16));
        assert_eq!(c_integer(b"010"), Some(8));
        assert_eq!(c_integer(b"0"), Some(0));
        assert_eq!(c_integer(b"08"), None);
        assert_eq!(hexadecimal(b"10"), Some(16));
        assert_eq!([&b"0x10"[..], b"010", b"0x", b"1f"].map(integer_or_hexadecimal), [Some(16), Some(10), None, None]);
    }

    #[test]
    fn localised_numbers() {
        assert_eq!(localised_decimal(b"35,020173300", 9), Some(35_020_173_300));
        assert_eq!(localised_decimal(b"1.795,900", 3), Some(1_795_900));
        assert_eq!(localised_decimal(b"1,795.900", 3), Some(1_795_900));
        assert_eq!(localised_decimal("1\u{a0}795,900".as_bytes(), 3), Some(1_795_900));
        assert_eq!(localised_integer(b"42.496"), Some(42_496));
        assert_eq!(localised_integer(b"1,048,576"), Some(1_048_576));
        assert_eq!(localised_integer(b"x"), None);
    }

    #[test]
    fn dates_count_from_1970() {
        let seconds = |text: &str| date_time(text.as_bytes()).map(|ns| ns / 1_000_000_000);
        assert_eq!(seconds("1970-01-01 00:00:00"), Some(0));
        assert_eq!(seconds("2000-02-29T12:00:00Z"), Some(951_825_600));
        assert_eq!(seconds("2000/03/01 00:00:00"), Some(951_868_800));
        assert_eq!(seconds("1969-12-31 23:59:59"), Some(-1));
        assert_eq!(date_time(b"2007-02-22 17:00:00.3061629"), Some(1_172_163_600_306_162_900));
        for text in
            ["2007-02-29 00:00:00", "2007-13-01 00:00:00", "22-02-2007 00:00:00", "2007-02-22", "2007-02/22 00:00:00"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn zones_are_taken_from_dates() {
        for zone in ["+00:00", "+0000", "+00", "Z", " UTC", " +00:00", "-00:00", ""] {
            let text = format!("2000-02-29 12:00:00.5{zone}");
            assert_eq!(zoned_date_time(text.as_bytes()), Some(951_825_600_500_000_000), "{text}");
        }
        assert_eq!(zoned_date_time(b"2000-02-29 14:00:00+0200"), Some(951_825_600_000_000_000));
        assert_eq!(zoned_date_time(b"2000-02-29T06:30:00-05:30"), Some(951_825_600_000_000_000));
        for text in ["2000-02-29 12:00:00+2", "2000-02-29 12:00:00+25:00", "2000-02-29 12:00:00 CET", "2000-02-29Z"] {
            assert_eq!(zoned_date_time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn clocks() {
        assert_eq!(clock(b"00:01:02.5"), Some(62_500_000_000));
        assert_eq!(clock(b"24:00:00"), None);
        assert_eq!(clock(b"1:2"), None);
    }
}
