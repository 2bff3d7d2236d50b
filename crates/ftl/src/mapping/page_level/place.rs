//! Where pages go: the open blocks of a drive, and which of them a page may use.
//!
//! ```text
//! page of            host write           copy                 without another home
//! user data          Host | Own           Copies/Host | Own    Host | Own
//! translation        Translation          Translation          Translation
//! tombstone          Host | Translation   Copies/Host | Tr.    Host | Translation
//! ```
//! `Own` where each translation page has blocks of its own for its data; tombstones then go where
//! translation pages go, so that no data block is mixed.

use super::PageMap;
use super::entry::Back;
use super::parameters::Frontiers;
use super::scheme::{MOST_WRITE_BACKS, Scheme};
use super::state::Frontier;
use crate::alloc::Placement;
use nand::Flash;
use units::{Lpn, Ppn};

/// A stream of programs with an open block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// What the host writes, in each plane.
    Host,
    /// What collection copies, in each plane.
    Copies,
    /// Translation pages.
    Translation,
    /// The data of one translation page.
    Own(u32),
}

impl<S: Scheme> PageMap<S> {
    /// The stream of a page that needs a place outside of collection; `back` is its back entry.
    #[inline]
    pub(super) fn host_stream(&self, back: Back) -> Stream {
        if !S::DEMAND {
            return Stream::Host;
        }
        match back.logical() {
            Some(logical) if logical.0 >= self.translation.shape.user_pages => Stream::Translation,
            Some(logical) if S::OWN_BLOCKS => Stream::Own(self.translation.shape.page_of(logical.0)),
            None if S::OWN_BLOCKS => Stream::Translation,
            _ => Stream::Host,
        }
    }

    /// The stream of a page that collection moves.
    #[inline]
    pub(super) fn copy_stream(&self, back: Back) -> Stream {
        match self.host_stream(back) {
            Stream::Host if self.settings.frontiers == Frontiers::Separate => Stream::Copies,
            stream => stream,
        }
    }

    /// The stream of user data that collection moves, where all of it shares one.
    #[inline]
    pub(super) fn data_stream(&self) -> Stream {
        self.copy_stream(Back::data(Lpn(0)))
    }

    /// The open block of a stream, as seen from a plane.
    #[inline]
    pub(super) fn frontier(&self, lane: usize, stream: Stream) -> &Frontier {
        match stream {
            Stream::Host => &self.lanes[lane].host,
            Stream::Copies => &self.lanes[lane].copies,
            Stream::Translation => &self.translation.frontiers[self.translation.frontier_of(lane)],
            Stream::Own(page) => &self.translation.own[page as usize],
        }
    }

    #[inline]
    pub(super) fn frontier_mut(&mut self, lane: usize, stream: Stream) -> &mut Frontier {
        match stream {
            Stream::Host => &mut self.lanes[lane].host,
            Stream::Copies => &mut self.lanes[lane].copies,
            Stream::Translation => {
                let index = self.translation.frontier_of(lane);
                &mut self.translation.frontiers[index]
            }
            Stream::Own(page) => &mut self.translation.own[page as usize],
        }
    }

    /// The next page of a stream that has room. Blocks whose stream may not come back for long are
    /// closed as soon as they are full.
    #[inline]
    pub(super) fn take(&mut self, lane: usize, stream: Stream) -> Ppn {
        let frontier = self.frontier_mut(lane, stream);
        let page = frontier.take();
        if S::DEMAND && frontier.is_full() && matches!(stream, Stream::Translation | Stream::Own(_)) {
            let full = std::mem::replace(frontier, Frontier::NONE);
            self.pages.blocks.close(full.block.expect("an open block was filled"));
        }
        page
    }

    /// Gives back the page just taken for a host write of `logical`, before anything was programmed.
    #[cold]
    pub(super) fn put_back(&mut self, logical: Lpn, page: Ppn) {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page);
        let stream = self.host_stream(Back::data(logical));
        let reopened = Frontier::reopen(&self.geometry, block, position);
        let lane = self.lane_of(page);
        let frontier = self.frontier_mut(lane, stream);
        if frontier.block != Some(block) {
            debug_assert!(frontier.block.is_none(), "the page given back was taken last");
            *frontier = reopened;
            self.pages.blocks.take(block);
            return;
        }
        *frontier = reopened;
    }

    /// Closes the full frontier of a stream and opens a free block of the plane in its place.
    pub(super) fn open_block(&mut self, lane: usize, stream: Stream) {
        let block = self.lanes[lane].free.pop().expect("room was checked before a block was opened");
        self.empty_lanes += usize::from(self.lanes[lane].free.is_empty());
        let opened = Frontier::open(&self.geometry, block);
        let closed = std::mem::replace(self.frontier_mut(lane, stream), opened);
        if let Some(closed) = closed.block {
            self.pages.blocks.close(closed);
        }
    }

    /// A page for the host, without touching anything if there is none.
    #[inline]
    pub(super) fn host_page<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        if S::OWN_BLOCKS {
            return self.own_page(flash, logical);
        }
        if self.settings.placement == Placement::Static {
            return self.host_page_in(flash, self.home(logical));
        }
        self.page_in_turn(flash)
    }

    /// The lane that a page never leaves, where pages have one.
    #[inline]
    pub(super) fn home(&self, logical: Lpn) -> usize {
        self.order[self.division.run_of(logical.0) % self.order.len()] as usize
    }

    /// The next plane in striping order.
    #[inline]
    fn next_lane(&mut self) -> usize {
        let lane = self.order[self.turn] as usize;
        self.turn += 1;
        if self.turn == self.order.len() {
            self.turn = 0;
        }
        lane
    }

    /// A page in the next plane that has room.
    #[inline]
    fn page_in_turn<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        for _ in 0..self.order.len() {
            let lane = self.next_lane();
            if let Some(page) = self.host_page_in(flash, lane) {
                return Some(page);
            }
        }
        None
    }

    /// A page in the block of the translation page of `logical`, or in the next plane's free block.
    fn own_page<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        let stream = self.host_stream(Back::data(logical));
        for _ in 0..=self.order.len() {
            if !self.frontier(0, stream).is_full() && self.leaves_copies_room(0, stream) {
                return Some(self.take(0, stream));
            }
            let lane = self.next_lane();
            self.collect(flash, lane);
            // The collection may have given this stream an open block. One opened now is used at once:
            // another collection might fill it.
            if self.frontier(0, stream).is_full() && self.lanes[lane].free.len() > self.kept {
                self.open_block(lane, stream);
                return Some(self.take(0, stream));
            }
        }
        None
    }

    /// Whether the host may use the rest of an open block that copies use as well: not while a plane is
    /// without any free block, as a power cut in a collection may leave it, because the rest may be all
    /// that collection has to go on with. A plane with blocks to give away helps the others out.
    #[inline]
    fn leaves_copies_room(&self, lane: usize, stream: Stream) -> bool {
        let single = S::OWN_BLOCKS && stream != Stream::Translation || self.translation.frontiers.len() == 1;
        let empty = if single { self.empty_lanes > 0 } else { self.lanes[lane].free.is_empty() };
        !empty || self.lanes.iter().any(|lane| lane.free.len() > self.kept)
    }

    /// Collects in a plane that has no block to give away.
    fn make_free_block<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        // Copies and erases under way go on with the collection when they end; looking for a
        // victim again at each refused write would cost a scan for each plane.
        let under_way = self.lanes[lane].erasing > 0 || self.lanes[lane].in_flight > 0;
        if self.lanes[lane].free.len() <= self.kept && !under_way {
            self.collect(flash, lane);
        }
    }

    #[inline]
    fn host_page_in<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<Ppn> {
        let entry = &mut self.lanes[lane];
        // What is left of a shared block is promised to the copies once no other block is free.
        let promised = self.settings.frontiers == Frontiers::Shared && entry.free.len() < self.kept;
        if !entry.host.is_full() && !promised {
            return Some(entry.host.take());
        }
        self.host_page_in_next(flash, lane)
    }

    /// As [`PageMap::host_page_in`] when the open block is full. What is kept stays for
    /// collection: without an erased block no space could ever be reclaimed.
    #[cold]
    fn host_page_in_next<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Option<Ppn> {
        while self.lanes[lane].host.is_full() || self.lanes[lane].free.len() < self.kept {
            self.make_free_block(flash, lane);
            if self.lanes[lane].free.len() <= self.kept && self.close_full(lane) {
                self.collect(flash, lane);
            }
            let entry = &self.lanes[lane];
            if !entry.host.is_full() && entry.free.len() >= self.kept {
                break; // the rest of a shared block is no longer promised
            }
            if !entry.host.is_full() || entry.free.len() <= self.kept {
                if self.division.sheds && entry.erasing == 0 && entry.in_flight == 0 && !self.trims.shedding {
                    self.shed_tombstones(flash, lane);
                }
                return None;
            }
            self.open_block(lane, Stream::Host);
            self.collect(flash, lane);
        }
        Some(self.lanes[lane].host.take())
    }

    /// Closes frontiers that are full although nothing can be opened in their place: what became
    /// invalid in them may be all there is to reclaim.
    fn close_full(&mut self, lane: usize) -> bool {
        let entry = &mut self.lanes[lane];
        let full = [&mut entry.host, &mut entry.copies].map(|frontier| {
            let block = frontier.block.filter(|_| frontier.is_full());
            if block.is_some() {
                *frontier = Frontier::NONE;
            }
            block
        });
        full.into_iter().flatten().for_each(|block| self.pages.blocks.close(block));
        full.iter().any(Option::is_some)
    }

    /// A page for a copy, or for a record that collection writes, in this plane.
    pub(super) fn copy_page(&mut self, lane: usize, back: Back) -> Option<Ppn> {
        let stream = self.copy_stream(back);
        if self.frontier(lane, stream).is_full() {
            if self.lanes[lane].free.is_empty() {
                return None;
            }
            self.open_block(lane, stream);
        }
        if S::DEMAND && stream == Stream::Translation {
            self.use_promise(lane);
        }
        Some(self.take(lane, stream))
    }

    /// A page in another plane than `lane`, from what that one can spare. Collects nothing.
    pub(super) fn page_elsewhere(&mut self, lane: usize, back: Back) -> Option<Ppn> {
        let count = if S::PINNED && !back.is_tombstone() { 1 } else { self.lanes.len() };
        let total = self.lanes.len();
        (1..count).find_map(|step| self.page_to_spare((lane + step) % total, back))
    }

    /// A page of this plane that is promised to no collection. Collects nothing.
    pub(super) fn page_to_spare(&mut self, lane: usize, back: Back) -> Option<Ppn> {
        let stream = self.host_stream(back);
        let spare_block = self.lanes[lane].free.len() > self.kept;
        let room = self.frontier(lane, stream).room();
        let promised = match stream {
            Stream::Host if self.settings.frontiers == Frontiers::Shared && !spare_block => room,
            Stream::Translation => self.translation.promised_in(lane),
            _ => 0,
        };
        if room > promised {
            return Some(self.take(lane, stream));
        }
        if room > 0 || !spare_block {
            return None;
        }
        self.open_block(lane, stream);
        Some(self.take(lane, stream))
    }

    /// A page for a record in the lane with the most free blocks: small lanes may be full of data, and a trim frees
    /// room in one of them only.
    fn roomiest_page<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        let free = |lane: &usize| (self.lanes[*lane].free.len(), std::cmp::Reverse(*lane));
        let mut roomiest = (0..self.lanes.len()).max_by_key(free)?;
        if self.lanes[roomiest].free.len() <= self.kept {
            roomiest = (0..self.lanes.len()).min_by_key(|lane| self.valid_in(*lane))?;
        }
        self.host_page_in(flash, roomiest)
    }

    /// Valid pages of a lane.
    fn valid_in(&self, lane: usize) -> u32 {
        let (first, count) = (self.lanes[lane].first.0, self.lanes[lane].count);
        (first..first + count).map(|block| self.pages.blocks.valid_count(units::BlockId(block))).sum()
    }

    /// A page for a record that an operation of the host makes necessary.
    pub(super) fn record_page<F: Flash>(&mut self, flash: &mut F) -> Option<Ppn> {
        if self.division.of_segments {
            return self.roomiest_page(flash);
        }
        if !S::OWN_BLOCKS {
            return self.page_in_turn(flash);
        }
        let room = self.make_translation_room(flash, 1);
        room.then(|| self.translation_page()).flatten()
    }

    /// The next translation page that no collection was promised. Collects nothing.
    #[inline]
    pub(super) fn translation_page(&mut self) -> Option<Ppn> {
        for _ in 0..self.lanes.len() {
            let lane = self.translation.next_lane(self.lanes.len());
            let room = self.frontier(lane, Stream::Translation).room();
            if room > self.translation.promised_in(lane) && self.leaves_copies_room(lane, Stream::Translation) {
                return Some(self.take(lane, Stream::Translation));
            }
            if room == 0 && self.lanes[lane].free.len() > self.kept {
                self.open_block(lane, Stream::Translation);
                self.translation.note_opened(lane);
                return Some(self.take(lane, Stream::Translation));
            }
        }
        None
    }

    /// Translation pages the host may program in a plane without waiting.
    #[inline]
    fn translation_room_in(&self, lane: usize) -> u32 {
        let room = self.frontier(lane, Stream::Translation).room();
        let promised = self.translation.promised_in(lane);
        if room == 0 && self.lanes[lane].free.len() > self.kept {
            // Its first page is taken as it is opened; for the rest promises hold, and without another
            // spare block it is left to the copies of planes that have none.
            let single = self.translation.frontiers.len() == 1;
            let left = !(single && self.empty_lanes > 0) || self.spare_blocks() > 1;
            return 1 + if left { (self.geometry.pages_per_block - 1).saturating_sub(promised) } else { 0 };
        }
        if self.leaves_copies_room(lane, Stream::Translation) { room.saturating_sub(promised) } else { 0 }
    }

    /// Blocks that planes can give away.
    fn spare_blocks(&self) -> usize {
        self.lanes.iter().map(|lane| lane.free.len().saturating_sub(self.kept)).sum()
    }

    /// Whether `pages` translation pages can be programmed without waiting.
    #[inline]
    pub(super) fn has_translation_room(&self, pages: u32) -> bool {
        self.translation_room_in(self.translation.lane_in_turn()) >= pages || self.has_translation_room_anywhere(pages)
    }

    /// Tries what [`PageMap::translation_page`] would do so many times, with what each time changes.
    #[cold]
    fn has_translation_room_anywhere(&self, pages: u32) -> bool {
        const MOST: usize = MOST_WRITE_BACKS + 1;
        let single = self.translation.frontiers.len() == 1;
        let (mut rooms, mut opened) = ([(usize::MAX, 0); MOST], [usize::MAX; MOST]);
        let mut spare = self.spare_blocks();
        let mut lane = self.translation.lane_in_turn();
        let mut take = |time: usize| {
            let index = self.translation.frontier_of(lane);
            let changed = rooms.iter().rev().find(|room| room.0 == index);
            let room = changed.map_or_else(|| self.frontier(lane, Stream::Translation).room(), |room| room.1);
            let free = self.lanes[lane].free.len() - opened.iter().filter(|other| **other == lane).count();
            let empty = if single { self.empty_lanes > 0 } else { free == 0 };
            let promised = self.translation.promised_in(lane);
            let taken = if room > promised && (!empty || spare > 0) {
                rooms[time] = (index, room - 1);
                true
            } else if room == 0 && free > self.kept {
                rooms[time] = (index, self.geometry.pages_per_block - 1);
                opened[time] = lane;
                spare -= 1;
                true
            } else {
                false
            };
            lane = (lane + 1) % self.lanes.len();
            taken
        };
        (0..pages as usize).all(|time| (0..self.lanes.len()).any(|_| take(time)))
    }

    /// As [`PageMap::has_translation_room`], collecting where that may help.
    pub(super) fn make_translation_room<F: Flash>(&mut self, flash: &mut F, pages: u32) -> bool {
        if self.translation_room_in(self.translation.lane_in_turn()) >= pages {
            return true;
        }
        // The plane whose turn it is goes first: taking what others happen to have would pile
        // translation pages up on few of them.
        for _ in 0..self.lanes.len() {
            let lane = self.translation.lane_in_turn();
            self.make_free_block(flash, lane);
            if self.lanes[lane].free.len() <= self.kept && self.close_full(lane) {
                self.collect(flash, lane);
            }
            if self.translation_room_in(lane) >= pages || self.has_translation_room_anywhere(pages) {
                return true;
            }
            self.translation.next_lane(self.lanes.len());
        }
        false
    }
}
