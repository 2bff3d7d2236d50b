//! The layer: state, operations, and what happens when something below is done.
//!
//! Faithful to: segments with private maps and spare blocks, stripe blocks as the unit of reading and writing, one code
//! zone for each of the zones read most, reads of all blocks that can help with redundant ones taken back. Simplified:
//! XOR takes no time; a write of a part of a stripe block reads the rest as soon as it is its turn. Protects: a code
//! block is used only while it is the sum of its sources as they are on flash and no write of one was accepted; a read
//! returns the last acknowledged version of each block.

use crate::ahead::ReadAhead;
use crate::coder::Coder;
use crate::encode::Encoder;
use crate::fetch::Fetches;
use crate::jobs::Jobs;
use crate::layout::ZoneLayout;
use crate::queue::{Gate, Sub};
use crate::settings::Settings;
use erasure::{GroupCode, Known};
use layer::{Answer, Below, OpHandle, Ops, Outbox, PageOp, STRIPE_OWNER, Versioned};
use nand::{Flash, PayloadId, Token, WaitVector};
use std::collections::VecDeque;
use units::{Cause, HostOp};

/// No such thing.
pub(crate) const NONE: u32 = u32::MAX;

layer::tag_kinds! {
    /// What the mapping is asked for, with the element of its group as index.
    pub(crate) Asked, 5 bits of index:
    /// An element of a fetch.
    Fetch,
    /// A step of a write.
    Job,
    /// A step of an encoding.
    Encode,
    /// Pages that an operation reads by themselves; the number is the operation's.
    Alone
}
pub(crate) type Tag = layer::Tag<Asked>;

/// What happened, for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
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
    pub filled_up_writes: u64,
    pub code_updates: u64,
    pub encoded: u64,
    pub spoiled: u64,
    pub offline_phases: u64,
}

/// Zones over a mapping with a lane for each segment.
pub(crate) struct Zoned<F: Flash> {
    pub below: Below<dyn Versioned<F>>,
    pub layout: ZoneLayout,
    pub settings: Settings,
    pub known: Known,
    pub coder: Coder,
    /// Code zone of each data zone, and data zone of each code zone.
    pub code_of: Vec<u32>,
    pub coded: Vec<u32>,
    /// Stripe blocks read of each zone.
    pub reads: Vec<u64>,
    /// One bit for each code block: it is the sum of its sources on flash.
    pub agrees: Vec<u64>,
    pub fetches: Fetches,
    pub jobs: Jobs,
    pub ahead: ReadAhead,
    pub encoder: Encoder,
    pub gate: Gate,
    pub counters: Counters,
    /// Operations of the layer above, with what was asked for: their parts are stripe blocks, or jobs.
    pub ops: Ops<PageOp>,
    /// Jobs that can go on.
    pub ready: VecDeque<u32>,
    /// Fetches to be looked at again.
    pub changed: Vec<u32>,
    /// Memory of lists of fetches, to be used again.
    pub begun: Vec<u32>,
    pub idle: bool,
    wait: Option<u32>,
    pub full_mask: u64,
    pub page_bytes: u32,
    /// The code of each row is used only while no write of it waits.
    pub rows_in_line: bool,
}

impl<F: Flash> Zoned<F> {
    pub fn new(
        layout: ZoneLayout,
        code: &GroupCode,
        settings: Settings,
        geometry: &units::Geometry,
        below: Box<dyn Versioned<F>>,
    ) -> Self {
        let code_blocks = layout.code_zones as usize * layout.rows as usize * layout.banks as usize;
        let rows_in_line = settings.stale == crate::settings::Stale::Update && layout.code_zones > 0;
        let unit = if settings.queues == crate::settings::Queues::Lockstep { layout.banks } else { 1 };
        Self {
            below: Below::new(below),
            code_of: vec![NONE; layout.zones as usize],
            coded: vec![NONE; layout.code_zones as usize],
            reads: vec![0; layout.zones as usize],
            agrees: vec![0; code_blocks.div_ceil(64)],
            fetches: Fetches::new(code.elements()),
            jobs: Jobs::new(&layout, unit, rows_in_line),
            ahead: ReadAhead::new(settings.threads, settings.window, settings.ahead),
            encoder: Encoder::new(&settings),
            gate: Gate::new(settings.queues, layout.banks),
            coder: Coder::new(code),
            known: Known::new(code.clone(), settings.decoder),
            counters: Counters::default(),
            ops: Ops::default(),
            ready: VecDeque::new(),
            changed: Vec::new(),
            begun: Vec::new(),
            idle: false,
            wait: None,
            full_mask: geometry.full_mask(),
            page_bytes: geometry.page_bytes,
            rows_in_line,
            layout,
            settings,
        }
    }

    /// Bit of a code block: its code zone, row, group and number.
    #[inline]
    pub fn code_bit(&self, code_zone: u32, row: u32, group: u32, code: u32) -> (usize, u64) {
        let bit = (code_zone * self.layout.rows + row) * self.layout.banks + group * self.layout.group + code;
        (bit as usize / 64, 1 << (bit % 64))
    }

    /// Whether a code block is the sum of its sources on flash.
    #[inline]
    pub fn agrees(&self, code_zone: u32, row: u32, group: u32, code: u32) -> bool {
        let (word, bit) = self.code_bit(code_zone, row, group, code);
        self.agrees[word] & bit != 0
    }

    pub fn set_agrees(&mut self, code_zone: u32, row: u32, group: u32, code: u32, agrees: bool) {
        let (word, bit) = self.code_bit(code_zone, row, group, code);
        self.agrees[word] = if agrees { self.agrees[word] | bit } else { self.agrees[word] & !bit };
    }

    /// Bank of an element of a group, and its first page in the mapping below.
    #[inline]
    pub fn element_page(&self, zone: u32, row: u32, group: u32, element: u32) -> (u32, u32) {
        let data = self.layout.group;
        if element < data {
            let bank = group * data + element;
            return (bank, self.layout.page(zone, row, bank));
        }
        let bank = self.layout.code_bank(group, element - data);
        (bank, self.layout.page(self.layout.zones + self.code_of[zone as usize], row, bank))
    }

    /// Parts of an operation are done.
    pub fn parts_done(&mut self, number: u32, parts: u32, failed: bool, outbox: &mut Outbox) {
        self.ops.part_done(number, parts, failed, self.wait, outbox);
    }

    /// A page operation of this layer's own.
    pub fn own_op(&self, op: HostOp, first: u32, pages: u32, payload: PayloadId, cause: Cause, token: Token) -> PageOp {
        PageOp {
            pages,
            cancellable: op == HostOp::Read,
            payload,
            cause,
            owner: STRIPE_OWNER,
            token,
            ..PageOp::on_page(op, first, self.full_mask)
        }
    }

    /// A flush goes on to the mapping when the writes before it are done.
    pub fn submit_flush(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        if self.jobs.flushes.joins(op) {
            return Answer::Pending(OpHandle(None));
        }
        let answer = self.below.submit(flash, op);
        self.below.room.note(answer)
    }

    /// Something asked of the mapping is done.
    pub fn on_joined(&mut self, flash: &mut F, done: Token, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        self.wait = wait;
        let Tag { kind, number, index: element } = Tag::of(done);
        match kind {
            Asked::Fetch => self.arrived(number, element, failed),
            Asked::Job => self.job_step_done(flash, number, element, failed),
            Asked::Encode => self.encode_step_done(flash, number, failed),
            Asked::Alone => self.parts_done(number, 1, failed, outbox),
        }
        self.settle(flash, outbox);
        self.wait = None;
    }

    /// Parts of an operation are done that waited for so much.
    pub fn parts_done_after(
        &mut self,
        flash: &mut F,
        wait: &WaitVector,
        [number, parts]: [u32; 2],
        failed: bool,
        outbox: &mut Outbox,
    ) {
        let wait = (wait.kinds != 0).then(|| flash.memory_mut().waits.note(wait));
        self.ops.part_done(number, parts, failed, wait, outbox);
    }

    /// What the command that ended just now has waited for.
    pub fn last_wait(&self, flash: &F) -> WaitVector {
        self.wait.map_or(WaitVector::ZERO, |index| flash.state().memory.waits[index])
    }

    /// The next sub-request that may go to its bank.
    fn next_sub(&mut self) -> Option<Sub> {
        let fetches = &self.fetches;
        self.gate.pop(|sub| match *sub {
            Sub::Fetch { slot, serial, elements } => {
                fetches.get(slot).is_some_and(|fetch| fetch.serial == serial && fetch.gated & elements != 0)
            }
            Sub::Job { .. } => true,
        })
    }

    /// Does what can be done now.
    pub fn settle(&mut self, flash: &mut F, outbox: &mut Outbox) {
        loop {
            while let Some(slot) = self.changed.pop() {
                self.evaluate(flash, slot, outbox);
            }
            while let Some(job) = self.ready.pop_front() {
                self.advance(flash, job, outbox);
            }
            if self.below.pass_on(outbox) {
                self.ready.extend(std::iter::from_fn(|| self.below.room.next_stalled()));
                self.below.room.announce(outbox);
                self.encode_more(flash);
            }
            if !self.ready.is_empty() || !self.changed.is_empty() || self.below.has_spoken() {
                continue;
            }
            match self.next_sub() {
                Some(Sub::Fetch { slot, serial, elements }) => self.send_gated(flash, slot, serial, elements),
                Some(Sub::Job { number }) => self.send_job(flash, number),
                None => break,
            }
        }
        self.jobs.flushes.pass(outbox, |op| self.below.submit(flash, op));
    }
}
