//! The line of each stripe: which job a page of a write goes to, and whose turn it is.

use crate::jobs::{Job, Kind, NONE, Phase};
use crate::striped::{Striped, Wanted};
use layer::{Answer, Outbox, PageOp};
use nand::{Flash, PayloadId};
use units::HostOp;

impl<F: Flash> Striped<F> {
    pub fn submit_write(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let number = self.ops.begin(op, op.pages, Wanted { op: *op, again: false });
        for index in 0..op.pages {
            let (stripe, at) = self.layout.place(op.first + index);
            let job = self.job_for(stripe, at);
            let trim = op.op == HostOp::Trim;
            let entry = self.jobs.at_mut(job);
            entry.pages |= 1 << at;
            entry.trims |= u64::from(trim) << at;
            let part = self.jobs.part_mut(job, at);
            (part.op, part.payload) = (number, op.payload.offset(index));
            part.mask = op.mask_at(index, self.full_mask);
            part.whole = PayloadId::NONE;
        }
        if !op.more {
            self.close_group();
        }
        self.settle(flash, outbox);
        self.ops.answer(number)
    }

    /// The job that takes a page: the one being gathered, the last in line if it has not begun, or a new one.
    fn job_for(&mut self, stripe: u32, at: u32) -> u32 {
        let takes = |job: &Job| job.stripe == stripe && job.pages >> at & 1 == 0;
        if self.gathering != NONE {
            if takes(self.jobs.at(self.gathering)) {
                return self.gathering;
            }
            self.close_group();
        }
        let last = self.last_in_line(stripe);
        if last != NONE && last != self.line[stripe as usize] {
            let job = self.jobs.at(last);
            // One that a read went before has begun, or was counted among those that wait for an entry.
            if job.kind == Kind::Write && job.phase == Phase::Start && !job.stalled && takes(job) {
                return last;
            }
        }
        let job = self.jobs.begin(Job { phase: Phase::Gathering, ..Job::new(Kind::Write, stripe, 0) });
        self.join_line(job, last);
        self.gathering = job;
        job
    }

    fn last_in_line(&self, stripe: u32) -> u32 {
        let mut last = self.line[stripe as usize];
        while last != NONE && self.jobs.at(last).next != NONE {
            last = self.jobs.at(last).next;
        }
        last
    }

    fn join_line(&mut self, job: u32, last: u32) {
        if last == NONE {
            self.line[self.jobs.at(job).stripe as usize] = job;
        } else {
            self.jobs.at_mut(last).next = job;
        }
    }

    /// The group being gathered is complete.
    pub fn close_group(&mut self) {
        let job = std::mem::replace(&mut self.gathering, NONE);
        if job == NONE {
            return;
        }
        self.jobs.at_mut(job).phase = Phase::Start;
        if self.line[self.jobs.at(job).stripe as usize] == job {
            self.wake(job);
        }
    }

    /// Puts a job into the line of its stripe.
    pub fn enqueue(&mut self, job: Job) -> u32 {
        let stripe = job.stripe;
        let last = self.last_in_line(stripe);
        let number = self.jobs.begin(job);
        self.join_line(number, last);
        if last == NONE {
            self.wake(number);
        }
        number
    }

    /// Puts a job that reads into the line of its stripe: before writes, which it has been answered from, and before
    /// what waits for room.
    pub fn enqueue_read(&mut self, job: Job) -> u32 {
        let stripe = job.stripe;
        let first = self.line[stripe as usize];
        let mut before = if first == NONE || self.lets_reads_pass(first) { NONE } else { first };
        let mut next = if before == NONE { first } else { self.jobs.at(before).next };
        while next != NONE && self.jobs.at(next).kind == Kind::Read {
            (before, next) = (next, self.jobs.at(next).next);
        }
        let number = self.jobs.begin(Job { next, ..job });
        if before == NONE {
            self.line[stripe as usize] = number;
            self.wake(number);
        } else {
            self.jobs.at_mut(before).next = number;
        }
        number
    }

    /// Whether a job whose turn it is has not begun, or waits for room and for nothing else: what is in memory and on
    /// flash agrees.
    fn lets_reads_pass(&self, number: u32) -> bool {
        let Job { phase, outstanding, stalled, .. } = *self.jobs.at(number);
        let waits_for_log = || self.trims.is_full && outstanding == 1 && self.trims.waiting.contains(&number);
        matches!(phase, Phase::Gathering | Phase::Start) || stalled && outstanding == 0 || waits_for_log()
    }

    /// Reads behind a job that waits for room go first: nobody may wait for room to read.
    pub fn give_way(&mut self, number: u32) {
        let Job { stripe, next: first, .. } = *self.jobs.at(number);
        if first == NONE || self.line[stripe as usize] != number || !self.lets_reads_pass(number) {
            return;
        }
        let (mut last, mut next) = (NONE, first);
        while next != NONE && self.jobs.at(next).kind == Kind::Read {
            (last, next) = (next, self.jobs.at(next).next);
        }
        if last != NONE {
            self.jobs.at_mut(number).next = next;
            self.jobs.at_mut(last).next = number;
            self.line[stripe as usize] = first;
            self.wake(first);
        }
    }

    /// The jobs of a stripe in the order of their turns.
    pub fn in_line(&self, stripe: u32) -> impl Iterator<Item = u32> + use<'_, F> {
        let next = |job: u32| (job != NONE).then_some(job);
        std::iter::successors(next(self.first_in_line(stripe)), move |job| next(self.jobs.at(*job).next))
    }

    /// The job whose turn it is in a stripe.
    pub fn first_in_line(&self, stripe: u32) -> u32 {
        self.line[stripe as usize]
    }

    /// Nothing is to be done for a stripe.
    #[inline]
    pub fn is_idle(&self, stripe: u32) -> bool {
        self.line[stripe as usize] == NONE
    }
}
