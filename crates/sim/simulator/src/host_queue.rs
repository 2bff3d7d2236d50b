//! The root cause of waiting in the host's queue.
//!
//! A request stands there because all places of the drive are taken, so it waits for whatever the requests at these
//! places wait for. While the drive is full, the time that each served request spent inside of it is added up by root
//! cause; older times count for less, by half after as long as the last request took from its arrival on, which is
//! about how long those behind it have been standing. A request that stood in the queue gets that time in the same
//! proportions. The time that requests ahead spent on their own commands stays with the queue: there, the drive was
//! given more than it can serve. Requests that a driver of the host holds back wait in the same way.

use crate::block_device::Completion;
use nand::WaitVector;
use units::{Nanos, WAIT_KINDS, Wait};

/// Time by root cause, ns, indexed by [`Wait::index`].
pub(crate) type ByRoot = [Nanos; WAIT_KINDS];

const QUEUE: usize = Wait::Queue.index();

/// Recent causes of delay of the requests at the places of a full drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostQueue {
    /// Time inside of the drive by root cause, ns; older times count for less.
    spent: [f64; WAIT_KINDS],
    /// When the last request was served that counts here.
    since: Nanos,
    /// Time in the queue of the request that left last, by root cause.
    last: ByRoot,
}

impl HostQueue {
    /// A request came and went that stood in no queue, on a drive that had room: nobody waits for a place.
    #[inline]
    pub fn has_room(&mut self) {
        if self.since != 0 {
            *self = Self::default();
        }
    }

    /// A request left the drive at `now`, after `latency`: the drive was full, or had been when the request was taken.
    /// The request's own time in the queue by root cause.
    pub fn left(&mut self, completion: &Completion, wait: Option<&WaitVector>, now: Nanos, latency: Nanos) -> &ByRoot {
        self.last = self.shared_out(completion.queue_ns);
        let passed = (now - self.since) as f64;
        let kept = latency as f64 / (latency as f64 + passed).max(1.0);
        self.since = now;
        for spent in &mut self.spent {
            *spent *= kept;
        }
        if let Some(wait) = wait {
            for (kind, spent) in self.spent.iter_mut().enumerate().filter(|(kind, _)| wait.kinds >> kind & 1 == 1) {
                *spent += wait.entries[kind][1] as f64;
            }
        }
        self.spent[QUEUE] += (latency - completion.explained(wait)[1]) as f64;
        &self.last
    }

    fn shared_out(&self, queue: Nanos) -> ByRoot {
        let mut roots = [0; WAIT_KINDS];
        let all: f64 = self.spent.iter().sum();
        if queue > 0 && all > 0.0 {
            roots = self.spent.map(|spent| (queue as f64 * (spent / all)) as Nanos);
            roots[QUEUE] = 0;
        }
        roots[QUEUE] = queue.saturating_sub(roots.iter().sum());
        roots
    }
}
