//! `keys.md`: every configuration key, by group.

use super::document;
use super::page::{Page, linked, place};
use layer::{Parameter, ParameterKind, Role};

/// Most characters of a text in a table.
const NARROW: usize = 60;
/// Most keys that are named as related.
const RELATED: usize = 8;

pub fn page(keys: &[Parameter]) -> Page {
    let mut page = Page::new("keys.md", "Configuration keys", "Every key of a stack file and of `--set`, by group.");
    page.paragraph(&format!(
        "A key is set on the command line with `--set KEY=VALUE`, in a [stack file]({}) under the table of its \
             group, and in a plan of a [sweep]({}) as an axis. `nandarium explain KEY` prints the same text.",
        document("stack-files.md"),
        document("sweeps.md")
    ));
    page.paragraph(
        "Sizes have a unit: `4KiB`, `1GiB`, `960GB`. So have times: `25us`, `2ms`, `1h`. Shares have a per cent sign: \
         `7%`. Rates have a unit or are `unlimited`: `400MB/s`. A key that says *used when* has no effect otherwise. \
         A *circumstance* is a key of the load, of the state of the drive or of its faults: a sweep compares designs \
         under the same circumstances only.",
    );
    let mut groups: Vec<&str> = Vec::new();
    for key in keys {
        if !groups.contains(&group(key)) {
            groups.push(group(key));
        }
    }
    for name in groups {
        let own: Vec<&Parameter> = keys.iter().filter(|key| group(key) == name).collect();
        page.heading(2, name);
        page.table(
            ["key", "default", "value"],
            own.iter()
                .map(|key| [format!("[`{0}`](#{1})", key.key, key.key.replace('.', "")), default(key), value(key)]),
        );
        for key in own {
            describe(&mut page, key, keys);
        }
    }
    // On their own page links need no name of it.
    page.text = page.text.replace("](keys.md#", "](#");
    page
}

/// Everything before the last part of a key.
fn group(key: &Parameter) -> &'static str {
    key.key.rsplit_once('.').map_or(key.key, |(group, _)| group)
}

fn default(key: &Parameter) -> String {
    key.default.map_or_else(|| "not set".to_owned(), |text| format!("`{text}`"))
}

fn value(key: &Parameter) -> String {
    let text = key.kind.describe();
    if text.chars().count() > NARROW || matches!(key.kind, ParameterKind::Choice(_)) {
        return format!("one of {} names", key.kind.choices().len());
    }
    text
}

fn describe(page: &mut Page, key: &Parameter, keys: &[Parameter]) {
    page.heading(3, key.key);
    page.paragraph(&linked(key.doc, keys, Some(key.key)));
    page.text.push('\n');
    page.bullet(&format!("Value: {}. Default: {}.", value(key), default(key)));
    let when = key.read_when_text(keys);
    if let Some(when) = &when {
        page.bullet(&format!("Used when {}.", linked(when, keys, Some(key.key))));
    }
    if key.role == Role::Circumstance {
        page.bullet("A circumstance.");
    }
    if let Some(example) = key.shown_example() {
        page.bullet(&format!("Example: `--set {}`", shell(&format!("{}={example}", key.key))));
    }
    let own = format!("{} {}", key.doc, when.unwrap_or_default());
    let names = |text: &str, name: &str| super::keys_in(text).any(|known| known == name);
    let related: Vec<String> = keys
        .iter()
        .filter(|other| other.key != key.key && names(other.doc, key.key) && !names(&own, other.key))
        .take(RELATED)
        .map(|other| format!("[`{}`]({})", other.key, place(other.key)))
        .collect();
    if !related.is_empty() {
        page.bullet(&format!("See also: {}.", related.join(", ")));
    }
    let choices = key.kind.choices();
    if !choices.is_empty() {
        page.text.push('\n');
        for (name, doc) in choices {
            page.bullet(&format!("`{name}`: {}", linked(doc, keys, Some(key.key))));
        }
    }
}

/// A word as a shell needs it.
fn shell(word: &str) -> String {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./=+:,%@".contains(letter));
    if is_plain { word.to_owned() } else { format!("'{word}'") }
}
