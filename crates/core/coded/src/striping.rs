//! The layer: it hands calls from above and events from below to reads, writes and codes.
//!
//! Faithful to: segments with private maps and spare blocks, stripe blocks as the unit of reading and writing, one code
//! zone for each of the zones read most. The rules of each of the three stand in its own file.
//!
//! ```text
//! settle   1  evaluate the fetches that have changed, then take the jobs on that can go on
//!          2  pass on what the mapping said; if that was of room, wake those who found none and encode more
//!          3  begin anew as long as any of that has made more of it
//!          4  let through the gate what may go to its bank, and begin anew; nothing: it is settled
//!          5  pass on the flushes that no write is before any more
//! ```

use crate::base::{Asked, Base, Tag, Turn};
use crate::code::Code;
use crate::codes::{CodeCounters, Codes};
use crate::queue::{Gate, Sub};
use crate::reads::{ReadCounters, Reads};
use crate::settings::{Plan, Settings};
use crate::writes::{WriteCounters, Writes};
use layer::{
    Answer, Below, Held, LayerReport, Ops, Outbox, PageLayer, PageOp, STRIPE_OWNER, SnapshotError, SnapshotReader,
    SnapshotWriter, Versioned,
};
use nand::{Event, Flash, Owner, Token};
use units::{Geometry, HostOp, Lpn, Ppn, Request, SECTOR_BYTES};

/// The layer over a mapping with a lane for each segment.
pub(crate) struct CodedStriping<F: Flash> {
    base: Base<F>,
    flows: Flows,
    page_bytes: u32,
}

/// What goes on in it.
struct Flows {
    reads: Reads,
    writes: Writes,
    codes: Codes,
}

impl Flows {
    /// Something asked of the mapping is done.
    fn on_joined<F: Flash>(&mut self, turn: &mut Turn<'_, F>, done: Token, failed: bool) {
        let Tag { kind, number, index: element } = Tag::of(done);
        match kind {
            Asked::Fetch => self.reads.arrived(turn, number, element, failed),
            Asked::Job => self.writes.step_done(turn, number, element, failed),
            Asked::Encode => self.codes.step_done(&self.writes, turn, number, failed),
            Asked::Alone => turn.parts_done(number, 1, failed),
        }
    }

    /// Does what can be done now.
    fn settle<F: Flash>(&mut self, turn: &mut Turn<'_, F>) {
        let Self { reads, writes, codes } = self;
        loop {
            while let Some(slot) = reads.next_changed() {
                reads.evaluate(codes, turn, slot);
            }
            while let Some(job) = writes.next_ready() {
                writes.advance(reads, codes, turn, job);
            }
            if turn.base.below.pass_on(turn.outbox) {
                writes.wake_stalled(turn);
                turn.base.below.room.announce(turn.outbox);
                codes.encode_more(writes, turn);
            }
            if !writes.is_settled() || !reads.is_settled() || turn.base.below.has_spoken() {
                continue;
            }
            let is_wanted = |sub: &Sub| match *sub {
                Sub::Fetch { slot, serial, elements } => reads.wants(slot, serial, elements),
                Sub::Job { .. } => true,
            };
            match turn.base.gate.pop(is_wanted) {
                Some(Sub::Fetch { slot, elements, .. }) => reads.send_gated(codes, turn, slot, elements),
                Some(Sub::Job { number }) => writes.send_gated(reads, codes, turn, number),
                None => break,
            }
        }
        writes.pass_flushes(turn);
    }
}

impl<F: Flash> CodedStriping<F> {
    pub fn new(plan: &Plan, settings: &Settings, geometry: &Geometry, below: Box<dyn Versioned<F>>) -> Self {
        let layout = &plan.layout;
        let code = Code::new(plan.code.clone(), settings.decoder);
        Self {
            flows: Flows {
                reads: Reads::new(code.elements(), layout, settings),
                writes: Writes::new(layout, settings, geometry.full_mask()),
                codes: Codes::new(code, layout, settings),
            },
            base: Base {
                below: Below::new(below),
                layout: layout.clone(),
                gate: Gate::new(settings.queues, layout.banks),
                ops: Ops::default(),
                full_mask: geometry.full_mask(),
            },
            page_bytes: geometry.page_bytes,
        }
    }

    /// Calls `hint` with requests as the mapping below numbers their pages.
    fn translated(&self, requests: &[Request], hint: impl Fn(&[Request])) {
        let per_page = u64::from(self.page_bytes) / SECTOR_BYTES;
        let layout = &self.base.layout;
        let page_of = |page: u64| {
            let block = (page / u64::from(layout.pages)) as u32;
            layout.page(layout.place(block.min(layout.blocks() - 1))).0
        };
        layer::translated(requests, per_page, page_of, hint);
    }

    /// Bytes a controller needs: a map entry of 4 bytes for each stripe block, a bit for each code block, read counts,
    /// the thread table with its buffers, the window.
    fn ram_bytes(&self) -> u64 {
        let (bytes, code_blocks) = self.flows.codes.ram();
        let entries = u64::from(self.base.layout.blocks()) + code_blocks;
        entries * 4 + bytes + self.flows.reads.ram_bytes(self.page_bytes)
    }

    fn report_own(&self) -> LayerReport {
        let Flows { reads, writes, codes } = &self.flows;
        let mut report = LayerReport { name: "coded", ram_bytes: self.ram_bytes(), ..LayerReport::default() };
        report.counters.extend([
            ("blocks_read", reads.counters.data_reads),
            ("code_blocks_read", reads.counters.code_reads),
            ("block_reads_taken_back", reads.counters.taken_back),
            ("block_reads_wasted", reads.counters.wasted),
            ("blocks_decoded", reads.counters.decoded),
            ("code_reads_gone_stale", reads.counters.stale_drops),
            ("coded_groups_read", reads.counters.coded_groups),
            ("coded_groups_partly_stale", reads.counters.stale_groups),
            ("blocks_read_ahead", reads.counters.ahead_blocks),
            ("read_ahead_hits", reads.counters.ahead_hits),
            ("sequential_reads", reads.counters.sequential),
            ("sequential_reads_fragmented", reads.counters.sequential_fragments),
            ("sequential_reads_misaligned", reads.counters.sequential_misaligned),
            ("writes_filled_up", writes.counters.filled_up),
            ("code_blocks_updated", writes.counters.code_updates),
            ("code_blocks_encoded", codes.counters.encoded),
            ("encodings_spoiled", codes.counters.spoiled),
            ("offline_phases", codes.counters.offline_phases),
            ("zones_coded", codes.coded_zones().count() as u64),
            ("map_bytes", u64::from(self.base.layout.blocks()) * 4),
        ]);
        report
    }
}

impl<F: Flash> PageLayer<F> for CodedStriping<F> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let Self { base, flows, .. } = self;
        flows.codes.end_idle(flash);
        let turn = &mut Turn { flash, base, outbox, wait: None };
        let number = match op.op {
            HostOp::Read => flows.reads.submit(&mut flows.codes, &flows.writes, turn, op),
            HostOp::Write | HostOp::Trim => flows.writes.submit(&mut flows.reads, &mut flows.codes, turn, op),
            HostOp::Flush => {
                flows.settle(turn);
                return flows.writes.submit_flush(turn, op);
            }
        };
        flows.settle(turn);
        base.ops.answer(number)
    }

    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox) {
        let Self { base, flows, .. } = self;
        match *event {
            Event::Joined { token, failed, wait } if owner == STRIPE_OWNER => {
                let turn = &mut Turn { flash, base, outbox, wait };
                flows.on_joined(turn, token, failed);
                flows.settle(turn);
                return;
            }
            Event::DieLost { die } => base.below.lose_die(flash, die),
            ref event => base.below.on_event(flash, owner, event),
        }
        if base.below.has_spoken() {
            flows.settle(&mut Turn { flash, base, outbox, wait: None });
        }
    }

    fn prepare(&mut self, flash: &mut F) {
        let Self { base, flows, .. } = self;
        if flows.codes.begins_at_start() {
            let turn = &mut Turn { flash, base, outbox: &mut Outbox::new(), wait: None };
            flows.codes.begin_idle(&flows.reads, &flows.writes, turn);
            flows.settle(turn);
        }
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        let Self { base, flows, .. } = self;
        let mut outbox = Outbox::new();
        let turn = &mut Turn { flash, base, outbox: &mut outbox, wait: None };
        let begun = flows.codes.begin_idle(&flows.reads, &flows.writes, turn);
        flows.settle(turn);
        debug_assert!(outbox.is_empty(), "nobody waits while the host is idle");
        base.below.on_idle(flash) || begun
    }

    fn hint_map(&self, flash: &F, soon: &[Request]) {
        self.translated(soon, |soon| self.base.below.hint_map(flash, soon));
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        self.translated(next, |next| self.base.below.hint_target(flash, next));
    }

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        if self.flows.writes.is_waited_for(page) {
            Held::Bytes
        } else {
            self.base.below.holds(flash, self.base.layout.below(page))
        }
    }

    fn place_of(&self, page: Lpn, sectors: u64) -> Option<Ppn> {
        let is_below = !self.flows.writes.is_waited_for(page);
        is_below.then(|| self.base.below.place_of(self.base.layout.below(page), sectors)).flatten()
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        let Flows { reads, writes, codes } = &self.flows;
        if reads.is_quiet() && writes.is_quiet() && codes.is_quiet() {
            codes.check(&self.base, flash)?;
        }
        self.base.below.check(flash)
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.report_own());
        self.base.below.report(reports);
    }

    fn reset_counters(&mut self) {
        self.flows.reads.counters = ReadCounters::default();
        self.flows.writes.counters = WriteCounters::default();
        self.flows.codes.counters = CodeCounters::default();
        self.base.below.reset_counters();
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        let Flows { reads, writes, codes } = &self.flows;
        assert!(writes.is_quiet() && reads.is_quiet(), "a drive is drained before its state is saved");
        codes.save(writer);
        self.base.below.save(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.flows.codes.load(reader)?;
        self.base.below.load(reader)
    }
}
