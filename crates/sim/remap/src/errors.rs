//! Why a driver cannot be where it is wanted.

use std::io;

/// Why there is no such layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// A page that cannot be.
    #[error("a page has a power of two of sectors, 1 to 128, not {0}; 8 is usual")]
    Page(u32),
    /// A superpage that cannot be.
    #[error("a superpage has a power of two of sectors, 2 to 8192 and no less than a page, not {0}; 32 is usual")]
    Superpage(u32),
    /// A share that is none or leaves nothing.
    #[error("hold back a share from 0.01 to 0.9 of the space, not {0}; 0.1 is usual")]
    HoldBack(f64),
    /// A number of free virtual superpages that is out of range.
    #[error("var_free is 1 to 1000, not {0}; 2 is usual")]
    VarFree(u32),
    /// The device is too small.
    #[error(
        "a device of {sectors} sectors is too small: this layout needs {least}; take a larger device or a smaller \
         superpage"
    )]
    Small { sectors: u64, least: u64 },
    /// A segment that cannot be.
    #[error(
        "a segment has a power of two of sectors, at least two pages and a superpage and at most 32768, not {0}; 1024 \
         is usual"
    )]
    Segment(u32),
    /// A share of the log that is none or leaves too little.
    #[error("give the log a share from 0.001 to 0.5 of the device, not {0}; 0.1 is usual")]
    Log(f64),
    /// The device is too small for a log.
    #[error(
        "a device of {sectors} sectors is too small: a log of four segments in at most half of it needs {least}; take \
         a larger device or a smaller segment"
    )]
    NoLog { sectors: u64, least: u64 },
    /// The device is too large.
    #[error(
        "a device of {sectors} sectors has more pages than can be numbered; take at most {most} sectors, or larger \
         pages"
    )]
    Large {
        sectors: u64,
        /// Most sectors for pages of this size.
        most: u64,
    },
}

/// Why a store could not be formatted.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The layout cannot be.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// `cell_bytes` is not 512.
    #[error("cell_bytes is {0}, and a store holds contents: set it to 512")]
    NoContents(u32),
    #[error("the metadata could not be written: {0}")]
    Store(#[from] io::Error),
}

/// Why a drive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The device could not be read.
    #[error("the metadata could not be read: {0}")]
    Read(#[from] io::Error),
    /// There is no superblock.
    #[error("the device holds no remapped drive: its first sector is not a superblock; format it first")]
    Foreign,
    /// The superblock is damaged or of another version.
    #[error(
        "the superblock is damaged or of another version; restore the first sector of the device, or format it anew \
         and lose its data"
    )]
    Superblock,
    /// The device is smaller than when it was formatted.
    #[error("the device has {sectors} sectors and was formatted with {formatted}; open the whole device")]
    Shrunk { sectors: u64, formatted: u64 },
    /// No checkpoint is good together with its journal.
    #[error("the map is lost: {0}; restore the metadata, or format the device anew and lose its data")]
    Map(&'static str),
    /// There is nothing to read without contents.
    #[error("cell_bytes is 0: a drive without contents cannot be opened; set it to 512")]
    NoContents,
}
