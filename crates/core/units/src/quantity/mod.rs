//! Quantities as people write them: sizes `32GiB`, times `25us`, rates `400MB/s`, shares `7%`.
//!
//! A bare number is refused wherever a unit is possible, so a file never depends on the reader
//! guessing the unit. Sizes accept binary units (`KiB`) and decimal units (`kB`, `MB`); rates
//! are decimal unless written with a binary unit. `1G` is refused for the same reason: some mean
//! 2^30 bytes by it and some 10^9.

use crate::Nanos;

/// A quantity that could not be read. The text names the value found, likely meanings and the units.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.found(), self.remedy(""))]
pub struct QuantityError {
    text: String,
    kind: &'static str,
    problem: &'static str,
    example: &'static str,
    units: &'static str,
    meant: Vec<String>,
}

impl QuantityError {
    /// The value found, and its problem.
    pub fn found(&self) -> String {
        format!("`{}` is not a {}: {}", self.text, self.kind, self.problem)
    }

    /// Likely meanings, the likeliest first; each can be read. Empty if nothing comes near.
    pub fn meant(&self) -> &[String] {
        &self.meant
    }

    /// Leaves only what may be meant and is accepted. `usual` is a value as it is usually written: it stands in where
    /// nothing is left, and its unit decides where more than two are.
    pub fn narrow(&mut self, is_accepted: impl Fn(&str) -> bool, usual: Option<&str>) {
        self.meant.retain(|text| is_accepted(text));
        let Some(usual) = usual else { return };
        let unit = |text: &str| text.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned();
        if self.meant.is_empty() {
            self.meant.push(usual.to_owned());
        } else if self.meant.len() > 2 && self.meant.iter().any(|text| unit(text) == unit(usual)) {
            self.meant.retain(|text| unit(text) == unit(usual));
        }
    }

    /// A text to write instead: a likely meaning or an example, within `limits` (in words; empty: none), and the units.
    pub fn remedy(&self, limits: &str) -> String {
        let quoted: Vec<String> = self.meant.iter().map(|text| format!("\"{text}\"")).collect();
        let write = match quoted.split_last() {
            None => self.example.to_owned(),
            Some((only, [])) => only.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        };
        let remarks: Vec<&str> = [limits, self.units].into_iter().filter(|remark| !remark.is_empty()).collect();
        if remarks.is_empty() { format!("write {write}") } else { format!("write {write} ({})", remarks.join("; ")) }
    }
}

/// A kind of quantity: its units, and what else people write for them.
struct Kind {
    name: &'static str,
    example: &'static str,
    /// The units, in words.
    listed: &'static str,
    units: &'static [(&'static str, u64)],
    /// What is written instead of a unit, in lower case, and the units it may stand for.
    slips: &'static [(&'static str, &'static [&'static str])],
    /// Units to offer where there is none.
    usual: &'static [&'static str],
}

const SIZE: Kind = Kind {
    name: "size",
    example: "a number with a unit, such as \"4KiB\"",
    listed: "units: B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB, PB",
    units: &[
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("PiB", 1 << 50),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("PB", 1_000_000_000_000_000),
        ("B", 1),
    ],
    slips: &[
        ("k", &["KiB", "kB"]),
        ("m", &["MiB", "MB"]),
        ("g", &["GiB", "GB"]),
        ("t", &["TiB", "TB"]),
        ("p", &["PiB", "PB"]),
        ("ki", &["KiB"]),
        ("mi", &["MiB"]),
        ("gi", &["GiB"]),
        ("ti", &["TiB"]),
        ("pi", &["PiB"]),
        ("byte", &["B"]),
        ("bytes", &["B"]),
    ],
    usual: &["B", "KiB", "MiB", "GiB", "TiB"],
};

const DURATION: Kind = Kind {
    name: "duration",
    example: "a number with a unit, such as \"25us\"",
    listed: "units: ns, us, ms, s, min, h, d",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        // The micro sign, and the Greek letter that looks like it.
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
        ("s", 1_000_000_000),
    ],
    slips: &[
        ("n", &["ns"]),
        ("u", &["us"]),
        ("m", &["ms", "min"]),
        ("nsec", &["ns"]),
        ("usec", &["us"]),
        ("msec", &["ms"]),
        ("sec", &["s"]),
        ("secs", &["s"]),
        ("second", &["s"]),
        ("seconds", &["s"]),
        ("mins", &["min"]),
        ("minute", &["min"]),
        ("minutes", &["min"]),
        ("hr", &["h"]),
        ("hour", &["h"]),
        ("hours", &["h"]),
        ("day", &["d"]),
        ("days", &["d"]),
    ],
    usual: &["ns", "us", "ms", "s"],
};

const RATE: Kind = Kind {
    name: "rate",
    example: "a number with a unit, such as \"400MB/s\"",
    listed: "units: B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
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
    slips: &[
        ("kb", &["kB/s"]),
        ("mb", &["MB/s"]),
        ("gb", &["GB/s"]),
        ("kib", &["KiB/s"]),
        ("mib", &["MiB/s"]),
        ("gib", &["GiB/s"]),
        ("k", &["kB/s", "KiB/s"]),
        ("m", &["MB/s", "MiB/s"]),
        ("g", &["GB/s", "GiB/s"]),
        ("b", &["B/s"]),
    ],
    usual: &["kB/s", "MB/s", "GB/s"],
};

impl Kind {
    /// The units that may be meant by something that is none.
    fn meant(&self, unit: &str) -> Vec<&'static str> {
        // `Gb/s` and `Mbps` are bits, which no unit here is.
        let is_bits = self.name == RATE.name && unit.chars().any(char::is_uppercase) && unit.contains('b');
        let same = |name: &&(&'static str, u64)| name.0.eq_ignore_ascii_case(unit);
        if let Some((name, _)) = self.units.iter().find(same).filter(|_| !is_bits) {
            return vec![name];
        }
        let lower = unit.to_lowercase();
        let stem = if self.name == RATE.name {
            lower.trim_end_matches("/sec").trim_end_matches("/s").trim_end_matches("ps")
        } else {
            &lower
        };
        let slip = self.slips.iter().find(|(slip, _)| *slip == stem).filter(|_| !is_bits);
        slip.map_or(Vec::new(), |(_, units)| units.to_vec())
    }

    /// Why `text`, a number followed by a unit, cannot be read.
    fn error(&self, text: &str, problem: &'static str, number: &str, units: &[&str]) -> QuantityError {
        let mut error = QuantityError {
            text: text.to_owned(),
            kind: self.name,
            problem,
            example: self.example,
            units: self.listed,
            meant: units.iter().map(|unit| format!("{number}{unit}")).collect(),
        };
        error.meant.retain(|text| parse(text, self).is_ok());
        error
    }
}

fn parse(text: &str, kind: &Kind) -> Result<u64, QuantityError> {
    let fail = |problem| Err(kind.error(text, problem, "", &[]));
    let trimmed = text.trim();
    if let Some(positive) = trimmed.strip_prefix('-') {
        return Err(kind.error(text, "it is negative", positive, &[""]));
    }
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_'))).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    if number.contains(',') {
        return Err(kind.error(text, "a comma is not part of a number", &number.replace(',', "."), &[unit]));
    }
    let digits = number.replace('_', "");
    if digits.is_empty() {
        return Err(kind.error(text, "it has no number", "1", &[unit]));
    }
    if unit.is_empty() {
        return Err(kind.error(text, "it has no unit", number, kind.usual));
    }
    let Some(scale) = kind.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale) else {
        let meant = kind.meant(unit);
        if let Some((power, rest)) = exponent(unit) {
            let plain = number.parse::<f64>().ok().map(|number| trimmed_to(number * 10_f64.powi(power), 6));
            let units = if rest.is_empty() { kind.usual } else { &[rest] };
            return Err(kind.error(text, "it has an exponent", &plain.unwrap_or_default(), units));
        }
        let is_either = kind.name == SIZE.name && meant.len() > 1;
        let problem = if is_either { "its unit says neither binary nor decimal" } else { "its unit is unknown" };
        return Err(kind.error(text, problem, number, &meant));
    };
    let unreadable = "its number cannot be read";
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let is_readable = fraction.len() <= 18
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && !(whole.is_empty() && fraction.is_empty());
    let Some(whole) = (if whole.is_empty() { Some(0) } else { whole.parse::<u128>().ok() }).filter(|_| is_readable)
    else {
        return fail(unreadable);
    };
    let power = 10_u128.pow(fraction.len() as u32);
    let part: u128 = fraction.parse().unwrap_or(0);
    let scale = u128::from(scale);
    let total = whole.checked_mul(scale).and_then(|w| part.checked_mul(scale).map(|p| w + p / power));
    total.and_then(|value| u64::try_from(value).ok()).map_or_else(|| fail("it is too large"), Ok)
}

/// The exponent that a unit begins with where the number is written as `1e3GiB`, and the unit behind it.
fn exponent(unit: &str) -> Option<(i32, &str)> {
    let digits = unit.strip_prefix(['e', 'E'])?;
    let end = digits.find(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-'))).unwrap_or(digits.len());
    let power = digits[..end].parse().ok().filter(|power| (-18..=18).contains(power))?;
    Some((power, digits[end..].trim_start()))
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
    let fail = |problem, meant: &[f64]| {
        let meant = meant
            .iter()
            .filter(|share| share.is_finite() && **share >= 0.0)
            .map(|share| format_share(*share))
            .collect();
        QuantityError {
            text: text.to_owned(),
            kind: "share",
            problem,
            example: "a number with a per cent sign, such as \"7%\"",
            units: "",
            meant,
        }
    };
    let number = text.trim().trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == ' ');
    let Ok(value) = number.replace(',', ".").parse::<f64>() else { return Err(fail("its number cannot be read", &[])) };
    let percent = value / 100.0;
    match text.trim().strip_suffix('%') {
        _ if number.contains(',') => Err(fail("a comma is not part of a number", &[percent])),
        _ if !value.is_finite() => Err(fail("it is not finite", &[])),
        _ if value.is_sign_negative() && value != 0.0 => Err(fail("it is negative", &[-percent])),
        Some(digits) if digits.trim() == number => Ok(percent),
        // 0.07 may be seven hundredths, or that many hundredths.
        None if number == text.trim() && value > 0.0 && value < 1.0 => {
            Err(fail("it has no per cent sign", &[value, percent]))
        }
        None => Err(fail("it has no per cent sign", &[percent])),
        Some(_) => Err(fail("its number cannot be read", &[percent])),
    }
}

/// What people group digits with.
const GROUPING: [char; 3] = [',', '\'', ' '];

/// Reads a whole number without a unit; digits may be grouped with `_`.
///
/// # Errors
/// As [`parse_size`].
pub fn parse_count(text: &str) -> Result<u64, QuantityError> {
    let plain = text.trim().replace('_', "");
    let fail = |problem, meant: Option<u64>| {
        let meant = meant.into_iter().map(|count| count.to_string()).collect();
        QuantityError {
            text: text.to_owned(),
            kind: "whole number",
            problem,
            example: "digits alone, such as \"1\"",
            units: "",
            meant,
        }
    };
    if let Ok(count) = plain.parse() {
        return Ok(count);
    }
    if plain.chars().all(|c| c.is_ascii_digit()) && !plain.is_empty() {
        return Err(fail("it is too large", None));
    }
    let grouped: String = plain.split(GROUPING).collect();
    let is_grouped = plain.split(GROUPING).skip(1).all(|group| group.len() == 3);
    if let Some(count) = grouped.parse().ok().filter(|_| is_grouped) {
        return Err(fail("its digits may only be grouped with `_`", Some(count)));
    }
    if let Some(count) = plain.strip_prefix('-').and_then(|positive| positive.parse().ok()) {
        return Err(fail("it is negative", Some(count)));
    }
    match plain.parse::<f64>() {
        // Up to 2^53 every whole number has a place in it.
        Ok(value) if (0.0..9e15).contains(&value) => Err(fail("it takes digits alone", Some(value.round() as u64))),
        Ok(_) => Err(fail("it is out of range", None)),
        Err(_) => {
            let digits = plain.trim_end_matches(|c: char| !c.is_ascii_digit());
            let problem = if digits.is_empty() { "it has no number" } else { "it takes no unit and no words" };
            let times = match plain[digits.len()..].trim() {
                "k" | "K" => 1_000.0,
                "M" => 1e6,
                "G" => 1e9,
                _ => 1.0,
            };
            let meant = digits
                .parse::<f64>()
                .ok()
                .map(|number| (number * times).round())
                .filter(|count| (0.0..9e15).contains(count));
            Err(fail(problem, meant.map(|count| count as u64)))
        }
    }
}

fn format_scaled(value: u64, units: &[(&str, u64)]) -> String {
    let unit = units.iter().find(|(_, scale)| value >= *scale).or_else(|| units.last());
    let (name, scale) = unit.copied().unwrap_or(("", 1));
    if value.is_multiple_of(scale) {
        format!("{}{name}", value / scale)
    } else {
        format!("{}{name}", trimmed(value as f64 / scale as f64))
    }
}

/// With two decimals at most.
fn trimmed(value: f64) -> String {
    trimmed_to(value, 2)
}

fn trimmed_to(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Binary units, from the largest.
const BINARY: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Writes bytes with the largest binary unit that fits, for people to read.
pub fn format_size(bytes: u64) -> String {
    format_scaled(bytes, &BINARY)
}

/// Writes bytes as [`format_size`] does where that says all, else with the largest binary unit they are whole numbers
/// of: the text reads back as the same number.
pub fn exact_size(bytes: u64) -> String {
    let short = format_size(bytes);
    if parse_size(&short) == Ok(bytes) {
        return short;
    }
    let (name, scale) = BINARY.into_iter().find(|(_, scale)| bytes.is_multiple_of(*scale)).unwrap_or(("B", 1));
    format!("{}{name}", bytes / scale)
}

/// Most digits of a size that is still read at a glance; rounding to them changes a size by about 1 % at most.
const GLANCE: u64 = 99_999;

/// A size that is accepted in the place of `bytes`: no larger, a whole number of `grain` bytes, and readable at a
/// glance (at most five digits). `None`: there is none but 0.
pub fn size_at_most(bytes: u64, grain: u64) -> Option<String> {
    readable(bytes, grain, |bytes, step| Some(bytes / step * step))
}

/// As [`size_at_most`], no smaller.
pub fn size_at_least(bytes: u64, grain: u64) -> Option<String> {
    readable(bytes, grain, u64::checked_next_multiple_of)
}

fn readable(bytes: u64, grain: u64, round: impl Fn(u64, u64) -> Option<u64>) -> Option<String> {
    let grain = grain.max(1);
    let is_short = |text: &str| text.bytes().filter(u8::is_ascii_digit).count() <= 5;
    let exact = round(bytes, grain).filter(|bytes| *bytes > 0);
    let units = BINARY.iter().rev().filter_map(|(_, unit)| {
        // The least common multiple: a size in this unit that is a whole number of grains.
        let step = unit.checked_mul(grain / common(*unit, grain))?;
        round(bytes, step).filter(|bytes| *bytes > 0 && bytes / unit <= GLANCE)
    });
    let texts = exact.into_iter().chain(units).map(exact_size);
    let mut texts: Vec<String> = texts.collect();
    let first_short = texts.iter().position(|text| is_short(text)).unwrap_or(0);
    (!texts.is_empty()).then(|| texts.swap_remove(first_short))
}

/// The greatest common divisor of two numbers above 0.
fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Units of time, from the largest.
const TIMES: [(&str, Nanos); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Writes nanoseconds for people to read: in whole days, hours or minutes where they are that, otherwise with the
/// largest unit up to seconds that fits; more than ten days in days.
pub fn format_duration(nanos: Nanos) -> String {
    let long = TIMES.first().filter(|(_, day)| nanos / day >= 10);
    let whole = || TIMES[..3].iter().find(|(_, scale)| nanos > 0 && nanos.is_multiple_of(*scale));
    match long.or_else(whole) {
        Some(unit) => format_scaled(nanos, &[*unit]),
        None => format_scaled(nanos, &TIMES[3..]),
    }
}

/// Writes bytes per second with the largest decimal unit that fits, for people to read.
pub fn format_rate(bytes_per_second: u64) -> String {
    format_scaled(bytes_per_second, &[("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1_000), ("B/s", 1)])
}

/// Writes a fraction as a share, with all its digits: 0.07 is `7%`.
pub fn format_share(fraction: f64) -> String {
    // Twelve digits hide what binary fractions add: 0.07 times 100 is 7.000000000000001.
    let text = format!("{:.12}", fraction * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
