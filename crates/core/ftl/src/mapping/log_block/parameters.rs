//! Parameters of log-block mappings, and values derived from them.

use super::{PAGES_LIMIT, Scheme};
use crate::alloc::{ORDERS, Order};
use crate::mapping::Layout;
use crate::mapping::common::STATIC_GAP;
use layer::{Parameter, ParameterKind, Values};

/// Settings and constants of the scheme, read once, so that the per-page path looks nothing up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub order: Order,
    /// Log blocks asked for; `None`: whatever the spare space allows.
    log_blocks: Option<u32>,
    /// Fewest log blocks the scheme works with.
    pub least_logs: u32,
    /// Log blocks of one logical block are programmed in place.
    logs_in_place: bool,
    /// Blocks kept for merging, and merges at once.
    pub merge_blocks: u32,
    partial_merge: bool,
    /// Copies of a merge under way at once.
    pub window: u32,
    /// Difference of erase counts that moves cold data; 0: never.
    pub level_gap: u32,
}

impl Settings {
    pub fn read<S: Scheme>(values: &Values) -> Self {
        let log_blocks = values.get("ftl.log.blocks").map(|_| values.whole("ftl.log.blocks") as u32);
        Self {
            order: ORDERS.read(values),
            log_blocks: log_blocks.or(S::DEFAULT_LOGS),
            least_logs: S::LEAST_LOGS,
            logs_in_place: S::IN_PLACE,
            merge_blocks: values.whole("ftl.log.merge_blocks") as u32,
            partial_merge: values.on("ftl.log.partial_merge"),
            window: values.whole("ftl.log.copies_in_flight") as u32,
            level_gap: values.whole("ftl.wear.static_gap") as u32,
        }
    }

    pub fn most_logs(&self) -> u32 {
        self.log_blocks.unwrap_or(u32::MAX)
    }

    /// Whether a log block in place may be filled up with copies to become the data block.
    pub fn fills_up(&self) -> bool {
        self.partial_merge || self.logs_in_place
    }
}

/// Blocks of a plane that are not data blocks at full drive: log blocks asked for (or the fewest the
/// scheme works with) and those kept for merging, spread over the planes.
///
/// # Errors
/// The drive may have more flash pages than tokens can name.
pub(super) fn reserve_blocks<S: Scheme>(values: &Values, layout: &Layout) -> Result<u32, String> {
    if layout.user_pages > PAGES_LIMIT / 2 {
        return Err(format!(
            "it serves {} logical pages; a log-block mapping is made for {} at most: choose larger pages or a smaller \
             drive",
            layout.user_pages,
            PAGES_LIMIT / 2
        ));
    }
    let settings = Settings::read::<S>(values);
    let logs = settings.log_blocks.unwrap_or(S::LEAST_LOGS).max(S::LEAST_LOGS);
    Ok((logs + settings.merge_blocks).div_ceil(layout.planes))
}

/// Parameters of every log-block mapping.
pub(in crate::mapping) fn common() -> Vec<Parameter> {
    vec![
        Parameter::new(
            ORDERS.key,
            ParameterKind::Choice(|| ORDERS.named()),
            "cdp",
            "Order in which consecutive pages (or the blocks of a log-block mapping) use channels (c), dies behind a \
             channel (d) and planes (p). The first letter varies fastest: begin with c so that sequential requests \
             use all channels.",
        ),
        Parameter::optional(
            "ftl.log.blocks",
            ParameterKind::Count { min: 1, max: 1 << 24 },
            "Log blocks of the whole drive, for example 64. If not set: all spare blocks that are not reserved for \
             merging, and one replacement block with ftl.kind = block. More log blocks make merges rarer.",
        )
        .example("64"),
        Parameter::new(
            "ftl.log.merge_blocks",
            ParameterKind::Count { min: 2, max: 1024 },
            "2",
            "Blocks reserved for merging, which is also the number of merges under way at once.",
        ),
        Parameter::new(
            "ftl.log.partial_merge",
            ParameterKind::Switch,
            "true",
            "Fill up a log block that begins with the first pages of its logical block in order, and make it the data \
             block (partial merge). Otherwise only complete log blocks become data blocks (switch merge), and the \
             others are merged in full.",
        ),
        Parameter::new(
            "ftl.log.copies_in_flight",
            ParameterKind::Count { min: 1, max: 1024 },
            "8",
            "Copies of a merge under way at once. The next copy is issued when one completes.",
        ),
        STATIC_GAP,
    ]
}
