//! The keys of a table of TOML, taken one by one. A mistake in a key is told at its line, with the text found, the
//! known keys, and the text to write.

use layer::spelling::did_you_mean;
use serde::Deserialize as _;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// A mistake in words, and the byte of the text where it stands.
pub(crate) type Mistake = (usize, String);

/// A table whose keys are being taken.
pub(crate) struct Keys<'i> {
    table: DeTable<'i>,
    /// Where it begins in the text.
    pub begins: usize,
    /// Where the keys stood that were taken.
    taken: BTreeMap<&'static str, usize>,
}

impl<'i> Keys<'i> {
    /// The keys of a whole text.
    /// Errors: it is no TOML.
    pub fn of_text(text: &'i str) -> Result<Self, Mistake> {
        DeTable::parse(text).map(Self::of_table).map_err(|error| of_library(&error))
    }

    fn of_table(table: Spanned<DeTable<'i>>) -> Self {
        Self { begins: table.span().start, table: table.into_inner(), taken: BTreeMap::new() }
    }

    /// A mistake in the value of a key that was taken.
    pub fn wrong(&self, key: &str, problem: impl Into<String>) -> Mistake {
        (self.taken.get(key).copied().unwrap_or(self.begins), problem.into())
    }

    /// Refuses keys that are not among `known`; `whose` is the owner of the keys, for messages.
    pub fn only(&self, known: &[&str], whose: &str) -> Result<(), Mistake> {
        let unknown = self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        unknown.map_or(Ok(()), |key| {
            let (name, all) = (key.get_ref(), known.join(", "));
            let hint = did_you_mean(name, known.iter().copied());
            Err((key.span().start, format!("{name} is not a key of {whose}{hint}; there are {all}")))
        })
    }

    fn take(&mut self, key: &'static str) -> Option<Spanned<DeValue<'i>>> {
        let (name, value) = self.table.remove_entry(key)?;
        self.taken.insert(key, name.span().start);
        Some(value)
    }

    /// The value of a key, of any kind.
    pub fn value(&mut self, key: &'static str) -> Result<Option<toml::Value>, Mistake> {
        let value = self.take(key).map(|value| toml::Value::deserialize(toml::de::ValueDeserializer::from(value)));
        value.transpose().map_err(|error| self.wrong(key, one_line(&error)))
    }

    /// A value of a kind, which `read` takes out of it.
    fn of_kind<T>(
        &mut self,
        key: &'static str,
        (kind, example): (&str, &str),
        read: impl Fn(&toml::Value) -> Option<T>,
    ) -> Result<Option<T>, Mistake> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        let read = read(&value).ok_or_else(|| format!("{key} is {value}; write {kind}, such as {key} = {example}"));
        read.map(Some).map_err(|problem| self.wrong(key, problem))
    }

    /// A text.
    pub fn text(&mut self, key: &'static str, example: &str) -> Result<Option<String>, Mistake> {
        self.of_kind(key, ("a text in quotation marks", example), |value| value.as_str().map(str::to_owned))
    }

    /// Several texts; none where the key is not there.
    pub fn texts(&mut self, key: &'static str, example: &str) -> Result<Vec<String>, Mistake> {
        let read = |value: &toml::Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
        };
        self.of_kind(key, ("texts in square brackets", example), read).map(Option::unwrap_or_default)
    }

    /// A number.
    pub fn number(&mut self, key: &'static str, example: &str) -> Result<Option<f64>, Mistake> {
        let read = |value: &toml::Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        self.of_kind(key, ("a number", example), read)
    }

    /// A whole number.
    pub fn whole(&mut self, key: &'static str, example: &str) -> Result<Option<u32>, Mistake> {
        let read = |value: &toml::Value| value.as_integer().and_then(|whole| u32::try_from(whole).ok());
        self.of_kind(key, ("a whole number from 0", example), read)
    }

    /// The value that one of some names stands for.
    pub fn name<T: Copy>(&mut self, key: &'static str, names: &[(&str, T)]) -> Result<Option<T>, Mistake> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        let known = || names.iter().map(|(name, _)| *name);
        let found = value.as_str().unwrap_or_default();
        if let Some((_, meant)) = names.iter().find(|(name, _)| *name == found) {
            return Ok(Some(*meant));
        }
        let all: Vec<String> = known().map(|name| format!("\"{name}\"")).collect();
        Err(self
            .wrong(key, format!("{key} is {value}{}; write one of {}", did_you_mean(found, known()), all.join(", "))))
    }

    /// The value of a key that has to be there.
    pub fn needed<T>(&self, value: Option<T>, key: &str, example: &str) -> Result<T, Mistake> {
        value.ok_or_else(|| self.wrong(key, format!("{key} is missing; write it, such as {key} = {example}")))
    }

    /// The tables of a key; none where it is not there. `example` is how one is begun.
    pub fn tables(&mut self, key: &'static str, example: &str) -> Result<Vec<Self>, Mistake> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let wrong = || format!("{key} is not a list of tables; begin each with {example}");
        let DeValue::Array(tables) = value.into_inner() else { return Err(self.wrong(key, wrong())) };
        let tables = tables.into_iter().map(|table| of_value(table).ok_or_else(|| self.wrong(key, wrong())));
        tables.collect()
    }

    /// The tables of a key by their names.
    pub fn named(&mut self, key: &'static str, example: &str) -> Result<Vec<(String, Self)>, Mistake> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let wrong = || self.wrong(key, format!("{key} holds tables; begin each with {example}"));
        let tables = of_value(value).ok_or_else(wrong)?.table.into_iter();
        tables.map(|(name, table)| Ok((name.into_inner().into_owned(), of_value(table).ok_or_else(wrong)?))).collect()
    }
}

fn of_value(value: Spanned<DeValue<'_>>) -> Option<Keys<'_>> {
    let begins = value.span().start;
    let DeValue::Table(table) = value.into_inner() else { return None };
    Some(Keys { table, begins, taken: BTreeMap::new() })
}

fn of_library(error: &Error) -> Mistake {
    (error.span().map_or(0, |span| span.start), one_line(error))
}

/// What a library says of a mistake, on one line.
fn one_line(error: &Error) -> String {
    error.message().trim().replace('\n', " ")
}
