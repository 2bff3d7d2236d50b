//! The layer: operations are split by stripe, and each stripe does one job at a time.
//!
//! Faithful to: the chip of every page is fixed by its number; a parity is written after the data it covers, so
//! that its sequence number tells what it covers; memory and maps change when a program completes.
//! Simplified: data and parity of a full stripe are programmed one after the other; computing parity takes
//! no time; where there was no room for all copies of a trim's tombstone, the others follow later.
//! Protects: at every moment each data page can be computed from others as far as the scheme promises; old
//! versions are kept exactly for the pages newer than their parity.
//!
//! ```text
//! write   Start - Before (reads) - Data - Written - Commit (reads) - Parity - End
//! commit  Start -                                   Commit (reads) - Parity - End
//! read    Start - Fetch - Heal - End                rebuild: a commit if need be - Restore - Refill - End
//! ```

use crate::around::{AroundCounters, Arounds};
use crate::cache::Cache;
use crate::choice;
use crate::code::Code;
use crate::gone::Gone;
use crate::jobs::{Cell, Job, Jobs, Kind, NONE, Phase, Reason};
use crate::layout::StripeLayout;
use crate::rebuild::Chips;
use crate::scheme::Scheme;
use crate::settings::Settings;
use crate::token::{Asked, Tag};
use crate::torn::Torn;
use crate::waiting::Waiting;
use crate::way::Way;
use layer::{Answer, Below, Ops, Outbox, PageOp, STRIPE_OWNER, Slots, Versioned};
use nand::{Flash, PayloadId, Token};
use units::{Cause, HostOp, members};

/// What happened, for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Pages written to a stripe without newer pages, to one where they were not among them, and where they were.
    pub cases: [u64; 3],
    pub full_stripes: u64,
    /// By [`Reason`], and with writes of schemes that delay nothing.
    pub commits: [u64; 4],
    pub commits_with_writes: u64,
    pub commit_reads: u64,
    pub most_commit_reads: u64,
    pub degraded_reads: u64,
    pub degraded_writes: u64,
    pub healed_pages: u64,
    pub lost_pages: u64,
    pub rebuilt_stripes: u64,
    pub around: AroundCounters,
}

/// What is known of an operation of the layer above. Its parts are pages, or runs of pages that are read together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub op: PageOp,
    /// Some page of a read could not be read: it is repeated page by page.
    pub again: bool,
}

/// Stripes over a mapping that keeps pages on their chips.
pub(crate) struct Striped<F: Flash> {
    pub below: Below<dyn Versioned<F>>,
    pub layout: StripeLayout,
    pub scheme: &'static Scheme,
    pub settings: Settings,
    pub code: Code,
    pub cache: Cache,
    pub jobs: Jobs,
    pub chips: Chips,
    pub counters: Counters,
    /// Pages of which nothing is left, and stripes that a power cut tore.
    pub gone: Gone,
    pub torn: Torn,
    /// Who waits for an entry of the cache, and what is in the way of collection.
    pub waiting: Waiting,
    way: Way,
    pub ops: Ops<Wanted>,
    pub arounds: Arounds,
    /// Flushes that the mapping is at, with the dies lost or replaced when it began.
    pub flushes: Slots<(u32, PageOp)>,
    /// An old version was dropped: there may be room now.
    pub freed: bool,
    pub idle: bool,
    pub wait: Option<u32>,
    pub page_bytes: u32,
    pub full_mask: u64,
}

impl<F: Flash> Striped<F> {
    pub fn new(
        scheme: &'static Scheme,
        layout: StripeLayout,
        settings: Settings,
        chips: Chips,
        geometry: &units::Geometry,
        below: Box<dyn Versioned<F>>,
    ) -> Self {
        let cost = |newer| {
            let (old, others) = scheme.commit_reads(layout.data, newer);
            old.min(others)
        };
        let limits = [if scheme.delays() { settings.entries } else { 0 }, settings.in_flight];
        Self {
            below: Below::new(below),
            layout,
            scheme,
            code: Code::new(layout.data, layout.parity),
            cache: Cache::new(layout.stripes(), limits, choice::build(settings.victim), layout.data, cost),
            settings,
            jobs: Jobs::new(layout.data, layout.parity, layout.stripes()),
            chips,
            counters: Counters::default(),
            gone: Gone::default(),
            torn: Torn::default(),
            waiting: Waiting::default(),
            way: Way::default(),
            ops: Ops::default(),
            arounds: Arounds::default(),
            flushes: Slots::default(),
            freed: false,
            idle: false,
            wait: None,
            page_bytes: geometry.page_bytes,
            full_mask: geometry.full_mask(),
        }
    }

    /// Pages of an operation are done.
    pub fn pages_done(&mut self, number: u32, pages: u32, failed: bool, outbox: &mut Outbox) {
        let op = self.ops.at(number);
        if op.about.again && op.left() == pages {
            self.read_again(number);
        } else {
            self.ops.part_done(number, pages, failed, self.wait, outbox);
        }
    }

    /// Does what can be done now.
    pub fn settle(&mut self, flash: &mut F, outbox: &mut Outbox) {
        loop {
            while let Some(job) = self.jobs.next_ready() {
                self.advance(flash, job, outbox);
            }
            self.log_trims(flash);
            self.below.take_wanted(&mut self.way.asked);
            self.commit_wanted();
            let room = self.below.pass_on(outbox) | std::mem::take(&mut self.freed);
            // What is moved may have been the last of a block that was erased at once.
            let moved = self.move_from_the_way(flash);
            if room || moved {
                while let Some(job) = self.below.room.next_stalled() {
                    self.jobs.resume(job);
                }
                self.jobs.trims.is_full = false;
                self.below.room.announce(outbox);
            }
            if !self.jobs.any_ready()
                && !self.below.has_spoken()
                && self.way.asked.is_empty()
                && !moved
                && !self.jobs.trims.may_go_on()
            {
                break;
            }
        }
        if !self.jobs.flushes.is_empty() {
            self.pass_flushes(flash, outbox);
        }
    }

    /// Commits the stripes whose old versions are in the way of an erase.
    fn commit_wanted(&mut self) {
        let mut asked = std::mem::take(&mut self.way.asked);
        for page in asked.drain(..) {
            let stripe = page / self.layout.chips();
            self.way.enter(stripe, page);
            if !self.jobs.is_idle(stripe) {
                let mut waiting = self.below.room.stalled().chain(&self.jobs.trims.waiting);
                let waits = waiting.any(|job| self.jobs.at(*job).stripe == stripe);
                if waits {
                    self.way.move_if_there(stripe);
                }
            } else if self.cache.find(stripe).is_some() {
                self.jobs.enqueue(Job::new(Kind::Commit(Reason::Collection), stripe, 0));
            } else {
                self.way.clear(stripe);
            }
        }
        self.way.asked = asked;
    }

    /// Collection must not wait for a stripe that waits for room, which only collection makes: old versions of its
    /// pages are moved. Whether there were any.
    fn move_from_the_way(&mut self, flash: &mut F) -> bool {
        let mut moved = false;
        while let Some(pages) = self.way.next_to_be_moved() {
            for page in pages {
                self.below.move_old(flash, page);
                moved = true;
            }
        }
        moved
    }

    /// The mapping has no room for a page of this job.
    pub fn stall(&mut self, job: u32) {
        self.waits_for_room(job);
        self.jobs.stall(job);
        self.below.room.stall(job);
        self.jobs.give_way(job);
    }

    /// A job waits for room.
    pub fn waits_for_room(&mut self, job: u32) {
        self.way.move_if_there(self.jobs.at(job).stripe);
    }

    /// Sees to it that a job has an entry. `false`: it waits for one.
    pub fn acquire(&mut self, flash: &mut F, job: u32) -> bool {
        let Job { stripe, pages, .. } = *self.jobs.at(job);
        let found = self.cache.find(stripe);
        if let Some(entry) = found {
            self.jobs.at_mut(job).entry = entry;
            return true;
        }
        let transient = !self.scheme.delays() || pages == self.layout.all();
        // Room for old versions is set aside for so many stripes, and those that a power cut tore are among them.
        if !self.torn.is_quiet() || !self.cache.has_room(transient) {
            // Whoever was woken for a place that somebody else took waits again.
            self.jobs.at_mut(job).stalled = true;
            self.waiting.push(job, transient);
            self.replace(flash);
            return false;
        }
        let parity = [0, 1].map(|row| if row < self.layout.parity { self.take_page(flash) } else { PayloadId::NONE });
        let entry = self.cache.insert(stripe, transient, parity);
        self.cache.at_mut(entry).covered = self.below.sequence();
        self.jobs.at_mut(job).entry = entry;
        true
    }

    /// Begins as many commits as there are jobs waiting for a place, as far as there are stripes to commit.
    pub fn replace(&mut self, flash: &F) {
        let mut missing = self.waiting.missing();
        while missing > 0 {
            let Some((victim, after)) = self.cache.victim(|stripe| self.jobs.is_idle(stripe)) else { return };
            self.waiting.begin_commit();
            self.jobs.enqueue(Job::new(Kind::Commit(Reason::Replacement), victim, 0));
            if let Some(after) = after {
                self.look_ahead(flash, after);
            }
            missing -= 1;
        }
    }

    /// A job is done: the next in line begins, and whoever waited for what it had.
    pub fn end(&mut self, flash: &mut F, number: u32) {
        self.release_cells(flash, number);
        let job = self.jobs.leave(number);
        if job.kind == Kind::Commit(Reason::Replacement) {
            self.waiting.end_commit();
        }
        let left = job.next == NONE;
        if !self.way.is_free() {
            self.commit_if_wanted(job.stripe, left);
        }
        if let Some(waiting) = self.waiting.first() {
            let transient = !self.scheme.delays() || self.jobs.at(waiting).pages == self.layout.all();
            if self.torn.is_quiet() && self.cache.has_room(transient) {
                self.waiting.leave(transient);
                self.jobs.at_mut(waiting).stalled = false;
                self.jobs.wake(waiting);
            } else {
                self.replace(flash);
            }
        }
        match job.kind {
            Kind::Commit(Reason::Idle) => _ = self.commit_when_idle(),
            Kind::Commit(Reason::Repair) => self.end_repair(),
            Kind::Rebuild => self.rebuild_next(flash),
            _ => {}
        }
    }

    /// One stripe less is torn. After the last one, whoever waited for that looks for an entry again.
    fn end_repair(&mut self) {
        self.torn.end_one();
        if self.torn.is_quiet() {
            for job in self.waiting.leave_all() {
                self.jobs.at_mut(job).stalled = false;
                self.jobs.wake(job);
            }
        }
    }

    /// A stripe has one job less, and nothing else to do if `left`: perhaps it is in the way of collection.
    fn commit_if_wanted(&mut self, stripe: u32, left: bool) {
        if self.cache.find(stripe).is_none() {
            self.way.clear(stripe);
        } else if left && self.way.has(stripe) {
            self.jobs.enqueue(Job::new(Kind::Commit(Reason::Collection), stripe, 0));
        }
    }

    /// While the host has nothing to do, delayed parities of a scheme that waits for that are written.
    pub fn commit_when_idle(&mut self) -> bool {
        if !self.idle || self.scheme.delay != crate::scheme::Delay::Idle {
            return false;
        }
        let Some((stripe, _)) = self.cache.victim(|stripe| self.jobs.is_idle(stripe)) else { return false };
        self.jobs.enqueue(Job::new(Kind::Commit(Reason::Idle), stripe, 0));
        true
    }

    /// A page of memory, if contents are on.
    pub fn take_page(&self, flash: &mut F) -> PayloadId {
        let mask = self.full_mask;
        flash.core_mut().contents.as_deref_mut().map_or(PayloadId::NONE, |contents| {
            let payload = contents.take_payload(1);
            contents.set_payload_mask(payload, mask);
            contents.payload_mut(payload).fill(0);
            payload
        })
    }

    /// Reads a page for a job. What it is for is told by `cell`.
    pub fn read(&mut self, flash: &mut F, number: u32, cell: Cell, cause: Cause) {
        let stripe = self.jobs.at(number).stripe;
        let (first, kept, kind, index) = match cell {
            Cell::Newest(index) => (self.layout.data_page(stripe, index), false, Asked::Newest, index),
            Cell::Old(index) => (self.layout.data_page(stripe, index), true, Asked::Old, index),
            Cell::Parity(row) => (self.layout.parity_page(stripe, row), true, Asked::Parity, row),
            Cell::Fresh(_) | Cell::Whole(_) => unreachable!("these are written, not read"),
        };
        if self.jobs.at(number).phase == Phase::Commit {
            let is_on_flash = self.is_on_flash(first, kept);
            self.jobs.at_mut(number).commit_reads += u32::from(is_on_flash);
        }
        let payload = self.take_page(flash);
        self.jobs.set_cell(number, cell, payload);
        let token = Tag::token(kind, number, index);
        let op = PageOp { op: HostOp::Read, kept, ..self.page_op(first, payload, cause, token) };
        match self.below.submit(flash, &op) {
            Answer::Done { failed } => self.jobs.read_ended(number, kind, index, failed),
            Answer::Pending(_) => self.jobs.at_mut(number).outstanding += 1,
            Answer::Full { .. } => unreachable!("reads always find room"),
        }
    }

    /// A page of its own for the mapping.
    pub fn page_op(&self, first: u32, payload: PayloadId, cause: Cause, token: Token) -> PageOp {
        PageOp { payload, cause, owner: STRIPE_OWNER, token, ..PageOp::on_page(HostOp::Write, first, self.full_mask) }
    }

    /// Something the mapping was asked for is done.
    pub fn on_joined(&mut self, flash: &mut F, done: Token, failed: bool, wait: Option<u32>, outbox: &mut Outbox) {
        self.wait = wait;
        let Tag { kind, number, index } = Tag::of(done);
        match kind {
            Asked::Read => self.read_done(number, failed, outbox),
            Asked::Around => self.around_arrived(flash, number, index, failed, outbox),
            Asked::Flush => self.flushed(number, failed, outbox),
            Asked::Log => self.trims_logged(),
            Asked::Newest | Asked::Old | Asked::Parity | Asked::Data | Asked::Fresh => {
                self.jobs.at_mut(number).outstanding -= 1;
                match kind {
                    Asked::Data => self.data_written(flash, number, index),
                    Asked::Fresh => {}
                    _ => self.jobs.read_ended(number, kind, index, failed),
                }
                if self.jobs.at(number).outstanding == 0 {
                    self.jobs.wake(number);
                    self.jobs.give_way(number);
                }
            }
        }
        self.settle(flash, outbox);
        self.wait = None;
    }

    /// Takes a job as far as it gets.
    fn advance(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        let Job { stripe, phase, .. } = *self.jobs.at(number);
        if self.jobs.first_in_line(stripe) != number {
            return; // a read went first while it waited for room
        }
        let wait = self.wait;
        if phase == Phase::Start {
            self.wait = None; // what ends as it begins has had no command that waited
        }
        self.run(flash, number, outbox);
        self.wait = wait;
    }

    fn run(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        while self.jobs.at(number).outstanding == 0 {
            let phase = self.jobs.at(number).phase;
            let goes_on = match phase {
                Phase::Gathering => false,
                Phase::Start => self.start(flash, number, outbox),
                Phase::Before => self.before(flash, number),
                Phase::Data => self.write_data(flash, number),
                Phase::Trims => self.write_trims(flash, number),
                Phase::Written => self.written(flash, number),
                Phase::Commit => self.commit(flash, number),
                Phase::Log => self.log_before_parity(number),
                Phase::Parity => self.write_parity(flash, number),
                Phase::Fetch => self.fetch(flash, number),
                Phase::Heal => self.heal(flash, number),
                Phase::Restore => self.restore(flash, number),
                Phase::Refill => self.refill(flash, number),
                Phase::End => {
                    self.finish(flash, number, outbox);
                    return;
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// The parts of a job are done, and so is the job.
    fn finish(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        let Job { kind, pages, failed, .. } = *self.jobs.at(number);
        if matches!(kind, Kind::Write | Kind::Read) {
            for index in members(pages) {
                let op = self.jobs.part(number, index).op;
                self.pages_done(op, 1, failed, outbox);
            }
        }
        self.end(flash, number);
    }
}
