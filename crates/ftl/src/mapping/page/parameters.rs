//! Parameters of the page mapping.

use crate::alloc::{ORDERS, PLACEMENTS, Placement};
use crate::gc::{VICTIMS, victim_names};
use layer::{Parameter, ParameterKind, Values};

/// Whether copies share the host's open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontiers {
    /// Host writes and copies go to different blocks.
    Separate,
    /// They go to the same block.
    Shared,
}

/// Settings read once, so that the per-page path looks nothing up.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub order: String,
    pub placement: Placement,
    pub frontiers: Frontiers,
    /// Collection begins when a plane has this many erased (or being erased) blocks or fewer.
    pub free_blocks: u32,
    /// The same while the host is idle; 0: no background collection.
    pub background_free_blocks: u32,
    /// Copies in flight for each plane.
    pub window: u32,
    pub copyback: bool,
    pub level_dynamic: bool,
    /// Difference of erase counts that starts static wear levelling; 0: never.
    pub level_gap: u32,
}

impl Settings {
    pub fn read(values: &Values) -> Self {
        let placement = values.name("ftl.allocation.placement");
        let frontier = values.name("ftl.gc.frontier");
        Self {
            order: values.name("ftl.allocation.order").to_owned(),
            placement: if placement == "static" { Placement::Static } else { Placement::Dynamic },
            frontiers: if frontier == "shared" { Frontiers::Shared } else { Frontiers::Separate },
            free_blocks: values.whole("ftl.gc.free_blocks") as u32,
            background_free_blocks: values.whole("ftl.gc.background_free_blocks") as u32,
            window: values.whole("ftl.gc.copies_in_flight") as u32,
            copyback: values.on("ftl.gc.copyback"),
            level_dynamic: values.on("ftl.wear.dynamic"),
            level_gap: values.whole("ftl.wear.static_gap") as u32,
        }
    }
}

/// Blocks of a plane that hold no user data at full drive: one kept for collection, one open for
/// the host, one for copies.
pub(super) fn reserve_blocks(values: &Values) -> u32 {
    if values.name("ftl.gc.frontier") == "shared" { 2 } else { 3 }
}

pub(super) fn all() -> Vec<Parameter> {
    let mut parameters = vec![
        Parameter {
            key: "ftl.allocation.order",
            kind: ParameterKind::Choice(|| ORDERS.to_vec()),
            default: Some("cdp"),
            doc: "Order in which consecutive pages use channels (c), dies behind a channel (d) and planes (p); the first letter varies fastest.",
        },
        Parameter {
            key: "ftl.allocation.placement",
            kind: ParameterKind::Choice(|| PLACEMENTS.to_vec()),
            default: Some("dynamic"),
            doc: "dynamic: a page goes to the next plane with room; static: to the plane its logical page number names.",
        },
        Parameter {
            key: "ftl.gc.victim",
            kind: ParameterKind::Choice(victim_names),
            default: Some("greedy"),
            doc: "Which closed block is collected next.",
        },
        Parameter {
            key: "ftl.gc.free_blocks",
            kind: ParameterKind::Count { min: 1, max: 1000 },
            default: Some("2"),
            doc: "Collection begins when a plane has this many free blocks or fewer (free and being erased count).",
        },
        Parameter {
            key: "ftl.gc.frontier",
            kind: ParameterKind::Choice(|| vec!["separate", "shared"]),
            default: Some("separate"),
            doc: "Whether copies go to a block of their own or to the host's open block.",
        },
        Parameter {
            key: "ftl.gc.copies_in_flight",
            kind: ParameterKind::Count { min: 1, max: 1024 },
            default: Some("8"),
            doc: "Copies of a collection under way at once in each plane; the next is issued when one completes.",
        },
        Parameter {
            key: "ftl.gc.background_free_blocks",
            kind: ParameterKind::Count { min: 0, max: 1000 },
            default: Some("0"),
            doc: "While the host is idle, collect until a plane has more free blocks than this; 0 turns background collection off.",
        },
        Parameter {
            key: "ftl.gc.copyback",
            kind: ParameterKind::Switch,
            default: Some("false"),
            doc: "Copy pages inside a plane with the flash's copyback command, which leaves the channel free.",
        },
        Parameter {
            key: "ftl.wear.dynamic",
            kind: ParameterKind::Switch,
            default: Some("true"),
            doc: "Open the least worn free block first; otherwise the one that was erased first.",
        },
        Parameter {
            key: "ftl.wear.static_gap",
            kind: ParameterKind::Count { min: 0, max: 1_000_000 },
            default: Some("0"),
            doc: "Move cold data away from the least worn block of a plane when erase counts differ by more than this; 0 turns it off.",
        },
    ];
    for entry in VICTIMS {
        parameters.extend_from_slice(entry.parameters);
    }
    parameters
}
