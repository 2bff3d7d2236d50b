//! Settings that take one of a few names: name, what it does in a line, and what it means to the program, in one table.

use crate::{Named, Values};

/// The names of a setting and their meanings, in the order in which they are listed.
///
/// A name cannot mean something by default: one that is not in the table is refused with the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Choices<T: 'static> {
    /// The key.
    pub key: &'static str,
    /// Name, what it does, meaning.
    pub table: &'static [(&'static str, &'static str, T)],
}

impl<T: Copy> Choices<T> {
    /// Names with what they do, for [`crate::ParameterKind::Choice`].
    pub fn named(&self) -> Vec<Named> {
        self.table.iter().map(|(name, doc, _)| (*name, *doc)).collect()
    }

    /// What a configuration means.
    ///
    /// # Panics
    /// If the key was not declared with these names.
    pub fn read(&self, values: &Values) -> T {
        let name = values.name(self.key);
        let chosen = self.table.iter().find(|(known, _, _)| *known == name);
        chosen
            .unwrap_or_else(|| {
                panic!("`{name}` is no choice of {}: names are checked with the configuration", self.key)
            })
            .2
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
    }

    #[test]
    #[should_panic(expected = "`rihgt` is no choice of test.side")]
    fn an_unknown_name_means_nothing() {
        SIDE.read(&with("rihgt"));
    }
}
