//! Reads that are repeated on their die until their errors can be corrected.

use super::TimedFlash;
use super::commands::What;
use super::schedule::Due;
use units::{Cause, Nanos, Ppn};

impl TimedFlash {
    /// Whether the array reads a gang of pages again, as often as the worst of them needs. Its die works for that
    /// cause meanwhile, and the reads waited for it. Each of them disturbs its block.
    #[cold]
    #[inline(never)]
    pub(super) fn reads_again(&mut self, index: usize, gang: u32) -> bool {
        let slot = self.commands.get(gang);
        let (cause, root) = (slot.cause, slot.root);
        if slot.what == What::Retried {
            self.occupy(index, gang, [cause, root]);
            return false;
        }
        self.state.keep_clock(self.schedule.now);
        let (mut most, mut all) = (0, 0);
        for id in self.commands.chain(gang) {
            let slot = self.commands.get(id);
            let retries = self.state.retries(Ppn(slot.page));
            self.state.disturb(slot.owner, Ppn(slot.page), retries);
            (most, all) = (most.max(retries), all + u64::from(retries));
        }
        if most == 0 {
            return false;
        }
        self.state.counters.reads[Cause::Retry.index()] += all;
        let time = Nanos::from(most) * (self.read_ns(gang) + self.state.decode_ns());
        self.commands.each_member(gang, |commands, id| {
            commands.at(id).what = What::Retried;
            commands.charge(id, [Cause::Retry as u8; 2], time);
        });
        // Whatever the reads are for, it is errors that others wait for now.
        self.occupy(index, gang, [Cause::Retry as u8; 2]);
        self.schedule.arm(Due::Die(index), time);
        true
    }
}
