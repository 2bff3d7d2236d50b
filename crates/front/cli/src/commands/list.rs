//! `nandarium list`.

use super::results::pretty;
use crate::arguments::{ListArguments, Listing};
use crate::failure::Failure;
use crate::names::STACK;
use crate::output;
use crate::table::Grid;
use layer::{Parameter, Values};
use repro::{STUDIES, Study};
use serde_json::{Map, Value, json};
use simulator::Config;
use simulator::config::{Preset, all_keys, drives, find_key, parts, stacks};
use simulator::session::SAMPLE;
use trace::formats::FORMATS;
use trace::synthetic::WORKLOADS;

/// Something with a name.
pub struct Item {
    pub name: String,
    /// A description, in a line.
    pub doc: String,
    /// When to use it, for a policy.
    pub when: Option<&'static str>,
}

impl Item {
    pub fn new(name: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { name: name.into(), doc: doc.into(), when: None }
    }
}

/// Every kind, in display order.
pub const KINDS: [(Listing, &str); 8] = [
    (Listing::Stacks, "stacks"),
    (Listing::Drives, "drives"),
    (Listing::Policies, "policies"),
    (Listing::Workloads, "workloads"),
    (Listing::Parts, "parts"),
    (Listing::Formats, "formats"),
    (Listing::Studies, "studies"),
    (Listing::Keys, "keys"),
];

/// All items of a kind.
pub fn items(what: Listing) -> Vec<Item> {
    match what {
        Listing::Stacks => stacks().iter().map(|stack| Item::new(stack.name, stack.description())).collect(),
        Listing::Drives => drives().iter().map(|drive| Item::new(drive.name, drive.description())).collect(),
        Listing::Parts => parts().iter().map(|part| Item::new(part.name, part.description())).collect(),
        Listing::Formats => FORMATS.iter().map(|format| Item::new(format.name, format.doc)).collect(),
        Listing::Policies => policies(),
        Listing::Studies => STUDIES.iter().map(|study| Item::new(study.name, about(study))).collect(),
        Listing::Workloads => {
            let sample = Item::new(SAMPLE, "recorded: SQLite, git and file copies on ext4, one minute, up to 1 GiB");
            let generators = WORKLOADS.iter().map(|workload| Item::new(workload.name, workload.summary));
            let mut items: Vec<Item> = generators.chain([sample]).collect();
            items.sort_by(|a, b| a.name.cmp(&b.name));
            items
        }
        Listing::Keys => all_keys().iter().map(|key| Item::new(key.key, key.doc)).collect(),
    }
}

/// What a study is about, how long it takes, and its figures.
fn about(study: &Study) -> String {
    let figures = study.figures().map_or_else(String::new, |figures| format!(" Figures: {figures}."));
    format!("{}. It takes {} on two free cores.{figures}", study.title, study.takes)
}

/// Keys whose values are policies.
const OF_POLICIES: [&str; 7] =
    ["ftl.kind", "ftl.gc.victim", "buffer.kind", "stripe.kind", "stripe.cache.victim", "coded.reads", "remap.kind"];

/// A policy: its name, the key that selects it, its idea, and when to use it.
pub type Policy = (&'static str, &'static str, &'static str, Option<&'static str>);

/// All policies, by key.
pub fn all_policies() -> Vec<Policy> {
    let keys = all_keys();
    let of_key = |key: &'static str| {
        let known = find_key(keys, key).expect("policies are chosen by known keys");
        let policies = known.kind.choices().into_iter().filter(|(name, _)| *name != "none");
        policies.map(|(name, doc)| (name, key, doc, known.use_of(name))).collect::<Vec<_>>()
    };
    OF_POLICIES.into_iter().flat_map(of_key).collect()
}

fn policies() -> Vec<Item> {
    let item = |(name, key, doc, when)| Item { when, ..Item::new(name, format!("{key}: {doc}")) };
    all_policies().into_iter().map(item).collect()
}

pub fn execute(arguments: &ListArguments) -> Result<(), Failure> {
    // Keys are many: they are listed when asked for.
    let chosen = |what: Listing| arguments.what.map_or(what != Listing::Keys, |wanted| wanted == what);
    let kinds: Vec<(Listing, &str)> = KINDS.into_iter().filter(|(what, _)| chosen(*what)).collect();
    if arguments.json {
        let lists = kinds.iter().map(|(what, title)| ((*title).to_owned(), json_list(*what)));
        return output::print(&pretty(&Value::Object(lists.collect::<Map<_, _>>())));
    }
    let mut text = String::new();
    for (what, title) in &kinds {
        if kinds.len() > 1 {
            text.extend([if text.is_empty() { "" } else { "\n" }, title, "\n"]);
        }
        let indent = if kinds.len() > 1 { "  " } else { "" };
        match what {
            Listing::Keys => text.push_str(&keys_grid().render(indent)),
            Listing::Stacks => text.push_str(&stacks_by_subject(indent)),
            Listing::Policies if kinds.len() == 1 => text.push_str(&policies_grid().render(indent)),
            _ => text.push_str(&items_grid(*what).render(indent)),
        }
    }
    if arguments.what.is_none() {
        text.push_str(
            "\n`nandarium list keys` names the configuration keys, `nandarium explain NAME` says more about \
            any of these.\n",
        );
    }
    output::print(&text)
}

fn items_grid(what: Listing) -> Grid {
    let mut grid = Grid::new(2);
    for item in items(what) {
        grid.row([item.name, item.doc]);
    }
    grid
}

/// Policies with their ideas, and below each when to use it.
fn policies_grid() -> Grid {
    let mut grid = Grid::new(2);
    for item in policies() {
        grid.row([item.name, item.doc]);
        if let Some(when) = item.when {
            grid.row(["", when]);
        }
    }
    grid
}

/// Whether the values of a stack show a subject.
type IsMet = fn(&Values) -> bool;

/// What a stack shows, in the order of the list: the first that its values meet.
const SUBJECTS: [(&str, IsMet); 6] = [
    ("drivers of a host above a drive", |values| values.name("remap.kind") != "none"),
    ("coded striping", |values| values.name("stripe.kind") == "coded"),
    ("stripes with parity", |values| values.name("stripe.kind") != "none"),
    ("write buffers", |values| values.name("buffer.kind") != "none"),
    ("log-block mappings", |values| ["bast", "fast", "block"].contains(&values.name("ftl.kind"))),
    ("page-level mappings", |_| true),
];

/// The stacks by subject: the usual one by itself, and then from plain mappings to whole drivers.
fn stacks_by_subject(indent: &str) -> String {
    let subject = |stack: &Preset| {
        let config = Config::load(stack.name, &[]).expect("a built-in stack can be loaded");
        SUBJECTS.iter().position(|(_, is_met)| is_met(&config.values))
    };
    let (first, others): (Vec<Preset>, Vec<Preset>) = stacks().into_iter().partition(|stack| stack.name == STACK);
    let others: Vec<_> = others.into_iter().map(|stack| (subject(&stack), stack)).collect();
    let widest = others.iter().map(|(_, stack)| stack.name.len()).max().unwrap_or(0);
    let row = |stack: &Preset| format!("{indent}  {:widest$}  {}\n", stack.name, stack.description());
    let mut text = format!("{indent}begin with\n") + &first.iter().map(row).collect::<String>();
    for (place, (title, _)) in SUBJECTS.iter().enumerate().rev() {
        let own = others.iter().filter(|(subject, _)| *subject == Some(place)).map(|(_, stack)| row(stack));
        text.extend([indent, title, "\n"]);
        text.extend(own);
    }
    text
}

/// Most characters of what a key takes; a list of names that is longer is left to `explain`.
const WIDEST: usize = 44;

/// Key, default, what it takes, and what it is.
fn keys_grid() -> Grid {
    let mut grid = Grid::new(4);
    grid.row(["key", "default", "takes", "what it is"].map(str::to_owned));
    for key in all_keys() {
        let takes = Some(key.kind.describe()).filter(|text| text.chars().count() <= WIDEST);
        let takes = takes.unwrap_or_else(|| format!("one of {} names", key.kind.choices().len()));
        grid.row([key.key.to_owned(), key.default.unwrap_or("unset").to_owned(), takes, key.doc.to_owned()]);
    }
    grid
}

fn json_list(what: Listing) -> Value {
    if what == Listing::Keys {
        let keys = all_keys();
        return keys.iter().map(|key| json_key(key, keys)).collect();
    }
    if what == Listing::Policies {
        return items(what).iter().map(|item| json!({"name": item.name, "doc": item.doc, "when": item.when})).collect();
    }
    items(what).iter().map(|item| json!({"name": item.name, "doc": item.doc})).collect()
}

/// A key; absent is null. `min` and `max` are in `unit`, the others as they are written in a stack.
fn json_key(key: &Parameter, known: &[Parameter]) -> Value {
    let [min, max] = key.kind.limits().map(|limit| match limit {
        Some(layer::Value::Whole(whole)) => json!(whole),
        Some(layer::Value::Real(real)) => json!(real),
        _ => Value::Null,
    });
    let choices: Vec<Value> =
        key.kind.choices().into_iter().map(|(name, doc)| json!({"name": name, "doc": doc})).collect();
    json!({
        "name": key.key,
        "doc": key.doc,
        "type": key.kind.name(),
        "takes": key.kind.describe(),
        "unit": key.kind.unit(),
        "min": min,
        "max": max,
        "default": key.default,
        "example": key.shown_example(),
        "read_when": key.read_when_text(known),
        "role": key.role.name(),
        "choices": if choices.is_empty() { Value::Null } else { Value::Array(choices) },
    })
}
