//! A map on flash in the way of the mapping's operations: room for translation pages, before the cache is changed.
//!
//! Protects: no access changes the cache before there is room on flash for all that it writes back.

use super::{Translation, TranslationCounters};
use crate::FtlContext;
use crate::mapping::Layout;
use crate::mapping::page_level::Heard;
use crate::mapping::page_level::PageMap;
use crate::mapping::page_level::access::{MapAccess, Sharing, Use};
use crate::mapping::page_level::entry::Back;
use crate::mapping::page_level::old_versions::NoVersions;
use crate::mapping::page_level::pages::Pages;
use crate::mapping::page_level::parameters;
use crate::mapping::page_level::place::{NoRoom, WhenFull};
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::space::Space;
use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use nand::{CommandId, Completion, Flash, FlashState};
use units::{BlockId, HostOp, Lpn, Ppn};

impl<S: Scheme> MapAccess for Translation<S> {
    type Versions = NoVersions;
    const SHARING: Sharing = if S::OWN_BLOCKS { Sharing::Own } else { Sharing::Translation };

    fn shape(values: &Values, layout: &Layout) -> Result<TranslationShape, String> {
        parameters::translation_shape::<S>(values, layout)
    }

    fn new(context: &FtlContext<'_>, shape: TranslationShape) -> Self {
        let budget = parameters::cache_budget::<S>(context.values, shape);
        Self::over(S::new(shape, budget, context.values), shape, context, budget)
    }

    #[inline]
    fn operation_begins<F: Flash>(map: &mut PageMap<Self>, flash: &mut F) {
        if !map.access.repairs.is_empty() {
            map.access.repair(flash, &mut map.pages, &mut map.space);
        }
    }

    /// To be called where nothing is decided yet about the cache, since collection takes room.
    #[inline]
    fn collect_where_opened<F: Flash>(map: &mut PageMap<Self>, flash: &mut F) {
        while let Some(lane) = map.space.next_opened() {
            map.collect(flash, lane);
        }
    }

    #[inline]
    fn page_for_write<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, logical: Lpn) -> Result<Ppn, NoRoom> {
        Self::collect_where_opened(map, flash);
        if map.access.scheme.is_free(logical) {
            return data_page(map, flash, logical);
        }
        // Finding a page may start a collection that uses up the room found before; what is decided
        // about the cache after that still holds, as collections evict nothing.
        for _ in 0..3 {
            if !make_room(map, flash, S::WRITE_BACKS) {
                return Err(NoRoom::Full);
            }
            let page = data_page(map, flash, logical)?;
            if map.space.has_translation_room(S::WRITE_BACKS) {
                return Ok(page);
            }
            map.space.give_back(&mut map.pages, logical, page);
        }
        Err(NoRoom::Full)
    }

    fn record_page<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, when_full: WhenFull) -> Result<Ppn, NoRoom> {
        if !S::OWN_BLOCKS {
            return map.page_in_turn(flash, when_full);
        }
        let has_room = make_room(map, flash, 1);
        has_room.then(|| map.space.translation_page(&mut map.pages)).flatten().ok_or(NoRoom::Full)
    }

    #[inline]
    fn make_entry_room<F: Flash>(map: &mut PageMap<Self>, flash: &mut F, logical: Lpn) -> bool {
        Self::collect_where_opened(map, flash);
        map.space.has_translation_room(S::WRITE_BACKS)
            || map.access.scheme.is_free(logical)
            || make_room(map, flash, S::WRITE_BACKS)
    }

    /// 1. Without room for what the cache would evict, the translation page is read and not cached.
    /// 2. Otherwise the scheme changes its cache, and says what that takes.
    /// 3. What it evicts dirty is programmed.
    /// 4. What it misses is read; an entry in memory may still be on its way there, which is waited for.
    #[inline]
    fn translate<F: Flash>(
        &mut self,
        flash: &mut F,
        pages: &mut Pages,
        space: &mut Space,
        entry: &Use<'_>,
    ) -> Option<CommandId> {
        let Use { op, index, join, room } = *entry;
        let logical = op.at(index);
        let page = self.shape.page_of(logical);
        // What others may wait for must not go away with an operation that is taken back.
        let completion = if op.cancellable { Heard::Translation.notify(0) } else { Completion::Join(join) };
        if !room && !self.scheme.is_free(logical) {
            self.counters.misses += 1;
            self.counters.uncached += 1;
            return self.fetch(flash, pages, page, completion, None);
        }
        let access = Access {
            logical,
            request_end: op.at(op.pages - 1),
            change: op.op != HostOp::Read,
            at: pages.find(logical),
        };
        let mut plan = Plan::default();
        self.scheme.access(&access, &mut plan);
        if plan.hit {
            self.counters.hits += 1;
        } else {
            self.counters.misses += 1;
        }
        // An entry that is in memory may still be on its way there.
        let loading = self.loading[page.index()].filter(|_| plan.hit);
        // A read waits for what it evicts as long as that takes, but need not be there when a program
        // that failed finds no other place: the drive may be worn out.
        let evicted = if access.change { completion } else { Heard::Translation.notify(0) };
        let wait = self.write_back(flash, pages, space, &plan, evicted, loading);
        self.read_in(flash, pages, &plan, completion, wait)
    }

    #[inline]
    fn data_after(known: Option<CommandId>) -> Option<CommandId> {
        if S::DATA_FIRST { None } else { known }
    }

    #[inline]
    fn placed(&mut self, space: &mut Space, logical: Lpn, at: Ppn) {
        self.scheme.placed(logical, at);
        let lane = space.lanes.of(at);
        space.lanes.cursor(lane).host_wrote();
    }

    #[inline]
    fn entry_changed(&mut self, space: &mut Space, lane: usize, logical: Lpn, to: Ppn) {
        if !self.shape.is_users(logical) {
            return;
        }
        let page = self.shape.page_of(logical);
        if self.scheme.relocated(logical, to) || self.awaits_update[page.index()] {
            return;
        }
        self.awaits_update[page.index()] = true;
        space.lanes.cursor(lane).update_later(page);
    }

    #[inline]
    fn relocated(&mut self, space: &mut Space, lane: usize, logical: Lpn, to: Ppn) {
        if !self.shape.is_users(logical) {
            self.counters.copies += 1;
        }
        self.entry_changed(space, lane, logical, to);
    }

    fn collection_begins<F: Flash>(map: &mut PageMap<Self>, flash: &F, lane: usize, victim: BlockId, valid: &[u32]) {
        let promised = map.collector_and_context().1.emptying(flash, lane, victim).translation_pages();
        map.space.promise(lane, promised);
        map.access.count_victim(flash.state(), &map.pages, victim, valid);
    }

    /// A page that finds no room stays behind until a later collection, which is safe as long as memory knows.
    #[inline]
    fn next_update<F: Flash>(&mut self, flash: &mut F, pages: &mut Pages, space: &mut Space, lane: usize) -> bool {
        let Some(page) = space.lanes.cursor(lane).next_update() else { return false };
        // Whatever programmed it meanwhile wrote all that is known.
        if !self.awaits_update[page.index()] {
            return true;
        }
        let is_done = self.update_after_collection(flash, pages, space, lane, page);
        if !is_done {
            space.lanes.cursor(lane).update_later(page);
        }
        is_done
    }

    /// Notes which translation pages on flash are behind: dirty entries in memory are lost, and the
    /// scan found what they said.
    fn found(&mut self, image: &FlashState, pages: &Pages) {
        for page in self.shape.pages() {
            let at = pages.find(self.lpn(page));
            let record = at.and_then(|at| image.contents()?.record(at.0));
            if !self.record_agrees(pages, page, record) {
                self.stale[page.index()] = true;
                self.repairs.push(page);
            }
        }
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        if self.shape.is_users(logical) {
            self.scheme.prefetch(logical);
        }
    }

    /// Directory, cache, and what the scheme adds.
    fn ram_bytes(&self, _: &Pages) -> u64 {
        let directory = u64::from(self.shape.count) * S::DIRECTORY_BYTES;
        let scheme = &self.scheme;
        directory + scheme.cached_bytes() + scheme.overhead_bytes() + self.repair_bytes()
    }

    fn report(&self, space: &Space, report: &mut LayerReport) {
        self.report_counters(space, report);
    }

    fn reset_counters(&mut self) {
        self.counters = TranslationCounters::default();
        self.scheme.reset_counters();
    }

    fn check(&self, flash: &FlashState, pages: &Pages) -> Result<(), String> {
        self.check_laws(flash, pages)
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        self.save_state(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.load_state(reader)
    }
}

/// A page for data of the host, in the block of its translation page where each has its own.
#[inline]
fn data_page<S: Scheme, F: Flash>(
    map: &mut PageMap<Translation<S>>,
    flash: &mut F,
    logical: Lpn,
) -> Result<Ppn, NoRoom> {
    if S::OWN_BLOCKS { own_page(map, flash, logical).ok_or(NoRoom::Full) } else { map.page_for_data(flash, logical) }
}

/// A page in the block of the translation page of `logical`, or in the next lane's free block.
fn own_page<S: Scheme, F: Flash>(map: &mut PageMap<Translation<S>>, flash: &mut F, logical: Lpn) -> Option<Ppn> {
    let stream = map.space.host_stream(Back::data(logical));
    for _ in 0..=map.space.lanes.width() {
        if !map.space.frontier(0, stream).is_full() && map.space.leaves_copies_room(0, stream) {
            return Some(map.space.take(&mut map.pages, 0, stream));
        }
        let lane = map.space.lanes.next();
        map.space.lanes.end_run();
        map.collect(flash, lane);
        // The collection may have given this stream an open block. One opened now is used at once:
        // another collection might fill it.
        if map.space.frontier(0, stream).is_full() && map.space.lanes.can_give(lane) {
            map.space.open_block(&mut map.pages, lane, stream);
            return Some(map.space.take(&mut map.pages, 0, stream));
        }
    }
    None
}

/// Room for `pages` translation pages, made by collecting where that may help. `false`: there is none.
fn make_room<S: Scheme, F: Flash>(map: &mut PageMap<Translation<S>>, flash: &mut F, pages: u32) -> bool {
    if map.space.translation_room_in(map.space.translation_lane()) >= pages {
        return true;
    }
    // The lane whose turn it is goes first: taking what others happen to have would pile
    // translation pages up on few of them.
    for _ in 0..map.space.lanes.len() {
        let lane = map.space.translation_lane();
        map.make_free_block(flash, lane);
        if map.space.translation_room_in(lane) >= pages || map.space.has_translation_room_anywhere(pages) {
            return true;
        }
        map.space.pass_translation_lane();
    }
    false
}
