//! Requests of clients, and the answers.

use crate::wire::allocation;

/// The command of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Return the bytes of the range.
    Read,
    /// Replace the bytes of the range by the payload.
    Write,
    /// Make durable what was answered before this request was received.
    Flush,
    /// The bytes are no longer needed.
    Trim,
    /// Replace the bytes by zeros.
    WriteZeroes,
    /// Tell which bytes are allocated, and which are zeros.
    BlockStatus,
    /// The bytes will be read soon.
    Cache,
}

/// A request that is complete, allowed, and within the export. It is answered once, by giving it back to its
/// connection.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a request that is not answered keeps its connection open"]
pub struct Request {
    /// The client's number for it.
    pub cookie: u64,
    /// The operation on the bytes.
    pub command: Command,
    /// First byte, a multiple of [`crate::Export::least_block`]; 0 for a flush.
    pub offset: u64,
    /// Bytes, a multiple of [`crate::Export::least_block`], not 0; 0 for a flush. Reads and writes have at most
    /// [`crate::MOST_PAYLOAD`].
    pub length: u32,
    /// The answer waits until what the request changes is durable.
    pub fua: bool,
    /// Zeros keep their space allocated.
    pub no_hole: bool,
    /// Zeros are wanted only if that is faster than writing them; otherwise the answer is
    /// [`ErrorNumber::Unsupported`], at once.
    pub fast_zero: bool,
    /// The answer to a read comes in one piece; [`crate::Connection::read_sparse`] sees to it.
    pub unfragmented: bool,
    /// One extent is enough; [`crate::Connection::extents`] sees to it.
    pub one_extent: bool,
    /// It is a part of a longer request; see [`crate::Connection::split`].
    pub(crate) is_part: bool,
}

/// A run of bytes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of bytes, which continue the extent before.
    pub length: u64,
    /// Nothing is allocated for them.
    pub hole: bool,
    /// They read as zeros.
    pub zero: bool,
}

impl Extent {
    /// `length` bytes of data.
    pub fn data(length: u64) -> Self {
        Self { length, hole: false, zero: false }
    }

    /// `length` bytes that are not allocated and read as zeros.
    pub fn hole(length: u64) -> Self {
        Self { length, hole: true, zero: true }
    }

    pub(crate) fn flags(self) -> u32 {
        let flag = |set, flag| if set { flag } else { 0 };
        flag(self.hole, allocation::HOLE) | flag(self.zero, allocation::ZERO)
    }
}

/// Why a request failed, as far as the protocol can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum ErrorNumber {
    /// EPERM: the export is read-only.
    #[error("not permitted")]
    Permission = 1,
    /// EIO: the drive failed.
    #[error("input or output error")]
    Io = 5,
    /// ENOMEM: no memory for this request.
    #[error("no memory")]
    Memory = 12,
    /// EINVAL: the request makes no sense.
    #[error("invalid request")]
    Invalid = 22,
    /// ENOSPC: no space left, or a write beyond the end.
    #[error("no space")]
    Space = 28,
    /// EOVERFLOW: too long for an answer in one piece.
    #[error("too long")]
    Overflow = 75,
    /// ENOTSUP: zeros would not be fast.
    #[error("not supported")]
    Unsupported = 95,
    /// ESHUTDOWN: the server is about to stop.
    #[error("shutting down")]
    ShutDown = 108,
}

impl ErrorNumber {
    /// The number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}
