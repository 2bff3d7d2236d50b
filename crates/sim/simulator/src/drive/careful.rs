//! The end of a request of which more is told than that it has ended: its cells, its waiting outside of flash, and the
//! recorder.

use super::{Drive, Slot};
use crate::clocked::Clocked;
use nand::Served;
use units::Wait;

impl<F: Clocked> Drive<F> {
    /// As [`Drive::complete`] where more is told of a request than that it has ended.
    #[inline(never)]
    pub(super) fn complete_carefully(&mut self, id: u32, wait: Option<u32>) {
        if self.has_contents() {
            self.detach_contents(id);
        }
        let slot = &self.slots[id as usize];
        let waited_outside = slot.link_ns | slot.firmware_ns | slot.space_ns > 0;
        let wait = if waited_outside { Some(self.with_outside(id, wait)) } else { wait };
        if self.flash.recorder().is_some() {
            self.record_served(id, wait);
        }
        self.hand_over(id, wait);
    }

    /// Tells the recorder that a request has ended, if it wants that.
    #[cold]
    fn record_served(&mut self, id: u32, wait: Option<u32>) {
        let Slot { request, queue_ns, .. } = self.slots[id as usize];
        let end = self.flash.now();
        let Some(recorder) = self.flash.recorder() else { return };
        if recorder.wants_request(request.op, request.arrival, end) {
            let waited = wait.map(|index| self.flash.state().memory.waits[index]);
            if let Some(recorder) = self.flash.recorder() {
                recorder.serve(Served { number: id, request, end, waited, queue_ns });
            }
        }
    }

    /// What a request waited for on flash, and at the link, at the cores and for room beside it.
    ///
    /// Of a request taken in pieces an early piece may end last: its commands then explain time in which the rest still
    /// waited for room.
    #[inline(never)]
    fn with_outside(&mut self, id: u32, wait: Option<u32>) -> u32 {
        let (slot, now) = (&self.slots[id as usize], self.flash.now());
        let waits = &mut self.flash.memory_mut().waits;
        // Other requests may have waited for the same commands.
        let number = match wait {
            Some(of) => waits.note_again(of),
            None => waits.note_none(),
        };
        let waited = &mut waits[number];
        layer::charge(waited, Wait::Link, slot.link_ns);
        layer::charge(waited, Wait::Firmware, slot.firmware_ns);
        layer::charge_space(waited, slot.space_ns, now - slot.request.arrival - slot.queue_ns);
        number
    }
}
