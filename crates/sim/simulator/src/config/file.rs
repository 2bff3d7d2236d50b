//! Stack files: TOML tables flattened into settings.

use super::presets;
use super::{ConfigError, Setting};
use layer::spelling::did_you_mean;
use std::fs::File;
use std::io::{self, Read};
use toml::de::{DeTable, DeValue};

/// Keys of a stack file that are not settings.
const DESCRIPTION: &str = "description";
const EXTENDS: &str = "extends";
const EXTENDS_LIMIT: usize = 8;
/// Longest stack file. The longest built-in one has some kilobytes.
const LONGEST: u64 = 1 << 20;

/// Name and settings of a built-in stack or a stack file, those it extends first.
pub(super) fn stack_settings(name_or_path: &str, depth: usize) -> Result<(String, Vec<Setting>), ConfigError> {
    if depth > EXTENDS_LIMIT {
        return Err(ConfigError::Extends { path: name_or_path.to_owned() });
    }
    if let Some(preset) = presets::all().into_iter().find(|preset| preset.name == name_or_path) {
        let place = format!("built-in stack `{}`", preset.name);
        return Ok((preset.name.to_owned(), read(preset.text, &place, depth)?));
    }
    let text = text_of(name_or_path, depth > 0).map_err(|error| ConfigError::NoStack {
        name: name_or_path.to_owned(),
        io: error.to_string(),
        hint: did_you_mean(name_or_path, presets::all().iter().map(|preset| preset.name)),
    })?;
    let name = std::path::Path::new(name_or_path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok((name.unwrap_or_else(|| name_or_path.to_owned()), read(&text, name_or_path, depth)?))
}

/// The text of a stack file. What the user names may be a pipe; what another file names (`is_extended`) is a regular
/// file.
fn text_of(path: &str, is_extended: bool) -> io::Result<String> {
    // Looked at before it is opened: to open a pipe that nobody writes waits for ever.
    if is_extended && !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file, and `extends` takes no other"));
    }
    let mut text = String::new();
    let length = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 1 MiB, the longest stack file"));
    }
    Ok(text)
}

/// Settings of a TOML text; `path` is for messages.
pub(super) fn read(text: &str, path: &str, depth: usize) -> Result<Vec<Setting>, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })?;
    let mut reader = Reader { text, path, settings: Vec::new(), extends: None };
    reader.flatten("", table.get_ref())?;
    let mut settings = match &reader.extends {
        Some(base) => stack_settings(base, depth + 1)?.1,
        None => Vec::new(),
    };
    settings.append(&mut reader.settings);
    Ok(settings)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).split('\n').count()
}

struct Reader<'a> {
    text: &'a str,
    path: &'a str,
    settings: Vec<Setting>,
    extends: Option<String>,
}

impl Reader<'_> {
    fn flatten(&mut self, prefix: &str, table: &DeTable<'_>) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let place = format!("{}, line {}", self.path, line_at(self.text, name.span().start));
            let wrong = |found| ConfigError::Type { key: key.clone(), place: place.clone(), found };
            let value = match value.get_ref() {
                DeValue::Table(inner) => {
                    self.flatten(&key, inner)?;
                    continue;
                }
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                DeValue::Boolean(on) => on.to_string(),
                DeValue::Datetime(_) => return Err(wrong("a date")),
                DeValue::Array(_) => return Err(wrong("a list")),
            };
            match key.as_str() {
                DESCRIPTION => {}
                EXTENDS => self.extends = Some(value),
                _ => self.settings.push(Setting { key, value, place, of_stack: true }),
            }
        }
        Ok(())
    }
}

/// The description line of a stack or part file.
pub(super) fn description(text: &str) -> String {
    let table: toml::Table = text.parse().unwrap_or_default();
    table.get(DESCRIPTION).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}
