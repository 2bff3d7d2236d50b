//! Reads of the host: runs of pages that the mapping has, and pages that it has not, or not yet.

use crate::array::Array;
use crate::jobs::{Job, Kind, Phase, Reason};
use crate::striped::{Striped, Wanted};
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::{Answer, Old, Outbox, PageOp, STRIPE_OWNER};
use nand::{Flash, PayloadId};

impl<F: Flash> Striped<F> {
    /// Reads pages, run by run.
    /// 1. A page that is not there, or whose stripe is torn, is read by a job of its own.
    /// 2. A page whose chip is busy, and that the rest of its stripe tells sooner, is computed.
    /// 3. A page that a write waits with is answered from that write; sectors that it lacks are read below.
    /// 4. Any other page is read below, in one operation with the pages that follow on its chip and need none of this.
    pub fn submit_read(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        let number = self.ops.begin(op, op.pages, Wanted { op: *op, again: false });
        let mut index = 0;
        while index < op.pages {
            let (stripe, at) = self.work.array.layout.place(op.first + index);
            if !self.work.array.is_there(stripe, at) || self.work.is_torn(stripe) {
                self.read_alone(number, op, index);
                index += 1;
                continue;
            }
            let mask = op.mask_at(index, self.work.array.full_mask);
            if let Some(detour) = self.work.detour(flash, stripe, at) {
                self.read_around(flash, number, op, index, detour, outbox);
                index += 1;
                continue;
            }
            let waiting = !self.work.jobs.is_idle(stripe) && self.work.jobs.is_awaited(stripe, at, false);
            let rest = if waiting {
                self.work.read_awaited(flash, (stripe, at), mask, op.payload.offset(index))
            } else {
                mask
            };
            if rest == 0 {
                self.pages_done(number, 1, false, outbox);
                index += 1;
                continue;
            }
            let first = self.work.array.layout.data_page(stripe, at);
            let mut pages = 1;
            while !waiting && index + pages < op.pages {
                let (stripe, at) = self.work.array.layout.place(op.first + index + pages);
                let follows = self.work.array.layout.data_page(stripe, at) == first + pages
                    && self.work.array.is_there(stripe, at);
                let waits = self.work.is_torn(stripe)
                    || !self.work.jobs.is_idle(stripe) && self.work.jobs.is_awaited(stripe, at, false);
                if !follows || waits || self.work.detour(flash, stripe, at).is_some() {
                    break;
                }
                pages += 1;
            }
            let below = PageOp {
                first,
                pages,
                first_mask: rest,
                last_mask: if pages == 1 { rest } else { op.mask_at(index + pages - 1, self.work.array.full_mask) },
                cancellable: false,
                payload: op.payload.offset(index),
                owner: STRIPE_OWNER,
                // How many pages does not fit into a token: the operation counts runs from here on.
                token: Tag::token(Asked::Read, number, 0),
                ..*op
            };
            self.ops.fewer_parts(number, pages - 1);
            match self.work.array.below.submit(flash, &below) {
                Answer::Done { failed } => self.read_done(number, failed, outbox),
                Answer::Pending(_) => {}
                Answer::Full { .. } => unreachable!("reads always find room"),
            }
            index += pages;
        }
        self.settle(flash, outbox);
        self.ops.answer(number)
    }

    /// A run of a read is done. If it failed, all of it is read again page by page.
    pub fn read_done(&mut self, number: u32, failed: bool, outbox: &mut Outbox) {
        self.ops.at_mut(number).about.again |= failed;
        self.pages_done(number, 1, false, outbox);
    }

    /// Some page of a read cannot be read as it is: each is read by a job of its own.
    #[cold]
    pub fn read_again(&mut self, number: u32) {
        let wanted = &mut self.ops.at_mut(number).about;
        wanted.again = false;
        let read = wanted.op;
        self.ops.restart(number, read.pages);
        for index in 0..read.pages {
            self.read_alone(number, &read, index);
        }
    }

    /// Reads one page by a job of its own.
    #[cold]
    fn read_alone(&mut self, number: u32, op: &PageOp, index: u32) {
        let (stripe, at) = self.work.array.layout.place(op.first + index);
        let job = self.work.jobs.enqueue_read(Job::new(Kind::Read, stripe, 1 << at));
        let part = self.work.jobs.part_mut(job, at);
        (part.op, part.payload) = (number, op.payload.offset(index));
        part.mask = op.mask_at(index, self.work.array.full_mask);
        part.whole = PayloadId::NONE;
    }

    /// A job begins that reads one page, as far as no write that waits has it.
    pub fn start_read(&mut self, flash: &mut F, number: u32) {
        let Job { stripe, pages, .. } = *self.work.jobs.at(number);
        let index = pages.trailing_zeros();
        let part = *self.work.jobs.part(number, index);
        let awaited = self.work.jobs.is_awaited(stripe, index, self.work.array.is_lost(stripe, index));
        let rest =
            if awaited { self.work.read_awaited(flash, (stripe, index), part.mask, part.payload) } else { part.mask };
        self.work.jobs.part_mut(number, index).mask = rest;
        let job = self.work.jobs.at_mut(number);
        (job.want.newest, job.phase) = if rest == 0 { (0, Phase::End) } else { (pages, Phase::Fetch) };
    }
}

impl<F: Flash> Work<F> {
    /// A power cut came between data and parity, which is still behind: data read now must not be lost with a chip
    /// before that is mended, so reads wait in line, unless it finds no room.
    #[inline]
    pub fn is_torn(&self, stripe: u32) -> bool {
        !self.array.torn.is_quiet()
            && self.jobs.in_line(stripe).any(|job| self.jobs.at(job).kind == Kind::Commit(Reason::Repair))
    }

    /// Answers a read of a page from the writes that wait; the sectors they do not have.
    pub fn read_awaited(&self, flash: &mut F, (stripe, at): (u32, u32), wanted: u64, into: PayloadId) -> u64 {
        let mut held = 0;
        for job in self.jobs.awaiting(stripe, at, self.array.is_lost(stripe, at)) {
            let part = self.jobs.part(job, at);
            let is_trim = self.jobs.at(job).trims >> at & 1 == 1;
            if is_trim && part.mask != self.array.full_mask {
                continue; // it changes nothing
            }
            held |= part.mask;
            let payloads = &mut flash.memory_mut().payloads;
            if is_trim {
                payloads.clear(into, wanted);
            } else {
                payloads.copy(part.payload, into, part.mask & wanted);
            }
        }
        let rest = wanted & !held;
        if rest != 0 {
            flash.memory_mut().payloads.set_mask(into, rest);
        }
        rest
    }

    /// A page was read, newer than a parity that a power cut tore and that has not found room since.
    #[cold]
    pub fn note_seen(&mut self, stripe: u32, index: u32) {
        if self.is_torn(stripe) && self.array.below.old(self.array.layout.data_page(stripe, index)) != Old::None {
            self.array.torn.see(stripe, index);
        }
    }
}

impl<F: Flash> Array<F> {
    /// Whether a page is on a chip that is there, and was not given up.
    #[inline]
    pub fn is_there(&self, stripe: u32, at: u32) -> bool {
        !self.is_lost(stripe, at) && self.gone.is_empty()
    }

    /// Whether a page is on a lost chip.
    #[inline]
    fn is_lost(&self, stripe: u32, at: u32) -> bool {
        !self.chips.all_there() && self.lost_members(stripe).0 >> at & 1 == 1
    }
}
