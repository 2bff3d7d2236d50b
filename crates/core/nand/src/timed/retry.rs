//! Reads that are repeated on their die until their errors can be corrected.

use super::TimedFlash;
use super::schedule::Due;
use super::slab::{What, flag};
use units::{Cause, Nanos, Ppn};

impl TimedFlash {
    /// Whether the array reads a gang of pages again, as often as the worst of them needs. Its die works for that
    /// cause meanwhile, and the reads waited for it. Each of them disturbs its block.
    #[cold]
    #[inline(never)]
    pub(super) fn reads_again(&mut self, index: usize, gang: u32) -> bool {
        let slot = self.slab.get(gang);
        let (cause, root) = (slot.cause, slot.root);
        if slot.what == What::Retried {
            self.occupy(index, gang, [cause, root]);
            return false;
        }
        self.state.keep_clock(self.schedule.now);
        let (mut most, mut all) = (0, 0);
        self.each_member(gang, |flash, id| {
            let slot = flash.slab.get(id);
            let (owner, page) = (slot.owner, Ppn(slot.page));
            let retries = flash.state.retries(page);
            flash.state.disturb(owner, page, retries);
            (most, all) = (most.max(retries), all + u64::from(retries));
        });
        if most == 0 {
            return false;
        }
        self.state.counters.reads[Cause::Retry.index()] += all;
        let time = Nanos::from(most) * (self.read_ns(gang) + self.state.decode_ns());
        self.each_member(gang, |flash, id| {
            flash.slab.at(id).what = What::Retried;
            if flash.slab.get(id).flags & flag::TRACED != 0 {
                let retry = Cause::Retry.index();
                flash.charge(id, retry, retry, time);
            }
        });
        // Whatever the reads are for, it is errors that others wait for now.
        self.occupy(index, gang, [Cause::Retry as u8; 2]);
        self.schedule.arm(Due::Die(index), time);
        true
    }
}
