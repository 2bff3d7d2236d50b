//! A fetch: what a read needs of one group of one row, and what has arrived of it.

use layer::OpHandle;
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
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    /// Which use of the slot this is.
    pub serial: u32,
    pub open: bool,
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
    pub waiters: Vec<Waiter>,
    /// Stream whose buffer gets what is known, and which use of it.
    pub thread: Option<(u32, u32)>,
    /// Pages of all elements, where contents are on.
    pub cells: PayloadId,
    next: u32,
}

/// All fetches.
#[derive(Debug)]
pub(crate) struct Fetches {
    all: Vec<Fetch>,
    free: Vec<u32>,
    handles: Vec<OpHandle>,
    /// When each element was sent to its bank, ns.
    sent: Vec<Nanos>,
    buckets: Vec<u32>,
    elements: u32,
    serial: u32,
    pub open: u32,
}

fn bucket(zone: u32, row: u32, group: u32) -> usize {
    (zone.wrapping_mul(977) ^ row.wrapping_mul(31) ^ group.wrapping_mul(7919)) as usize % BUCKETS
}

impl Fetches {
    pub fn new(elements: u32) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            handles: Vec::new(),
            sent: Vec::new(),
            buckets: vec![NONE; BUCKETS],
            elements,
            serial: 0,
            open: 0,
        }
    }

    /// Begins one.
    pub fn begin(&mut self, [zone, row, group]: [u32; 3], wanted: u32, usable: u32) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.open += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.all.push(Fetch {
                serial: 0,
                open: false,
                zone: 0,
                row: 0,
                group: 0,
                wanted: 0,
                usable: 0,
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
                waiters: Vec::new(),
                thread: None,
                cells: PayloadId::NONE,
                next: NONE,
            });
            self.handles.resize(self.all.len() * self.elements as usize, OpHandle(None));
            self.sent.resize(self.handles.len(), 0);
            self.all.len() as u32 - 1
        });
        let head = &mut self.buckets[bucket(zone, row, group)];
        let next = std::mem::replace(head, slot);
        let fetch = &mut self.all[slot as usize];
        (fetch.serial, fetch.open, fetch.next) = (self.serial, true, next);
        (fetch.zone, fetch.row, fetch.group, fetch.wanted, fetch.usable) = (zone, row, group, wanted, usable);
        (fetch.have, fetch.pending, fetch.gated, fetch.tried, fetch.failed) = (0, 0, 0, 0, 0);
        (fetch.filled, fetch.outdated, fetch.thread) = (0, 0, None);
        (fetch.later, fetch.shaken) = (0, false);
        fetch.waiters.clear();
        slot
    }

    /// Ends one.
    pub fn end(&mut self, slot: u32) {
        let Fetch { zone, row, group, next, .. } = self.all[slot as usize];
        let head = &mut self.buckets[bucket(zone, row, group)];
        if *head == slot {
            *head = next;
        } else {
            let mut at = *head;
            while self.all[at as usize].next != slot {
                at = self.all[at as usize].next;
            }
            self.all[at as usize].next = next;
        }
        self.all[slot as usize].open = false;
        self.free.push(slot);
        self.open -= 1;
    }

    #[inline]
    pub fn at(&self, slot: u32) -> &Fetch {
        &self.all[slot as usize]
    }

    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> &mut Fetch {
        &mut self.all[slot as usize]
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
