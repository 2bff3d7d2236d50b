//! Tickets: the order of the queues of dies where commands follow each other.
//!
//! A *ticket* is a place in the queues of all dies. A layer keeps one for a piece of work of several steps, such as to
//! read a page and then to program it. The layer issues the program when the read has ended. The program stands where
//! it would have stood if the layer had issued it with the read.
//!
//! The layer issues the next step at the moment at which the step before ends. A collection that is not interrupted
//! goes on in the same way. So a die looks again before it begins another command: after all commands that end at this
//! moment have been told of. If no step follows, the die goes on with the other commands. A step that waits for one of
//! them never waits in vain.
//!
//! *Protects*: programs of a block stay in order whatever their tickets are.

use super::chips::Chips;
use super::commands::Kind;
use super::dies::{Die, Follows, is_cleaning};
use super::schedule::Due;
use crate::NIL;
use crate::flash::Ticket;

/// Where a command stands.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    /// Queues are in the order of these numbers, from 1 on. 0: it has not entered a queue since tickets are in use.
    number: u64,
    has_ticket: bool,
}

/// The order of the queues; empty until a ticket is taken.
#[derive(Clone, Debug)]
pub(super) struct Tickets {
    /// Commands may follow each other: tickets are taken, or collections are not interrupted.
    pub are_followed: bool,
    /// By command.
    stands: Vec<Stand>,
    /// Numbers given out.
    given: u64,
    /// The place of commands that are issued now.
    shown: Option<Ticket>,
}

impl Tickets {
    /// None are taken. `uninterrupted`: collections are not.
    pub fn new(uninterrupted: bool) -> Self {
        Self { are_followed: uninterrupted, stands: Vec::new(), given: 0, shown: None }
    }

    /// A layer takes tickets.
    #[inline(always)]
    pub fn are_used(&self) -> bool {
        self.given > 0
    }

    /// A place behind all that has entered a queue.
    pub fn take(&mut self) -> Ticket {
        self.are_followed = true;
        self.given += 1;
        Ticket(self.given)
    }

    /// Commands that are issued from now on stand at this place.
    pub fn show(&mut self, ticket: Option<Ticket>) {
        self.shown = ticket;
    }

    /// A command is issued, which may stand where the ticket says.
    pub fn issued(&mut self, id: u32, may_use: bool) {
        let id = id as usize;
        if id >= self.stands.len() {
            self.stands.resize(id + 1, Stand::default());
        }
        let ticket = self.shown.filter(|_| may_use);
        self.stands[id] = ticket.map_or(Stand::default(), |Ticket(number)| Stand { number, has_ticket: true });
    }

    /// A command goes on with its second half, which stands where its ticket says, or behind all others.
    fn goes_on(&mut self, id: u32) {
        if let Some(own) = self.stands.get_mut(id as usize).filter(|own| !own.has_ticket) {
            *own = Stand::default();
        }
    }

    fn at(&self, id: u32) -> Stand {
        self.stands.get(id as usize).copied().unwrap_or_default()
    }

    /// A command enters a queue: without a ticket, behind all others.
    fn enter(&mut self, id: u32) -> Stand {
        let stand = self.at(id);
        if stand.number > 0 {
            return stand;
        }
        self.given += 1;
        if let Some(own) = self.stands.get_mut(id as usize) {
            own.number = self.given;
        }
        Stand { number: self.given, has_ticket: false }
    }
}

impl Chips {
    /// A place behind all that has entered a queue.
    pub(super) fn take_ticket(&mut self) -> Ticket {
        (self.is_followed, self.queues_plainly) = (true, false);
        let ticket = self.tickets.take();
        if self.books_reads {
            self.see_to_booking();
        }
        ticket
    }

    /// Commands that are issued from now on stand at this place.
    pub(super) fn show_ticket(&mut self, ticket: Option<Ticket>) {
        self.tickets.show(ticket);
    }

    /// A command is issued, and a recorder or tickets may have to hear of it.
    #[inline(never)]
    pub(super) fn hear_of(&mut self, id: u32) {
        self.observer.command_begins(id, self.schedule.now);
        if self.tickets.are_used() {
            // A collection that others may interrupt takes no place of the write that it is for.
            let is_cleaning = is_cleaning(self.commands.get(id).cause);
            self.tickets.issued(id, self.options.uninterrupted || !is_cleaning);
        }
    }

    /// A page that is copied has been read, and a recorder or tickets may have to hear of it.
    #[inline(never)]
    pub(super) fn hear_of_half(&mut self, id: u32) {
        self.observer.half_ends(id, &self.commands, self.schedule.now);
        self.tickets.goes_on(id);
    }

    /// A gang begins on a die whose array is free.
    #[inline(never)]
    pub(super) fn hear_of_start(&mut self, index: usize, gang: u32, cause: u8) {
        self.observer.die_occupied(index, gang, cause, &self.commands, self.schedule.now);
        self.note_follows(index, gang);
    }

    /// Puts a command into a queue where commands follow each other. Returns the queue.
    #[inline(never)] // most drives have none of this in their way
    pub(super) fn enqueue_in_order(&mut self, die: usize, id: u32, tells_root: bool) -> usize {
        let (queue, behind) = self.place(die, id);
        self.wait_behind([die, queue], behind, id, tells_root);
        if behind == self.dies[die].tail[queue] {
            self.dies.link(die, queue, id, &mut self.commands);
        } else {
            self.dies.link_behind(die, queue, behind, id, &mut self.commands);
        }
        queue
    }

    /// The commands that may follow a gang that begins on a die.
    pub(super) fn follows(&self, gang: u32) -> Follows {
        let slot = self.commands.get(gang);
        if self.options.uninterrupted && is_cleaning(slot.cause) {
            return Follows::Collection;
        }
        // The program that a block was erased for was refused before, and is issued when the erase ends.
        let may_follow = self.tickets.at(gang).has_ticket || slot.kind == Kind::Erase;
        if self.tickets.are_used() && may_follow { Follows::Ticket } else { Follows::Nothing }
    }

    /// The queue of a command, and the one that it stands behind in it, or NIL.
    #[inline(never)] // most drives have none of this in their way
    pub(super) fn place(&mut self, die: usize, id: u32) -> (usize, u32) {
        let slot = self.commands.get(id);
        let queue = if self.goes_on(die, id) { Die::CLEANING } else { self.dies.queue(slot.kind, slot.cause) };
        (queue, self.place_behind(die, queue, id))
    }

    /// Whether a command goes in front of all others of its die, with the collection that the die works for.
    fn goes_on(&self, die: usize, id: u32) -> bool {
        let Die { follows, head: [first, ..], .. } = self.dies[die];
        let slot = self.commands.get(id);
        if follows != Follows::Collection || !is_cleaning(slot.cause) || self.overtakes(die, id) {
            return false;
        }
        // The collection of a part of the die waits for what came before the write that it is for.
        let stand = self.tickets.at(id);
        !stand.has_ticket || first == NIL || self.tickets.at(first).number >= stand.number
    }

    /// Whether a program in front of all others of its die would overtake one of its own block.
    fn overtakes(&self, die: usize, id: u32) -> bool {
        let slot = self.commands.get(id);
        let row = self.state.block(self.block_of(slot.page));
        if matches!(slot.kind, Kind::Read | Kind::Erase) || row.entered == row.done + 1 {
            return false;
        }
        self.commands.chain(self.dies[die].head[0]).any(|before| self.is_program_before(before, id))
    }

    /// Whether a queued command is a program of the block of one that is to stand in its queue.
    fn is_program_before(&self, before: u32, id: u32) -> bool {
        let [before, slot] = [before, id].map(|id| self.commands.get(id));
        before.kind != Kind::Read && self.block_of(before.page) == self.block_of(slot.page)
    }

    /// Gives a command its place in a queue: behind the command that is returned, or first if that is NIL.
    fn place_behind(&mut self, die: usize, queue: usize, id: u32) -> u32 {
        let tail = self.dies[die].tail[queue];
        if !self.tickets.are_used() {
            return tail;
        }
        let Stand { number, has_ticket } = self.tickets.enter(id);
        let mut before = tail;
        if has_ticket && queue != Die::CLEANING {
            while before != NIL && self.tickets.at(before).number > number && !self.is_program_before(before, id) {
                before = self.commands.get(before).prev;
            }
        }
        before
    }

    /// Notes what may follow a gang that begins on a die.
    #[inline]
    pub(super) fn note_follows(&mut self, index: usize, gang: u32) {
        if self.tickets.are_followed {
            self.schedule.disarm(Due::Die(index)); // it need not look again
            self.dies[index].follows = self.follows(gang);
        }
    }

    /// Makes a die look again before it begins the next command. `false`: it need not.
    #[inline]
    pub(super) fn make_look_again(&mut self, index: usize) -> bool {
        let die = &self.dies[index];
        let head = die.head[die.next_queue()];
        let looks = head != NIL
            && match die.follows {
                Follows::Nothing => false,
                Follows::Collection => {
                    let waits = die.head[Die::CLEANING] == NIL && self.tickets.at(head).has_ticket;
                    waits || !is_cleaning(self.commands.get(head).cause)
                }
                Follows::Ticket => true,
            };
        if looks {
            self.schedule.arm(Due::Die(index), 0);
        }
        looks
    }

    /// All commands that ended at this moment have been told of: the die goes on with queued commands.
    #[cold]
    pub(super) fn look_again(&mut self, index: usize) {
        let die = &mut self.dies[index];
        if die.follows == Follows::Ticket || die.head[Die::CLEANING] == NIL {
            die.follows = Follows::Nothing;
        }
        self.dispatch(index);
    }

    /// Whether the next command of a die may begin beside the one on it: a command that may follow that one goes first.
    pub(super) fn may_begin_beside(&self, index: usize, head: u32) -> bool {
        match self.dies[index].follows {
            Follows::Nothing => true,
            Follows::Collection => is_cleaning(self.commands.get(head).cause),
            Follows::Ticket => self.tickets.at(head).has_ticket,
        }
    }
}
