//! A drive as the bytes of a file: for programs that read and write files.

use crate::{Drive, DriveError};
use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use units::SECTOR_BYTES;

/// A drive whose bytes are read and written at any place, as those of a file of one size.
///
/// A part of a sector is written with the rest of its sector, which is read first. As with a file of the operating
/// system, [`Write::flush`] does nothing, and [`ByteDrive::sync_all`] makes written bytes last.
///
/// ```
/// use drive::{ByteDrive, Drive};
/// use std::io::{Read, Seek, SeekFrom, Write};
///
/// let settings = ["drive.capacity=4MiB", "flash.channels=1", "flash.dies_per_channel=1", "flash.pages_per_block=16",
///     "drive.over_provisioning=100%"];
/// let mut file = ByteDrive::new(Drive::new("page", &settings)?);
/// file.write_all(b"some bytes")?;
/// file.sync_all()?;
/// file.drive().power_cut(1);
/// file.drive().reopen()?;
/// file.seek(SeekFrom::Start(5))?;
/// let mut found = [0; 5];
/// file.read_exact(&mut found)?;
/// assert_eq!(&found, b"bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ByteDrive {
    drive: Drive,
    position: u64,
}

impl ByteDrive {
    /// The bytes of a drive, from the first one on.
    pub fn new(drive: Drive) -> Self {
        Self { drive, position: 0 }
    }

    /// The drive, to cut its power or to inject faults.
    pub fn drive(&mut self) -> &mut Drive {
        &mut self.drive
    }

    /// The drive, without its position.
    pub fn into_drive(self) -> Drive {
        self.drive
    }

    /// Bytes of the drive, which never change in number.
    pub fn size(&self) -> u64 {
        self.drive.bytes()
    }

    /// Reads bytes from `offset` on, fewer at the end of the drive.
    ///
    /// # Errors
    /// As [`Drive::read`].
    pub fn read_at(&mut self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.room(into.len(), offset);
        self.read_bytes(&mut into[..length], offset)?;
        Ok(length)
    }

    /// Writes bytes from `offset` on, fewer at the end of the drive.
    ///
    /// # Errors
    /// As [`Drive::write`]; without any byte of room [`ErrorKind::StorageFull`].
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let length = self.room(bytes.len(), offset);
        if length == 0 && !bytes.is_empty() {
            return Err(ErrorKind::StorageFull.into());
        }
        self.write_bytes(&bytes[..length], offset, false)?;
        Ok(length)
    }

    /// All written bytes last when this returns.
    ///
    /// # Errors
    /// As [`Drive::flush`].
    pub fn sync_all(&mut self) -> io::Result<()> {
        Ok(self.drive.flush()?)
    }

    /// Bytes of a request that the drive has.
    fn room(&self, length: usize, offset: u64) -> usize {
        length.min(usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX))
    }

    /// The sectors around a range: their first byte and their number of bytes.
    fn around(offset: u64, length: usize) -> (u64, usize) {
        let from = offset / SECTOR_BYTES * SECTOR_BYTES;
        (from, ((offset + length as u64).next_multiple_of(SECTOR_BYTES) - from) as usize)
    }

    pub(crate) fn read_bytes(&mut self, into: &mut [u8], offset: u64) -> Result<(), DriveError> {
        let (from, whole) = Self::around(offset, into.len());
        if whole == into.len() {
            return self.drive.read(offset, into);
        }
        let mut sectors = vec![0; whole];
        self.drive.read(from, &mut sectors)?;
        into.copy_from_slice(&sectors[(offset - from) as usize..][..into.len()]);
        Ok(())
    }

    /// Writes bytes; with `lasts` they last when this returns.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8], offset: u64, lasts: bool) -> Result<(), DriveError> {
        let (from, whole) = Self::around(offset, bytes.len());
        let mut sectors = Vec::new();
        let bytes = if whole == bytes.len() {
            bytes
        } else {
            sectors.resize(whole, 0);
            self.drive.read(from, &mut sectors)?;
            sectors[(offset - from) as usize..][..bytes.len()].copy_from_slice(bytes);
            &sectors
        };
        if lasts { self.drive.write_through(from, bytes) } else { self.drive.write(from, bytes) }
    }
}

impl Read for ByteDrive {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(into, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Write for ByteDrive {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.write_at(bytes, self.position)?;
        self.position += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for ByteDrive {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(distance) => self.size().checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = place.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl From<DriveError> for Error {
    fn from(error: DriveError) -> Self {
        let kind = match &error {
            DriveError::Full | DriveError::Dead { .. } => ErrorKind::StorageFull,
            DriveError::Alignment { .. } | DriveError::Beyond { .. } | DriveError::Config(_) => ErrorKind::InvalidInput,
            DriveError::PowerOff => ErrorKind::NotConnected,
            DriveError::File { source, .. } => source.kind(),
            DriveError::Unsupported(_) => ErrorKind::Unsupported,
            DriveError::Recovery(_) | DriveError::Failed { .. } | DriveError::Foreign { .. } => ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
