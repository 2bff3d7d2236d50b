//! Moving commands along: readiness, die queues, array, transfer, completion.

use super::TimedFlash;
use super::die::Die;
use super::slab::{Kind, Slot, State, What, flag};
use crate::NIL;
use crate::contents::{Oob, PageKind};
use crate::core::PageContent;
use crate::flash::{CommandId, Event, Program, ProgramFailure};
use crate::part::SuspendOption;
use units::{BlockId, CAUSES, Cause, Nanos, Ppn};

/// Queued commands looked at for a multi-plane start.
const GANG_SEARCH: usize = 16;
/// Interruptions of one program or erase; after that it runs to its end.
const SUSPENDS_LIMIT: u8 = 8;

impl TimedFlash {
    #[inline]
    pub(super) fn handle(&mut self, event: u32) {
        if event < self.die_count {
            let index = event as usize;
            if self.cached || self.dies[index].array != NIL {
                self.array_finished(index);
            } else {
                self.transfer_finished(index);
            }
        } else if event < self.timer_base {
            let index = self.channels[(event - self.die_count) as usize].serving;
            self.transfer_finished(index as usize);
        } else {
            let timer = event - self.timer_base;
            self.core.events.push((0, Event::Timer { timer }));
        }
    }

    #[inline]
    fn block_of(&self, page: u32) -> BlockId {
        self.core.geometry.block_of(Ppn(page))
    }

    /// Everything the command waited for has happened.
    #[inline]
    pub(super) fn ready(&mut self, id: u32) {
        let slot = self.slab.get(id);
        let (kind, page, flags) = (slot.kind, slot.page, slot.flags);
        let block = self.block_of(page);
        let position = self.core.geometry.page_in_block(Ppn(page)) as u16;
        if kind == Kind::Read {
            if flags & flag::WASTED != 0 {
                self.slab.remove(id);
                self.unpin(block);
            } else if position < self.core.block(block).done {
                self.enqueue(id);
            } else {
                self.park(block, id);
            }
            return;
        }
        let row = self.core.row(block);
        if row.has_failed() {
            self.hand_back(id);
        } else if row.entered == position && !row.erase_pending() {
            row.entered += 1;
            let parked = row.parked != NIL;
            self.enqueue(id);
            if parked {
                self.unpark(block, Cause::Host as u8, Cause::Host as u8);
            }
        } else {
            self.park(block, id);
        }
    }

    fn park(&mut self, block: BlockId, id: u32) {
        let head = self.core.block(block).parked;
        let slot = self.slab.at(id);
        slot.state = State::Parked;
        slot.since = self.now;
        slot.next = head;
        self.core.row(block).parked = id;
    }

    pub(super) fn leave_parked(&mut self, block: BlockId, id: u32) {
        let next = self.slab.get(id).next;
        let mut at = self.core.block(block).parked;
        if at == id {
            self.core.row(block).parked = next;
            return;
        }
        while self.slab.get(at).next != id {
            at = self.slab.get(at).next;
        }
        self.slab.at(at).next = next;
    }

    /// Lets parked commands go whose page or turn has come; they waited behind `cause`.
    #[cold]
    fn unpark(&mut self, block: BlockId, cause: u8, root: u8) {
        let mut at = self.core.block(block).parked;
        while at != NIL {
            let slot = *self.slab.get(at);
            let position = self.core.geometry.page_in_block(Ppn(slot.page)) as u16;
            let row = *self.core.block(block);
            let is_read = slot.kind == Kind::Read;
            let free = if is_read { position < row.done } else { position == row.entered && !row.has_failed() };
            if !free || row.erase_pending() {
                at = slot.next;
                continue;
            }
            self.leave_parked(block, at);
            if slot.flags & flag::TRACED != 0 {
                self.charge(at, cause as usize, root as usize, self.now - slot.since);
            }
            if is_read {
                self.enqueue(at);
                at = slot.next;
            } else {
                self.core.row(block).entered += 1;
                self.enqueue(at);
                at = self.core.block(block).parked; // the next page's turn may have come
            }
        }
    }

    /// Reads that waited for `from`, which will never be programmed, wait for `to` instead.
    pub(super) fn redirect_readers(&mut self, block: BlockId, from: u32, to: Ppn) {
        let mut at = self.core.block(block).parked;
        while at != NIL {
            let slot = *self.slab.get(at);
            if slot.kind == Kind::Read && slot.page == from {
                self.leave_parked(block, at);
                self.slab.at(at).page = to.0;
                let target = self.core.geometry.block_of(to);
                self.core.row(target).pins += 1;
                self.ready(at);
                self.unpin(block);
            }
            at = slot.next;
        }
    }

    #[inline]
    fn charge(&mut self, id: u32, direct: usize, root: usize, time: Nanos) {
        let slot = self.slab.at(id);
        let first = slot.flags & flag::WAITED == 0;
        slot.flags |= flag::WAITED;
        self.traces[id as usize].charge(direct, root, time, first);
    }

    /// Puts a command into the queue of its die, or straight onto an idle one.
    #[inline]
    pub(super) fn enqueue(&mut self, id: u32) {
        let slot = self.slab.get(id);
        let (kind, traced, cause) = (slot.kind, slot.flags & flag::TRACED != 0, slot.cause);
        let die = self.core.geometry.die_of(self.block_of(slot.page)).index();
        if self.dies[die].is_idle() {
            let slot = self.slab.at(id);
            slot.state = State::Active;
            slot.next = NIL;
            self.start(die, id);
            return;
        }
        let lane = Die::lane(kind, self.reads_first);
        let tail = self.dies[die].tail[lane];
        if traced && cause == Cause::Host as u8 {
            let before = self.command_before(die, tail);
            self.slab.at(id).root = self.slab.get(before).root;
        }
        if traced {
            self.traces[id as usize].queued(&self.meters[die], self.now);
        }
        let slot = self.slab.at(id);
        slot.state = State::Queued;
        slot.prev = tail;
        slot.next = NIL;
        if tail == NIL {
            self.dies[die].head[lane] = id;
        } else {
            self.slab.at(tail).next = id;
        }
        self.dies[die].tail[lane] = id;
        if kind == Kind::Read && self.options.suspend != SuspendOption::Off {
            self.try_suspend(die);
        }
        if self.cached {
            self.dispatch(die);
        }
    }

    /// The command a newcomer stands behind: the last of its queue, or the one on the die.
    #[inline]
    fn command_before(&self, die: usize, tail: u32) -> u32 {
        let die = &self.dies[die];
        [tail, die.array, die.transfer, die.suspended, die.head[0], die.head[1]]
            .into_iter()
            .find(|&id| id != NIL)
            .expect("a busy die has a command")
    }

    /// Takes a queued command out of its die's queue: O(1).
    #[inline]
    pub(super) fn unlink(&mut self, id: u32) {
        let slot = self.slab.get(id);
        let (next, prev, kind) = (slot.next, slot.prev, slot.kind);
        let die = self.core.geometry.die_of(self.block_of(slot.page)).index();
        let lane = Die::lane(kind, self.reads_first);
        if prev == NIL {
            self.dies[die].head[lane] = next;
        } else {
            self.slab.at(prev).next = next;
        }
        if next == NIL {
            self.dies[die].tail[lane] = prev;
        } else {
            self.slab.at(next).prev = prev;
        }
    }

    fn try_suspend(&mut self, index: usize) {
        let die = &self.dies[index];
        if die.array == NIL || die.transfer != NIL || die.suspended != NIL || die.suspends >= SUSPENDS_LIMIT {
            return;
        }
        let kind = self.slab.get(die.array).kind;
        let allowed = match self.options.suspend {
            SuspendOption::Off => false,
            SuspendOption::Erase => kind == Kind::Erase,
            SuspendOption::ProgramErase => kind == Kind::Erase || kind == Kind::Program,
        };
        let Some(end) = self.queue.armed(index as u32).filter(|_| allowed) else { return };
        let gang = die.array;
        self.queue.disarm(index as u32);
        let die = &mut self.dies[index];
        die.suspended = gang;
        die.suspended_left = end - self.now + self.options.suspend_ns;
        die.suspends += 1;
        die.array = NIL;
        self.each_member(gang, |flash, id| {
            if flash.slab.get(id).flags & flag::TRACED != 0 {
                flash.traces[id as usize].queued(&flash.meters[index], flash.now);
            }
        });
        self.dispatch(index);
    }

    fn resume(&mut self, index: usize) {
        let die = &mut self.dies[index];
        let gang = die.suspended;
        die.array = gang;
        die.suspended = NIL;
        let end = self.now + die.suspended_left;
        self.each_member(gang, |flash, id| flash.settle_wait(index, id));
        let slot = self.slab.get(gang);
        self.meters[index].occupy(self.now, slot.cause, slot.root);
        self.queue.arm(index as u32, end);
    }

    fn each_member(&mut self, gang: u32, mut action: impl FnMut(&mut Self, u32)) {
        let mut id = gang;
        while id != NIL {
            let next = self.slab.get(id).next;
            action(self, id);
            id = next;
        }
    }

    /// Charges a traced command with what its die did since the last snapshot.
    #[inline]
    fn settle_wait(&mut self, die: usize, id: u32) {
        let slot = self.slab.at(id);
        if slot.flags & flag::TRACED != 0 {
            let first = slot.flags & flag::WAITED == 0;
            slot.flags |= flag::WAITED;
            self.traces[id as usize].started(&self.meters[die], self.now, first);
        }
    }

    /// Starts what the die can start now.
    #[inline]
    fn dispatch(&mut self, index: usize) {
        let die = &self.dies[index];
        if die.array == NIL && die.transfer == NIL {
            let lane = usize::from(die.head[1] != NIL);
            if die.suspended != NIL {
                if lane == 0 {
                    self.resume(index);
                    return;
                }
            } else if die.head[lane] == NIL {
                self.meters[index].vacate(self.now);
                return;
            }
            self.start_next(index, lane);
            if !self.options.cache_program {
                return;
            }
        }
        if self.cached {
            self.dispatch_cached(index);
        }
    }

    /// Starts the other half of a cache command: the array while the register moves, or the
    /// register while the array works.
    fn dispatch_cached(&mut self, index: usize) {
        let die = &self.dies[index];
        let lane = usize::from(die.head[1] != NIL);
        let head = die.head[lane];
        if head == NIL || die.suspended != NIL {
            return;
        }
        let next = self.slab.get(head).kind;
        let beside = |id: u32, kind: Kind| id != NIL && self.slab.get(id).kind == kind && next == kind;
        let read = self.options.cache_read && die.array == NIL && beside(die.transfer, Kind::Read);
        let program = self.options.cache_program && die.transfer == NIL && beside(die.array, Kind::Program);
        if read || program {
            self.start_next(index, lane);
        }
    }

    #[inline]
    fn start_next(&mut self, index: usize, lane: usize) {
        let id = self.dies[index].head[lane];
        self.unlink(id);
        let slot = self.slab.at(id);
        slot.state = State::Active;
        slot.next = NIL;
        self.settle_wait(index, id);
        if self.options.multi_plane && self.core.geometry.planes_per_die > 1 {
            self.gather(index, lane, id);
        }
        self.start(index, id);
    }

    /// Adds queued commands of the same kind for other planes.
    fn gather(&mut self, index: usize, lane: usize, first: u32) {
        let kind = self.slab.get(first).kind;
        let plane = |flash: &Self, id: u32| flash.core.geometry.plane_of(flash.block_of(flash.slab.get(id).page));
        let mut taken = 1_u64 << (plane(self, first) % 64);
        let mut last = first;
        let mut at = self.dies[index].head[lane];
        for _ in 0..GANG_SEARCH {
            if at == NIL {
                break;
            }
            let next = self.slab.get(at).next;
            let bit = 1_u64 << (plane(self, at) % 64);
            if taken & bit == 0 {
                taken |= bit; // one command a plane, and none may overtake another of its plane
                if self.slab.get(at).kind == kind {
                    self.unlink(at);
                    let slot = self.slab.at(at);
                    slot.state = State::Active;
                    slot.next = NIL;
                    self.settle_wait(index, at);
                    self.slab.at(last).next = at;
                    last = at;
                }
            }
            at = next;
        }
    }

    /// Puts a gang whose members are taken out of the queue onto its die.
    #[inline]
    fn start(&mut self, index: usize, gang: u32) {
        let slot = self.slab.get(gang);
        let (kind, cause, root) = (slot.kind, slot.cause, slot.root);
        let die = &mut self.dies[index];
        if die.array == NIL {
            self.meters[index].occupy(self.now, cause, root);
        }
        let time = match kind {
            Kind::Program => {
                die.transfer = gang;
                die.moved = 0;
                self.ask_channel(index);
                return;
            }
            Kind::Read => self.part.read_ns + self.part.command_ns,
            Kind::Copyback => self.part.read_ns + self.part.program_ns + self.part.command_ns,
            Kind::Erase => self.part.erase_ns + self.part.command_ns,
        };
        die.array = gang;
        die.suspends = 0;
        self.queue.arm(index as u32, self.now + time);
    }

    /// The member of the die's transfer gang that moves next.
    #[inline]
    fn moving(&self, index: usize) -> u32 {
        let die = &self.dies[index];
        let mut id = die.transfer;
        for _ in 0..die.moved {
            id = self.slab.get(id).next;
        }
        id
    }

    #[inline]
    fn ask_channel(&mut self, index: usize) {
        let channel = self.dies[index].channel as usize;
        if self.channels[channel].serving == NIL {
            self.grant_channel(channel, index);
        } else {
            let id = self.moving(index);
            self.slab.at(id).since = self.now;
            self.channels[channel].waiting.push_back(index as u32);
        }
    }

    #[inline]
    fn grant_channel(&mut self, channel: usize, index: usize) {
        let slot = self.slab.get(self.moving(index));
        let time = match slot.kind {
            Kind::Read => self.read_transfer_ns[slot.sectors as usize],
            _ => self.page_transfer_ns,
        };
        self.channels[channel].serving = index as u32;
        let event = if self.cached { self.die_count + channel as u32 } else { index as u32 };
        self.queue.arm(event, self.now + time);
    }

    #[inline]
    fn transfer_finished(&mut self, index: usize) {
        let channel = self.dies[index].channel as usize;
        self.channels[channel].serving = NIL;
        if let Some(next) = self.channels[channel].waiting.pop_front() {
            let next = next as usize;
            let id = self.moving(next);
            let slot = self.slab.at(id);
            if slot.flags & flag::TRACED != 0 {
                let waited = self.now - slot.since;
                let first = slot.flags & flag::WAITED == 0;
                slot.flags |= flag::WAITED;
                self.traces[id as usize].charge_bus(waited, first);
            }
            self.grant_channel(channel, next);
        }
        let gang = self.dies[index].transfer;
        if self.slab.get(gang).kind == Kind::Read {
            self.read_moved(index, gang);
        } else {
            self.program_moved(index, gang);
        }
    }

    #[inline]
    fn read_moved(&mut self, index: usize, id: u32) {
        let rest = self.slab.get(id).next;
        let die = &mut self.dies[index];
        die.transfer = rest;
        if rest != NIL {
            self.ask_channel(index);
        } else if die.array_done {
            die.transfer = die.array;
            die.array = NIL;
            die.array_done = false;
            self.ask_channel(index);
            self.dispatch(index);
        } else {
            self.dispatch(index);
        }
        self.complete(id);
    }

    #[inline]
    fn program_moved(&mut self, index: usize, gang: u32) {
        self.dies[index].moved += 1;
        if self.moving(index) != NIL {
            self.ask_channel(index);
        } else if self.dies[index].array == NIL {
            self.dies[index].transfer = NIL;
            self.start_programming(index, gang);
        } else {
            self.dies[index].loaded = true;
        }
    }

    #[inline]
    fn start_programming(&mut self, index: usize, gang: u32) {
        let die = &mut self.dies[index];
        die.array = gang;
        die.moved = 0;
        die.suspends = 0;
        self.queue.arm(index as u32, self.now + self.part.program_ns);
        if self.options.cache_program || self.options.suspend == SuspendOption::ProgramErase {
            let slot = self.slab.get(gang);
            self.meters[index].occupy(self.now, slot.cause, slot.root);
            // A read that arrived during the transfer may interrupt now.
            if self.reads_first && self.dies[index].head[1] != NIL {
                self.try_suspend(index);
            }
            if self.dies[index].array != NIL {
                self.dispatch(index);
            }
        }
    }

    #[inline]
    fn array_finished(&mut self, index: usize) {
        let die = &mut self.dies[index];
        let gang = die.array;
        if self.slab.get(gang).kind == Kind::Read {
            if die.transfer == NIL {
                die.transfer = gang;
                die.array = NIL;
                die.moved = 0;
                self.ask_channel(index);
                if self.options.cache_read {
                    self.dispatch(index);
                }
            } else {
                die.array_done = true;
            }
            return;
        }
        die.array = NIL;
        if die.loaded {
            let next = die.transfer;
            die.loaded = false;
            die.transfer = NIL;
            self.start_programming(index, next);
        } else if die.transfer == NIL {
            self.dispatch(index);
        }
        let mut id = gang;
        while id != NIL {
            let next = self.slab.get(id).next;
            self.complete(id);
            id = next;
        }
    }

    #[inline]
    pub(super) fn unpin(&mut self, block: BlockId) {
        let row = self.core.row(block);
        debug_assert!(row.pins > 0, "block {block} has no pin to take away");
        row.pins -= 1;
        if row.pins == 0 && row.waiting_erase != NIL {
            let erase = row.waiting_erase;
            row.waiting_erase = NIL;
            self.enqueue(erase);
        }
    }

    /// The command has done its work on the die and the channel.
    #[inline]
    fn complete(&mut self, id: u32) {
        let slot = *self.slab.get(id);
        let block = self.block_of(slot.page);
        self.core.mix(self.now << 20 ^ u64::from(slot.page));
        let mut failed = false;
        match slot.kind {
            Kind::Read => {
                let cause = CAUSES[slot.cause as usize];
                let payload = crate::PayloadId(slot.payload);
                failed = self.core.complete_read(Ppn(slot.page), cause, payload);
                self.unpin(block);
            }
            Kind::Program | Kind::Copyback => {
                if self.core.block(block).has_failed() || self.core.program_fails(block) {
                    self.program_failed(id, block);
                    return;
                }
                self.store(&slot);
                if self.core.block(block).parked != NIL {
                    self.unpark(block, slot.cause, slot.root);
                }
                self.finish_program(&slot, block);
            }
            Kind::Erase => {
                let done = self.core.complete_erase(block, CAUSES[slot.cause as usize]);
                let event = if done { Event::Erased { block } } else { Event::EraseFailed { block } };
                self.core.events.push((slot.owner, event));
                if self.core.block(block).parked != NIL {
                    self.unpark(block, slot.cause, slot.root); // only where a law is broken on purpose
                }
            }
        }
        self.conclude(id, &slot, failed);
    }

    #[inline]
    fn store(&mut self, slot: &Slot) {
        let cause = CAUSES[slot.cause as usize];
        self.core.count_program(Ppn(slot.page), cause);
        if slot.kind == Kind::Copyback || self.core.contents.is_some() {
            self.store_contents(slot, cause);
        }
    }

    #[inline(never)]
    fn store_contents(&mut self, slot: &Slot, cause: Cause) {
        let supersedes = (slot.supersedes != NIL).then_some(Ppn(slot.supersedes));
        let mut base_lost = slot.flags & flag::BASE_LOST != 0;
        if slot.kind == Kind::Copyback {
            let source = Ppn(slot.supersedes);
            base_lost |= self.core.complete_read(source, cause, crate::PayloadId::NONE);
        }
        let kind = if slot.what == What::Record { PageKind::Metadata } else { PageKind::Data };
        let oob = Oob { kind, logical: slot.logical, sequence: slot.sequence };
        let what = Self::what_of(slot);
        debug_assert!(what != Program::Copy || supersedes.is_some(), "a copy has a source");
        self.core.store(Ppn(slot.page), PageContent { what, supersedes, oob, base_lost });
    }

    /// Gives back the pins of a program whose data is safe and lowers the barriers it held up.
    #[inline]
    pub(super) fn finish_program(&mut self, slot: &Slot, block: BlockId) {
        self.unpin(block);
        if slot.supersedes != NIL && !self.core.breaks(crate::LawBroken::PinsOff) {
            let old = self.block_of(slot.supersedes);
            self.unpin(old);
        }
        if slot.flags & flag::BARRIER != 0 && self.barriers.completed(slot.epoch) {
            while let Some(join) = self.barriers.fallen() {
                self.join_one(join, None);
            }
        }
    }

    /// Tells those who wait for a command that has ended.
    #[inline]
    pub(super) fn conclude(&mut self, id: u32, slot: &Slot, failed: bool) {
        while let Some(successor) = self.slab.next_successor(id) {
            self.hand_on(id, slot, successor, failed);
        }
        let flags = self.slab.get(id).flags;
        if flags & flag::JOIN != 0 {
            if failed {
                self.joins.at(slot.completion).failed = true;
            }
            self.join_one(slot.completion, (flags & flag::WAITED != 0).then_some(id));
        } else if flags & flag::NOTIFY != 0 {
            let page = Ppn(slot.page);
            self.core.events.push((slot.owner, Event::Notified { token: slot.completion, page }));
        } else if flags & flag::WASTED != 0 {
            self.core.counters.wasted_reads += 1;
        }
        self.slab.remove(id);
    }

    #[inline]
    fn hand_on(&mut self, id: u32, before: &Slot, successor: u32, failed: bool) {
        let slot = self.slab.at(successor);
        if failed {
            slot.flags |= flag::BASE_LOST;
        }
        slot.waits -= 1;
        let last = slot.waits == 0;
        if before.flags & slot.flags & flag::TRACED != 0 {
            self.hand_wait_on(id, before, successor);
        }
        if last {
            self.ready(successor);
        }
    }

    #[inline(never)]
    fn hand_wait_on(&mut self, id: u32, before: &Slot, successor: u32) {
        self.slab.at(successor).flags |= flag::WAITED;
        let waited = before.flags & flag::WAITED != 0;
        let wait = self.traces[id as usize].handed_on(self.now, before.cause, before.root, waited);
        self.traces[successor as usize].inherit(wait);
    }

    /// One member of a join is done; `waited` names the command whose waiting counts if it is the last.
    #[inline]
    fn join_one(&mut self, join: u32, waited: Option<u32>) {
        let entry = self.joins.at(join);
        entry.remaining -= 1;
        if entry.remaining > 0 {
            return;
        }
        let (owner, token, failed) = (entry.owner, entry.token, entry.failed);
        self.joins.remove(join);
        let wait = waited.map(|id| {
            self.core.waits.push(*self.traces[id as usize].wait());
            self.core.waits.len() as u32 - 1
        });
        self.core.events.push((owner, Event::Joined { token, failed, wait }));
    }

    /// A program failed: its block takes no more data, and every program queued for it goes back.
    #[cold]
    fn program_failed(&mut self, id: u32, block: BlockId) {
        self.core.row(block).set_failed();
        let geometry = self.core.geometry;
        let mut back: Vec<u32> = self
            .slab
            .live_ids()
            .filter(|&other| {
                let slot = self.slab.get(other);
                geometry.block_of(Ppn(slot.page)) == block
                    && matches!(slot.kind, Kind::Program | Kind::Copyback)
                    && matches!(slot.state, State::Queued | State::Parked)
            })
            .collect();
        back.sort_unstable_by_key(|&other| self.slab.get(other).page);
        self.hand_back(id);
        for other in back {
            match self.slab.get(other).state {
                State::Queued => self.unlink(other),
                _ => self.leave_parked(block, other),
            }
            self.hand_back(other);
        }
    }

    #[cold]
    fn hand_back(&mut self, id: u32) {
        let slot = self.slab.at(id);
        slot.state = State::Failed;
        let (owner, generation) = (slot.owner, slot.generation);
        self.core.events.push((owner, Event::ProgramFailed(CommandId { slot: id, generation })));
    }

    pub(super) fn failure_of(&self, id: CommandId) -> ProgramFailure {
        let slot = self.slab.get(id.slot);
        assert!(slot.state == State::Failed, "only a failed program can be asked after");
        ProgramFailure {
            page: Ppn(slot.page),
            supersedes: (slot.supersedes != NIL).then_some(Ppn(slot.supersedes)),
            what: Self::what_of(slot),
            logical: slot.logical,
            sequence: slot.sequence,
            cause: CAUSES[slot.cause as usize],
            id,
        }
    }
}
