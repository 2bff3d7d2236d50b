//! Parameters of log-block mappings, and what follows from them.

use super::Scheme;
use crate::alloc::{ORDERS, Order};
use crate::mapping::Layout;
use crate::mapping::common::STATIC_GAP;
use layer::{Parameter, ParameterKind, Values};

/// Settings read once, so that the per-page path looks nothing up.
#[derive(Clone, Debug)]
pub(in crate::mapping) struct Settings {
    pub order: Order,
    /// Log blocks asked for; `None`: whatever the spare space allows.
    pub log_blocks: Option<u32>,
    /// Blocks kept for merging, and merges at once.
    pub merge_blocks: u32,
    pub partial_merge: bool,
    /// Copies of a merge under way at once.
    pub window: u32,
    /// Difference of erase counts that moves cold data; 0: never.
    pub level_gap: u32,
}

impl Settings {
    pub fn read(values: &Values) -> Self {
        Self {
            order: ORDERS.read(values),
            log_blocks: values.get("ftl.log.blocks").map(|_| values.whole("ftl.log.blocks") as u32),
            merge_blocks: values.whole("ftl.log.merge_blocks") as u32,
            partial_merge: values.on("ftl.log.partial_merge"),
            window: values.whole("ftl.log.copies_in_flight") as u32,
            level_gap: values.whole("ftl.wear.static_gap") as u32,
        }
    }
}

/// Blocks of a plane that are not data blocks at full drive: log blocks asked for (or the fewest the
/// scheme works with) and those kept for merging, spread over the planes.
#[allow(clippy::unnecessary_wraps)] // the table of mappings asks for a result
pub(super) fn reserve_blocks<S: Scheme>(values: &Values, layout: &Layout) -> Result<u32, String> {
    let settings = Settings::read(values);
    let logs = settings.log_blocks.unwrap_or(S::DEFAULT_LOGS.unwrap_or(S::LEAST_LOGS)).max(S::LEAST_LOGS);
    Ok((logs + settings.merge_blocks).div_ceil(layout.planes))
}

/// Parameters of every log-block mapping.
pub(in crate::mapping) fn common() -> Vec<Parameter> {
    vec![
        Parameter::new(
            ORDERS.key,
            ParameterKind::Choice(|| ORDERS.named()),
            "cdp",
            "Order in which consecutive pages (or the blocks of a log-block mapping) use channels (c), dies \
                behind a channel (d) and planes (p); the first letter varies fastest.",
        ),
        Parameter::optional(
            "ftl.log.blocks",
            ParameterKind::Count { min: 1, max: 1 << 24 },
            "Log blocks of the whole drive; without it all spare blocks that are not kept for merging. `block` \
                has one replacement block without it.",
        ),
        Parameter::new(
            "ftl.log.merge_blocks",
            ParameterKind::Count { min: 2, max: 1024 },
            "2",
            "Blocks kept free for merging, and merges under way at once.",
        ),
        Parameter::new(
            "ftl.log.partial_merge",
            ParameterKind::Switch,
            "true",
            "A log block with the first pages of its logical block in order is filled up and becomes the data \
                block; otherwise only complete ones do, and the rest is merged in full.",
        ),
        Parameter::new(
            "ftl.log.copies_in_flight",
            ParameterKind::Count { min: 1, max: 1024 },
            "8",
            "Copies of a merge under way at once; the next is issued when one completes.",
        ),
        STATIC_GAP,
    ]
}
