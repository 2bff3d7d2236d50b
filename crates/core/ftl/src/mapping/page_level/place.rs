//! Room for what the host asks for: from what there is, or from what collection makes.

use super::PageMap;
use super::entry::Back;
use super::scheme::Scheme;
use super::space::Stream;
use crate::alloc::Placement;
use nand::Flash;
use units::{Lpn, Ppn};

/// What is done about a lane that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// Its tombstones go to other lanes, where lanes do that.
    ShedTombstones,
    /// Nothing: it is tombstones that look for room.
    GiveUp,
}

impl<S: Scheme> PageMap<S> {
    /// A page for the host, without touching anything if there is none.
    #[inline]
    pub(super) fn host_page<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        self.outpaced = false;
        if S::OWN_BLOCKS {
            return self.own_page(flash, logical);
        }
        if self.settings.placement == Placement::Static {
            return self.host_page_in(flash, self.space.lanes.home(logical), WhenFull::ShedTombstones);
        }
        self.page_in_turn(flash, WhenFull::ShedTombstones)
    }

    /// A page in the next lane that has room.
    #[inline]
    fn page_in_turn<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> Option<Ppn> {
        for _ in 0..self.space.lanes.width() {
            let lane = self.space.lanes.next();
            if let Some(page) = self.host_page_in(flash, lane, when_full) {
                return Some(page);
            }
        }
        None
    }

    /// A page in the block of the translation page of `logical`, or in the next lane's free block.
    fn own_page<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        let stream = self.space.host_stream(Back::data(logical));
        for _ in 0..=self.space.lanes.width() {
            if !self.space.frontier(0, stream).is_full() && self.space.leaves_copies_room(0, stream) {
                return Some(self.space.take(&mut self.pages, 0, stream));
            }
            let lane = self.space.lanes.next();
            self.collect(flash, lane);
            // The collection may have given this stream an open block. One opened now is used at once:
            // another collection might fill it.
            if self.space.frontier(0, stream).is_full() && self.space.lanes.can_give(lane) {
                self.space.open_block(&mut self.pages, lane, stream);
                return Some(self.space.take(&mut self.pages, 0, stream));
            }
        }
        None
    }

    /// Collects in a lane that has no block to give away.
    fn make_free_block<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        // Copies and erases under way go on with the collection when they end; looking for a
        // victim again at each refused write would cost a scan for each lane.
        if !self.space.lanes.can_give(lane) && !self.space.lanes[lane].is_reclaiming() {
            self.collect(flash, lane);
        }
        if !self.space.lanes.can_give(lane) && self.space.close_full(&mut self.pages, lane) {
            self.collect(flash, lane);
        }
    }

    #[inline]
    fn host_page_in<F: Flash>(&mut self, flash: &mut F, lane: usize, when_full: WhenFull) -> Option<Ppn> {
        if self.settings.paced && self.is_outpaced(lane) {
            return None;
        }
        let page = self.space.host_page(lane);
        if page.is_some() { page } else { self.host_page_in_next(flash, lane, when_full) }
    }

    /// The collection of a lane is behind the host, whose page waits until it is not.
    #[inline(never)]
    fn is_outpaced(&mut self, lane: usize) -> bool {
        let is_behind = self.space.lanes[lane].cursor.is_behind(self.geometry.pages_per_block);
        self.outpaced |= is_behind;
        is_behind
    }

    /// As [`PageMap::host_page_in`] when the open block is full. What is withheld stays for
    /// collection: without an erased block no space could ever be reclaimed.
    #[cold]
    fn host_page_in_next<F: Flash>(&mut self, flash: &mut F, lane: usize, when_full: WhenFull) -> Option<Ppn> {
        while !self.space.host_may_fill(lane) {
            self.make_free_block(flash, lane);
            if self.space.host_may_fill(lane) {
                break; // the rest of a shared block is no longer promised
            }
            if !self.space.lanes[lane].host_is_full() || !self.space.lanes.can_give(lane) {
                let sheds = when_full == WhenFull::ShedTombstones && self.space.lanes.shed();
                if sheds && !self.space.lanes[lane].is_reclaiming() {
                    self.shed_tombstones(flash, lane);
                }
                return None;
            }
            self.open_for_host(flash, lane);
            self.collect(flash, lane);
        }
        Some(self.space.take(&mut self.pages, lane, Stream::Host))
    }

    /// Opens the next block for the host: one of the cache with one bit a cell, or one with all bits.
    fn open_for_host<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let cached = match &mut self.slc {
            Some(slc) => slc.take(&self.space, lane),
            None => None,
        };
        match cached {
            None => self.space.open_block(&mut self.pages, lane, Stream::Host),
            Some(size) => flash.use_slc(self.space.open_smaller(&mut self.pages, lane, Stream::Host, size)),
        }
    }

    /// A page for a record that an operation of the host makes necessary.
    pub(super) fn record_page<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> Option<Ppn> {
        self.outpaced = false;
        if self.space.lanes.are_segments() {
            let roomiest = self.space.roomiest(&self.pages)?;
            return self.host_page_in(flash, roomiest, when_full);
        }
        if !S::OWN_BLOCKS {
            return self.page_in_turn(flash, when_full);
        }
        let room = self.make_translation_room(flash, 1);
        room.then(|| self.space.translation_page(&mut self.pages)).flatten()
    }

    /// Room for `pages` translation pages, made by collecting where that may help. `false`: there is none.
    pub(super) fn make_translation_room<F: Flash>(&mut self, flash: &mut F, pages: u32) -> bool {
        if self.space.translation_room_in(self.space.translation_lane()) >= pages {
            return true;
        }
        // The lane whose turn it is goes first: taking what others happen to have would pile
        // translation pages up on few of them.
        for _ in 0..self.space.lanes.len() {
            let lane = self.space.translation_lane();
            self.make_free_block(flash, lane);
            if self.space.translation_room_in(lane) >= pages || self.space.has_translation_room_anywhere(pages) {
                return true;
            }
            self.space.pass_translation_lane();
        }
        false
    }

    /// Collects where blocks went to translation pages, as after a block of data: to be called where nothing is decided
    /// yet about the cache, since collection takes room.
    #[inline]
    pub(super) fn collect_opened<F: Flash>(&mut self, flash: &mut F) {
        while S::DEMAND
            && let Some(lane) = self.space.next_opened()
        {
            self.collect(flash, lane);
        }
    }

    /// A page for a host write, with room for the translation pages its entry may cost.
    #[inline]
    pub(super) fn host_page_with_room<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        if !S::DEMAND {
            let page = self.host_page(flash, logical);
            let may_make_way = S::PINNED && page.is_none() && self.trims.tombstones().have_copies();
            if may_make_way && self.trims.make_way(flash, &mut self.pages, &mut self.space) {
                return self.host_page(flash, logical);
            }
            return page;
        }
        self.collect_opened(flash);
        if self.translation.scheme.is_free(logical) {
            return self.host_page(flash, logical);
        }
        // Finding a page may start a collection that uses up the room found before; what is decided
        // about the cache after that still holds, as collections evict nothing.
        for _ in 0..3 {
            if !self.make_translation_room(flash, S::WRITE_BACKS) {
                return None;
            }
            let page = self.host_page(flash, logical)?;
            if self.space.has_translation_room(S::WRITE_BACKS) {
                return Some(page);
            }
            self.space.give_back(&mut self.pages, logical, page);
        }
        None
    }

    /// Whether the entry of `logical` can be used, and brought in if it is missing.
    #[inline]
    pub(super) fn admits_access<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> bool {
        self.collect_opened(flash);
        !S::DEMAND
            || self.space.has_translation_room(S::WRITE_BACKS)
            || self.translation.scheme.is_free(logical)
            || self.make_translation_room(flash, S::WRITE_BACKS)
    }
}
