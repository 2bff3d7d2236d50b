//! Copies of pages: through the controller, or inside a plane.
//!
//! A copy through the controller is one command with two halves: it reads its page, and then programs what it has read.
//!
//! Protects: a command is either half of a copy, never both; pages to come are known by their targets in both.

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
