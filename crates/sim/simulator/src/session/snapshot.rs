//! Preconditioned states kept in files, so that a drive is filled once and measured many times.
//!
//! ```text
//! magic | length of the identity | identity | length of the notes | notes | length of the pages | pages
//!       | tables | CRC-32
//! ```
//! The identity is the text of everything that influences the state; it is stored in full and
//! compared, so that two states can never be mistaken for each other. A damaged file is refused,
//! remarked upon and replaced.

use super::{Watcher, WorkloadSource, beside, rest};
use crate::DrivePlan;
use crate::config::flash_keys::PART;
use crate::config::is_of_time;
use layer::Snapshot;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use units::quantity;

/// Bytes of an identity that are looked at.
const LONGEST_IDENTITY: u64 = 1 << 20;
const MAGIC: &[u8; 8] = b"NDSTATE3";
const EXTENSION: &str = "nandstate";
/// Files that a user's own folder keeps; the least recently written ones go first.
pub const USUAL_FILES: usize = 12;
/// Bytes that they take at most. A drive of 1 TB has 2 GB of tables.
pub const USUAL_BYTES: u64 = 8 << 30;
/// Bytes of a file that are read at once.
const BATCH: usize = 1 << 16;
/// Bytes of the sum at the end.
const SUM: u64 = 4;
/// What ends the name of one that is half written.
const HALF: &str = ".part";

/// A folder of snapshots.
#[derive(Clone, Debug)]
pub struct Snapshots {
    /// The folder; made when first needed.
    pub folder: PathBuf,
    /// Names the program that computes states: snapshots of another build are not used.
    pub build: String,
    /// Files it keeps: the least recently written ones go first.
    pub files: usize,
    /// Bytes of all its files at most: the least recently written ones go first. A larger state is not kept.
    pub bytes: u64,
}

/// A preconditioned state in a folder.
#[derive(Clone, Debug)]
pub struct KeptState {
    /// The file that holds it.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    written: SystemTime,
}

impl KeptState {
    /// The value that a key of its drive has; nothing where the file does not tell it.
    pub fn value(&self, key: &str) -> Option<String> {
        let mut head = [0; 16];
        let mut file = std::fs::File::open(&self.path).ok()?;
        file.read_exact(&mut head).ok()?;
        let (magic, length) = head.split_first_chunk::<8>()?;
        let length = u64::from_le_bytes(length.try_into().ok()?).min(LONGEST_IDENTITY);
        let mut text = String::new();
        (magic == MAGIC).then_some(())?;
        file.take(length).read_to_string(&mut text).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        value.map(str::to_owned)
    }
}

/// A state read from a file.
pub(super) struct Found {
    pub tables: Snapshot,
    pub notes: Vec<String>,
    /// Pages that hold something.
    pub written: Vec<u8>,
}

/// Everything that influences the preconditioned state, as text. `workload`: given when the state
/// depends on it.
pub(super) fn identity(plan: &DrivePlan, workload: Option<&WorkloadSource>) -> String {
    // States are computed without time and without a host, and a part stands for values that are among the others.
    let matters = |key: &str| match key.split_once('.') {
        Some(("host" | "measure", _)) => false,
        Some(("workload", _)) => workload.is_some(),
        _ => key != PART && !is_of_time(key),
    };
    let mut text = String::new();
    for (key, value) in plan.config.resolved.iter().filter(|(key, _)| matters(key)) {
        text.extend([key, " = ", value, "\n"]);
    }
    if let Some(workload) = workload {
        text.push_str(&workload.fingerprint());
    }
    // Of the keys of the host it depends on one.
    if rest::ends_preconditioning(plan) {
        text.push_str("rested\n");
    }
    text
}

impl Snapshots {
    fn identity(&self, of: &str) -> String {
        format!("{}\n{of}", self.build)
    }

    fn path(&self, identity: &str) -> PathBuf {
        // FNV-1a: only a file name, the identity itself is compared.
        let hash = identity
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        self.folder.join(format!("{hash:016x}.{EXTENSION}"))
    }

    /// The state kept under an identity, if there is one and it is whole.
    pub(super) fn load(&self, identity: &str, watcher: &mut dyn Watcher) -> Option<Found> {
        let identity = self.identity(identity);
        let path = self.path(&identity);
        match parse(&File::open(&path).ok()?, &identity) {
            Ok(found) => found,
            Err(problem) => {
                watcher.remark(&format!("snapshot {} {problem}; it is computed anew", path.display()));
                None
            }
        }
    }

    /// Keeps a state: its notes and the pages that hold something, and its tables. Failing to do so is remarked upon
    /// and changes nothing else.
    pub(super) fn store(&self, identity: &str, about: &[Vec<u8>; 2], tables: &Snapshot, watcher: &mut dyn Watcher) {
        let identity = self.identity(identity);
        let path = self.path(&identity);
        let mut head = MAGIC.to_vec();
        for piece in [identity.as_bytes(), &about[0], &about[1]] {
            head.extend_from_slice(&(piece.len() as u64).to_le_bytes());
            head.extend_from_slice(piece);
        }
        let bytes = head.len() as u64 + tables.bytes();
        if bytes > self.bytes {
            let (bytes, most) = (quantity::format_size(bytes >> 20 << 20), quantity::format_size(self.bytes));
            watcher.remark(&format!("the snapshot of {bytes} is not kept: all snapshots may take {most}"));
            return;
        }
        if let Err(error) = self.write(&path, &head, tables) {
            watcher.remark(&format!("the snapshot could not be kept as {}: {error}", path.display()));
        }
    }

    /// Writes beside the place and renames, so that a reader never sees half a file.
    fn write(&self, path: &Path, head: &[u8], tables: &Snapshot) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        // Sessions of one process may keep the same state at the same time.
        let beside = path.with_extension(beside::number() + HALF);
        let mut file = Summed { file: File::create(&beside)?, sum: crc32fast::Hasher::new() };
        file.write_all(head)?;
        tables.write(&mut file)?;
        let Summed { mut file, sum } = file;
        file.write_all(&sum.finalize().to_le_bytes())?;
        drop(file);
        // By the clock of whoever has the folder.
        let now = std::fs::metadata(&beside)?.modified()?;
        std::fs::rename(&beside, path)?;
        Self::remove_left_overs(&self.folder, now);
        self.prune()
    }

    /// Removes from a folder what processes that died have left half written a day before `now`.
    pub fn remove_left_overs(folder: &Path, now: SystemTime) {
        beside::remove_left_overs(folder, now, number_of);
    }

    fn prune(&self) -> io::Result<()> {
        let (mut files, mut bytes) = (0, 0_u64);
        for state in self.kept()?.iter().rev() {
            (files, bytes) = (files + 1, bytes.saturating_add(state.bytes));
            if files > self.files || bytes > self.bytes {
                std::fs::remove_file(&state.path)?;
            }
        }
        Ok(())
    }

    /// The states in the folder, the least recently written one first; those of other builds as well.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn kept(&self) -> io::Result<Vec<KeptState>> {
        let mut states = Vec::new();
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(states),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            // Another process may have removed it.
            let Ok(found) = std::fs::metadata(&path) else { continue };
            if found.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION) {
                states.push(KeptState { bytes: found.len(), written: found.modified()?, path });
            }
        }
        states.sort_by(|one, other| (one.written, &one.path).cmp(&(other.written, &other.path)));
        Ok(states)
    }

    /// Removes the states in the folder and files that are half written, and returns them.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> io::Result<Vec<KeptState>> {
        let mut states = self.kept()?;
        for half in beside::half_written(&self.folder, number_of) {
            let Ok(found) = half.metadata() else { continue };
            states.push(KeptState { bytes: found.len(), written: found.modified()?, path: half.path() });
        }
        states.iter().try_for_each(|state| std::fs::remove_file(&state.path))?;
        Ok(states)
    }
}

/// The number in the name of a file that is half written.
fn number_of(name: &str) -> Option<&str> {
    name.strip_suffix(HALF)?.split_once('.').map(|(_, number)| number)
}

/// A file, and the sum of its bytes up to now.
struct Summed {
    file: File,
    sum: crc32fast::Hasher,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

const CUT: &str = "is cut short";

/// `Ok(None)`: a whole file with another identity. Tables of a large drive are gigabytes, so the file is read twice: to
/// sum its bytes, and into the tables.
fn parse(file: &File, identity: &str) -> Result<Option<Found>, &'static str> {
    let body = file.metadata().ok().and_then(|about| about.len().checked_sub(SUM)).ok_or(CUT)?;
    if !is_whole(file, body).map_err(|_| CUT)? {
        return Err("is damaged (its checksum is wrong)");
    }
    let mut from = BufReader::with_capacity(BATCH, file).take(body);
    io::Seek::rewind(&mut &*file).map_err(|_| CUT)?;
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic).map_err(|_| CUT)?;
    if magic != *MAGIC {
        return Err("is of another version");
    }
    if piece(&mut from)? != identity.as_bytes() {
        return Ok(None);
    }
    let notes = String::from_utf8(piece(&mut from)?).map_err(|_| "is damaged (its text is unreadable)")?;
    let notes = notes.lines().map(str::to_owned).collect();
    let written = piece(&mut from)?;
    let tables = Snapshot::read(&mut from).map_err(|_| CUT)?;
    Ok(Some(Found { tables, notes, written }))
}

/// Whether the sum of the first `body` bytes of a file stands behind them.
fn is_whole(file: &File, body: u64) -> io::Result<bool> {
    let mut from = BufReader::with_capacity(BATCH, file);
    let (mut sum, mut left) = (crc32fast::Hasher::new(), body);
    while left > 0 {
        let bytes = io::BufRead::fill_buf(&mut from)?;
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        sum.update(&bytes[..count]);
        io::BufRead::consume(&mut from, count);
        left -= count as u64;
    }
    let mut stored = [0; SUM as usize];
    from.read_exact(&mut stored)?;
    Ok(u32::from_le_bytes(stored) == sum.finalize())
}

/// The next bytes, behind their number.
fn piece(from: &mut impl Read) -> Result<Vec<u8>, &'static str> {
    let mut length = [0; 8];
    from.read_exact(&mut length).map_err(|_| CUT)?;
    let (length, mut bytes) = (u64::from_le_bytes(length), Vec::new());
    let read = from.take(length).read_to_end(&mut bytes).map_err(|_| CUT)?;
    if read as u64 == length { Ok(bytes) } else { Err(CUT) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layer::SnapshotWriter;

    fn keeper(folder: &Path, files: usize, bytes: u64) -> Snapshots {
        Snapshots { folder: folder.to_path_buf(), build: String::new(), files, bytes }
    }

    /// A folder had 5 GB after one run of a large drive.
    #[test]
    fn states_take_no_more_room_than_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path(), 3, 400);
        let store = |name: &str, size: usize| {
            let mut tables = SnapshotWriter::new();
            tables.put("page.states", vec![0_u8; size]);
            keeper.store(name, &[Vec::new(), Vec::new()], &tables.into_snapshot(), &mut ());
        };
        let is_there = |name: &str| keeper.load(name, &mut ()).is_some();
        for name in ["a", "b", "c"] {
            store(name, 100);
            // File systems have coarse clocks.
            let path = keeper.path(&keeper.identity(name));
            let since = std::time::Duration::from_secs(name.as_bytes()[0].into());
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + since).unwrap();
        }
        assert_eq!(["a", "b", "c"].map(is_there), [false, true, true], "three have more than 400 bytes");
        store("large", 1000);
        assert!(!is_there("large") && is_there("c"), "one that is too large drives no other out");
        assert_eq!(keeper.clear().unwrap().len(), 2);
        assert!(keeper.kept().unwrap().is_empty());
    }

    /// Those of a user's own folder stayed for ever.
    #[test]
    fn half_written_ones_of_a_day_ago_go_when_another_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path(), USUAL_FILES, USUAL_BYTES);
        let names = ["0123.77-1.part", "mine.part", "0123.77-1.nandstate"];
        for name in names {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        std::fs::write(folder.path().join("0123.77-2.part"), "").unwrap();
        keeper.write(&folder.path().join("4567.nandstate"), b"state", &Snapshot::default()).unwrap();
        let is_there = |name: &str| folder.path().join(name).exists();
        assert_eq!(names.map(is_there), [false, true, true]);
        assert!(is_there("0123.77-2.part") && is_there("4567.nandstate"));
    }

    /// They kept their room, and a folder of such a name stopped the removal.
    #[test]
    fn half_written_files_are_cleared_and_folders_are_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["0123.nandstate", "0123.77-1.part", "mine.part"] {
            std::fs::write(folder.path().join(name), "state").unwrap();
        }
        std::fs::create_dir(folder.path().join("x.nandstate")).unwrap();
        assert_eq!(keeper(folder.path(), USUAL_FILES, USUAL_BYTES).clear().unwrap().len(), 2);
        let is_there = |name: &str| folder.path().join(name).exists();
        assert!(is_there("x.nandstate") && is_there("mine.part") && !is_there("0123.77-1.part"));
    }
}
