//! Requests of a workload, read ahead so that the device can ask memory for what they need.

use super::RunError;
use crate::block_device::BlockDevice;
use trace::Workload;
use units::Request;

/// Requests taken from the workload at once.
const BATCH: usize = 1024;
/// Blocks are asked for so many requests ahead, and map entries twice as many: far enough for memory to answer, near
/// enough to stay cached.
const AHEAD: usize = 16;
/// Requests that are announced together, a power of two as [`Source`] divides by it often. A processor waits for few
/// answers of memory at once.
pub(crate) const TOGETHER: usize = 4;

/// Announces requests of a batch that come after the one at `from`: the blocks of `together` requests and, further
/// ahead, the map entries of as many.
#[inline]
pub(crate) fn announce(device: &impl BlockDevice, batch: &[Request], from: usize, together: usize) {
    let window = |ahead: usize| &batch[(from + ahead).min(batch.len())..(from + ahead + together).min(batch.len())];
    device.hint(window(2 * AHEAD), window(AHEAD));
}

/// Requests from a workload, read ahead so that they can be announced to the device.
pub(super) struct Source<'a> {
    workload: &'a mut dyn Workload,
    batch: Vec<Request>,
    next: usize,
    /// Up to here requests can be taken at once.
    known: usize,
    /// Requests that were taken.
    pub taken: u64,
    limit: u64,
    ended: bool,
}

impl<'a> Source<'a> {
    /// The requests of a workload, at most `limit` of them.
    pub fn new(workload: &'a mut dyn Workload, limit: u64) -> Self {
        Self { workload, batch: Vec::new(), next: 0, known: 0, taken: 0, limit, ended: false }
    }

    /// The next request without taking it.
    #[inline]
    pub fn peek(&mut self, device: &impl BlockDevice) -> Result<Option<Request>, RunError> {
        if self.next == self.known {
            self.look_ahead(device)?;
        }
        Ok(self.batch[..self.known].get(self.next).copied())
    }

    /// The next requests, up to the next stage of hints, without taking them. Empty at the end.
    pub fn ahead(&mut self, device: &impl BlockDevice) -> Result<&[Request], RunError> {
        if self.next == self.known {
            self.look_ahead(device)?;
        }
        Ok(&self.batch[self.next..self.known])
    }

    /// Makes the requests up to the next stage of hints known, as far as there are any, and announces further ones.
    #[inline(never)]
    fn look_ahead(&mut self, device: &impl BlockDevice) -> Result<(), RunError> {
        if self.next + 2 * AHEAD + TOGETHER >= self.batch.len() && !self.ended {
            self.refill()?;
        }
        let length = self.batch.len();
        let wanted = usize::try_from(self.limit - self.taken).unwrap_or(usize::MAX);
        let end = length.min(self.next.saturating_add(wanted));
        if self.next < end && self.next.is_multiple_of(TOGETHER) {
            announce(device, &self.batch, self.next, TOGETHER);
        }
        self.known = end.min((self.next / TOGETHER + 1) * TOGETHER);
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), RunError> {
        // Whole groups are dropped, so that hints stay aligned with the requests they announce.
        let keep_from = self.next / TOGETHER * TOGETHER;
        self.batch.drain(..keep_from);
        self.next -= keep_from;
        let before = self.batch.len();
        // No request beyond the limit is taken, so that one can ask the workload what is left.
        let wanted = self.limit - self.taken - (before - self.next) as u64;
        self.workload.next_batch(&mut self.batch, wanted.min(BATCH as u64) as usize)?;
        self.ended = self.batch.len() == before;
        Ok(())
    }

    /// So many of the next requests are served or under way.
    #[inline]
    pub fn take(&mut self, requests: usize) {
        self.next += requests;
        self.taken += requests as u64;
    }
}
