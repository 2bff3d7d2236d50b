//! `nandarium explain`: every entry with the name, from every table.

use super::glossary;
use super::list::{KINDS, items};
use crate::arguments::{ExplainArguments, Listing};
use crate::failure::Failure;
use crate::output;
use crate::panics::quoted;
use crate::table::{Grid, wrapped_at};
use drive::{CLAUSES, FAULTS};
use fit::{KNOWN, KnownDrive, MeasuredDrive, find_figure};
use layer::Parameter;
use simulator::config::{all_keys, did_you_mean, drives, parts, stacks};
use std::collections::BTreeSet;
use std::fmt::Write;
use trace::formats::FORMATS;
use trace::synthetic::{Aim, Calibration, find};

pub fn execute(arguments: &ExplainArguments) -> Result<(), Failure> {
    output::print(&text(arguments.name.join(" ").trim())?)
}

/// The text about a name.
/// Errors: nothing is called so.
pub fn text(name: &str) -> Result<String, Failure> {
    let found = entries(name);
    if found.is_empty() {
        // Read for one more version, with a note.
        if let Some(today) = metrics::name_of_today(name.trim_end_matches('.')) {
            return Ok(format!("{name} is called {today} today\n\n{}", text(&today)?));
        }
        let meant = did_you_mean(name, known().iter().map(String::as_str));
        let near = speaking_of(name);
        if !near.is_empty() {
            return Ok(format!("nothing is called `{name}`{meant}; these texts speak of it:\n{near}"));
        }
        return Err(Failure::usage(format!(
            "nothing is called `{name}`{meant}; `nandarium list` names what there is, `nandarium list keys` the \
             configuration keys"
        )));
    }
    Ok(found.join("\n"))
}

/// The texts about a name, of each table that has it.
fn entries(name: &str) -> Vec<String> {
    let of_tables = [keys(name), stack(name), part(name), workload(name), format(name), values(name), study(name)];
    of_tables.into_iter().chain([glossary::explain(name), faults(name), list(name)]).flatten().collect()
}

/// The list of a kind, such as studies.
fn list(name: &str) -> Option<String> {
    let (_, kind) = KINDS.iter().find(|(_, kind)| *kind == name)?;
    Some(format!("{kind}\n  `nandarium list {kind}` names all {kind}.\n"))
}

/// Most names that are told for a word.
const MOST_NAMES: usize = 12;

/// Names of which the name or the text has all `words`, and the first sentence of each: terms first, and before other
/// texts those that are called so. Empty: there are none.
fn speaking_of(words: &str) -> String {
    let wanted: Vec<String> = words_of(words).collect();
    let has_all = |text: &str| {
        let own: Vec<String> = words_of(text).collect();
        let has =
            |wanted: &String| own.iter().any(|word| word == wanted || wanted.len() > 2 && word.starts_with(wanted));
        !wanted.is_empty() && wanted.iter().all(has)
    };
    let all = glossary::items().chain(KINDS.iter().rev().flat_map(|(what, _)| items(*what)));
    let (called, others): (Vec<_>, Vec<_>) =
        all.filter(|item| has_all(&format!("{} {}", item.name, item.doc))).partition(|item| has_all(&item.name));
    let mut seen = BTreeSet::new();
    let found: Vec<_> = called.into_iter().chain(others).filter(|item| seen.insert(item.name.clone())).collect();
    let mut text = String::new();
    for item in found.iter().take(MOST_NAMES) {
        let sentence = item.doc.split_inclusive(". ").next().unwrap_or_default().trim();
        let _ = writeln!(text, "  {}\n      {}", item.name, wrapped_at(sentence, 6));
    }
    if found.len() > MOST_NAMES {
        let _ = writeln!(text, "and {} more: add a word", found.len() - MOST_NAMES);
    }
    text
}

/// The words of a text, in small letters.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Every name that can be explained.
fn known() -> Vec<String> {
    let mut names: Vec<String> = KINDS.iter().flat_map(|(what, _)| items(*what)).map(|item| item.name).collect();
    names.extend(glossary::terms().map(str::to_owned));
    names.extend(all_keys().iter().flat_map(|key| key.kind.choices()).map(|(name, _)| name.to_owned()));
    names
}

/// What a key is, when it is read, what it takes, and what each of its names means.
fn key_text(key: &Parameter, known: &[Parameter]) -> String {
    let default = key.default.unwrap_or("unset");
    let read = key.read_when_text(known).map_or_else(String::new, |when| format!("  read when {when}\n"));
    let value = format!("  value: {}; default: {default}\n", key.kind.describe());
    let example = key
        .shown_example()
        .map_or_else(String::new, |value| format!("  example: --set {}\n", quoted(&format!("{}={value}", key.key))));
    let text = format!("{}\n  {}\n{read}{value}{example}", key.key, key.doc);
    let mut meanings = Grid::new(2);
    for (name, doc) in key.kind.choices() {
        meanings.row([name, doc]);
        key.use_of(name).into_iter().for_each(|when| meanings.row(["", when]));
    }
    text + &meanings.render("    ")
}

/// A key, or all keys of a group.
fn keys(name: &str) -> Option<String> {
    let keys = all_keys();
    if let Some(key) = keys.iter().find(|key| key.key == name) {
        return Some(key_text(key, keys));
    }
    let prefix = format!("{}.", name.trim_end_matches('.'));
    let group: Vec<String> =
        keys.iter().filter(|key| key.key.starts_with(&prefix)).map(|key| key_text(key, keys)).collect();
    (!group.is_empty()).then(|| group.join("\n"))
}

fn stack(name: &str) -> Option<String> {
    let stack = [stacks(), drives()].concat().into_iter().find(|stack| stack.name == name)?;
    let measured = KNOWN.iter().find(|known| known.stack == name).map(measured).unwrap_or_default();
    Some(format!("stack {name}\n  {}\n\n{}{measured}", stack.description(), indented(stack.text)))
}

/// What a stack was fitted to, what it predicts beside that, and what its drive does that no model here does.
fn measured(known: &KnownDrive) -> String {
    let Ok(drive) = MeasuredDrive::from_text(known.text, known.name) else { return String::new() };
    let mut text = format!("\n  fitted to {}:\n", drive.name);
    let (marks, mut used) = (drive.marks(), BTreeSet::new());
    for (number, name) in &marks {
        let experiment = &drive.experiments[*number];
        used.insert(experiment.source.as_str());
        let value = find_figure(name).map(|figure| figure.spoken(experiment.measured[name])).unwrap_or_default();
        let _ = writeln!(text, "    {name} = {value}, {}", experiment.title());
    }
    let forced = drive.forced(&marks).len();
    let all: usize = drive.experiments.iter().map(|experiment| experiment.measured.len()).sum();
    let others = all - marks.len() - forced;
    for source in used {
        let _ = writeln!(text, "  {}", wrapped_at(&format!("source: {}", drive.sources[source].text), 4));
    }
    let _ = writeln!(
        text,
        "  predicted besides: {others} figures, and {forced} that cannot be missed (`nandarium repro drives`, \n    \
         docs/validation.md)"
    );
    for sentence in &drive.beyond {
        let _ = writeln!(text, "  {}", wrapped_at(&format!("not modelled: {sentence}"), 4));
    }
    text
}

fn part(name: &str) -> Option<String> {
    let part = parts().into_iter().find(|part| part.name == name)?;
    Some(format!("part {name} (flash.part)\n  {}\n\n{}", part.description(), indented(part.text)))
}

fn study(name: &str) -> Option<String> {
    let study = repro::STUDIES.iter().find(|study| study.name == name)?;
    let figures = study.figures().map_or_else(String::new, |figures| format!("  figures: {figures}\n"));
    let method = study.method.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!(
        "study {name} (`nandarium repro {name}`)\n  {}\n  publication: {}\n  takes: {} on two free cores\n  {}  {}\n",
        study.title,
        study.paper,
        study.takes,
        figures.trim_start(),
        wrapped_at(&method, 2)
    ))
}

fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("description"));
    lines.skip_while(|line| line.is_empty()).fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "  {line}");
        out
    })
}

fn workload(name: &str) -> Option<String> {
    let Some(entry) = find(name) else {
        let sample = items(Listing::Workloads).into_iter().find(|item| item.name == name)?;
        return Some(format!(
            "workload {name}\n  {}\n  drive.capacity must be at least 1GiB; workload.loop = closed suits it, because \
             the\n  \
             recorded programs waited for their requests. samples/README.md tells how it was recorded.\n",
            sample.doc
        ));
    };
    let takes: Vec<&str> = entry.takes.iter().map(|parameter| parameter.name()).collect();
    let takes = takes.iter().map(|name| match *name {
        "request_bytes" => "workload.request_size".to_owned(),
        name => format!("workload.{name}"),
    });
    let takes = takes.collect::<Vec<_>>().join(", ");
    Some(format!(
        "workload {name}\n  {}\n  source: {}\n  takes: {}\n{}",
        entry.summary,
        entry.source,
        if takes.is_empty() { "none of the optional keys" } else { &takes },
        entry.calibration.map(calibration).unwrap_or_default()
    ))
}

/// Every published figure with what the generator gives, measured now.
fn calibration(measure: Calibration) -> String {
    let Ok(rows) = measure(1) else { return String::new() };
    let hits = rows.iter().filter(|row| matches!(row.aim, Aim::Within(_)) && row.holds()).count();
    let mut text = format!("\n  {hits} of {} published figures are hit (seed 1):\n", rows.len());
    let mut grid = Grid::new(1);
    grid.row(["figure", "published", "generated", "verdict"]);
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &rows {
        let verdict = match row.aim {
            Aim::Within(tolerance) if row.holds() => format!("hit (within {tolerance})"),
            Aim::Within(tolerance) => format!("missed (by more than {tolerance})"),
            Aim::Missed(reason) => {
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, figures)) => figures.push(row.figure),
                    None => reasons.push((reason, vec![row.figure])),
                }
                "missed".to_owned()
            }
        };
        grid.row([row.figure.to_owned(), row.published.to_string(), figure(row.generated, row.published), verdict]);
    }
    text.push_str(&grid.render("  "));
    for (reason, figures) in reasons {
        let _ = writeln!(text, "  missed: {}: {reason}", figures.join("; "));
    }
    text
}

/// A number with the decimals of the published one it stands beside, and at least one, below 10 two.
fn figure(generated: f64, published: f64) -> String {
    let digits = published.to_string().split('.').nth(1).map_or(1, str::len).max(if published < 10.0 { 2 } else { 1 });
    format!("{generated:.digits$}")
}

fn format(name: &str) -> Option<String> {
    let format = FORMATS.iter().find(|format| format.name == name)?;
    Some(format!(
        "trace format {name}\n  {}\n  columns: {}\n  time in {}, address in {}\n",
        format.doc, format.columns, format.time_unit, format.address_unit
    ))
}

/// All faults, and the clauses that may follow them.
fn faults(name: &str) -> Option<String> {
    matches!(name, "faults" | "fault").then_some(())?;
    let mut text = "faults (`ctl SOCKET fault FAULT`, `serve --fault`, `torture --fault`)\n".to_owned();
    for fault in FAULTS {
        let _ =
            writeln!(text, "  {}\n      {}\n      example: {}", fault.form, wrapped_at(fault.doc, 6), fault.example);
    }
    text.push_str("\nREQUESTS and CLAUSES, in any order\n");
    for (form, doc) in CLAUSES {
        let _ = writeln!(text, "  {form}\n      {}", wrapped_at(doc, 6));
    }
    Some(text)
}

/// When to use the policy called `name`, as lines; empty for other names.
fn when(key: &Parameter, name: &str) -> String {
    key.use_of(name).map_or_else(String::new, |when| format!("  {}\n", wrapped_at(when, 2)))
}

/// A value of keys that take names: what it means for each of them.
fn values(name: &str) -> Option<String> {
    let meant = |key: &Parameter| {
        key.kind
            .choices()
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, doc)| format!("{} = {name}\n  {doc}\n{}", key.key, when(key, name)))
    };
    // A part is explained as one.
    let found: Vec<String> = all_keys().iter().filter(|key| key.key != "flash.part").filter_map(meant).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::synthetic::WORKLOADS;

    #[test]
    fn a_kind_leads_to_its_list() {
        for (_, kind) in KINDS {
            assert!(text(kind).is_ok_and(|text| text.contains(&format!("`nandarium list {kind}`"))), "{kind}");
        }
    }

    #[test]
    fn everything_listed_can_be_explained() {
        for name in known() {
            assert!(!entries(&name).is_empty(), "{name}");
        }
        assert!(WORKLOADS.iter().all(|entry| workload(entry.name).is_some()));
    }
}
