//! Writes of the host: page by page, each with a program of its own.

use super::access::{MapAccess, Sharing, Use};
use super::entry::Entry;
use super::old_versions::OldVersions;
use super::{PageMap, answer_alone};
use crate::mapping::common::{answer, read_missing};
use layer::{Answer, PageOp};
use nand::{Awaits, Cancel, Closed, CommandId, Completion, Flash, JoinId, Operation, PageProgram, PayloadId, Program};
use units::{Cause, Lpn, Ppn};

/// The receiver of the end of a program of the host.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// One of several commands of an operation.
    InJoin(JoinId),
    /// The program is all of the operation.
    Alone(Operation),
}

/// One page of a host write with a place to go to.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub logical: Lpn,
    pub page: Ppn,
    pub mask: u64,
    pub payload: PayloadId,
    /// The command after which its map entry is known, if that is still under way.
    pub known: Option<CommandId>,
    /// Its sequence number; `None`: the next one.
    pub sequence: Option<u64>,
    /// What it replaces is kept, unless an older version is.
    pub keep: bool,
    pub cause: Cause,
}

impl<A: MapAccess> PageMap<A> {
    /// `sequence`: number of its writes, in place of the next ones.
    pub(super) fn submit_write<F: Flash>(&mut self, flash: &mut F, op: &PageOp, sequence: Option<u64>) -> Answer {
        // Where no map entry costs a command, the program of one whole page is all of its operation.
        if op.pages == 1 && op.first_mask == self.geometry.full_mask() && !op.fua && A::SHARING == Sharing::Data {
            return self.write_only_page(flash, op, sequence);
        }
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let full = self.geometry.full_mask();
        for index in 0..op.pages {
            let logical = op.at(index);
            let Some(page) = self.page_for(flash, logical) else {
                return answer(flash, join, Awaits::Commands).full(index);
            };
            let known =
                self.access.translate(flash, &mut self.pages, &mut self.space, &Use { op, index, join, room: true });
            let (mask, payload) = (op.mask_at(index, full), op.payload.offset(index));
            let write = Write { logical, page, mask, payload, known, sequence, keep: op.kept, cause: op.cause };
            self.write_page(flash, &write, Ends::InJoin(join));
            if self.settings.paced {
                self.keep_pace(flash, page);
            }
        }
        if op.fua && flash.state().is_forgetful() {
            self.fill_up(flash);
            return answer(flash, join, Awaits::AllPrograms);
        }
        answer(flash, join, Awaits::Commands)
    }

    /// A page for a write of the host. `None`: there is no room.
    #[inline(always)]
    fn page_for<F: Flash>(&mut self, flash: &mut F, logical: Lpn) -> Option<Ppn> {
        match A::page_for_write(self, flash, logical) {
            Ok(page) => Some(page),
            Err(why) => self.page_after_all(flash, logical, why),
        }
    }

    /// Writes the only page of an operation, all of it.
    #[inline]
    fn write_only_page<F: Flash>(&mut self, flash: &mut F, op: &PageOp, sequence: Option<u64>) -> Answer {
        let logical = op.first;
        let Some(page) = self.page_for(flash, logical) else {
            return Answer::Full { taken: 0, pending: false, failed: false };
        };
        let (mask, payload, keep, cause) = (op.first_mask, op.payload, op.kept, op.cause);
        let write = Write { logical, page, mask, payload, known: None, sequence, keep, cause };
        let closed = self.write_page(flash, &write, Ends::Alone(Operation { owner: op.owner, token: op.token }));
        if self.settings.paced {
            self.keep_pace(flash, page);
        }
        answer_alone(closed)
    }

    /// Writes a page. Returns whether its operation is done, if the page is all of that.
    #[inline(always)]
    pub(super) fn write_page<F: Flash>(&mut self, flash: &mut F, write: &Write, ends: Ends) -> Closed {
        let Write { logical, page, mask, payload, known, sequence, keep, cause } = *write;
        let old = self.pages.entry(logical);
        let (sequence, stays) = self.versions.write(&mut self.pages, logical, old, sequence, keep);
        let merge = old.is_page() && mask != self.geometry.full_mask();
        let mut after = A::data_after(known);
        let mut release = None;
        let supersedes = if let Some(old) = old.on_flash() {
            if !stays {
                self.pages.drop(old);
            }
            if merge && let Ends::InJoin(join) = ends {
                // Which page to read is known only with the entry, whatever the scheme.
                after = read_missing(flash, self.owner, &self.geometry, old, mask, join, known);
            }
            Some(old)
        } else if old == Entry::NOWHERE {
            None
        } else {
            let (page, held) = self.trims.leave(flash, &mut self.pages, old.place());
            release = held;
            Some(page)
        };
        self.pages.place(logical, page);
        self.access.placed(&mut self.space, logical, page);
        let command = |completion| PageProgram {
            page,
            supersedes,
            what: Program::Data { payload, merge },
            logical: logical.0,
            sequence,
            cause,
            completion,
            after,
        };
        let closed = match ends {
            Ends::InJoin(join) => {
                flash.program(self.owner, command(Completion::Join(join)));
                Closed::Pending
            }
            Ends::Alone(operation) => {
                debug_assert!(!merge, "the rest of {logical} would be read for nobody");
                flash.program_alone(self.owner, operation, command(Completion::Notify(operation.token)))
            }
        };
        if let Some(block) = release
            && !flash.state().breaks(nand::LawBroken::TrimHoldsOff)
        {
            flash.release(block); // the program pins it now
        }
        closed
    }
}
