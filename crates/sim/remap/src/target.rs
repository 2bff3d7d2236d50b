//! Files and block devices that are worked on as drives.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The use of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read, by others as well.
    Read,
    /// It is read and written, by nobody else.
    Write,
}

/// Why a target cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Nothing has this name.
    #[error("{}: there is no such file", .0.display())]
    Absent(PathBuf),
    /// It holds no sectors.
    #[error("{}: it is {is}; name a file or a block device", .path.display())]
    Kind {
        /// Its name.
        path: PathBuf,
        /// In words, with an article.
        is: &'static str,
    },
    /// Another process works on it.
    #[error("{}: another program has it open; end that one first", .0.display())]
    Busy(PathBuf),
    /// The system refuses.
    #[error("{} could not be {doing}: {error}", .path.display())]
    Refused {
        /// Its name.
        path: PathBuf,
        /// What could not be done to it, such as `opened`.
        doing: &'static str,
        /// What the system says.
        error: io::Error,
    },
}

impl TargetError {
    fn refused(path: &Path, doing: &'static str, error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Absent(path.to_owned()),
            _ => Self::Refused { path: path.to_owned(), doing, error },
        }
    }
}

/// Opens a target that exists.
///
/// # Errors
/// It is not there, is no file or block device, or another program has it open.
pub fn open(target: &Path, access: Access) -> Result<File, TargetError> {
    open_with(target, access, 0)
}

/// Opens a target for writing past the cache of the operating system; `false`: it goes through the cache after all.
///
/// # Errors
/// As of [`open`].
pub fn open_direct(target: &Path) -> Result<(File, bool), TargetError> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = open_with(target, Access::Write, rustix::fs::OFlags::DIRECT.bits().cast_signed()) {
        return Ok((file, true));
    }
    open(target, Access::Write).map(|file| (file, false))
}

fn open_with(target: &Path, access: Access, flags: i32) -> Result<File, TargetError> {
    let kind = std::fs::metadata(target).map_err(|error| TargetError::refused(target, "opened", error))?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        let is = if kind.is_dir() { "a folder" } else { "neither a file nor a block device" };
        return Err(TargetError::Kind { path: target.to_owned(), is });
    }
    let file = OpenOptions::new().read(true).write(access == Access::Write).custom_flags(flags).open(target);
    let file = file.map_err(|error| TargetError::refused(target, "opened", error))?;
    lock(&file, target, access).map(|()| file)
}

/// Within this time another program is asked again whether it has the file.
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// Locks a file. A program that was being started when the file was closed has a copy of it until it begins, and the
/// lock goes with the last copy: that takes milliseconds, which are waited for.
///
/// # Errors
/// Another program has it open, or the system refuses.
pub fn try_lock(file: &File, access: Access) -> Result<(), TryLockError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match if access == Access::Write { file.try_lock() } else { file.try_lock_shared() } {
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_WAIT / 40),
            locked => return locked,
        }
    }
}

/// Keeps other processes away from the target.
///
/// # Errors
/// Another program has it open.
pub fn lock(file: &File, target: &Path, access: Access) -> Result<(), TargetError> {
    try_lock(file, access).map_err(|error| match error {
        TryLockError::WouldBlock => TargetError::Busy(target.to_owned()),
        TryLockError::Error(error) => TargetError::Refused { path: target.to_owned(), doing: "locked", error },
    })
}
