//! Requests that wait for room, in the order in which they came.

use super::Drive;
use crate::clocked::Clocked;

impl<F: Clocked> Drive<F> {
    /// Whether some request waits for room.
    pub fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Requests that wait for room end with an error now: begun parts are done, the rest never is.
    /// Whether there were any.
    pub fn refuse_stalled(&mut self) -> bool {
        let any = self.is_stalled();
        let now = self.flash.now();
        while let Some(id) = self.stalled.pop_front() {
            let slot = &mut self.slots[id as usize];
            (slot.stalled, slot.failed, slot.next_page) = (false, true, slot.end_page);
            slot.space_ns += now - slot.since;
            if slot.outstanding == 0 {
                self.finish(id, None);
            }
        }
        any
    }

    #[cold]
    pub(super) fn stall(&mut self, id: u32, taken: u32, pending: bool) {
        let now = self.flash.now();
        let slot = &mut self.slots[id as usize];
        slot.next_page = slot.next_page + taken;
        slot.outstanding += u32::from(pending);
        slot.since = now;
        slot.stalled = true;
        self.stalled.push_front(id);
    }

    #[cold]
    pub(super) fn retry_stalled(&mut self) {
        while let Some(id) = self.stalled.pop_front() {
            let now = self.flash.now();
            let slot = &mut self.slots[id as usize];
            slot.stalled = false;
            slot.space_ns += now - slot.since;
            slot.since = now;
            let (slot, waiting) = (*slot, self.stalled.len());
            self.start(id, &slot);
            if self.stalled.len() > waiting {
                return; // it went back to the head of the line
            }
        }
    }
}
