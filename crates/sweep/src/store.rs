//! Results by content: one folder for each run.
//!
//! ```text
//! FOLDER/runs/ab/abcdef…/run.json      status, metrics, settings
//!                       /result.json   the result, as `run --out` writes it
//! ```
//! A folder is written beside its place and renamed, so that whoever finds one finds it whole. Two processes that run the same
//! thing at once come to the same result; the second one's is dropped. What cannot be read is replaced.

use crate::execute::{Outcome, Status};
use crate::grid::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// What is half written for so long is left over from a process that died. Whose it was cannot be told (several machines share
/// a folder, and a number of a process means nothing on another one), but writing takes seconds, and clocks differ by less.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The results below a folder, which is made. What processes that died have left half written a day ago is removed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let (runs, store) = (folder.join("runs"), Self { folder: folder.to_path_buf() });
        std::fs::create_dir_all(&runs)?;
        let is_run = |name: &str| name.strip_prefix('.').is_some_and(is_numbered);
        let is_snapshot = |name: &str| name.strip_suffix(".part").and_then(|name| name.split_once('.')).is_some_and(|(_, number)| is_numbered(&format!("-{number}")));
        entries(&runs).for_each(|part| remove_left_overs(&part.path(), is_run));
        remove_left_overs(&store.snapshots(), is_snapshot);
        Ok(store)
    }

    /// Where the result of a run is, or will be.
    pub fn place(&self, address: &str) -> PathBuf {
        self.folder.join("runs").join(&address[..2.min(address.len())]).join(address)
    }

    /// Where states of drives are kept for all runs of the sweep.
    pub fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// What became of a run, if it was run and all that was kept of it is still as it was written.
    pub fn get(&self, address: &str) -> Option<Outcome> {
        let place = self.place(address);
        let text = std::fs::read_to_string(place.join("run.json")).ok()?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        let outcome = Outcome::from_json(&kept)?;
        // What was measured has numbers, and a result beside it.
        let is_measured = !matches!(outcome.status, Status::Impossible | Status::Failed);
        if is_measured && (outcome.hash.is_none() || outcome.metrics.iter().all(Option::is_none)) {
            return None;
        }
        let is_whole = || std::fs::read(place.join("result.json")).is_ok_and(|bytes| kept["result"] == seal(&bytes));
        (outcome.hash.is_none() || is_whole()).then_some(outcome)
    }

    /// Keeps what became of a run.
    ///
    /// # Errors
    /// It cannot be written; the error names the file.
    pub fn put(&self, address: &str, run: &Value, outcome: &Outcome, result: Option<&Value>) -> io::Result<()> {
        let place = self.place(address);
        let parent = place.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(parent).map_err(|error| of_file(parent, &error))?;
        let beside = parent.join(format!(".{address}-{}-{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
        let kept = write(&beside, outcome.to_json(run), result).and_then(|()| self.settle(&beside, address));
        if kept.is_err() {
            // A full disk is not made fuller; whatever else stands in the way here does not matter beside the error.
            let _ = std::fs::remove_dir_all(&beside);
        }
        kept
    }

    /// Gives a whole folder its place, which what cannot be read leaves.
    fn settle(&self, beside: &Path, address: &str) -> io::Result<()> {
        let place = self.place(address);
        if std::fs::rename(beside, &place).is_ok() {
            return Ok(());
        }
        if self.get(address).is_none() {
            // A machine that went down, or somebody's hand, has left half of one, or a file.
            remove(&place).map_err(|error| of_file(&place, &error))?;
            match std::fs::rename(beside, &place) {
                // Another process was faster.
                Err(error) if self.get(address).is_none() => return Err(of_file(&place, &error)),
                Err(_) => {}
                Ok(()) => return Ok(()),
            }
        }
        std::fs::remove_dir_all(beside).map_err(|error| of_file(beside, &error))
    }
}

/// Writes a run into a new folder, to the disk: a name that outlives a power cut would else be the name of nothing.
fn write(folder: &Path, mut run: Value, result: Option<&Value>) -> io::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| of_file(folder, &error))?;
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        let written = File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|error| of_file(&path, &error))
    };
    if let Some(result) = result {
        let text = format!("{result:#}\n");
        run["result"] = seal(text.as_bytes());
        file("result.json", &text)?;
    }
    file("run.json", &format!("{run:#}\n"))
}

/// What tells a result from what has become of it.
fn seal(bytes: &[u8]) -> Value {
    json!({"bytes": bytes.len(), "sha256": hex(&Sha256::digest(bytes))})
}

/// An error with the file it is about.
fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} could not be written: {error}", path.display()))
}

/// Removes a folder, or a file that stands where one should be.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a name ends with the number of a process and one of its own, as half written ones do.
fn is_numbered(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let mut is_number = || parts.next().is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number() && is_number()
}

/// What is in a folder, as far as it can be read.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Removes what was left half written in a folder. Another process may do the same, or may not be allowed to: it is only room.
fn remove_left_overs(folder: &Path, is_half: impl Fn(&str) -> bool) {
    for entry in entries(folder).filter(|entry| entry.file_name().to_str().is_some_and(&is_half)) {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        if written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > LEFT_OVER)) {
            let _ = remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::METRICS;
    use std::time::SystemTime;

    fn measured() -> Outcome {
        let metrics = (0..METRICS.len()).map(|at| (at != 3).then_some(at as f64)).collect();
        Outcome { status: Status::Complete, error: None, hash: Some("1".to_owned()), metrics }
    }

    /// A store in which such a run is kept, and which keeps it again.
    fn kept(folder: &Path) -> (Store, impl Fn()) {
        let store = Store::open(folder).unwrap();
        let again = store.clone();
        let keep = move || again.put("abcd", &json!({}), &measured(), Some(&json!({"status": "complete", "hash": "1"}))).unwrap();
        keep();
        (store, keep)
    }

    /// Such a run was done for ever, or run again for ever, and never had a result.
    #[test]
    fn what_is_damaged_is_not_there_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (store, keep) = kept(folder.path());
        let path = |file: &str| store.place("abcd").join(file);
        let (run, result) = (std::fs::read_to_string(path("run.json")).unwrap(), std::fs::read_to_string(path("result.json")).unwrap());
        let without_metrics = json!({"metrics": {}, "schema": "nandarium.sweep-run/1", "status": "complete", "hash": "1", "result": seal(result.as_bytes())}).to_string();
        for (file, text) in [
            ("run.json", Some("")),
            ("run.json", Some("{")),
            ("run.json", None),
            ("run.json", Some(&*without_metrics)),
            ("run.json", Some(&run.replace("\"1\"", "null"))),
            ("result.json", None),
            ("result.json", Some("")),
            ("result.json", Some(&result[..result.len() / 2])),
            ("result.json", Some(&result.replace('1', "2"))),
        ] {
            match text {
                Some(text) => std::fs::write(path(file), text).unwrap(),
                None => std::fs::remove_file(path(file)).unwrap(),
            }
            assert_eq!(store.get("abcd"), None, "{file}, {text:?}");
            keep();
            assert_eq!(store.get("abcd"), Some(measured()), "{file}, {text:?}");
        }
        assert_eq!(entries(store.place("abcd").parent().unwrap()).count(), 1, "nothing is left beside it");
    }

    /// It stopped the whole sweep, and nobody was told which file it was.
    #[test]
    fn a_file_in_place_of_a_run_is_replaced_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let (store, keep) = kept(folder.path());
        let place = store.place("abcd");
        remove(&place).unwrap();
        std::fs::write(&place, "").unwrap();
        keep();
        assert_eq!(store.get("abcd"), Some(measured()));
        let above = place.parent().unwrap();
        remove(above).unwrap();
        std::fs::write(above, "").unwrap();
        let error = store.put("abcd", &json!({}), &measured(), None).unwrap_err().to_string();
        assert!(error.starts_with(&above.display().to_string()), "{error}");
    }

    /// They stayed for ever, and a disk was full because of them.
    #[test]
    fn what_dead_processes_left_half_written_goes_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = kept(folder.path());
        let (above, snapshots) = (store.place("abcd").parent().unwrap().to_path_buf(), store.snapshots());
        std::fs::create_dir(&snapshots).unwrap();
        let hours = |count: u64| SystemTime::now() - Duration::from_secs(count * 3600);
        for (age, number) in [(48, 1), (1, 2)] {
            let half = above.join(format!(".abcd-77-{number}"));
            std::fs::create_dir(&half).unwrap();
            std::fs::write(half.join("result.json"), "{").unwrap();
            File::open(&half).unwrap().set_modified(hours(age)).unwrap();
            let part = snapshots.join(format!("0123.77-{number}.part"));
            File::create(&part).unwrap().set_modified(hours(age)).unwrap();
        }
        for (folder, name) in [(&snapshots, "0123.snapshot"), (&snapshots, "mine.part"), (&above, ".hidden")] {
            File::create(folder.join(name)).unwrap().set_modified(hours(48)).unwrap();
        }
        Store::open(folder.path()).unwrap();
        let names = |folder: &Path| {
            let mut names: Vec<_> = entries(folder).map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&above), [".abcd-77-2", ".hidden", "abcd"]);
        assert_eq!(names(&snapshots), ["0123.77-2.part", "0123.snapshot", "mine.part"]);
        assert_eq!(store.get("abcd"), Some(measured()));
    }
}
