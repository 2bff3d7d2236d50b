//! Garbage collection and wear levelling: cursors over victims, a window of copies for each lane.

use super::access::{MapAccess, Sharing};
use super::collector::{Collector, GcContext};
use super::entry::{Back, Occupant};
use super::old_versions::{Met, OldVersions};
use super::{Heard, PageMap, Tag};
use nand::{CopyRun, CopyWay, Flash, Outcome, PageCopy};
use units::{Cause, Ppn};

/// Map entries fetched ahead of the copy that changes them.
const LOOK_AHEAD: usize = 4;
/// Pages that move together at most: so many map entries stay in the processor's cache.
const MOST_TOGETHER: u32 = 128;

/// How issuing copies ended.
enum Window {
    /// It goes on when a copy ends, the host writes, or an old version is dropped.
    Waits,
    /// There is no room for the next one.
    Stalled,
    Emptied,
}

impl<A: MapAccess> PageMap<A> {
    /// The collector, and its view.
    pub(super) fn collector_and_context(&mut self) -> (&mut Collector, GcContext<'_>) {
        let Self { collector, pages, space, trims, homeless, slc, .. } = self;
        let pages_per_block = self.geometry.pages_per_block;
        let sheds = space.lanes.are_shedding() && !(collector.idle && homeless.is_empty());
        (collector, GcContext { pages, space, trims, homeless, slc: slc.as_deref(), pages_per_block, sheds })
    }

    /// Goes on collecting in a lane as far as window and room allow.
    pub(super) fn collect<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        if self.space.lanes[lane].is_dead() {
            return;
        }
        loop {
            if self.space.lanes[lane].cursor.victim().is_none() && !self.begin_collection(flash, lane) {
                return;
            }
            match self.copy_window(flash, lane) {
                Window::Waits => return,
                Window::Stalled => self.set_aside(flash, lane),
                Window::Emptied => {
                    if !self.end_collection(flash, lane) {
                        self.set_aside(flash, lane);
                    }
                }
            }
        }
    }

    /// The room a collection was promised is gone with a failed block: another victim may do with less.
    #[cold]
    fn set_aside<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let Some((victim, _)) = self.space.lanes.cursor(lane).end() else { return };
        self.space.release_promise(lane);
        self.space.lanes.put_back(&mut self.pages, flash.state(), victim);
    }

    /// Chooses a victim if the lane needs one and there is room for what it holds.
    fn begin_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        // A segment has few blocks: the one that was filled last may well be the best.
        if self.space.lanes.are_segments() {
            self.space.close_full(&mut self.pages, lane);
        }
        let (collector, mut gc) = self.collector_and_context();
        let Some((victim, cause)) = collector.next_victim(flash, &mut gc, lane) else { return false };
        let cause = if cause == Cause::Gc && flash.state().block(victim).is_slc() { Cause::Fold } else { cause };
        self.space.lanes.begin(&mut self.pages, victim);
        let mut pages = self.space.lanes.cursor(lane).page_list();
        self.pages.prefetch_backs_of(victim);
        self.pages.blocks().valid_pages(victim, &mut pages);
        for page in pages.iter().take(LOOK_AHEAD) {
            self.pages.prefetch_entry_of(Ppn(*page));
        }
        A::collection_begins(self, flash, lane, victim, &pages);
        self.space.lanes.cursor(lane).begin(victim, cause, pages, self.geometry.pages_per_block);
        true
    }

    /// Issues copies until the window is full or the victim is empty.
    #[inline]
    fn copy_window<F: Flash>(&mut self, flash: &mut F, lane: usize) -> Window {
        loop {
            if self.relocate_run(flash, lane) {
                continue;
            }
            let cursor = &self.space.lanes[lane].cursor;
            let Some(collection) = cursor.collection() else { return Window::Waits };
            if cursor.copies_under_way() >= self.settings.window {
                return Window::Waits;
            }
            if self.settings.paced && self.is_in_time(lane) {
                return Window::Waits;
            }
            let victim = collection.victim;
            let Some(page) = collection.page(0) else {
                if self.access.next_update(flash, &mut self.pages, &mut self.space, lane) {
                    continue;
                }
                // Old versions it waits for: it goes on when they are dropped.
                let waits = self.pages.blocks().valid_count(victim) > 0;
                return if waits { Window::Waits } else { Window::Emptied };
            };
            let cause = collection.cause;
            if let Some(ahead) = collection.page(LOOK_AHEAD) {
                self.pages.prefetch_entry_of(ahead);
            }
            if let Some(further) = collection.page(2 * LOOK_AHEAD) {
                self.pages.prefetch_back(further.index());
            }
            if self.pages.blocks().is_valid(page) && !self.relocate(flash, lane, page, cause) {
                return Window::Stalled;
            }
            self.space.lanes.cursor(lane).advance();
        }
    }

    /// A lane's collection may wait until the host has written more there.
    #[inline(never)]
    fn is_in_time(&self, number: usize) -> bool {
        let lane = &self.space.lanes[number];
        lane.cursor.is_ahead(self.settings.group(self.geometry.pages_per_block))
            && lane.free() + lane.erasing() as usize > self.space.lanes.withheld()
            && !self.starved
            && self.homeless.is_empty()
            && !self.collector.idle
            && !self.slc.as_deref().is_some_and(|slc| slc.is_waited_for(&self.space, number))
    }

    /// The host wrote a page in this lane: its collection goes on.
    #[inline(never)] // most drives have none of this in their way
    pub(super) fn keep_pace<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let lane = self.space.lanes.of(page);
        self.space.lanes.cursor(lane).keeps_pace();
        self.collect(flash, lane);
    }

    /// Moves the next pages of a lane's collection together, where copies end at once and none waits for the host.
    /// `false`: none was moved, and the next one goes alone.
    #[inline]
    fn relocate_run<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let is_plain = A::SHARING == Sharing::Data && !A::Versions::KEEPS && !self.settings.paced;
        is_plain && flash.ends_at_once() && self.relocate_at_once(flash, lane)
    }

    #[inline(never)]
    fn relocate_at_once<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let open = self.space.open_for_copies(lane);
        let (to, room) = (open.next(), open.room());
        let Some(collection) = self.space.lanes[lane].cursor.collection() else { return false };
        let next = collection.next_pages(room.min(MOST_TOGETHER));
        let (from, cause) = (&next[..self.pages.movable(next)], collection.cause);
        let way = if self.settings.copyback { CopyWay::Plane } else { CopyWay::Channel };
        if from.is_empty() || !flash.copy_run(&CopyRun { from, to, cause, way }) {
            return false;
        }
        self.pages.relocate_run(from, to);
        let moved = from.len();
        self.space.open_for_copies(lane).take_run(moved as u32);
        self.space.lanes.cursor(lane).advance_by(moved);
        true
    }

    /// Moves one valid page. `false`: no room.
    #[inline]
    fn relocate<F: Flash>(&mut self, flash: &mut F, lane: usize, page: Ppn, cause: Cause) -> bool {
        let back = self.pages.back(page);
        let logical = match back.occupant() {
            Occupant::Tombstone(slot) => {
                return self.trims.relocate(flash, &mut self.pages, &mut self.space, lane, slot);
            }
            Occupant::Version(logical) => logical,
        };
        let met = self.versions.met(&self.pages, logical, page);
        if met == Met::Stays {
            return true;
        }
        let target = self.space.copy_page(&mut self.pages, lane, back);
        let Some(target) = target.or_else(|| self.space.page_elsewhere(&mut self.pages, lane, back)) else {
            return false;
        };
        if met == Met::Moves {
            self.versions.relocate(&mut self.pages, logical, page, target);
        } else {
            self.pages.relocate(logical, page, target);
            self.access.relocated(&mut self.space, lane, logical, target);
        }
        self.issue_copy(flash, lane, [page, target], back, cause);
        true
    }

    /// Copies a page to its new place, where the maps say it is. `back`: what it holds.
    #[inline]
    fn issue_copy<F: Flash>(&mut self, flash: &mut F, lane: usize, [page, target]: [Ppn; 2], back: Back, cause: Cause) {
        let stays = self.settings.copyback && self.space.lanes.of(target) == lane;
        let copy = PageCopy {
            from: page,
            to: target,
            logical: back.bits(),
            cause,
            token: Tag::token(Heard::Copy, lane as u32, 0),
            way: if stays { CopyWay::Plane } else { CopyWay::Channel },
        };
        let outcome = flash.copy(self.owner, copy);
        self.space.lanes.cursor(lane).issued(outcome);
    }

    /// All copies of the victim are issued: it is erased as soon as nothing pins it. `false`: trims
    /// that may hold its pages must be logged first and find no room now.
    fn end_collection<F: Flash>(&mut self, flash: &mut F, lane: usize) -> bool {
        let Some(victim) = self.space.lanes[lane].cursor.victim() else { return false };
        let held = flash.state().block(victim).pins() > 0 && !self.trims.is_empty();
        if held && !self.trims.log_in(flash, &mut self.pages, &mut self.space, lane) {
            return false;
        }
        self.space.release_promise(lane);
        debug_assert!(self.pages.blocks().valid_count(victim) == 0, "an emptied victim has no valid page");
        let cause = self.space.lanes.cursor(lane).end().map_or(Cause::Gc, |(_, cause)| cause);
        self.space.lanes.erase_begins(victim);
        if let Some(slc) = &mut self.slc {
            slc.note_erase(flash.state(), lane, victim);
        }
        if flash.state().breaks(nand::LawBroken::EarlyReuse) {
            self.space.lanes.free(victim, 0);
        }
        if flash.erase(self.owner, victim, cause) == Outcome::Done {
            self.freed(flash, victim);
        } else {
            self.hurry_erases(flash);
        }
        if !self.homeless.is_empty() {
            self.house_homeless(flash); // what this collection was promised and did not need
        }
        true
    }
}
