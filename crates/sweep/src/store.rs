//! Results by content: one folder for each run.
//!
//! ```text
//! FOLDER/runs/ab/abcdef…/run.json      status, metrics, settings
//!                       /result.json   the result, as `run --out` writes it
//! ```
//! A folder is written beside its place and renamed, so that whoever finds one finds it whole. Two processes that run the same
//! thing at once come to the same result; the second one's is dropped.

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
        Outcome::from_json(&serde_json::from_str(&text).ok()?)
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
        match std::fs::rename(&beside, &place) {
            Err(_) if place.join("run.json").is_file() => std::fs::remove_dir_all(&beside),
            done => done,
        }
    }
}
