//! Results by content: one folder for each run.
//!
//! ```text
//! FOLDER/runs/ab/abcdef…/run.json      status, metrics, settings
//!                       /result.json   the result, as `run --out` writes it
//! ```
//! `run.json` holds a checksum of the result and one of itself with the address. A folder is written beside its place
//! and renamed, so that whoever finds one finds it whole. Two processes that run the same thing at once come to the
//! same result; the second one's is dropped. Unreadable files are replaced.

use crate::execute::Outcome;
use crate::grid::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use simulator::session::{Snapshots, beside};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The results below a folder, which is made. Half-written files of dead processes are removed after a day.
    /// Errors: it cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let (runs, store, now) = (folder.join("runs"), Self { folder: folder.to_path_buf() }, SystemTime::now());
        std::fs::create_dir_all(&runs)?;
        for part in std::fs::read_dir(&runs).into_iter().flatten().flatten() {
            beside::remove_left_overs(&part.path(), now, |name| {
                name.strip_prefix('.')?.split_once('-').map(|(_, number)| number)
            });
        }
        Snapshots::remove_left_overs(&store.snapshots(), now);
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

    /// The outcome of a run, if it was run and its files are still as they were written.
    pub fn get(&self, address: &str) -> Option<Outcome> {
        let place = self.place(address);
        let text = std::fs::read_to_string(place.join("run.json")).ok()?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        let is_sealed =
            kept["seal"].as_str().is_some_and(|seal| seal == seal_of(address, &text.replacen(seal, NO_SEAL, 1)));
        if !is_sealed {
            return None;
        }
        let outcome = Outcome::from_json(&kept)?;
        // What was measured has numbers, and a result beside it.
        if outcome.status.is_measured() && (outcome.hash.is_none() || outcome.metrics.iter().all(Option::is_none)) {
            return None;
        }
        let is_whole = || std::fs::read(place.join("result.json")).is_ok_and(|bytes| kept["result"] == seal(&bytes));
        (outcome.hash.is_none() || is_whole()).then_some(outcome)
    }

    /// Keeps what became of a run.
    /// Errors: it cannot be written; the error names the file.
    pub fn put(&self, address: &str, run: &Value, outcome: &Outcome, result: Option<&Value>) -> io::Result<()> {
        let place = self.place(address);
        let parent = place.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(parent).map_err(|error| of_file(parent, &error))?;
        let beside = parent.join(format!(".{address}-{}", beside::number()));
        let kept = write(&beside, address, outcome.to_json(run), result).and_then(|()| self.settle(&beside, address));
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
        let is_due = || self.get(address).is_none_or(|outcome| !outcome.status.is_of_run());
        if is_due() {
            // A machine that went down, or somebody's hand, has left half of one, or a file; or it lacked memory.
            beside::remove(&place).map_err(|error| of_file(&place, &error))?;
            match std::fs::rename(beside, &place) {
                // Another process was faster.
                Err(error) if is_due() => return Err(of_file(&place, &error)),
                Err(_) => {}
                Ok(()) => return Ok(()),
            }
        }
        std::fs::remove_dir_all(beside).map_err(|error| of_file(beside, &error))
    }
}

/// Writes a run into a new folder, to the disk: a name that outlives a power cut would else be the name of nothing.
fn write(folder: &Path, address: &str, mut run: Value, result: Option<&Value>) -> io::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| of_file(folder, &error))?;
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        let written =
            File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|error| of_file(&path, &error))
    };
    if let Some(result) = result {
        let text = format!("{result:#}\n");
        run["result"] = seal(text.as_bytes());
        file("result.json", &text)?;
    }
    file("run.json", &sealed(address, run))
}

/// The file of a run with its seal.
fn sealed(address: &str, mut run: Value) -> String {
    run["seal"] = NO_SEAL.into();
    let text = format!("{run:#}\n");
    text.replacen(NO_SEAL, &seal_of(address, &text), 1)
}

/// Stands for the seal of a run's own file in what is sealed.
const NO_SEAL: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What tells the file of a run, its seal left out, from what has become of it, and from that of another run.
fn seal_of(address: &str, text: &str) -> String {
    hex(&Sha256::new().chain_update(address).chain_update(text).finalize())
}

/// What tells a result from what has become of it.
fn seal(bytes: &[u8]) -> Value {
    json!({"bytes": bytes.len(), "sha256": hex(&Sha256::digest(bytes))})
}

/// An error with the file it is about.
fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} could not be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Status;
    use crate::metric::METRICS;
    use std::fs::read_dir;
    use std::time::Duration;

    fn measured() -> Outcome {
        let metrics = (0..METRICS.len()).map(|at| (at != 3).then_some(at as f64)).collect();
        Outcome { status: Status::Complete, error: None, hash: Some("1".to_owned()), metrics, notes: Vec::new() }
    }

    /// A store in which such a run is kept, and which keeps it again.
    fn kept(folder: &Path) -> (Store, impl Fn()) {
        let store = Store::open(folder).unwrap();
        let again = store.clone();
        let keep = move || {
            again.put("abcd", &json!({}), &measured(), Some(&json!({"status": "complete", "hash": "1"}))).unwrap();
        };
        keep();
        (store, keep)
    }

    /// Such a run was done for ever, or run again for ever, and never had a result.
    #[test]
    fn what_is_damaged_is_not_there_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (store, keep) = kept(folder.path());
        let path = |file: &str| store.place("abcd").join(file);
        let (run, result) =
            (std::fs::read_to_string(path("run.json")).unwrap(), std::fs::read_to_string(path("result.json")).unwrap());
        let without_metrics = json!({
            "metrics": {}, "schema": "nandarium.sweep-run/1", "status": "complete", "hash": "1",
            "result": seal(result.as_bytes()),
        });
        let without_metrics = sealed("abcd", without_metrics);
        let without_hash = sealed("abcd", serde_json::from_str(&run.replace("\"1\"", "null")).unwrap());
        for (file, text) in [
            ("run.json", Some("")),
            ("run.json", Some("{")),
            ("run.json", None),
            ("run.json", Some(&*without_metrics)),
            ("run.json", Some(&*without_hash)),
            ("run.json", Some(&run.replace("\"1\"", "\"2\""))),
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
        assert_eq!(read_dir(store.place("abcd").parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    /// Metrics of a damaged `run.json` went into tables.
    #[test]
    fn no_flipped_bit_of_a_run_changes_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let (store, keep) = kept(folder.path());
        let path = store.place("abcd").join("run.json");
        let sound = std::fs::read(&path).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(store.get("abcd"), None, "byte {at}: {}", String::from_utf8_lossy(&bytes));
        }
        std::fs::write(&path, &sound).unwrap();
        assert_eq!(store.get("abcd"), Some(measured()));
        std::fs::rename(store.place("abcd"), store.place("abce")).unwrap();
        assert_eq!(store.get("abce"), None, "the result of another run");
        keep();
        assert_eq!(store.get("abcd"), Some(measured()));
    }

    /// It stopped the whole sweep, and nobody was told which file it was.
    #[test]
    fn a_file_in_place_of_a_run_is_replaced_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let (store, keep) = kept(folder.path());
        let place = store.place("abcd");
        beside::remove(&place).unwrap();
        std::fs::write(&place, "").unwrap();
        keep();
        assert_eq!(store.get("abcd"), Some(measured()));
        let above = place.parent().unwrap();
        beside::remove(above).unwrap();
        std::fs::write(above, "").unwrap();
        let error = store.put("abcd", &json!({}), &measured(), None).unwrap_err().to_string();
        assert!(error.starts_with(&above.display().to_string()), "{error}");
    }

    #[test]
    fn a_run_that_had_no_memory_is_replaced_by_one_that_has() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let lacking = Outcome::without_result(Status::NoMemory, "16 GiB".to_owned());
        for outcome in [&lacking, &lacking] {
            store.put("abcd", &json!({}), outcome, None).unwrap();
            assert_eq!(store.get("abcd").as_ref(), Some(outcome));
        }
        store.put("abcd", &json!({}), &measured(), Some(&json!({}))).unwrap();
        assert_eq!(store.get("abcd"), Some(measured()));
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
            let mut names: Vec<_> =
                read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&above), [".abcd-77-2", ".hidden", "abcd"]);
        assert_eq!(names(&snapshots), ["0123.77-2.part", "0123.snapshot", "mine.part"]);
        assert_eq!(store.get("abcd"), Some(measured()));
    }
}
