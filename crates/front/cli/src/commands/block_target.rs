//! Files and block devices that verbs work on.

use crate::failure::Failure;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What is done with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read, by others as well.
    Read,
    /// It is read and written, by nobody else.
    Write,
}

/// Opens a target that exists.
/// Errors: it is not there, is no file or block device, or another program has it open.
pub fn open(target: &Path, access: Access) -> Result<File, Failure> {
    open_with(target, access, 0)
}

/// Opens a target for writing past the cache of the operating system; `false`: it goes through the cache after all.
pub fn open_direct(target: &Path) -> Result<(File, bool), Failure> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = open_with(target, Access::Write, rustix::fs::OFlags::DIRECT.bits().cast_signed()) {
        return Ok((file, true));
    }
    open(target, Access::Write).map(|file| (file, false))
}

fn open_with(target: &Path, access: Access, flags: i32) -> Result<File, Failure> {
    let kind = std::fs::metadata(target).map_err(|error| absent(target, &error))?.file_type();
    if kind.is_dir() {
        return Err(Failure::usage(format!("{}: it is a folder; name a file or a block device", target.display())));
    }
    if !kind.is_file() && !kind.is_block_device() {
        return Err(Failure::usage(format!("{}: it is neither a file nor a block device", target.display())));
    }
    let file = OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .custom_flags(flags)
        .open(target)
        .map_err(|error| absent(target, &error))?;
    lock(&file, target, access).map(|()| file)
}

/// Keeps other processes away from the target.
/// Errors: another program has it open.
pub fn lock(file: &File, target: &Path, access: Access) -> Result<(), Failure> {
    let locked = if access == Access::Write { file.try_lock() } else { file.try_lock_shared() };
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::failed(format!("{}: another program has it open; end that one first", target.display())))
        }
        Err(TryLockError::Error(error)) => Err(Failure::file(target, "locked", &error)),
    }
}

/// Why a target cannot be opened.
pub fn absent(target: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => {
            Failure::usage(format!("{}: there is no such file; hard format --create SIZE makes one", target.display()))
        }
        _ => Failure::file(target, "opened", error),
    }
}
