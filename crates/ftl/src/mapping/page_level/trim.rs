//! Trims: unmapped at once, logged on flash as tombstones, never answered with an older version.
//!
//! A trimmed page keeps a hold on the block of its last version until the tombstone that names it
//! is on flash. Then a power cut finds either the last version or the tombstone, and nothing older
//! can surface. A tombstone page is valid as long as one of its logical pages is still trimmed;
//! when its block is collected, its live entries simply go back to the log.

use super::entry::{Back, Entry, Place};
use super::scheme::Scheme;
use super::trim_log::{PendingPage, encode};
use super::{PageMap, TOMBSTONE_TOKEN};
use crate::mapping::common::UNMAPPED;
use crate::mapping::common::answer;
use layer::{Answer, PageOp};
use nand::{Cancel, Command, Completion, Flash, LawBroken, Outcome, PayloadId, Program, Read};
use units::{BlockId, Cause, Lpn, Ppn};

impl<S: Scheme> PageMap<S> {
    pub(super) fn submit_trim<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let full = self.geometry.full_mask();
        let sequence = self.next_sequence();
        // Only looking entries up takes commands.
        let join = S::DEMAND.then(|| flash.open(op.owner, op.token, Cancel::Never));
        for index in 0..op.pages {
            let logical = Lpn(op.first + index);
            // A trim is advice: a page trimmed in part keeps its contents.
            if op.mask_at(index, full) != full || self.pages.find(logical).is_none() {
                continue;
            }
            if !self.admits_trim(flash, logical) {
                self.starve(flash);
                let pending = join.is_some_and(|join| flash.close(join).0 != Outcome::Done);
                return Answer::Full { taken: index, pending };
            }
            if let Some(join) = join {
                self.translate(flash, op, index, join, true);
            }
            // Read only now: making room may have moved the page.
            let old = self.pages.find(logical).expect("it was there before room was made");
            if !(op.kept && self.old.keep(logical, Entry::page(old))) {
                self.pages.drop(old);
            }
            self.add_pending(flash, logical, old, sequence);
            self.trimmed_pages += 1;
        }
        join.map_or(Answer::Done { failed: false }, |join| answer(flash, join))
    }

    /// Sees to it that a trim can be noted and its map entry changed. `false`: no room now.
    #[inline]
    fn admits_trim<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> bool {
        let noted = self.trims.ranges.len() < self.trims.capacity || self.log_trims(flash, None);
        noted && self.admits_access(flash, logical)
    }

    /// Unmaps a page whose last version (or last tombstone) is at `old`, which stays held.
    fn add_pending<F: Flash>(&mut self, flash: &mut F, logical: Lpn, old: Ppn, sequence: u64) {
        if !flash.core().breaks(LawBroken::TrimHoldsOff) {
            flash.hold(self.geometry.block_of(old));
        }
        self.pages.unmap(logical, Entry::in_log(self.trims.pending.len() as u32));
        self.trims.pending.push(PendingPage { old: old.0, sequence });
        self.trims.add_range(logical.0, sequence);
    }

    /// A trimmed page is written again: what the new version supersedes, and the block whose hold
    /// its program replaces.
    pub(super) fn leave_trim(&mut self, place: Place) -> (Ppn, Option<BlockId>) {
        match place {
            Place::InLog(number) => {
                let pending = &mut self.trims.pending[number as usize];
                let old = Ppn(std::mem::replace(&mut pending.old, UNMAPPED));
                (old, Some(self.geometry.block_of(old)))
            }
            Place::Tombstone(slot) => {
                let page = Ppn(self.trims.at(slot).page);
                self.bury(slot);
                (page, None)
            }
            Place::Page(_) | Place::Nowhere => unreachable!("the page is trimmed"),
        }
    }

    /// One page fewer is trimmed by this tombstone and its copies; the last one makes their pages invalid.
    fn bury(&mut self, slot: u32) {
        let tombstone = self.trims.at(slot);
        tombstone.live -= 1;
        if tombstone.live > 0 {
            for index in 0..self.trims.at(slot).copies.len() {
                let copy = self.trims.at(slot).copies[index];
                self.trims.at(copy).live -= 1;
            }
            return;
        }
        let done = tombstone.waiting == 0;
        let copies = std::mem::take(&mut tombstone.copies);
        let page = Ppn(tombstone.page);
        self.pages.drop(page);
        self.trims.live_pages -= 1;
        for copy in copies {
            let tombstone = self.trims.at(copy);
            tombstone.live = 0;
            let (page, done) = (Ppn(tombstone.page), tombstone.waiting == 0);
            self.pages.drop(page);
            self.trims.live_pages -= 1;
            if done {
                self.trims.remove(copy);
            }
        }
        if done {
            self.trims.remove(slot);
        }
    }

    /// One page fewer is trimmed by a restored tombstone, which is kept for the rest of the recovery and has no
    /// copies.
    pub(super) fn bury_copy(&mut self, slot: u32) {
        let tombstone = self.trims.at(slot);
        tombstone.live -= 1;
        if tombstone.live == 0 {
            let page = Ppn(tombstone.page);
            self.pages.drop(page);
            self.trims.live_pages -= 1;
        }
    }

    pub(super) fn submit_flush<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        if !self.trims.is_empty() && !self.log_trims(flash, None) {
            self.starve(flash);
            let (outcome, _) = flash.close(join);
            return Answer::Full { taken: 0, pending: outcome != Outcome::Done };
        }
        flash.barrier(join);
        answer(flash, join)
    }

    /// Programs the trims gathered so far as tombstones: into the collecting plane `lane`, or
    /// wherever the host may write. `false`: no room now.
    pub(super) fn log_trims<F: Flash>(&mut self, flash: &mut F, lane: Option<usize>) -> bool {
        self.compact_log();
        if self.trims.ranges.is_empty() {
            self.release_carried(flash);
        }
        while !self.trims.ranges.is_empty() {
            let page = match lane {
                Some(lane) => self.space.collection_record_page(&mut self.pages, lane),
                None => self.record_page(flash).or_else(|| self.record_page_beyond_collection()),
            };
            let Some(page) = page else { return false };
            self.program_tombstone(flash, page);
        }
        true
    }

    /// A lane is full, and some of what fills it are tombstones: other lanes have room for those, as each trim made
    /// some.
    #[cold]
    pub(super) fn shed_tombstones<F: Flash>(&mut self, flash: &mut F, lane: usize) {
        let here = |block: BlockId| self.space.lanes.of_block(block) == lane;
        self.trims.shedding = true; // the lane they go to may be full of them as well
        for slot in self.trims.slots_where(here, &self.geometry) {
            if self.trims.is_durable(slot) && !self.relocate_tombstone(flash, lane, slot) {
                break;
            }
        }
        self.log_trims(flash, None);
        self.trims.shedding = false;
    }

    /// Nothing of the log is left to be written, so nothing has to wait for it.
    fn release_carried<F: Flash>(&mut self, flash: &mut F) {
        for page in std::mem::take(&mut self.trims.carried) {
            if !flash.core().breaks(LawBroken::TrimHoldsOff) {
                flash.release(self.geometry.block_of(Ppn(page)));
            }
        }
    }

    /// Drops from the log what was written again since: a tombstone must name a page once, with the
    /// number of its last trim, or a version between two trims would outlive the second.
    fn compact_log(&mut self) {
        let ranges = std::mem::take(&mut self.trims.ranges);
        for range in ranges {
            for logical in range.first..range.first + range.count {
                if self.is_pending(Lpn(logical), range.sequence) {
                    self.trims.add_range(logical, range.sequence);
                }
            }
        }
        if self.trims.ranges.is_empty() {
            self.trims.pending.clear();
        }
    }

    /// Whether the last thing that happened to a page is the trim `sequence`, not logged yet.
    fn is_pending(&self, logical: Lpn, sequence: u64) -> bool {
        match self.pages.entry(logical).place() {
            Place::InLog(number) => self.trims.pending[number as usize].sequence == sequence,
            _ => false,
        }
    }

    fn program_tombstone<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        let count = self.trims.ranges.len().min(self.trims.capacity);
        let rest = self.trims.ranges.split_off(count);
        let ranges = std::mem::replace(&mut self.trims.ranges, rest);
        let record = flash.core_mut().contents.as_deref_mut().map(|c| c.take_record(encode(&ranges)));
        let sequence = self.next_sequence();
        let slot = self.trims.add((page, sequence), ranges, 1, None);
        self.move_pending(slot);
        self.issue_tombstone(flash, page, slot, record, sequence);
        self.complete_copies(flash, slot);
    }

    /// Writes the copies that a tombstone still lacks, as far as there is room on other dies.
    fn complete_copies<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let lanes = self.space.lanes.living().count() as u32;
        let wanted = self.trims.extra.min((lanes / self.geometry.planes_per_die).saturating_sub(1));
        loop {
            let Some(tombstone) = self.trims.tombstones[slot as usize].as_ref() else { return };
            if tombstone.copies.len() as u32 >= wanted || tombstone.live == 0 {
                self.trims.short.remove(&slot);
                return;
            }
            let (ranges, sequence, live) = (tombstone.ranges.clone(), tombstone.sequence, tombstone.live);
            let dies = self.trims.group(slot).into_iter().map(|slot| {
                let page = Ppn(self.trims.at(slot).page);
                self.geometry.die_of(self.geometry.block_of(page))
            });
            let dies: Vec<units::DieId> = dies.collect();
            let Some(page) = self.space.record_page_off(&mut self.pages, &dies) else {
                self.trims.short.insert(slot); // until there is
                return;
            };
            let record = flash.core_mut().contents.as_deref_mut().map(|c| c.take_record(encode(&ranges)));
            let copy = self.trims.add((page, sequence), ranges, 1, Some(slot));
            self.trims.at(copy).live = live;
            self.issue_tombstone(flash, page, copy, record, sequence);
        }
    }

    /// Writes the copies that tombstones lack.
    #[cold]
    pub(super) fn complete_all_copies<F: Flash>(&mut self, flash: &mut F) {
        for slot in self.trims.short.iter().copied().collect::<Vec<_>>() {
            self.complete_copies(flash, slot);
        }
    }

    /// Where stripes wait for their trims, and collection for those stripes.
    #[cold]
    fn record_page_beyond_collection(&mut self) -> Option<Ppn> {
        let waits = self.trims.extra > 0;
        waits.then(|| self.space.record_page_beyond_collection(&mut self.pages)).flatten()
    }

    /// Programs a tombstone or a copy of one.
    fn issue_tombstone<F: Flash>(
        &mut self,
        flash: &mut F,
        page: Ppn,
        slot: u32,
        record: Option<nand::RecordId>,
        sequence: u64,
    ) {
        if self.trims.at(slot).live > 0 {
            self.trims.live_pages += 1;
            self.pages.keep(page, Back::tombstone(slot));
        } else {
            self.pages.label(page, Back::tombstone(slot));
        }
        let command = Command {
            page,
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence,
            cause: Cause::Metadata,
            completion: Completion::Notify(TOMBSTONE_TOKEN | slot),
            after: None,
        };
        let outcome = flash.program(self.owner, command);
        self.if_done_durable(flash, outcome, page, slot);
    }

    /// A tombstone whose program ended where it was issued is on flash, unless it failed there.
    pub(super) fn if_done_durable<F: Flash>(&mut self, flash: &mut F, outcome: Outcome, page: Ppn, slot: u32) {
        let done = flash.core().block(self.geometry.block_of(page)).done;
        if outcome == Outcome::Done && self.geometry.page_in_block(page) < u32::from(done) {
            self.tombstone_durable(flash, slot);
        }
    }

    /// The pages of the tombstone's ranges now point to it; it takes over their holds.
    fn move_pending(&mut self, slot: u32) {
        let ranges = self.trims.at(slot).ranges.clone();
        let (mut live, mut held) = (0, Vec::new());
        for range in &ranges {
            for logical in (range.first..range.first + range.count).map(Lpn) {
                let Place::InLog(number) = self.pages.entry(logical).place() else {
                    unreachable!("the log was compacted")
                };
                debug_assert!(self.is_pending(logical, range.sequence), "the log was compacted");
                let pending = &mut self.trims.pending[number as usize];
                held.push(std::mem::replace(&mut pending.old, UNMAPPED));
                self.pages.unmap(logical, Entry::tombstone(slot));
                live += 1;
            }
        }
        if self.trims.ranges.is_empty() {
            self.trims.pending.clear();
            held.append(&mut self.trims.carried);
        }
        let tombstone = self.trims.at(slot);
        (tombstone.live, tombstone.held) = (live, held);
    }

    /// A tombstone is on flash: the pages it trims may go once its copies are as well.
    pub(super) fn tombstone_durable<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let tombstone = self.trims.at(slot);
        let first = tombstone.first;
        if first != slot {
            tombstone.waiting = 0;
            if tombstone.live == 0 {
                self.trims.remove(slot);
            }
        }
        let tombstone = self.trims.at(first);
        tombstone.waiting -= 1;
        if tombstone.waiting > 0 {
            return;
        }
        let dead = tombstone.live == 0;
        let held = std::mem::take(&mut tombstone.held);
        if dead {
            self.trims.remove(first);
        }
        if !flash.core().breaks(LawBroken::TrimHoldsOff) {
            for page in held {
                flash.release(self.geometry.block_of(Ppn(page)));
            }
        }
    }

    /// Collection reached a tombstone: what it still trims goes back to the log, which is written
    /// before the victim's erase can start because the victim is held.
    pub(super) fn relocate_tombstone<F: Flash>(&mut self, flash: &mut F, lane: usize, slot: u32) -> bool {
        if self.trims.ranges.len() >= self.trims.capacity && !self.log_trims(flash, Some(lane)) {
            return false;
        }
        let (page, ranges, slot) = {
            let tombstone = self.trims.at(slot);
            (Ppn(tombstone.page), tombstone.ranges.clone(), tombstone.first)
        };
        // It is on flash, though the event that says so may not have been handled yet.
        debug_assert!(
            self.geometry.page_in_block(page) < u32::from(flash.core().block(self.geometry.block_of(page)).done),
            "a victim is fully on flash"
        );
        let read = Read {
            page,
            cause: Cause::Metadata,
            sectors: self.geometry.sectors_per_page() as u8,
            payload: PayloadId::NONE,
            completion: None,
            after: None,
        };
        flash.read(self.owner, read);
        self.keep_copies(flash, slot);
        for range in ranges {
            for logical in (range.first..range.first + range.count).map(Lpn) {
                if self.pages.entry(logical) == Entry::tombstone(slot) {
                    self.add_pending(flash, logical, page, range.sequence);
                    self.bury(slot);
                }
            }
        }
        true
    }

    /// What a tombstone trims goes back to the log: until that is on flash, none of its copies may be erased, as a die
    /// may be lost meanwhile.
    fn keep_copies<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        if self.trims.at(slot).copies.is_empty() || flash.core().breaks(LawBroken::TrimHoldsOff) {
            return;
        }
        for slot in self.trims.group(slot) {
            let page = self.trims.at(slot).page;
            flash.hold(self.geometry.block_of(Ppn(page)));
            self.trims.carried.push(page);
        }
    }

    /// A tombstone was lost with its die: what it still trims goes back to the log, which is written as soon as
    /// there is room.
    pub(super) fn log_again<F: Flash>(&mut self, flash: &mut F, slot: u32) {
        let Some(tombstone) = &mut self.trims.tombstones[slot as usize] else { return };
        let (page, ranges, slot) = (Ppn(tombstone.page), tombstone.ranges.clone(), tombstone.first);
        let held = std::mem::take(&mut self.trims.at(slot).held);
        self.trims.carried.extend(held);
        self.keep_copies(flash, slot);
        for range in ranges {
            for logical in (range.first..range.first + range.count).map(Lpn) {
                if self.pages.entry(logical) != Entry::tombstone(slot) {
                    continue;
                }
                if self.trims.ranges.len() >= self.trims.capacity {
                    self.log_trims(flash, None);
                }
                self.add_pending(flash, logical, page, range.sequence);
                self.bury(slot);
            }
        }
        self.log_trims(flash, None);
    }

    /// Where nothing else makes room: trims of which a lost die took the tombstones hold up erases until they are
    /// written again, into what is kept for collection, which waits for those erases; and tombstones are written
    /// together. Whether there may be room now.
    #[cold]
    pub(super) fn make_way<F: Flash>(&mut self, flash: &mut F) -> bool {
        let is_collecting = self.space.lanes.iter().any(|lane| lane.cursor.is_busy());
        if !is_collecting && !self.trims.is_empty() {
            let live: Vec<usize> = self.space.lanes.living().collect();
            return live.into_iter().any(|lane| self.log_trims(flash, Some(lane)));
        }
        !self.space.lanes.are_reclaiming() && self.merge_tombstones(flash)
    }

    /// Writes tombstones of few pages together, with the copies of all of them as one: where dies may be lost each
    /// takes several pages, and in a block of nothing else collection gains nothing. Whether there were several.
    #[cold]
    pub(super) fn merge_tombstones<F: Flash>(&mut self, flash: &mut F) -> bool {
        let slots = (0..).zip(&self.trims.tombstones).filter_map(|(slot, tombstone)| Some((slot, tombstone.as_ref()?)));
        let durable =
            slots.filter(|(slot, tombstone)| tombstone.first == *slot && tombstone.live > 0 && tombstone.waiting == 0);
        let mut few: Vec<(usize, u32)> = durable.map(|(slot, tombstone)| (tombstone.ranges.len(), slot)).collect();
        few.sort_unstable();
        let mut ranges = self.trims.ranges.len();
        few.retain(|(count, _)| {
            ranges += count;
            ranges <= self.trims.capacity
        });
        let lane = self.space.lanes.living().next();
        let Some(lane) = lane.filter(|_| few.len() > 1) else { return false };
        for (_, slot) in few {
            self.relocate_tombstone(flash, lane, slot);
        }
        self.log_trims(flash, Some(lane));
        true
    }

    /// Whether a trim not yet on flash holds `page`.
    pub(super) fn is_held(&self, page: Ppn) -> bool {
        let held = self.trims.tombstones.iter().flatten().flat_map(|tombstone| &tombstone.held);
        self.trims.pending.iter().map(|pending| &pending.old).chain(held).any(|held| *held == page.0)
    }

    /// The page of a held version moved because its program failed.
    pub(super) fn move_hold<F: Flash>(&mut self, flash: &mut F, from: Ppn, to: Ppn) {
        let pending = self.trims.pending.iter_mut().map(|pending| &mut pending.old);
        let held = self.trims.tombstones.iter_mut().flatten().flat_map(|tombstone| tombstone.held.iter_mut());
        if let Some(place) = pending.chain(held).find(|place| **place == from.0) {
            *place = to.0;
            flash.hold(self.geometry.block_of(to));
            flash.release(self.geometry.block_of(from));
        }
    }

    /// The page that says what a logical page is: its newest version, its tombstone, or the last version while its
    /// trim is not logged.
    pub(super) fn page_that_stands_for(&mut self, logical: Lpn) -> Ppn {
        match self.pages.entry(logical).place() {
            Place::Page(page) => page,
            Place::InLog(number) => Ppn(self.trims.pending[number as usize].old),
            Place::Tombstone(slot) => Ppn(self.trims.at(slot).page),
            Place::Nowhere => unreachable!("an older version of the page is on flash"),
        }
    }

    /// The tombstone in `slot` is programmed at another page.
    pub(super) fn move_tombstone(&mut self, slot: u32, to: Ppn) {
        let tombstone = self.trims.at(slot);
        let from = Ppn(std::mem::replace(&mut tombstone.page, to.0));
        let is_needed = tombstone.live > 0;
        if is_needed {
            self.pages.stand_in(from, to);
        } else {
            self.pages.label(to, Back::tombstone(slot));
        }
    }
}
