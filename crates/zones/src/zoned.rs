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
use code::{GroupCode, Known};
use layer::{Answer, FlushLine, OpHandle, Outbox, PageOp, STRIPE_OWNER, Signal, Versioned};
use nand::{Flash, Owner, PayloadId, Token, WaitVector};
use std::collections::VecDeque;
use units::{Cause, HostOp};

/// No such thing.
pub(crate) const NONE: u32 = u32::MAX;

/// Tokens: a slot, what of it, and which element of its group.
pub(crate) mod token {
    use nand::Token;

    pub const FETCH: u32 = 0;
    pub const JOB: u32 = 1;
    pub const ENCODE: u32 = 2;
    /// Pages that an operation reads by themselves; the slot is its number.
    pub const ALONE: u32 = 3;

    pub fn new(slot: u32, kind: u32, element: u32) -> Token {
        slot << 7 | kind << 5 | element
    }

    pub fn split(token: Token) -> (u32, u32, u32) {
        (token >> 7, token >> 5 & 3, token & 31)
    }
}

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

/// An operation of the layer above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    owner: Owner,
    token: Token,
    /// Stripe blocks (or jobs) not done.
    pub left: u32,
    pub failed: bool,
    /// Its owner waits to hear of it.
    pending: bool,
    /// What was asked for.
    pub asked: PageOp,
}

/// Zones over a mapping with a lane for each segment.
pub(crate) struct Zoned<F: Flash> {
    pub below: Box<dyn Versioned<F>>,
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
    ops: Vec<Op>,
    free_ops: Vec<u32>,
    /// Jobs that can go on, and jobs that found no room below.
    pub ready: VecDeque<u32>,
    pub stalled: VecDeque<u32>,
    /// Fetches to be looked at again.
    pub changed: Vec<u32>,
    /// Memory of lists of fetches, to be used again.
    pub begun: Vec<u32>,
    flushes: FlushLine,
    starved: bool,
    pub idle: bool,
    pub inner: Outbox,
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
            below,
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
            ops: Vec::new(),
            free_ops: Vec::new(),
            ready: VecDeque::new(),
            stalled: VecDeque::new(),
            changed: Vec::new(),
            begun: Vec::new(),
            flushes: FlushLine::default(),
            starved: false,
            idle: false,
            inner: Outbox::new(),
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

    pub fn new_op(&mut self, op: &PageOp, left: u32) -> u32 {
        let entry = Op { owner: op.owner, token: op.token, left, failed: false, pending: false, asked: *op };
        if let Some(number) = self.free_ops.pop() {
            self.ops[number as usize] = entry;
            return number;
        }
        self.ops.push(entry);
        self.ops.len() as u32 - 1
    }

    pub fn op(&self, number: u32) -> &Op {
        &self.ops[number as usize]
    }

    /// What to say of an operation after all that could be done at once was done.
    pub fn answer(&mut self, number: u32) -> Answer {
        let op = &mut self.ops[number as usize];
        if op.left > 0 {
            op.pending = true;
            return Answer::Pending(OpHandle(None));
        }
        self.free_ops.push(number);
        Answer::Done { failed: op.failed }
    }

    /// Parts of an operation are done.
    pub fn parts_done(&mut self, number: u32, parts: u32, failed: bool, outbox: &mut Outbox) {
        let op = &mut self.ops[number as usize];
        op.left -= parts;
        op.failed |= failed;
        if parts > 0 && op.left == 0 && op.pending {
            let (owner, token, failed) = (op.owner, op.token, op.failed);
            outbox.push(Signal::Done { owner, token, failed, wait: self.wait });
            self.free_ops.push(number);
        }
    }

    /// A page operation of this layer's own.
    pub fn own_op(&self, op: HostOp, first: u32, pages: u32, payload: PayloadId, cause: Cause, token: Token) -> PageOp {
        PageOp {
            op,
            first,
            pages,
            first_mask: self.full_mask,
            last_mask: self.full_mask,
            fua: false,
            cancellable: op == HostOp::Read,
            more: false,
            kept: false,
            payload,
            cause,
            request_sectors: 0,
            owner: STRIPE_OWNER,
            token,
        }
    }

    pub fn submit_below(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        self.below.submit(flash, op, &mut self.inner)
    }

    /// A flush goes on to the mapping when the writes before it are done.
    pub fn submit_flush(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        if !self.flushes.is_empty() || self.jobs.active > 0 {
            self.flushes.push(self.jobs.last_serial(), op);
            return Answer::Pending(OpHandle(None));
        }
        let answer = self.below.submit(flash, op, &mut self.inner);
        self.starved |= matches!(answer, Answer::Full { .. });
        answer
    }

    /// Something asked of the mapping is done.
    pub fn on_joined(&mut self, flash: &mut F, done: Token, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        self.wait = wait;
        let (slot, kind, element) = token::split(done);
        match kind {
            token::FETCH => self.arrived(slot, element, failed),
            token::JOB => self.job_step_done(flash, slot, element, failed),
            token::ALONE => self.parts_done(slot, 1, failed, outbox),
            _ => self.encode_step_done(flash, slot, failed),
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
        let before = self.wait;
        let waits = &mut flash.core_mut().waits;
        self.wait = (wait.kinds != 0).then(|| {
            waits.push(*wait);
            waits.len() as u32 - 1
        });
        self.parts_done(number, parts, failed, outbox);
        self.wait = before;
    }

    /// What the command that ended just now has waited for.
    pub fn last_wait(&self, flash: &F) -> WaitVector {
        self.wait.map_or(WaitVector::ZERO, |index| flash.core().waits[index as usize])
    }

    /// The next sub-request that may go to its bank.
    fn next_sub(&mut self) -> Option<Sub> {
        let fetches = &self.fetches;
        self.gate.pop(|sub| match *sub {
            Sub::Fetch { slot, serial, elements } => {
                let fetch = fetches.at(slot);
                fetch.open && fetch.serial == serial && fetch.gated & elements != 0
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
            let mut room = false;
            for signal in self.inner.drain(..) {
                match signal {
                    Signal::Room => room = true,
                    done @ Signal::Done { .. } => outbox.push(done),
                }
            }
            if room {
                self.ready.append(&mut self.stalled);
                if std::mem::take(&mut self.starved) {
                    outbox.push(Signal::Room);
                }
                self.encode_more(flash);
            }
            if !self.ready.is_empty() || !self.changed.is_empty() || !self.inner.is_empty() {
                continue;
            }
            match self.next_sub() {
                Some(Sub::Fetch { slot, serial, elements }) => self.send_gated(flash, slot, serial, elements),
                Some(Sub::Job { number }) => self.send_job(flash, number),
                None => break,
            }
        }
        if !self.flushes.is_empty() {
            self.pass_flushes(flash, outbox);
        }
    }

    /// Flushes whose writes have all been done go on to the mapping.
    fn pass_flushes(&mut self, flash: &mut F, outbox: &mut Outbox) {
        let mut flushes = std::mem::take(&mut self.flushes);
        flushes.pass(outbox, |serial, op| {
            (!self.jobs.any_up_to(serial)).then(|| self.below.submit(flash, op, &mut self.inner))
        });
        self.flushes = flushes;
    }
}
