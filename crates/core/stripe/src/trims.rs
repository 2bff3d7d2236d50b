//! Trims: pages that hold nothing any more are part of a stripe as zeros.
//!
//! The mapping gathers trims in memory and writes them down together; trims that a parity relies on have to be written
//! down before it. Jobs that have to wait for that wait together, so that a trim of many stripes is a few pages of
//! tombstones and not some for each stripe.

use crate::array::Array;
use crate::jobs::{Job, Jobs, Kind, NONE, Phase, Reason};
use crate::scheme::Delay;
use crate::striped::Striped;
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::{Answer, PageOp};
use nand::{Flash, PayloadId};
use units::{Cause, HostOp, Lpn, members};

/// Jobs whose trims have to be on flash before they go on.
#[derive(Debug, Default)]
pub(crate) struct Trims {
    /// Nothing is being done for these yet.
    pub waiting: Vec<u32>,
    /// These wait for a flush; until it ends, others gather for the next one.
    group: Vec<u32>,
    /// Dies lost or replaced when their flush began.
    changes: u32,
    /// The mapping has no room for tombstones.
    pub is_full: bool,
}

impl Trims {
    /// There is something to be done.
    pub fn may_go_on(&self) -> bool {
        !self.waiting.is_empty() && self.group.is_empty() && !self.is_full
    }
}

impl Jobs {
    /// A job waits until its trims are on flash.
    fn wait_for_log(&mut self, number: u32) {
        self.at_mut(number).outstanding += 1;
        self.trims.waiting.push(number);
    }
}

impl<F: Flash> Striped<F> {
    /// Has the trims of all jobs that wait for it written down.
    pub fn log_trims(&mut self, flash: &mut F) {
        if !self.work.jobs.trims.may_go_on() {
            return;
        }
        let heard = Tag::token(Asked::Log, 0, 0);
        let flush = PageOp {
            op: HostOp::Flush,
            pages: 0,
            ..self.work.array.page_op(Lpn(0), PayloadId::NONE, Cause::Metadata, heard)
        };
        let answer = self.work.array.below.submit(flash, &flush);
        if matches!(answer, Answer::Full { .. }) {
            self.work.jobs.trims.is_full = true;
            for job in self.work.jobs.trims.waiting.clone() {
                self.work.waits_for_room(job);
                self.work.jobs.give_way(job);
            }
            return;
        }
        std::mem::swap(&mut self.work.jobs.trims.group, &mut self.work.jobs.trims.waiting);
        self.work.jobs.trims.changes = self.work.array.chips.changes;
        if matches!(answer, Answer::Done { .. }) {
            self.trims_logged();
        }
    }

    /// The trims of a group of jobs are on flash.
    pub fn trims_logged(&mut self) {
        let mut jobs = std::mem::take(&mut self.work.jobs.trims.group);
        if self.work.jobs.trims.changes != self.work.array.chips.changes {
            // Tombstones that were lost with a die are being written again.
            self.work.jobs.trims.waiting.append(&mut jobs);
            return;
        }
        for number in jobs.drain(..) {
            self.work.jobs.at_mut(number).outstanding -= 1;
            if self.work.jobs.at(number).outstanding == 0 {
                self.work.jobs.wake(number);
            }
        }
        self.work.jobs.trims.group = jobs;
    }
}

impl<F: Flash> Work<F> {
    /// Trims pages. `false`: no room, or the job waits until flash knows; not if memory does.
    pub fn write_trims(&mut self, flash: &mut F, number: u32) -> bool {
        let Job { stripe, trims, .. } = *self.jobs.at(number);
        let (lost, _) = self.array.lost_members(stripe);
        loop {
            let left = trims & !self.jobs.at(number).issued & !lost;
            if left == 0 {
                break;
            }
            let (run, op) = self.array.trim_run(stripe, left, Tag::token(Asked::Fresh, number, 0));
            let taken = match self.array.below.submit(flash, &op) {
                Answer::Full { taken, .. } => members(run).take(taken as usize).map(|index| 1 << index).sum(),
                Answer::Pending(_) => {
                    self.jobs.at_mut(number).outstanding += 1;
                    run
                }
                Answer::Done { .. } => run,
            };
            self.jobs.at_mut(number).issued |= taken;
            if taken != run {
                self.stall(number, None);
                return false;
            }
        }
        self.jobs.at_mut(number).phase = Phase::Written;
        if self.array.scheme.delay == Delay::Partial {
            self.trims_written(flash, number);
            return true;
        }
        self.wait_for_log(number);
        false
    }

    /// A job waits until its trims are on flash.
    fn wait_for_log(&mut self, number: u32) {
        self.jobs.wait_for_log(number);
        if self.jobs.trims.is_full {
            self.waits_for_room(number);
            self.jobs.give_way(number);
        }
    }

    /// Trims the new parity relies on must be on flash before it is.
    pub fn log_before_parity(&mut self, number: u32) -> bool {
        let Job { kind, entry, issued, .. } = *self.jobs.at(number);
        // A power cut may have left fewer tombstones than a lost chip asks for; they are being written again.
        let is_repair = kind == Kind::Commit(Reason::Repair);
        let unlogged = is_repair
            || entry != NONE && self.array.scheme.delay == Delay::Partial && self.array.cache.at(entry).trims != 0;
        if unlogged && issued == 0 {
            self.jobs.at_mut(number).issued = 1;
            self.wait_for_log(number);
            return false;
        }
        let job = self.jobs.at_mut(number);
        (job.phase, job.issued) = (Phase::Parity, 0);
        true
    }

    /// Memory takes in that pages of a job are trimmed.
    pub fn trims_written(&mut self, flash: &mut F, number: u32) {
        debug_assert!(self.jobs.at(number).kind == Kind::Write, "only writes trim");
        for index in members(self.jobs.at(number).trims) {
            self.data_written(flash, number, index);
        }
    }
}

impl<F: Flash> Array<F> {
    /// The first of these data pages, with the ones that follow it on the next chips, and the trim of them.
    pub fn trim_run(&self, stripe: u32, pages: u64, token: nand::Token) -> (u64, PageOp) {
        let first = pages.trailing_zeros();
        let place = self.layout.data_page(stripe, first);
        let follows =
            |by: &u32| pages >> (first + by) & 1 == 1 && self.layout.data_page(stripe, first + by) == place + *by;
        let count = (0..self.layout.data - first).take_while(follows).count() as u32;
        let op = PageOp {
            op: HostOp::Trim,
            kept: true,
            pages: count,
            ..self.page_op(place, PayloadId::NONE, Cause::Host, token)
        };
        (((1 << count) - 1) << first, op)
    }
}
