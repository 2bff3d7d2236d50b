//! Dies: the work in their arrays and page registers, the waiting commands, and the causes of their work.
//!
//! The number of a die comes from a block whose row was looked up before, from the schedule or from a channel, and the
//! list of dies never changes its length. The accessors rely on it and skip the bounds check (3.6 % of all commands in
//! steady state). Debug and test builds check. A number that a layer gives is checked where it comes in.

use super::account::Meter;
use super::commands::{Commands, Kind, Slot, State};
use crate::NIL;
use crate::flash::Backlog;
use std::ops::{Index, IndexMut};
use units::{Cause, DieId, Geometry, Nanos};

/// Whether commands of a cause, as its number, belong to collection or wear levelling.
#[inline]
pub(super) fn is_cleaning(cause: u8) -> bool {
    const CLEANING: u32 =
        bit(Cause::Gc) | bit(Cause::Wear) | bit(Cause::Merge) | bit(Cause::Fold) | bit(Cause::Refresh);
    CLEANING >> cause & 1 == 1
}

const fn bit(cause: Cause) -> u32 {
    1 << cause.index()
}

/// The command that may follow the one that a die began last, before any other of its commands begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    /// More of a collection that is not interrupted.
    Collection,
    /// What has a ticket.
    Ticket,
}

/// How far the gang in an array has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The array works for it.
    Works,
    /// It waits for its command, or has the channel for it.
    Commanded,
    /// Its page moves first, or has moved: nobody looks at the time between, so that the next event is its end.
    Booked,
}

/// One die. A *gang* is a list of commands for different planes that run together; without
/// multi-plane commands it has one member.
///
/// ```text
/// queue[0] programs, erases (and reads, unless reads go first)     array: cell array busy
/// queue[1] reads that go first                                     transfer: page register and channel
/// queue[2] commands of a collection that is not interrupted
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one cache line, and an index is a shift
pub(super) struct Die {
    pub head: [u32; 3],
    pub tail: [u32; 3],
    /// Gang in the cell array.
    pub array: u32,
    /// Gang in, or waiting for, its transfer.
    pub transfer: u32,
    /// The member of `transfer` that has, or waits for, the channel.
    pub moving: u32,
    /// Gang interrupted by reads.
    pub suspended: u32,
    /// Array time the interrupted gang still needs, or the one in the array after the moment at which it will be
    /// interrupted; 0: there is neither.
    pub suspended_left: u64,
    /// The array has finished a read but the register is still being transferred.
    pub array_done: bool,
    /// The register holds a program's data but the array is still busy.
    pub loaded: bool,
    /// What its next event is about, while there is a gang in the array.
    pub phase: Phase,
    /// Commands that may go on with the one that began last.
    pub follows: Follows,
    /// Parts of the member that moves which have moved already, where gathered pages move in parts.
    pub moved: u8,
    /// Interruptions of the gang in the array.
    pub suspends: u8,
    pub channel: u16,
    /// Commands in its queues.
    pub queued: Backlog,
}

const _: () = assert!(size_of::<Die>() == 64);

impl Die {
    pub fn new(channel: u32) -> Self {
        Self { channel: channel as u16, ..Self::IDLE }
    }

    const IDLE: Die = Die {
        head: [NIL; 3],
        tail: [NIL; 3],
        array: NIL,
        transfer: NIL,
        moving: NIL,
        suspended: NIL,
        suspended_left: 0,
        array_done: false,
        loaded: false,
        phase: Phase::Works,
        follows: Follows::Nothing,
        moved: 0,
        suspends: 0,
        channel: 0,
        queued: Backlog { commands: 0, cleaning: 0 },
    };

    /// A gang is to be moved, from its first member on.
    #[inline]
    pub fn move_gang(&mut self, gang: u32) {
        self.transfer = gang;
        self.moving = gang;
        self.moved = 0;
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.array & self.transfer & self.suspended == NIL && self.queued.commands == 0
    }

    /// Queue of reads that go first.
    pub const URGENT: usize = 1;

    /// Queue of a collection that is not interrupted.
    pub const CLEANING: usize = 2;

    /// The queue that is served next.
    #[inline]
    pub fn next_queue(&self) -> usize {
        if self.head[Self::CLEANING] == NIL { self.queue_in_turn() } else { Self::CLEANING }
    }

    /// The same where no collection goes on: nothing is in its queue then.
    #[inline]
    pub fn queue_in_turn(&self) -> usize {
        debug_assert!(self.follows == Follows::Collection || self.head[Self::CLEANING] == NIL, "{self:?}");
        usize::from(self.head[Self::URGENT] != NIL)
    }

    /// The command that a newcomer stands behind, if there is one: `behind` in its queue, or one on the die, or the
    /// first of another queue.
    #[inline]
    pub fn last_before(&self, behind: u32, queue: usize) -> Option<u32> {
        if behind != NIL {
            return Some(behind);
        }
        let heads = (0..self.head.len()).filter(|other| *other != queue).map(|other| self.head[other]);
        [self.array, self.transfer, self.suspended].into_iter().chain(heads).find(|&id| id != NIL)
    }

    /// A command stands in one of the queues from now on, between these two.
    #[inline(always)]
    fn begins_to_wait(&mut self, slot: &mut Slot, [prev, next]: [u32; 2]) {
        slot.state = State::Queued;
        (slot.prev, slot.next) = (prev, next);
        self.queued.commands += 1;
        self.queued.cleaning += u32::from(is_cleaning(slot.cause));
    }

    /// Gangs on the die that have not ended their work in its array or its register.
    pub fn gangs(&self) -> [u32; 3] {
        [self.array, if self.transfer == self.array { NIL } else { self.transfer }, self.suspended]
    }
}

#[derive(Clone, Debug)]
pub(super) struct Dies {
    all: Vec<Die>,
    meters: Vec<Meter>,
    /// Whether reads go first, and whether those of cleaning do.
    urgent: [bool; 2],
}

impl Index<usize> for Dies {
    type Output = Die;

    #[inline(always)]
    #[allow(unsafe_code)]
    fn index(&self, index: usize) -> &Die {
        debug_assert!(index < self.all.len(), "die {index} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked(index) }
    }
}

impl IndexMut<usize> for Dies {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn index_mut(&mut self, index: usize) -> &mut Die {
        debug_assert!(index < self.all.len(), "die {index} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked_mut(index) }
    }
}

impl Dies {
    pub fn new(geometry: &Geometry, urgent: [bool; 2]) -> Self {
        let all: Vec<_> = (0..geometry.dies()).map(|die| Die::new(geometry.channel_of(DieId(die)).0)).collect();
        Self { meters: vec![Meter::new(); all.len()], all, urgent }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Die> {
        self.all.iter()
    }

    /// The number of a die that a layer names.
    ///
    /// # Panics
    /// If there is no such die.
    pub fn number_of(&self, die: DieId) -> usize {
        assert!(die.index() < self.all.len(), "die {die} does not exist");
        die.index()
    }

    /// Time each die has been busy so far, ns.
    pub fn busy_ns(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.meters.iter().map(Meter::total)
    }

    /// For whom a die works, and has worked.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn meter(&self, index: usize) -> &Meter {
        debug_assert!(index < self.meters.len(), "die {index} does not exist");
        // SAFETY: see the module description; each die has a meter.
        unsafe { self.meters.get_unchecked(index) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn meter_mut(&mut self, index: usize) -> &mut Meter {
        debug_assert!(index < self.meters.len(), "die {index} does not exist");
        // SAFETY: see the module description; each die has a meter.
        unsafe { self.meters.get_unchecked_mut(index) }
    }

    /// The queue that a command joins by itself.
    #[inline]
    pub fn queue(&self, kind: Kind, cause: u8) -> usize {
        usize::from(kind == Kind::Read && self.urgent[usize::from(is_cleaning(cause))])
    }

    /// The queue from whose ends a command can be taken. Where it stands between others of its queue, which one that is
    /// does not matter.
    pub fn queue_of(&self, index: usize, id: u32, slot: &Slot) -> usize {
        let die = &self[index];
        let ends = [die.head[Die::CLEANING], die.tail[Die::CLEANING]];
        if ends.contains(&id) { Die::CLEANING } else { self.queue(slot.kind, slot.cause) }
    }

    /// Puts a command at the end of a queue.
    #[inline]
    pub fn link(&mut self, index: usize, queue: usize, id: u32, commands: &mut Commands) {
        let die = &mut self[index];
        let tail = die.tail[queue];
        die.begins_to_wait(commands.at(id), [tail, NIL]);
        die.tail[queue] = id;
        if tail == NIL {
            die.head[queue] = id;
        } else {
            commands.at(tail).next = id;
        }
    }

    /// Puts a command into a queue that is not empty: behind `before` or, if that is NIL, in front of all others.
    #[inline(never)]
    pub fn link_behind(&mut self, index: usize, queue: usize, before: u32, id: u32, commands: &mut Commands) {
        let die = &mut self[index];
        let next = if before == NIL { die.head[queue] } else { commands.get(before).next };
        die.begins_to_wait(commands.at(id), [before, next]);
        if before == NIL {
            die.head[queue] = id;
        } else {
            commands.at(before).next = id;
        }
        commands.at(next).prev = id; // or it would stand at the end
    }

    /// Takes the first command out of a queue that is not empty, for its die.
    #[inline(always)]
    pub fn take_first(&mut self, index: usize, queue: usize, commands: &mut Commands) -> u32 {
        let die = &mut self[index];
        let id = die.head[queue];
        let slot = commands.at(id);
        debug_assert!(slot.state == State::Queued && slot.prev == NIL, "command {id} is not the first: {slot:?}");
        slot.state = State::Active;
        let next = std::mem::replace(&mut slot.next, NIL);
        die.queued.commands -= 1;
        die.queued.cleaning -= u32::from(is_cleaning(slot.cause));
        die.head[queue] = next;
        if next == NIL {
            die.tail[queue] = NIL;
        } else {
            commands.at(next).prev = NIL;
        }
        id
    }

    /// Takes a command out of a queue: O(1).
    #[inline]
    pub fn unlink(&mut self, index: usize, queue: usize, id: u32, commands: &mut Commands) {
        let slot = commands.get(id);
        debug_assert!(slot.state == State::Queued, "command {id} is in no queue: {slot:?}");
        let (next, prev, cause) = (slot.next, slot.prev, slot.cause);
        let die = &mut self[index];
        die.queued.commands -= 1;
        die.queued.cleaning -= u32::from(is_cleaning(cause));
        if prev == NIL {
            die.head[queue] = next;
        } else {
            commands.at(prev).next = next;
        }
        if next == NIL {
            die.tail[queue] = prev;
        } else {
            commands.at(next).prev = prev;
        }
    }
}
