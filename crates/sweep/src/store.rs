//! Results by content: one folder for each run.
//!
//! ```text
//! FOLDER/runs/ab/abcdef…/run.json      status, metrics, settings
//!                       /result.json   the result, as `run --out` writes it
//! ```
//! A folder is written beside its place and renamed, so that whoever finds one finds it whole. Two processes that run the same
//! thing at once come to the same result; the second one's is dropped. What cannot be read is replaced.

use crate::execute::Outcome;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The results below a folder, which is made.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder.join("runs"))?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// Where the result of a run is, or will be.
    pub fn place(&self, address: &str) -> PathBuf {
        self.folder.join("runs").join(&address[..2.min(address.len())]).join(address)
    }

    /// Where states of drives are kept for all runs of the sweep.
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// What became of a run, if it was run.
    pub fn get(&self, address: &str) -> Option<Outcome> {
        let text = std::fs::read_to_string(self.place(address).join("run.json")).ok()?;
        let outcome = Outcome::from_json(&serde_json::from_str(&text).ok()?)?;
        // What was measured has a result beside it.
        (outcome.hash.is_none() || self.place(address).join("result.json").is_file()).then_some(outcome)
    }

    /// Keeps what became of a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, address: &str, run: &Value, outcome: &Outcome, result: Option<&Value>) -> io::Result<()> {
        let place = self.place(address);
        let parent = place.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(parent)?;
        let beside = parent.join(format!(".{address}-{}-{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&beside)?;
        if let Some(result) = result {
            std::fs::write(beside.join("result.json"), format!("{result:#}\n"))?;
        }
        std::fs::write(beside.join("run.json"), format!("{:#}\n", outcome.to_json(run)))?;
        if std::fs::rename(&beside, &place).is_ok() {
            return Ok(());
        }
        if self.get(address).is_some() {
            return std::fs::remove_dir_all(&beside);
        }
        // A machine that went down, or somebody's hand, has left half of one.
        std::fs::remove_dir_all(&place)?;
        std::fs::rename(&beside, &place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Status;
    use serde_json::json;

    /// Such a run was done for ever, or run again for ever, and never had a result.
    #[test]
    fn what_is_damaged_is_not_there_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let result = json!({"status": "complete", "hash": "1"});
        let outcome = Outcome { hash: Some("1".to_owned()), error: None, ..Outcome::without_result(Status::Complete, String::new()) };
        let keep = || store.put("abcd", &json!({}), &outcome, Some(&result)).unwrap();
        keep();
        for (file, text) in [("run.json", Some("")), ("run.json", Some("{")), ("run.json", None), ("result.json", None)] {
            let path = store.place("abcd").join(file);
            match text {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            assert_eq!(store.get("abcd"), None, "{file}, {text:?}");
            keep();
            assert_eq!(store.get("abcd").as_ref(), Some(&outcome), "{file}, {text:?}");
        }
        assert_eq!(std::fs::read_dir(store.place("abcd").parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }
}
