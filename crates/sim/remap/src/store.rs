//! The storage below a blocking driver.

#[cfg(target_os = "linux")]
use rustix::fs::{FallocateFlags, fallocate};
#[cfg(target_os = "linux")]
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use units::SECTOR_BYTES;

/// A device that does one thing after the other. Sectors have 512 bytes.
pub trait BlockStore {
    fn sectors(&self) -> u64;

    /// Fills `into`, whole sectors, from `first_sector` on.
    /// Errors: the device's.
    fn read(&mut self, first_sector: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `data`, whole sectors, from `first_sector` on; durable when it returns if `fua` is set.
    /// Errors: the device's.
    fn write(&mut self, first_sector: u64, data: &[u8], fua: bool) -> io::Result<()>;

    /// Makes durable what was written.
    /// Errors: the device's.
    fn flush(&mut self) -> io::Result<()>;

    /// These sectors are no longer needed; they may read as anything afterwards.
    /// Errors: the device's.
    fn trim(&mut self, first_sector: u64, sectors: u64) -> io::Result<()>;
}

fn position(first_sector: u64) -> io::Result<SeekFrom> {
    let bytes =
        first_sector.checked_mul(SECTOR_BYTES).ok_or_else(|| Error::new(ErrorKind::InvalidInput, "no such sector"))?;
    Ok(SeekFrom::Start(bytes))
}

/// A regular file of a fixed size, or a block device. A trim gives the room back where the system can (on Linux: a hole
/// in the file, a discard of the device), and is ignored otherwise.
impl BlockStore for File {
    fn sectors(&self) -> u64 {
        // The length of a block device is where its end is; its metadata say 0.
        let mut file = self;
        file.seek(SeekFrom::End(0)).map_or(0, |bytes| bytes / SECTOR_BYTES)
    }

    fn read(&mut self, first_sector: u64, into: &mut [u8]) -> io::Result<()> {
        self.seek(position(first_sector)?)?;
        self.read_exact(into)
    }

    fn write(&mut self, first_sector: u64, data: &[u8], fua: bool) -> io::Result<()> {
        self.seek(position(first_sector)?)?;
        self.write_all(data)?;
        if fua { self.sync_data() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn trim(&mut self, first_sector: u64, sectors: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(self, hole, first_sector * SECTOR_BYTES, sectors * SECTOR_BYTES) {
            Err(Errno::NOTSUP | Errno::NOSYS) => Ok(()),
            done => Ok(done?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn trim(&mut self, _first_sector: u64, _sectors: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes in memory. A part of a sector at the end is left over.
impl BlockStore for Vec<u8> {
    fn sectors(&self) -> u64 {
        self.len() as u64 / SECTOR_BYTES
    }

    fn read(&mut self, first_sector: u64, into: &mut [u8]) -> io::Result<()> {
        let at = (first_sector * SECTOR_BYTES) as usize;
        let bytes = self.get(at..at + into.len()).ok_or(ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self, first_sector: u64, data: &[u8], _fua: bool) -> io::Result<()> {
        let at = (first_sector * SECTOR_BYTES) as usize;
        self.get_mut(at..at + data.len()).ok_or(ErrorKind::WriteZero)?.copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn trim(&mut self, _first_sector: u64, _sectors: u64) -> io::Result<()> {
        Ok(())
    }
}
