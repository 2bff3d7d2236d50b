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
}

impl Meter {
    pub fn new() -> Self {
        Self { busy: [0; LANES], since: 0, occupant: None }
    }

    /// From now on the die works for `cause`, whose root is `root`.
    #[inline]
    pub fn occupy(&mut self, now: Nanos, cause: u8, root: u8) {
        self.settle(now);
        self.since = now;
        self.occupant = Some((cause, root));
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
    snapshot: [Nanos; LANES],
    wait: WaitVector,
}

impl Trace {
    pub const NEW: Trace = Trace { issued: 0, snapshot: [0; LANES], wait: WaitVector::ZERO };

    #[inline]
    pub fn begin(&mut self, now: Nanos) {
        self.issued = now;
    }

    /// The command joins the queue of a busy die.
    #[inline]
    pub fn queued(&mut self, meter: &mut Meter, now: Nanos) {
        meter.settle(now);
        self.snapshot = meter.busy;
    }

    /// The command leaves the queue. `first`: nothing was charged to it before.
    #[inline]
    pub fn started(&mut self, meter: &mut Meter, now: Nanos, first: bool) {
        meter.settle(now);
        if first {
            self.wait = WaitVector::ZERO;
        }
        for index in 0..DIE_CAUSES {
            self.wait.direct[index] += meter.busy[index] - self.snapshot[index];
            self.wait.root[index] += meter.busy[DIE_CAUSES + index] - self.snapshot[DIE_CAUSES + index];
        }
    }

    /// Charges waiting time that no die integral covers.
    #[inline]
    pub fn charge(&mut self, direct: usize, root: usize, time: Nanos, first: bool) {
        if first {
            self.wait = WaitVector::ZERO;
        }
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
        let mut wait = if waited { self.wait } else { WaitVector::ZERO };
        let waiting: Nanos = wait.direct.iter().sum();
        let service = (now - self.issued).saturating_sub(waiting);
        wait.direct[cause as usize] += service;
        wait.root[root as usize] += service;
        wait
    }

    pub fn inherit(&mut self, wait: WaitVector) {
        self.wait = wait;
    }
}
