//! Jobs that other processes run.

use crate::monitor::Monitor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Jobs that leave this process as texts, and whose answers come back as texts. The carrier does not know their
/// contents; an answer that comes twice is kept once, and a job without an answer is due again the next time.
pub trait Errand: Send + Sync {
    /// How many jobs there are, and who watches them.
    fn watched(&self) -> &Watched;

    /// How many jobs are due.
    fn len(&self) -> usize {
        self.watched().due
    }

    /// Whether nothing is due.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of jobs whose results were there, or will never be.
    fn found(&self) -> usize {
        self.watched().found
    }

    /// Whether somebody wants it to stop.
    fn is_stopped(&self) -> bool {
        self.watched().monitor.is_stopped()
    }

    /// Name and text of a job, from 0.
    ///
    /// # Errors
    /// In words: there are fewer jobs, or a file that they depend on has changed.
    fn job(&self, index: usize) -> Result<(String, String), String>;

    /// Files that jobs read, each with the hash of its bytes.
    fn files(&self) -> BTreeSet<(String, String)>;

    /// Keeps the answer to a job.
    ///
    /// # Errors
    /// In words: it is no answer, or cannot be written.
    fn keep(&self, index: usize, answer: &str) -> Result<(), String>;
}

/// How many jobs an errand has, and its monitor.
pub struct Watched {
    due: usize,
    found: usize,
    /// A listener that is told of jobs, and may keep their answers.
    pub monitor: Arc<dyn Monitor + Send + Sync>,
}

impl Watched {
    /// So many jobs are due, and so many need not be run; the monitor is told.
    pub fn begin(due: usize, found: usize, monitor: Arc<dyn Monitor + Send + Sync>) -> Self {
        monitor.expect(found + due);
        monitor.found(found);
        Self { due, found, monitor }
    }

    /// The job of an index.
    ///
    /// # Errors
    /// In words: there are fewer jobs.
    pub fn job<'a, J>(&self, due: &'a [J], index: usize) -> Result<&'a J, String> {
        due.get(index).ok_or_else(|| format!("there is no job {index} among {}", self.due))
    }
}
