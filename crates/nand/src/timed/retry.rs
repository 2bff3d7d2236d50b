//! Reads that are repeated on their die until their errors can be corrected.

use super::TimedFlash;
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
            self.meters[index].occupy(self.now, cause, root);
            return false;
        }
        self.state.keep_clock(self.now);
        let members: Vec<u32> = self.chain(gang).collect();
        let retries: Vec<u32> = members.iter().map(|id| self.state.retries(Ppn(self.slab.get(*id).page))).collect();
        let most = retries.iter().copied().max().unwrap_or(0);
        for (id, retries) in members.iter().zip(&retries) {
            let slot = self.slab.get(*id);
            self.state.disturb(slot.owner, Ppn(slot.page), *retries);
        }
        if most == 0 {
            return false;
        }
        self.state.counters.reads[Cause::Retry.index()] += retries.iter().map(|count| u64::from(*count)).sum::<u64>();
        let time = Nanos::from(most) * (self.read_ns(gang) + self.state.decode_ns());
        for id in &members {
            self.slab.at(*id).what = What::Retried;
            if self.slab.get(*id).flags & flag::TRACED != 0 {
                let retry = Cause::Retry.index();
                self.charge(*id, retry, retry, time);
            }
        }
        self.meters[index].occupy(self.now, Cause::Retry as u8, root);
        self.queue.arm(index as u32, self.now + time);
        true
    }
}
