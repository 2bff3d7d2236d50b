//! The block-request waist: a simulated drive, a host driver over one, later a real device.

use nand::{WaitList, WaitVector};
use units::{Nanos, Request};

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given when it was submitted.
    pub tag: u32,
    /// The request itself; `arrival` as it was submitted.
    pub request: Request,
    /// Data could not be corrected.
    pub failed: bool,
    /// Causes of its waiting since the drive took it: index into [`Completions::waits`]; `None`: for nothing.
    pub wait: Option<u32>,
    /// Time from its arrival until the drive took it.
    pub queue_ns: Nanos,
}

impl Completion {
    /// All its waiting, by direct blocker and by root cause. The rest of its latency is its service; `wait` is the
    /// entry it names.
    pub fn explained(&self, wait: Option<&WaitVector>) -> [Nanos; 2] {
        [0, 1].map(|by| wait.map_or(0, |wait| wait.total_of(by)) + self.queue_ns)
    }
}

/// Requests that have ended since the last look.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    /// In order of completion.
    pub done: Vec<Completion>,
    /// Waiting times the entries refer to.
    pub waits: WaitList,
    /// Where requests carry cells: the cells of the successful reads in `done`, one after the other, in its order.
    pub cells: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something completed, or the wake-up time came.
    Worked,
    /// Nothing is under way: without a further request nothing will ever happen.
    Idle,
}

/// Something that serves block requests in simulated time.
pub trait BlockDevice {
    /// Whether time passes at all.
    fn has_time(&self) -> bool {
        true
    }
    /// Simulated time, ns.
    fn now(&self) -> Nanos;
    /// The latest time the device can tell, ns: requests have to arrive, and be served, before.
    fn time_limit(&self) -> Nanos {
        Nanos::MAX
    }
    /// Size in sectors; requests must end within it.
    fn sectors(&self) -> u64;
    /// Takes a request now; `tag` comes back with its completion. Its arrival is in the device's time
    /// and not in the future; time since then counts as waiting in a queue.
    fn submit(&mut self, tag: u32, request: &Request);
    /// As [`BlockDevice::submit`] where requests carry cells: those of a write, as many bytes a sector as contents
    /// have. A drive takes none at all for zeros.
    fn submit_cells(&mut self, tag: u32, request: &Request, cells: &[u8]) {
        assert!(cells.is_empty(), "this device carries no cells");
        self.submit(tag, request);
    }
    /// Serves the first requests of a list to their ends, one after the other, where no time passes. Returns how many;
    /// nothing tells of their completion. The next one takes the way of [`BlockDevice::submit`].
    fn serve_at_once(&mut self, _requests: &[Request]) -> usize {
        0
    }
    /// Lets time pass until something completes or the wake-up time comes.
    fn advance(&mut self, completions: &mut Completions) -> Progress;
    /// Asks [`BlockDevice::advance`] to return at `time`.
    fn wake_at(&mut self, time: Nanos);
    /// Announces requests: `soon` further ahead than `next`. Changes nothing but speed.
    fn hint(&self, soon: &[Request], next: &[Request]);
}
