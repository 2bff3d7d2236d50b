//! Inputs and outputs of a driver.

use crate::shell::host::RequestId;
use units::HostOp;

/// A command to the device. The data of a write are in [`crate::HostDriver::command_data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Say this when it is completed. Used again afterwards.
    pub id: u32,
    /// The operation of the command. Commands that are handed out and not completed may be done in any order.
    pub op: HostOp,
    /// First sector of the device; 0 for a flush.
    pub first_sector: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u32,
    /// Always false: a flush makes data durable.
    pub fua: bool,
}

/// The answer to a request of the host. The data of a read are in [`crate::Front::done_data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The token of the submitted request.
    pub tag: u64,
    pub op: HostOp,
    /// It was not done. A write that failed left the old contents, the new ones, or for some of its pages each.
    pub failed: bool,
}

/// A request of the host, as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submit {
    /// Comes back in [`Done`]; any number.
    pub tag: u64,
    pub op: HostOp,
    /// First sector; 0 for a flush.
    pub first_sector: u64,
    /// Sectors; 0 for a flush, and at least 1 for anything else.
    pub sectors: u32,
    /// Answer only when it would survive a power cut.
    pub fua: bool,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Request {
    pub tag: u64,
    pub op: HostOp,
    pub fua: bool,
    pub failed: bool,
    /// It is answered, or put among the answered requests.
    pub ended: bool,
    /// Parts that are not done, and one more while it is being taken apart.
    pub pending: u32,
    /// Entries that have to be durable for it.
    pub target: u64,
    pub data: Vec<u8>,
}

/// A request that is not begun.
#[derive(Debug)]
pub(crate) struct HeldBack {
    pub request: RequestId,
    pub first_sector: u64,
    pub sectors: u32,
    pub data: Vec<u8>,
}

/// A write or a trim of one page that waits.
#[derive(Debug)]
pub(crate) struct Job {
    pub request: RequestId,
    pub trim: bool,
    /// Sectors of the page that it has.
    pub first: u32,
    pub sectors: u32,
    /// A page, and which of its sectors are meant.
    data: Vec<u8>,
}

impl Job {
    pub fn trim(request: RequestId) -> Self {
        Self { request, trim: true, first: 0, sectors: 0, data: Vec::new() }
    }

    /// A write of `sectors` of a page of `bytes`, from `first` on.
    pub fn write(
        request: RequestId,
        (first, sectors): (u32, u32),
        data: &[u8],
        page_bytes: usize,
        cell_bytes: u32,
    ) -> Self {
        let mut bytes = vec![0; page_bytes];
        bytes[first as usize * cell_bytes as usize..][..data.len()].copy_from_slice(data);
        Self { request, trim: false, first, sectors, data: bytes }
    }

    /// The sectors that are meant.
    pub fn bytes(&self, cell_bytes: u32) -> &[u8] {
        &self.data[(self.first * cell_bytes) as usize..((self.first + self.sectors) * cell_bytes) as usize]
    }

    /// Becomes a write of the whole page, over what it held before.
    pub fn complete(&mut self, old: &[u8], page_sectors: u32, cell_bytes: u32) {
        let (first, end) = ((self.first * cell_bytes) as usize, ((self.first + self.sectors) * cell_bytes) as usize);
        self.data[..first].copy_from_slice(&old[..first]);
        let length = self.data.len();
        self.data[end..].copy_from_slice(&old[end..length]);
        (self.first, self.sectors) = (0, page_sectors);
    }
}
