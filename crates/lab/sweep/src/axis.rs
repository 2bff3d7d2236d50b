//! Axes: the values of one key.

use engine::random::Stream;
use layer::{Parameter, ParameterKind, Role, Value};
use simulator::Setting;
use simulator::config::{ConfigError, all_keys, did_you_mean, find_key};
use std::collections::BTreeMap;
use toml::Value as Toml;

/// Most values of one axis.
const MOST_VALUES: usize = 100_000;

/// A key and its values, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The configuration key that differs.
    pub key: &'static str,
    /// Whether the designer decides about it: then its values compete with each other.
    pub role: Role,
    /// Its values as they would be written in a stack.
    pub values: Vec<String>,
}

/// A value of a plan as text.
pub(crate) fn text(value: &Toml) -> Option<String> {
    match value {
        Toml::String(text) => Some(text.clone()),
        Toml::Integer(number) => Some(number.to_string()),
        Toml::Float(number) => Some(number.to_string()),
        Toml::Boolean(on) => Some(on.to_string()),
        _ => None,
    }
}

/// The meaning of a value: the same for all its spellings, including spellings of the version before.
/// Errors: the key has no such value: why.
pub(crate) fn meaning(parameter: &Parameter, text: &str) -> Result<String, String> {
    Ok(match parameter.kind.parse(metrics::value_of_today(parameter.key, text))? {
        // Below zero is no other nothing than above it.
        Value::Real(real) => format!("{:?}", real + 0.0),
        other => format!("{other:?}"),
    })
}

/// The parameter of a key, and a value for it.
/// Errors: there is no such key, with the one that is meant.
pub(crate) fn parameter(key: &str, place: &str) -> Result<Parameter, ConfigError> {
    let keys = all_keys();
    let setting = Setting::new(key, "", place);
    find_key(keys, key).copied().ok_or_else(|| ConfigError::unknown_key(&setting, keys))
}

/// Whether the designer decides about a key: an unknown name is not a circumstance.
pub(crate) fn role(key: &str) -> Role {
    parameter(key, "").map_or(Role::Design, |known| known.role)
}

impl Axis {
    /// Whether it divides a plan into panels: circumstances of which there are several.
    pub(crate) fn divides(&self) -> bool {
        self.role == Role::Circumstance && self.values.len() > 1
    }

    /// Whether its values are numbers, which have an order and something between them.
    pub fn is_of_numbers(&self) -> bool {
        parameter(self.key, "").is_ok_and(|known| {
            !matches!(known.kind, ParameterKind::Choice(_) | ParameterKind::Switch | ParameterKind::Text)
        })
    }

    /// Its values as numbers, if they are all.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        let parameter = parameter(self.key, "").ok()?;
        self.values.iter().map(|text| number(&parameter, text).ok().flatten()).collect()
    }

    /// Reads an axis: a list of values, or a table with `from`, `to` and `steps` or `random`.
    /// Errors: in words: the problem and the remedy.
    pub(crate) fn read(parameter: &Parameter, value: &Toml, seed: u64) -> Result<Self, String> {
        let values = match value {
            Toml::Array(list) => {
                let texts = list.iter().map(|value| {
                    text(value)
                        .ok_or_else(|| format!("{value} is not a value; a list holds texts, numbers or switches"))
                });
                texts.collect::<Result<Vec<_>, _>>()?
            }
            Toml::Table(table) => Span::read(parameter, table)?.values(parameter, seed)?,
            other => return Err(format!("{other} is not an axis; write a list, or {{ from = …, to = …, steps = … }}")),
        };
        if values.is_empty() {
            return Err("it is empty; give it at least one value, or leave it out".to_owned());
        }
        if values.len() > MOST_VALUES {
            return Err(format!("it has {} values, and at most {MOST_VALUES} are run", values.len()));
        }
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (at, text) in values.iter().enumerate() {
            // Two rows of the same runs would look like a result.
            if let Some(same) = known.insert(meaning(parameter, text)?, at) {
                let first = &values[same];
                return Err(if first == text {
                    format!("{text} is in it twice (values {} and {}); leave one out", same + 1, at + 1)
                } else {
                    format!("{text} is the same as {first}, which is in it as well; leave one out")
                });
            }
        }
        Ok(Self { key: parameter.key, role: parameter.role, values })
    }
}

/// A range of numbers.
struct Span {
    from: Bound,
    to: Bound,
    count: usize,
    is_log: bool,
    is_random: bool,
}

/// An end of a range: as it was written, and the number that is.
#[derive(Clone)]
struct Bound {
    text: String,
    number: f64,
}

impl Bound {
    fn read(parameter: &Parameter, table: &toml::Table, name: &str) -> Result<Self, String> {
        let given = table.get(name).ok_or_else(|| format!("`{name}` is missing; a range needs `from` and `to`"))?;
        let text = text(given).ok_or_else(|| format!("`{name}` is {given}; write one value"))?;
        let number = number(parameter, &text)?.ok_or_else(|| no_range(parameter))?;
        Ok(Self { text, number })
    }
}

/// The entries of an axis table.
pub(crate) const KNOWN: [&str; 5] = ["from", "to", "steps", "random", "scale"];
/// Digits, and for sizes bits, that values between the ends of a range have: few that people can read, more where fewer
/// do not tell the values apart.
const DIGITS: [usize; 4] = [6, 9, 12, 15];
/// Longer sizes are not cut finer than this: a drive is whole pages, and the largest page is that
/// large.
const FINEST: u64 = 64 << 10;

/// The number that a text is for a key, unless its values are none.
fn number(parameter: &Parameter, text: &str) -> Result<Option<f64>, String> {
    Ok(match parameter.kind.parse(text)? {
        Value::Whole(whole) => Some(whole as f64),
        Value::Real(real) => Some(real),
        Value::Name(_) | Value::On(_) => None,
    })
}

fn no_range(parameter: &Parameter) -> String {
    format!("{} is not a number; give a list of values instead of a range", parameter.key)
}

impl Span {
    fn read(parameter: &Parameter, table: &toml::Table) -> Result<Self, String> {
        if table.is_empty() {
            return Err("it is empty; write a list, or { from = …, to = …, steps = … }, or leave it out".to_owned());
        }
        if let Some(key) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            let hint = did_you_mean(key, KNOWN.into_iter());
            return Err(format!("`{key}` is not known here{hint}; a range has {}", KNOWN.join(", ")));
        }
        if !table.contains_key("from") && !table.contains_key("to") {
            return Err("`from` and `to` are missing; a range needs both, or write a list".to_owned());
        }
        let (from, to) = (Bound::read(parameter, table, "from")?, Bound::read(parameter, table, "to")?);
        if from.number >= to.number {
            return Err("`from` has to be below `to`".to_owned());
        }
        let count = |name: &str| match table.get(name) {
            None => Ok(None),
            Some(Toml::Integer(count)) if (1..=MOST_VALUES as i64).contains(count) => Ok(Some(*count as usize)),
            Some(other) => Err(format!("`{name}` is {other}; write a whole number from 1 to {MOST_VALUES}")),
        };
        let (count, is_random) = match (count("steps")?, count("random")?) {
            (Some(steps), None) if steps >= 2 => (steps, false),
            (Some(_), None) => return Err("`steps` counts both ends, so it is 2 or more".to_owned()),
            (None, Some(draws)) => (draws, true),
            _ => return Err("give either `steps` or `random`, the number of values".to_owned()),
        };
        let is_log = match table.get("scale").and_then(Toml::as_str) {
            None if table.contains_key("scale") => return Err("`scale` is \"linear\" or \"log\"".to_owned()),
            None | Some("linear") => false,
            Some("log") if from.number > 0.0 => true,
            Some("log") => return Err("a logarithmic range begins above 0".to_owned()),
            Some(other) => return Err(format!("`scale` is \"{other}\"; write \"linear\" or \"log\"")),
        };
        Ok(Self { from, to, count, is_log, is_random })
    }

    /// The values: the ends as they were written, and what is between them rounded to what the key can take; values
    /// that meet are one.
    fn values(&self, parameter: &Parameter, seed: u64) -> Result<Vec<String>, String> {
        let numbers = self.numbers(parameter, seed);
        let mut values = Vec::new();
        for digits in DIGITS {
            values =
                numbers.iter().map(|number| self.value(parameter, *number, digits)).collect::<Result<Vec<_>, _>>()?;
            values.dedup_by(|one, before| one.number <= before.number);
            if values.len() == numbers.len() {
                break;
            }
        }
        Ok(values.into_iter().map(|value| value.text).collect())
    }

    /// The numbers before they are rounded, in order.
    fn numbers(&self, parameter: &Parameter, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, parameter.key);
        let (from, to) = (self.from.number, self.to.number);
        let at = |share: f64| if self.is_log { from * (to / from).powf(share) } else { from + (to - from) * share };
        let mut numbers: Vec<f64> = (0..self.count)
            .map(|index| match index {
                _ if self.is_random => at(stream.unit()),
                0 => from,
                _ if index + 1 == self.count => to,
                _ => at(index as f64 / (self.count - 1) as f64),
            })
            .collect();
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    /// A number as a value of the key: what lies at an end or would be rounded past it is that end.
    fn value(&self, parameter: &Parameter, exact: f64, digits: usize) -> Result<Bound, String> {
        let end = |number: f64| match number {
            _ if number <= self.from.number => Some(self.from.clone()),
            _ if number >= self.to.number => Some(self.to.clone()),
            _ => None,
        };
        if let Some(end) = end(exact) {
            return Ok(end);
        }
        let text = written(parameter, exact, digits)?;
        let number = number(parameter, &text)?.ok_or_else(|| no_range(parameter))?;
        Ok(end(number).unwrap_or(Bound { text, number }))
    }
}

/// A number as a value of a key is written, with about `digits` digits.
fn written(parameter: &Parameter, number: f64, digits: usize) -> Result<String, String> {
    let whole = number.round() as u64;
    match parameter.kind {
        ParameterKind::Size { .. } => Ok(size(whole, digits)),
        ParameterKind::Duration { .. } | ParameterKind::DurationOrAuto { .. } => Ok(format!("{whole}ns")),
        ParameterKind::Rate => {
            // Text with its largest unit has three digits at least: too few to tell neighbours apart.
            let short = units::quantity::format_rate(whole);
            Ok(if digits > DIGITS[0] { format!("{whole}B/s") } else { short })
        }
        ParameterKind::Share { .. } => Ok(format!("{}%", significant(number * 100.0, digits))),
        // Below 1 it is a share.
        ParameterKind::CountOrShare { .. } if number < 1.0 => Ok(format!("{}%", significant(number * 100.0, digits))),
        ParameterKind::Count { .. } | ParameterKind::CountOrAuto { .. } | ParameterKind::CountOrShare { .. } => {
            Ok(whole.to_string())
        }
        ParameterKind::Number { .. } => Ok(significant(number, digits).to_string()),
        ParameterKind::Choice(_) | ParameterKind::Switch | ParameterKind::Text => Err(no_range(parameter)),
    }
}

/// A number rounded to `digits` significant digits: shares of a millionth are as good as halves.
fn significant(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

/// A size as text, rounded to `bits` significant bits: drives and caches come in such steps.
fn size(bytes: u64, bits: usize) -> String {
    let grain = |bits: usize| 1 << bytes.checked_ilog2().unwrap_or(0).saturating_sub(bits as u32);
    let grain: u64 = grain(bits).max(grain(DIGITS[0]).min(FINEST));
    units::quantity::exact_size((bytes + grain / 2) / grain * grain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(key: &str, text: &str) -> Result<Vec<String>, String> {
        let table: toml::Table = format!("a = {text}").parse().unwrap();
        Axis::read(&parameter(key, "test").unwrap(), &table["a"], 1).map(|axis| axis.values)
    }

    fn expect_values(cases: &[(&str, &str, &str)]) {
        for (key, text, expected) in cases {
            assert_eq!(axis(key, text).unwrap().join(" "), *expected, "{key} {text}");
        }
    }

    #[test]
    fn lists_ranges_and_draws_become_values_of_the_key() {
        expect_values(&[
            ("ftl.gc.victim", "[\"greedy\", \"fifo\"]", "greedy fifo"),
            ("workload.queue_depth", "[1, 4]", "1 4"),
            ("workload.queue_depth", "{ from = 1, to = 32, steps = 6, scale = \"log\" }", "1 2 4 8 16 32"),
            ("workload.queue_depth", "{ from = 1, to = 3, steps = 9 }", "1 2 3"),
            ("drive.over_provisioning", "{ from = \"10%\", to = \"30%\", steps = 3 }", "10% 20% 30%"),
            ("ftl.map_cache", "{ from = \"64KiB\", to = \"1MiB\", steps = 3, scale = \"log\" }", "64KiB 256KiB 1MiB"),
            ("flash.read_time", "{ from = \"25us\", to = \"75us\", steps = 3 }", "25us 50000ns 75us"),
        ]);
        let draws = axis("workload.queue_depth", "{ from = 1, to = 1000, random = 5 }").unwrap();
        assert_eq!(draws.len(), 5);
        assert_eq!(
            draws,
            axis("workload.queue_depth", "{ from = 1, to = 1000, random = 5 }").unwrap(),
            "the seed decides"
        );
    }

    #[test]
    fn an_axis_may_have_the_names_of_the_version_before() {
        assert_eq!(parameter("zones.code_zones", "test").expect("it is read").key, "coded.code_zones");
        assert_eq!(axis("stripe.kind", "[\"zones\", \"raid5\"]").unwrap(), ["zones", "raid5"]);
        let twice = axis("stripe.kind", "[\"zones\", \"coded\"]").unwrap_err();
        assert!(twice.contains("the same as zones"), "{twice}");
    }

    /// Four probabilities were one run of `0%`, and a logarithmic range began at 0.
    #[test]
    fn tiny_shares_stay_apart_and_above_zero() {
        let shares = |text: &str| axis("flash.fault.program", text).unwrap().join(" ");
        assert_eq!(
            shares("{ from = \"0.00001%\", to = \"0.00004%\", steps = 4 }"),
            "0.00001% 0.00002% 0.00003% 0.00004%"
        );
        let log = "{ from = \"0.00001%\", to = \"0.1%\", steps = 5, scale = \"log\" }";
        assert_eq!(shares(log), "0.00001% 0.0001% 0.001% 0.01% 0.1%");
        assert_eq!(
            shares("{ from = \"1.0000001%\", to = \"1.0000003%\", steps = 3 }"),
            "1.0000001% 1.0000002% 1.0000003%"
        );
    }

    /// Ends were rounded as what is between them, some out of the range.
    #[test]
    fn the_ends_of_a_range_are_as_they_were_written() {
        expect_values(&[
            ("ftl.map_cache", "{ from = \"1000KB\", to = \"3000KB\", steps = 3 }", "1000KB 1952KiB 3000KB"),
            ("drive.capacity", "{ from = \"100MB\", to = \"200MB\", steps = 3 }", "100MB 144MiB 200MB"),
            ("drive.capacity", "{ from = \"1GiB\", to = \"1026MiB\", steps = 3 }", "1GiB 1025MiB 1026MiB"),
            ("drive.capacity", "{ from = \"64MiB\", to = \"67108866B\", steps = 3 }", "64MiB 67108866B"),
        ]);
        let parameter = parameter("drive.capacity", "test").unwrap();
        for range in ["from = \"100MB\", to = \"101MB\"", "from = \"100MB\", to = \"900MB\", scale = \"log\""] {
            let draws = axis("drive.capacity", &format!("{{ {range}, random = 200 }}")).unwrap();
            assert!(draws.len() > 10, "{draws:?}");
            for draw in draws {
                let bytes = number(&parameter, &draw).unwrap().unwrap();
                assert!((1e8..=9e8).contains(&bytes) && (bytes % 65536.0 < 1.0 || draw.ends_with("MB")), "{draw}");
            }
        }
    }

    #[test]
    fn mistakes_are_named_with_a_remedy() {
        for (key, text, wanted) in [
            ("workload.queue_depth", "[]", "is empty"),
            ("workload.queue_depth", "[1, 1]", "twice"),
            ("ftl.map_cache", "[\"64MiB\", \"1MiB\", \"65536KiB\"]", "65536KiB is the same as 64MiB"),
            ("drive.over_provisioning", "[\"7%\", \"7.0%\"]", "7.0% is the same as 7%"),
            ("workload.queue_depth", "[0]", "below the smallest"),
            ("workload.queue_depth", "{ from = 4, to = 1, steps = 2 }", "below `to`"),
            ("workload.queue_depth", "{ from = 1, to = 4 }", "either `steps` or `random`"),
            (
                "workload.queue_depth",
                "{ from = 1, to = 4, step = 2 }",
                "`step` is not known here; did you mean `steps`",
            ),
            ("workload.queue_depth", "{ form = 1, to = 4, steps = 2 }", "did you mean `from`"),
            ("workload.queue_depth", "{ steps = 2 }", "`from` and `to` are missing"),
            ("workload.queue_depth", "{ to = 4, steps = 2 }", "`from` is missing"),
            ("workload.queue_depth", "{ from = [1], to = 4, steps = 2 }", "write one value"),
            ("workload.queue_depth", "{}", "it is empty"),
            ("workload.queue_depth", "{ from = 1, to = 4, steps = 2, scale = \"lin\" }", "\"linear\" or \"log\""),
            ("ftl.gc.victim", "{ from = \"a\", to = \"b\", steps = 2 }", "none of"),
            ("drive.capacity", "[8]", "no unit"),
            ("drive.capacity", "7", "not an axis"),
        ] {
            let message = axis(key, text).unwrap_err();
            assert!(message.contains(wanted), "{key} {text}: {message}");
        }
        assert!(parameter("ftl.gc.victm", "p").unwrap_err().to_string().contains("ftl.gc.victim"));
    }
}
