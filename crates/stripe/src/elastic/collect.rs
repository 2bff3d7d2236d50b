//! Collection: superblocks are emptied into new stripes and erased, the one with the fewest valid pages first.

use super::stripes::{Member, ParityRecord};
use super::superblocks::{STREAMS, State, Stream};
use super::{Elastic, NONE, TRIMMED, kept_from};
use nand::{Flash, Outcome};
use std::collections::BTreeSet;
use units::{BlockId, Cause};

impl<F: Flash> Elastic<F> {
    /// Goes on collecting as far as window and room allow.
    pub(super) fn collect(&mut self, flash: &mut F) {
        loop {
            if self.victim == NONE && !self.begin_collection(flash) {
                return;
            }
            while let Some(place) = self.queue.last().copied() {
                // What is under way when power is cut is written in vain: little, where there is little room.
                let window = if self.blocks.free.is_empty() { self.data } else { self.window };
                if self.copies_under_way >= window {
                    return;
                }
                if self.blocks.is_valid(place) && !self.move_away(flash, place, Cause::Gc) {
                    return;
                }
                self.queue.pop();
            }
            debug_assert!(self.blocks.valid_count(self.victim) == 0, "an emptied superblock has no valid page");
            self.emptied.push(std::mem::replace(&mut self.victim, NONE));
        }
    }

    /// Places in which copies can be programmed without erasing anything, about.
    fn room(&self, flash: &F) -> u32 {
        let free = self.blocks.free.len() as u32;
        self.open_room(flash) + free * self.blocks.live_places()
    }

    fn open_room(&self, flash: &F) -> u32 {
        let own = self.open_places(flash, Stream::Copies).count();
        let other = if self.may_take_over() { self.open_places(flash, Stream::Host).count() } else { 0 };
        (own + other) as u32
    }

    fn open_places(&self, flash: &F, stream: Stream) -> impl Iterator<Item = u32> {
        let places =
            self.blocks.open[stream as usize].map_or(0..0, |(superblock, next)| next..self.blocks.end_of(superblock));
        places.filter(|place| self.blocks.usable_from(flash.state(), *place, place + 1).is_some())
    }

    /// Places that `pages` take with their parities.
    fn with_parity(&self, pages: u32) -> u32 {
        let data = self.data.min(self.blocks.live_dies().saturating_sub(1)).max(1);
        pages + pages.div_ceil(data)
    }

    /// Whether collection, which was stuck, may go on at the cost of parities: those pages are written once more as
    /// soon as there is room.
    pub(super) fn press(&mut self) -> bool {
        let is_stuck = self.blocks.free.is_empty()
            && self.flying.is_empty()
            && self.emptied.is_empty()
            && self.blocks.being_erased() == 0;
        if !is_stuck || self.pressed {
            return false;
        }
        self.pressed = true;
        if self.victim != NONE {
            self.blocks.set_state(std::mem::replace(&mut self.victim, NONE), State::Closed);
            self.queue.clear();
        }
        for stream in STREAMS {
            if self.blocks.open[stream as usize].is_some_and(|(superblock, _)| self.blocks.valid_count(superblock) == 0)
            {
                self.blocks.close_open(stream);
            }
        }
        true
    }

    fn begin_collection(&mut self, flash: &F) -> bool {
        let free = self.blocks.free.len() + self.blocks.being_erased() + self.emptied.len();
        let Some(victim) = self.next_victim(flash, free <= self.free_blocks) else { return false };
        self.failing.retain(|superblock| *superblock != victim);
        self.blocks.set_state(victim, State::Collected);
        self.victim = victim;
        self.queue = self.blocks.valid_in(victim).collect();
        self.queue.reverse();
        self.counters.collected += 1;
        true
    }

    /// The superblock to be emptied next. Without need for room, those whose blocks or dies failed.
    fn next_victim(&self, flash: &F, needs_room: bool) -> Option<u32> {
        let least =
            |victims: &mut dyn Iterator<Item = u32>| victims.min_by_key(|victim| self.blocks.valid_count(*victim));
        if needs_room && !self.pressed {
            return self.most_gained(flash);
        }
        let victim = if needs_room {
            least(&mut self.blocks.candidates())?
        } else if self.failing.is_empty() && self.to_rebuild.is_empty() {
            return None;
        } else {
            let is_hurt = |victim: &u32| self.failing.contains(victim) || self.to_rebuild.contains(victim);
            least(&mut self.blocks.candidates().filter(is_hurt))?
        };
        if self.pressed {
            return (self.blocks.valid_count(victim) <= self.open_room(flash)).then_some(victim);
        }
        (self.with_parity(self.blocks.valid_count(victim)) <= self.room(flash)).then_some(victim)
    }

    /// The superblock whose collection leaves the most room, if that is room for a page and its parity: with less,
    /// copies would go round for ever.
    fn most_gained(&self, flash: &F) -> Option<u32> {
        let (all, room) = (self.blocks.live_places(), self.room(flash));
        let mut best = None;
        let mut most = self.with_parity(1).saturating_sub(1);
        for victim in self.blocks.candidates() {
            let takes = self.with_parity(self.blocks.valid_count(victim));
            let gained = |left: u32| left.saturating_sub(takes);
            // Few have lost a block, and to look for them takes time.
            if takes <= room && gained(all) > most {
                let gained = gained(self.blocks.places_left(flash.state(), victim));
                if gained > most {
                    (best, most) = (Some(victim), gained);
                }
            }
        }
        best
    }

    /// Writes what is at a place into a new stripe. `false`: there is no room.
    fn move_away(&mut self, flash: &mut F, place: u32, cause: Cause) -> bool {
        let back = self.back[place as usize];
        if back >= TRIMMED {
            let superblock = self.blocks.of(place);
            let first = back & !TRIMMED;
            let backs =
                self.blocks.valid_in(superblock).map(|place| self.back[place as usize]).filter(|back| *back >= TRIMMED);
            let others: BTreeSet<u32> = backs.map(|back| back & !TRIMMED).filter(|place| *place != first).collect();
            let places: Vec<u32> = std::iter::once(first).chain(others).collect();
            return self.merge_tombstones(flash, &places, cause);
        }
        let sequence = self.sequence_of(flash, place);
        self.rewrite(flash, place, sequence, cause)
    }

    /// Writes a page of data into a new stripe, with this sequence number. `false`: there is no room.
    fn rewrite(&mut self, flash: &mut F, place: u32, sequence: u64, cause: Cause) -> bool {
        if !self.has_place(flash, Stream::Copies) {
            return false;
        }
        let back = self.back[place as usize];
        let Some((cells, after)) = self.fetch(flash, place, cause, self.full_mask.count_ones() as u8) else {
            return self.give_up(flash, back, sequence);
        };
        let member = Member::new(back, sequence, cells, cause);
        let placed = self.put(flash, &member, after, Stream::Copies);
        if !placed {
            flash.memory_mut().payloads.release(cells, 1);
            return false;
        }
        self.counters.copied += 1;
        self.count_copy(cause, 1);
        true
    }

    /// Pages that nobody above waits for are under way.
    pub(super) fn count_copy(&mut self, cause: Cause, pages: u32) {
        match cause {
            Cause::Gc => self.copies_under_way += pages,
            Cause::Rebuild => self.repairs_under_way += pages,
            _ => {}
        }
    }

    /// Whether there is a place for a page, as far as can be told beforehand. For the host there is none as long as
    /// collection needs what is left.
    pub(super) fn has_place(&self, flash: &F, stream: Stream) -> bool {
        let (free, kept) = (self.blocks.free.len(), kept_from(stream));
        let least = if self.pressed && stream == Stream::Copies { 0 } else { self.blocks.span as usize };
        let has_room = |stream| self.open_places(flash, stream).nth(least).is_some();
        let may_go_elsewhere = stream == Stream::Copies && self.may_take_over();
        free > kept || free == kept && (has_room(stream) || may_go_elsewhere && has_room(Stream::Host))
    }

    /// Sequence number of a page on flash: where it is not, its parity knows.
    fn sequence_of(&self, flash: &F, place: u32) -> u64 {
        let Some(contents) = flash.state().contents() else { return 0 };
        if !self.blocks.is_lost(place) {
            return contents.oob(self.blocks.page(place).0).sequence;
        }
        let parity = self.blocks.stripe_of(place).map(|(_, parity)| self.blocks.page(parity));
        let record = parity.and_then(|page| contents.record(page.0)).and_then(ParityRecord::read);
        let members = record.map_or(Vec::new(), |record| record.members);
        members.iter().find(|(member, ..)| *member == place).map_or(self.sequence, |(.., sequence)| *sequence)
    }

    /// Writes the newest version of a page once more, as the newest. `false`: there is no room.
    fn affirm(&mut self, flash: &mut F, logical: u32) -> bool {
        let entry = self.map[logical as usize];
        if entry < TRIMMED && self.in_memory(entry).is_some() {
            return true; // somebody else does
        }
        let sequence = self.next_sequence();
        if entry < TRIMMED {
            return self.rewrite(flash, entry, sequence, Cause::Rebuild);
        }
        if self.is_gone(logical) {
            return self.give_up(flash, logical, sequence);
        }
        self.log_nothing(flash, logical, sequence)
    }

    /// Whether pages without a parity may be written once more. The last room is for collection, as far as there is
    /// something to gain: what it frees is more than what repairs take, one after each of many power cuts.
    fn may_repair(&self, flash: &F) -> bool {
        if !self.has_place(flash, Stream::Copies) {
            return false;
        }
        let fewest = if self.blocks.free.is_empty() {
            self.blocks.candidates().map(|victim| self.blocks.valid_count(victim)).min()
        } else {
            None
        };
        fewest.is_none_or(|fewest| {
            let takes = self.with_parity(fewest);
            let room = self.open_room(flash);
            takes >= self.blocks.live_places() || takes > room || takes + self.with_parity(1) <= room
        })
    }

    /// Pages without a parity get one, in another place, as far as there is room.
    pub(super) fn pump_repairs(&mut self, flash: &mut F) {
        while let Some(logical) = self.doubted.first().copied() {
            if self.repairs_under_way >= self.window || !self.may_repair(flash) || !self.affirm(flash, logical) {
                return;
            }
            self.doubted.pop_first();
        }
        while let Some(place) = self.repairs.front().copied() {
            if self.repairs_under_way >= self.window || !self.may_repair(flash) {
                return;
            }
            if self.blocks.is_valid(place) {
                if !self.move_away(flash, place, Cause::Rebuild) {
                    return;
                }
                self.counters.healed += 1;
            }
            self.repairs.pop_front();
        }
    }

    /// Erases superblocks that nobody needs any more. `true`: one is free now.
    pub(super) fn erase_emptied(&mut self, flash: &mut F) -> bool {
        let repairs = !self.repairs.is_empty() || !self.doubted.is_empty();
        if self.repairs_under_way > 0 || repairs && self.may_repair(flash) {
            return false; // older versions of what has no parity may be there
        }
        let before = self.blocks.free.len();
        for index in (0..self.emptied.len()).rev() {
            let superblock = self.emptied[index];
            if self.blocks.held[superblock as usize] > 0 || self.blocks.busy[superblock as usize] > 0 {
                continue;
            }
            self.emptied.swap_remove(index);
            let blocks = self.blocks.begin_erase(flash.state(), superblock);
            self.counters.rebuilt += u64::from(self.to_rebuild.remove(&superblock));
            if blocks.is_empty() {
                self.blocks.set_free(flash.state(), superblock);
                self.pressed &= self.blocks.free.is_empty();
                self.room = true;
            }
            for block in blocks {
                if flash.erase(self.owner, block, Cause::Gc) == Outcome::Done {
                    self.block_erased(flash, block);
                }
            }
        }
        self.blocks.free.len() > before
    }

    /// A block is erased, or given up.
    pub(super) fn block_erased(&mut self, flash: &F, block: BlockId) {
        self.room |= self.blocks.erased(flash.state(), block);
        self.pressed &= self.blocks.free.is_empty();
    }
}
