//! Stripes under way: pages are programmed as they come, the parity with the last of them.

use super::superblocks::{Role, STREAMS, Stream};
use super::trim::encode;
use super::{Elastic, NONE, TRIMMED, UNMAPPED, is_programmed, kept_from};
use layer::Outbox;
use nand::{CommandId, Completion, Flash, Outcome, PageProgram, PayloadId, Program};
use units::Cause;

/// A page on its way to flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub place: u32,
    /// Logical page; `UNMAPPED` for a tombstone.
    pub logical: u32,
    pub sequence: u64,
    /// The operation that waits for it.
    pub op: u32,
    /// The superblock of what it replaces, kept until it is safe.
    pub hold: u32,
    /// The whole page, in memory until it is safe.
    pub cells: PayloadId,
    pub cause: Cause,
    /// Its program failed.
    pub failure: Option<CommandId>,
}

impl Member {
    /// A page that nobody waits for, not placed yet.
    pub(super) fn new(logical: u32, sequence: u64, cells: PayloadId, cause: Cause) -> Self {
        Self { place: NONE, logical, sequence, op: NONE, hold: NONE, cells, cause, failure: None }
    }
}

/// A stripe under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Stripe {
    pub members: Vec<Member>,
    /// Where the parity goes, or the second copy of a tombstone.
    parity: Option<u32>,
    /// Programs under way.
    waiting: u32,
    closed: bool,
    failed: bool,
    /// Operations and superblocks that wait for it, though no page of theirs is in it.
    others: Vec<(u32, u32)>,
}

/// How a parity begins, to tell it from a tombstone.
pub(super) const PARITY: u8 = 1;
const MEMBER_BYTES: usize = 16;

/// What a parity page says of its stripe.
pub(super) struct ParityRecord<'a> {
    /// Place, logical page and sequence number of each member.
    pub members: Vec<(u32, u32, u64)>,
    pub cells: &'a [u8],
}

impl<'a> ParityRecord<'a> {
    /// Nothing if the record is none of a parity.
    pub(super) fn read(record: &'a [u8]) -> Option<Self> {
        let (&[PARITY, count], rest) = record.split_first_chunk()? else { return None };
        let (members, cells) = rest.split_at_checked(usize::from(count) * MEMBER_BYTES)?;
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let members = members.chunks_exact(MEMBER_BYTES).map(|m| (word(&m[..4]), word(&m[4..8]), long(&m[8..])));
        Some(Self { members: members.collect(), cells })
    }
}

/// Adds a page to a parity.
pub(super) fn add(from: &[u8], into: &mut [u8]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
}

impl<F: Flash> Elastic<F> {
    /// A place for one more page of the stripe being built, or of a new one. The host leaves alone what collection
    /// needs to go on.
    pub(super) fn next_place(&mut self, flash: &mut F, stream: Stream) -> Option<u32> {
        let kept = kept_from(stream);
        if self.blocks.free.len() < kept {
            return None;
        }
        loop {
            let Some((superblock, from)) = self.blocks.open[stream as usize] else {
                if self.blocks.open_next(stream, kept) {
                    continue;
                }
                if stream == Stream::Host || !self.may_take_over() {
                    return None;
                }
                self.blocks.open[Stream::Copies as usize] = self.blocks.open[Stream::Host as usize].take();
                continue;
            };
            let end = self.blocks.end_of(superblock);
            let built = self.stripes.get(self.building[stream as usize] as usize);
            let first = built.and_then(|stripe| stripe.members.first()).map(|member| member.place);
            let has_room = built.is_none_or(|stripe| (stripe.members.len() as u32) < self.data);
            // Its parity must find a place on another die.
            let alone = self.blocks.live_dies() < 2 || self.pressed && stream == Stream::Copies;
            let (state, end) = (flash.state(), first.map_or(end, |first| end.min(first + self.blocks.span)));
            let place = match first {
                _ if !has_room => None,
                None if !alone => self.blocks.pair_from(state, from, end),
                _ => self.blocks.usable_from(state, from, end),
            };
            let place = place.filter(|place| alone || self.blocks.usable_from(state, place + 1, end).is_some());
            if let Some(place) = place {
                self.blocks.open[stream as usize] = Some((superblock, place + 1));
                return Some(place);
            }
            if first.is_some() {
                self.close_stripe(flash, stream);
            } else {
                self.blocks.close_open(stream);
            }
        }
    }

    /// Whether copies may go where the host was writing, because there is no other room.
    pub(super) fn may_take_over(&self) -> bool {
        self.building[Stream::Host as usize] == NONE && self.blocks.open[Stream::Host as usize].is_some()
    }

    /// Programs a page in the stripe being built. `false`: there is no room.
    pub(super) fn put(&mut self, flash: &mut F, member: &Member, after: Option<CommandId>, stream: Stream) -> bool {
        let Some(place) = self.next_place(flash, stream) else { return false };
        let stripe = self.building_at(place, stream);
        let old = std::mem::replace(&mut self.map[member.logical as usize], place);
        let mut member = Member { place, ..*member };
        if old != UNMAPPED && member.hold == NONE {
            member.hold = self.hold_of(old & !TRIMMED);
        }
        if old < TRIMMED {
            self.blocks.invalidate(old);
        } else if old != UNMAPPED {
            self.bury(old & !TRIMMED);
        }
        self.back[place as usize] = member.logical;
        self.blocks.validate(place);
        self.add_member(stripe, member);
        let what = Program::Data { payload: member.cells, merge: false };
        let Member { logical, sequence, cause, .. } = member;
        let page = self.blocks.page(place);
        // What it replaces is kept by its superblock, longer than a program would keep it.
        let completion = Completion::Notify(0);
        self.program(
            flash,
            stripe,
            PageProgram { page, supersedes: None, what, logical, sequence, cause, completion, after },
        );
        if self.stripes[stripe as usize].members.len() as u32 == self.data {
            self.close_stripe(flash, stream);
        }
        true
    }

    /// Keeps the superblock of a place from being erased.
    pub(super) fn hold_of(&mut self, place: u32) -> u32 {
        let superblock = self.blocks.of(place);
        self.blocks.held[superblock as usize] += 1;
        superblock
    }

    pub(super) fn release(&mut self, hold: u32) {
        if hold != NONE {
            self.blocks.held[hold as usize] -= 1;
        }
    }

    /// The stripe being built, or a new one that begins at `place`.
    pub(super) fn building_at(&mut self, place: u32, stream: Stream) -> u32 {
        if self.building[stream as usize] == NONE {
            self.building[stream as usize] = self.free_stripes.pop().unwrap_or_else(|| {
                self.stripes.push(Stripe::default());
                self.stripes.len() as u32 - 1
            });
            let superblock = self.blocks.of(place);
            self.blocks.busy[superblock as usize] += 1;
        }
        self.building[stream as usize]
    }

    /// One more page belongs to a stripe.
    pub(super) fn add_member(&mut self, stripe: u32, member: Member) {
        self.stripes[stripe as usize].members.push(member);
    }

    /// A superblock is kept until a stripe is safe.
    pub(super) fn wait_with(&mut self, stripe: u32, hold: u32) {
        self.stripes[stripe as usize].others.push((NONE, hold));
    }

    /// Where the last page of a stripe goes, if it has a place.
    pub(super) fn parity_of(&self, stripe: u32) -> Option<u32> {
        self.stripes[stripe as usize].parity
    }

    /// Issues a program of a stripe.
    pub(super) fn program(&mut self, flash: &mut F, stripe: u32, command: PageProgram) {
        let place = self.blocks.place(command.page);
        self.flying.insert(place, stripe);
        self.stripes[stripe as usize].waiting += 1;
        let (block, position) =
            (flash.state().geometry.block_of(command.page), flash.state().geometry.page_in_block(command.page));
        if u32::from(flash.state().block(block).issued) != position {
            flash.skip_to(command.page);
        }
        let outcome = flash.program(self.owner, command);
        // Of one that failed on the spot an event will tell.
        if outcome == Outcome::Done && is_programmed(flash.state(), command.page) {
            self.landed.push_back(place);
        }
    }

    /// The stripe being built is complete: its parity follows.
    pub(super) fn close_stripe(&mut self, flash: &mut F, stream: Stream) {
        let stripe = std::mem::replace(&mut self.building[stream as usize], NONE);
        if stripe == NONE {
            return;
        }
        self.stripes[stripe as usize].closed = true;
        self.under_way += 1;
        let first = self.stripes[stripe as usize].members[0].place;
        let from = self.blocks.open[stream as usize].map_or(first, |(_, next)| next);
        let end = self.blocks.end_of(self.blocks.of(first)).min(first + self.blocks.span);
        let Some(place) = self.blocks.usable_from(flash.state(), from, end) else {
            // A failed block, a last die, or no room: whoever waits for a page waits on unless there is no other die.
            let entry = &mut self.stripes[stripe as usize];
            entry.failed = self.blocks.live_dies() > 1 && entry.members.iter().any(|member| member.op != NONE);
            if self.stripes[stripe as usize].waiting == 0 {
                self.ended.push_back(stripe);
            }
            return;
        };
        self.blocks.open[stream as usize] = Some((self.blocks.of(first), place + 1));
        self.stripes[stripe as usize].parity = Some(place);
        let record =
            self.record_of(flash, stripe).and_then(|record| flash.memory_mut().payloads.take_record(|| record));
        let is_parity = self.stripes[stripe as usize].members[0].logical != UNMAPPED;
        self.counters.parities += u64::from(is_parity);
        let command = PageProgram {
            page: self.blocks.page(place),
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence: self.stripes[stripe as usize].members[0].sequence,
            cause: if is_parity { Cause::Parity } else { Cause::Metadata },
            completion: Completion::Notify(0),
            after: None,
        };
        self.program(flash, stripe, command);
    }

    /// What goes into the last page of a stripe, where contents are on.
    fn record_of(&self, flash: &F, stripe: u32) -> Option<Box<[u8]>> {
        flash.state().contents()?;
        let payloads = &flash.state().memory.payloads;
        let members = &self.stripes[stripe as usize].members;
        if members[0].logical == UNMAPPED {
            return Some(encode(&self.tombstones[&members[0].place].ranges));
        }
        let mut sum = vec![0; payloads.cells(members[0].cells).len()];
        let mut record = vec![PARITY, members.len() as u8];
        for member in members {
            record.extend(member.place.to_le_bytes());
            record.extend(member.logical.to_le_bytes());
            record.extend(member.sequence.to_le_bytes());
            add(payloads.cells(member.cells), &mut sum);
        }
        record.extend(sum);
        Some(record.into())
    }

    /// A program has ended.
    pub(super) fn land(&mut self, place: u32) {
        let stripe = self.flying[&place];
        let entry = &mut self.stripes[stripe as usize];
        entry.waiting -= 1;
        if entry.closed && entry.waiting == 0 {
            self.ended.push_back(stripe);
        }
    }

    /// A program failed: its stripe is written once more when the rest of it has ended.
    pub(super) fn program_failed(&mut self, flash: &mut F, failed: CommandId) {
        let page = flash.failed(failed).details().page;
        let place = self.blocks.place(page);
        let stripe = self.flying[&place];
        let entry = &mut self.stripes[stripe as usize];
        entry.failed = true;
        match entry.members.iter_mut().find(|member| member.place == place) {
            Some(member) => member.failure = Some(failed),
            None => flash.failed(failed).abandon(page),
        }
        let superblock = self.blocks.of(place);
        if !self.failing.contains(&superblock) {
            self.failing.push(superblock);
        }
        self.land(place);
        for stream in STREAMS {
            if self.building[stream as usize] == stripe {
                self.close_stripe(flash, stream);
            }
        }
    }

    /// Every program of a stripe has ended.
    pub(super) fn end_stripe(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        let stripe = std::mem::take(&mut self.stripes[number as usize]);
        self.under_way -= 1;
        let superblock = self.blocks.of(stripe.members[0].place);
        for place in stripe.members.iter().map(|member| member.place).chain(stripe.parity) {
            self.flying.remove(&place);
        }
        if stripe.failed {
            self.blocks.busy[superblock as usize] += stripe.members.len() as u32;
            // Whoever waited for this stripe besides waits for the first of its pages.
            let first = stripe.members[0].place;
            self.waiting_moves.extend(stripe.others.iter().map(|(op, hold)| (first, *op, *hold)));
            self.moves.extend(stripe.members.iter().copied());
        } else {
            self.end_well(flash, &stripe, outbox);
        }
        self.blocks.busy[superblock as usize] -= 1;
        // Its lists are used again.
        let Stripe { mut members, mut others, .. } = stripe;
        members.clear();
        others.clear();
        self.stripes[number as usize] = Stripe { members, others, ..Stripe::default() };
        self.free_stripes.push(number);
    }

    fn end_well(&mut self, flash: &mut F, stripe: &Stripe, outbox: &mut Outbox) {
        let first = stripe.members[0];
        if first.logical == UNMAPPED {
            self.tombstone_is_safe(first.place);
        } else {
            self.counters.stripes += 1;
            self.counters.pages += stripe.members.len() as u64;
            if let Some(parity) = stripe.parity {
                stripe.members.iter().for_each(|member| self.blocks.set_role(member.place, Role::Data));
                self.blocks.set_role(parity, Role::Parity);
            } else if self.blocks.live_dies() > 1 {
                self.repairs.extend(stripe.members.iter().map(|member| member.place));
            }
        }
        for member in &stripe.members {
            self.forget(flash, member);
        }
        let waiting = stripe.members.iter().map(|member| (member.op, member.hold));
        for (op, hold) in waiting.chain(stripe.others.iter().copied()) {
            self.release(hold);
            self.page_done(op, outbox);
        }
    }

    /// A page need not be in memory any more.
    fn forget(&mut self, flash: &mut F, member: &Member) {
        flash.memory_mut().payloads.release(member.cells, 1);
        if member.op == NONE {
            match member.cause {
                Cause::Gc => self.copies_under_way -= 1,
                Cause::Rebuild => self.repairs_under_way -= 1,
                _ => {}
            }
        }
    }

    /// Pages of stripes that failed find another place. `true`: there is none left to move.
    pub(super) fn pump_moves(&mut self, flash: &mut F, outbox: &mut Outbox) -> bool {
        while let Some(member) = self.moves.front().copied() {
            let from = member.place;
            let is_tombstone = member.logical == UNMAPPED;
            let is_current = is_tombstone || self.map[member.logical as usize] == from;
            let to = match (is_current, is_tombstone) {
                (true, true) => self.move_tombstone(flash, from, &member),
                (true, false) => {
                    let placed = self.put(flash, &Member { failure: None, ..member }, None, Stream::Copies);
                    placed.then(|| self.map[member.logical as usize])
                }
                (false, _) => Some(self.map[member.logical as usize] & !TRIMMED),
            };
            let Some(to) = to else { return false };
            self.moves.pop_front();
            if !is_current {
                self.forget(flash, &member);
                self.wait_for(to, member.op, member.hold, outbox);
            }
            if let Some(failed) = member.failure {
                flash.failed(failed).abandon(self.blocks.page(to));
            }
            let (others, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.waiting_moves).into_iter().partition(|(place, ..)| *place == from);
            self.waiting_moves = kept;
            for (_, op, hold) in others {
                self.wait_for(to, op, hold, outbox);
            }
            let superblock = self.blocks.of(from);
            self.blocks.busy[superblock as usize] -= 1;
        }
        true
    }

    /// Who waited for a version that was overwritten, or that was moved, waits for the one at `place`.
    fn wait_for(&mut self, place: u32, op: u32, hold: u32, outbox: &mut Outbox) {
        if let Some(stripe) = self.flying.get(&place) {
            self.stripes[*stripe as usize].others.push((op, hold));
        } else if self.moves.iter().any(|other| other.place == place) {
            self.waiting_moves.push((place, op, hold));
        } else {
            self.release(hold);
            self.page_done(op, outbox);
        }
    }

    /// The page at `place`, where it is still in memory.
    pub(super) fn in_memory(&self, place: u32) -> Option<Member> {
        let flying = self.flying.get(&place).map(|stripe| &self.stripes[*stripe as usize].members);
        flying.into_iter().flatten().chain(&self.moves).find(|member| member.place == place).copied()
    }
}
