//! The export that is offered.

use crate::wire::transmission::{
    CAN_MULTI_CONN, HAS_FLAGS, READ_ONLY, SEND_CACHE, SEND_DF, SEND_FAST_ZERO, SEND_FLUSH, SEND_FUA, SEND_TRIM,
    SEND_WRITE_ZEROES,
};

/// Most bytes of one read or write.
pub const MOST_PAYLOAD: u32 = 32 << 20;
/// Most bytes of a name or a description.
pub const MOST_NAME: usize = 4096;

/// The offer of a server: one range of bytes under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Commands that clients may give, up to [`MOST_NAME`] bytes. The empty name means this export too.
    pub name: String,
    /// For people to read, up to [`MOST_NAME`] bytes; empty if there is none.
    pub description: String,
    /// Bytes, up to 2^63 - 1, whole blocks of `least_block`.
    pub size: u64,
    /// Offsets and lengths of requests are multiples of this: bytes, a power of two up to 64 KiB.
    pub least_block: u32,
    /// Bytes that are served best: a power of two from 512 and `least_block` to [`MOST_PAYLOAD`].
    pub preferred_block: u32,
    /// Nothing can be changed.
    pub read_only: bool,
    /// There is a flush.
    pub flush: bool,
    /// Writes may ask to be durable before they are answered.
    pub fua: bool,
    /// There is a trim.
    pub trim: bool,
    /// Zeros can be written without sending them.
    pub write_zeroes: bool,
    /// Zeros may be asked for only if they are faster than writing them.
    pub fast_zero: bool,
    /// There is a hint that data will be read soon.
    pub cache: bool,
    /// A flush on one connection holds for writes answered on all of them.
    pub multi_conn: bool,
}

/// Why an [`Export`] cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The name or the description is longer than [`MOST_NAME`].
    #[error("name and description of an export have at most {MOST_NAME} bytes each")]
    Name,
    /// `least_block` is not what it must be.
    #[error("the smallest block of an export is a power of two up to 65536 bytes, not {0}")]
    LeastBlock(u32),
    /// `preferred_block` is not what it must be.
    #[error(
        "the preferred block of an export is a power of two from 512 and its smallest block to {MOST_PAYLOAD} bytes, \
         not {0}"
    )]
    PreferredBlock(u32),
    /// `size` is too large or has part of a block.
    #[error("the size of an export is below 2^63 bytes and whole blocks of {least_block}, not {size}")]
    Size {
        /// Size that was asked for, bytes.
        size: u64,
        /// The smallest block, bytes.
        least_block: u32,
    },
}

impl Export {
    /// An export of `size` bytes that can be written, flushed (FUA too), trimmed and filled with zeros, in
    /// sectors of 512 bytes and best in pages of 4096.
    pub fn new(name: &str, size: u64) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            size,
            least_block: 512,
            preferred_block: 4096,
            read_only: false,
            flush: true,
            fua: true,
            trim: true,
            write_zeroes: true,
            fast_zero: false,
            cache: false,
            multi_conn: false,
        }
    }

    /// Whether it can be offered.
    ///
    /// # Errors
    /// A field is not within its range.
    pub fn check(&self) -> Result<(), ExportError> {
        if self.name.len() > MOST_NAME || self.description.len() > MOST_NAME {
            return Err(ExportError::Name);
        }
        if !self.least_block.is_power_of_two() || self.least_block > 64 << 10 {
            return Err(ExportError::LeastBlock(self.least_block));
        }
        let preferred = self.least_block.max(512)..=MOST_PAYLOAD;
        if !self.preferred_block.is_power_of_two() || !preferred.contains(&self.preferred_block) {
            return Err(ExportError::PreferredBlock(self.preferred_block));
        }
        if i64::try_from(self.size).is_err() || !self.size.is_multiple_of(u64::from(self.least_block)) {
            return Err(ExportError::Size { size: self.size, least_block: self.least_block });
        }
        Ok(())
    }

    /// The empty name is the default export, and there is no other.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// The flags that clients are told.
    pub(crate) fn flags(&self, structured: bool) -> u16 {
        let writable = !self.read_only;
        let flags = [
            (self.read_only, READ_ONLY),
            (self.flush, SEND_FLUSH),
            (self.fua, SEND_FUA),
            (self.trim && writable, SEND_TRIM),
            (self.write_zeroes && writable, SEND_WRITE_ZEROES),
            (self.write_zeroes && self.fast_zero && writable, SEND_FAST_ZERO),
            (structured, SEND_DF),
            (self.multi_conn, CAN_MULTI_CONN),
            (self.cache, SEND_CACHE),
        ];
        flags.iter().filter(|(offered, _)| *offered).fold(HAS_FLAGS, |all, (_, flag)| all | flag)
    }
}
