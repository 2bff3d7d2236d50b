//! Quantities as people write them: sizes `32GiB`, times `25us`, rates `400MB/s`, shares `7%`.
//!
//! A bare number is refused wherever a unit is possible, so a file never depends on the reader
//! guessing the unit. Sizes accept binary units (`KiB`) and decimal units (`kB`, `MB`); rates
//! are decimal unless written with a binary unit.

use crate::Nanos;

/// A quantity that could not be read. The text says what was found and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: {problem}; write {example}")]
pub struct QuantityError {
    text: String,
    kind: &'static str,
    problem: &'static str,
    example: &'static str,
}

struct Kind {
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
}

const SIZE: Kind = Kind {
    name: "size",
    example: "a number with a unit, such as \"4KiB\", \"512MiB\" or \"32GiB\"",
    units: &[
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ],
};

const DURATION: Kind = Kind {
    name: "duration",
    example: "a number with a unit, such as \"25us\", \"1.5ms\" or \"10s\"",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
        ("s", 1_000_000_000),
    ],
};

const RATE: Kind = Kind {
    name: "rate",
    example: "a number with a unit, such as \"400MB/s\" or \"1.2GB/s\"",
    units: &[
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
        ("kB/s", 1_000),
        ("KB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("B/s", 1),
    ],
};

fn parse(text: &str, kind: &Kind) -> Result<u64, QuantityError> {
    let fail = |problem| QuantityError { text: text.to_owned(), kind: kind.name, problem, example: kind.example };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_' || c == '-')).unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(split);
    let digits = digits.replace('_', "");
    if digits.starts_with('-') {
        return Err(fail("it is negative"));
    }
    if digits.is_empty() {
        return Err(fail("it has no number"));
    }
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(fail("it has no unit"));
    }
    let scale = kind.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale = scale.ok_or_else(|| fail("its unit is unknown"))?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| fail("its number cannot be read"))? };
    if fraction.len() > 18 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(fail("its number cannot be read"));
    }
    let power = 10_u128.pow(fraction.len() as u32);
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| fail("its number cannot be read"))? };
    let scale = u128::from(scale);
    let total = whole.checked_mul(scale).and_then(|w| part.checked_mul(scale).map(|p| w + p / power));
    total.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| fail("it is too large"))
}

/// Reads a size; returns bytes.
///
/// # Errors
/// [`QuantityError`] for a bare number, a negative one, an unknown unit or an overflow.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    parse(text, &SIZE)
}

/// Reads a duration; returns nanoseconds (fractions below one nanosecond are cut).
///
/// # Errors
/// As [`parse_size`].
pub fn parse_duration(text: &str) -> Result<Nanos, QuantityError> {
    parse(text, &DURATION)
}

/// Reads a rate; returns bytes per second.
///
/// # Errors
/// As [`parse_size`].
pub fn parse_rate(text: &str) -> Result<u64, QuantityError> {
    parse(text, &RATE)
}

/// Reads a share such as `7%` or `12.5%`; returns the fraction 0.07, 0.125.
///
/// # Errors
/// As [`parse_size`]; the unit is the per cent sign.
pub fn parse_share(text: &str) -> Result<f64, QuantityError> {
    const EXAMPLE: &str = "a number with a per cent sign, such as \"7%\"";
    let fail = |problem| QuantityError { text: text.to_owned(), kind: "share", problem, example: EXAMPLE };
    let digits = text.trim().strip_suffix('%').ok_or_else(|| fail("it has no per cent sign"))?;
    let value: f64 = digits.trim().parse().map_err(|_| fail("its number cannot be read"))?;
    if value.is_finite() && value >= 0.0 { Ok(value / 100.0) } else { Err(fail("it is negative or not finite")) }
}

fn format_scaled(value: u64, units: &[(&str, u64)]) -> String {
    let unit = units.iter().find(|(_, scale)| value >= *scale).or_else(|| units.last());
    let (name, scale) = unit.copied().unwrap_or(("", 1));
    if value.is_multiple_of(scale) {
        format!("{}{name}", value / scale)
    } else {
        let text = format!("{:.2}", value as f64 / scale as f64);
        format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Binary units, from the largest.
const BINARY: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Writes bytes with the largest binary unit that fits, for people to read.
pub fn format_size(bytes: u64) -> String {
    format_scaled(bytes, &BINARY)
}

/// Writes bytes as [`format_size`] does where that says all, else with the largest binary unit they are whole numbers of: what is
/// read again is the same.
pub fn exact_size(bytes: u64) -> String {
    let short = format_size(bytes);
    if parse_size(&short) == Ok(bytes) {
        return short;
    }
    let (name, scale) = BINARY.into_iter().find(|(_, scale)| bytes.is_multiple_of(*scale)).unwrap_or(("B", 1));
    format!("{}{name}", bytes / scale)
}

/// Writes nanoseconds with the largest unit that fits, for people to read.
pub fn format_duration(nanos: Nanos) -> String {
    format_scaled(nanos, &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)])
}

/// Writes bytes per second with the largest decimal unit that fits, for people to read.
pub fn format_rate(bytes_per_second: u64) -> String {
    format_scaled(bytes_per_second, &[("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1_000), ("B/s", 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        assert_eq!(parse_size("32GiB"), Ok(32 << 30));
        assert_eq!(parse_size("0.5 KiB"), Ok(512));
        assert_eq!(parse_size("1_000 B"), Ok(1000));
        assert_eq!(parse_duration("25us"), Ok(25_000));
        assert_eq!(parse_duration("205.9us"), Ok(205_900));
        assert_eq!(parse_rate("400MB/s"), Ok(400_000_000));
        assert_eq!(parse_share("7%"), Ok(0.07));
    }

    #[test]
    fn bare_negative_unknown_and_huge_are_refused_with_a_remedy() {
        for text in ["32", "-1GiB", "1 parsec", "GiB", "99999999999999999TiB", "1.2.3GiB"] {
            let message = parse_size(text).unwrap_err().to_string();
            assert!(message.contains(text) && message.contains("such as"), "{message}");
        }
        assert!(parse_share("7").is_err());
        assert!(parse_share("-7%").is_err());
    }

    #[test]
    fn exact_sizes_are_read_as_what_they_were() {
        for (bytes, text) in [(0, "0B"), (1536, "1.5KiB"), (1025 << 20, "1025MiB"), (1000, "1000B"), (u64::MAX, "18446744073709551615B"), (3 << 40, "3TiB")] {
            assert_eq!((exact_size(bytes).as_str(), parse_size(text)), (text, Ok(bytes)));
        }
    }

    #[test]
    fn formatting_is_short() {
        assert_eq!(format_size(32 << 30), "32GiB");
        assert_eq!(format_duration(1_500_000), "1.5ms");
        assert_eq!(format_rate(400_000_000), "400MB/s");
    }
}
