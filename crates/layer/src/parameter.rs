//! Parameters of layers and policies: declared once, used for the configuration, its checks, the
//! help text and the resolved values stored with a result.

use std::collections::BTreeMap;
use units::quantity;

/// What a parameter's value looks like, with its limits.
#[derive(Clone, Copy, Debug)]
pub enum ParameterKind {
    /// Bytes, written with a unit: `"4KiB"`.
    Size {
        /// Smallest accepted.
        min: u64,
        /// Largest accepted.
        max: u64,
    },
    /// Nanoseconds, written with a unit: `"25us"`.
    Duration {
        /// Largest accepted.
        max: u64,
    },
    /// Bytes per second, written with a unit: `"400MB/s"`; `"unlimited"` is 0.
    Rate,
    /// A fraction, written with a per cent sign: `"7%"`.
    Share {
        /// Largest accepted, as a fraction.
        max: f64,
    },
    /// A whole number without a unit.
    Count {
        /// Smallest accepted.
        min: u64,
        /// Largest accepted.
        max: u64,
    },
    /// A number without a unit.
    Number {
        /// Smallest accepted.
        min: f64,
        /// Largest accepted.
        max: f64,
    },
    /// One of a fixed set of names.
    Choice(fn() -> Vec<&'static str>),
    /// `true` or `false`.
    Switch,
    /// Free text.
    Text,
}

/// One configuration key.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Full key, such as `ftl.gc.victim`.
    pub key: &'static str,
    /// Kind and limits.
    pub kind: ParameterKind,
    /// Default, written as in a file; `None`: the key has no default and may be absent.
    pub default: Option<&'static str>,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
}

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes, nanoseconds, bytes per second or a count.
    Whole(u64),
    /// A share (as a fraction) or a number.
    Real(f64),
    /// A choice or a text.
    Name(String),
    /// A switch.
    On(bool),
}

impl ParameterKind {
    /// Reads a value as written in a file or after `--set`.
    ///
    /// # Errors
    /// A sentence that names value, limit and remedy.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let within = |value: u64, min: u64, max: u64, show: fn(u64) -> String| {
            if value < min {
                Err(format!("{} is below the smallest value, {}", show(value), show(min)))
            } else if value > max {
                Err(format!("{} is above the largest value, {}", show(value), show(max)))
            } else {
                Ok(Value::Whole(value))
            }
        };
        match *self {
            ParameterKind::Size { min, max } => {
                let value = quantity::parse_size(text).map_err(|e| e.to_string())?;
                within(value, min, max, quantity::format_size)
            }
            ParameterKind::Duration { max } => {
                let value = quantity::parse_duration(text).map_err(|e| e.to_string())?;
                within(value, 0, max, quantity::format_duration)
            }
            ParameterKind::Rate => match text {
                "unlimited" => Ok(Value::Whole(0)),
                _ => quantity::parse_rate(text).map(Value::Whole).map_err(|e| format!("{e}, or \"unlimited\"")),
            },
            ParameterKind::Share { max } => match quantity::parse_share(text).map_err(|e| e.to_string())? {
                share if share > max => Err(format!("{text} is above the largest value, {}%", max * 100.0)),
                share => Ok(Value::Real(share)),
            },
            ParameterKind::Count { min, max } => {
                let value = text.replace('_', "").parse().map_err(|_| {
                    format!("`{text}` is not a whole number; write a number from {min} to {max} without a unit")
                })?;
                within(value, min, max, |count| count.to_string())
            }
            ParameterKind::Number { min, max } => match text.parse::<f64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(Value::Real(value)),
                _ => Err(format!("`{text}` is not a number from {min} to {max}")),
            },
            ParameterKind::Choice(names) => {
                let names = names();
                if names.contains(&text) {
                    Ok(Value::Name(text.to_owned()))
                } else {
                    Err(format!("`{text}` is none of: {}", names.join(", ")))
                }
            }
            ParameterKind::Switch => match text {
                "true" => Ok(Value::On(true)),
                "false" => Ok(Value::On(false)),
                _ => Err(format!("`{text}` is neither true nor false")),
            },
            ParameterKind::Text => Ok(Value::Name(text.to_owned())),
        }
    }

    /// What to write, for help texts.
    pub fn describe(&self) -> String {
        use quantity::{format_duration, format_size};
        match *self {
            ParameterKind::Size { min, max } => format!("size, {} to {}", format_size(min), format_size(max)),
            ParameterKind::Duration { max } => format!("duration, up to {}", format_duration(max)),
            ParameterKind::Rate => "rate, or \"unlimited\"".to_owned(),
            ParameterKind::Share { max } => format!("share, 0% to {}%", max * 100.0),
            ParameterKind::Count { min, max } => format!("count, {min} to {max}"),
            ParameterKind::Number { min, max } => format!("number, {min} to {max}"),
            ParameterKind::Choice(names) => format!("one of {}", names().join(" | ")),
            ParameterKind::Switch => "true or false".to_owned(),
            ParameterKind::Text => "text".to_owned(),
        }
    }
}

/// Checked values of all keys of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// Sets a key.
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

    /// A switch.
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
