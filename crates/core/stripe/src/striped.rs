//! The layer: operations are split by stripe, and each stripe does one job at a time.
//!
//! ```text
//! Striped   operations of the layer above, flushes, reads around busy chips, who waits for an entry
//!   Work    what a job does in each of its phases           jobs   whose turn it is in each stripe, who waits for room
//!     Array   what there is of each stripe                  way    old versions that collection waits for
//! ```
//!
//! Faithful to: the chip of every page is fixed by its number; a parity is written after the data it covers, so
//! that its sequence number tells what it covers; memory and maps change when a program completes.
//! Simplified: data and parity of a full stripe are programmed one after the other; computing parity takes
//! no time; where there is no room for all copies of a trim's tombstone and nothing will make some, the others follow
//! later.
//! Protects: at every moment each data page can be computed from others as far as the scheme promises; old
//! versions are kept exactly for the pages newer than their parity.
//!
//! ```text
//! write   Start - Before (reads) - Data - Written - Commit (reads) - Parity - End
//! commit  Start -                                   Commit (reads) - Parity - End
//! read    Start - Fetch - Heal - End                rebuild: a commit if need be - Restore - Refill - End
//! ```

use crate::around::{AroundCounters, Arounds};
use crate::array::Array;
use crate::jobs::{Cell, Job, Jobs, Kind, NONE, Phase, Reason};
use crate::layout::StripeLayout;
use crate::token::{Asked, Tag};
use crate::waiting::Waiting;
use crate::way::Way;
use crate::work::Work;
use layer::{Answer, Ops, Outbox, PageOp, STRIPE_OWNER, Slots};
use nand::{Flash, PayloadId, Token};
use units::{Cause, HostOp, Lpn, members};

/// Counters for the result.
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

/// An operation of the layer above, and its state. Its parts are pages, or runs of pages that are read together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub op: PageOp,
    /// Some page of a read could not be read: it is repeated page by page.
    pub again: bool,
}

/// Stripes over a mapping that keeps pages on their chips.
pub(crate) struct Striped<F: Flash> {
    pub work: Work<F>,
    pub ops: Ops<Wanted>,
    /// Jobs that wait for an entry of the cache.
    pub waiting: Waiting,
    pub arounds: Arounds,
    /// Flushes that the mapping is at, with the dies lost or replaced when it began.
    pub flushes: Slots<(u32, PageOp)>,
    /// The host has nothing to do.
    pub idle: bool,
    /// The record of waiting times of the event being handled.
    pub wait: Option<u32>,
}

impl<F: Flash> Striped<F> {
    pub fn new(array: Array<F>) -> Self {
        let StripeLayout { data, parity, .. } = array.layout;
        let jobs = Jobs::new(data, parity, array.layout.stripes());
        Self {
            work: Work { array, jobs, way: Way::default() },
            ops: Ops::default(),
            waiting: Waiting::default(),
            arounds: Arounds::default(),
            flushes: Slots::default(),
            idle: false,
            wait: None,
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

    /// Does what can be done now: mostly nothing, since most commands that end are copies and not the last of a job.
    #[inline]
    pub fn settle(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.work.array.below.take_wanted(&mut self.work.way.asked);
        let Work { array, jobs, way } = &self.work;
        let is_settled = !jobs.any_ready()
            && !array.freed
            && !array.below.has_spoken()
            && !way.is_waiting()
            && !jobs.trims.may_go_on()
            && jobs.flushes.is_empty();
        if !is_settled {
            self.settle_all(flash, outbox);
        }
    }

    fn settle_all(&mut self, flash: &mut F, outbox: &mut Outbox) {
        let mut again = 0;
        loop {
            self.run_jobs(flash, again, outbox);
            again = 0;
            self.log_trims(flash);
            self.work.array.below.take_wanted(&mut self.work.way.asked);
            self.commit_wanted();
            let room = self.work.array.below.pass_on(outbox) | std::mem::take(&mut self.work.array.freed);
            // What is moved may have been the last of a block that was erased at once.
            let moved = self.move_from_the_way(flash);
            if room || moved {
                again = self.work.jobs.stalled.len();
                self.work.jobs.trims.is_full = false;
                self.work.array.below.room.announce(outbox);
            }
            if again == 0
                && !self.work.jobs.any_ready()
                && !self.work.array.below.has_spoken()
                && self.work.way.asked.is_empty()
                && !moved
                && !self.work.jobs.trims.may_go_on()
            {
                break;
            }
        }
        if !self.work.jobs.flushes.is_empty() {
            self.pass_flushes(flash, outbox);
        }
    }

    /// Takes up the jobs that can go on: the ones that are ready, then the first `again` of the jobs that wait for
    /// room, and then all that have become ready meanwhile.
    fn run_jobs(&mut self, flash: &mut F, mut again: usize, outbox: &mut Outbox) {
        for _ in 0..self.work.jobs.ready_count() {
            let Some(job) = self.work.jobs.next_ready() else { break };
            self.advance(flash, job, outbox);
        }
        self.work.jobs.stalled.forget_full();
        while let Some(job) = self.work.jobs.stalled.next(&mut again) {
            if !self.work.still_stalls(flash, job) {
                let entry = self.work.jobs.at_mut(job);
                (entry.refused, entry.queued, entry.stalled) = (None, false, false);
                self.advance(flash, job, outbox);
                self.work.jobs.stalled.forget_full();
            }
        }
        while let Some(job) = self.work.jobs.next_ready() {
            self.advance(flash, job, outbox);
        }
    }

    /// Commits the stripes whose old versions are in the way of an erase.
    fn commit_wanted(&mut self) {
        let Work { array, jobs, way } = &mut self.work;
        let mut asked = std::mem::take(&mut way.asked);
        for page in asked.drain(..) {
            let stripe = array.layout.stripe_of(page);
            way.enter(stripe, page);
            if !jobs.is_idle(stripe) {
                let mut waiting = jobs.stalled.jobs().chain(&jobs.trims.waiting);
                if waiting.any(|job| jobs.at(*job).stripe == stripe) {
                    way.move_if_there(stripe);
                }
            } else if array.cache.find(stripe).is_some() {
                jobs.enqueue(Job::new(Kind::Commit(Reason::Collection), stripe, 0));
            } else {
                way.clear(stripe);
            }
        }
        way.asked = asked; // its memory
    }

    /// Collection must not wait for a stripe that waits for room, which only collection makes: old versions of its
    /// pages are moved. Whether there were any.
    fn move_from_the_way(&mut self, flash: &mut F) -> bool {
        let Work { array, way, .. } = &mut self.work;
        let mut moved = false;
        while let Some(pages) = way.next_to_be_moved() {
            for page in pages {
                array.below.move_old(flash, page);
                moved = true;
            }
        }
        moved
    }

    /// Sees to it that a job has an entry. `false`: it waits for one.
    pub fn acquire(&mut self, flash: &mut F, job: u32) -> bool {
        let Work { array, jobs, .. } = &mut self.work;
        let Job { stripe, pages, .. } = *jobs.at(job);
        if let Some(entry) = array.cache.find(stripe) {
            jobs.at_mut(job).entry = entry;
            return true;
        }
        let transient = array.is_transient(pages);
        // Room for old versions is set aside for so many stripes, and those that a power cut tore are among them.
        if !array.torn.is_quiet() || !array.cache.has_room(transient) {
            // Whoever was woken for a place that somebody else took waits again.
            jobs.at_mut(job).stalled = true;
            self.waiting.push(job, transient);
            self.replace(flash);
            return false;
        }
        let rows = array.layout.parity;
        let parity = [0, 1].map(|row| if row < rows { array.take_page(flash) } else { PayloadId::NONE });
        let entry = array.cache.insert(stripe, transient, parity);
        array.cache.at_mut(entry).covered = array.below.sequence();
        jobs.at_mut(job).entry = entry;
        true
    }

    /// Begins as many commits as there are jobs waiting for a place, as far as there are stripes to commit.
    pub fn replace(&mut self, flash: &F) {
        let mut missing = self.waiting.missing();
        while missing > 0 {
            let Some((victim, after)) = self.work.array.cache.take_victim(|stripe| self.work.jobs.is_idle(stripe))
            else {
                return;
            };
            self.waiting.begin_commit();
            self.work.jobs.enqueue(Job::new(Kind::Commit(Reason::Replacement), victim, 0));
            self.look_ahead(flash, after);
            missing -= 1;
        }
    }

    /// A job is done: the next in line begins, and so does a job that waited for its entry.
    pub fn end(&mut self, flash: &mut F, number: u32) {
        self.work.release_cells(flash, number);
        let job = self.work.jobs.leave(number);
        if job.kind == Kind::Commit(Reason::Replacement) {
            self.waiting.end_commit();
        }
        // Otherwise a job behind it, such as the repair of a torn stripe, is what its old versions wait for.
        if job.next == NONE && !self.work.way.is_free() {
            self.commit_if_wanted(job.stripe);
        }
        if let Some(waiting) = self.waiting.first() {
            let transient = self.work.array.is_transient(self.work.jobs.at(waiting).pages);
            if self.work.array.torn.is_quiet() && self.work.array.cache.has_room(transient) {
                self.waiting.leave(transient);
                self.work.jobs.at_mut(waiting).stalled = false;
                self.work.jobs.wake(waiting);
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
        self.work.array.torn.end_one();
        if self.work.array.torn.is_quiet() {
            for job in self.waiting.leave_all() {
                self.work.jobs.at_mut(job).stalled = false;
                self.work.jobs.wake(job);
            }
        }
    }

    /// A stripe has nothing more to do: perhaps it is in the way of collection.
    fn commit_if_wanted(&mut self, stripe: u32) {
        if self.work.array.cache.find(stripe).is_none() {
            self.work.way.clear(stripe);
        } else if self.work.way.has(stripe) {
            self.work.jobs.enqueue(Job::new(Kind::Commit(Reason::Collection), stripe, 0));
        }
    }

    /// While the host has nothing to do, delayed parities of a scheme that waits for that are written.
    pub fn commit_when_idle(&mut self) -> bool {
        if !self.idle || self.work.array.scheme.delay != crate::scheme::Delay::Idle {
            return false;
        }
        let Some((stripe, _)) = self.work.array.cache.take_victim(|stripe| self.work.jobs.is_idle(stripe)) else {
            return false;
        };
        self.work.jobs.enqueue(Job::new(Kind::Commit(Reason::Idle), stripe, 0));
        true
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
                self.work.jobs.at_mut(number).outstanding -= 1;
                match kind {
                    Asked::Data => self.work.data_written(flash, number, index),
                    Asked::Fresh => {}
                    _ => self.work.jobs.read_ended(number, kind, index, failed),
                }
                if self.work.jobs.at(number).outstanding == 0 {
                    self.work.jobs.wake(number);
                    self.work.jobs.give_way(number);
                }
            }
        }
        self.settle(flash, outbox);
        self.wait = None;
    }

    /// Takes a job as far as it gets.
    fn advance(&mut self, flash: &mut F, number: u32, outbox: &mut Outbox) {
        let Job { stripe, phase, .. } = *self.work.jobs.at(number);
        if self.work.jobs.first_in_line(stripe) != number {
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
        while self.work.jobs.at(number).outstanding == 0 {
            let phase = self.work.jobs.at(number).phase;
            let goes_on = match phase {
                Phase::Gathering => false,
                Phase::Start => self.start(flash, number, outbox),
                Phase::Before => self.work.before(flash, number),
                Phase::Data => self.work.write_data(flash, number),
                Phase::Trims => self.work.write_trims(flash, number),
                Phase::Written => self.work.written(flash, number),
                Phase::Commit => self.work.commit(flash, number),
                Phase::Log => self.work.log_before_parity(number),
                Phase::Parity => self.work.write_parity(flash, number),
                Phase::Fetch => self.work.fetch(flash, number),
                Phase::Heal => self.work.heal(flash, number),
                Phase::Restore => self.work.restore(flash, number),
                Phase::Refill => self.work.refill(flash, number),
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
        let Job { kind, pages, failed, .. } = *self.work.jobs.at(number);
        if matches!(kind, Kind::Write | Kind::Read) {
            for index in members(pages) {
                let op = self.work.jobs.part(number, index).op;
                self.pages_done(op, 1, failed, outbox);
            }
        }
        self.end(flash, number);
    }
}

impl<F: Flash> Work<F> {
    /// The mapping has no room for a page of this job, or for its trims.
    pub fn stall(&mut self, job: u32, page: Option<Lpn>) {
        self.jobs.stall(job, page, page.map(|page| self.array.layout.chip_of(page)));
        self.waits_for_room(job);
    }

    /// A job that is taken up again would be refused the same page. Nothing else happens to it then, so it waits on
    /// without being run: many jobs wait for each page that becomes free.
    fn still_stalls(&mut self, flash: &F, number: u32) -> bool {
        let Job { stripe, outstanding, refused, .. } = *self.jobs.at(number);
        let Some(page) = refused else { return false };
        let is_same = outstanding == 0 && self.jobs.first_in_line(stripe) == number && self.array.chips.all_there();
        let chip = self.array.layout.chip_of(page);
        if is_same && (self.jobs.stalled.is_full(chip) || self.array.below.still_refuses(flash, page)) {
            self.jobs.stalled.note_full(chip);
            self.stall(number, refused);
            return true;
        }
        false
    }

    /// A job waits for room.
    #[inline]
    pub fn waits_for_room(&mut self, job: u32) {
        self.way.move_if_there(self.jobs.at(job).stripe);
    }

    /// Reads a page for a job, which uses it as `cell` says.
    pub fn read(&mut self, flash: &mut F, number: u32, cell: Cell, cause: Cause) {
        let stripe = self.jobs.at(number).stripe;
        let (first, kept, kind, index) = match cell {
            Cell::Newest(index) => (self.array.layout.data_page(stripe, index), false, Asked::Newest, index),
            Cell::Old(index) => (self.array.layout.data_page(stripe, index), true, Asked::Old, index),
            Cell::Parity(row) => (self.array.layout.parity_page(stripe, row), true, Asked::Parity, row),
            Cell::Fresh(_) | Cell::Whole(_) => unreachable!("these are written, not read"),
        };
        if self.jobs.at(number).phase == Phase::Commit {
            let is_on_flash = self.array.is_on_flash(first, kept);
            self.jobs.at_mut(number).commit_reads += u32::from(is_on_flash);
        }
        let payload = self.array.take_page(flash);
        self.jobs.set_cell(number, cell, payload);
        let token = Tag::token(kind, number, index);
        let op = PageOp { op: HostOp::Read, kept, ..self.array.page_op(first, payload, cause, token) };
        match self.array.below.submit(flash, &op) {
            Answer::Done { failed } => self.jobs.read_ended(number, kind, index, failed),
            Answer::Pending(_) => self.jobs.at_mut(number).outstanding += 1,
            Answer::Full { .. } => unreachable!("reads always find room"),
        }
    }
}

impl<F: Flash> Array<F> {
    /// A page of memory, if contents are on.
    pub fn take_page(&self, flash: &mut F) -> PayloadId {
        let payloads = &mut flash.memory_mut().payloads;
        let page = payloads.take(1, self.full_mask);
        payloads.clear(page, self.full_mask);
        page
    }

    /// A page of its own for the mapping.
    pub fn page_op(&self, first: Lpn, payload: PayloadId, cause: Cause, token: Token) -> PageOp {
        PageOp { payload, cause, owner: STRIPE_OWNER, token, ..PageOp::on_page(HostOp::Write, first, self.full_mask) }
    }
}
