//! Room for what the host asks for: from what there is, or from what collection makes.
//!
//! ```text
//! MapAccess::page_for_write     a page for data, and room for its map entry
//!   page_for_data               in the lane of the page, or in the next one that has room
//!     page_in                   of one lane: the next page of its open block
//!       page_in_next_block      or of a block opened now, which collection may have to free first
//! ```

use super::PageMap;
use super::access::MapAccess;
use super::space::Stream;
use crate::alloc::Placement;
use nand::Flash;
use units::{Lpn, Ppn};

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Collection is behind the host, which waits until it is not.
    Outpaced,
    /// Nothing is erased that the host may use.
    Full,
}

/// The way out of a full lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Its tombstones go to other lanes, where lanes do that.
    ShedTombstones,
    /// Nothing: it is tombstones that look for room.
    GiveUp,
}

impl<A: MapAccess> PageMap<A> {
    /// A page for data of the host. Nothing is changed if there is none.
    #[inline]
    pub(super) fn page_for_data<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Result<Ppn, NoRoom> {
        if self.settings.placement == Placement::Static {
            return self.page_in(flash, self.space.lanes.home(logical), WhenFull::ShedTombstones);
        }
        self.page_in_turn(flash, WhenFull::ShedTombstones)
    }

    /// As [`PageMap::page_for_data`] where an open block has the page. `None`: nothing was changed.
    #[inline]
    pub(super) fn page_of_open_block(&mut self, logical: Lpn) -> Option<Ppn> {
        if self.settings.placement == Placement::Static {
            return self.space.next_of_host(self.space.lanes.home(logical));
        }
        let page = self.space.next_of_host(self.space.lanes.in_turn())?;
        self.space.lanes.next();
        Some(page)
    }

    /// A page for a record that an operation of the host makes necessary.
    pub(super) fn page_for_record<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> Result<Ppn, NoRoom> {
        if self.space.lanes.are_segments() {
            let roomiest = self.space.roomiest(&self.pages).ok_or(NoRoom::Full)?;
            return self.page_in(flash, roomiest, when_full);
        }
        A::record_page(self, flash, when_full)
    }

    /// A page in the next lane that has room.
    #[inline]
    pub(super) fn page_in_turn<F: Flash>(&mut self, flash: &mut F, when_full: WhenFull) -> Result<Ppn, NoRoom> {
        let mut why = NoRoom::Full;
        for _ in 0..self.space.lanes.width() {
            if self.settings.paced && self.is_outpaced(self.space.lanes.in_turn()) {
                why = NoRoom::Outpaced;
                self.space.lanes.pass_on();
                continue;
            }
            let lane = self.space.lanes.next();
            if let Some(page) = self.page_of(flash, lane, when_full) {
                return Ok(page);
            }
            self.space.lanes.end_run();
        }
        Err(why)
    }

    #[inline]
    fn page_in<F: Flash>(&mut self, flash: &mut F, lane: usize, when_full: WhenFull) -> Result<Ppn, NoRoom> {
        if self.settings.paced && self.is_outpaced(lane) {
            return Err(NoRoom::Outpaced);
        }
        self.page_of(flash, lane, when_full).ok_or(NoRoom::Full)
    }

    /// The same of a lane whose collection is not behind the host.
    #[inline]
    fn page_of<F: Flash>(&mut self, flash: &mut F, lane: usize, when_full: WhenFull) -> Option<Ppn> {
        self.space.next_of_host(lane).or_else(|| self.page_in_next_block(flash, lane, when_full))
    }

    /// Whether the collection of a lane is behind the host.
    #[inline(always)]
    pub(super) fn is_outpaced(&self, lane: usize) -> bool {
        self.space.lanes[lane].cursor.is_behind()
    }

    /// As [`PageMap::page_of`] when the open block is full. What is withheld stays for collection: without an erased
    /// block no space could ever be reclaimed.
    #[cold]
    fn page_in_next_block<F: Flash>(&mut self, flash: &mut F, lane: usize, when_full: WhenFull) -> Option<Ppn> {
        while !self.space.host_may_fill(lane) {
            self.make_free_block(flash, lane);
            if self.space.host_may_fill(lane) {
                break; // the rest of a shared block is no longer promised
            }
            if !self.space.lanes[lane].host_is_full() || !self.space.lanes.can_give(lane) {
                let sheds = when_full == WhenFull::ShedTombstones && self.space.lanes.are_shedding();
                if sheds && !self.space.lanes[lane].is_reclaiming() {
                    self.shed_tombstones(flash, lane);
                }
                return None;
            }
            if self.slc.is_some() && self.fold_for_host(flash, lane) {
                return None;
            }
            self.open_for_host(flash, lane);
            self.collect(flash, lane);
        }
        Some(self.space.take(&mut self.pages, lane, Stream::Host))
    }

    /// Collects in a lane that has no block to give away.
    pub(super) fn make_free_block<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        // Copies and erases under way go on with the collection when they end; looking for a
        // victim again at each refused write would cost a scan for each lane.
        if !self.space.lanes.can_give(lane) && !self.space.lanes[lane].is_reclaiming() {
            self.collect(flash, lane);
        }
        if !self.space.lanes.can_give(lane) && self.space.close_full(&mut self.pages, lane) {
            self.collect(flash, lane);
        }
    }

    /// Folds a block of the cache with one bit a cell, where the host writes through it although it is full. `false`:
    /// the host waits for nothing, and the next block may be opened.
    #[cold]
    fn fold_for_host<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let begins = self.slc.as_deref_mut().is_some_and(|slc| slc.begin_waiting(&self.space, lane));
        if !begins {
            return false;
        }
        self.space.close_full(&mut self.pages, lane); // the oldest block may be the last one that was filled
        if !self.space.lanes[lane].is_reclaiming() {
            self.collect(flash, lane);
        }
        let (_, gc) = self.collector_and_context();
        let Some(slc) = gc.slc else { return false };
        let ends = gc.space.lanes[lane].is_reclaiming() || gc.is_cache_settling(flash, lane);
        let waits = slc.is_waited_for(gc.space, lane) && ends;
        if !waits && let Some(slc) = &mut self.slc {
            slc.end_waiting(lane);
        }
        waits
    }

    /// Where idle time has nothing left to do, the host is led back to the cache with one bit a cell. Where memory
    /// forgets and erases wait for it, their programs are filled up first: folding goes on when they are erased.
    #[inline]
    pub(super) fn end_idle_work<F: Flash>(&mut self, flash: &mut F) {
        if self.slc.is_none() || !self.collector.idle || !self.space.lanes.all_wait_for_pins(flash.state()) {
            return;
        }
        if self.space.lanes.are_reclaiming() {
            self.hurry_all(flash);
        } else {
            (0..self.space.lanes.len()).for_each(|lane| self.return_to_cache(flash, lane));
        }
    }

    /// What the host writes next goes to the cache with one bit a cell if that has room, although the host has a block
    /// with all bits open.
    fn return_to_cache<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let open = self.space.frontier(lane, Stream::Host).block;
        let Some(block) = open.filter(|block| !flash.state().block(*block).is_slc()) else { return };
        let is_full = self.space.lanes[lane].host_is_full();
        if !is_full && self.slc.as_deref_mut().is_some_and(|slc| slc.returns(&self.space, lane)) {
            self.pad(flash, lane, Stream::Host, block); // nothing would ever fill up what memory holds of it
            self.space.hand_over(&mut self.pages, lane);
        }
    }

    /// Opens the next block for the host: one of the cache with one bit a cell, or one with all bits.
    fn open_for_host<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let cached = match &mut self.slc {
            Some(slc) => slc.take(&self.space, lane),
            None => None,
        };
        match cached {
            None => self.space.open_block(&mut self.pages, lane, Stream::Host),
            Some(size) => {
                flash.blocks_mut().use_slc(self.space.open_smaller(&mut self.pages, lane, Stream::Host, size));
            }
        }
    }
}
