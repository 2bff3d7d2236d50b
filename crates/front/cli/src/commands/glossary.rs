//! The glossary, embedded: rows of its tables become explanations.

use super::list::Item;

const TEXT: &str = include_str!("../../GLOSSARY.md");

/// Cells of each table row: term, unit, meaning.
fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    TEXT.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::trim);
        let row = [cells.next()?, cells.next()?, cells.next()?];
        (row[0] != "Term").then_some(row)
    })
}

/// A term without the mark-up, and the words it may be asked for by: `WAF (write amplification
/// factor)` answers to both.
fn names(term: &'static str) -> impl Iterator<Item = &'static str> {
    term.split(['(', ')', ',']).map(|name| name.trim().trim_matches('`')).filter(|name| !name.is_empty())
}

/// All rows: the term, and its meaning.
pub fn items() -> impl Iterator<Item = Item> {
    rows().map(|[term, _, meaning]| Item::new(term.replace('`', ""), meaning.replace('`', "")))
}

pub fn terms() -> impl Iterator<Item = &'static str> {
    rows().filter_map(|[term, ..]| names(term).next())
}

/// The glossary's text about a term.
pub fn explain(name: &str) -> Option<String> {
    // A counter answers without the name of its layer too.
    // The buffer that gathers stripes counts what any other does.
    let of_buffer = name.strip_prefix("gather.").map(|counter| format!("buffer.{counter}"));
    let name = of_buffer.as_deref().unwrap_or(name);
    let is = |term: &str| term.eq_ignore_ascii_case(name) || term.rsplit('.').next().is_some_and(|last| last == name);
    let wanted = |row: &[&'static str; 3]| names(row[0]).any(is);
    let found: Vec<String> = rows().filter(wanted).map(|[term, unit, meaning]| text(term, unit, meaning)).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

fn text(term: &str, unit: &str, meaning: &str) -> String {
    let unit = if unit == "–" { String::new() } else { format!("\n  unit: {unit}") };
    format!("{}\n  {}{unit}\n", term.replace('`', ""), meaning.replace('`', ""))
}
