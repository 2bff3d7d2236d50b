//! `nandarium list`.

use super::results::pretty;
use crate::arguments::{ListArguments, Listing};
use crate::failure::Failure;
use crate::output;
use crate::table::Grid;
use layer::Parameter;
use serde_json::{Map, Value, json};
use simulator::config::{all_keys, drives, find_key, parts, stacks};
use simulator::session::SAMPLE;
use trace::formats::FORMATS;
use trace::synthetic::WORKLOADS;

/// Something with a name.
pub struct Item {
    pub name: String,
    /// A description, in a line.
    pub doc: String,
}

impl Item {
    fn new(name: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { name: name.into(), doc: doc.into() }
    }
}

/// Every kind, in display order.
pub const KINDS: [(Listing, &str); 7] = [
    (Listing::Stacks, "stacks"),
    (Listing::Drives, "drives"),
    (Listing::Policies, "policies"),
    (Listing::Workloads, "workloads"),
    (Listing::Parts, "parts"),
    (Listing::Formats, "formats"),
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

/// Keys whose values are policies.
const OF_POLICIES: [&str; 7] =
    ["ftl.kind", "ftl.gc.victim", "buffer.kind", "stripe.kind", "stripe.cache.victim", "coded.reads", "remap.kind"];

fn policies() -> Vec<Item> {
    let keys = all_keys();
    let of_key = |key: &str| {
        let choices = find_key(&keys, key).map_or_else(Vec::new, |known| known.kind.choices());
        let policies = choices.into_iter().filter(|(name, _)| *name != "none");
        policies.map(|(name, doc)| Item::new(name, format!("{key}: {doc}"))).collect::<Vec<_>>()
    };
    OF_POLICIES.into_iter().flat_map(of_key).collect()
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
        let grid = if *what == Listing::Keys { keys_grid() } else { items_grid(*what) };
        text.push_str(&grid.render(if kinds.len() > 1 { "  " } else { "" }));
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
        return keys.iter().map(|key| json_key(key, &keys)).collect();
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
