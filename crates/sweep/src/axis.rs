//! Axes: the values of one key.

use device::config::{ConfigError, all_keys, find_key};
use device::Setting;
use engine::random::Stream;
use layer::{Parameter, ParameterKind, Value};
use toml::Value as Toml;

/// Most values of one axis.
const MOST_VALUES: usize = 100_000;

/// A key and what it becomes, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key.
    pub key: &'static str,
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

/// The parameter of a key, and a value for it.
///
/// # Errors
/// There is no such key, with the one that is meant.
pub(crate) fn parameter(key: &str, place: &str) -> Result<Parameter, ConfigError> {
    let keys = all_keys();
    let setting = Setting { key: key.to_owned(), value: String::new(), place: place.to_owned() };
    find_key(&keys, key).copied().ok_or_else(|| ConfigError::unknown_key(&setting, &keys))
}

impl Axis {
    /// Whether its values are numbers, which have an order and something between them.
    pub fn is_of_numbers(&self) -> bool {
        parameter(self.key, "").is_ok_and(|known| !matches!(known.kind, ParameterKind::Choice(_) | ParameterKind::Switch | ParameterKind::Text))
    }

    /// Reads an axis: a list of values, or a table with `from`, `to` and `steps` or `random`.
    ///
    /// # Errors
    /// In words: what is wrong with it and how to mend it.
    pub(crate) fn read(parameter: &Parameter, value: &Toml, seed: u64) -> Result<Self, String> {
        let values = match value {
            Toml::Array(list) => {
                let texts = list.iter().map(|value| text(value).ok_or_else(|| format!("{value} is no value; a list holds texts, numbers or switches")));
                texts.collect::<Result<Vec<_>, _>>()?
            }
            Toml::Table(table) => Span::read(parameter, table)?.values(parameter, seed)?,
            other => return Err(format!("{other} is no axis; write a list, or {{ from = …, to = …, steps = … }}")),
        };
        if values.is_empty() {
            return Err("it is empty; give it at least one value, or leave it out".to_owned());
        }
        if values.len() > MOST_VALUES {
            return Err(format!("it has {} values, and at most {MOST_VALUES} are run", values.len()));
        }
        let mut known: Vec<Value> = Vec::with_capacity(values.len());
        for (at, text) in values.iter().enumerate() {
            let value = parameter.kind.parse(text)?;
            // Two rows of the same runs would look like a result.
            if let Some(same) = known.iter().position(|other| *other == value) {
                let first = &values[same];
                return Err(if first == text {
                    format!("{text} is in it twice (values {} and {}); leave one out", same + 1, at + 1)
                } else {
                    format!("{text} is the same as {first}, which is in it as well; leave one out")
                });
            }
            known.push(value);
        }
        Ok(Self { key: parameter.key, values })
    }
}

/// A range of numbers.
struct Span {
    from: f64,
    to: f64,
    count: usize,
    is_log: bool,
    is_random: bool,
}

const KNOWN: [&str; 5] = ["from", "to", "steps", "random", "scale"];

impl Span {
    fn read(parameter: &Parameter, table: &toml::Table) -> Result<Self, String> {
        if let Some(key) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(format!("`{key}` is not known here; a range has {}", KNOWN.join(", ")));
        }
        let bound = |name: &str| {
            let given = table.get(name).and_then(text).ok_or_else(|| format!("`{name}` is missing; a range needs `from` and `to`"))?;
            match parameter.kind.parse(&given)? {
                Value::Whole(whole) => Ok(whole as f64),
                Value::Real(real) => Ok(real),
                _ => Err(format!("{} is not a number; give a list of values instead of a range", parameter.key)),
            }
        };
        let (from, to) = (bound("from")?, bound("to")?);
        if from >= to {
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
            Some("log") if from > 0.0 => true,
            Some("log") => return Err("a logarithmic range begins above 0".to_owned()),
            Some(other) => return Err(format!("`scale` is \"{other}\"; write \"linear\" or \"log\"")),
        };
        Ok(Self { from, to, count, is_log, is_random })
    }

    /// The values, rounded to what the key can take; values that meet are one.
    fn values(&self, parameter: &Parameter, seed: u64) -> Result<Vec<String>, String> {
        let mut stream = Stream::new(seed, parameter.key);
        let share = |index: usize, stream: &mut Stream| {
            if self.is_random { stream.unit() } else { index as f64 / (self.count - 1) as f64 }
        };
        let mut numbers: Vec<f64> = (0..self.count)
            .map(|index| {
                let at = share(index, &mut stream);
                if self.is_log { self.from * (self.to / self.from).powf(at) } else { self.from + (self.to - self.from) * at }
            })
            .collect();
        numbers.sort_by(f64::total_cmp);
        let mut values = numbers.into_iter().map(|number| written(parameter, number)).collect::<Result<Vec<_>, _>>()?;
        values.dedup();
        Ok(values)
    }
}

/// A number as a value of a key is written.
fn written(parameter: &Parameter, number: f64) -> Result<String, String> {
    let whole = number.round() as u64;
    match parameter.kind {
        ParameterKind::Size { .. } => Ok(size(whole)),
        ParameterKind::Duration { .. } => Ok(format!("{whole}ns")),
        ParameterKind::Rate => Ok(units::quantity::format_rate(whole)),
        ParameterKind::Share { .. } => Ok(format!("{}%", (number * 1e6).round() / 1e4)),
        ParameterKind::Count { .. } => Ok(whole.to_string()),
        ParameterKind::Number { .. } => Ok(((number * 1e6).round() / 1e6).to_string()),
        ParameterKind::Choice(_) | ParameterKind::Switch | ParameterKind::Text => {
            Err(format!("{} is not a number; give a list of values instead of a range", parameter.key))
        }
    }
}

/// A size as text, rounded to a 64th of the power of two below it: drives and caches come in such steps.
fn size(bytes: u64) -> String {
    let grain = 1 << bytes.checked_ilog2().unwrap_or(0).saturating_sub(6);
    let bytes = (bytes + grain / 2) / grain * grain;
    let text = units::quantity::format_size(bytes);
    if units::quantity::parse_size(&text) == Ok(bytes) { text } else { format!("{bytes}B") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(key: &str, text: &str) -> Result<Vec<String>, String> {
        let table: toml::Table = format!("a = {text}").parse().unwrap();
        Axis::read(&parameter(key, "test").unwrap(), &table["a"], 1).map(|axis| axis.values)
    }

    #[test]
    fn lists_ranges_and_draws_become_values_of_the_key() {
        for (key, text, expected) in [
            ("ftl.gc.victim", "[\"greedy\", \"fifo\"]", "greedy fifo"),
            ("workload.queue_depth", "[1, 4]", "1 4"),
            ("workload.queue_depth", "{ from = 1, to = 32, steps = 6, scale = \"log\" }", "1 2 4 8 16 32"),
            ("workload.queue_depth", "{ from = 1, to = 3, steps = 9 }", "1 2 3"),
            ("drive.over_provisioning", "{ from = \"10%\", to = \"30%\", steps = 3 }", "10% 20% 30%"),
            ("ftl.map_cache", "{ from = \"64KiB\", to = \"1MiB\", steps = 3, scale = \"log\" }", "64KiB 256KiB 1MiB"),
            ("flash.read_time", "{ from = \"25us\", to = \"75us\", steps = 3 }", "25000ns 50000ns 75000ns"),
        ] {
            assert_eq!(axis(key, text).unwrap().join(" "), expected, "{key} {text}");
        }
        let draws = axis("workload.queue_depth", "{ from = 1, to = 1000, random = 5 }").unwrap();
        assert_eq!(draws.len(), 5);
        assert_eq!(draws, axis("workload.queue_depth", "{ from = 1, to = 1000, random = 5 }").unwrap(), "the seed decides");
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
            ("workload.queue_depth", "{ from = 1, to = 4, step = 2 }", "`step` is not known"),
            ("workload.queue_depth", "{ from = 1, to = 4, steps = 2, scale = \"lin\" }", "\"linear\" or \"log\""),
            ("ftl.gc.victim", "{ from = \"a\", to = \"b\", steps = 2 }", "none of"),
            ("drive.capacity", "[8]", "no unit"),
            ("drive.capacity", "7", "no axis"),
        ] {
            let message = axis(key, text).unwrap_err();
            assert!(message.contains(wanted), "{key} {text}: {message}");
        }
        assert!(parameter("ftl.gc.victm", "p").unwrap_err().to_string().contains("ftl.gc.victim"));
    }
}
