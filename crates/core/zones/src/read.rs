//! Reads: by policy, decoded as blocks arrive, with redundant ones taken back.
//!
//! ```text
//! arrival      each group of each row the read touches: what is wanted, what a buffer holds, which code blocks agree
//!              then the policy's choice: first for all groups, then what more for all groups
//! completion   what is known now? deliver it, take back what has become redundant; done when all wanted is known
//! ```

use crate::fetch::{Fetch, Waiter};
use crate::layout::Place;
use crate::policy::{Choice, Looks, View};
use crate::queue::Sub;
use crate::zoned::{Asked, NONE, Tag, Zoned};
use layer::{Answer, Outbox, PageOp};
use nand::{Flash, PayloadId, WaitVector};
use units::{Cause, DieId, HostOp, Nanos, Wait, members};

impl<F: Flash> Zoned<F> {
    pub fn submit_read(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let (first, last) = (op.first / self.layout.pages, (op.first + op.pages - 1) / self.layout.pages);
        let number = self.ops.begin(op, last - first + 1, *op);
        let seen = self.ahead.note(first, last, self.sectors_of(op));
        if seen.thread.is_some() {
            self.note_sequential(first, last);
        }
        // A widened read takes whole groups; in lockstep every read does.
        let widen = seen.widen || self.gate.is_lockstep();
        let group = self.layout.group;
        let (from, to) = if widen { (first / group * group, last / group * group + group - 1) } else { (first, last) };
        let mut begun = std::mem::take(&mut self.begun);
        let mut block = from;
        while block <= to {
            let Place { zone, row, bank } = self.layout.place(block);
            let in_group = bank % group;
            let count = (group - in_group).min(to - block + 1);
            let range = (u32::MAX >> (32 - count)) << in_group;
            let asked: u32 = members(range)
                .filter(|at| (first..=last).contains(&(block + at - in_group)))
                .fold(0, |set, at| set | 1 << at);
            self.reads[zone as usize] += u64::from(asked.count_ones());
            let asked = if self.jobs.is_quiet() {
                asked
            } else {
                self.ask_jobs(flash, number, op, block - in_group, asked, outbox)
            };
            let place = [zone, row, bank / group];
            if let Some(slot) = self.begin_fetch(flash, number, place, [range, asked], outbox) {
                let is_last = block + count > to;
                if let (true, true, Some(thread)) = (seen.widen, is_last, seen.thread) {
                    self.fetches.at_mut(slot).thread = Some((thread, self.ahead.threads[thread as usize].serial));
                }
                begun.push(slot);
            }
            block += count;
        }
        self.ask(flash, &begun);
        begun.clear();
        self.begun = begun;
        self.settle(flash, outbox);
        self.ops.answer(number)
    }

    /// Takes the blocks that a write on its way holds from there. Returns those that have to be read. `group`: its
    /// first block.
    fn ask_jobs(
        &mut self,
        flash: &mut F,
        number: u32,
        op: &PageOp,
        group: u32,
        asked: u32,
        outbox: &mut Outbox,
    ) -> u32 {
        let held = members(asked)
            .filter(|at| self.read_from_jobs(flash, op, group + at))
            .fold(0_u32, |held, at| held | 1 << at);
        self.parts_done(number, held.count_ones(), false, outbox);
        asked & !held
    }

    fn sectors_of(&self, op: &PageOp) -> u64 {
        let ends = op.first_mask.count_ones() + if op.pages > 1 { op.last_mask.count_ones() } else { 0 };
        u64::from(ends) + u64::from(op.pages.saturating_sub(2)) * u64::from(self.full_mask.count_ones())
    }

    fn note_sequential(&mut self, first: u32, last: u32) {
        let group = self.layout.group;
        self.counters.sequential += 1;
        self.counters.sequential_fragments += u64::from(last - first + 1 < group);
        self.counters.sequential_misaligned +=
            u64::from(!first.is_multiple_of(group) || !(last + 1).is_multiple_of(group));
    }

    /// Begins to fetch blocks of a group: `range` is wanted, `asked` of it by the operation. Nothing, if all that was
    /// asked for is in a buffer or on its way.
    fn begin_fetch(
        &mut self,
        flash: &mut F,
        number: u32,
        place: [u32; 3],
        [range, asked]: [u32; 2],
        outbox: &mut Outbox,
    ) -> Option<u32> {
        let [zone, row, group] = place;
        let mut asked = asked;
        let key = zone * self.layout.rows + row;
        let buffered = self.ahead.find(key, group);
        let held = buffered.map_or(0, |(_, held)| held);
        if asked & held != 0 {
            let (thread, _) = buffered.expect("something is held");
            let cells = self.ahead.threads[thread].cells;
            let hits = asked & held;
            members(hits).for_each(|at| self.deliver(flash, number, place, at, cells.offset(at * self.layout.pages)));
            self.counters.ahead_hits += u64::from(hits.count_ones());
            self.parts_done(number, hits.count_ones(), false, outbox);
            asked &= !held;
        }
        // What is being read ahead already is waited for.
        let on_its_way = self.fetches.of(zone, row, group).find(|slot| {
            let fetch = self.fetches.at(*slot);
            fetch.thread.is_some() && fetch.wanted & !fetch.outdated & asked != 0
        });
        if let Some(slot) = on_its_way {
            let fetch = self.fetches.at_mut(slot);
            let joined = fetch.wanted & !fetch.outdated & asked;
            self.fetches.waiters(slot).push(Waiter { op: number, since: flash.now(), blocks: joined });
            self.counters.ahead_hits += u64::from(joined.count_ones());
            self.changed.push(slot);
            asked &= !joined;
        }
        let ahead = range & !held & if on_its_way.is_some() { 0 } else { u32::MAX };
        let wanted = asked | ahead;
        if asked == 0 {
            return None;
        }
        self.counters.ahead_blocks += u64::from((wanted & !asked).count_ones());
        let codes = self.valid_codes(place);
        let data = self.known.code().all_data();
        let slot = self.fetches.begin(place, wanted, data | codes);
        let cells = flash.memory_mut().payloads.take(self.known.code().elements() * self.layout.pages, self.full_mask);
        let fetch = self.fetches.at_mut(slot);
        fetch.sent = flash.now();
        fetch.cells = cells;
        (fetch.have, fetch.filled) = (held, held);
        self.fetches.waiters(slot).push(Waiter { op: number, since: flash.now(), blocks: asked });
        if let Some((thread, _)) = buffered {
            let from = self.ahead.threads[thread].cells;
            for at in members(held) {
                self.copy_block(flash, from.offset(at * self.layout.pages), cells.offset(at * self.layout.pages));
            }
        }
        Some(slot)
    }

    /// Code blocks, as elements, that agree with their sources.
    fn valid_codes(&mut self, [zone, row, group]: [u32; 3]) -> u32 {
        let code_zone = self.code_of[zone as usize];
        if code_zone == NONE {
            return 0;
        }
        let data = self.layout.group;
        let agreeing = (0..self.known.code().code()).filter(|code| self.agrees(code_zone, row, group, *code));
        let codes = agreeing.fold(0_u32, |set, code| set | 1 << (data + code));
        let waits = self.rows_in_line && self.jobs.is_touched(self.layout.line(zone, row, group));
        let codes = if waits { 0 } else { codes };
        self.counters.coded_groups += 1;
        self.counters.stale_groups += u64::from(codes.count_ones() < self.known.code().code());
        codes
    }

    /// Asks for what the policy chooses.
    fn ask(&mut self, flash: &mut F, begun: &[u32]) {
        for slot in begun {
            let Choice { first, more } = self.choose(flash, *slot);
            self.request(flash, *slot, first);
            self.fetches.at_mut(*slot).later = more;
        }
        for slot in begun {
            let later = self.fetches.at(*slot).later;
            self.request_more(flash, *slot, later);
        }
    }

    fn choose(&mut self, flash: &F, slot: u32) -> Choice {
        let Fetch { zone, row, group, wanted, usable, have, .. } = *self.fetches.at(slot);
        let data = self.known.code().all_data();
        let codes = usable & !data;
        if codes == 0 {
            return Choice { first: wanted & !have, more: 0 };
        }
        let mut queued = [0; 32];
        let mut cleaning = 0;
        if self.settings.reads.looks != Looks::Nowhere {
            for element in members(data | codes) {
                let (bank, _) = self.element_page(zone, row, group, element);
                let backlog = flash.backlog(DieId(bank));
                queued[element as usize] = match self.settings.reads.looks {
                    Looks::Time => flash.backlog_ns(DieId(bank)),
                    _ => u64::from(backlog.commands),
                };
                cleaning |= u32::from(backlog.cleaning > 0) << element;
            }
        }
        let view = View { known: &self.known, wanted: wanted & !have, have, valid: codes, queued: &queued, cleaning };
        (self.settings.reads.choose)(&view)
    }

    /// Asks for code blocks that are still of use.
    fn request_more(&mut self, flash: &mut F, slot: u32, elements: u32) {
        for element in members(elements) {
            let fetch = self.fetches.at(slot);
            if self.known.from(fetch.have) >> element & 1 == 0 && !self.known.decodes(fetch.have, fetch.wanted) {
                self.request(flash, slot, 1 << element);
            }
        }
    }

    /// Asks for elements, through the gate.
    fn request(&mut self, flash: &mut F, slot: u32, elements: u32) {
        let codes = elements & !self.known.code().all_data();
        self.counters.code_reads += u64::from(codes.count_ones());
        self.counters.data_reads += u64::from((elements & !codes).count_ones());
        let fetch = self.fetches.at_mut(slot);
        fetch.tried |= elements;
        if self.gate.is_open() {
            members(elements).for_each(|element| self.send(flash, slot, element));
            return;
        }
        fetch.gated |= elements;
        let Fetch { serial, zone, row, group, .. } = *fetch;
        if self.gate.is_lockstep() {
            self.gate.push(Sub::Fetch { slot, serial, elements }, 0);
            return;
        }
        for element in members(elements) {
            let (bank, _) = self.element_page(zone, row, group, element);
            self.gate.push(Sub::Fetch { slot, serial, elements: 1 << element }, bank);
        }
    }

    /// It is the turn of elements that waited, if anybody still wants them.
    pub fn send_gated(&mut self, flash: &mut F, slot: u32, serial: u32, elements: u32) {
        if self.fetches.get(slot).is_none_or(|fetch| fetch.serial != serial) {
            return;
        }
        let fetch = self.fetches.at_mut(slot);
        let elements = elements & fetch.gated;
        fetch.gated &= !elements;
        members(elements).for_each(|element| self.send(flash, slot, element));
    }

    fn send(&mut self, flash: &mut F, slot: u32, element: u32) {
        let Fetch { zone, row, group, cells, .. } = *self.fetches.at(slot);
        let (bank, page) = self.element_page(zone, row, group, element);
        let cause = if element < self.layout.group { Cause::Host } else { Cause::Code };
        let pages = self.layout.pages;
        let op = self.own_op(
            HostOp::Read,
            page,
            pages,
            cells.offset(element * pages),
            cause,
            Tag::token(Asked::Fetch, slot, element),
        );
        self.gate.enter(bank);
        self.fetches.note_sent(slot, element, flash.now());
        match self.below.submit(flash, &op) {
            Answer::Done { failed } => {
                self.gate.leave(bank);
                self.note_arrival(slot, element, failed);
            }
            Answer::Pending(handle) => {
                self.fetches.set_handle(slot, element, handle);
                self.fetches.at_mut(slot).pending |= 1 << element;
            }
            Answer::Full { .. } => unreachable!("reads always find room"),
        }
    }

    /// An element that was on its way is there, or is not to be had.
    pub fn arrived(&mut self, slot: u32, element: u32, failed: bool) {
        let fetch = self.fetches.at_mut(slot);
        fetch.pending &= !(1 << element);
        let Fetch { zone, row, group, .. } = *fetch;
        self.fetches.at_mut(slot).sent = self.fetches.sent(slot, element);
        let (bank, _) = self.element_page(zone, row, group, element);
        self.gate.leave(bank);
        self.note_arrival(slot, element, failed);
    }

    fn note_arrival(&mut self, slot: u32, element: u32, failed: bool) {
        let data = self.known.code().all_data();
        let fetch = self.fetches.at_mut(slot);
        if failed {
            fetch.failed |= 1 << element;
        } else {
            fetch.have |= 1 << element;
            fetch.filled |= data & 1 << element;
        }
        self.changed.push(slot);
    }

    /// Looks at what a fetch knows now: delivers, takes back, asks for what is still missing, or ends it.
    pub fn evaluate(&mut self, flash: &mut F, slot: u32, outbox: &mut Outbox) {
        let Some(fetch) = self.fetches.get(slot) else { return };
        let known = self.known.from(fetch.have);
        let mut index = 0;
        while let Some(Waiter { op, since, blocks }) = self.fetches.waiters(slot).get(index).copied() {
            let there = blocks & known;
            if there != 0 {
                self.hand_over(flash, slot, op, there);
                self.fetches.waiters(slot)[index].blocks &= !there;
                let sent = self.fetches.at(slot).sent;
                if since == sent && since < flash.now() {
                    self.parts_done(op, there.count_ones(), false, outbox);
                } else {
                    let wait = self.wait_for_fetch(flash, since, sent);
                    self.parts_done_after(flash, &wait, [op, there.count_ones()], false, outbox);
                }
            }
            index += 1;
        }
        let Fetch { wanted, pending, gated, .. } = *self.fetches.at(slot);
        if wanted & !known == 0 {
            self.end_fetch(flash, slot);
            return;
        }
        members((pending | gated) & known).for_each(|element| self.take_back(flash, slot, element));
        let shaken = std::mem::take(&mut self.fetches.at_mut(slot).shaken);
        let fetch = self.fetches.at(slot);
        let coming = fetch.pending | fetch.gated;
        let enough = !shaken || self.known.decodes(fetch.have | coming, fetch.wanted);
        if coming != 0 && enough {
            return;
        }
        let missing = fetch.wanted & !known & !fetch.tried;
        // What cannot be read may follow from the rest of its group.
        let others = fetch.usable & !fetch.tried & !known;
        if missing != 0 {
            self.request(flash, slot, missing);
        } else if fetch.failed != 0 && others != 0 {
            self.request(flash, slot, others);
        } else if coming == 0 {
            self.fail_fetch(flash, slot, outbox);
        }
    }

    /// What a read has waited for since `since`, whose last block was sent to its bank at `sent`: in the gate's
    /// queue, and as the block's command did. A read that came later waited for the read of the block.
    fn wait_for_fetch(&self, flash: &F, since: Nanos, sent: Nanos) -> WaitVector {
        if since == flash.now() {
            return WaitVector::ZERO; // all of it was there
        }
        let (mut wait, kind, time) = if since <= sent {
            (self.last_wait(flash), Wait::Queue, sent - since)
        } else {
            (WaitVector::ZERO, Wait::Cause(Cause::Host), flash.now() - since)
        };
        layer::charge(&mut wait, kind, time);
        wait
    }

    /// Nothing more can be had: who still waits gets those pages of its blocks that can be read by themselves.
    #[cold]
    fn fail_fetch(&mut self, flash: &mut F, slot: u32, outbox: &mut Outbox) {
        let Fetch { zone, row, group, .. } = *self.fetches.at(slot);
        for index in 0..self.fetches.waiters(slot).len() {
            let Waiter { op, blocks, .. } = self.fetches.waiters(slot)[index];
            members(blocks).for_each(|at| self.read_alone(flash, op, [zone, row, group], at, outbox));
        }
        self.end_fetch(flash, slot);
    }

    /// Reads what an operation asked for of a block, and no other page of it.
    #[cold]
    fn read_alone(&mut self, flash: &mut F, number: u32, [zone, row, group]: [u32; 3], at: u32, outbox: &mut Outbox) {
        let asked = self.ops.at(number).about;
        let bank = group * self.layout.group + at;
        let block = self.layout.block(zone, row, bank) * self.layout.pages;
        let (first, end) = (block.max(asked.first), (block + self.layout.pages).min(asked.first + asked.pages));
        let page = self.layout.page(zone, row, bank) + first - block;
        let payload = asked.payload.offset(first - asked.first);
        let op =
            self.own_op(HostOp::Read, page, end - first, payload, Cause::Host, Tag::token(Asked::Alone, number, 0));
        if let Answer::Done { failed } = self.below.submit(flash, &PageOp { cancellable: false, ..op }) {
            self.parts_done(number, 1, failed, outbox);
        }
    }

    /// Takes back an element that is of no use any more.
    fn take_back(&mut self, flash: &mut F, slot: u32, element: u32) {
        let bit = 1 << element;
        let fetch = self.fetches.at_mut(slot);
        if fetch.gated & bit != 0 {
            fetch.gated &= !bit;
            self.counters.taken_back += 1;
            return;
        }
        fetch.pending &= !bit;
        let Fetch { zone, row, group, .. } = *fetch;
        let handle = self.fetches.handle(slot, element);
        let left = self.below.cancel(flash, handle);
        let (bank, _) = self.element_page(zone, row, group, element);
        self.gate.leave(bank);
        *(if left.wasted > 0 { &mut self.counters.wasted } else { &mut self.counters.taken_back }) += 1;
    }

    fn end_fetch(&mut self, flash: &mut F, slot: u32) {
        let fetch = self.fetches.at(slot);
        members(fetch.pending | fetch.gated).for_each(|element| self.take_back(flash, slot, element));
        self.keep_ahead(flash, slot);
        let cells = self.fetches.at(slot).cells;
        flash.memory_mut().payloads.release(cells, self.known.code().elements() * self.layout.pages);
        self.fetches.end(slot);
    }

    /// Puts what was read ahead into the buffer of its stream.
    fn keep_ahead(&mut self, flash: &mut F, slot: u32) {
        let Fetch { thread: Some((thread, serial)), zone, row, group, wanted, outdated, have, cells, .. } =
            *self.fetches.at(slot)
        else {
            return;
        };
        if self.ahead.threads[thread as usize].serial != serial {
            return;
        }
        let pages = self.layout.pages;
        let held = wanted & self.known.from(have) & !outdated;
        if self.ahead.threads[thread as usize].cells == PayloadId::NONE {
            self.ahead.threads[thread as usize].cells =
                flash.memory_mut().payloads.take(self.layout.group * pages, self.full_mask);
        }
        let into = self.ahead.threads[thread as usize].cells;
        for at in members(held) {
            self.fill(flash, slot, at);
            self.copy_block(flash, cells.offset(at * pages), into.offset(at * pages));
        }
        let thread = &mut self.ahead.threads[thread as usize];
        (thread.row, thread.group, thread.held) = (zone * self.layout.rows + row, group, held);
    }

    fn copy_block(&self, flash: &mut F, from: PayloadId, into: PayloadId) {
        (0..self.layout.pages)
            .for_each(|page| flash.memory_mut().payloads.copy(from.offset(page), into.offset(page), self.full_mask));
    }

    /// Computes a data block that is known, though it was not read.
    fn fill(&mut self, flash: &mut F, slot: u32, block: u32) {
        let fetch = self.fetches.at_mut(slot);
        if fetch.filled >> block & 1 == 1 {
            return;
        }
        fetch.filled |= 1 << block;
        self.counters.decoded += 1;
        let Fetch { have, cells, .. } = *fetch;
        if cells != PayloadId::NONE {
            let payloads = &mut flash.memory_mut().payloads;
            for page in 0..self.layout.pages {
                let cell = |element: u32| cells.offset(element * self.layout.pages + page);
                self.coder.compute(payloads, self.known.code(), block, have, cell);
            }
        }
    }

    /// Gives an operation blocks of a fetch that are known.
    fn hand_over(&mut self, flash: &mut F, slot: u32, op: u32, blocks: u32) {
        for at in members(blocks) {
            self.fill(flash, slot, at);
            let Fetch { zone, row, group, cells, .. } = *self.fetches.at(slot);
            self.deliver(flash, op, [zone, row, group], at, cells.offset(at * self.layout.pages));
        }
    }

    /// Copies what an operation asked for of a block.
    fn deliver(&self, flash: &mut F, op: u32, [zone, row, group]: [u32; 3], at: u32, cells: PayloadId) {
        if cells == PayloadId::NONE {
            return;
        }
        let asked = self.ops.at(op).about;
        let block = self.layout.block(zone, row, group * self.layout.group + at);
        let first = block * self.layout.pages;
        for page in first.max(asked.first)..(first + self.layout.pages).min(asked.first + asked.pages) {
            let (from, into) = (cells.offset(page - first), asked.payload.offset(page - asked.first));
            let payloads = &mut flash.memory_mut().payloads;
            payloads.copy(from, into, payloads.mask(into));
        }
    }

    /// A write of a data block was accepted: code blocks made of it are stale, and so is what was read ahead of it.
    pub fn make_stale(&mut self, flash: &mut F, place: Place) {
        let Place { zone, row, bank } = place;
        let (group, block) = (bank / self.layout.group, bank % self.layout.group);
        self.ahead.forget(zone * self.layout.rows + row, group, block);
        let code_zone = self.code_of[zone as usize];
        let codes = if code_zone == NONE { 0 } else { self.known.code().codes_of(1 << block) };
        if codes != 0 {
            self.encoder.spoil(zone, row, group);
            if !self.rows_in_line {
                for element in members(codes) {
                    self.set_agrees(code_zone, row, group, element - self.layout.group, false);
                }
            }
            self.encoder.note_stale(zone, row, group);
        }
        if self.fetches.is_quiet() {
            return;
        }
        let mut touched = std::mem::take(&mut self.begun);
        touched.extend(self.fetches.of(zone, row, group));
        touched.drain(..).for_each(|slot| self.drop_stale(flash, slot, block, codes));
        self.begun = touched;
    }

    /// Code blocks of a group change together with a data block: who has not read that one yet must not use them.
    pub fn begin_update(&mut self, flash: &mut F, place: Place) {
        let Place { zone, row, bank } = place;
        let (group, block) = (bank / self.layout.group, bank % self.layout.group);
        let codes = self.known.code().codes_of(1 << block);
        let mut touched = std::mem::take(&mut self.begun);
        touched.extend(self.fetches.of(zone, row, group));
        touched.drain(..).for_each(|slot| self.drop_stale(flash, slot, block, codes));
        self.begun = touched;
    }

    /// A data block is being written: what was read of it before is not kept for later reads.
    pub fn make_outdated(&mut self, place: Place) {
        let Place { zone, row, bank } = place;
        let (group, block) = (bank / self.layout.group, bank % self.layout.group);
        self.ahead.forget(zone * self.layout.rows + row, group, block);
        if self.fetches.is_quiet() {
            return;
        }
        let mut touched = std::mem::take(&mut self.begun);
        touched.extend(self.fetches.of(zone, row, group));
        touched.drain(..).for_each(|slot| self.fetches.at_mut(slot).outdated |= 1 << block);
        self.begun = touched;
    }

    /// A fetch under way must not decode with stale code blocks, unless it has, or will have, the source as it was.
    fn drop_stale(&mut self, flash: &mut F, slot: u32, block: u32, codes: u32) {
        let fetch = self.fetches.at_mut(slot);
        fetch.outdated |= 1 << block;
        // What is there already may have been stale for longer, and of use so far because all its other sources are old
        // as well.
        let stale = codes & (fetch.usable | fetch.have);
        fetch.usable &= !stale;
        let has_source = (fetch.have | fetch.pending) >> block & 1 == 1;
        let dropped = (fetch.pending | fetch.gated) & stale;
        if !has_source {
            fetch.have &= !stale;
            // Data taken back because of them may have to be read after all.
            fetch.tried &= fetch.have | fetch.pending | fetch.gated | fetch.failed | codes;
        }
        members(dropped).for_each(|element| self.take_back(flash, slot, element));
        self.counters.stale_drops += u64::from(dropped.count_ones());
        if stale != 0 {
            self.fetches.at_mut(slot).shaken = true;
            self.changed.push(slot);
        }
    }
}
