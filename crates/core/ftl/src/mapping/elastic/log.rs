//! The log of stripes: new pages go behind the pages written last, a parity behind the pages it covers.

use super::grid::{Grid, Position, Superblock};
use super::operations::Operations;
use super::parity;
use super::repairs::Repairs;
use super::roles::Roles;
use super::space::{STREAMS, Space, Stream};
use super::stripes::{Content, Stripe, UnderWay, Waits};
use crate::mapping::common::{UNMAPPED, reach};
use crate::mapping::entry::{Entry, Place};
use crate::mapping::pages::Pages;
use crate::mapping::tombstones::Tombstones;
use layer::Outbox;
use nand::{CommandId, Completion, Flash, FlashState, Outcome, Owner, PageProgram, Program};
use units::{Cause, Lpn, Ppn};

/// Counters for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub stripes: u64,
    pub pages: u64,
    pub parities: u64,
    pub trimmed: u64,
    pub copied: u64,
    pub reconstructed: u64,
    pub lost: u64,
}

/// Everything on flash and on its way there, by owner.
pub(super) struct Log {
    pub owner: Owner,
    pub grid: Grid,
    pub pages: Pages,
    pub space: Space,
    pub roles: Roles,
    pub tombstones: Tombstones,
    pub stripes: UnderWay,
    pub repairs: Repairs,
    pub full_mask: u64,
    pub counters: Counters,
}

impl Log {
    /// Whether copies may go where the host was writing, because there is no other room.
    fn may_take_over(&self) -> bool {
        self.stripes.number(Stream::Host).is_none() && self.space.open(Stream::Host).is_some()
    }

    /// Where one more page of the stripe being built goes, or of a new one. The host leaves alone what collection
    /// needs to go on.
    pub fn next_page<F: Flash>(&mut self, flash: &mut F, stream: Stream) -> Option<Ppn> {
        if self.space.free() < stream.leaves() {
            return None;
        }
        loop {
            let Some(open) = self.space.open(stream) else {
                if !self.space.open_next(&self.grid, stream) {
                    if stream == Stream::Host || !self.may_take_over() {
                        return None;
                    }
                    self.space.take_over();
                }
                continue;
            };
            let built = self.stripes.building(stream);
            let first = built.map(|stripe| self.grid.position(stripe.first().page));
            let has_room = built.is_none_or(|stripe| (stripe.members.len() as u32) < self.grid.data());
            // Its parity must find a place on another die.
            let alone = self.grid.live_dies() < 2 || self.space.is_pressed() && stream == Stream::Copies;
            let end = self.grid.end_of(open.superblock);
            let (state, end) = (flash.state(), first.map_or(end, |first| end.min(self.grid.reach_of(first))));
            let usable = |from: Position| self.grid.usable_from(state, from, end);
            let place = match first {
                _ if !has_room || self.space.fills_gaps(stream) && !self.space.is_pressed() => None,
                None if !alone => self.grid.pair_from(state, open.next, end),
                _ => usable(open.next),
            };
            if let Some(place) = place.filter(|place| alone || usable(place.next()).is_some()) {
                self.space.advance(stream, open.superblock, place.next());
                return Some(self.grid.page(place));
            }
            if first.is_some() {
                self.close_stripe(flash, stream);
            } else {
                self.space.close_open(&mut self.pages, stream);
            }
        }
    }

    /// Whether there is a place for a page, as far as can be told beforehand. For the host there is none as long as
    /// collection needs what is left.
    pub fn has_place(&self, state: &FlashState, stream: Stream) -> bool {
        let (free, leaves) = (self.space.free(), stream.leaves());
        let is_copy = stream == Stream::Copies;
        let least = if self.space.is_pressed() && is_copy { 0 } else { self.grid.span() as usize };
        let has_room = |stream| self.space.rest(&self.grid, state, stream).nth(least).is_some();
        let may_go_elsewhere = is_copy && self.may_take_over();
        free > leaves || free == leaves && (has_room(stream) || may_go_elsewhere && has_room(Stream::Host))
    }

    /// Places in open superblocks in which copies can be programmed, about.
    pub fn open_room(&self, state: &FlashState) -> u32 {
        let rest = |stream| self.space.rest(&self.grid, state, stream).count();
        let other = if self.may_take_over() { rest(Stream::Host) } else { 0 };
        (rest(Stream::Copies) + other) as u32
    }

    /// Places in which copies can be programmed without erasing anything, about.
    pub fn room(&self, state: &FlashState) -> u32 {
        self.open_room(state) + self.space.free() as u32 * self.grid.live_pages()
    }

    /// Programs a version of a logical page in the stripe being built. `false`: there is no room.
    pub fn put<F: Flash>(
        &mut self,
        flash: &mut F,
        content: &Content,
        after: Option<CommandId>,
        stream: Stream,
    ) -> bool {
        let logical = content.logical.expect("a version of a logical page");
        let Some(page) = self.next_page(flash, stream) else { return false };
        let stripe = self.stripe_at(page, stream);
        let old = self.supersede(logical);
        self.pages.place(logical, page);
        let mut content = *content;
        if let (Some(old), None) = (old, content.waits.hold) {
            content.waits.hold = Some(self.space.hold(self.grid.of(old)));
        }
        let members = self.stripes.add(stripe, page, content);
        let command = PageProgram {
            page,
            // What it replaces is kept by its superblock, longer than a program would keep it.
            supersedes: None,
            what: Program::Data { payload: content.cells, merge: false },
            logical: logical.0,
            sequence: content.sequence,
            cause: content.cause,
            completion: Completion::Notify(0),
            after,
        };
        self.program(flash, stripe, command);
        if members == self.grid.data() {
            self.close_stripe(flash, stream);
        }
        true
    }

    /// A logical page gets a newer version or a tombstone: drops what its map entry names. Returns where that is.
    pub fn supersede(&mut self, logical: Lpn) -> Option<Ppn> {
        let entry = self.pages.entry(logical);
        let old = self.page_of(entry);
        match entry.place() {
            Place::Page(page) => self.pages.drop(page),
            Place::Tombstone(slot) => self.unbury(slot),
            Place::InLog(_) | Place::Nowhere => {}
        }
        old
    }

    /// The page that says what a logical page is: its newest version, or its tombstone.
    fn page_of(&self, entry: Entry) -> Option<Ppn> {
        match entry.place() {
            Place::Page(page) => Some(page),
            Place::Tombstone(slot) => Some(self.tombstones.get(slot)?.page),
            Place::InLog(_) | Place::Nowhere => None,
        }
    }

    /// Valid pages of a superblock.
    pub fn valid_count(&self, superblock: Superblock) -> u32 {
        self.grid.valid_count(&self.pages, superblock)
    }

    /// The stripe being built, or a new one that begins at `page`.
    pub fn stripe_at(&mut self, page: Ppn, stream: Stream) -> u32 {
        self.stripes.number(stream).unwrap_or_else(|| {
            self.space.keep_busy(self.grid.of(page), 1);
            self.stripes.begin(stream)
        })
    }

    /// Issues a program of a stripe.
    fn program<F: Flash>(&mut self, flash: &mut F, stripe: u32, command: PageProgram) {
        self.stripes.fly(stripe, command.page);
        reach(flash, command.page);
        let outcome = flash.program(self.owner, command);
        // Of one that failed on the spot an event will tell.
        if outcome == Outcome::Done
            && flash.state().is_programmed(command.page)
            && !flash.notify_late(self.owner, command.page, 0)
        {
            self.stripes.landed(command.page);
        }
    }

    /// Issues the program of a page that is no version of a logical page.
    pub fn program_record<F: Flash>(
        &mut self,
        flash: &mut F,
        stripe: u32,
        page: Ppn,
        record: Option<Box<[u8]>>,
        cause: Cause,
    ) {
        let record = record.and_then(|record| flash.memory_mut().payloads.take_record(|| record));
        let command = PageProgram {
            page,
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence: self.stripes.at(stripe).first().content.sequence,
            cause,
            completion: Completion::Notify(0),
            after: None,
        };
        self.program(flash, stripe, command);
    }

    /// The stripe being built is complete: its parity follows.
    pub fn close_stripe<F: Flash>(&mut self, flash: &mut F, stream: Stream) {
        let Some(stripe) = self.stripes.close(stream) else { return };
        let first = self.stripes.at(stripe).first();
        let begin = self.grid.position(first.page);
        let from = self.space.open(stream).map_or(begin, |open| open.next);
        let place = self.grid.usable_from(flash.state(), from, self.grid.reach_of(begin));
        let Some(place) = place.filter(|_| !self.space.fills_gaps(stream)) else {
            // Whoever waits for a page waits on unless there is no other die.
            self.stripes.end_without(stripe, self.grid.live_dies() > 1);
            return;
        };
        self.space.advance(stream, self.grid.of(first.page), place.next());
        let parity = self.grid.page(place);
        self.stripes.end_with(stripe, parity);
        let is_parity = first.content.logical.is_some();
        let record = flash.state().holds_contents().then(|| match first.content.logical {
            Some(_) => parity::encode(&self.grid, &flash.state().memory.payloads, &self.stripes.at(stripe).members),
            None => self.copied_record(first.page),
        });
        self.counters.parities += u64::from(is_parity);
        let cause = if is_parity { Cause::Parity } else { Cause::Metadata };
        self.program_record(flash, stripe, parity, record, cause);
    }

    /// A program failed: its stripe is written once more when the rest of it has ended.
    pub fn program_failed<F: Flash>(&mut self, flash: &mut F, failed: CommandId) {
        let page = flash.failure(failed).page;
        let (stripe, is_member) = self.stripes.fail(page, failed);
        if !is_member {
            flash.abandon(failed, page);
        }
        self.space.note_failure(self.grid.of(page));
        for stream in STREAMS {
            if self.stripes.number(stream) == Some(stripe) {
                self.close_stripe(flash, stream);
            }
        }
    }

    /// Every program of a stripe has ended.
    pub fn end_stripe<F: Flash>(
        &mut self,
        flash: &mut F,
        number: u32,
        operations: &mut Operations,
        outbox: &mut Outbox,
    ) {
        let stripe = self.stripes.end(number);
        let superblock = self.grid.of(stripe.first().page);
        if stripe.failed {
            self.space.keep_busy(superblock, stripe.members.len() as u32);
            self.stripes.move_all(&stripe);
        } else {
            self.end_well(flash, &stripe, operations, outbox);
        }
        self.space.leave(superblock);
        self.stripes.recycle(stripe);
    }

    fn end_well<F: Flash>(&mut self, flash: &mut F, stripe: &Stripe, operations: &mut Operations, outbox: &mut Outbox) {
        let first = stripe.first();
        if first.content.logical.is_none() {
            self.tombstone_written(first.page);
            if stripe.parity.is_none() && self.grid.live_dies() > 1 {
                self.repairs.add(first.page);
            }
        } else {
            self.counters.stripes += 1;
            self.counters.pages += stripe.members.len() as u64;
            let pages = stripe.members.iter().map(|member| member.page);
            if let Some(parity) = stripe.parity {
                self.roles.enter(pages, parity);
            } else if self.grid.live_dies() > 1 {
                pages.for_each(|page| self.repairs.add(page));
            }
        }
        for member in &stripe.members {
            flash.memory_mut().payloads.release(member.content.cells, 1);
            self.stripes.forget(&member.content);
        }
        let waits = stripe.members.iter().map(|member| member.content.waits);
        for waits in waits.chain(stripe.others.iter().copied()) {
            self.finish(waits, operations, outbox);
        }
    }

    /// What somebody waited for is safe.
    fn finish(&mut self, waits: Waits, operations: &mut Operations, outbox: &mut Outbox) {
        if let Some(hold) = waits.hold {
            self.space.release(hold);
        }
        if let Some(op) = waits.op {
            operations.page_done(op, outbox);
        }
    }

    /// Pages of stripes that failed find another place. `true`: there is none left to move.
    pub fn pump_moves<F: Flash>(&mut self, flash: &mut F, operations: &mut Operations, outbox: &mut Outbox) -> bool {
        while let Some(member) = self.stripes.next_move() {
            let from = member.page;
            let entry = member.content.logical.map(|logical| self.pages.entry(logical));
            let is_current = entry.is_none_or(|entry| entry == Entry::page(from));
            let to = match member.content.logical {
                _ if !is_current => entry.and_then(|entry| self.page_of(entry)),
                None => self.move_tombstone(flash, from, &member.content),
                Some(logical) => {
                    let placed = self.put(flash, &member.content, None, Stream::Copies);
                    if placed { self.pages.find(logical) } else { None }
                }
            };
            let Some(to) = to else { return false };
            let others = self.stripes.moved();
            if !is_current {
                flash.memory_mut().payloads.release(member.content.cells, 1);
                self.wait_for(to, member.content.waits, operations, outbox);
            }
            if let Some(failed) = member.failure {
                flash.abandon(failed, to);
            }
            for waits in others {
                self.wait_for(to, waits, operations, outbox);
            }
            self.space.leave(self.grid.of(from));
        }
        true
    }

    /// Who waited for a version that was overwritten, or that was moved, waits for the one at `page`.
    fn wait_for(&mut self, page: Ppn, waits: Waits, operations: &mut Operations, outbox: &mut Outbox) {
        if !self.stripes.wait_for(page, waits) {
            self.finish(waits, operations, outbox);
        }
    }
}
