//! Parameters of layers and policies: declared once, used for the configuration, its checks, the
//! help text and the resolved values stored with a result.

use crate::Conditions;
use crate::spelling::did_you_mean;
use std::collections::BTreeMap;
use units::quantity::{self, QuantityError, format_duration, format_rate, format_share, format_size};

/// A name that a choice accepts, and its meaning in a line. Both are declared in one place, so that no name is
/// without its meaning: a new one does not compile without.
pub type Named = (&'static str, &'static str);

/// The form of a parameter's value, with its limits.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "limits are called by their names")]
pub enum ParameterKind {
    /// Bytes, written with a unit: `"4KiB"`.
    Size { min: u64, max: u64 },
    /// Nanoseconds, written with a unit: `"25us"`.
    Duration { max: u64 },
    /// As [`ParameterKind::Duration`], or `auto`: as long as it takes.
    DurationOrAuto {
        max: u64,
        /// What it takes so long for, in a line.
        auto: &'static str,
    },
    /// Bytes per second, written with a unit: `"400MB/s"`; `"unlimited"` is 0.
    Rate,
    /// A fraction, written with a per cent sign: `"7%"`.
    Share {
        /// Largest accepted, as a fraction.
        max: f64,
    },
    /// A whole number without a unit.
    Count { min: u64, max: u64 },
    /// A whole number without a unit, or `auto`: a number that is chosen for what is run.
    CountOrAuto {
        max: u64,
        /// What is chosen, in a line.
        auto: &'static str,
    },
    /// A whole number without a unit, or a share of what it counts, written with a per cent sign: `"8"`, `"3%"`.
    CountOrShare { max: u64 },
    /// A number without a unit.
    Number { min: f64, max: f64 },
    /// One of a fixed set of names.
    Choice(fn() -> Vec<Named>),
    /// A switch: `true` or `false`.
    Switch,
    /// Free text without limits.
    Text,
}

/// Whether the designer of a drive or the circumstances decide about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The designer of a drive: a better value makes a better drive.
    Design,
    /// The circumstances under which designs are compared: the requests, the state of the drive, its faults, how it is
    /// simulated. A drive under easier circumstances is not a better one.
    Circumstance,
}

impl Role {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Design => "design",
            Role::Circumstance => "circumstance",
        }
    }
}

/// A configuration key, as the layer that reads it declares it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Full key, such as `ftl.gc.victim`.
    pub key: &'static str,
    /// The kind of its values, and their limits.
    pub kind: ParameterKind,
    /// Default, written as in a file; `None`: the key has no default and may be absent.
    pub default: Option<&'static str>,
    /// Meaning, in a sentence or two.
    pub doc: &'static str,
    /// When it is read; without a condition always.
    pub read_when: Conditions,
    /// Whether the designer or the circumstances decide.
    pub role: Role,
    /// Whether it changes times alone, so that it shapes no state of a drive without time. `None`: its conditions tell.
    pub(crate) is_time: Option<bool>,
    /// A value other than the default, where the kind of its values does not show one.
    pub(crate) given_example: Option<&'static str>,
    /// When to use each of its names, where they are policies.
    pub(crate) uses: fn() -> Vec<Named>,
}

/// A value within the limits of its parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes, nanoseconds, bytes per second or a count.
    Whole(u64),
    /// A share (as a fraction) or a number.
    Real(f64),
    /// A choice or a text.
    Name(String),
    /// The value of a switch.
    On(bool),
}

impl Parameter {
    /// A key with a default.
    pub const fn new(key: &'static str, kind: ParameterKind, default: &'static str, doc: &'static str) -> Self {
        Self { default: Some(default), ..Self::optional(key, kind, doc) }
    }

    /// A key that may be absent.
    pub const fn optional(key: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        let (read_when, role) = (Conditions::NONE, Role::Design);
        Self { key, kind, default: None, doc, read_when, role, is_time: None, given_example: None, uses: Vec::new }
    }

    /// The same key, as one of the circumstances.
    #[must_use]
    pub const fn circumstance(self) -> Self {
        Self { role: Role::Circumstance, ..self }
    }

    /// The same key, with a value that shows what to write: for keys without a default, and for texts.
    #[must_use]
    pub const fn example(self, value: &'static str) -> Self {
        Self { given_example: Some(value), ..self }
    }

    /// The same key, whose names are policies, with advice when to use each.
    #[must_use]
    pub const fn uses(self, uses: fn() -> Vec<Named>) -> Self {
        Self { uses, ..self }
    }

    /// When to use the policy called `name` and at which cost, in a sentence or two. `None`: the policy came from
    /// outside, or the names of the key are not policies.
    pub fn use_of(&self, name: &str) -> Option<&'static str> {
        (self.uses)().into_iter().find(|(known, _)| *known == name).map(|(_, when)| when)
    }

    /// A value that shows what to write: the one that was declared, or another choice than the default, or the default
    /// itself. `None`: the default is 0, and the range says what else there is.
    pub fn shown_example(&self) -> Option<&'static str> {
        let derived = match self.kind {
            ParameterKind::Choice(names) => {
                names().into_iter().map(|(name, _)| name).find(|name| Some(*name) != self.default)
            }
            ParameterKind::Switch => Some(if self.default == Some("true") { "false" } else { "true" }),
            _ => self.default.filter(|text| !matches!(self.parse(text), Ok(Value::Whole(0) | Value::Name(_)))),
        };
        self.given_example.or(derived)
    }

    /// Whether it has a value that is not its default.
    pub fn is_changed(&self, values: &Values) -> bool {
        let default = self.default.map(|text| self.parse(text));
        values.get(self.key).is_some_and(|value| default.is_none_or(|default| default.as_ref() != Ok(value)))
    }

    /// Reads a value as written in a file or after `--set`.
    ///
    /// # Errors
    /// A sentence that names value, limit and remedy.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.kind.read(text, self.default)
    }
}

/// Whole numbers as they are written, with their limits.
struct Whole {
    min: u64,
    max: u64,
    read: fn(&str) -> Result<u64, QuantityError>,
    show: fn(u64) -> String,
    /// What a value looks like, where the default is none.
    example: Option<&'static str>,
}

impl Whole {
    /// The limits, in words.
    fn range(&self) -> String {
        match (self.min, self.max) {
            (min, u64::MAX) => format!("{} or more", (self.show)(min)),
            (min, max) => format!("{} to {}", (self.show)(min), (self.show)(max)),
        }
    }

    fn parse(&self, text: &str, default: Option<&str>) -> Result<Value, String> {
        let value = (self.read)(text).map_err(|mut error| {
            let accepted = |text: &str| (self.read)(text).ok().filter(|value| (self.min..=self.max).contains(value));
            let least = (self.show)(self.min);
            // Nothing is no example.
            let usual = default
                .into_iter()
                .chain(self.example)
                .chain([least.as_str()])
                .find(|text| accepted(text).is_some_and(|value| value > 0));
            error.narrow(|text| accepted(text).is_some(), usual);
            format!("{}; {}", error.found(), error.remedy(&self.range()))
        })?;
        if value < self.min {
            Err(format!("{text} is below the smallest value, {}; write {}", (self.show)(self.min), self.range()))
        } else if value > self.max {
            Err(format!("{text} is above the largest value, {}; write {}", (self.show)(self.max), self.range()))
        } else {
            Ok(Value::Whole(value))
        }
    }
}

impl ParameterKind {
    /// What a rate without a limit is called.
    const UNLIMITED: &'static str = "unlimited";
    /// What a count is called that is chosen for what is run.
    const AUTO: &'static str = "auto";

    /// Reads a value of this kind that belongs to no key.
    ///
    /// # Errors
    /// As [`Parameter::parse`].
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.read(text, None)
    }

    /// Kinds that are whole numbers.
    fn whole(&self) -> Option<Whole> {
        let whole = |min, max, read, show| Some(Whole { min, max, read, show, example: None });
        match *self {
            ParameterKind::Size { min, max } => whole(min, max, quantity::parse_size, format_size),
            ParameterKind::Duration { max } | ParameterKind::DurationOrAuto { max, .. } => {
                whole(0, max, quantity::parse_duration, format_duration)
            }
            ParameterKind::Count { min, max } => whole(min, max, quantity::parse_count, |count| count.to_string()),
            ParameterKind::CountOrAuto { max, .. } | ParameterKind::CountOrShare { max } => {
                whole(0, max, quantity::parse_count, |count| count.to_string())
            }
            ParameterKind::Rate => Some(Whole {
                min: 1,
                max: u64::MAX,
                read: quantity::parse_rate,
                show: format_rate,
                example: Some("400MB/s"),
            }),
            _ => None,
        }
    }

    fn read(&self, text: &str, default: Option<&str>) -> Result<Value, String> {
        if matches!(self, ParameterKind::Rate) && text == Self::UNLIMITED {
            return Ok(Value::Whole(0));
        }
        let may_be_auto = matches!(self, ParameterKind::CountOrAuto { .. } | ParameterKind::DurationOrAuto { .. });
        if may_be_auto && text == Self::AUTO {
            return Ok(Value::Name(text.to_owned()));
        }
        if matches!(self, ParameterKind::CountOrShare { .. }) && text.ends_with('%') {
            return ParameterKind::Share { max: 1.0 }.read(text, Some("3%"));
        }
        if let Some(whole) = self.whole() {
            let or = match self {
                ParameterKind::Rate => ", or \"unlimited\"",
                ParameterKind::CountOrShare { .. } => ", or a share such as \"3%\"",
                _ if may_be_auto => ", or \"auto\"",
                _ => "",
            };
            return whole.parse(text, default).map_err(|problem| problem + or);
        }
        match *self {
            ParameterKind::Share { max } => {
                let range = format!("0% to {}", format_share(max));
                let share = quantity::parse_share(text).map_err(|mut error| {
                    error.narrow(|text| quantity::parse_share(text).is_ok_and(|share| share <= max), default);
                    format!("{}; {}", error.found(), error.remedy(&range))
                })?;
                if share > max {
                    return Err(format!("{text} is above the largest value, {}; write {range}", format_share(max)));
                }
                Ok(Value::Real(share))
            }
            ParameterKind::Number { min, max } => match text.parse::<f64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(Value::Real(value)),
                Ok(value) if value < min => {
                    Err(format!("{text} is below the smallest value, {min}; write a number from {min} to {max}"))
                }
                Ok(value) if value > max => {
                    Err(format!("{text} is above the largest value, {max}; write a number from {min} to {max}"))
                }
                _ => Err(format!(
                    "`{text}` is not a number; write one from {min} to {max} without a unit, such as {}",
                    default.unwrap_or("1")
                )),
            },
            ParameterKind::Switch => match text {
                "true" => Ok(Value::On(true)),
                "false" => Ok(Value::On(false)),
                _ => Err(format!("`{text}` is neither true nor false; write {}", switch_meant(text))),
            },
            ParameterKind::Text => Ok(Value::Name(text.to_owned())),
            _ => {
                let names: Vec<&str> = self.choices().into_iter().map(|(name, _)| name).collect();
                if names.contains(&text) {
                    return Ok(Value::Name(text.to_owned()));
                }
                Err(format!("`{text}` is none of: {}{}", names.join(", "), did_you_mean(text, names.iter().copied())))
            }
        }
    }

    /// The names it accepts, with their meanings; for a rate and a count the one beside its numbers.
    pub fn choices(&self) -> Vec<Named> {
        match self {
            ParameterKind::Choice(names) => names(),
            ParameterKind::Rate => vec![(Self::UNLIMITED, "no limit")],
            ParameterKind::CountOrAuto { auto, .. } | ParameterKind::DurationOrAuto { auto, .. } => {
                vec![(Self::AUTO, auto)]
            }
            _ => Vec::new(),
        }
    }

    /// A value as it may be written, for messages: large ones are rounded.
    pub fn show(&self, value: &Value) -> String {
        match (value, self.whole()) {
            (Value::Whole(0), _) if matches!(self, ParameterKind::Rate) => Self::UNLIMITED.to_owned(),
            (Value::Whole(number), Some(whole)) => (whole.show)(*number),
            (Value::Whole(number), None) => number.to_string(),
            (Value::Real(share), _)
                if matches!(self, ParameterKind::Share { .. } | ParameterKind::CountOrShare { .. }) =>
            {
                format_share(*share)
            }
            (Value::Real(number), _) => number.to_string(),
            (Value::Name(name), _) => name.clone(),
            (Value::On(on), _) => on.to_string(),
        }
    }

    /// Name of the value.
    pub fn name(&self) -> &'static str {
        match self {
            ParameterKind::Size { .. } => "size",
            ParameterKind::Duration { .. } | ParameterKind::DurationOrAuto { .. } => "duration",
            ParameterKind::Rate => "rate",
            ParameterKind::Share { .. } => "share",
            ParameterKind::Count { .. } | ParameterKind::CountOrAuto { .. } | ParameterKind::CountOrShare { .. } => {
                "count"
            }
            ParameterKind::Number { .. } => "number",
            ParameterKind::Choice(_) => "choice",
            ParameterKind::Switch => "switch",
            ParameterKind::Text => "text",
        }
    }

    /// The unit of [`ParameterKind::limits`]; `None`: it has none.
    pub fn unit(&self) -> Option<&'static str> {
        match self {
            ParameterKind::Size { .. } => Some("B"),
            ParameterKind::Duration { .. } | ParameterKind::DurationOrAuto { .. } => Some("ns"),
            ParameterKind::Rate => Some("B/s"),
            ParameterKind::Share { .. } => Some("%"),
            _ => None,
        }
    }

    /// The smallest and the largest number accepted, in [`ParameterKind::unit`]s; `None`: there is no such limit.
    pub fn limits(&self) -> [Option<Value>; 2] {
        match *self {
            ParameterKind::Share { max } => [0.0, max * 100.0].map(|limit| Some(Value::Real(limit))),
            ParameterKind::Number { min, max } => [min, max].map(|limit| Some(Value::Real(limit))),
            _ => match self.whole() {
                Some(Whole { min, max, .. }) => {
                    [Some(Value::Whole(min)), (max < u64::MAX).then_some(Value::Whole(max))]
                }
                None => [None, None],
            },
        }
    }

    /// The form to write, for help texts.
    pub fn describe(&self) -> String {
        match *self {
            ParameterKind::Rate => "rate, or \"unlimited\"".to_owned(),
            ParameterKind::CountOrAuto { .. } | ParameterKind::DurationOrAuto { .. } => {
                let range = self.whole().map_or_else(String::new, |whole| whole.range());
                format!("{}, {range}, or \"{}\"", self.name(), Self::AUTO)
            }
            ParameterKind::CountOrShare { .. } => {
                let range = self.whole().map_or_else(String::new, |whole| whole.range());
                format!("{}, {range}, or a share, 0% to 100%", self.name())
            }
            ParameterKind::Share { max } => format!("share, 0% to {}", format_share(max)),
            ParameterKind::Number { min, max } => format!("number, {min} to {max}"),
            ParameterKind::Choice(names) => {
                let names: Vec<&str> = names().into_iter().map(|(name, _)| name).collect();
                format!("one of {}", names.join(" | "))
            }
            ParameterKind::Switch => "true or false".to_owned(),
            ParameterKind::Text => "text".to_owned(),
            ParameterKind::Size { .. } | ParameterKind::Duration { .. } | ParameterKind::Count { .. } => {
                format!("{}, {}", self.name(), self.whole().map_or_else(String::new, |whole| whole.range()))
            }
        }
    }
}

/// What is meant by a word for on or off.
fn switch_meant(text: &str) -> &'static str {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" | "y" | "t" => "true",
        "false" | "no" | "off" | "0" | "n" | "f" => "false",
        _ => "one of them",
    }
}

/// Checked values of all keys of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// Sets a key, whether or not it had a value.
    pub fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    /// The value of a key, if it has one.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A whole number: bytes, nanoseconds, bytes per second or a count.
    ///
    /// # Panics
    /// If the key was not declared as such with a default.
    pub fn whole(&self, key: &str) -> u64 {
        match self.0.get(key) {
            Some(Value::Whole(value)) => *value,
            other => panic!("key `{key}` was read as a whole number but holds {other:?}"),
        }
    }

    /// A share (as a fraction) or number.
    ///
    /// # Panics
    /// As [`Values::whole`].
    pub fn real(&self, key: &str) -> f64 {
        match self.0.get(key) {
            Some(Value::Real(value)) => *value,
            other => panic!("key `{key}` was read as a number but holds {other:?}"),
        }
    }

    /// A choice or text.
    ///
    /// # Panics
    /// As [`Values::whole`].
    pub fn name(&self, key: &str) -> &str {
        match self.0.get(key) {
            Some(Value::Name(value)) => value,
            other => panic!("key `{key}` was read as a name but holds {other:?}"),
        }
    }

    /// The value of a switch.
    ///
    /// # Panics
    /// As [`Values::whole`].
    pub fn on(&self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::On(value)) => *value,
            other => panic!("key `{key}` was read as a switch but holds {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Parameter = Parameter::new("size", ParameterKind::Size { min: 4096, max: 1 << 43 }, "8GiB", "");
    const COUNT: Parameter = Parameter::new("count", ParameterKind::Count { min: 0, max: 22 }, "0", "");
    const SPAN: Parameter = Parameter::new("time", ParameterKind::Duration { max: 3_600_000_000_000 }, "0ns", "");
    const RATE: Parameter = Parameter::new("rate", ParameterKind::Rate, "unlimited", "");
    const SHARE: Parameter = Parameter::new("share", ParameterKind::Share { max: 0.5 }, "10%", "");
    const NUMBER: Parameter = Parameter::optional("number", ParameterKind::Number { min: 0.0, max: 10.0 }, "");
    const SWITCH: Parameter = Parameter::new("switch", ParameterKind::Switch, "false", "");
    const VICTIMS: [Named; 3] = [("greedy", "the emptiest"), ("fifo", "the oldest"), ("random", "any log block")];
    const CHOICE: Parameter = Parameter::new("choice", ParameterKind::Choice(|| VICTIMS.to_vec()), "greedy", "");

    /// A number of blocks cannot follow a drive that is made smaller.
    #[test]
    fn a_count_may_be_a_share_of_what_it_counts() {
        let blocks = Parameter::new("blocks", ParameterKind::CountOrShare { max: 22 }, "0", "");
        for (text, value) in [("8", Value::Whole(8)), ("3%", Value::Real(0.03)), ("0%", Value::Real(0.0))] {
            assert_eq!(blocks.parse(text), Ok(value.clone()), "{text}");
            assert_eq!(blocks.kind.show(&value), text);
        }
        assert_eq!(blocks.kind.describe(), "count, 0 to 22, or a share, 0% to 100%");
        for (text, wanted) in [("23", "or a share such as \"3%\""), ("101%", "above the largest value, 100%")] {
            let problem = blocks.parse(text).unwrap_err();
            assert!(problem.contains(wanted), "{text}: {problem}");
        }
    }

    #[test]
    fn an_error_says_what_was_written_the_limits_and_what_to_write() {
        for (parameter, text, parts) in [
            (SIZE, "8", &["`8`", "has no unit", "write \"8GiB\" (4KiB to 8TiB; units: B, KiB"][..]),
            (SIZE, "1G", &["neither binary nor decimal", "\"1GiB\" or \"1GB\"", "4KiB to 8TiB"]),
            (SIZE, "much", &["write \"8GiB\""]),
            (SIZE, "-8GiB", &["negative", "write \"8GiB\""]),
            (SIZE, "1B", &["1B is below the smallest value, 4KiB; write 4KiB to 8TiB"]),
            (SIZE, "9TiB", &["9TiB is above the largest value, 8TiB; write 4KiB to 8TiB"]),
            (COUNT, "many", &["not a whole number", "such as \"1\" (0 to 22)"]),
            (COUNT, "23", &["23 is above the largest value, 22; write 0 to 22"]),
            (COUNT, "1e1", &["write \"10\" (0 to 22)"]),
            (COUNT, "1e3", &["digits alone, such as"]),
            (SPAN, "25", &["\"25ns\", \"25us\", \"25ms\" or \"25s\" (0ns to 1h; units: ns"]),
            (SPAN, "2h", &["2h is above the largest value, 1h"]),
            (RATE, "fast", &["\"400MB/s\"", "units: B/s", ", or \"unlimited\""]),
            (RATE, "0MB/s", &["below the smallest value, 1B/s", "or \"unlimited\""]),
            (SHARE, "7", &["no per cent sign", "write \"7%\" (0% to 50%)"]),
            (SHARE, "60", &["write \"10%\" (0% to 50%)"]),
            (SHARE, "60%", &["60% is above the largest value, 50%; write 0% to 50%"]),
            (NUMBER, "x", &["`x` is not a number", "0 to 10"]),
            (NUMBER, "11", &["above the largest value, 10"]),
            (NUMBER, "NaN", &["not a number"]),
            (SWITCH, "yes", &["neither true nor false; write true"]),
            (CHOICE, "gready", &["none of: greedy, fifo, random; did you mean `greedy`"]),
            (CHOICE, "qlc", &["none of: greedy, fifo, random"]),
        ] {
            let message = parameter.parse(text).expect_err(text);
            for part in parts {
                assert!(message.contains(part), "`{part}` is missing in: {message}");
            }
        }
    }

    #[test]
    fn what_is_accepted_is_read() {
        for (parameter, text, value) in [
            (SIZE, "1GB", Value::Whole(1_000_000_000)),
            (COUNT, "2_2", Value::Whole(22)),
            (SPAN, "25\u{b5}s", Value::Whole(25_000)),
            (RATE, "unlimited", Value::Whole(0)),
            (SHARE, "12.5%", Value::Real(0.125)),
            (SWITCH, "true", Value::On(true)),
            (CHOICE, "fifo", Value::Name("fifo".to_owned())),
        ] {
            assert_eq!(parameter.parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_is_shown_as_it_is_written() {
        for (parameter, text) in [
            (SIZE, "8GiB"),
            (COUNT, "22"),
            (SPAN, "25us"),
            (RATE, "unlimited"),
            (SHARE, "12.5%"),
            (SWITCH, "true"),
            (CHOICE, "fifo"),
        ] {
            assert_eq!(parameter.parse(text).map(|value| parameter.kind.show(&value)), Ok(text.to_owned()));
        }
    }

    #[test]
    fn limits_are_in_the_unit_named() {
        assert_eq!(SIZE.kind.limits(), [Some(Value::Whole(4096)), Some(Value::Whole(1 << 43))]);
        assert_eq!(SHARE.kind.limits(), [Some(Value::Real(0.0)), Some(Value::Real(50.0))]);
        assert_eq!(RATE.kind.limits(), [Some(Value::Whole(1)), None]);
        assert_eq!(CHOICE.kind.limits(), [None, None]);
        assert_eq!(SIZE.kind.describe(), "size, 4KiB to 8TiB");
        assert_eq!(ParameterKind::Count { min: 1, max: u64::MAX }.describe(), "count, 1 or more");
    }
}
