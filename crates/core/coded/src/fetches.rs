//! A fetch: the blocks that a read needs of one group of one row, and the blocks that have arrived.

use crate::base::NONE;
use crate::group::{Elements, GroupAt};
use layer::{OpHandle, Slots};
use nand::PayloadId;
use units::Nanos;

/// Lists of fetches by row and group.
const BUCKETS: usize = 1024;

/// A part of an operation that waits for blocks of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub op: u32,
    /// When it began to wait, ns: later than the fetch began, if that was under way.
    pub since: Nanos,
    pub blocks: Elements,
}

/// A use of an entry of the table of streams: the entry may be another stream's by now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamUse {
    pub index: u32,
    pub serial: u32,
}

/// The blocks to read of one group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    /// Which use of the slot this is.
    pub serial: u32,
    pub at: GroupAt,
    /// Data blocks to be known: asked for, or read ahead.
    pub wanted: Elements,
    /// Elements that may be used; those not among them have become stale or have no place.
    pub usable: Elements,
    /// Elements that are there, on their way, and waiting for their bank.
    pub have: Elements,
    pub pending: Elements,
    pub gated: Elements,
    /// Elements that were asked for, and that could not be read.
    pub tried: Elements,
    pub failed: Elements,
    /// Data blocks whose cells are filled.
    pub filled: Elements,
    /// Elements to be asked for when all other groups of the read have been asked for what they need.
    pub later: Elements,
    /// Something it counted on has become stale: the elements on their way may not do.
    pub shaken: bool,
    /// When what arrived last was sent to its bank, ns.
    pub last_sent: Nanos,
    /// Data blocks written since: not to be kept, and not for later reads.
    pub outdated: Elements,
    /// Stream whose buffer gets what is known.
    pub stream: Option<StreamUse>,
    /// Pages of all elements, where contents are on.
    pub cells: PayloadId,
    next: u32,
}

impl Fetch {
    /// Elements that will be there, now or later.
    #[inline]
    pub fn coming(&self) -> Elements {
        self.pending | self.gated
    }

    /// Each element is in one place, and nothing comes that was not asked for.
    pub fn keeps_its_law(&self) -> bool {
        let apart = self.have.is_disjoint(self.coming()) && self.pending.is_disjoint(self.gated);
        apart && self.coming().is_within(self.tried) && self.failed.is_within(self.tried)
    }
}

#[derive(Debug)]
pub(crate) struct Fetches {
    all: Slots<Fetch>,
    /// Who waits for blocks of each fetch.
    waiters: Vec<Vec<Waiter>>,
    handles: Vec<OpHandle>,
    /// When each element was sent to its bank, ns.
    sent: Vec<Nanos>,
    buckets: Vec<u32>,
    elements: u32,
    serial: u32,
}

fn bucket(at: GroupAt) -> usize {
    (at.zone.wrapping_mul(977) ^ at.row.wrapping_mul(31) ^ at.group.wrapping_mul(7919)) as usize % BUCKETS
}

impl Fetches {
    pub fn new(elements: u32) -> Self {
        Self {
            all: Slots::default(),
            waiters: Vec::new(),
            handles: Vec::new(),
            sent: Vec::new(),
            buckets: vec![NONE; BUCKETS],
            elements,
            serial: 0,
        }
    }

    pub fn begin(&mut self, at: GroupAt, wanted: Elements, usable: Elements) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        let head = &mut self.buckets[bucket(at)];
        let slot = self.all.insert(Fetch {
            serial: self.serial,
            at,
            wanted,
            usable,
            have: Elements::NONE,
            pending: Elements::NONE,
            gated: Elements::NONE,
            tried: Elements::NONE,
            failed: Elements::NONE,
            filled: Elements::NONE,
            later: Elements::NONE,
            shaken: false,
            last_sent: 0,
            outdated: Elements::NONE,
            stream: None,
            cells: PayloadId::NONE,
            next: *head,
        });
        *head = slot;
        let slots = self.all.numbers();
        if slots > self.waiters.len() {
            self.waiters.resize_with(slots, Vec::new);
            self.handles.resize(slots * self.elements as usize, OpHandle(None));
            self.sent.resize(self.handles.len(), 0);
        }
        self.waiters[slot as usize].clear();
        slot
    }

    pub fn end(&mut self, slot: u32) {
        let Fetch { at, next, .. } = self.all.remove(slot);
        let head = bucket(at);
        if self.buckets[head] == slot {
            self.buckets[head] = next;
            return;
        }
        let mut before = self.buckets[head];
        while self.at(before).next != slot {
            before = self.at(before).next;
        }
        self.at_mut(before).next = next;
    }

    /// No fetch is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.all.is_empty()
    }

    /// A fetch that has not ended.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Fetch> {
        self.all.get(slot)
    }

    #[inline]
    pub fn at(&self, slot: u32) -> &Fetch {
        self.all.at(slot)
    }

    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> &mut Fetch {
        self.all.at_mut(slot)
    }

    /// The reads that wait for blocks of a fetch.
    #[inline]
    pub fn waiters(&mut self, slot: u32) -> &mut Vec<Waiter> {
        &mut self.waiters[slot as usize]
    }

    pub fn handle(&self, slot: u32, element: u32) -> OpHandle {
        self.handles[(slot * self.elements + element) as usize]
    }

    pub fn set_handle(&mut self, slot: u32, element: u32, handle: OpHandle) {
        self.handles[(slot * self.elements + element) as usize] = handle;
    }

    /// An element is sent to its bank.
    pub fn note_sent(&mut self, slot: u32, element: u32, now: Nanos) {
        self.sent[(slot * self.elements + element) as usize] = now;
    }

    /// When an element was sent to its bank.
    pub fn sent(&self, slot: u32, element: u32) -> Nanos {
        self.sent[(slot * self.elements + element) as usize]
    }

    /// Open fetches of a group.
    pub fn of(&self, at: GroupAt) -> impl Iterator<Item = u32> + use<'_> {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        let all = std::iter::successors(some(self.buckets[bucket(at)]), move |slot| some(self.at(*slot).next));
        all.filter(move |slot| self.at(*slot).at == at)
    }
}
