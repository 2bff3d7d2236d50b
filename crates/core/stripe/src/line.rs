//! The line of each stripe: which job a page of a write goes to, and whose turn it is.

use crate::jobs::{Job, Jobs, Kind, NONE, Phase};
use units::Lpn;

impl Jobs {
    /// The job that takes a page: the one being gathered, the last in line if it has not begun, or a new one.
    pub fn job_for(&mut self, stripe: u32, at: u32) -> u32 {
        let takes = |job: &Job| job.stripe == stripe && job.pages >> at & 1 == 0;
        if self.gathering != NONE {
            if takes(self.at(self.gathering)) {
                return self.gathering;
            }
            self.close_group();
        }
        let last = self.last_in_line(stripe);
        if last != NONE && last != self.heads[stripe as usize] {
            let job = self.at(last);
            // One that a read went before has begun, or was counted among those that wait for an entry.
            if job.kind == Kind::Write && job.phase == Phase::Start && !job.stalled && takes(job) {
                return last;
            }
        }
        let job = self.begin(Job { phase: Phase::Gathering, ..Job::new(Kind::Write, stripe, 0) });
        self.join_line(job, last);
        self.gathering = job;
        job
    }

    fn last_in_line(&self, stripe: u32) -> u32 {
        let mut last = self.heads[stripe as usize];
        while last != NONE && self.at(last).next != NONE {
            last = self.at(last).next;
        }
        last
    }

    fn join_line(&mut self, job: u32, last: u32) {
        if last == NONE {
            let stripe = self.at(job).stripe;
            self.heads[stripe as usize] = job;
        } else {
            self.at_mut(last).next = job;
        }
    }

    /// The group being gathered is complete.
    pub fn close_group(&mut self) {
        let job = std::mem::replace(&mut self.gathering, NONE);
        if job == NONE {
            return;
        }
        self.at_mut(job).phase = Phase::Start;
        if self.heads[self.at(job).stripe as usize] == job {
            self.wake(job);
        }
    }

    /// Puts a job into the line of its stripe.
    pub fn enqueue(&mut self, job: Job) -> u32 {
        let stripe = job.stripe;
        let last = self.last_in_line(stripe);
        let number = self.begin(job);
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
        let first = self.heads[stripe as usize];
        let mut before = if first == NONE || self.lets_reads_pass(first) { NONE } else { first };
        let mut next = if before == NONE { first } else { self.at(before).next };
        while next != NONE && self.at(next).kind == Kind::Read {
            (before, next) = (next, self.at(next).next);
        }
        let number = self.begin(Job { next, ..job });
        if before == NONE {
            self.heads[stripe as usize] = number;
            self.wake(number);
            if first != NONE {
                self.stalled.look_at_all();
            }
        } else {
            self.at_mut(before).next = number;
        }
        number
    }

    /// Whether a job whose turn it is has not begun, or waits for room and for nothing else: what is in memory and on
    /// flash agrees.
    fn lets_reads_pass(&self, number: u32) -> bool {
        let Job { phase, outstanding, stalled, .. } = *self.at(number);
        let waits_for_log = || self.trims.is_full && outstanding == 1 && self.trims.waiting.contains(&number);
        matches!(phase, Phase::Gathering | Phase::Start) || stalled && outstanding == 0 || waits_for_log()
    }

    /// Reads behind a job that waits for room go first: nobody may wait for room to read.
    #[inline]
    pub fn give_way(&mut self, number: u32) {
        if self.at(number).next != NONE {
            self.let_reads_pass(number);
        }
    }

    fn let_reads_pass(&mut self, number: u32) {
        let Job { stripe, next: first, .. } = *self.at(number);
        if self.heads[stripe as usize] != number || !self.lets_reads_pass(number) {
            return;
        }
        let (mut last, mut next) = (NONE, first);
        while next != NONE && self.at(next).kind == Kind::Read {
            (last, next) = (next, self.at(next).next);
        }
        if last != NONE {
            self.at_mut(number).next = next;
            self.at_mut(last).next = number;
            self.heads[stripe as usize] = first;
            self.wake(first);
            self.stalled.look_at_all();
        }
    }

    /// A job can go on. One that waits for room does so when there is some.
    pub fn wake(&mut self, job: u32) {
        if !std::mem::replace(&mut self.at_mut(job).queued, true) {
            self.ready.push_back(job);
        }
    }

    /// The jobs of a stripe in the order of their turns.
    pub fn in_line(&self, stripe: u32) -> impl Iterator<Item = u32> + use<'_> {
        let next = |job: u32| (job != NONE).then_some(job);
        std::iter::successors(next(self.first_in_line(stripe)), move |job| next(self.at(*job).next))
    }

    /// The job whose turn it is in a stripe.
    pub fn first_in_line(&self, stripe: u32) -> u32 {
        self.heads[stripe as usize]
    }

    /// Nothing is to be done for a stripe.
    #[inline]
    pub fn is_idle(&self, stripe: u32) -> bool {
        self.heads[stripe as usize] == NONE
    }

    /// Whether there are jobs that will write this page, as [`Jobs::awaiting`] finds them.
    pub fn is_awaited(&self, stripe: u32, at: u32, is_lost: bool) -> bool {
        self.awaiting(stripe, at, is_lost).next().is_some()
    }

    /// Jobs in the line of a stripe that will write this page, in order. On a lost chip (`is_lost`) they write it until
    /// they end: before that, no parity may be sure to know of it.
    pub fn awaiting(&self, stripe: u32, at: u32, is_lost: bool) -> impl Iterator<Item = u32> + use<'_> {
        self.in_line(stripe).filter(move |job| {
            let Job { kind, phase, pages, issued, .. } = *self.at(*job);
            let given = match phase {
                _ if is_lost => 0,
                Phase::Gathering | Phase::Start | Phase::Before => 0,
                Phase::Data | Phase::Trims => issued,
                _ => pages,
            };
            kind == Kind::Write && (pages & !given) >> at & 1 == 1
        })
    }

    /// The next job that can go on.
    pub fn next_ready(&mut self) -> Option<u32> {
        let number = self.ready.pop_front()?;
        self.at_mut(number).queued = false;
        Some(number)
    }

    /// A job can go on.
    pub fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Jobs that can go on.
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// A job waits until there is room, for this page or for its trims. Reads behind it go first.
    pub fn stall(&mut self, number: u32, page: Option<Lpn>, chip: Option<u32>) {
        let job = self.at_mut(number);
        (job.refused, job.queued, job.stalled) = (page, true, true);
        let Job { next, outstanding, .. } = *job;
        if next != NONE {
            self.let_reads_pass(number);
        }
        let waits_for_chip = outstanding == 0 && self.first_in_line(self.at(number).stripe) == number;
        self.stalled.push(number, chip.filter(|_| waits_for_chip));
    }

    /// A job is done, and the next of its line begins, if there is one.
    pub fn leave(&mut self, number: u32) -> Job {
        let job = self.end(number);
        debug_assert!(self.heads[job.stripe as usize] == number, "job {number} leaves before its turn");
        self.heads[job.stripe as usize] = job.next;
        if job.next != NONE && self.at(job.next).phase != Phase::Gathering && !self.at(job.next).stalled {
            self.wake(job.next);
        }
        job
    }

    /// Brings the line of a stripe into the processor's cache.
    #[inline]
    pub fn prefetch(&self, stripe: u32) {
        units::prefetch(&self.heads, stripe as usize);
    }

    /// Checks its law.
    ///
    /// # Errors
    /// A job does not stand in the line of its stripe.
    pub fn check(&self) -> Result<(), String> {
        match self.all.iter().find(|(number, job)| !self.in_line(job.stripe).any(|other| other == *number)) {
            Some((number, job)) => Err(format!("job {number} does not stand in the line of stripe {}", job.stripe)),
            None => Ok(()),
        }
    }
}
