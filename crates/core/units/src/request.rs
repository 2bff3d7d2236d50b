//! The block request of a host to a drive.

use crate::Nanos;

/// Bytes of a host sector, the smallest unit a request can name.
pub const SECTOR_BYTES: u64 = 512;

/// Operation of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum HostOp {
    /// Return the last acknowledged contents.
    Read,
    /// Replace the contents of the sectors.
    Write,
    /// The contents are no longer needed (discard, deallocate).
    Trim,
    /// Make everything acknowledged so far survive a power cut.
    Flush,
}

impl HostOp {
    /// Every operation, in display order; the index is the discriminant.
    pub const ALL: [HostOp; 4] = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush];

    /// The name used in results and reports.
    pub const fn name(self) -> &'static str {
        match self {
            HostOp::Read => "read",
            HostOp::Write => "write",
            HostOp::Trim => "trim",
            HostOp::Flush => "flush",
        }
    }

    /// The operation as a table index.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// One request of a host, addressed in sectors of [`SECTOR_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When the request arrives, in nanoseconds since the start of the workload.
    /// A closed-loop run ignores it.
    pub arrival: Nanos,
    /// First sector; 0 for a flush.
    pub first_sector: u64,
    /// Number of sectors; 0 only for a flush.
    pub sectors: u32,
    /// Operation on the sectors.
    pub op: HostOp,
    /// Force unit access: a write is acknowledged only once it would survive a power cut.
    pub fua: bool,
}

impl Request {
    /// A request addressed in bytes, whole sectors of them, that arrives at 0.
    pub fn of_bytes(op: HostOp, offset: u64, length: u64, fua: bool) -> Self {
        let (first_sector, sectors) = (offset / SECTOR_BYTES, (length / SECTOR_BYTES) as u32);
        Self { arrival: 0, first_sector, sectors, op, fua }
    }

    /// Bytes the request moves over the host link (0 for trim and flush).
    pub fn bytes_moved(&self) -> u64 {
        match self.op {
            HostOp::Read | HostOp::Write => u64::from(self.sectors) * SECTOR_BYTES,
            HostOp::Trim | HostOp::Flush => 0,
        }
    }

    /// The sector after the last one.
    pub fn end_sector(&self) -> u64 {
        self.first_sector + u64::from(self.sectors)
    }
}
