//! Numbers as people read them: three digits and a unit that suits them.

use crate::metric::Metric;
use figures::number;
use layer::spelling::joined;
use metrics::Cell;

/// Units of a kind, the largest first: what one of it is, and its name.
type Units = &'static [(f64, &'static str)];

const TIMES: Units = &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];
const SIZES: Units = &[
    ((1_u64 << 40) as f64, " TiB"),
    ((1_u64 << 30) as f64, " GiB"),
    ((1_u64 << 20) as f64, " MiB"),
    (1024.0, " KiB"),
    (1.0, " B"),
];
const COUNTS: Units = &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];
const SHARES: Units = &[(0.01, " %")];
const PLAIN: Units = &[(1.0, "")];
/// What rounds up to the next unit is written in it.
const NEARLY: f64 = 0.9995;

fn units(metric: &Metric) -> Units {
    match metric.unit {
        "ns" => TIMES,
        "bytes" => SIZES,
        "share of 1" => SHARES,
        "requests/s" | "requests" | "pages" | "blocks" => COUNTS,
        _ => PLAIN,
    }
}

/// The unit that suits a value.
fn unit(units: Units, value: f64) -> (f64, &'static str) {
    units.iter().find(|(scale, _)| value >= scale * NEARLY).or(units.last()).copied().unwrap_or((1.0, ""))
}

/// A value of a metric: `12.3 µs`.
pub fn shown(metric: &Metric, value: f64) -> String {
    let (scale, name) = unit(units(metric), value);
    format!("{}{name}", number(value / scale))
}

/// A mean with half of its interval, both in the unit of the mean: `210 ±12 µs`.
pub fn shown_cell(metric: &Metric, cell: Cell) -> String {
    let (scale, name) = unit(units(metric), cell.mean);
    // An interval of nothing is that of a number that repetitions do not change.
    let Some(half) = cell.half.filter(|half| *half > cell.mean.abs() * 1e-9) else {
        return format!("{}{name}", number(cell.mean / scale));
    };
    let [mean, half] = figures::numbers::with_half(cell.mean / scale, half / scale);
    format!("{mean} ±{half}{name}")
}

/// Values of a metric for an axis: the divisor, and the form of a divided value. Lines of the axis lie at
/// round numbers of that.
pub(crate) fn axis(metric: &Metric, most: f64) -> (f64, Box<dyn Fn(f64) -> String>) {
    let units = units(metric);
    if metric.unit == "bytes" {
        // A round number of bytes is no round number of their units.
        let (scale, name) = unit(units, most);
        return (scale, Box::new(move |value| format!("{}{name}", number(value))));
    }
    let (first, _) = units.last().copied().unwrap_or((1.0, ""));
    let scaled = move |value: f64| {
        let (scale, name) = unit(units, value * first);
        if value == 0.0 { "0".to_owned() } else { format!("{}{name}", number(value * first / scale)) }
    };
    (first, Box::new(scaled))
}

/// Some names: `a, b and c`; of many the first ones and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    /// Most that are named.
    const MOST: usize = 3;
    // Names of several keys have commas of their own.
    let has_commas = names.iter().any(|name| name.contains(", "));
    let between = if has_commas { "; " } else { ", " };
    if names.len() > MOST + 1 {
        return format!("{} and {} more", names[..MOST].join(between), names.len() - MOST);
    }
    match names {
        [first @ .., last] if has_commas && !first.is_empty() => format!("{}; and {last}", first.join(between)),
        _ => joined(names, "and"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three designs of two keys each read as six names.
    #[test]
    fn names_with_commas_are_told_apart() {
        let names = ["a 1, b 2", "a 1, b 3", "a 2, b 3"].map(str::to_owned);
        assert_eq!(listed(&names), "a 1, b 2; a 1, b 3; and a 2, b 3");
        assert_eq!(listed(&["a", "b", "c"].map(str::to_owned)), "a, b and c");
    }

    #[test]
    fn values_have_the_unit_that_suits_them() {
        let text = |name: &str, value: f64| shown(Metric::named(name).unwrap(), value);
        for (name, value, expected) in [
            ("read_p999_ns", 12_300.0, "12.3 µs"),
            ("read_p999_ns", 200_000_000.0, "200 ms"),
            ("read_p999_ns", 999_900.0, "1 ms"),
            ("read_p999_ns", 0.0, "0 ns"),
            ("ram_bytes", 1536.0, "1.5 KiB"),
            ("spare_share", 0.1563, "15.6 %"),
            ("spare_share", 0.004, "0.4 %"),
            ("iops", 2330.0, "2.33 k"),
            ("iops", 12.0, "12"),
            ("waf", 5.581, "5.58"),
        ] {
            assert_eq!(text(name, value), expected, "{name} {value}");
        }
    }

    #[test]
    fn an_interval_is_in_the_unit_of_its_mean() {
        let text =
            |name: &str, mean: f64, half: Option<f64>| shown_cell(Metric::named(name).unwrap(), Cell { mean, half });
        assert_eq!(text("write_p99_ns", 1_200_000.0, Some(12_000.0)), "1.200 ±0.012 ms");
        assert_eq!(text("write_p99_ns", 210_000.0, None), "210 µs");
        assert_eq!(text("spare_share", 0.15, Some(0.0)), "15 %");
    }

    /// An axis said 200000 us.
    #[test]
    fn lines_of_an_axis_are_round_and_have_units() {
        let (scale, text) = axis(Metric::named("read_p99_ns").unwrap(), 3e8);
        assert_eq!(
            (text(2e8 / scale).as_str(), text(5e4 / scale).as_str(), text(0.0).as_str()),
            ("200 ms", "50 µs", "0")
        );
        let (scale, text) = axis(Metric::named("ram_bytes").unwrap(), 3.0 * 1024.0 * 1024.0);
        assert_eq!(text(2.0 * 1024.0 * 1024.0 / scale), "2 MiB");
        let (scale, text) = axis(Metric::named("spare_share").unwrap(), 0.5);
        assert_eq!(text(0.2 / scale), "20 %");
    }

    #[test]
    fn of_many_names_the_first_are_said() {
        let names = |count: usize| {
            listed(&["a", "b", "c", "d", "e"][..count].iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!([names(1), names(2), names(4), names(5)], ["a", "a and b", "a, b, c and d", "a, b, c and 2 more"]);
    }
}
