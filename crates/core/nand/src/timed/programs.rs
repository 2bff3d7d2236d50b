//! Programs that a layer issues: their pages are claimed, and they get their slots.

use super::commands::{Kind, Slot, What, flag};
use super::controller::Controller;
use crate::NIL;
use crate::flash::{CommandId, Operation, Outcome, Owner, PageProgram, Program};
use crate::state::LawBroken;

impl Controller {
    /// Issues a program.
    /// 1. Memory that gathers pages takes it at once, if it is on and has room.
    /// 2. The page is claimed, and the block of the page it supersedes is pinned.
    /// 3. It gets a slot with all that is known of it. A copy keeps no barrier waiting; all others do.
    /// 4. One that merges into a page whose program failed takes the data of that from the controller.
    /// 5. It goes to its die as soon as what it comes after is done.
    #[inline(always)]
    pub fn issue_program(&mut self, owner: Owner, kind: Kind, command: PageProgram) -> Outcome {
        if self.gather.is_on() && self.take_in_at_once(command) {
            return Outcome::Done;
        }
        let slot = self.claim(owner, kind, &command);
        let id = self.chips.insert(slot, Some(command.completion));
        self.begin_programming(id, &command);
        Outcome::Pending(id)
    }

    /// Issues a program of one page that is all of an operation, where no memory gathers pages.
    #[inline(always)]
    pub fn issue_program_alone(&mut self, owner: Owner, operation: Operation, command: PageProgram) {
        let slot = self.claim(owner, Kind::Program, &command);
        let id = self.chips.insert_alone(slot, operation);
        self.begin_programming(id, &command);
    }

    /// Claims the page of a program, and pins the block of the page that it supersedes. Returns the program.
    #[inline(always)]
    pub(super) fn claim(&mut self, owner: Owner, kind: Kind, command: &PageProgram) -> Slot {
        self.chips.state.claim_page(command.page);
        if let Some(old) = command.supersedes
            && !self.chips.state.breaks(LawBroken::PinsOff)
        {
            let old = self.chips.state.geometry.block_of(old);
            self.chips.state.row(old).pin();
        }
        let (what, payload) = match command.what {
            Program::Data { payload, merge: false } => (What::Data, payload.0),
            Program::Data { payload, merge: true } => (What::Merge, payload.0),
            Program::Copy => (What::Copy, NIL),
            Program::Record(record) => (What::Record, record.map_or(NIL, |r| r.0)),
        };
        let mut slot = Slot {
            sequence: command.sequence,
            page: command.page.0,
            supersedes: command.supersedes.map_or(NIL, |page| page.0),
            logical: command.logical,
            payload,
            owner,
            kind,
            cause: command.cause as u8,
            root: command.cause as u8,
            what,
            ..Slot::FREE
        };
        if what != What::Copy {
            slot.flags |= flag::BARRIER;
            slot.epoch = self.chips.commands.barriers.issued();
        }
        slot
    }

    /// A new program goes to its die as soon as what it comes after is done.
    #[inline(always)]
    fn begin_programming(&mut self, id: CommandId, command: &PageProgram) {
        if matches!(command.what, Program::Data { merge: true, .. }) {
            self.fold_failed_base(id.slot);
        }
        match command.after.filter(|after| self.is_under_way(*after)) {
            Some(after) => self.chips.commands.depend(after.slot, id.slot),
            None => self.ready_to_program(id.slot, command.page, self.chips.block_of(command.page.0)),
        }
    }
}
