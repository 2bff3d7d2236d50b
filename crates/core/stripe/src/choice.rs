//! Which delayed parity is committed when room is needed.
//!
//! ```text
//! the cache keeps its stripes in an order -> a policy sees those that are idle, one after the other -> one of them
//! ```
//! A policy decides and does not act. To add one: a line in `POLICIES`; or, from a program around this one,
//! [`register`]. The built-in ones take the first of their order, so that no other stripe is looked at.

use layer::registry::{Registry, Source};
use layer::{Named, Values};
use std::sync::Arc;

/// The order in which stripes are kept, the one updated longest ago first among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOrder {
    /// By the time of their last update.
    Oldest,
    /// Those with the most pages newer than their parity first.
    Largest,
    /// Those whose commit takes the fewest reads first.
    Cheapest,
}

/// A stripe whose delayed parity may be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub stripe: u32,
    /// Its data pages that are newer than the parity on flash.
    pub newer: u32,
    /// Pages a commit reads, if no die is lost and memory holds none of them.
    pub reads: u32,
}

/// Chooses the delayed parity that is committed.
pub trait CommitPolicy {
    /// The order in which the cache keeps stripes for it.
    fn order(&self) -> CommitOrder;

    /// One of `idle`, which come in that order; `None`: none of them now. What it leaves of them may be committed next.
    fn choose(&mut self, idle: &mut dyn Iterator<Item = Candidate>) -> Option<u32> {
        idle.next().map(|candidate| candidate.stripe)
    }
}

/// The first of an order.
struct First(CommitOrder);

impl CommitPolicy for First {
    fn order(&self) -> CommitOrder {
        self.0
    }
}

/// A line of [`POLICIES`].
struct Entry {
    name: &'static str,
    /// Its rule, in a line.
    doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    when: &'static str,
    order: CommitOrder,
}

/// Policies by the names `stripe.cache.victim` accepts.
const POLICIES: [Entry; 3] = [
    Entry {
        name: "lru",
        doc: "the parity of the stripe updated longest ago",
        when: "Use it where stripes are written again soon: they stay in the cache. Some commits cost many reads.",
        order: CommitOrder::Oldest,
    },
    Entry {
        name: "largest",
        doc: "the parity of the stripe with the most newer pages",
        when: "Use it where old versions take too much spare flash: each commit frees the most of them. A stripe in \
               use may leave too early.",
        order: CommitOrder::Largest,
    },
    Entry {
        name: "cheapest",
        doc: "the parity of the stripe whose commit takes the fewest reads",
        when: "Use it where reads for parity are the bottleneck: each commit reads the fewest pages. Stripes that \
               cost many reads stay in the cache for long.",
        order: CommitOrder::Cheapest,
    },
];

/// The builder of a policy that is not in the table: called once for each drive.
pub type CommitFactory = dyn Fn() -> Box<dyn CommitPolicy> + Send + Sync;

static OUTSIDE: Registry<CommitFactory> = Registry::new();

/// Makes `stripe.cache.victim = name` mean what `build` builds, for configurations loaded from now on. The last one
/// registered under a name counts. `source`: the file that it was read from, if that tells what it does.
///
/// # Errors
/// A built-in policy has this name, or it is no name.
pub fn register(name: &str, doc: &str, build: Arc<CommitFactory>, source: Option<Source>) -> Result<(), String> {
    OUTSIDE.register(name, doc, build, source, &POLICIES.each_ref().map(|entry| entry.name))
}

/// Whether the policy called `name` was registered, so that its name does not tell its actions.
pub fn is_from_outside(name: &str) -> bool {
    OUTSIDE.has(name)
}

/// The file that the policy called `name` was read from, if it was registered with one.
pub fn source_of(name: &str) -> Option<Source> {
    OUTSIDE.source(name)
}

/// Name and description of all: the built-in ones, then those from outside.
pub(crate) fn choices() -> Vec<Named> {
    POLICIES.iter().map(|entry| (entry.name, entry.doc)).chain(OUTSIDE.list()).collect()
}

/// When to use each built-in policy.
pub(crate) fn uses() -> Vec<Named> {
    POLICIES.iter().map(|entry| (entry.name, entry.when)).collect()
}

/// The name a configuration gives, for as long as the program runs.
pub(crate) fn chosen(values: &Values) -> &'static str {
    let wanted = values.name("stripe.cache.victim");
    choices()
        .into_iter()
        .map(|(name, _)| name)
        .find(|name| *name == wanted)
        .expect("victims are checked with the configuration")
}

/// Builds the policy of a name.
pub(crate) fn build(name: &str) -> Box<dyn CommitPolicy> {
    match POLICIES.iter().find(|entry| entry.name == name) {
        Some(entry) => Box::new(First(entry.order)),
        None => OUTSIDE.find(name).expect("victims are checked with the configuration")(),
    }
}
