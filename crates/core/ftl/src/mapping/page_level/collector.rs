//! Which block is emptied next: the policy's choice, or what there is room for.

use super::fail::Homeless;
use super::pages::Pages;
use super::parameters::{Frontiers, Settings, ahead};
use super::refresh::Due;
use super::slc::SlcCache;
use super::space::Space;
use super::space::admission::Emptying;
use super::together::Together;
use super::trims::Trims;
use crate::FtlContext;
use crate::gc::{Keys, VictimPolicy, VictimView, build_victim};
use engine::random::Stream;
use nand::Flash;
use units::{BlockId, Cause};

/// Full blocks a policy may choose, where one may not be moved, before it is not asked any more.
const FULL_PICKS: usize = 8;
/// Full blocks in a row, for each block of a lane, after which a policy is overruled as it goes in circles: one that
/// takes each in turn needs one, one that draws lots finds another block before but once in e^64 times, and one that
/// evens out wear needs as many as the wear differs.
const CIRCLES: u32 = 64;
/// Background collection takes a block of which at least this part is invalid. Without such a limit it went on without
/// end where there is less spare flash than it is to keep free: each page that the host wrote let it copy a block.
const WORTH_IN_IDLE_TIME: u32 = 16;
/// Collections between two looks at the spread of wear.
const LEVEL_EVERY: u32 = 8;

/// The victim policy.
pub(crate) struct Collector {
    policy: Box<dyn VictimPolicy>,
    pub stream: Stream,
    /// Blocks of one number in all lanes are collected as one.
    pub together: Option<Together>,
    /// Planes collect one after the other.
    in_turn: bool,
    frontiers: Frontiers,
    /// Copies keep pace with the host's writes.
    paced: bool,
    /// Collection begins when a lane has this many erased (or being erased) blocks or fewer.
    free_blocks: u32,
    /// The same while the host is idle; 0: no background collection.
    background_free_blocks: u32,
    /// Difference of erase counts that starts static wear levelling; 0: never.
    level_gap: u32,
    /// The host is idle.
    pub idle: bool,
    /// Blocks to be written anew.
    pub due: Due,
    /// Full blocks that the policy chose and that were not taken, as it chose nothing else, since counting began.
    pub overruled: u64,
    /// Blocks moved to even out wear since counting began.
    pub levelled_blocks: u64,
}

/// The tables that a collector looks at and may change.
pub(crate) struct GcContext<'a> {
    pub pages: &'a mut Pages,
    pub space: &'a mut Space,
    pub trims: &'a Trims,
    pub homeless: &'a Homeless,
    pub slc: Option<&'a SlcCache>,
    pub pages_per_block: u32,
    /// Tombstones may be moved to other lanes to make room in one. In idle times lanes would send them to and fro.
    pub sheds: bool,
}

impl Collector {
    pub fn new(context: &FtlContext<'_>, settings: &Settings, lanes: usize) -> Self {
        Self {
            policy: build_victim(context.values.name("ftl.gc.victim"), context.values),
            stream: Stream::new(context.seed, &format!("ftl.{}", context.owner)),
            together: settings.superblocks.then(|| Together::new(lanes)),
            in_turn: context.stripes.is_some_and(|stripes| stripes.in_turn),
            frontiers: settings.frontiers,
            paced: settings.paced,
            free_blocks: settings.free_blocks,
            background_free_blocks: settings.background_free_blocks,
            level_gap: settings.level_gap,
            idle: false,
            due: Due::default(),
            overruled: 0,
            levelled_blocks: 0,
        }
    }

    /// Free blocks at which a lane has to collect, idle or not.
    fn wanted_free(&self, space: &Space, lane: usize) -> u32 {
        // As long as a shared block has room nothing is short but what collection itself must have. Where a lane has
        // one block to spare, collecting for more would go on until nothing in it is invalid.
        let shares =
            !space.has_translation_pages() && self.frontiers == Frontiers::Shared && !space.lanes[lane].host_is_full();
        // Room that the host will need is made when it asks for it: until then nothing is due.
        let needed = if self.idle { 0 } else { (space.lanes.withheld() as u32).saturating_sub(u32::from(shares)) };
        // What is made in time is made beside what others are kept from.
        let ahead = ahead(self.paced && !self.idle, space.lanes.withheld() as u32);
        self.free_blocks.max(needed).max(ahead)
    }

    /// The block of a lane to be emptied next, if there is need and room for what it holds. The first of these:
    /// 1. A block with failed programs, once each of them has another place; not while others still look for one.
    /// 2. The oldest block with one bit a cell, in idle times or where its folding is due.
    /// 3. A block whose refresh is due, if this lane may collect now.
    /// 4. In idle times, a block of which at most half is valid, if the cache with one bit a cell has no room.
    /// 5. Where free blocks are short: the victim that [`Collector::choose`] names, if all it holds finds room. In idle
    ///    times one that gives enough room will do for more free blocks than that.
    /// 6. If it does not, and no erase under way will make room: the cheapest victim that does.
    /// 7. Failing that: one that is emptied into other lanes; or closed blocks are opened again, and all begins anew.
    pub fn next_victim<F: Flash>(
        &mut self,
        flash: &F,
        gc: &mut GcContext<'_>,
        lane: usize,
    ) -> Option<(BlockId, Cause)> {
        let entry = &gc.space.lanes[lane];
        let free = entry.free() as u32 + entry.erasing();
        let is_short = free <= self.wanted_free(gc.space, lane) || !gc.homeless.is_empty();
        let wanted = is_short || self.idle && free <= self.background_free_blocks;
        let erasing = entry.erasing() > 0;
        let settled = entry.failing().iter().find(|failing| {
            let row = flash.state().block(failing.block);
            u32::from(row.issued - row.done) <= failing.settled
                && gc.emptying(flash, lane, failing.block).is_admitted(true)
        });
        if let Some(failing) = settled
            && gc.homeless.is_empty()
        {
            return Some((failing.block, Cause::Wear));
        }
        let cached = gc.slc.filter(|_| !erasing).and_then(|slc| slc.oldest(flash, gc, lane, self.idle));
        if let Some(block) = cached
            && gc.emptying(flash, lane, block).is_admitted(true)
            && !gc.homeless.pins(block)
        {
            return Some((block, Cause::Fold));
        }
        let waits_for_turn = self.in_turn && gc.homeless.is_empty() && gc.space.lanes.another_collects(lane);
        if !waits_for_turn && let Some(block) = self.due.next(flash, gc, lane) {
            return Some((block, Cause::Refresh));
        }
        if self.idle
            && !wanted
            && let Some(block) = gc.sparse_for_cache(flash, lane)
        {
            return Some((block, Cause::Gc));
        }
        // Whoever waits for its turn has been refused room, and is told when an erase makes some anywhere.
        if !wanted || waits_for_turn {
            return None;
        }
        let least_gain = if is_short { 0 } else { gc.pages_per_block.div_ceil(WORTH_IN_IDLE_TIME) };
        let (block, cause) = self.choose(flash, gc, lane, least_gain)?;
        if gc.emptying(flash, lane, block).is_admitted(true) && !gc.homeless.pins(block) {
            return Some((block, cause));
        }
        if !is_short || erasing && gc.homeless.is_empty() {
            return None; // an erase already issued will make room; failed programs may hold it up
        }
        // Nothing else will make room (this happens right after a power cut): the cheapest victim.
        let least = gc.least_admitted(flash, lane);
        let found = least.or_else(|| gc.evacuated(flash, lane)).map(|block| (block, Cause::Gc));
        if found.is_none() && gc.reopen_closed(flash, lane) {
            return self.next_victim(flash, gc, lane);
        }
        found
    }

    /// The victim of a lane, whether or not there is room for what it holds.
    /// 1. Wear levelling goes first: the least worn closed block, if wear has drifted apart.
    /// 2. Where superblocks are collected: the next block of the one being emptied.
    /// 3. Otherwise the policy picks a candidate.
    /// 4. A pick with programs under way, or with nothing to gain where a full block may not be moved now, is
    ///    set aside, and the policy picks again.
    /// 5. After too many full blocks, in this pick or one after the other, the block that gains most is taken instead.
    /// 6. What was set aside counts as a candidate again.
    ///
    /// `least_gain`: invalid pages that a pick of the policy has at least.
    fn choose<F: Flash>(
        &mut self,
        flash: &F,
        gc: &mut GcContext<'_>,
        lane: usize,
        least_gain: u32,
    ) -> Option<(BlockId, Cause)> {
        // Moving a full block makes garbage of translation pages, which is worth collecting, which
        // gives room to move a full block: once is enough until the host has written.
        let may_move_full = !gc.space.has_translation_pages() || !gc.space.lanes[lane].cursor.has_moved_full();
        if may_move_full && let Some(cold) = self.cold_block(flash, gc, lane) {
            gc.space.lanes.cursor(lane).levels();
            self.levelled_blocks += 1;
            return Some((cold, Cause::Wear));
        }
        if let Some(together) = &mut self.together
            && let Some(block) = together.next(flash, gc, (lane, least_gain), &mut *self.policy, &mut self.stream)
        {
            gc.space.lanes.cursor(lane).picked(true);
            return Some((block, Cause::Gc));
        }
        let (first, count) = (gc.space.lanes[lane].first(), gc.space.lanes[lane].count());
        // Blocks with programs still under way are no victims yet; they are set aside for this pick.
        let mut aside = Vec::new();
        let mut full = 0;
        let choice = loop {
            let view = VictimView {
                keys: Keys::Blocks(gc.pages.blocks().keys(first, count)),
                closed_at: gc.pages.blocks().closed_at(first, count),
                closings: gc.pages.blocks().closings(),
                rows: &flash.state().blocks()[first.index()..first.index() + count as usize],
                pages_per_block: gc.pages_per_block,
            };
            let Some(pick) = self.policy.pick(&view, &mut self.stream) else { break None };
            let block = BlockId(first.0 + pick as u32);
            assert!(gc.pages.blocks().is_candidate(block), "the victim policy chose block {block}, no candidate");
            if gc.pages.blocks().valid_count(block) + least_gain > gc.pages_per_block {
                break None;
            }
            let row = flash.state().block(block);
            let gains = gc.gains(lane, block);
            // A policy may waste a copy of a full block (random does), as long as some other block
            // has something to gain; otherwise collection would go round in circles.
            let least = || view.least_valid().and_then(|block| view.valid(block));
            let harmless = || least().is_some_and(|least| least < gc.pages_per_block);
            if row.done == row.issued && (gains || may_move_full && harmless()) {
                let full_in_a_row = gc.space.lanes.cursor(lane).picked(gains);
                if full_in_a_row > CIRCLES * count {
                    self.overruled += 1;
                    break gc.least_gaining(flash, lane);
                }
                break Some(block);
            }
            full += usize::from(!gains);
            if full == FULL_PICKS {
                break gc.least_gaining(flash, lane);
            }
            gc.pages.withdraw(block);
            aside.push(block);
        };
        for block in aside {
            gc.pages.put_back(block);
        }
        choice.map(|block| (block, Cause::Gc))
    }

    /// Whether the victim policy leaves the same shares of valid pages on a drive with fewer blocks.
    pub fn scales(&self) -> bool {
        self.policy.scales(self.together.is_some())
    }

    /// The least worn closed block, when the lane's wear has drifted apart.
    fn cold_block<F: Flash>(&self, flash: &F, gc: &GcContext<'_>, lane: usize) -> Option<BlockId> {
        let gap = self.level_gap;
        if gap == 0 || !gc.pages.blocks().closings().is_multiple_of(LEVEL_EVERY) {
            return None;
        }
        let erases = |block: BlockId| flash.state().block(block).erases;
        let is_usable = |block: &BlockId| !flash.state().block(*block).is_bad();
        let most = gc.space.lanes[lane].blocks().filter(is_usable).map(erases).max()?;
        let cold = gc.settled(flash, lane).min_by_key(|block| erases(*block))?;
        (most - erases(cold) > gap).then_some(cold)
    }
}

impl GcContext<'_> {
    /// Emptying a block gives room in its lane: not all of it is valid, or some of it is a tombstone that another lane
    /// can take.
    #[inline]
    pub fn gains(&self, lane: usize, block: BlockId) -> bool {
        self.pages.blocks().valid_count(block) < self.pages_per_block
            || self.sheds && self.sheds_tombstones(lane, block)
    }

    #[cold]
    fn sheds_tombstones(&self, lane: usize, block: BlockId) -> bool {
        let lanes = &self.space.lanes;
        let can_take = |other: usize| other != lane && lanes.can_give(other);
        self.pages.tombstones_in(block) > 0 && (0..lanes.len()).any(can_take)
    }

    /// A block of a lane that may be emptied.
    pub fn emptying<F: Flash>(&self, flash: &F, lane: usize, block: BlockId) -> Emptying<'_> {
        let held = !self.trims.is_empty() && flash.state().block(block).pins() > 0;
        Emptying { space: self.space, pages: self.pages, lane, block, held }
    }

    /// The blocks of a lane that collection may take and where no program is under way.
    pub fn settled<F: Flash>(&self, flash: &F, lane: usize) -> impl Iterator<Item = BlockId> + Clone {
        self.space.lanes[lane].blocks().filter(|block| {
            let row = flash.state().block(*block);
            self.pages.blocks().is_candidate(*block) && row.done == row.issued
        })
    }

    /// The block with the fewest valid pages, if at most half of them are and the cache of blocks with one bit a cell
    /// wants for free blocks.
    fn sparse_for_cache<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let slc = self.slc?;
        let valid = |block: &BlockId| self.pages.blocks().valid_count(*block);
        let live = self.space.lanes[lane].blocks().map(|block| valid(&block)).sum::<u32>();
        if !slc.is_short(self.space, lane, live.div_ceil(self.pages_per_block)) {
            return None;
        }
        let blocks = self.settled(flash, lane).filter(|block| !self.homeless.pins(*block));
        let least = blocks.min_by_key(valid).filter(|block| 2 * valid(block) <= self.pages_per_block)?;
        self.emptying(flash, lane, least).is_admitted(true).then_some(least)
    }

    /// Whether a block of a lane with one bit a cell was filled and its programs are under way.
    pub fn is_cache_settling<F: Flash>(&self, flash: &F, lane: usize) -> bool {
        self.space.lanes[lane].blocks().any(|block| {
            let row = flash.state().block(block);
            row.is_slc() && self.pages.blocks().is_candidate(block) && row.done != row.issued
        })
    }

    /// The block with the fewest valid pages among those whose copies find room.
    fn least_admitted<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let blocks = self.settled(flash, lane).filter(|block| !self.homeless.pins(*block));
        let valid = |block: &BlockId| self.pages.blocks().valid_count(*block);
        // Mostly the first choice is admitted; asking every block would be slow.
        let least = blocks.clone().min_by_key(valid)?;
        if self.emptying(flash, lane, least).is_admitted(false) {
            return Some(least);
        }
        blocks.filter(|block| self.emptying(flash, lane, *block).is_admitted(false)).min_by_key(valid)
    }

    /// Goes on filling a block that a power cut left closed with pages to spare: all that is left
    /// when the blocks kept for collection failed. `false`: there is none, or other room will come.
    #[cold]
    fn reopen_closed<F: Flash>(&mut self, flash: &F, lane: usize) -> bool {
        let entry = &self.space.lanes[lane];
        if entry.free() > 0 || entry.is_reclaiming() {
            return false;
        }
        let blocks = self.settled(flash, lane).filter(|block| {
            let row = flash.state().block(*block);
            let stream = self.space.stream_of(self.pages, *block);
            u32::from(row.done) < flash.state().pages_of(*block)
                && !row.has_failed()
                && self.space.frontier(lane, stream).is_full()
        });
        let Some(block) = blocks.min_by_key(|block| flash.state().block(*block).done) else { return false };
        let stream = self.space.stream_of(self.pages, block);
        self.space.reopen(self.pages, flash.state(), lane, stream, block);
        true
    }

    /// The cheapest victim of a lane without any room, if other lanes can take what it holds.
    fn evacuated<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        if self.space.lanes[lane].cursor.copies_under_way() > 0 || self.space.is_pinned() {
            return None;
        }
        let pages = self.pages_per_block;
        let room = self.space.lanes.spare_blocks_beside(lane) as u32 * pages;
        let blocks = self.settled(flash, lane).filter(|block| !self.homeless.pins(*block));
        let least = blocks.min_by_key(|block| self.pages.blocks().valid_count(*block))?;
        (self.pages.blocks().valid_count(least) < room.min(pages)).then_some(least)
    }

    /// The block with the fewest valid pages, if one gives room.
    #[cold]
    fn least_gaining<F: Flash>(&self, flash: &F, lane: usize) -> Option<BlockId> {
        let mut blocks = self.settled(flash, lane);
        let least = blocks.clone().min_by_key(|block| self.pages.blocks().valid_count(*block))?;
        if self.pages.blocks().valid_count(least) < self.pages_per_block {
            return Some(least);
        }
        blocks.find(|block| self.gains(lane, *block))
    }
}
