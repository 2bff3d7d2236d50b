//! Commands that wait for their page or their turn: a list of each block, in the order of pages.
//!
//! *Why in order*: a block of a large drive may have a thousand programs that wait for memory. The command whose turn
//! is next stands near the front, and a command leaves without a search. The first of a list knows the last one.

use super::commands::{Commands, Slot, State};
use crate::NIL;
use crate::state::BlockRow;
use units::Nanos;

impl Commands {
    /// A command waits for its page or its turn in a block. Of one page, the command that came last stands first.
    pub fn park(&mut self, row: &mut BlockRow, id: u32, now: Nanos) {
        let slot = self.at(id);
        slot.state = State::Parked;
        slot.since = now;
        let (head, page) = (row.parked, slot.page);
        let next = if head == NIL { NIL } else { self.first_parked_from(head, page) };
        let prev = if head == NIL { id } else { self.get(if next == NIL { head } else { next }).prev };
        let slot = self.at(id);
        (slot.prev, slot.next) = (prev, next);
        if next == head {
            row.parked = id;
        } else {
            self.at(prev).next = id;
        }
        self.at(if next == NIL { row.parked } else { next }).prev = id;
    }

    /// The first command of a list of parked ones that is not for a lower page; NIL: all are.
    fn first_parked_from(&self, head: u32, page: u32) -> u32 {
        let tail = self.get(head).prev;
        let (first, last) = (self.get(head).page, self.get(tail).page);
        if last < page {
            return NIL;
        }
        if page.saturating_sub(first) < last - page {
            return self.chain(head).find(|at| self.get(*at).page >= page).unwrap_or(NIL);
        }
        let mut found = tail;
        while found != head && self.get(self.get(found).prev).page >= page {
            found = self.get(found).prev;
        }
        found
    }

    /// A parked command waits no more: O(1).
    pub fn leave_parked(&mut self, row: &mut BlockRow, id: u32) {
        let Slot { prev, next, .. } = *self.get(id);
        if row.parked == id {
            row.parked = next;
        } else {
            self.at(prev).next = next;
        }
        let knows = if next == NIL { row.parked } else { next };
        if knows != NIL {
            self.at(knows).prev = prev;
        }
    }
}
