//! The bytes that sectors had before their last change, by a write or a trim.

use super::cuts::Damaged;
use std::collections::HashMap;
use std::sync::Arc;
use units::SECTOR_BYTES;

/// MiB of older data that a fault keeps at most; a literal, so that sentences can have it.
macro_rules! most_older_mib {
    () => {
        64
    };
}

/// Bytes of older data that a fault keeps at most.
pub const MOST_OLDER_BYTES: u64 = most_older_mib!() << 20;
/// The same in sectors.
pub(super) const MOST: u64 = MOST_OLDER_BYTES / SECTOR_BYTES;
/// Sectors of one read of older bytes.
pub(super) const PIECE: u64 = 512;

/// Bytes before the last change, of sectors that were changed since a fault was given.
#[derive(Clone, Debug, Default)]
pub(super) struct Older {
    bytes: HashMap<u64, Arc<[u8]>>,
    is_at_limit: bool,
}

impl Older {
    pub fn get(&self, sector: u64) -> Option<&Arc<[u8]>> {
        self.bytes.get(&sector)
    }

    /// Forgets the bytes of sectors that change now, which nobody has read.
    pub fn forget(&mut self, first: u64, end: u64) {
        self.bytes.retain(|sector, _| !(first..end).contains(sector));
    }

    /// Keeps the bytes of a sector that changes now; `None`: it could not be read. Whether this is the first sector
    /// for which there is no room.
    pub fn keep(&mut self, sector: u64, bytes: Option<&Arc<[u8]>>) -> bool {
        let Some(bytes) = bytes else {
            // The bytes from before the write before this one must not come back.
            self.bytes.remove(&sector);
            return false;
        };
        if (self.bytes.len() as u64) < MOST || self.bytes.contains_key(&sector) {
            self.bytes.insert(sector, bytes.clone());
            return false;
        }
        !std::mem::replace(&mut self.is_at_limit, true)
    }
}

/// A read of the bytes before a write or trim, which the drive does for faults.
#[derive(Debug)]
pub(super) struct Before {
    /// From the first sector to the one after the last.
    pub sectors: (u64, u64),
    /// The number of the last fault that was given before the change.
    pub last: u32,
    /// Damage that the change replaces.
    pub damaged: Damaged,
}

impl Before {
    /// The sectors with their bytes as a read of the host brings them; `None` where it fails.
    pub fn each<'a>(&'a self, cells: &'a [u8]) -> impl Iterator<Item = (u64, Option<Arc<[u8]>>)> + 'a {
        let mut cells = cells.chunks_exact(SECTOR_BYTES as usize);
        (self.sectors.0..self.sectors.1).map(move |sector| {
            let mut bytes = cells.next().map(<[u8]>::to_vec);
            (sector, bytes.take_if(|bytes| self.damaged.spoil(sector, bytes)).map(Arc::from))
        })
    }
}
