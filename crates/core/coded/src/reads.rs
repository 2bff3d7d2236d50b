//! Reads: by policy, decoded as blocks arrive, with redundant ones taken back.
//!
//! A fetch has the blocks that a read needs of one group.
//!
//! ```text
//! submit     1  widen the read to whole groups, if it goes on a long stream
//!            2  take from each group what a write that was accepted holds, then what was read ahead; wait for what is
//!               being read ahead; begin a fetch for the rest
//!            3  the policy's choice for each fetch: first for all of them, then what more for all of them
//! evaluate   1  give those who wait the blocks that are known
//!            2  all wanted ones are known: end the fetch; what is still to come is taken back
//!            3  take back what is to come and has become known
//!            4  enough is still to come: wait for it
//!            5  ask for wanted blocks that were not asked for; or, if something could not be read, for all that may
//!               help; or else give up, and read page by page what the host asked for
//! ```
//! A fetch is evaluated whenever something of it has arrived, or has become stale. Faithful to: reads of all blocks
//! that can help, with redundant ones taken back. Protects: a read returns the last acknowledged version of each block;
//! a code block is used only while no write of a source was accepted, or together with sources as they were before.

use crate::ahead::ReadAhead;
use crate::base::{Asked, Tag, Turn};
use crate::codes::Codes;
use crate::fetches::{Fetch, Fetches, StreamUse, Waiter};
use crate::group::{Elements, GroupAt};
use crate::layout::ZoneLayout;
use crate::policy::{Choice, Looks, ReadPolicy, View};
use crate::queue::Sub;
use crate::settings::Settings;
use crate::writes::Writes;
use layer::{Answer, PageOp};
use nand::{Flash, PayloadId, WaitVector};
use units::{Cause, DieId, HostOp, Nanos, Wait};

/// Counters of reads, for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadCounters {
    pub data_reads: u64,
    pub code_reads: u64,
    pub taken_back: u64,
    pub wasted: u64,
    pub decoded: u64,
    pub stale_drops: u64,
    pub coded_groups: u64,
    pub stale_groups: u64,
    pub ahead_blocks: u64,
    pub ahead_hits: u64,
    pub sequential: u64,
    pub sequential_fragments: u64,
    pub sequential_misaligned: u64,
}

/// What an operation wants of one group.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: u32,
    at: GroupAt,
    /// Data blocks to be known.
    range: Elements,
    /// Those of them that the operation asks for and has not got.
    asked: Elements,
}

/// Reads that are not done, and blocks read ahead.
#[derive(Debug)]
pub(crate) struct Reads {
    pub counters: ReadCounters,
    layout: ZoneLayout,
    policy: &'static ReadPolicy,
    fetches: Fetches,
    ahead: ReadAhead,
    /// Fetches to be evaluated.
    changed: Vec<u32>,
    /// Memory of lists of fetches, to be used again.
    slots: Vec<u32>,
}

impl Reads {
    pub fn new(elements: u32, layout: &ZoneLayout, settings: &Settings) -> Self {
        Self {
            counters: ReadCounters::default(),
            layout: layout.clone(),
            policy: settings.reads,
            fetches: Fetches::new(elements),
            ahead: ReadAhead::new(settings.threads, settings.window, settings.ahead),
            changed: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// No fetch is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.fetches.is_quiet()
    }

    /// A fetch that is to be evaluated.
    #[inline]
    pub fn next_changed(&mut self) -> Option<u32> {
        self.changed.pop()
    }

    /// No fetch is to be evaluated.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.changed.is_empty()
    }

    /// Bytes a controller needs for the table of streams with its buffers.
    pub fn ram_bytes(&self, page_bytes: u32) -> u64 {
        let block = u64::from(self.layout.pages) * u64::from(page_bytes);
        self.ahead.threads.len() as u64 * (u64::from(self.layout.group) * block + 24)
    }

    /// Begins a read of the layer above. Its number.
    pub fn submit<F: Flash>(&mut self, codes: &mut Codes, writes: &Writes, turn: &mut Turn<'_, F>, op: &PageOp) -> u32 {
        let (first, last) = (self.layout.block_of(op.first), self.layout.block_of(op.at(op.pages - 1)));
        let number = turn.base.ops.begin(op, last - first + 1, *op);
        let seen = self.ahead.note(first, last, sectors_of(op, turn.base.full_mask));
        if seen.thread.is_some() {
            self.count_sequential(first, last);
        }
        // A widened read takes whole groups; in lockstep every read does.
        let widen = seen.widen || turn.base.gate.is_lockstep();
        let group = self.layout.group;
        let (from, to) = if widen { (first / group * group, last / group * group + group - 1) } else { (first, last) };
        let mut begun = std::mem::take(&mut self.slots);
        let mut block = from;
        while block <= to {
            let (at, in_group) = self.layout.group_at(self.layout.place(block));
            let count = (group - in_group).min(to - block + 1);
            let range = Elements::range(in_group, count);
            let asked = range.iter().filter(|at| (first..=last).contains(&(block + at - in_group))).collect();
            let mut part = Part { number, at, range, asked };
            codes.count_reads(at.zone, part.asked.len());
            if !writes.is_quiet() {
                self.take_accepted(writes, turn, op, &mut part);
            }
            if let Some(slot) = self.begin_fetch(codes, writes, turn, part) {
                let is_last = block + count > to;
                if let (true, true, Some(index)) = (seen.widen, is_last, seen.thread) {
                    let serial = self.ahead.threads[index as usize].serial;
                    self.fetches.at_mut(slot).stream = Some(StreamUse { index, serial });
                }
                begun.push(slot);
            }
            block += count;
        }
        self.ask(codes, turn, &begun);
        begun.clear();
        self.slots = begun;
        number
    }

    fn count_sequential(&mut self, first: u32, last: u32) {
        let group = self.layout.group;
        let fits = first.is_multiple_of(group) && (last + 1).is_multiple_of(group);
        self.counters.sequential += 1;
        self.counters.sequential_fragments += u64::from(last - first + 1 < group);
        self.counters.sequential_misaligned += u64::from(!fits);
    }

    /// Takes the blocks that writes hold which were accepted and have not reached the mapping.
    fn take_accepted<F: Flash>(&self, writes: &Writes, turn: &mut Turn<'_, F>, op: &PageOp, part: &mut Part) {
        let block_of = |block| self.layout.block(self.layout.data_place(part.at, block));
        let held: Elements = part.asked.iter().filter(|block| writes.read(turn, op, block_of(*block))).collect();
        turn.parts_done(part.number, held.len(), false);
        part.asked -= held;
    }

    /// Begins to fetch what is wanted of a group. Nothing, if all that was asked for was read ahead or is on its way.
    fn begin_fetch<F: Flash>(
        &mut self,
        codes: &Codes,
        writes: &Writes,
        turn: &mut Turn<'_, F>,
        mut part: Part,
    ) -> Option<u32> {
        let buffer = self.ahead.find(part.at).map(|(index, held)| (self.ahead.threads[index].cells, held));
        let held = buffer.map_or(Elements::NONE, |(_, held)| held);
        if let Some((cells, _)) = buffer {
            self.take_read_ahead(turn, &mut part, held, cells);
        }
        // Nothing more is read ahead in a group of which something is being read ahead.
        let ahead = if self.join_read_ahead(turn, &mut part) { Elements::NONE } else { part.range - held };
        if part.asked.is_empty() {
            return None;
        }
        let wanted = part.asked | ahead;
        self.counters.ahead_blocks += u64::from((wanted - part.asked).len());
        let usable = codes.code.all_data() | self.valid_codes(codes, writes, part.at);
        let slot = self.fetches.begin(part.at, wanted, usable);
        let (pages, full) = (self.layout.pages, turn.base.full_mask);
        let cells = turn.payloads().take(codes.code.elements() * pages, full);
        let fetch = self.fetches.at_mut(slot);
        (fetch.last_sent, fetch.cells) = (turn.now(), cells);
        (fetch.have, fetch.filled) = (held, held);
        self.fetches.waiters(slot).push(Waiter { op: part.number, since: turn.now(), blocks: part.asked });
        if let Some((from, _)) = buffer {
            held.iter().for_each(|at| turn.copy_block(from.offset(at * pages), cells.offset(at * pages)));
        }
        Some(slot)
    }

    /// Takes what was asked for from the buffer of a stream.
    fn take_read_ahead<F: Flash>(&mut self, turn: &mut Turn<'_, F>, part: &mut Part, held: Elements, cells: PayloadId) {
        let hits = part.asked & held;
        if hits.is_empty() {
            return;
        }
        for at in hits.iter() {
            self.deliver(turn, part.number, part.at, at, cells.offset(at * self.layout.pages));
        }
        self.counters.ahead_hits += u64::from(hits.len());
        turn.parts_done(part.number, hits.len(), false);
        part.asked -= hits;
    }

    /// Waits for what is being read ahead already. Whether anything is.
    fn join_read_ahead<F: Flash>(&mut self, turn: &Turn<'_, F>, part: &mut Part) -> bool {
        let coming = |fetch: &Fetch| (fetch.wanted - fetch.outdated) & part.asked;
        let on_its_way = self.fetches.of(part.at).find(|slot| {
            let fetch = self.fetches.at(*slot);
            fetch.stream.is_some() && !coming(fetch).is_empty()
        });
        let Some(slot) = on_its_way else { return false };
        let joined = coming(self.fetches.at(slot));
        self.fetches.waiters(slot).push(Waiter { op: part.number, since: turn.now(), blocks: joined });
        self.counters.ahead_hits += u64::from(joined.len());
        self.changed.push(slot);
        part.asked -= joined;
        true
    }

    /// Code blocks of a group that may be read.
    fn valid_codes(&mut self, codes: &Codes, writes: &Writes, at: GroupAt) -> Elements {
        if !codes.has_code_zone(at.zone) {
            return Elements::NONE;
        }
        let valid = if writes.changes_codes_of(at) { Elements::NONE } else { codes.agreeing(at) };
        self.counters.coded_groups += 1;
        self.counters.stale_groups += u64::from(valid != codes.code.all_codes());
        valid
    }

    /// Asks for what the policy chooses.
    fn ask<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, begun: &[u32]) {
        for slot in begun {
            let Choice { first, more } = self.choose(codes, turn.flash, *slot);
            self.request(codes, turn, *slot, first);
            self.fetches.at_mut(*slot).later = more;
        }
        for slot in begun {
            for element in self.fetches.at(*slot).later.iter() {
                let Fetch { have, wanted, .. } = *self.fetches.at(*slot);
                if !codes.code.known(have).contains(element) && !codes.code.decodes(have, wanted) {
                    self.request(codes, turn, *slot, Elements::one(element));
                }
            }
        }
    }

    fn choose<F: Flash>(&self, codes: &Codes, flash: &F, slot: u32) -> Choice {
        let Fetch { at, wanted, usable, have, .. } = *self.fetches.at(slot);
        let data = codes.code.all_data();
        let (wanted, valid) = (wanted - have, usable - data);
        if valid.is_empty() {
            return Choice { first: wanted, more: Elements::NONE };
        }
        let mut queued = [0; 32];
        let mut cleaning = Elements::NONE;
        if self.policy.looks != Looks::Nowhere {
            for element in (data | valid).iter() {
                let bank = DieId(self.layout.bank(at, element));
                let backlog = flash.backlog(bank);
                queued[element as usize] = match self.policy.looks {
                    Looks::Time => flash.backlog_ns(bank),
                    _ => u64::from(backlog.commands),
                };
                if backlog.cleaning > 0 {
                    cleaning.insert(element);
                }
            }
        }
        (self.policy.choose)(&View { code: &codes.code, wanted, have, valid, queued: &queued, cleaning })
    }

    /// Asks for elements, through the gate.
    fn request<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32, elements: Elements) {
        let data = elements & codes.code.all_data();
        self.counters.code_reads += u64::from((elements - data).len());
        self.counters.data_reads += u64::from(data.len());
        let fetch = self.fetches.at_mut(slot);
        fetch.tried |= elements;
        let gate = &mut turn.base.gate;
        if gate.is_open() {
            elements.iter().for_each(|element| self.send(codes, turn, slot, element));
            return;
        }
        fetch.gated |= elements;
        let Fetch { serial, at, .. } = *fetch;
        if gate.is_lockstep() {
            gate.push(Sub::Fetch { slot, serial, elements }, 0);
            return;
        }
        for element in elements.iter() {
            let sub = Sub::Fetch { slot, serial, elements: Elements::one(element) };
            gate.push(sub, self.layout.bank(at, element));
        }
    }

    /// Whether a use of a slot still wants any of the elements that wait in the gate for it.
    pub fn wants(&self, slot: u32, serial: u32, elements: Elements) -> bool {
        let fetch = self.fetches.get(slot);
        fetch.is_some_and(|fetch| fetch.serial == serial && !fetch.gated.is_disjoint(elements))
    }

    /// It is the turn of elements that waited in the gate, as far as they are still wanted.
    pub fn send_gated<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32, elements: Elements) {
        let fetch = self.fetches.at_mut(slot);
        let elements = elements & fetch.gated;
        fetch.gated -= elements;
        elements.iter().for_each(|element| self.send(codes, turn, slot, element));
    }

    fn send<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32, element: u32) {
        let Fetch { at, cells, .. } = *self.fetches.at(slot);
        let place = codes.place(at, element);
        let (first, pages) = (self.layout.page(place), self.layout.pages);
        let cause = if element < self.layout.group { Cause::Host } else { Cause::Code };
        let into = cells.offset(element * pages);
        let token = Tag::token(Asked::Fetch, slot, element);
        let op = turn.base.own_op(HostOp::Read, first..first + pages, into, cause, token);
        turn.base.gate.enter(place.bank);
        self.fetches.note_sent(slot, element, turn.now());
        match turn.submit(&PageOp { cancellable: true, ..op }) {
            Answer::Done { failed } => {
                turn.base.gate.leave(place.bank);
                self.note_arrival(slot, element, failed);
            }
            Answer::Pending(handle) => {
                self.fetches.set_handle(slot, element, handle);
                self.fetches.at_mut(slot).pending.insert(element);
            }
            Answer::Full { .. } => unreachable!("reads always find room"),
        }
    }

    /// An element that was on its way is there, or is not to be had.
    pub fn arrived<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32, element: u32, failed: bool) {
        let sent = self.fetches.sent(slot, element);
        let fetch = self.fetches.at_mut(slot);
        debug_assert!(fetch.pending.contains(element), "element {element} was not on its way");
        fetch.pending.remove(element);
        fetch.last_sent = sent;
        turn.base.gate.leave(self.layout.bank(fetch.at, element));
        self.note_arrival(slot, element, failed);
    }

    fn note_arrival(&mut self, slot: u32, element: u32, failed: bool) {
        let fetch = self.fetches.at_mut(slot);
        if failed {
            fetch.failed.insert(element);
        } else {
            fetch.have.insert(element);
            if element < self.layout.group {
                fetch.filled.insert(element);
            }
        }
        self.changed.push(slot);
    }

    /// Looks at what a fetch knows now: delivers, takes back, asks for what is still missing, or ends it.
    pub fn evaluate<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32) {
        let Some(fetch) = self.fetches.get(slot) else { return };
        debug_assert!(fetch.keeps_its_law(), "{fetch:?}");
        let known = codes.code.known(fetch.have);
        self.serve_waiters(codes, turn, slot, known);
        let fetch = self.fetches.at(slot);
        if fetch.wanted.is_within(known) {
            self.end_fetch(codes, turn, slot);
            return;
        }
        (fetch.coming() & known).iter().for_each(|element| self.take_back(turn, slot, element));
        let was_shaken = std::mem::take(&mut self.fetches.at_mut(slot).shaken);
        let fetch = self.fetches.at(slot);
        let coming = fetch.coming();
        if !coming.is_empty() && (!was_shaken || codes.code.decodes(fetch.have | coming, fetch.wanted)) {
            return;
        }
        let missing = fetch.wanted - known - fetch.tried;
        let others = fetch.usable - fetch.tried - known;
        if !missing.is_empty() {
            self.request(codes, turn, slot, missing);
        } else if !fetch.failed.is_empty() && !others.is_empty() {
            self.request(codes, turn, slot, others);
        } else if coming.is_empty() {
            self.fail_fetch(codes, turn, slot);
        }
    }

    /// Gives those who wait for a fetch the blocks that are known.
    fn serve_waiters<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32, known: Elements) {
        let mut index = 0;
        while let Some(Waiter { op, since, blocks }) = self.fetches.waiters(slot).get(index).copied() {
            let there = blocks & known;
            if !there.is_empty() {
                for block in there.iter() {
                    self.fill(codes, turn, slot, block);
                    let Fetch { at, cells, .. } = *self.fetches.at(slot);
                    self.deliver(turn, op, at, block, cells.offset(block * self.layout.pages));
                }
                self.fetches.waiters(slot)[index].blocks -= there;
                let sent = self.fetches.at(slot).last_sent;
                if since == sent && since < turn.now() {
                    turn.parts_done(op, there.len(), false);
                } else {
                    let wait = wait_for_fetch(turn, since, sent);
                    turn.parts_done_after(op, there.len(), false, &wait);
                }
            }
            index += 1;
        }
    }

    /// Nothing more can be had: who still waits gets those pages of its blocks that can be read by themselves.
    #[cold]
    fn fail_fetch<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32) {
        let at = self.fetches.at(slot).at;
        for index in 0..self.fetches.waiters(slot).len() {
            let Waiter { op, blocks, .. } = self.fetches.waiters(slot)[index];
            blocks.iter().for_each(|block| self.read_alone(turn, op, at, block));
        }
        self.end_fetch(codes, turn, slot);
    }

    /// Reads what an operation asked for of a block, and no other page of it.
    #[cold]
    fn read_alone<F: Flash>(&self, turn: &mut Turn<'_, F>, number: u32, at: GroupAt, block: u32) {
        let asked = turn.base.ops.at(number).about;
        let place = self.layout.data_place(at, block);
        let part = asked.part(self.layout.first_of(self.layout.block(place)), self.layout.pages);
        let below = self.layout.below(asked.at(part.start));
        let payload = asked.payload.offset(part.start);
        let token = Tag::token(Asked::Alone, number, 0);
        let op = turn.base.own_op(HostOp::Read, below..below + part.len() as u32, payload, Cause::Host, token);
        if let Answer::Done { failed } = turn.submit(&op) {
            turn.parts_done(number, 1, failed);
        }
    }

    /// Takes back an element that is of no use any more.
    fn take_back<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32, element: u32) {
        let fetch = self.fetches.at_mut(slot);
        debug_assert!(fetch.coming().contains(element), "element {element} is not to come");
        if fetch.gated.contains(element) {
            fetch.gated.remove(element);
            self.counters.taken_back += 1;
            return;
        }
        fetch.pending.remove(element);
        let bank = self.layout.bank(fetch.at, element);
        let handle = self.fetches.handle(slot, element);
        let left = turn.base.below.cancel(turn.flash, handle);
        turn.base.gate.leave(bank);
        *(if left.wasted > 0 { &mut self.counters.wasted } else { &mut self.counters.taken_back }) += 1;
    }

    fn end_fetch<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32) {
        let coming = self.fetches.at(slot).coming();
        coming.iter().for_each(|element| self.take_back(turn, slot, element));
        self.keep_read_ahead(codes, turn, slot);
        let cells = self.fetches.at(slot).cells;
        turn.payloads().release(cells, codes.code.elements() * self.layout.pages);
        self.fetches.end(slot);
    }

    /// Puts what was read ahead into the buffer of its stream, if that is still the same stream.
    fn keep_read_ahead<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32) {
        let Fetch { stream: Some(stream), at, wanted, outdated, have, cells, .. } = *self.fetches.at(slot) else {
            return;
        };
        let (pages, full) = (self.layout.pages, turn.base.full_mask);
        let entry = &mut self.ahead.threads[stream.index as usize];
        if entry.serial != stream.serial {
            return;
        }
        if entry.cells == PayloadId::NONE {
            entry.cells = turn.payloads().take(self.layout.group * pages, full);
        }
        (entry.at, entry.held) = (at, (wanted & codes.code.known(have)) - outdated);
        let (into, held) = (entry.cells, entry.held);
        for block in held.iter() {
            self.fill(codes, turn, slot, block);
            turn.copy_block(cells.offset(block * pages), into.offset(block * pages));
        }
    }

    /// Computes a data block that is known, though it was not read.
    fn fill<F: Flash>(&mut self, codes: &Codes, turn: &mut Turn<'_, F>, slot: u32, block: u32) {
        let fetch = self.fetches.at_mut(slot);
        if fetch.filled.contains(block) {
            return;
        }
        fetch.filled.insert(block);
        self.counters.decoded += 1;
        let Fetch { have, cells, .. } = *fetch;
        if cells != PayloadId::NONE {
            for page in 0..self.layout.pages {
                let cell = |element: u32| cells.offset(element * self.layout.pages + page);
                codes.code.compute(turn.payloads(), block, have, cell);
            }
        }
    }

    /// Copies what an operation asked for of a block.
    fn deliver<F: Flash>(&self, turn: &mut Turn<'_, F>, op: u32, at: GroupAt, block: u32, cells: PayloadId) {
        if cells == PayloadId::NONE {
            return;
        }
        let asked = turn.base.ops.at(op).about;
        let first = self.layout.first_of(self.layout.block(self.layout.data_place(at, block)));
        for index in asked.part(first, self.layout.pages) {
            let (from, into) = (cells.offset(asked.at(index) - first), asked.payload.offset(index));
            let payloads = turn.payloads();
            payloads.copy(from, into, payloads.mask(into));
        }
    }

    /// A data block is being written: pages read of it before are not kept for later reads.
    pub fn outdate(&mut self, at: GroupAt, block: u32) {
        self.ahead.forget(at, block);
        self.each_fetch(at, |reads, slot| reads.fetches.at_mut(slot).outdated.insert(block));
    }

    /// A write of a data block was accepted, or begins: pages read of it now are not kept for later reads, and code
    /// blocks made of it are not used together with its contents then.
    pub fn drop_stale<F: Flash>(&mut self, turn: &mut Turn<'_, F>, at: GroupAt, block: u32, made_of: Elements) {
        self.ahead.forget(at, block);
        self.each_fetch(at, |reads, slot| reads.drop_stale_of(turn, slot, block, made_of));
    }

    fn each_fetch(&mut self, at: GroupAt, mut change: impl FnMut(&mut Self, u32)) {
        if self.fetches.is_quiet() {
            return;
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.extend(self.fetches.of(at));
        slots.drain(..).for_each(|slot| change(self, slot));
        self.slots = slots;
    }

    /// A fetch under way must not decode with stale code blocks, unless it has, or will have, the source as it was.
    fn drop_stale_of<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32, block: u32, made_of: Elements) {
        let fetch = self.fetches.at_mut(slot);
        fetch.outdated.insert(block);
        // What is there already may have been stale for longer, and of use so far because all its other sources are old
        // as well.
        let stale = made_of & (fetch.usable | fetch.have);
        fetch.usable -= stale;
        let has_source = (fetch.have | fetch.pending).contains(block);
        let dropped = fetch.coming() & stale;
        if !has_source {
            fetch.have -= stale;
            // Data taken back because of them may have to be read after all.
            fetch.tried = fetch.tried & (fetch.have | fetch.coming() | fetch.failed | made_of);
        }
        dropped.iter().for_each(|element| self.take_back(turn, slot, element));
        self.counters.stale_drops += u64::from(dropped.len());
        if !stale.is_empty() {
            self.fetches.at_mut(slot).shaken = true;
            self.changed.push(slot);
        }
    }
}

/// Sectors that an operation asks for.
fn sectors_of(op: &PageOp, full_mask: u64) -> u64 {
    let ends = op.first_mask.count_ones() + if op.pages > 1 { op.last_mask.count_ones() } else { 0 };
    u64::from(ends) + u64::from(op.pages.saturating_sub(2)) * u64::from(full_mask.count_ones())
}

/// What a read has waited for since `since`, whose last block was sent to its bank at `sent`: in the gate's queue, and
/// as the block's command did. A read that came later waited for the read of the block.
fn wait_for_fetch<F: Flash>(turn: &Turn<'_, F>, since: Nanos, sent: Nanos) -> WaitVector {
    if since == turn.now() {
        return WaitVector::ZERO; // all of it was there
    }
    let (mut wait, kind, time) = if since <= sent {
        (turn.last_wait(), Wait::Queue, sent - since)
    } else {
        (WaitVector::ZERO, Wait::Cause(Cause::Host), turn.now() - since)
    };
    layer::charge(&mut wait, kind, time);
    wait
}
