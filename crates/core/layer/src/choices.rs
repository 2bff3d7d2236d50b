//! Settings that take one of a few names: name, a line for the reader, and value for the program, in one table.

use crate::{Named, Values};

/// The names of a setting and their meanings, in the order in which they are listed.
///
/// A name cannot mean something by default: one that is not in the table is refused with the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Choices<T: 'static> {
    /// The configuration key that chooses one of the table.
    pub key: &'static str,
    /// Name, a line for the reader, value for the program.
    pub table: &'static [(&'static str, &'static str, T)],
}

impl<T: Copy> Choices<T> {
    /// Names with their meanings, for [`crate::ParameterKind::Choice`].
    pub fn named(&self) -> Vec<Named> {
        self.table.iter().map(|(name, doc, _)| (*name, *doc)).collect()
    }

    /// The value that a configuration means.
    ///
    /// # Panics
    /// If the key was not declared with these names.
    pub fn read(&self, values: &Values) -> T {
        let name = values.name(self.key);
        self.meaning(name).unwrap_or_else(|| {
            panic!("`{name}` is not a choice of {}: names are checked with the configuration", self.key)
        })
    }

    /// The same for a key without a default: nothing where nobody set it.
    ///
    /// # Panics
    /// As [`Choices::read`].
    pub fn read_if_set(&self, values: &Values) -> Option<T> {
        values.get(self.key).map(|_| self.read(values))
    }

    /// What a name means.
    fn meaning(&self, name: &str) -> Option<T> {
        self.table.iter().find(|(known, ..)| *known == name).map(|(.., meaning)| *meaning)
    }

    /// Whether `name` has a meaning that `is_meant` accepts, for [`crate::Condition::one_of`].
    pub fn means(&self, name: &str, is_meant: impl Fn(T) -> bool) -> bool {
        self.meaning(name).is_some_and(is_meant)
    }
}

impl<T: Copy + PartialEq> Choices<T> {
    /// The name that means this.
    ///
    /// # Panics
    /// If none does.
    pub fn name_of(&self, meaning: T) -> &'static str {
        let named = self.table.iter().find(|(.., known)| *known == meaning);
        named.unwrap_or_else(|| panic!("no choice of {} means this", self.key)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    const SIDE: Choices<i32> =
        Choices { key: "test.side", table: &[("left", "that way", -1), ("right", "this way", 1)] };

    fn with(name: &str) -> Values {
        let mut values = Values::default();
        values.set(SIDE.key, Value::Name(name.to_owned()));
        values
    }

    #[test]
    fn a_name_means_what_its_line_says() {
        assert_eq!((SIDE.read(&with("left")), SIDE.read(&with("right"))), (-1, 1));
        assert_eq!(SIDE.named()[1], ("right", "this way"));
        let meant = ["left", "right", "rihgt"].map(|name| SIDE.means(name, |side| side < 0));
        assert_eq!((meant, SIDE.name_of(1)), ([true, false, false], "right"));
        assert_eq!((SIDE.read_if_set(&with("left")), SIDE.read_if_set(&Values::default())), (Some(-1), None));
    }

    #[test]
    #[should_panic(expected = "`rihgt` is not a choice of test.side")]
    fn an_unknown_name_means_nothing() {
        SIDE.read(&with("rihgt"));
    }
}
