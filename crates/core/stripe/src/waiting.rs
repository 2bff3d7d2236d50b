//! Jobs that wait for an entry of the cache, and commits that make entries free for them.

use std::collections::VecDeque;

/// See the module description.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    jobs: VecDeque<u32>,
    /// Of those, the ones whose stripe will stay in the cache.
    delayed: u32,
    /// Commits under way to make entries free.
    replacing: u32,
}

impl Waiting {
    /// A job waits; `transient`: its stripe leaves the cache with it.
    pub fn push(&mut self, job: u32, transient: bool) {
        self.jobs.push_back(job);
        self.delayed += u32::from(!transient);
    }

    /// The job that has waited longest.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.jobs.front().copied()
    }

    /// The first job need not wait any more.
    pub fn leave(&mut self, transient: bool) {
        self.jobs.pop_front();
        self.delayed -= u32::from(!transient);
    }

    /// No job need wait any more: each looks for an entry again.
    pub fn leave_all(&mut self) -> VecDeque<u32> {
        self.delayed = 0;
        std::mem::take(&mut self.jobs)
    }

    /// Commits that are to be begun, so that there is one for each job whose stripe will stay.
    pub fn missing(&self) -> u32 {
        self.delayed.saturating_sub(self.replacing)
    }

    /// Such a commit begins.
    pub fn begin_commit(&mut self) {
        self.replacing += 1;
    }

    pub fn end_commit(&mut self) {
        self.replacing -= 1;
    }

    /// Checks its law.
    ///
    /// # Errors
    /// More jobs are counted than wait.
    pub fn check(&self) -> Result<(), String> {
        if self.delayed as usize <= self.jobs.len() {
            return Ok(());
        }
        Err(format!("{} jobs wait for an entry, and of those {} for one to stay", self.jobs.len(), self.delayed))
    }
}
