//! Write-backs: pages that leave in order, blocks that are completed first, and flushes behind them.
//!
//! ```text
//! victim -> queue: a run of pages, a block to be completed, a flush
//!           head:  pages are given to the layer below one after the other until it has no room
//!                  a block that lacks pages reads them first, and comes back to the head
//! ```
//! The queue is first in, first out, so that versions of a page reach the layer below in their order. A page
//! whose older version is not on flash yet waits for it, and with it all pages that leave together: the layer below
//! is told that more of them follow, and may wait for the last. From when a block reads what it lacks
//! until it is written nothing else may change its pages below.

use crate::buffered::{Asked, Buffered, Tag};
use crate::parameters::Area;
use crate::policy::{Policy, Victim};
use crate::store::{NONE, Slot, State, Store};
use layer::{Answer, Outbox, PageOp, Slots};
use nand::Flash;
use std::collections::VecDeque;
use units::{Cause, HostOp, Lpn, Request};

/// Pages that leave together.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    area: usize,
    block: u32,
    /// Slots given to the layer below.
    next: usize,
    /// Slots given and not on flash.
    under_way: u32,
    /// Reads of missing pages under way.
    reading: u32,
    /// All of the block's pages are written.
    is_whole: bool,
    /// No page of it waits for an older version.
    is_free: bool,
    /// It has what it lacked.
    is_complete: bool,
    /// The layer below knows that a whole block comes.
    is_begun: bool,
    /// Some missing page could not be read.
    failed: bool,
    /// It frees a frame when it ends.
    has_frame: bool,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Job(u32),
    Flush(PageOp),
}

/// See the module description.
#[derive(Debug)]
pub(crate) struct WriteBack {
    jobs: Slots<Job>,
    /// Slots of each job, in the order in which they are given.
    slots: Vec<Vec<u32>>,
    queue: VecDeque<Item>,
    /// Blocks that read what they lack, until the layer below has all of their pages.
    locked: Vec<bool>,
    /// How many these are: mostly none, and then the table need not be looked at.
    locks: u32,
    readers: u32,
}

impl WriteBack {
    pub fn new(blocks: u32) -> Self {
        let locked = vec![false; blocks as usize];
        Self { jobs: Slots::default(), slots: Vec::new(), queue: VecDeque::new(), locked, locks: 0, readers: 0 }
    }

    /// Nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.queue.is_empty()
    }

    /// Whether a block is being completed: nothing else may change its pages below.
    pub fn is_locked(&self, block: u32) -> bool {
        self.locks > 0 && self.locked[block as usize]
    }

    fn lock(&mut self, block: u32) {
        assert!(!self.is_locked(block), "block {block} is completed by one write-back at a time");
        self.locked[block as usize] = true;
        self.locks += 1;
    }

    fn unlock(&mut self, block: u32) {
        assert!(self.is_locked(block), "block {block} is unlocked by the write-back that completed it");
        self.locked[block as usize] = false;
        self.locks -= 1;
    }

    /// Everything was given to the layer below.
    pub fn has_nothing_to_give(&self) -> bool {
        self.queue.is_empty() && self.readers == 0
    }

    /// Blocks read what they lack, and will come back to the head of the queue.
    pub fn is_completing(&self) -> bool {
        self.readers > 0
    }

    /// Something waits behind all that is in the queue.
    pub fn wait_behind(&mut self, item: Item) {
        self.queue.push_back(item);
    }

    /// The entry at the head has been given to the layer below.
    pub fn leave_head(&mut self) {
        self.queue.pop_front();
    }

    fn begin(&mut self, area: Area, block: u32, is_whole: bool) -> u32 {
        let number = self.jobs.insert(Job { area: area.index(), block, is_whole, ..Job::default() });
        self.slots.resize_with(self.jobs.numbers(), Vec::new);
        self.slots[number as usize].clear();
        number
    }

    /// A page leaves with a job.
    fn add(&mut self, job: u32, slot: u32) {
        self.slots[job as usize].push(slot);
    }

    /// Takes back all that the layer below was not given: its slots, with the area of each.
    pub fn take_back(&mut self) -> Vec<(Area, u32)> {
        let mut taken = Vec::new();
        for item in std::mem::take(&mut self.queue) {
            if let Item::Job(number) = item {
                let area = Area::ALL[self.jobs.remove(number).area];
                taken.extend(self.slots[number as usize].drain(..).map(|slot| (area, slot)));
            }
        }
        taken
    }

    /// Slots of a job.
    fn slots(&self, job: u32) -> &[u32] {
        &self.slots[job as usize]
    }

    /// Checks its law.
    ///
    /// # Errors
    /// A job under way has slots that are not on their way.
    pub fn check(&self, store: &Store) -> Result<(), String> {
        for item in &self.queue {
            let Item::Job(number) = item else { continue };
            let next = self.jobs.at(*number).next;
            if self.slots(*number)[next..].iter().any(|slot| store.slot(*slot).state != State::Queued) {
                return Err(format!("write-back {number} has pages that do not wait for it"));
            }
        }
        Ok(())
    }
}

impl<F: Flash, P: Policy> Buffered<F, P> {
    /// Takes a victim out of its area, to be written back; a clean page is forgotten.
    pub fn send(&mut self, flash: &mut F, area: Area, victim: Victim) {
        match victim {
            Victim::Page(slot) if self.store.slot(slot).state != State::Dirty => self.forget(flash, area, slot),
            Victim::Page(slot) => {
                let block = self.store.shape.block_of(self.store.slot(slot).logical);
                let job = self.write_back.begin(area, block, false);
                self.take_along(flash, area, slot, job);
                self.enqueue(area, job, false);
            }
            Victim::Block { block, .. } if area == Area::Pages && P::KEEPS_READS => self.send_dirty_pages(flash, block),
            Victim::Block { block, pad } => {
                self.send_block(flash, area, block, pad);
                if P::LOOKS_AHEAD {
                    self.hint_next(flash, area);
                }
            }
        }
    }

    /// Brings what the layers below look up for the blocks that leave next: when the host wrote their pages is long
    /// ago.
    fn hint_next(&self, flash: &F, area: Area) {
        let [next, after] = self.policy.look_ahead();
        let shape = &self.store.shape;
        let request = |logical: Lpn| Request {
            arrival: 0,
            first_sector: u64::from(logical.0) * u64::from(shape.sectors_per_page),
            sectors: 0,
            op: HostOp::Write,
            fua: false,
        };
        for logical in next.into_iter().flat_map(|block| shape.pages_of(block)) {
            if self.store.find(area, logical).is_some() {
                self.below.hint_target(flash, &[request(logical)]);
            }
        }
        if let Some(block) = after {
            self.below.hint_map(flash, &[request(shape.first_of(block))]);
        }
    }

    fn send_block(&mut self, flash: &mut F, area: Area, block: u32, pad: bool) {
        let job = self.write_back.begin(area, block, pad);
        let held = self.store.held(area, block);
        for logical in self.store.shape.pages_of(block) {
            if !pad && self.store.held(area, block) == 0 {
                break;
            }
            match self.store.find(area, logical) {
                Some(slot) if self.store.slot(slot).state == State::Dirty => self.take_along(flash, area, slot, job),
                Some(slot) => self.forget(flash, area, slot),
                None if pad => {
                    let slot = self.store.insert_padding(flash.memory_mut(), logical, job);
                    self.write_back.add(job, slot);
                    self.counters.padding += 1;
                }
                None => {}
            }
        }
        if area == Area::Blocks {
            self.counters.blocks += 1;
            self.counters.completed += u64::from(pad);
            self.counters.block_pages += u64::from(held);
        }
        self.enqueue(area, job, area == Area::Blocks && self.store.shape.frames);
    }

    /// A page leaves with a job. Where the area for blocks has the page, that version is newer: it takes
    /// the sectors it lacks, and the older one need not be written.
    fn take_along(&mut self, flash: &mut F, area: Area, slot: u32, job: u32) {
        let logical = self.store.slot(slot).logical;
        match area {
            Area::Pages => {
                if let Some(newer) = self.store.find(Area::Blocks, logical) {
                    self.fold(flash, slot, newer);
                    self.forget(flash, Area::Pages, slot);
                    return;
                }
            }
            Area::Blocks => {
                if let Some(older) = self.store.find(Area::Pages, logical) {
                    self.fold(flash, older, slot);
                    self.forget(flash, Area::Pages, older);
                }
            }
        }
        self.counters.written_back[area.index()] += 1;
        self.store.detach(area, slot, job);
        self.policy.left(&self.store, area, slot, logical);
        self.write_back.add(job, slot);
    }

    /// Gives the newer version of a page the sectors it lacks.
    pub fn fold(&mut self, flash: &mut F, older: u32, newer: u32) {
        let lacks = self.store.slot(older).mask & !self.store.slot(newer).mask;
        self.counters.folded += 1;
        if lacks == 0 {
            return;
        }
        let payload = self.store.slot(older).payload;
        self.store.put(flash.memory_mut(), Area::Blocks, newer, lacks, payload);
    }

    /// Drops a page that flash, or a newer version, stands for.
    pub fn forget(&mut self, flash: &mut F, area: Area, slot: u32) {
        let Slot { logical, state, .. } = *self.store.slot(slot);
        self.counters.forgotten += u64::from(state == State::Dirty);
        self.store.drop_page(flash.memory_mut(), area, slot);
        self.policy.left(&self.store, area, slot, logical);
    }

    /// A page leaves by itself, without a look at the other area (it is older than the version that comes).
    pub fn send_alone(&mut self, area: Area, slot: u32) {
        let logical = self.store.slot(slot).logical;
        let job = self.write_back.begin(area, self.store.shape.block_of(logical), false);
        self.counters.written_back[area.index()] += 1;
        self.store.detach(area, slot, job);
        self.policy.left(&self.store, area, slot, logical);
        self.write_back.add(job, slot);
        let last = self.store.held(area, self.store.shape.block_of(logical)) == 0;
        self.enqueue(area, job, area == Area::Blocks && self.store.shape.frames && last);
    }

    fn enqueue(&mut self, area: Area, job: u32, has_frame: bool) {
        self.write_back.jobs.at_mut(job).has_frame = has_frame;
        if self.write_back.slots(job).is_empty() {
            self.end_job(area, job);
        } else {
            self.write_back.queue.push_back(Item::Job(job));
        }
    }

    fn end_job(&mut self, area: Area, job: u32) {
        if self.write_back.jobs.remove(job).has_frame {
            self.store.release_frame(area);
        }
    }

    /// Goes on with the queue as far as the layer below lets it.
    pub fn pump(&mut self, flash: &mut F, outbox: &mut Outbox) {
        while let Some(item) = self.write_back.queue.front().copied() {
            let goes_on = match item {
                Item::Job(job) => self.pump_job(flash, job, outbox),
                Item::Flush(op) => self.pump_flush(flash, &op, outbox),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// `false`: it has to wait.
    fn pump_job(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) -> bool {
        let job = self.write_back.jobs.at(number);
        let block = job.block;
        if self.write_back.is_locked(block) && !job.is_complete {
            return false; // another write-back of this block is under way
        }
        if !job.is_free {
            if self.waits_for_older(number) {
                return false;
            }
            self.write_back.jobs.at_mut(number).is_free = true;
        }
        let job = self.write_back.jobs.at(number);
        if job.is_whole && !job.is_complete {
            self.write_back.queue.pop_front();
            self.complete_block(flash, number);
            return true;
        }
        let job = self.write_back.jobs.at(number);
        if job.is_whole && !job.is_begun {
            let shape = &self.store.shape;
            match self.below.begin_block(flash, shape.first_of(block), shape.len_of(block)) {
                Answer::Full { .. } => return false,
                _ => self.write_back.jobs.at_mut(number).is_begun = true,
            }
        }
        self.write_pages(flash, number, outbox)
    }

    fn waits_for_older(&self, number: u32) -> bool {
        self.write_back.slots(number).iter().any(|slot| self.store.slot(*slot).older != NONE)
    }

    /// Gives the pages to the layer below, which hears of each whether another one follows.
    /// 1. The next page of the write-back is submitted. Without room it stays the next one.
    /// 2. It is on its way now.
    /// 3. With the last page, the block is unlocked and the write-back leaves the queue.
    /// 4. A page that is on flash at once has arrived, and gives its room back.
    fn write_pages(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) -> bool {
        loop {
            let job = self.write_back.jobs.at(number);
            let Some(&slot) = self.write_back.slots(number).get(job.next) else { break };
            let entry = self.store.slot(slot);
            let op = PageOp {
                // Non-volatile memory forgets the page once it is acknowledged.
                fua: self.store.nonvolatile,
                more: job.next + 1 < self.write_back.slots(number).len(),
                payload: entry.payload,
                cause: if entry.is_padding { Cause::Padding } else { Cause::Host },
                owner: self.owner,
                token: Tag::token(Asked::Write, slot, 0),
                ..PageOp::on_page(HostOp::Write, entry.logical, entry.mask)
            };
            let answer = self.below.submit(flash, &op);
            if matches!(answer, Answer::Full { taken: 0, .. }) {
                return false;
            }
            let job = self.write_back.jobs.at_mut(number);
            job.next += 1;
            job.under_way += 1;
            self.store.slot_mut(slot).state = State::Leaving;
            let next = job.next;
            let last = next == self.write_back.slots(number).len();
            if last {
                let Job { is_complete, block, .. } = *self.write_back.jobs.at(number);
                if is_complete {
                    self.write_back.unlock(block);
                }
                self.write_back.queue.pop_front();
            }
            if let Answer::Done { failed } = answer {
                self.arrived(flash, slot, failed);
                self.below.room.announce(outbox);
            }
            if last {
                return true;
            }
        }
        unreachable!("a write-back in the queue has pages to give")
    }

    /// A page is on flash, or lost.
    pub fn arrived(&mut self, flash: &mut F, slot: u32, failed: bool) {
        if failed {
            self.lose(flash, slot);
        }
        let number = self.store.slot(slot).job;
        let job = self.write_back.jobs.at_mut(number);
        job.under_way -= 1;
        let area = Area::ALL[job.area];
        let (under_way, next) = (job.under_way, job.next);
        let ended = under_way == 0 && next == self.write_back.slots(number).len();
        self.store.arrive(flash.memory_mut(), area, slot);
        if ended {
            self.end_job(area, number);
        }
    }

    /// Reads what a whole block lacks; then it comes back to the head of the queue.
    fn complete_block(&mut self, flash: &mut F, number: u32) {
        let full = self.store.shape.full_mask;
        let block = self.write_back.jobs.at(number).block;
        self.write_back.lock(block);
        self.write_back.readers += 1;
        // One more than there are, so that the last to be asked for cannot end it early.
        self.write_back.jobs.at_mut(number).reading = 1;
        for index in 0..self.write_back.slots(number).len() {
            let slot = self.write_back.slots(number)[index];
            let entry = self.store.slot(slot);
            let (logical, payload, is_padding) = (entry.logical, entry.payload, entry.is_padding);
            let lacks = self.merge_clean(flash, slot, full & !entry.mask);
            if lacks == 0 {
                self.counters.merged += u64::from(is_padding);
                continue;
            }
            flash.memory_mut().payloads.set_mask(payload, lacks);
            let op = PageOp {
                payload,
                cause: Cause::Padding,
                owner: self.owner,
                token: Tag::token(Asked::Padding, slot, 0),
                ..PageOp::on_page(HostOp::Read, logical, lacks)
            };
            self.write_back.jobs.at_mut(number).reading += 1;
            match self.below.submit(flash, &op) {
                Answer::Done { failed } => self.padding_read(flash, slot, failed),
                Answer::Pending(_) => {}
                Answer::Full { .. } => unreachable!("reads always find room"),
            }
        }
        self.one_read_less(flash, number);
    }

    /// Completes a page from the clean one the buffer keeps; returns what it still lacks. Not before the block
    /// is locked: until then what goes past the buffer may make flash newer than what was copied.
    fn merge_clean(&mut self, flash: &mut F, slot: u32, lacks: u64) -> u64 {
        let logical = self.store.slot(slot).logical;
        if !P::KEEPS_READS || lacks == 0 {
            return lacks;
        }
        let clean = self.store.find(Area::Pages, logical).map(|clean| self.store.slot(clean));
        let Some(clean) = clean.filter(|clean| clean.state == State::Clean) else { return lacks };
        let given = clean.mask & lacks;
        let (from, to) = (clean.payload, self.store.slot(slot).payload);
        flash.memory_mut().payloads.copy(from, to, given);
        lacks & !given
    }

    /// A page that a block lacked has been read.
    pub fn padding_read(&mut self, flash: &mut F, slot: u32, failed: bool) {
        let number = self.store.slot(slot).job;
        self.write_back.jobs.at_mut(number).failed |= failed;
        self.one_read_less(flash, number);
    }

    fn one_read_less(&mut self, flash: &mut F, number: u32) {
        let job = self.write_back.jobs.at_mut(number);
        job.reading -= 1;
        if job.reading > 0 {
            return;
        }
        job.is_complete = true;
        self.write_back.readers -= 1;
        if job.failed {
            self.give_up_padding(flash, number);
        } else {
            let full = self.store.shape.full_mask;
            for index in 0..self.write_back.slots(number).len() {
                let slot = self.write_back.slots(number)[index];
                self.store.slot_mut(slot).mask = full;
                flash.memory_mut().payloads.set_mask(self.store.slot(slot).payload, full);
            }
        }
        self.write_back.queue.push_front(Item::Job(number));
    }

    /// What could not be read is not written as if it were good: only what was buffered is written.
    #[cold]
    fn give_up_padding(&mut self, flash: &mut F, number: u32) {
        let slots = std::mem::take(&mut self.write_back.slots[number as usize]);
        let area = Area::ALL[self.write_back.jobs.at(number).area];
        let mut kept = Vec::with_capacity(slots.len());
        for slot in slots {
            if self.store.slot(slot).is_padding {
                self.counters.padding -= 1;
                self.store.arrive(flash.memory_mut(), area, slot);
            } else {
                flash.memory_mut().payloads.set_mask(self.store.slot(slot).payload, self.store.slot(slot).mask);
                kept.push(slot);
            }
        }
        self.counters.completed -= u64::from(area == Area::Blocks);
        self.write_back.slots[number as usize] = kept;
        self.write_back.jobs.at_mut(number).is_whole = false;
    }

    /// Sends all dirty pages of an area, block by block in order of their addresses.
    pub fn send_dirty(&mut self, flash: &mut F, area: Area) {
        let mut next = 0;
        while let Some(block) = self.store.next_occupied(area, next) {
            next = block + 1;
            let dirty = |slot: u32| self.store.slot(slot).state == State::Dirty;
            if !self.store.of_block(area, block).any(dirty) {
                continue;
            }
            if area == Area::Pages && P::KEEPS_READS {
                self.send_dirty_pages(flash, block);
            } else {
                let is_full = self.store.held(area, block) as usize == self.store.shape.pages_of(block).len();
                self.send_block(flash, area, block, is_full && P::COMPLETES && area == Area::Blocks);
            }
        }
    }

    /// The dirty pages of a block; clean ones stay.
    fn send_dirty_pages(&mut self, flash: &mut F, block: u32) {
        let job = self.write_back.begin(Area::Pages, block, false);
        for logical in self.store.shape.pages_of(block) {
            let slot = self.store.find(Area::Pages, logical);
            if let Some(slot) = slot.filter(|slot| self.store.slot(*slot).state == State::Dirty) {
                self.take_along(flash, Area::Pages, slot, job);
            }
        }
        self.enqueue(Area::Pages, job, false);
    }
}
