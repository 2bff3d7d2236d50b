//! The command in the way: each waiting nanosecond is charged to the cause that kept a die busy.
//!
//! Each die keeps the integral of its busy time by cause. A traced command copies it when it is
//! queued and subtracts when it starts, which is exact whatever happened in between and costs the
//! same for a long queue as for a short one. Next to each direct integral stands one by *root*: a
//! command queued behind another inherits that one's root, so a host command behind a host command
//! behind a collection is charged to the collection.

use crate::flash::{WaitVector, each_kind};
use units::{DIE_CAUSES, Nanos};

/// Direct and root time of each cause, side by side: the causes in use share a cache line.
type Integrals = [[Nanos; 2]; DIE_CAUSES];

/// Busy time of one die, by direct cause and by root.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    busy: Integrals,
    since: Nanos,
    occupant: Option<(u8, u8)>,
    /// Causes this die has ever worked for, directly or as a root: the others stand at zero, and most
    /// drives use two or three of ten.
    kinds: u32,
}

impl Meter {
    pub fn new() -> Self {
        Self { busy: [[0; 2]; DIE_CAUSES], since: 0, occupant: None, kinds: 0 }
    }

    /// From now on the die works for `cause`, whose root is `root`.
    #[inline]
    pub fn occupy(&mut self, now: Nanos, cause: u8, root: u8) {
        self.settle(now);
        self.since = now;
        self.occupant = Some((cause, root));
        self.kinds |= 1 << cause | 1 << root;
    }

    /// From now on the die is idle.
    #[inline]
    pub fn vacate(&mut self, now: Nanos) {
        self.settle(now);
        self.occupant = None;
    }

    /// Whether the die works.
    #[inline]
    pub fn is_occupied(&self) -> bool {
        self.occupant.is_some()
    }

    #[inline]
    fn settle(&mut self, now: Nanos) {
        if let Some((cause, root)) = self.occupant {
            let passed = now - self.since;
            self.busy[cause as usize][0] += passed;
            self.busy[root as usize][1] += passed;
            self.since = now;
        }
    }

    /// What the die works for now and for how long it has, not yet in the integrals. Readers add it
    /// themselves instead of settling first: reading a pair of numbers just written one by one stalls
    /// the processor (measured: 6 % of a simulated read).
    #[inline]
    fn running(&self, now: Nanos) -> Option<(usize, usize, Nanos)> {
        self.occupant.map(|(cause, root)| (cause as usize, root as usize, now - self.since))
    }

    /// Busy time so far, of all causes.
    pub fn total(&self) -> Nanos {
        self.busy.iter().map(|[direct, _]| direct).sum()
    }
}

/// The record of one traced command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    issued: Nanos,
    /// Causes the snapshot covers.
    kinds: u32,
    snapshot: Integrals,
    wait: WaitVector,
}

impl Trace {
    pub const NEW: Trace = Trace { issued: 0, kinds: 0, snapshot: [[0; 2]; DIE_CAUSES], wait: WaitVector::ZERO };

    #[inline]
    pub fn begin(&mut self, now: Nanos) {
        self.issued = now;
    }

    /// The command joins the queue of a busy die.
    #[inline]
    pub fn queued(&mut self, meter: &Meter, now: Nanos) {
        self.kinds = meter.kinds;
        each_kind(self.kinds, |kind| self.snapshot[kind] = meter.busy[kind]);
        if let Some((cause, root, passed)) = meter.running(now) {
            self.snapshot[cause][0] += passed;
            self.snapshot[root][1] += passed;
        }
    }

    /// The command leaves the queue. `first`: nothing was charged to it before.
    #[inline]
    pub fn started(&mut self, meter: &Meter, now: Nanos, first: bool) {
        if first && self.kinds == meter.kinds {
            each_kind(meter.kinds, |kind| {
                let passed = |by: usize| meter.busy[kind][by].wrapping_sub(self.snapshot[kind][by]);
                self.wait.entries[kind] = [passed(0), passed(1)];
            });
            self.wait.kinds = meter.kinds;
        } else {
            self.settle(meter, first);
        }
        // The sum is what counts: before this the entry of the running cause may be below zero.
        if let Some((cause, root, passed)) = meter.running(now) {
            self.wait.entries[cause][0] = self.wait.entries[cause][0].wrapping_add(passed);
            self.wait.entries[root][1] = self.wait.entries[root][1].wrapping_add(passed);
        }
    }

    /// Charges the work of a die since the snapshot, whatever was charged before and whichever causes are new.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, meter: &Meter, first: bool) {
        let charged = if first { 0 } else { self.wait.kinds };
        each_kind(meter.kinds, |kind| {
            let of = |kinds: u32, entries: &[[Nanos; 2]]| if kinds >> kind & 1 == 1 { entries[kind] } else { [0; 2] };
            // Causes that are new since the snapshot stood at zero then.
            let (before, charged) = (of(self.kinds, &self.snapshot), of(charged, &self.wait.entries));
            let passed = |by: usize| meter.busy[kind][by].wrapping_sub(before[by]);
            self.wait.entries[kind] = [0, 1].map(|by| charged[by].wrapping_add(passed(by)));
        });
        self.wait.kinds = charged | meter.kinds;
    }

    /// Makes entries valid that were not: kinds outside `wait.kinds` hold old numbers.
    #[inline(always)]
    fn clear(&mut self, kinds: u32) {
        each_kind(kinds & !self.wait.kinds, |kind| self.wait.entries[kind] = [0; 2]);
        self.wait.kinds |= kinds;
    }

    /// Charges waiting time that no die integral covers.
    #[inline]
    pub fn charge(&mut self, direct: usize, root: usize, time: Nanos, first: bool) {
        if first {
            self.wait.kinds = 0;
        }
        self.clear(1 << direct | 1 << root);
        self.wait.entries[direct][0] += time;
        self.wait.entries[root][1] += time;
    }

    pub fn wait(&self) -> &WaitVector {
        &self.wait
    }

    /// The waiting inherited by a command that waited for this one since `since`: this one's waiting, and its service
    /// as waiting behind its cause. `waited` tells whether anything was charged. A command that came later than this
    /// one waited for it from then on, and not for the commands that this one had waited for before.
    pub fn handed_on(&self, now: Nanos, [cause, root]: [u8; 2], waited: bool, since: Nanos) -> WaitVector {
        let mut wait = WaitVector::ZERO;
        let mut explained = [0; 2];
        if waited && since <= self.issued {
            wait.kinds = self.wait.kinds;
            each_kind(wait.kinds, |kind| {
                let entry = self.wait.entries[kind];
                wait.entries[kind] = entry;
                explained = [explained[0] + entry[0], explained[1] + entry[1]];
            });
        }
        wait.entries[cause as usize][0] += now - since - explained[0];
        wait.entries[root as usize][1] += now - since - explained[1];
        wait.kinds |= 1 << cause | 1 << root;
        wait
    }

    /// When the command was issued.
    pub fn issued(&self) -> Nanos {
        self.issued
    }

    /// Nothing waits longer than it takes, whichever way its waiting is charged.
    pub fn holds(&self, now: Nanos, waited: bool) -> bool {
        !waited || (0..2).all(|by| self.wait.total_of(by) <= now - self.issued)
    }

    pub fn inherit(&mut self, wait: &WaitVector) {
        self.wait = *wait;
    }
}
