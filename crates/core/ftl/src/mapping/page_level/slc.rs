//! Blocks with one bit a cell as a cache for what the host writes.
//!
//! The next block for the host is used so while the cache may grow and enough blocks are free; after that the host
//! writes blocks with all bits. A block of the cache is emptied as any victim is (*folded*), into blocks with all bits:
//! when the victim policy chooses it under pressure, or in idle time, the oldest first.
//!
//! *Protects*: the cache never takes a block that collection needs.

use super::collector::GcContext;
use super::space::Space;
use layer::{Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use nand::{Flash, FlashState};
use units::{BlockId, Geometry};

const SHARE: &str = "ftl.slc.share";
const BLOCKS: &str = "ftl.slc.blocks";
const FOLD_IDLE: &str = "ftl.slc.fold_idle";

/// The keys of it.
pub(in crate::mapping) fn parameters() -> [Parameter; 3] {
    [
        Parameter::new(
            SHARE,
            ParameterKind::Share { max: 1.0 },
            "0%",
            "Blocks of each plane that may be programmed with one bit a cell while enough others are free, as a share \
             of all: the dynamic part of a cache for host writes.",
        ),
        Parameter::new(
            BLOCKS,
            ParameterKind::Count { min: 0, max: 1 << 20 },
            "0",
            "Blocks of each plane kept for that: the static part of the cache, spare space for nothing else.",
        ),
        Parameter::new(
            FOLD_IDLE,
            ParameterKind::Switch,
            "true",
            "Empty the blocks of that cache while the host is idle (host.idle_after).",
        ),
    ]
}

/// Blocks of a plane that the cache keeps for itself.
pub(in crate::mapping) fn kept_blocks(values: &Values) -> u32 {
    values.get(BLOCKS).map_or(0, |_| values.whole(BLOCKS) as u32)
}

/// See the file.
pub(crate) struct SlcCache {
    /// Pages of a block of the cache.
    pages: u32,
    share: f64,
    kept: u32,
    fold_idle: bool,
    /// Free blocks that a lane has left when the cache takes another one.
    floor: usize,
    /// Blocks of each lane with one bit a cell.
    in_use: Vec<u32>,
}

impl SlcCache {
    /// Nothing is cached. `None`: there is to be no such cache. `free_blocks`: a lane is collected when it has no more.
    pub fn new(values: &Values, geometry: &Geometry, lanes: usize, free_blocks: u32) -> Option<Self> {
        let share = values.get(SHARE).map_or(0.0, |_| values.real(SHARE));
        let kept = kept_blocks(values);
        let bits = values.get("flash.word_line_pages").map_or(1, |_| values.whole("flash.word_line_pages") as u32);
        (bits > 1 && (share > 0.0 || kept > 0)).then(|| Self {
            pages: geometry.pages_per_block / bits,
            share,
            kept,
            fold_idle: values.on(FOLD_IDLE),
            floor: free_blocks as usize + 1,
            in_use: vec![0; lanes],
        })
    }

    /// Pages of the next block for the host in a lane, if that is one of the cache; it counts from now on.
    pub fn take(&mut self, space: &Space, lane: usize) -> Option<u32> {
        let entry = &space.lanes[lane];
        let used = self.in_use[lane];
        let may_grow = f64::from(used) < self.share * f64::from(entry.count()) && entry.free() > self.floor;
        if used >= self.kept && !may_grow {
            return None;
        }
        self.in_use[lane] += 1;
        Some(self.pages)
    }

    /// A block of a lane is to be erased.
    pub fn note_erase(&mut self, state: &FlashState, lane: usize, block: BlockId) {
        self.in_use[lane] -= u32::from(state.block(block).is_slc());
    }

    /// It is not, after all.
    pub fn note_erase_taken_back(&mut self, state: &FlashState, lane: usize, block: BlockId) {
        self.in_use[lane] += u32::from(state.block(block).is_slc());
    }

    /// The block of a lane to be folded in idle time.
    pub fn oldest<F: Flash>(&self, flash: &F, gc: &GcContext<'_>, lane: usize) -> Option<BlockId> {
        if !self.fold_idle || self.in_use[lane] == 0 {
            return None;
        }
        let cached = gc.settled(flash, lane).filter(|block| flash.state().block(*block).is_slc());
        cached.min_by_key(|block| gc.pages.blocks().closed_at(*block, 1)[0])
    }

    /// Counts the blocks of the cache that a power cut left.
    pub fn recount(&mut self, state: &FlashState, space: &Space) {
        for (lane, count) in self.in_use.iter_mut().enumerate() {
            *count = space.lanes[lane].blocks().filter(|block| state.block(*block).is_slc()).count() as u32;
        }
    }

    /// Each lane has as many such blocks as are counted.
    ///
    /// # Errors
    /// The first lane that has not.
    pub fn check(&self, state: &FlashState, space: &Space) -> Result<(), String> {
        for (lane, counted) in self.in_use.iter().enumerate() {
            let is_used = |block: &BlockId| state.block(*block).is_slc() && !state.block(*block).erase_pending();
            let found = space.lanes[lane].blocks().filter(is_used).count();
            if found != *counted as usize {
                return Err(format!("lane {lane} has {found} blocks with one bit a cell, {counted} are counted"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("slc.in_use", self.in_use.iter().copied());
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let in_use = reader.get::<u32>("slc.in_use")?;
        if in_use.len() != self.in_use.len() {
            let problem = "the number of lanes differs".to_owned();
            return Err(SnapshotError::Unfit { section: "slc.in_use", problem });
        }
        self.in_use = in_use;
        Ok(())
    }
}
