//! The log of faults of a served drive: in a file, and the last entries for those who ask.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Entries that are kept in memory.
const MOST_KEPT: usize = 1 << 16;
/// Most entries of an answer.
const MOST_TOLD: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    file: Option<(PathBuf, Arc<OnceLock<File>>)>,
    /// Why the file ended before the server did.
    failed: Option<String>,
    /// Entries, each a line of JSON.
    kept: VecDeque<String>,
    /// Entries before those that are kept.
    gone: u64,
}

impl FaultLog {
    pub fn write_to(&mut self, path: PathBuf, file: Arc<OnceLock<File>>) {
        self.file = Some((path, file));
    }

    /// Adds an entry. A disk that is full ends the file, not the server.
    pub fn note(&mut self, line: String) {
        if self.failed.is_none()
            && let Some((path, file)) = &self.file
            && let Some(Err(error)) = file.get().map(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        {
            tracing::warn!("the log of faults ends here, and the server continues: {error}");
            let path = path.display();
            self.failed = Some(format!("{path}: the log of faults is not whole: {error}; make room, or log elsewhere"));
        }
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
            self.gone += 1;
        }
        self.kept.push_back(line);
    }

    /// Errors: in words: some entries are not in the file.
    pub fn finish(&mut self) -> Result<(), String> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Answers to `fault-log`, with the entries from the one with a number on.
    /// Errors: the number is none.
    pub fn told(&self, from: &str) -> Result<Value, String> {
        let from = if from.is_empty() { Ok(0) } else { from.parse::<u64>() };
        let from =
            from.map_err(|_| "the first entry is a whole number from 0, for example `fault-log 100`".to_owned())?;
        let first = from.max(self.gone);
        let entries = self.kept.iter().skip((first - self.gone) as usize).take(MOST_TOLD);
        let entries: Vec<Value> = entries.filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(json!({ "first": first, "entries": entries, "all": self.gone + self.kept.len() as u64 }))
    }
}
