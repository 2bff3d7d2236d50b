//! A watcher of jobs, which may stop them.

/// Watches jobs, from several threads, and may stop them. By itself it sees nothing, stops nothing and keeps nothing.
pub trait Monitor: Sync {
    /// There are this many jobs.
    fn expect(&self, _jobs: usize) {}
    /// This many of them need not be run: what they give is kept, or known.
    fn found(&self, _jobs: usize) {}
    /// The name of a job among all jobs, where those that are seen here are a part of them.
    fn full_name(&self, name: &str) -> String {
        name.to_owned()
    }
    /// A job has ended: its name, and how in a word.
    fn ended(&self, _name: &str, _how: &str) {}
    /// Whether jobs are to end soon, and no others to begin.
    fn is_stopped(&self) -> bool {
        false
    }
    /// Seconds since any fixed moment.
    fn seconds(&self) -> f64 {
        0.0
    }
    /// What [`Monitor::keep`] was given under this name in work that was stopped.
    fn recall(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }
    /// A job gave this: later work may recall it.
    fn keep(&self, _name: &str, _given: &[u8]) {}
    /// Which of the jobs that are due are run here.
    fn shard(&self) -> Shard {
        Shard::ALL
    }
    /// Whether a job that is due, and of the shard, is run here.
    fn is_here(&self, _name: &str) -> bool {
        true
    }
    /// How many jobs may run at once; `None`: one for each core.
    fn threads(&self) -> Option<usize> {
        None
    }
}

impl Monitor for () {}

/// A part of some jobs: every `count`-th, from `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 0.
    pub index: usize,
    /// How many parts there are.
    pub count: usize,
}

impl Shard {
    /// All of them: one part of one.
    pub const ALL: Shard = Shard { index: 0, count: 1 };

    /// Whether the job of this number is in it.
    pub fn has(self, number: usize) -> bool {
        number % self.count == self.index
    }
}
