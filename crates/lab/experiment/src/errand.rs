//! Jobs that other processes run.

use std::collections::BTreeSet;

/// Jobs that leave this process as texts, and whose answers come back as texts. Whoever carries them knows nothing of
/// what they do; an answer that comes twice is kept once, and a job without an answer is due again the next time.
pub trait Errand: Send + Sync {
    /// How many jobs are due.
    fn len(&self) -> usize;

    /// Whether nothing is due.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of jobs whose results were there, or will never be.
    fn found(&self) -> usize;

    /// Name and text of a job, from 0.
    ///
    /// # Errors
    /// In words: there are fewer jobs, or a file that they depend on has changed.
    fn job(&self, index: usize) -> Result<(&str, String), String>;

    /// Files that jobs read, each with the hash of its bytes.
    fn files(&self) -> BTreeSet<(String, String)>;

    /// Keeps the answer to a job.
    ///
    /// # Errors
    /// In words: it is no answer, or cannot be written.
    fn keep(&self, index: usize, answer: &str) -> Result<(), String>;

    /// Whether somebody wants it to stop.
    fn is_stopped(&self) -> bool;
}
