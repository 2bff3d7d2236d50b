//! Commands in progress: plain records of 64 bytes in a slab, linked by 32-bit indices.
//!
//! Indices come from [`Slab::take`] alone and slots are never given back to the system, so an index
//! once valid stays valid; the two accessors rely on it and skip the bounds check (3 % of all
//! commands in steady state). Debug and test builds check.

use crate::NIL;
use units::Nanos;

/// What a command does to its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Read,
    Program,
    Copyback,
    /// Programs pages that are in memory.
    Gathered,
    Erase,
}

/// Where a command is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Free,
    /// Waits for another command.
    Waiting,
    /// Waits for its turn within its block.
    Parked,
    /// In the queue of its die.
    Queued,
    /// On its die or channel.
    Active,
    /// A program that waits for memory.
    Gathered,
    /// An erase that waits for pins.
    Pinned,
    /// A record in memory, which is told of when it is in the cells.
    Held,
    /// A failed program, back with its owner.
    Failed,
}

/// What a program writes, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    Nothing,
    Data,
    Merge,
    Copy,
    Record,
    /// A read that has its data from the controller and waits for something else to end.
    Answered,
    /// A read whose array has read again, as often as that takes.
    Retried,
}

pub(super) mod flag {
    /// `completion` is a join.
    pub const JOIN: u8 = 1;
    /// `completion` is a token for the owner.
    pub const NOTIFY: u8 = 2;
    /// Waiting times are recorded (a command of a join).
    pub const TRACED: u8 = 4;
    /// Cancelled after it had started.
    pub const WASTED: u8 = 8;
    /// The read it depends on was uncorrectable.
    pub const BASE_LOST: u8 = 16;
    /// Some waiting time was charged.
    pub const WAITED: u8 = 32;
    /// Waited for by barriers.
    pub const BARRIER: u8 = 64;
    /// Taken back while it waited for another command: it goes when that one ends.
    pub const DROPPED: u8 = 128;
}

/// One command. The order of fields keeps the record at 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Slot {
    pub sequence: u64,
    /// When it entered the queue or asked for the channel.
    pub since: Nanos,
    pub page: u32,
    pub supersedes: u32,
    pub logical: u32,
    /// Payload or record slot.
    pub payload: u32,
    pub next: u32,
    pub prev: u32,
    /// The command that waits for this one, or an edge list (high bit set), or NIL.
    pub successor: u32,
    /// Join or token.
    pub completion: u32,
    pub generation: u32,
    pub owner: u16,
    pub kind: Kind,
    pub cause: u8,
    pub root: u8,
    pub state: State,
    /// Commands this one still waits for.
    pub waits: u8,
    pub flags: u8,
    pub sectors: u8,
    pub epoch: u8,
    pub what: What,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// Pages of a program of gathered ones, which is of no logical page.
    pub fn held(&self) -> u32 {
        self.logical
    }

    /// Of such a program: it is the first of two passes.
    pub fn is_first_pass(&self) -> bool {
        self.kind == Kind::Gathered && self.sectors == 1
    }

    pub const FREE: Slot = Slot {
        sequence: 0,
        since: 0,
        page: 0,
        supersedes: NIL,
        logical: NIL,
        payload: NIL,
        next: NIL,
        prev: NIL,
        successor: NIL,
        completion: NIL,
        generation: 0,
        owner: 0,
        kind: Kind::Read,
        cause: 0,
        root: 0,
        state: State::Free,
        waits: 0,
        flags: 0,
        sectors: 0,
        epoch: 0,
        what: What::Nothing,
    };
}

/// All commands in progress.
#[derive(Clone, Debug)]
pub(super) struct Slab {
    slots: Vec<Slot>,
    free: u32,
    pub live: u32,
    /// Dependency edges beyond the first of a command: (successor, next edge).
    edges: Vec<(u32, u32)>,
    free_edge: u32,
}

const EDGE: u32 = 1 << 31;

impl Slab {
    pub fn new() -> Self {
        Self { slots: Vec::new(), free: NIL, live: 0, edges: Vec::new(), free_edge: NIL }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn get(&self, id: u32) -> &Slot {
        debug_assert!((id as usize) < self.slots.len(), "command {id} does not exist");
        // SAFETY: see the module description.
        unsafe { self.slots.get_unchecked(id as usize) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn at(&mut self, id: u32) -> &mut Slot {
        debug_assert!((id as usize) < self.slots.len(), "command {id} does not exist");
        // SAFETY: see the module description.
        unsafe { self.slots.get_unchecked_mut(id as usize) }
    }

    /// Takes a free slot, to be filled by the caller, who keeps its generation.
    #[inline(always)]
    pub fn take(&mut self) -> u32 {
        if self.free == NIL {
            self.grow();
        }
        self.live += 1;
        let id = self.free;
        self.free = self.slots[id as usize].next;
        id
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.slots.len();
        let count = first.max(256);
        assert!(first + count < EDGE as usize, "more than 2^31 commands in progress");
        self.slots.extend((first..first + count).map(|id| Slot { next: id as u32 + 1, ..Slot::FREE }));
        self.slots[first + count - 1].next = NIL;
        self.free = first as u32;
    }

    /// Slots there are, free or not.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    pub fn remove(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        debug_assert!(slot.state != State::Free, "command {id} released twice");
        slot.state = State::Free;
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = self.free;
        self.free = id;
        self.live -= 1;
    }

    /// Makes `successor` wait for `id`.
    #[inline]
    pub fn depend(&mut self, id: u32, successor: u32) {
        let first = self.slots[id as usize].successor;
        self.slots[successor as usize].waits += 1;
        if first == NIL {
            self.slots[id as usize].successor = successor;
            return;
        }
        let rest = if first & EDGE == 0 { self.edge(first, NIL) } else { first & !EDGE };
        let edge = self.edge(successor, rest);
        self.slots[id as usize].successor = edge | EDGE;
    }

    fn edge(&mut self, successor: u32, next: u32) -> u32 {
        if self.free_edge == NIL {
            self.edges.push((successor, next));
            return self.edges.len() as u32 - 1;
        }
        let edge = self.free_edge;
        self.free_edge = self.edges[edge as usize].1;
        self.edges[edge as usize] = (successor, next);
        edge
    }

    /// The command that waits for this one, if a single one does.
    pub fn only_successor(&self, id: u32) -> Option<&Slot> {
        let first = self.get(id).successor;
        (first & EDGE == 0).then(|| self.get(first))
    }

    /// Takes the next successor of a finished command.
    #[inline]
    pub fn next_successor(&mut self, id: u32) -> Option<u32> {
        let first = self.slots[id as usize].successor;
        if first == NIL {
            return None;
        }
        if first & EDGE == 0 {
            self.slots[id as usize].successor = NIL;
            return Some(first);
        }
        let edge = first & !EDGE;
        let (successor, next) = self.edges[edge as usize];
        self.edges[edge as usize].1 = self.free_edge;
        self.free_edge = edge;
        self.slots[id as usize].successor = if next == NIL { NIL } else { next | EDGE };
        Some(successor)
    }

    /// Commands that are not free, in slot order (rare paths only: faults and inspection).
    pub fn live_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Free).map(|(id, _)| id as u32)
    }
}
