//! A fetch: what a read needs of one group of one row, and what has arrived of it.

use layer::{OpHandle, Slots};
use nand::PayloadId;

use crate::zoned::NONE;
use units::Nanos;

/// Lists of fetches by row and group.
const BUCKETS: usize = 1024;

/// A part of an operation that waits for blocks of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub op: u32,
    /// When it began to wait, ns: later than the fetch began, if that was under way.
    pub since: Nanos,
    pub blocks: u32,
}

/// One group of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    /// Which use of the slot this is.
    pub serial: u32,
    pub zone: u32,
    pub row: u32,
    pub group: u32,
    /// Data blocks to be known: asked for, or read ahead.
    pub wanted: u32,
    /// Elements that may be used; those not among them have become stale or have no place.
    pub usable: u32,
    /// Elements that are there, on their way, and waiting for their bank.
    pub have: u32,
    pub pending: u32,
    pub gated: u32,
    /// Elements that were asked for, and that could not be read.
    pub tried: u32,
    pub failed: u32,
    /// Data blocks whose cells are filled.
    pub filled: u32,
    /// Elements to be asked for when all other groups of the read have been asked for what they need.
    pub later: u32,
    /// Something it counted on has become stale: what is on its way may not do.
    pub shaken: bool,
    /// When what arrived last was sent to its bank, ns.
    pub sent: Nanos,
    /// Data blocks written since: not to be kept, and not for later reads.
    pub outdated: u32,
    /// Stream whose buffer gets what is known, and which use of it.
    pub thread: Option<(u32, u32)>,
    /// Pages of all elements, where contents are on.
    pub cells: PayloadId,
    next: u32,
}

/// All fetches.
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

fn bucket(zone: u32, row: u32, group: u32) -> usize {
    (zone.wrapping_mul(977) ^ row.wrapping_mul(31) ^ group.wrapping_mul(7919)) as usize % BUCKETS
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

    /// Begins one.
    pub fn begin(&mut self, [zone, row, group]: [u32; 3], wanted: u32, usable: u32) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        let head = &mut self.buckets[bucket(zone, row, group)];
        let slot = self.all.insert(Fetch {
            serial: self.serial,
            zone,
            row,
            group,
            wanted,
            usable,
            have: 0,
            pending: 0,
            gated: 0,
            tried: 0,
            failed: 0,
            filled: 0,
            later: 0,
            shaken: false,
            sent: 0,
            outdated: 0,
            thread: None,
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

    /// Ends one.
    pub fn end(&mut self, slot: u32) {
        let Fetch { zone, row, group, next, .. } = self.all.remove(slot);
        let head = &mut self.buckets[bucket(zone, row, group)];
        if *head == slot {
            *head = next;
        } else {
            let mut at = *head;
            while self.at(at).next != slot {
                at = self.at(at).next;
            }
            self.at_mut(at).next = next;
        }
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

    /// Who waits for blocks of a fetch.
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

    /// Open fetches of a group of a row.
    pub fn of(&self, zone: u32, row: u32, group: u32) -> impl Iterator<Item = u32> + use<'_> {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        let all =
            std::iter::successors(some(self.buckets[bucket(zone, row, group)]), move |slot| some(self.at(*slot).next));
        all.filter(move |slot| {
            let fetch = self.at(*slot);
            (fetch.zone, fetch.row, fetch.group) == (zone, row, group)
        })
    }
}
