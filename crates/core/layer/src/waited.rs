//! Waiting of a request inside a layer, in addition to the waiting of its commands on flash.
//!
//! Time in a line or at the gate is waiting in a queue; time without room below is waiting for space. Of the commands
//! of a step the one that ends last says what it waited for.

use nand::WaitVector;
use units::{Nanos, Wait};

/// Waiting of one write, ns.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// When it was accepted.
    pub began: Nanos,
    /// When it last began to wait.
    pub since: Nanos,
    /// In lines, and at the gate.
    pub queue: Nanos,
    /// Time for which the operation waited for room, ns.
    pub space: Nanos,
    /// Its steps on flash.
    pub steps: WaitVector,
}

impl Waited {
    /// Nothing yet, from the beginning of time.
    pub const NOTHING: Self = Self { began: 0, since: 0, queue: 0, space: 0, steps: WaitVector::ZERO };

    /// The commands of a step are done.
    pub fn add_step(&mut self, wait: &WaitVector) {
        add(&mut self.steps, wait);
    }

    /// The wait of each kind until `now`, ns.
    pub fn in_all(&self, now: Nanos) -> WaitVector {
        let mut sum = self.steps;
        charge(&mut sum, Wait::Queue, self.queue);
        charge_space(&mut sum, self.space, now - self.began);
        sum
    }
}

/// Charges the time without room, `space` out of `all`, to other causes than commands. An operation may wait for room
/// while commands are under way; the time that these explain is charged to them. No time is charged twice.
pub fn charge_space(wait: &mut WaitVector, space: Nanos, all: Nanos) {
    let unexplained = all.saturating_sub(wait.total());
    charge(wait, Wait::Space, space.min(unexplained));
}

/// Charges time to something that is both what was in the way and why.
pub fn charge(wait: &mut WaitVector, kind: Wait, time: Nanos) {
    if time > 0 {
        add_kind(wait, kind.index(), [time; 2]);
    }
}

fn add(sum: &mut WaitVector, wait: &WaitVector) {
    let mut kinds = wait.kinds;
    while kinds != 0 {
        let kind = kinds.trailing_zeros() as usize;
        kinds &= kinds - 1;
        add_kind(sum, kind, wait.entries[kind]);
    }
}

fn add_kind(sum: &mut WaitVector, kind: usize, time: [Nanos; 2]) {
    let before = if sum.kinds >> kind & 1 == 1 { sum.entries[kind] } else { [0; 2] };
    sum.entries[kind] = [before[0] + time[0], before[1] + time[1]];
    sum.kinds |= 1 << kind;
}
