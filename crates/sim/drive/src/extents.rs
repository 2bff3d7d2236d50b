//! The parts of a drive that hold data.

use crate::error::DriveError;
use crate::requests::{Drive, Power};
use layer::Held;
use units::Lpn;

/// Pages that are looked at in one call: others wait meanwhile.
const MOST_PAGES: u64 = 1 << 15;

/// Consecutive bytes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many there are.
    pub bytes: u64,
    /// They were never written, were trimmed since, or were written by preconditioning: they read as zeros.
    pub is_hole: bool,
}

impl Drive {
    /// The extents of the bytes from `offset` on, at most `most` of them, each as long as it can be. They begin and end
    /// at pages (see [`Drive::page_bytes`]), or at the bounds of the range. They may end before the range does, but
    /// there is at least one, unless the range is empty.
    ///
    /// # Errors
    /// Power is off, or the range ends beyond the drive.
    pub fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, DriveError> {
        self.check(offset, length)?;
        let Power::On(host) = &self.power else { return Err(DriveError::PowerOff) };
        let (page_bytes, end) = (u64::from(self.page_bytes()), offset + length);
        let mut extents: Vec<Extent> = Vec::new();
        let mut at = offset;
        for page in (offset / page_bytes..end.div_ceil(page_bytes)).take(MOST_PAGES as usize) {
            let is_hole = host.holds(Lpn(page as u32)) < Held::Bytes;
            let until = ((page + 1) * page_bytes).min(end);
            let count = extents.len();
            match extents.last_mut() {
                Some(last) if last.is_hole == is_hole => last.bytes += until - at,
                _ if count == most => break,
                _ => extents.push(Extent { bytes: until - at, is_hole }),
            }
            at = until;
        }
        Ok(extents)
    }
}
