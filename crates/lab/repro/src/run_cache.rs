//! Simulations kept as they end, so that a study that was stopped goes on where it was.
//!
//! ```text
//! magic | identity, name, what the simulation gave: numbers | CRC-32
//! ```
//! One file each, written beside its place and renamed.
//!
//! Protects: what is read again is what was measured, to the last bit, by the same program with the same inputs; a
//! damaged file, or one of something else, counts as none.

use crate::error::StudyError;
use crate::study::Monitor;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use rayon::prelude::*;
use simulator::session::beside;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"NDREPRO1";
/// What is kept of a stopped study that nobody went on with for so long is removed.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A folder of finished simulations of one study.
#[derive(Clone, Debug)]
pub struct RunCache {
    folder: PathBuf,
    identity: String,
}

impl RunCache {
    /// Simulations of a study below `folder`. `identity` is the text of everything that decides what they give: the
    /// program, the study, its options, the contents of files.
    pub fn new(folder: &Path, study: &str, identity: String) -> Self {
        Self { folder: folder.join(format!("{study}-{:016x}", file_name(&identity))), identity }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the simulation of a name gave, if it was kept and is whole.
    pub fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(name)).ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        [&self.identity, name]
            .iter()
            .try_fold(rest, |rest, text| {
                let (length, rest) = rest.split_first_chunk::<8>()?;
                (u64::from_le_bytes(*length) == text.len() as u64).then_some(rest)?.strip_prefix(text.as_bytes())
            })
            .map(<[u8]>::to_vec)
    }

    /// Keeps what the simulation of a name gave.
    /// Errors: the file cannot be written.
    pub fn keep(&self, name: &str, given: &[u8]) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        for text in [&self.identity, name] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(given);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        std::fs::create_dir_all(&self.folder)?;
        let path = self.path(name);
        let beside = path.with_extension(beside::number());
        let written = std::fs::write(&beside, &bytes).and_then(|()| std::fs::rename(&beside, &path));
        if written.is_err() {
            // A full disk is not made fuller.
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    /// Removes all of them: the study is done. They are only room, so that what cannot be removed stays.
    pub fn forget(&self) {
        let _ = beside::remove(&self.folder);
    }

    /// Removes from the folder that was given to [`RunCache::new`] what nobody went on with for a month.
    pub fn forget_old(folder: &Path) {
        let now = SystemTime::now();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            if changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > FORGOTTEN)) {
                let _ = beside::remove(&entry.path());
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.kept", file_name(name)))
    }
}

/// FNV-1a: only a name, the text itself is compared.
fn file_name(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What a simulation gives, as numbers that come back as they were.
pub(crate) trait Keep: Sized + Send {
    fn put(&self, out: &mut SnapshotWriter);

    /// Reads it.
    /// Errors: something else is there.
    fn get(from: &mut SnapshotReader) -> Result<Self, SnapshotError>;
}

/// Keeps a type by its fields, each named once: how the type is taken apart and put together, the tables with their
/// numbers, and the parts that keep themselves.
macro_rules! keep {
    ($type:ident $fields:tt: $($table:literal $numbers:tt),*; $($part:ident),*) => {
        impl $crate::run_cache::Keep for $type {
            fn put(&self, out: &mut layer::SnapshotWriter) {
                let $type $fields = self.clone();
                $(out.put($table, $numbers);)*
                $($part.put(out);)*
            }

            fn get(from: &mut layer::SnapshotReader) -> Result<Self, layer::SnapshotError> {
                $(let $numbers = from.array($table)?;)*
                $(let $part = $crate::run_cache::Keep::get(from)?;)*
                Ok($type $fields)
            }
        }
    };
}
pub(crate) use keep;

impl<T: Keep> Keep for Vec<T> {
    fn put(&self, out: &mut SnapshotWriter) {
        out.put("items", [self.len() as u64]);
        for item in self {
            item.put(out);
        }
    }

    fn get(from: &mut SnapshotReader) -> Result<Self, SnapshotError> {
        let [items]: [u64; 1] = from.array("items")?;
        (0..items).map(|_| T::get(from)).collect()
    }
}

impl Keep for BTreeMap<String, u64> {
    fn put(&self, out: &mut SnapshotWriter) {
        let names: Vec<&str> = self.keys().map(String::as_str).collect();
        out.put("names", names.join("\n").into_bytes());
        out.put("counts", self.values().copied());
    }

    fn get(from: &mut SnapshotReader) -> Result<Self, SnapshotError> {
        let names =
            String::from_utf8(from.get("names")?).map_err(|error| SnapshotError::unfit("names", error.to_string()))?;
        Ok(names.lines().map(ToOwned::to_owned).zip(from.get("counts")?).collect())
    }
}

fn recall<T: Keep>(monitor: &dyn Monitor, name: &str) -> Option<T> {
    let bytes = monitor.recall(name)?;
    let mut from = SnapshotReader::new(&bytes);
    let found = T::get(&mut from).ok().filter(|_| from.is_empty())?;
    monitor.ended(name);
    Some(found)
}

fn simulate<T: Keep>(
    monitor: &dyn Monitor,
    name: &str,
    run: impl FnOnce() -> Result<T, StudyError>,
) -> Result<Option<T>, StudyError> {
    let Some(given) = unless_stopped(monitor, run)? else { return Ok(None) };
    let mut out = SnapshotWriter::new();
    given.put(&mut out);
    monitor.keep(name, &out.into_bytes());
    monitor.ended(name);
    Ok(Some(given))
}

/// `None`: the user stopped it, or had before it began.
fn unless_stopped<T>(
    monitor: &dyn Monitor,
    run: impl FnOnce() -> Result<T, StudyError>,
) -> Result<Option<T>, StudyError> {
    if monitor.is_stopped() {
        return Ok(None);
    }
    match run() {
        Ok(given) => Ok(Some(given)),
        Err(StudyError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs simulations on all cores, in their order; `None`: the user stopped before it had ended. Their names have to
/// differ. What was kept is not run again.
/// Errors: one of them fails.
pub(crate) fn simulate_all<J: Sync, T: Keep>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String + Sync,
    run: impl Fn(&J) -> Result<T, StudyError> + Sync,
) -> Result<Vec<Option<T>>, StudyError> {
    simulate_from(monitor, jobs, name, || Ok(()), |(), job| run(job))
}

/// As [`simulate_all`], for simulations that begin with one state, which is made only if one of them has to be run.
/// Errors: as [`simulate_all`], or the state cannot be made.
pub(crate) fn simulate_from<J: Sync, S: Sync, T: Keep>(
    monitor: &dyn Monitor,
    jobs: &[J],
    name: impl Fn(&J) -> String + Sync,
    state: impl FnOnce() -> Result<S, StudyError>,
    run: impl Fn(&S, &J) -> Result<T, StudyError> + Sync,
) -> Result<Vec<Option<T>>, StudyError> {
    let names: Vec<String> = jobs.iter().map(name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "simulations are told apart by their names");
    let found: Vec<Option<T>> = names.iter().map(|name| recall(monitor, name)).collect();
    if found.iter().all(Option::is_some) {
        return Ok(found);
    }
    let Some(state) = unless_stopped(monitor, state)? else { return Ok(found) };
    let one = |((job, name), found): ((&J, &String), Option<T>)| match found {
        Some(found) => Ok(Some(found)),
        None => simulate(monitor, name, || run(&state, job)),
    };
    jobs.par_iter().zip(&names).zip(found).with_max_len(1).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let kept = RunCache::new(folder.path(), "tpm", "program 1".to_owned());
        assert_eq!(kept.recall("a"), None);
        kept.keep("a", &[1, 2, 3]).unwrap();
        assert_eq!(kept.recall("a").as_deref(), Some(&[1, 2, 3][..]));
        assert_eq!(kept.recall("b"), None);
        let other = RunCache { identity: "program 2".to_owned(), folder: kept.folder.clone() };
        assert_eq!(other.recall("a"), None, "another program's");
        let path = kept.path("a");
        let sound = std::fs::read(&path).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(kept.recall("a"), None, "byte {at}");
            std::fs::write(&path, &sound[..at]).unwrap();
            assert_eq!(kept.recall("a"), None, "cut at {at}");
        }
        kept.keep("a", &[4]).unwrap();
        assert_eq!(kept.recall("a").as_deref(), Some(&[4][..]));
        assert_eq!(std::fs::read_dir(kept.folder()).unwrap().count(), 1, "nothing is left beside it");
        kept.forget();
        assert!(!kept.folder().exists());
    }
}
