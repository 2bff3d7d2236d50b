//! Who was in the way: each waiting nanosecond is charged to the cause that kept a die busy.
//!
//! Each die keeps the integral of its busy time by cause. A traced command copies it when it is
//! queued and subtracts when it starts, which is exact whatever happened in between and costs the
//! same for a long queue as for a short one. Next to each direct integral stands one by *root*: a
//! command queued behind another inherits that one's root, so a host command behind a host command
//! behind a collection is charged to the collection.

use crate::flash::WaitVector;
use units::{DIE_CAUSES, Nanos, Wait};

const LANES: usize = 2 * DIE_CAUSES;

/// Busy time of one die, by direct cause and by root.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    busy: [Nanos; LANES],
    since: Nanos,
    occupant: Option<(u8, u8)>,
    /// Causes this die has ever worked for, directly or as a root: the others stand at zero, and most
    /// drives use two or three of ten.
    kinds: u32,
}

impl Meter {
    pub fn new() -> Self {
        Self { busy: [0; LANES], since: 0, occupant: None, kinds: 0 }
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

    #[inline]
    fn settle(&mut self, now: Nanos) {
        if let Some((cause, root)) = self.occupant {
            let passed = now - self.since;
            self.busy[cause as usize] += passed;
            self.busy[DIE_CAUSES + root as usize] += passed;
            self.since = now;
        }
    }

    /// Busy time so far, of all causes.
    pub fn total(&self) -> Nanos {
        self.busy[..DIE_CAUSES].iter().sum()
    }
}

/// What is recorded of one traced command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    issued: Nanos,
    /// Causes the snapshot covers.
    kinds: u32,
    snapshot: [Nanos; LANES],
    wait: WaitVector,
}

#[inline(always)]
fn each_kind(mut kinds: u32, mut action: impl FnMut(usize)) {
    while kinds != 0 {
        action(kinds.trailing_zeros() as usize);
        kinds &= kinds - 1;
    }
}

impl Trace {
    pub const NEW: Trace = Trace { issued: 0, kinds: 0, snapshot: [0; LANES], wait: WaitVector::ZERO };

    #[inline]
    pub fn begin(&mut self, now: Nanos) {
        self.issued = now;
    }

    /// The command joins the queue of a busy die.
    #[inline]
    pub fn queued(&mut self, meter: &mut Meter, now: Nanos) {
        meter.settle(now);
        self.kinds = meter.kinds;
        each_kind(self.kinds, |kind| {
            self.snapshot[kind] = meter.busy[kind];
            self.snapshot[DIE_CAUSES + kind] = meter.busy[DIE_CAUSES + kind];
        });
    }

    /// The command leaves the queue. `first`: nothing was charged to it before.
    #[inline]
    pub fn started(&mut self, meter: &mut Meter, now: Nanos, first: bool) {
        meter.settle(now);
        if first {
            self.wait.kinds = 0;
        }
        // Causes that are new since the snapshot stood at zero then.
        each_kind(meter.kinds & !self.kinds, |kind| {
            self.snapshot[kind] = 0;
            self.snapshot[DIE_CAUSES + kind] = 0;
        });
        self.clear(meter.kinds);
        each_kind(meter.kinds, |kind| {
            self.wait.direct[kind] += meter.busy[kind] - self.snapshot[kind];
            self.wait.root[kind] += meter.busy[DIE_CAUSES + kind] - self.snapshot[DIE_CAUSES + kind];
        });
    }

    /// Makes entries valid that were not: kinds outside `wait.kinds` hold old numbers.
    #[inline(always)]
    fn clear(&mut self, kinds: u32) {
        each_kind(kinds & !self.wait.kinds, |kind| {
            self.wait.direct[kind] = 0;
            self.wait.root[kind] = 0;
        });
        self.wait.kinds |= kinds;
    }

    /// Charges waiting time that no die integral covers.
    #[inline]
    pub fn charge(&mut self, direct: usize, root: usize, time: Nanos, first: bool) {
        if first {
            self.wait.kinds = 0;
        }
        self.clear(1 << direct | 1 << root);
        self.wait.direct[direct] += time;
        self.wait.root[root] += time;
    }

    #[inline]
    pub fn charge_bus(&mut self, time: Nanos, first: bool) {
        self.charge(Wait::Bus.index(), Wait::Bus.index(), time, first);
    }

    pub fn wait(&self) -> &WaitVector {
        &self.wait
    }

    /// What a command that waited for this one inherits: its waiting, and its service as waiting
    /// behind its cause. `waited` tells whether anything was charged.
    pub fn handed_on(&self, now: Nanos, cause: u8, root: u8, waited: bool) -> WaitVector {
        let mut wait = WaitVector::ZERO;
        if waited {
            wait.kinds = self.wait.kinds;
            each_kind(wait.kinds, |kind| {
                wait.direct[kind] = self.wait.direct[kind];
                wait.root[kind] = self.wait.root[kind];
            });
        }
        let waiting: Nanos = wait.direct.iter().sum();
        let service = (now - self.issued).saturating_sub(waiting);
        wait.direct[cause as usize] += service;
        wait.root[root as usize] += service;
        wait.kinds |= 1 << cause | 1 << root;
        wait
    }

    pub fn inherit(&mut self, wait: WaitVector) {
        self.wait = wait;
    }
}
