//! Copies of pages: through the controller, or inside a plane.
//!
//! A copy through the controller is one command with two halves: it reads its page, and then programs what it has read.
//!
//! Protects: a command is either half of a copy, never both; what is asked about pages to come knows its target in both.

use super::commands::{Kind, Slot, State, What, flag};
use super::controller::Controller;
use crate::flash::{Completion, CopyWay, Outcome, Owner, PageCopy, Read};
use units::Ppn;

impl Slot {
    /// The first half of a copy, of which this is the program: the page to be programmed has the place of the sequence
    /// number, which a copy takes from its source.
    #[inline(always)]
    fn after_read(self, read: &Read) -> Self {
        let (flags, sectors) = (self.flags | flag::COPY, read.sectors);
        let (page, sequence) = (read.page.0, u64::from(self.page));
        Self { page, sequence, kind: Kind::Read, what: What::Nothing, flags, sectors, ..self }
    }

    /// The second half of that copy follows. `failed`: the page could not be read.
    #[inline(always)]
    fn read_for_copy(&mut self, failed: bool) {
        self.flags = self.flags & !flag::COPY | if failed { flag::BASE_LOST } else { 0 };
        (self.page, self.sequence) = (self.sequence as u32, 0);
        (self.kind, self.what, self.state) = (Kind::Program, What::Copy, State::Waiting);
    }

    /// Whether the command copies a page.
    pub fn is_copy(&self) -> bool {
        self.what == What::Copy || self.flags & flag::COPY != 0
    }

    /// The page that a program is for, or that the second half of a copy will be for.
    pub fn target(&self) -> Option<u32> {
        match self.kind {
            Kind::Program | Kind::Copyback => Some(self.page),
            Kind::Read if self.flags & flag::COPY != 0 => Some(self.sequence as u32),
            Kind::Read | Kind::Gathered | Kind::Erase => None,
        }
    }
}

impl Controller {
    #[inline(always)]
    pub fn copy(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        match copy.way {
            CopyWay::Channel => self.copy_over_channel(owner, copy),
            // A value of its own, so that only this way writes it to memory.
            CopyWay::Plane => self.copy_in_plane(owner, PageCopy { way: CopyWay::Plane, ..copy }),
        }
    }

    /// A copy through the controller. One of a page in memory has nothing to read.
    #[inline(always)]
    fn copy_over_channel(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        let read = copy.read(self.chips.state.geometry.sectors_per_page());
        if self.is_answered_from_memory(read) {
            return self.issue_program(owner, Kind::Program, copy.program(None));
        }
        let block = self.chips.state.geometry.block_of(read.page);
        self.chips.state.row(block).pin();
        let slot = self.claim(owner, Kind::Program, &copy.program(None));
        let id = self.chips.insert(slot.after_read(&read), Some(Completion::Notify(copy.token)));
        self.begin_reading(id, &read, block);
        Outcome::Pending(id)
    }

    /// The page that a command copies has been read: it is programmed at its new place.
    #[inline(always)]
    pub(super) fn program_copy(&mut self, id: u32, failed: bool) {
        if self.chips.is_followed {
            self.chips.hear_of_half(id);
        }
        let slot = self.chips.commands.at(id);
        slot.read_for_copy(failed);
        let page = Ppn(slot.page);
        self.ready_to_program(id, page, self.chips.block_of(page.0));
    }

    #[inline(never)]
    fn copy_in_plane(&mut self, owner: Owner, copy: PageCopy) -> Outcome {
        let plane = |page| self.chips.state.geometry.plane_in_drive(self.chips.state.geometry.block_of(page));
        debug_assert!(plane(copy.from) == plane(copy.to), "{copy:?} leaves its plane");
        let waits = !self.chips.state.is_programmed(copy.from) && !self.chips.state.block_is_dead(copy.from);
        let after = waits.then(|| self.wait_for_page(owner, copy.from, None));
        self.issue_program(owner, Kind::Copyback, copy.program(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payloads::PayloadId;
    use units::Cause;

    #[test]
    fn both_halves_of_a_copy_know_where_it_goes() {
        let program = Slot { kind: Kind::Program, what: What::Copy, page: 7, supersedes: 3, ..Slot::FREE };
        let (page, payload) = (Ppn(3), PayloadId::NONE);
        let read = Read { page, cause: Cause::Gc, sectors: 8, payload, completion: None, after: None };
        let mut slot = program.after_read(&read);
        assert_eq!((slot.kind, slot.page, slot.supersedes, slot.target()), (Kind::Read, 3, 3, Some(7)));
        assert!(slot.is_copy() && slot.payload == program.payload, "it reads into no memory of a layer: {slot:?}");
        slot.read_for_copy(true);
        assert_eq!((slot.kind, slot.page, slot.supersedes, slot.target()), (Kind::Program, 7, 3, Some(7)));
        assert_eq!((slot.is_copy(), slot.sequence, slot.flags), (true, program.sequence, flag::BASE_LOST));
    }
}
