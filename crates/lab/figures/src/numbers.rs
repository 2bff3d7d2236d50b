//! Numbers as people read them.

/// The text that stands where there is no number.
pub const NONE: &str = "-";

/// A count with separators: `1,000,000`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits at most, with a unit from `units` (scale and name, largest first).
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (scale, name) = units.iter().find(|(scale, _)| value >= *scale).or(units.last()).copied().unwrap_or((1.0, ""));
    let value = value / scale;
    let digits = if value >= 100.0 || value == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {name}").trim_end().to_owned()
}

/// Nanoseconds: `208 us`.
pub fn time(nanos: f64) -> String {
    scaled(nanos, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

/// A latency; 0 means a request that waited for no flash, such as a read of pages never written.
pub fn latency(nanos: f64) -> String {
    if nanos == 0.0 { "no flash".to_owned() } else { time(nanos) }
}

/// Seconds of wall-clock time: `1.83 s`.
pub fn duration(seconds: f64) -> String {
    time(seconds * 1e9)
}

/// Bytes: `72.1 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(f64, &str); 4] =
        [((1_u64 << 30) as f64, "GiB"), ((1_u64 << 20) as f64, "MiB"), ((1_u64 << 10) as f64, "KiB"), (1.0, "B")];
    scaled(bytes as f64, &UNITS)
}

/// A fraction as per cent: `66 %`.
pub fn share(fraction: f64) -> String {
    let digits = usize::from(fraction > 0.0 && fraction < 0.0995);
    format!("{:.digits$} %", fraction * 100.0)
}

/// Requests per second, or nothing.
pub fn rate(per_second: Option<f64>) -> String {
    per_second.map_or_else(|| NONE.to_owned(), |rate| if rate < 10.0 { few(rate) } else { count(rate.round() as u64) })
}

/// Decimal megabytes per second, or nothing.
pub fn bandwidth(bytes_per_second: Option<f64>) -> String {
    bytes_per_second
        .map_or_else(|| NONE.to_owned(), |rate| if rate < 1e6 { few(rate / 1e6) } else { format!("{:.1}", rate / 1e6) })
}

/// Two digits of a small number.
fn few(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let digits = (1 - number.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{number:.digits$}")
}

/// A number and half of its interval, with the digits that the interval supports. The half has two digits, and the
/// number has as many places: `4.60` and `0.12`.
pub fn with_half(value: f64, half: f64) -> [String; 2] {
    if half <= 0.0 || !half.is_finite() {
        return [value, half].map(crate::number);
    }
    // 0.0999 rounds to 0.10, which has its last digit one place further left.
    let first = |half: f64| half.log10().floor() as i32;
    let unit = 10_f64.powi(first(half) - 1);
    let places = first((half / unit).round() * unit * (1.0 + 1e-9)) - 1;
    [value, half].map(|number| placed(number, places))
}

/// A number rounded to a place: 0 for ones, -2 for hundredths, 1 for tens.
fn placed(number: f64, place: i32) -> String {
    let (digits, unit) = ((-place).clamp(0, 12) as usize, 10_f64.powi(place.max(0)));
    // Below ones the form rounds.
    let rounded = if place > 0 { (number / unit).round() * unit } else { number };
    format!("{rounded:.digits$}")
}

/// The ends and the middle of an interval, with the digits that the interval supports: two where its ends are far
/// apart, four where they nearly agree.
pub fn between(values: [f64; 3]) -> [String; 3] {
    let [low, high] = [f64::min, f64::max].map(|end| end(values[0], values[2]));
    let digits = match high / low {
        ratio if ratio < 1.02 => 4,
        ratio if ratio < 1.2 => 3,
        _ => 2,
    };
    values.map(|value| significant(value, digits))
}

/// A number with so many significant digits, and separators where it is large.
fn significant(value: f64, digits: i32) -> String {
    if value <= 0.0 {
        return placed(value, 0);
    }
    let text = placed(value, value.log10().floor() as i32 + 1 - digits);
    text.parse().map_or(text, count)
}

/// A ratio with three decimals, or nothing.
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| NONE.to_owned(), |ratio| format!("{ratio:.3}"))
}

/// The key of a percentile as people write it: `p99.9`.
pub fn percentile_name(key: &'static str) -> &'static str {
    match key {
        "p999" => "p99.9",
        "p9999" => "p99.99",
        key => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_their_interval_supports() {
        let told = |value, half| with_half(value, half).join(" ±");
        for (value, half, text) in [
            (4.6, 0.118, "4.60 ±0.12"),
            (3.712, 0.0992, "3.712 ±0.099"),
            (3.712, 0.0996, "3.71 ±0.10"),
            (1234.0, 118.0, "1230 ±120"),
            (22.26, 1.75, "22.3 ±1.8"),
            (52.3, 14.0, "52 ±14"),
            (6.0, 0.0, "6 ±0"),
        ] {
            assert_eq!(told(value, half), text);
        }
        assert_eq!(between([0.987_2, 3.801, 12.92]), ["0.99", "3.8", "13"]);
        assert_eq!(between([4.714, 1.387, 0.360_3]), ["4.7", "1.4", "0.36"]);
        assert_eq!(between([1.000, 1.005, 1.011]), ["1.000", "1.005", "1.011"]);
        assert_eq!(between([1.2e6, 1.25e6, 1.3e6]), ["1,200,000", "1,250,000", "1,300,000"]);
    }

    #[test]
    fn numbers_are_short_and_have_their_unit() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(time(208_700.0), "209 us");
        assert_eq!(time(1_500_000.0), "1.50 ms");
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(size(75_497_472), "72.0 MiB");
        assert_eq!(share(0.661), "66 %");
        assert_eq!(share(0.013), "1.3 %");
        assert_eq!(
            (rate(Some(0.0738)), rate(Some(8.2)), rate(Some(1_234.4))),
            ("0.074".to_owned(), "8.2".to_owned(), "1,234".to_owned())
        );
    }
}
