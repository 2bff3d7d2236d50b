//! Jobs kept as they end, so that work that was stopped goes on where it was.
//!
//! ```text
//! magic | identity, name, what the job gave | CRC-32
//! ```
//! One file each, written beside its place and renamed.
//!
//! Protects: results read again are the measured ones, to the last bit, by the same program with the same inputs; a
//! damaged file, or one of something else, counts as none.

use simulator::session::beside;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"NDJOBS01";
/// What is kept of stopped work that nobody went on with for so long is removed.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A folder of finished jobs of one kind of work.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    identity: String,
}

impl Cache {
    /// Jobs of the work `name`, below `folder`. `identity` is the text of everything that decides their results: the
    /// program, its command and options, the contents of files.
    pub fn new(folder: &Path, name: &str, identity: String) -> Self {
        Self { folder: folder.join(format!("{name}-{:016x}", file_name(&identity))), identity }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result of the job of a name, if it was kept and is whole.
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

    /// Keeps what the job of a name gave.
    ///
    /// # Errors
    /// The file cannot be written.
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

    /// Removes all of them: the work is done. They are only room, so that what cannot be removed stays.
    pub fn forget(&self) {
        let _ = beside::remove(&self.folder);
    }

    /// Removes from the folder that was given to [`Cache::new`] what nobody went on with for a month.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Cache::new(folder.path(), "tpm", "program 1".to_owned());
        assert_eq!(kept.recall("a"), None);
        kept.keep("a", &[1, 2, 3]).unwrap();
        assert_eq!(kept.recall("a").as_deref(), Some(&[1, 2, 3][..]));
        assert_eq!(kept.recall("b"), None);
        let other = Cache { identity: "program 2".to_owned(), folder: kept.folder.clone() };
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
