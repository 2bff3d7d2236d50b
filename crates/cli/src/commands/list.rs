//! `nandarium list`.

use super::results::pretty;
use crate::arguments::{ListArguments, Listing};
use crate::failure::Failure;
use crate::output;
use crate::table::Grid;
use device::config::{all_keys, parts, stacks};
use device::session::SAMPLE;
use ftl::gc;
use ftl::mapping::mappings;
use serde_json::{Map, Value, json};
use trace::formats::FORMATS;
use trace::synthetic::WORKLOADS;

/// Something with a name.
pub struct Item {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub doc: String,
}

impl Item {
    fn new(name: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { name: name.into(), doc: doc.into() }
    }
}

/// Every kind, in display order.
pub const KINDS: [(Listing, &str); 6] = [
    (Listing::Stacks, "stacks"),
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
        Listing::Keys => {
            let keys = all_keys();
            keys.iter().map(|key| Item::new(key.key, format!("{} [{}]", key.doc, key.default.unwrap_or("unset")))).collect()
        }
    }
}

fn policies() -> Vec<Item> {
    let mappings = mappings();
    let mappings = mappings.iter().map(|entry| Item::new(entry.name, format!("ftl.kind: {}", entry.doc)));
    let victims = gc::victims().into_iter().map(|(name, doc)| Item::new(name, format!("ftl.gc.victim: {doc}")));
    let schemes = stripe::schemes().map(|(name, doc)| Item::new(name, format!("stripe.kind: {doc}")));
    let zones = Item::new(zones::KIND, format!("stripe.kind: {}", zones::DOC));
    let reads = zones::read_policies().map(|(name, doc)| Item::new(name, format!("zones.reads: {doc}")));
    let buffers = buffer::buffers().into_iter().map(|entry| Item::new(entry.name, format!("buffer.kind: {}", entry.doc)));
    let commits = stripe::choice::registered().into_iter().map(|(name, doc)| Item::new(name, format!("stripe.cache.victim: {doc}")));
    mappings.chain(victims).chain(buffers.collect::<Vec<_>>()).chain(commits).chain(schemes).chain([zones]).chain(reads).collect()
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
        let mut grid = Grid::new(2);
        for item in items(*what) {
            grid.row([item.name, item.doc]);
        }
        text.push_str(&grid.render(if kinds.len() > 1 { "  " } else { "" }));
    }
    if arguments.what.is_none() {
        text.push_str("\n`nandarium list keys` names the configuration keys, `nandarium explain NAME` says more about any of these.\n");
    }
    output::print(&text)
}

fn json_list(what: Listing) -> Value {
    items(what).iter().map(|item| json!({"name": item.name, "doc": item.doc})).collect()
}
