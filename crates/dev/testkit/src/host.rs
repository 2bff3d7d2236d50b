//! A random host: hot overwrites, partial pages, trims, flushes and reads at a queue depth.

use engine::random::Stream;
use simulator::{BlockDevice, Clocked, Drive};
use units::{HostOp, Request};

/// The habits of a random host.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Requests under way at once.
    pub depth: u32,
    /// Shares of reads, trims and flushes; the rest are writes.
    pub reads: f64,
    /// Share of trims among the requests, 0 to 1.
    pub trims: f64,
    /// Share of flushes among the requests, 0 to 1.
    pub flushes: f64,
    /// Share of requests that go to the hot eighth of the drive.
    pub hot: f64,
    /// Longest request, in pages.
    pub longest_pages: u64,
    /// Share of requests that cover whole pages.
    pub aligned: f64,
    /// Chance after each request that the host lets the drive run dry first.
    pub pauses: f64,
}

impl Habits {
    pub fn draw(stream: &mut Stream) -> Self {
        let mut pick = |values: &[f64]| values[stream.below(values.len() as u64) as usize];
        let mut habits = Self {
            depth: 1,
            reads: pick(&[0.0, 0.1, 0.3]),
            trims: pick(&[0.0, 0.05, 0.15, 0.3]),
            flushes: pick(&[0.0, 0.02, 0.1]),
            hot: pick(&[0.0, 0.5, 0.9]),
            longest_pages: 1,
            aligned: pick(&[0.0, 0.5, 1.0]),
            pauses: pick(&[0.0, 0.0, 0.01, 0.1]),
        };
        habits.depth = 1 + stream.below(16) as u32;
        habits.longest_pages = 1 + stream.below(4);
        habits
    }
}

/// A host that keeps a drive busy.
#[derive(Clone, Debug)]
pub struct Host {
    habits: Habits,
    stream: Stream,
    outstanding: u32,
    pausing: bool,
    /// Requests submitted so far.
    pub submitted: u64,
    /// Requests completed so far.
    pub completed: u64,
    /// Requests that ended with an error.
    pub failed: u64,
}

impl Host {
    /// A host with these habits.
    pub fn new(habits: Habits, seed: u64) -> Self {
        Self {
            habits,
            stream: Stream::new(seed, "testkit.host"),
            outstanding: 0,
            pausing: false,
            submitted: 0,
            completed: 0,
            failed: 0,
        }
    }

    /// The next request for a drive of `sectors` with pages of `per_page`.
    pub fn request(&mut self, sectors: u64, per_page: u64) -> Request {
        let Habits { reads, trims, flushes, hot, longest_pages, aligned, .. } = self.habits;
        let stream = &mut self.stream;
        let dice = stream.unit();
        let op = match dice {
            dice if dice < flushes => HostOp::Flush,
            dice if dice < flushes + trims => HostOp::Trim,
            dice if dice < flushes + trims + reads => HostOp::Read,
            _ => HostOp::Write,
        };
        if op == HostOp::Flush {
            return Request { arrival: 0, first_sector: 0, sectors: 0, op, fua: false };
        }
        let space = if stream.chance(hot) { (sectors / 8).max(per_page) } else { sectors };
        let whole = stream.chance(aligned);
        let mut first = stream.below(space);
        let mut count = 1 + stream.below(longest_pages * per_page);
        if whole || op == HostOp::Trim && stream.chance(0.7) {
            first -= first % per_page;
            count = count.next_multiple_of(per_page);
        }
        let count = count.min(sectors - first) as u32;
        Request { arrival: 0, first_sector: first, sectors: count, op, fua: stream.chance(0.05) }
    }

    /// Submits until the queue is full, or nothing while it pauses.
    pub fn fill<F: Clocked>(&mut self, drive: &mut Drive<F>, per_page: u64) {
        if self.pausing && self.outstanding > 0 {
            return;
        }
        self.pausing = false;
        while self.outstanding < self.habits.depth && !self.pausing {
            let request = self.request(drive.sectors(), per_page);
            self.outstanding += 1;
            self.submitted += 1;
            drive.submit(0, &request);
            self.pausing = self.stream.chance(self.habits.pauses);
        }
    }

    pub fn completed(&mut self, failed: bool) {
        self.outstanding -= 1;
        self.completed += 1;
        self.failed += u64::from(failed);
    }

    /// Requests submitted and not completed.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Power was cut: nobody waits for anything any more.
    pub fn forget(&mut self) {
        self.outstanding = 0;
        self.pausing = false;
    }
}
