//! Blocks with one bit a cell as a cache for what the host writes.
//!
//! The next block for the host is used so while the cache may grow and enough blocks are free. After that the host
//! writes blocks with all bits, or waits until the oldest block of the cache is emptied (`ftl.slc.after`). A block of
//! the cache is emptied as any victim is (*folded*), into blocks with all bits: when the victim policy chooses it under
//! pressure; in idle time, where few blocks are free, or where the host waits for it, the oldest first. Idle time ends
//! with the host back in the cache: the block with all bits that it had open goes to copies, or is closed.
//!
//! *Protects*: the cache never takes a block that collection needs.

use super::collector::GcContext;
use super::space::Space;
use crate::mapping::Layout;
use layer::{
    Choices, Condition, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Tiled, TiledBlock,
    Value, Values,
};
use nand::{Flash, FlashState};
use units::BlockId;

const SHARE: &str = "ftl.slc.share";
const BLOCKS: &str = "ftl.slc.blocks";
const FOLD_IDLE: &str = "ftl.slc.fold_idle";
const FOLD_BELOW: &str = "ftl.slc.fold_below";

/// Whether the writes of the host wait for folding while the cache is full.
const AFTER: Choices<bool> = Choices {
    key: "ftl.slc.after",
    table: &[
        (
            "direct",
            "the host writes blocks with all bits while enough blocks are free; the drive folds in idle time, and \
             where free blocks are short",
            false,
        ),
        (
            "fold",
            "the host still writes to the cache: a write waits until the oldest block of the cache is folded. The \
             cache is ftl.slc.share of the blocks without folded data",
            true,
        ),
    ],
};
/// There is such a cache.
pub const SLC_CACHED: Condition = Condition::either_above_zero(SHARE, BLOCKS).otherwise("the drive has no SLC cache");

/// The keys of it.
pub(in crate::mapping) fn parameters() -> [Parameter; 5] {
    [
        Parameter::new(
            SHARE,
            ParameterKind::Share { max: 1.0 },
            "0%",
            "Dynamic part of the SLC cache: the share of each plane's blocks that may be programmed with one bit a \
             cell while enough other blocks are free, for example 10%. The cache takes host writes at the speed of \
             SLC.",
        )
        .example("10%"),
        Parameter::new(
            BLOCKS,
            ParameterKind::CountOrShare { max: 1 << 20 },
            "0",
            "Static part of the SLC cache: blocks of each plane that are reserved for it, as a number or as a share of \
             the blocks that the user data fills. A share stays right where drive.scale makes a drive smaller. These \
             blocks are not used as over-provisioning.",
        )
        .example("3%"),
        Parameter::new(
            FOLD_IDLE,
            ParameterKind::Switch,
            "true",
            "Fold the SLC cache while the host is idle (host.idle_after): copy its pages to blocks with all bits. \
             Where free blocks for the cache are short, the drive also collects blocks with at most half of their \
             pages valid.",
        ),
        Parameter::new(
            AFTER.key,
            ParameterKind::Choice(|| AFTER.named()),
            "direct",
            "Where the writes of the host go once the SLC cache is full. A sequential fill of an erased drive has two \
             phases with fold. With direct it has a third phase if free blocks run out before the drive is full.",
        )
        .only(SLC_CACHED),
        Parameter::new(
            FOLD_BELOW,
            ParameterKind::Share { max: 1.0 },
            "0%",
            "Share of free blocks in a plane below which the drive folds the SLC cache beside the writes of the host, \
             and puts no more blocks into the cache. It decides where the second phase of a fill ends. 0%: fold only \
             where free blocks are short (ftl.gc.free_blocks).",
        )
        .only(SLC_CACHED),
    ]
}

/// Blocks of a plane that the cache keeps for itself: one or more where it is to keep a share.
pub(in crate::mapping) fn kept_blocks(values: &Values, layout: &Layout) -> u32 {
    let pages = f64::from(layout.planes.max(1)) * f64::from(layout.pages_per_block.max(1));
    match values.get(BLOCKS) {
        Some(Value::Whole(blocks)) => *blocks as u32,
        Some(Value::Real(share)) if *share > 0.0 => {
            ((share * f64::from(layout.user_pages) / pages).round() as u32).max(1)
        }
        _ => 0,
    }
}

/// See the file.
pub(crate) struct SlcCache {
    /// Pages of a block of the cache.
    pages: u32,
    share: f64,
    kept: u32,
    fold_idle: bool,
    /// The host waits for folding while the cache is full.
    folds_first: bool,
    fold_below: f64,
    /// Free blocks that a lane has left when the cache takes another one.
    floor: usize,
    lanes: Vec<CachedLane>,
}

/// The cache in one lane.
#[derive(Clone, Copy, Debug, Default)]
struct CachedLane {
    /// Blocks with one bit a cell.
    in_use: u32,
    /// A write of the host waits until one of them is folded.
    waits: bool,
    /// In this idle time the host was led back to the cache.
    returned: bool,
}

/// Pages that the cache has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CachePages {
    /// At most.
    pub most: u64,
    /// That it could take now.
    pub free: u64,
}

impl SlcCache {
    /// Nothing is cached. `None`: there is to be no such cache. `free_blocks`: a lane is collected when it has no more.
    pub fn new(values: &Values, layout: &Layout, lanes: usize, free_blocks: u32) -> Option<Self> {
        let share = values.get(SHARE).map_or(0.0, |_| values.real(SHARE));
        let kept = kept_blocks(values, layout);
        let bits = values.get("flash.word_line_pages").map_or(1, |_| values.whole("flash.word_line_pages") as u32);
        (bits > 1 && (share > 0.0 || kept > 0)).then(|| Self {
            pages: layout.pages_per_block / bits,
            share,
            kept,
            fold_idle: values.on(FOLD_IDLE),
            folds_first: AFTER.read(values),
            fold_below: values.real(FOLD_BELOW),
            floor: free_blocks as usize + 1,
            lanes: vec![CachedLane::default(); lanes],
        })
    }

    /// Blocks that it may take in a lane now.
    fn may_take(&self, space: &Space, lane: usize) -> u32 {
        let (entry, used) = (&space.lanes[lane], self.lanes[lane].in_use);
        let room = entry.free().saturating_sub(self.least_free(entry.count()));
        let grows = self.limit(space, lane).saturating_sub(used).min(room as u32);
        grows.max(self.kept.saturating_sub(used))
    }

    /// A new idle time begins.
    pub fn idle_time_begins(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.returned = false);
    }

    /// Whether the host may be led back to the cache in a lane. Once in an idle time is enough: where collection has
    /// little room it opens closed blocks again.
    pub fn returns(&mut self, space: &Space, lane: usize) -> bool {
        self.may_take(space, lane) > 0 && !std::mem::replace(&mut self.lanes[lane].returned, true)
    }

    /// Blocks of a lane of so many that stay free beside the dynamic part.
    fn least_free(&self, blocks: u32) -> usize {
        self.floor.max((self.fold_below * f64::from(blocks)).ceil() as usize)
    }

    /// Blocks of a lane that the dynamic part takes now.
    fn limit(&self, space: &Space, lane: usize) -> u32 {
        let entry = &space.lanes[lane];
        self.limit_beside(entry.free() as u32 + entry.erasing() + self.lanes[lane].in_use, entry.count())
    }

    /// Blocks that the dynamic part takes of a lane of so many, of which `without_data` hold no folded data. Where
    /// writes wait for folding the cache gives way to folded data, so that they wait alike until the drive is full.
    fn limit_beside(&self, without_data: u32, blocks: u32) -> u32 {
        self.most_shared(if self.folds_first { without_data } else { blocks })
    }

    /// The dynamic part of so many blocks.
    fn most_shared(&self, blocks: u32) -> u32 {
        (self.share * f64::from(blocks)).ceil() as u32
    }

    /// Whether a lane has too few free blocks for the cache to grow as far as it may where the data, which needs so
    /// many blocks, fills its blocks: idle time mends that.
    pub fn is_short(&self, space: &Space, lane: usize, needed: u32) -> bool {
        let entry = &space.lanes[lane];
        let most = self.limit_beside(entry.count().saturating_sub(needed), entry.count());
        let wanted = most.saturating_sub(self.lanes[lane].in_use) as usize;
        self.fold_idle && entry.free() + (entry.erasing() as usize) < self.least_free(entry.count()) + wanted
    }

    /// Its largest contents, and its room now.
    pub fn pages(&self, space: &Space) -> CachePages {
        let mut pages = CachePages::default();
        for lane in 0..self.lanes.len() {
            let (entry, page) = (&space.lanes[lane], u64::from(self.pages));
            pages.most += page * u64::from(self.most_shared(entry.count()).max(self.kept));
            pages.free += page * u64::from(self.may_take(space, lane).min(entry.free() as u32));
        }
        pages
    }

    /// Pages of the next block for the host in a lane, if that is one of the cache; it counts from now on.
    pub fn take(&mut self, space: &Space, lane: usize) -> Option<u32> {
        if self.may_take(space, lane) == 0 {
            return None;
        }
        self.lanes[lane] = CachedLane { in_use: self.lanes[lane].in_use + 1, ..CachedLane::default() };
        Some(self.pages)
    }

    /// Whether a write of the host waits for a lane to be folded, rather than go to a block with all bits.
    pub fn is_waited_for(&self, space: &Space, lane: usize) -> bool {
        self.lanes[lane].waits && self.may_take(space, lane) == 0
    }

    /// A write of the host finds no block of the cache in a lane. `false`: it does not wait for one.
    pub fn begin_waiting(&mut self, space: &Space, lane: usize) -> bool {
        self.lanes[lane].waits = self.folds_first && self.lanes[lane].in_use > 0 && self.may_take(space, lane) == 0;
        self.lanes[lane].waits
    }

    /// No write waits in a lane.
    pub fn end_waiting(&mut self, lane: usize) {
        self.lanes[lane].waits = false;
    }

    /// A block of a lane is to be erased.
    pub fn note_erase(&mut self, state: &FlashState, lane: usize, block: BlockId) {
        self.lanes[lane].in_use -= u32::from(state.block(block).is_slc());
    }

    /// It is not, after all.
    pub fn note_erase_taken_back(&mut self, state: &FlashState, lane: usize, block: BlockId) {
        self.lanes[lane].in_use += u32::from(state.block(block).is_slc());
    }

    /// The block of a lane to be folded now: while the host is idle, few blocks are free, or a write waits for that.
    pub fn oldest<F: Flash>(&self, flash: &F, gc: &GcContext<'_>, lane: usize, idle: bool) -> Option<BlockId> {
        let entry = &gc.space.lanes[lane];
        let is_short = (entry.free() as f64) < self.fold_below * f64::from(entry.count());
        let is_due = idle && self.fold_idle || is_short || self.is_waited_for(gc.space, lane);
        if !is_due || self.lanes[lane].in_use == 0 {
            return None;
        }
        let cached = gc.settled(flash, lane).filter(|block| flash.state().block(*block).is_slc());
        cached.min_by_key(|block| gc.pages.blocks().closed_at(*block, 1)[0])
    }

    /// Counts the blocks of the cache that a power cut left.
    pub fn recount(&mut self, state: &FlashState, space: &Space) {
        for (lane, cached) in self.lanes.iter_mut().enumerate() {
            cached.in_use = space.lanes[lane].blocks().filter(|block| state.block(*block).is_slc()).count() as u32;
        }
    }

    /// Whether a drive with fewer blocks of the same spare share uses it alike: blocks that the cache or folding keep
    /// for themselves would be another share of the free blocks, of which both drives have equally many.
    pub fn scales(&self) -> bool {
        self.kept == 0 && self.fold_below == 0.0
    }

    /// Counts the blocks of the cache that a smaller drive, whose blocks stand in this one, has given it.
    pub fn tile(&mut self, small: &FlashState, space: &Space, tiled: &Tiled) {
        let is_cached = |block: &BlockId| {
            let TiledBlock { like, copy } = tiled.blocks[block.index()];
            let row = small.block(like);
            copy.is_some() && row.is_slc() && row.done > 0
        };
        for (lane, cached) in self.lanes.iter_mut().enumerate() {
            cached.in_use = space.lanes[lane].blocks().filter(is_cached).count() as u32;
        }
    }

    /// Each lane has as many such blocks as are counted.
    ///
    /// # Errors
    /// The first lane that has not.
    pub fn check(&self, state: &FlashState, space: &Space) -> Result<(), String> {
        for (lane, CachedLane { in_use: counted, .. }) in self.lanes.iter().enumerate() {
            let is_used = |block: &BlockId| state.block(*block).is_slc() && !state.block(*block).erase_pending();
            let found = space.lanes[lane].blocks().filter(is_used).count();
            if found != *counted as usize {
                return Err(format!("lane {lane} has {found} blocks with one bit a cell, {counted} are counted"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("slc.in_use", self.lanes.iter().map(|lane| lane.in_use));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let in_use = reader.get::<u32>("slc.in_use")?;
        if in_use.len() != self.lanes.len() {
            let problem = "the number of lanes differs".to_owned();
            return Err(SnapshotError::Unfit { section: "slc.in_use", problem });
        }
        self.lanes = in_use.into_iter().map(|in_use| CachedLane { in_use, ..CachedLane::default() }).collect();
        Ok(())
    }
}
