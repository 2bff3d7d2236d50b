//! Blocks that are to be written anew: read too often, too old, or read with too many repetitions.
//!
//! Their pages move as a victim's is. Flash tells of a block when a read of it finds that; when the host falls
//! idle the mapping looks at the age of all blocks by itself.

use super::collector::GcContext;
use layer::{AGE_MAX, CELLS_ERR, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashState, RefreshLimits};
use units::BlockId;

const READS: &str = "ftl.refresh.reads";
const AGE: &str = "ftl.refresh.age";
const RETRIES: &str = "ftl.refresh.retries";

/// The keys of it.
pub(super) fn parameters() -> [Parameter; 3] {
    [
        Parameter::new(
            READS,
            ParameterKind::Count { min: 0, max: u64::from(u32::MAX) },
            "0",
            "Reads of a block since its erase after which its data is rewritten, against read disturb, for example \
             100000; 0: never.",
        )
        .only(CELLS_ERR),
        Parameter::new(
            AGE,
            ParameterKind::Duration { max: AGE_MAX },
            "0ns",
            "Age of a block's oldest data at which the block is rewritten, against lost charge, for example 90d. The \
             age is checked when the block is read, and when the host falls idle. 0ns: never.",
        )
        .only(CELLS_ERR),
        Parameter::new(
            RETRIES,
            ParameterKind::Count { min: 0, max: 1000 },
            "0",
            "Repetitions of one read after which its block is rewritten, for example 5; 0: never.",
        )
        .only(CELLS_ERR),
    ]
}

/// When blocks are written anew; never, where a mapping does not declare the keys.
pub fn limits(values: &layer::Values) -> RefreshLimits {
    let whole = |key| values.get(key).map_or(0, |_| values.whole(key));
    RefreshLimits { reads: whole(READS) as u32, age_ns: whole(AGE), retries: whole(RETRIES) as u32 }
}

/// Blocks that wait to be written anew.
#[derive(Debug, Default)]
pub(crate) struct Due(Vec<BlockId>);

fn is_due(state: &FlashState, block: BlockId) -> bool {
    state.block(block).is_refresh_due() || state.must_refresh(block)
}

impl Due {
    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("refresh.due", self.0.iter().copied());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.0 = reader.each("refresh.due")?.collect();
        Ok(())
    }

    /// A block is to be written anew.
    pub fn note(&mut self, block: BlockId) {
        if !self.0.contains(&block) {
            self.0.push(block);
        }
    }

    /// Notes all blocks of a lane whose time has come.
    #[cold]
    pub fn look(&mut self, state: &FlashState, gc: &GcContext<'_>, lane: usize) {
        let due = gc.space.lanes[lane].blocks().filter(|block| state.must_refresh(*block));
        due.for_each(|block| self.note(block));
    }

    /// The block of a lane that is written anew next, if there is room for what it holds.
    #[inline]
    pub fn next<F: Flash>(&mut self, flash: &F, gc: &GcContext<'_>, lane: usize) -> Option<BlockId> {
        if self.0.is_empty() { None } else { self.find(flash, gc, lane) }
    }

    #[cold]
    fn find<F: Flash>(&mut self, flash: &F, gc: &GcContext<'_>, lane: usize) -> Option<BlockId> {
        self.0.retain(|block| is_due(flash.state(), *block));
        let is_free = |block: &BlockId| {
            let row = flash.state().block(*block);
            gc.space.lanes.of_block(*block) == lane
                && gc.pages.blocks().is_candidate(*block)
                && row.done == row.issued
                && !gc.homeless.pins(*block)
                && gc.emptying(flash, lane, *block).is_admitted(true)
        };
        self.0.iter().copied().find(is_free)
    }
}
