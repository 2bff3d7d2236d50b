//! Where pages go: the lanes of a drive, their free and open blocks, and which of them a page may use.
//!
//! ```text
//! page of            host write           copy                 without another home
//! user data          Host | Own           Copies/Host | Own    Host | Own
//! translation        Translation          Translation          Translation
//! tombstone          Host | Translation   Copies/Host | Tr.    Host | Translation
//! ```
//! `Own` where each translation page has blocks of its own for its data; tombstones then go where
//! translation pages go, so that no data block is mixed.
//!
//! Only this owner opens, closes, frees and gives up blocks. It never collects: who finds no room here collects and
//! asks again.
//!
//! *Protects*: a block is free, open, closed, being emptied, or given up, and one of these only; what collections were
//! promised is kept from everybody else.

pub(super) mod admission;
mod lane;
mod lanes;
mod superblocks;
pub(super) mod tile;
mod translation;

use lane::{Failing, Frontier};

use super::access::Sharing;
use super::entry::Back;
use super::pages::Pages;
use super::parameters::{Frontiers, Settings, kept};
use super::scheme::{MOST_WRITE_BACKS, TranslationShape};
use crate::FtlContext;
use crate::alloc::Placement;
use lanes::Lanes;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::FlashState;
use translation::TranslationBlocks;
use units::{BlockId, DieId, Geometry, Lpn, Ppn, Tpn};

/// A stream of programs with an open block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// What the host writes, in each lane.
    Host,
    /// What collection copies, in each lane.
    Copies,
    Translation,
    /// The data of one translation page.
    Own(Tpn),
}

/// What a lane has for the next translation page.
enum Offer {
    /// A page of the open block.
    Rest,
    Block,
}

/// The one allocator of a drive.
pub(crate) struct Space {
    geometry: Geometry,
    shape: TranslationShape,
    frontiers: Frontiers,
    placement: Placement,
    /// Lanes and their free blocks.
    pub lanes: Lanes,
    /// Open blocks of translation pages.
    translation: TranslationBlocks,
    sharing: Sharing,
    /// Data never leaves its lane.
    pinned: bool,
    /// Blocks of a lane without user data that collection cannot do without.
    least_reserve: u32,
}

impl Space {
    /// Every erased block is free; none is open.
    pub fn new(context: &FtlContext<'_>, state: &FlashState, settings: &Settings, shape: TranslationShape) -> Self {
        let open = if settings.one_translation_block { 1 } else { context.geometry.planes() as usize };
        let mut space = Self {
            geometry: context.geometry,
            shape,
            frontiers: settings.frontiers,
            placement: settings.placement,
            lanes: Lanes::new(context, state, settings),
            translation: TranslationBlocks::new(settings.sharing, open, shape.count as usize),
            sharing: settings.sharing,
            pinned: context.stripes.is_some(),
            least_reserve: settings.least_reserve(),
        };
        space.withhold(state, context.user_pages + shape.count);
        space
    }

    /// Where blocks fail, the one kept for collection may as well: as long as there are blocks to spare each lane keeps
    /// a second, as [`super::parameters::kept_for_failures`] says beforehand. As long as blocks fail only when they are
    /// worn out, it does so from the first that is. `pages`: logical pages of the drive.
    pub fn withhold(&mut self, state: &FlashState, pages: u32) {
        let reserve = self.least_reserve + 1;
        let spare = state.expects_failures() && self.lanes.have_more_than(state, self.placement, reserve, pages);
        self.lanes.withheld = kept(self.sharing) as usize + usize::from(spare);
    }

    /// The stream of a page that needs a place outside of collection; `back` is its back entry.
    #[inline]
    pub fn host_stream(&self, back: Back) -> Stream {
        match (self.sharing, back.logical()) {
            (Sharing::Data, _) => Stream::Host,
            (_, Some(logical)) if !self.shape.is_users(logical) => Stream::Translation,
            (Sharing::Own, Some(logical)) => Stream::Own(self.shape.page_of(logical)),
            (Sharing::Own, None) => Stream::Translation,
            (Sharing::Translation, _) => Stream::Host,
        }
    }

    /// The stream of a page that collection moves.
    #[inline]
    fn copy_stream(&self, back: Back) -> Stream {
        match self.host_stream(back) {
            Stream::Host if self.frontiers == Frontiers::Separate => Stream::Copies,
            stream => stream,
        }
    }

    /// The stream of user data that collection moves, where all of it shares one.
    #[inline]
    fn data_stream(&self) -> Stream {
        self.copy_stream(Back::data(Lpn(0)))
    }

    /// The stream whose copies a block holds; all its valid pages are of one kind, or it has none.
    pub fn stream_of(&self, pages: &Pages, block: BlockId) -> Stream {
        if self.sharing == Sharing::Data {
            return self.data_stream();
        }
        let first = pages.blocks().valid_pages_of(block).next();
        first.map_or_else(|| self.data_stream(), |page| self.copy_stream(pages.back(Ppn(page))))
    }

    /// The open block of a stream, as seen from a lane.
    #[inline]
    pub fn frontier(&self, lane: usize, stream: Stream) -> &Frontier {
        match stream {
            Stream::Host => &self.lanes[lane].host,
            Stream::Copies => &self.lanes[lane].copies,
            Stream::Translation => &self.translation.open[self.translation.index(lane)],
            Stream::Own(page) => &self.translation.own[page.index()],
        }
    }

    #[inline]
    fn frontier_mut(&mut self, lane: usize, stream: Stream) -> &mut Frontier {
        match stream {
            Stream::Host => &mut self.lanes.at(lane).host,
            Stream::Copies => &mut self.lanes.at(lane).copies,
            Stream::Translation => {
                let index = self.translation.index(lane);
                &mut self.translation.open[index]
            }
            Stream::Own(page) => &mut self.translation.own[page.index()],
        }
    }

    /// The next page of a stream that has room. Blocks whose stream may not come back for long are
    /// closed as soon as they are full.
    #[inline]
    pub fn take(&mut self, pages: &mut Pages, lane: usize, stream: Stream) -> Ppn {
        let frontier = self.frontier_mut(lane, stream);
        let page = frontier.take();
        if matches!(stream, Stream::Translation | Stream::Own(_)) && frontier.is_full() {
            let full = std::mem::replace(frontier, Frontier::NONE);
            pages.close(full.block.expect("an open block was filled"));
        }
        page
    }

    /// Gives back the page just taken for a host write of `logical`, before anything was programmed.
    #[cold]
    pub fn give_back(&mut self, pages: &mut Pages, logical: Lpn, page: Ppn) {
        let block = self.geometry.block_of(page);
        let position = self.geometry.page_in_block(page);
        let stream = self.host_stream(Back::data(logical));
        let reopened = Frontier::reopen(&self.geometry, block, position, self.geometry.pages_per_block);
        let lane = self.lanes.of(page);
        let frontier = self.frontier_mut(lane, stream);
        if frontier.block != Some(block) {
            debug_assert!(frontier.block.is_none(), "the page given back was taken last");
            pages.withdraw(block);
        }
        *frontier = reopened;
    }

    /// Closes the full open block of a stream and opens a free block of the lane in its place.
    pub fn open_block(&mut self, pages: &mut Pages, lane: usize, stream: Stream) {
        self.open_smaller(pages, lane, stream, self.geometry.pages_per_block);
    }

    /// The same with a block that has `size` pages as it is used.
    pub fn open_smaller(&mut self, pages: &mut Pages, lane: usize, stream: Stream, size: u32) -> BlockId {
        let block = self.lanes.pop(lane, stream);
        let opened = Frontier::open(&self.geometry, block, size);
        let closed = std::mem::replace(self.frontier_mut(lane, stream), opened);
        if let Some(closed) = closed.block {
            pages.close(closed);
        }
        block
    }

    /// Makes a closed block with pages to spare the open block of a stream.
    pub fn reopen(&mut self, pages: &mut Pages, state: &FlashState, lane: usize, stream: Stream, block: BlockId) {
        pages.withdraw(block);
        let frontier =
            Frontier::reopen(&self.geometry, block, u32::from(state.block(block).done), state.pages_of(block));
        let old = std::mem::replace(self.frontier_mut(lane, stream), frontier);
        if let Some(closed) = old.block {
            pages.close(closed);
        }
    }

    /// The host's open block is no longer its own: copies go on in it if they have no block, otherwise it is closed and
    /// the rest of it stays unused.
    pub fn hand_over(&mut self, pages: &mut Pages, lane: usize) {
        let entry = self.lanes.at(lane);
        let mut given = std::mem::replace(&mut entry.host, Frontier::NONE);
        if entry.copies.is_full() {
            std::mem::swap(&mut entry.copies, &mut given);
        }
        if let Some(block) = given.block {
            pages.close(block);
        }
    }

    /// Closes open blocks that are full although nothing is opened in their place, so that they may be collected: what
    /// became invalid in them may be all there is to reclaim. Whether there were any.
    pub fn close_full(&mut self, pages: &mut Pages, lane: usize) -> bool {
        let entry = self.lanes.at(lane);
        let mut any = false;
        for frontier in [&mut entry.host, &mut entry.copies] {
            if let Some(block) = frontier.block.filter(|_| frontier.is_full()) {
                *frontier = Frontier::NONE;
                pages.close(block);
                any = true;
            }
        }
        any
    }

    /// The next page of the host's open block in a lane.
    #[inline]
    pub fn next_of_host(&mut self, lane: usize) -> Option<Ppn> {
        let withheld = self.lanes.withheld;
        let entry = self.lanes.at(lane);
        // What is left of a shared block is promised to the copies once no other block is free.
        let promised = self.frontiers == Frontiers::Shared && entry.free.len() < withheld;
        (!entry.host.is_full() && !promised).then(|| entry.host.take())
    }

    /// The host's open block has room, and all that is withheld is there.
    pub fn host_may_fill(&self, lane: usize) -> bool {
        !self.lanes[lane].host.is_full() && self.lanes[lane].free.len() >= self.lanes.withheld
    }

    /// Whether the host may use the rest of an open block that copies use as well: not while a lane is
    /// without any free block, as a power cut in a collection may leave it, because the rest may be all
    /// that collection has to go on with. A lane with blocks to give away helps the others out.
    #[inline]
    pub fn leaves_copies_room(&self, lane: usize, stream: Stream) -> bool {
        let single = self.sharing == Sharing::Own && stream != Stream::Translation || self.translation.is_single();
        let empty = if single { self.lanes.empty > 0 } else { self.lanes[lane].free.is_empty() };
        !empty || self.lanes.any_can_give()
    }

    /// A page for a copy, or for a record that collection writes, in this lane.
    #[inline]
    pub fn copy_page(&mut self, pages: &mut Pages, lane: usize, back: Back) -> Option<Ppn> {
        // Of most drives every page is data, and mostly its open block has room.
        if self.sharing == Sharing::Data {
            let entry = self.lanes.at(lane);
            let open = if self.frontiers == Frontiers::Separate { &mut entry.copies } else { &mut entry.host };
            if !open.is_full() {
                return Some(open.take());
            }
        }
        self.copy_page_of(pages, lane, self.copy_stream(back))
    }

    /// The open block of a lane's copies, where all pages of the host share blocks.
    pub fn open_for_copies(&mut self, lane: usize) -> &mut Frontier {
        self.frontier_mut(lane, self.data_stream())
    }

    /// A page of a stream for the collection of this lane.
    fn copy_page_of(&mut self, pages: &mut Pages, lane: usize, stream: Stream) -> Option<Ppn> {
        if self.frontier(lane, stream).is_full() {
            if self.lanes[lane].free.is_empty() {
                return None;
            }
            self.open_block(pages, lane, stream);
        }
        if stream == Stream::Translation {
            self.use_promise(lane);
        }
        Some(self.take(pages, lane, stream))
    }

    /// A page for a record that the collection of this lane makes necessary.
    pub fn collection_record_page(&mut self, pages: &mut Pages, lane: usize) -> Option<Ppn> {
        // What a full lane collects its tombstones for is room.
        if self.lanes.are_shedding() {
            let elsewhere = self.page_elsewhere(pages, lane, Back::RECORD);
            return elsewhere.or_else(|| self.copy_page(pages, lane, Back::RECORD));
        }
        // Broken up by later writes the log may need more than the collection was promised.
        let here = self.copy_page(pages, lane, Back::RECORD);
        here.or_else(|| self.page_elsewhere(pages, lane, Back::RECORD))
    }

    /// A page in another lane than `lane`, from what that one can spare.
    pub fn page_elsewhere(&mut self, pages: &mut Pages, lane: usize, back: Back) -> Option<Ppn> {
        let total = self.lanes.len();
        (1..self.lanes_open_to(back)).find_map(|step| self.page_to_spare(pages, (lane + step) % total, back))
    }

    /// Lanes, counted from its own on, that a page may go to.
    pub fn lanes_open_to(&self, back: Back) -> usize {
        if self.pinned && !back.is_tombstone() { 1 } else { self.lanes.len() }
    }

    /// Whether data never leaves its lane.
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// Whether there are translation pages.
    pub fn has_translation_pages(&self) -> bool {
        self.sharing != Sharing::Data
    }

    /// A page of this lane that is promised to no collection.
    pub fn page_to_spare(&mut self, pages: &mut Pages, lane: usize, back: Back) -> Option<Ppn> {
        let stream = self.host_stream(back);
        let spare_block = self.lanes.can_give(lane);
        let room = self.frontier(lane, stream).room();
        let promised = match stream {
            Stream::Host if self.frontiers == Frontiers::Shared && !spare_block => room,
            Stream::Translation => self.translation.promised_in(lane),
            _ => 0,
        };
        if room > promised {
            return Some(self.take(pages, lane, stream));
        }
        if room > 0 || !spare_block {
            return None;
        }
        self.open_block(pages, lane, stream);
        Some(self.take(pages, lane, stream))
    }

    /// The lane with the most free blocks, or with the fewest valid pages if none has blocks to give: small lanes may
    /// be full of data, and a trim frees room in one of them only.
    pub fn roomiest(&self, pages: &Pages) -> Option<usize> {
        let free = |lane: &usize| (self.lanes[*lane].free.len(), std::cmp::Reverse(*lane));
        let roomiest = (0..self.lanes.len()).max_by_key(free)?;
        if self.lanes.can_give(roomiest) {
            return Some(roomiest);
        }
        let valid =
            |lane: &usize| -> u32 { self.lanes[*lane].blocks().map(|block| pages.blocks().valid_count(block)).sum() };
        (0..self.lanes.len()).min_by_key(valid)
    }

    /// What a lane has for the next translation page: its open block has `room`, and `free` blocks are free.
    #[inline]
    fn offer(&self, lane: usize, room: u32, free: usize, any_can_give: impl FnOnce() -> bool) -> Option<Offer> {
        let empty = if self.translation.is_single() { self.lanes.empty > 0 } else { free == 0 };
        if room > self.translation.promised_in(lane) && (!empty || any_can_give()) {
            return Some(Offer::Rest);
        }
        (room == 0 && free > self.lanes.withheld).then_some(Offer::Block)
    }

    /// As [`Space::offer`], of a lane as it is.
    #[inline]
    fn offer_now(&self, lane: usize) -> Option<Offer> {
        let room = self.frontier(lane, Stream::Translation).room();
        self.offer(lane, room, self.lanes[lane].free.len(), || self.lanes.any_can_give())
    }

    /// The next translation page that no collection was promised.
    #[inline]
    pub fn translation_page(&mut self, pages: &mut Pages) -> Option<Ppn> {
        for _ in 0..self.lanes.len() {
            let lane = self.translation.next_lane(self.lanes.len());
            match self.offer_now(lane) {
                None => continue,
                Some(Offer::Rest) => {}
                Some(Offer::Block) => {
                    self.open_block(pages, lane, Stream::Translation);
                    self.translation.opened.push(lane as u32);
                }
            }
            return Some(self.take(pages, lane, Stream::Translation));
        }
        None
    }

    /// A lane that gave a block to translation pages and was not asked for since.
    #[inline]
    pub fn next_opened(&mut self) -> Option<usize> {
        self.translation.opened.pop().map(|lane| lane as usize)
    }

    /// The lane that gets the next translation page.
    #[inline]
    pub fn translation_lane(&self) -> usize {
        self.translation.lane_in_turn()
    }

    /// The next translation page goes to another lane.
    pub fn pass_translation_lane(&mut self) {
        self.translation.next_lane(self.lanes.len());
    }

    /// Translation pages that can be programmed in a lane without waiting.
    #[inline]
    pub fn translation_room_in(&self, lane: usize) -> u32 {
        let promised = self.translation.promised_in(lane);
        match self.offer_now(lane) {
            None => 0,
            Some(Offer::Rest) => self.frontier(lane, Stream::Translation).room() - promised,
            Some(Offer::Block) => {
                // Its first page is taken as it is opened; for the rest promises hold, and without another
                // spare block it is left to the copies of lanes that have none.
                let left = !(self.translation.is_single() && self.lanes.empty > 0) || self.lanes.spare_blocks() > 1;
                1 + if left { (self.geometry.pages_per_block - 1).saturating_sub(promised) } else { 0 }
            }
        }
    }

    /// Whether `pages` translation pages can be programmed without waiting.
    #[inline]
    pub fn has_translation_room(&self, pages: u32) -> bool {
        self.translation_room_in(self.translation.lane_in_turn()) >= pages || self.has_translation_room_anywhere(pages)
    }

    /// Whether lanes have an offer for each of `pages` translation pages, where each takes what it is offered.
    #[cold]
    pub fn has_translation_room_anywhere(&self, pages: u32) -> bool {
        const MOST: usize = MOST_WRITE_BACKS + 1;
        let (mut rooms, mut opened) = ([(usize::MAX, 0); MOST], [usize::MAX; MOST]);
        let mut spare = self.lanes.spare_blocks();
        let mut lane = self.translation.lane_in_turn();
        let mut take = |time: usize| {
            let index = self.translation.index(lane);
            let changed = rooms.iter().rev().find(|room| room.0 == index);
            let room = changed.map_or_else(|| self.frontier(lane, Stream::Translation).room(), |room| room.1);
            let free = self.lanes[lane].free.len() - opened.iter().filter(|other| **other == lane).count();
            let offer = self.offer(lane, room, free, || spare > 0);
            match offer {
                None => {}
                Some(Offer::Rest) => rooms[time] = (index, room - 1),
                Some(Offer::Block) => {
                    rooms[time] = (index, self.geometry.pages_per_block - 1);
                    opened[time] = lane;
                    spare -= 1;
                }
            }
            lane = (lane + 1) % self.lanes.len();
            offer.is_some()
        };
        (0..pages as usize).all(|time| (0..self.lanes.len()).any(|_| take(time)))
    }

    /// Pages not programmed yet in open blocks that belong to one translation page each.
    pub fn room_in_own(&self) -> u64 {
        self.translation.own.iter().map(|frontier| u64::from(frontier.room())).sum()
    }

    /// A collection in this lane will program at most these translation pages: they are kept from the host.
    pub fn promise(&mut self, lane: usize, translation_pages: u32) {
        self.lanes.at(lane).promised = translation_pages;
        self.translation.promise(lane, translation_pages);
    }

    /// A translation page promised to this lane's collection is programmed.
    #[inline]
    fn use_promise(&mut self, lane: usize) {
        let promised = &mut self.lanes.at(lane).promised;
        if *promised > 0 {
            *promised -= 1;
            self.translation.release(lane, 1);
        }
    }

    /// A collection ended: what it was promised and did not use is there for others.
    pub fn release_promise(&mut self, lane: usize) {
        let rest = std::mem::take(&mut self.lanes.at(lane).promised);
        if rest > 0 {
            self.translation.release(lane, rest);
        }
    }

    /// Pages that a lane can take of what collection moves: of the open block, and of free ones.
    fn room_for(&self, lane: usize, back: Back) -> u32 {
        let open = self.frontier(lane, self.copy_stream(back)).room();
        open + self.lanes[lane].free.len() as u32 * self.geometry.pages_per_block
    }

    /// Valid pages that a lane's collection has still to move.
    fn left_to_move(&self, pages: &Pages, lane: usize) -> u32 {
        self.lanes[lane].cursor.victim().map_or(0, |victim| pages.blocks().valid_count(victim))
    }

    /// A page of this lane for a failed program beyond what its collection was promised: when that
    /// ends there is more room than before.
    pub fn rescue_page(&mut self, pages: &mut Pages, lane: usize, back: Back) -> Option<Ppn> {
        let promised = self.left_to_move(pages, lane) + self.lanes[lane].promised;
        if self.room_for(lane, back) > promised { self.copy_page(pages, lane, back) } else { None }
    }

    /// A page for a record that neither the collection of a lane nor that of its cheapest victim needs.
    #[cold]
    pub fn page_beyond_collection(&mut self, pages: &mut Pages, lane: usize) -> Option<Ppn> {
        let candidates = self.lanes[lane].blocks().filter(|block| pages.blocks().is_candidate(*block));
        let cheapest = candidates.map(|block| pages.blocks().valid_count(block)).min();
        // One for the trims that are logged on the way, and one for this.
        let needed = self.left_to_move(pages, lane).max(cheapest.unwrap_or(0)) + 2;
        let is_left = self.room_for(lane, Back::RECORD) >= needed;
        if is_left && !self.lanes[lane].dead { self.copy_page(pages, lane, Back::RECORD) } else { None }
    }

    /// A page for a record on a die that is none of these: from what a lane can spare, or what its next collection
    /// leaves.
    pub fn record_page_off(&mut self, pages: &mut Pages, dies: &[DieId]) -> Option<Ppn> {
        let others: Vec<usize> =
            self.lanes.in_order().filter(|lane| !dies.contains(&self.lanes.die_of(*lane))).collect();
        let spared = others.iter().find_map(|lane| self.page_to_spare(pages, *lane, Back::RECORD));
        spared.or_else(|| others.iter().find_map(|lane| self.page_beyond_collection(pages, *lane)))
    }

    /// A page for a record in any lane, beyond what its collection needs.
    #[cold]
    pub fn record_page_beyond_collection(&mut self, pages: &mut Pages) -> Option<Ppn> {
        let order: Vec<usize> = self.lanes.in_order().collect();
        order.into_iter().find_map(|lane| self.page_beyond_collection(pages, lane))
    }

    /// Stops programming into a block and lists it to be emptied.
    pub fn give_up(&mut self, pages: &mut Pages, block: BlockId) {
        let entry = self.lanes.at(self.lanes.of_block(block));
        if entry.failing.iter().any(|failing| failing.block == block) {
            return;
        }
        entry.failing.push(Failing { block, settled: 0 });
        let translation = self.translation.open.iter_mut().chain(&mut self.translation.own);
        let mut open = [&mut entry.host, &mut entry.copies].into_iter().chain(translation);
        if let Some(frontier) = open.find(|frontier| frontier.block == Some(block)) {
            *frontier = Frontier::NONE;
        } else if pages.blocks().is_candidate(block) {
            pages.withdraw(block);
        }
    }

    /// Counts and promises agree, and no block holds pages of two streams where that must not be.
    ///
    /// # Errors
    /// The first law broken, in words.
    pub fn check(&self, pages: &Pages) -> Result<(), String> {
        self.lanes.check()?;
        self.translation.check(&self.lanes)?;
        if self.sharing == Sharing::Own { self.check_own_blocks(pages) } else { Ok(()) }
    }

    /// No block holds data of two translation pages, nor data beside translation pages.
    fn check_own_blocks(&self, pages: &Pages) -> Result<(), String> {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut streams = pages.blocks().valid_pages_of(block).map(|page| self.host_stream(pages.back(Ppn(page))));
            let first = streams.next();
            if let Some(other) = streams.find(|stream| Some(*stream) != first) {
                return Err(format!("block {block} holds pages of {first:?} and of {other:?}"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        self.lanes.save(writer);
        if self.has_translation_pages() {
            self.translation.save(writer);
        }
    }

    /// Reads what [`Space::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.lanes.load(reader)?;
        if self.has_translation_pages() { self.translation.load(reader, &self.lanes) } else { Ok(()) }
    }
}
