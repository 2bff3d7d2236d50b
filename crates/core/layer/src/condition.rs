//! When a key is read: conditions, declared with the key.

use crate::spelling::joined;
use crate::{Parameter, Value, Values};

/// Something that must be so for a key to be read.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The key that is asked.
    pub key: &'static str,
    /// The values that the key must have.
    pub test: Test,
    /// The state otherwise, in words; `None`: the value says it.
    pub otherwise: Option<&'static str>,
    /// The value that the conditional key counts as otherwise: setting this value is not an error.
    pub counts_as: Option<&'static str>,
}

/// A test of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// One of the names that the function accepts for the key with this condition.
    OneOf(fn(own: &str, name: &str) -> bool),
    /// A number above zero.
    AboveZero,
    /// A number above zero; or the other key holds one.
    AboveZeroOr(&'static str),
    /// A switch that is off.
    Off,
    /// Any; or the other key has one.
    SetOr(&'static str),
}

impl Condition {
    const fn new(key: &'static str, test: Test) -> Self {
        Self { key, test, otherwise: None, counts_as: None }
    }

    /// The choice `key` is one of the names that the function accepts for the key with this condition.
    pub const fn one_of(key: &'static str, is_meant: fn(own: &str, name: &str) -> bool) -> Self {
        Self::new(key, Test::OneOf(is_meant))
    }

    /// The number `key` is above zero.
    pub const fn above_zero(key: &'static str) -> Self {
        Self::new(key, Test::AboveZero)
    }

    /// One of two numbers is above zero.
    pub const fn either_above_zero(key: &'static str, other: &'static str) -> Self {
        Self::new(key, Test::AboveZeroOr(other))
    }

    /// The switch `key` is off.
    pub const fn off(key: &'static str) -> Self {
        Self::new(key, Test::Off)
    }

    /// One of two keys without a default has a value.
    pub const fn either_set(key: &'static str, other: &'static str) -> Self {
        Self::new(key, Test::SetOr(other))
    }

    /// The same condition, with the state where it does not hold.
    #[must_use]
    pub const fn otherwise(self, why: &'static str) -> Self {
        Self { otherwise: Some(why), ..self }
    }

    /// The same, with the name that the key with this condition counts as where it does not hold.
    #[must_use]
    pub const fn counts_as(self, name: &'static str) -> Self {
        Self { counts_as: Some(name), ..self }
    }

    /// Whether it holds for the key `own`.
    pub fn holds(&self, own: &str, values: &Values) -> bool {
        let is_above_zero = |value: Option<&Value>| match value {
            Some(Value::Whole(number)) => *number > 0,
            Some(Value::Real(number)) => *number > 0.0,
            _ => false,
        };
        match (self.test, values.get(self.key)) {
            (Test::OneOf(is_meant), Some(Value::Name(name))) => is_meant(own, name),
            (Test::AboveZero, value) => is_above_zero(value),
            (Test::AboveZeroOr(other), value) => is_above_zero(value) || is_above_zero(values.get(other)),
            (Test::SetOr(other), value) => value.is_some() || values.get(other).is_some(),
            (Test::Off, value) => !matches!(value, Some(Value::On(true))),
            (Test::OneOf(_), _) => false,
        }
    }

    /// Names that [`Condition::one_of`] accepts for the key `own`, and the other names. `known` has all keys.
    pub fn names(&self, own: &str, known: &[Parameter]) -> [Vec<&'static str>; 2] {
        let Test::OneOf(is_meant) = self.test else { return [Vec::new(), Vec::new()] };
        let asked = known.iter().find(|known| known.key == self.key);
        let all = asked.map_or_else(Vec::new, |asked| asked.kind.choices());
        let (meant, others) = all.into_iter().map(|(name, _)| name).partition(|name| is_meant(own, name));
        [meant, others]
    }

    /// What must be so for the key `own`, in words; nothing: any value will do. `known` has all keys.
    fn text(&self, own: &str, known: &[Parameter]) -> Option<String> {
        let key = self.key;
        let [names, others] = match self.test {
            Test::OneOf(_) => self.names(own, known),
            Test::AboveZero => return Some(format!("{key} is above 0")),
            Test::AboveZeroOr(other) => return Some(format!("{key} or {other} is above 0")),
            Test::Off => return Some(format!("{key} is false")),
            Test::SetOr(other) => return Some(format!("{key} or {other} is set")),
        };
        // The shorter way to say it.
        match others.len() {
            0 => None,
            others if names.len() <= others => Some(format!("{key} is {}", joined(&names, "or"))),
            _ => Some(format!("{key} is not {}", joined(&others, "or"))),
        }
    }

    /// Why it does not hold.
    fn lacking(&self, values: &Values, known: &[Parameter]) -> String {
        let kind = known.iter().find(|known| known.key == self.key).map(|known| known.kind);
        let value = values.get(self.key).zip(kind).map(|(value, kind)| kind.show(value));
        match (self.otherwise, value) {
            (Some(why), Some(value)) => format!("{why} ({} = {value})", self.key),
            (Some(why), None) => format!("{why} ({})", self.key),
            (None, Some(value)) => format!("{} is {value}", self.key),
            (None, None) => format!("{} is unset", self.key),
        }
    }
}

/// Conditions of a key. All must hold; they are looked at in order.
#[derive(Clone, Copy, Debug)]
pub struct Conditions([Option<Condition>; Self::MOST]);

impl Conditions {
    /// Most conditions of a key.
    const MOST: usize = 5;

    /// The key is always read.
    pub(crate) const NONE: Self = Self([None; Self::MOST]);

    /// The same with one more, looked at last.
    ///
    /// # Panics
    /// If there are too many; at compile time, where the key is a constant.
    pub(crate) const fn and(mut self, condition: Condition) -> Self {
        let mut place = 0;
        while self.0[place].is_some() {
            place += 1;
        }
        self.0[place] = Some(condition);
        self
    }

    /// The same under one more, looked at first.
    pub(crate) fn under(self, condition: Condition) -> Self {
        self.iter().fold(Self::NONE.and(condition), |all, own| all.and(*own))
    }

    /// The conditions that all have to hold.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter().flatten()
    }
}

impl Parameter {
    /// The same, read only where `condition` holds as well.
    #[must_use]
    pub const fn only(self, condition: Condition) -> Self {
        Self { read_when: self.read_when.and(condition), ..self }
    }

    /// The same, read only where `condition` holds, which comes before its own. A key that belongs to an entry of a
    /// table is read where the entry is chosen.
    #[must_use]
    pub fn under(self, condition: Condition) -> Self {
        Self { read_when: self.read_when.under(condition), ..self }
    }

    /// The same key, as one that changes times alone.
    #[must_use]
    pub const fn time(self) -> Self {
        Self { is_time: Some(true), ..self }
    }

    /// The same key, as one whose value is part of a drive's state though only drives in time read it.
    #[must_use]
    pub const fn of_state(self) -> Self {
        Self { is_time: Some(false), ..self }
    }

    /// Whether the state of a drive without time does not depend on it: it is a time, or is read under a condition
    /// that asks for one. `known` has all keys.
    pub fn is_of_time(&self, known: &[Parameter]) -> bool {
        let asks_time = |asked: &str| known.iter().any(|other| other.key == asked && other.is_of_time(known));
        self.is_time.unwrap_or_else(|| self.read_when.iter().any(|condition| asks_time(condition.key)))
    }

    /// When it is read, in words; nothing: always. `known` has all keys.
    pub fn read_when_text(&self, known: &[Parameter]) -> Option<String> {
        let texts = self.read_when.iter().filter_map(|condition| condition.text(self.key, known));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join(", and "))
    }

    /// The condition for which `values` leave it unread; nothing: it is read, or its value is the one that it counts as
    /// then.
    fn unmet(&self, values: &Values) -> Option<&Condition> {
        let lacking = self.read_when.iter().find(|condition| !condition.holds(self.key, values))?;
        let is_that =
            lacking.counts_as.is_some_and(|name| matches!(values.get(self.key), Some(Value::Name(own)) if own == name));
        (!is_that).then_some(lacking)
    }

    /// Whether `values` leave it unread, and its value is not the one that it counts as then.
    pub fn is_unread(&self, values: &Values) -> bool {
        self.unmet(values).is_some()
    }

    /// Why `values` leave it unread, where they do ([`Parameter::is_unread`]). `known` has all keys.
    pub fn unread(&self, values: &Values, known: &[Parameter]) -> Option<String> {
        self.unmet(values).map(|lacking| lacking.lacking(values, known))
    }
}

/// Keys that entries of a table declare, once each; `chosen` holds where an entry that declares the key is.
pub fn of_table(declared: impl Iterator<Item = Parameter>, chosen: Condition) -> Vec<Parameter> {
    let mut keys: Vec<Parameter> = Vec::new();
    for parameter in declared {
        if !keys.iter().any(|known| known.key == parameter.key) {
            keys.push(parameter.under(chosen));
        }
    }
    keys
}

/// The keys that each entry of a table declares, by the entry's name.
///
/// Keep it in a static: a run asks for the entries of every key, and to declare the keys of a table anew takes longer
/// than a short run.
#[derive(Debug)]
pub struct Declared(Vec<(&'static str, Vec<&'static str>)>);

impl Declared {
    /// Of entries with their names and parameters.
    pub fn new(entries: impl Iterator<Item = (&'static str, Vec<Parameter>)>) -> Self {
        let keys = |parameters: Vec<Parameter>| parameters.iter().map(|parameter| parameter.key).collect();
        Self(entries.map(|(name, parameters)| (name, keys(parameters))).collect())
    }

    /// Whether the entry called `name` declares the key called `own`, for [`Condition::one_of`].
    pub fn declares(&self, own: &str, name: &str) -> bool {
        self.0.iter().any(|(known, keys)| *known == name && keys.contains(&own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choices, ParameterKind as Kind};

    const LAMP: Choices<u8> =
        Choices { key: "lamp", table: &[("off", "dark", 0), ("dim", "a little", 1), ("bright", "very", 2)] };
    const IS_LIT: Condition = Condition::one_of("lamp", |_, name| LAMP.means(name, |light| light > 0));
    const KEYS: [Parameter; 5] = [
        Parameter::new("lamp", Kind::Choice(|| LAMP.named()), "off", ""),
        Parameter::new("room", Kind::Size { min: 0, max: 1 << 20 }, "0B", ""),
        Parameter::optional("door", Kind::Text, ""),
        Parameter::new("shade", Kind::Choice(|| vec![("none", "no"), ("red", "red")]), "red", "")
            .only(IS_LIT.otherwise("it is dark").counts_as("none"))
            .only(Condition::above_zero("room")),
        Parameter::new("lock", Kind::Switch, "true", "").only(Condition::either_set("door", "window")),
    ];

    fn house(lamp: &str, room: u64) -> Values {
        let mut values = Values::default();
        values.set("lamp", Value::Name(lamp.to_owned()));
        values.set("room", Value::Whole(room));
        values.set("shade", Value::Name("red".to_owned()));
        values
    }

    #[test]
    fn a_key_is_unread_for_the_first_condition_that_does_not_hold() {
        let [.., shade, lock] = KEYS;
        let unread = |lamp, room| shade.unread(&house(lamp, room), &KEYS);
        assert_eq!(unread("off", 0).as_deref(), Some("it is dark (lamp = off)"));
        assert_eq!(unread("dim", 0).as_deref(), Some("room is 0B"));
        assert_eq!(unread("dim", 1), None);
        assert_eq!(lock.unread(&house("dim", 1), &KEYS).as_deref(), Some("door is unset"));
        let mut with_window = house("dim", 1);
        with_window.set("window", Value::Name("left".to_owned()));
        assert_eq!(lock.unread(&with_window, &KEYS), None);
    }

    #[test]
    fn nobody_is_told_of_the_value_that_an_unread_key_counts_as() {
        let mut values = house("off", 1);
        values.set("shade", Value::Name("none".to_owned()));
        assert_eq!(KEYS[3].unread(&values, &KEYS), None);
    }

    #[test]
    fn conditions_are_printed_the_shorter_way() {
        let text = |key: &Parameter| key.read_when_text(&KEYS);
        assert_eq!(text(&KEYS[0]), None);
        assert_eq!(text(&KEYS[3]).as_deref(), Some("lamp is not off, and room is above 0"));
        assert_eq!(text(&KEYS[4]).as_deref(), Some("door or window is set"));
        let bright = KEYS[0].only(Condition::one_of("lamp", |_, name| name == "bright"));
        assert_eq!(text(&bright).as_deref(), Some("lamp is bright"));
    }

    #[test]
    fn the_condition_of_a_table_comes_before_the_own_ones() {
        let under = KEYS[3].under(Condition::above_zero("house"));
        let keys: Vec<&str> = under.read_when.iter().map(|condition| condition.key).collect();
        assert_eq!(keys, ["house", "lamp", "room"]);
    }
}
