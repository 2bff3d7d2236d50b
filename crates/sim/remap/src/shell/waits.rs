//! Waiting jobs: requests that are not begun, and writes of pages behind others of the same page.
//!
//! Protects: writes of a page are done in the order in which they came.

use crate::shell::request::{HeldBack, Job};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Pages that have writes waiting, oldest first.
    locks: BTreeMap<u32, VecDeque<Job>>,
    /// Of these pages, those that wait only for room.
    ready: VecDeque<u32>,
    /// Requests that are not begun.
    pub held: VecDeque<HeldBack>,
}

impl Waits {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Nothing waits for room, or to be begun.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.held.is_empty()
    }

    /// Pages that have writes waiting.
    pub fn pages(&self) -> usize {
        self.locks.len()
    }

    /// The jobs in a range.
    pub fn pages_in(&self, pages: Range<u32>) -> impl Iterator<Item = u32> {
        self.locks.range(pages).map(|(page, _)| *page)
    }

    pub fn is_locked(&self, page: u32) -> bool {
        self.locks.contains_key(&page)
    }

    /// A job waits behind the jobs of its page.
    pub fn push(&mut self, page: u32, job: Job) {
        self.locks.entry(page).or_default().push_back(job);
    }

    /// The job of a page that is next.
    pub fn first(&self, page: u32) -> Option<&Job> {
        self.locks.get(&page).and_then(VecDeque::front)
    }

    pub fn first_mut(&mut self, page: u32) -> Option<&mut Job> {
        self.locks.get_mut(&page).and_then(VecDeque::front_mut)
    }

    /// Takes the job of a page that is next. The page stays locked until [`Waits::unlock`].
    pub fn pop(&mut self, page: u32) -> Job {
        self.locks.get_mut(&page).and_then(VecDeque::pop_front).expect("a page that waits has a job")
    }

    pub fn unlock(&mut self, page: u32) {
        let jobs = self.locks.remove(&page);
        debug_assert!(jobs.is_none_or(|jobs| jobs.is_empty()), "page {page} is unlocked when nothing waits for it");
    }

    /// The next job of this page waits only for room.
    pub fn set_ready(&mut self, page: u32) {
        self.ready.push_back(page);
    }

    /// A page that waits only for room.
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Bytes of requests that are not begun.
    pub fn held_bytes(&self) -> usize {
        self.held.iter().map(|held| held.data.len()).sum()
    }
}
