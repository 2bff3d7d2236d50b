//! Files that are written beside their place and then renamed: a number for the name, and removal of files that dead
//! processes have left.
//!
//! Protects: a name always stands for a whole file or folder.

use std::fs::DirEntry;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// What is half written for so long is left over from a process that died. Whose it was cannot be told (several
/// machines share a folder, and a number of a process means nothing on another one), but writing takes seconds, and
/// clocks differ by less.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// A number that this process gives once, and no other one on this machine at the same time.
pub fn number() -> String {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// What is half written in a folder. `number_of` is the part of a name that has its [`number`].
pub fn half_written(folder: &Path, number_of: impl Fn(&str) -> Option<&str>) -> impl Iterator<Item = DirEntry> {
    let is_half = move |entry: &DirEntry| entry.file_name().to_str().and_then(&number_of).is_some_and(is_number);
    std::fs::read_dir(folder).into_iter().flatten().flatten().filter(is_half)
}

/// Removes what was left half written in a folder a day before `now`. `number_of` is the part of a name that has its
/// [`number`]. Another process may do the same, or this one may not be allowed to: it is only room.
pub fn remove_left_overs(folder: &Path, now: SystemTime, number_of: impl Fn(&str) -> Option<&str>) {
    for entry in half_written(folder, number_of) {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > LEFT_OVER)) {
            let _ = remove(&entry.path());
        }
    }
}

fn is_number(text: &str) -> bool {
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-').is_some_and(|(process, count)| is_whole(process) && is_whole(count))
}

/// Removes a folder, or a file that stands where one should be; nothing is nothing to remove.
/// Errors: as the system says.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
