//! Errors of a drive.

use simulator::ConfigError;
use std::path::PathBuf;

/// A request or a drive that cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of each error names its fields")]
pub enum DriveError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Power is off: it was cut, and nobody opened the drive again.
    #[error("power is off; reopen the drive")]
    PowerOff,
    /// What power left cannot be recovered.
    #[error("the drive cannot be recovered: {0}")]
    Recovery(String),
    /// A request is not of whole sectors.
    #[error("{what} is {bytes} bytes, no whole number of sectors of {} bytes", units::SECTOR_BYTES)]
    Alignment { what: &'static str, bytes: u64 },
    /// A request ends beyond the drive.
    #[error("a request ends at byte {end}, but the drive has {bytes}; use a smaller offset or a larger drive.capacity")]
    Beyond {
        /// Byte after its last.
        end: u64,
        /// Bytes of the drive.
        bytes: u64,
    },
    /// Data could not be corrected, or could not be written.
    #[error("bytes {offset} to {} cannot be {verb}: the flash below failed", offset + length)]
    Failed {
        offset: u64,
        length: u64,
        /// What was to be done with them.
        verb: &'static str,
    },
    /// There is no room and never will be.
    #[error(
        "the drive is full or worn out: a request waits for room and nothing will ever make some; a larger \
         drive.over_provisioning keeps it going longer"
    )]
    Full,
    /// There is no room, because dies have failed.
    #[error("{dies} of the drive's dies answer nothing any more, and a request waits for room that is gone with them")]
    Dead { dies: u32 },
    /// The file of a drive cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not one of a drive, or of another version or drive.
    #[error("{path}: {problem}", path = path.display())]
    Foreign {
        path: PathBuf,
        /// What is wrong, and how to mend it.
        problem: String,
    },
    /// A stack that cannot be kept in a file, or a fault that the drive cannot have.
    #[error("{0}")]
    Unsupported(String),
}
