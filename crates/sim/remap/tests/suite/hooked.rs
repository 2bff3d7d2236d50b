//! A store in memory. A test may look at each command, or refuse it.

use remap::BlockStore;
use std::io;

/// What is about to be done.
pub enum Access<'a> {
    Read { first_sector: u64, sectors: u64 },
    Write { first_sector: u64, data: &'a [u8] },
    Flush,
}

/// Bytes, and who is asked before anything is done with them.
pub struct Hooked<H> {
    pub bytes: Vec<u8>,
    pub hook: H,
}

impl<H: FnMut(Access<'_>) -> io::Result<()>> BlockStore for Hooked<H> {
    fn sectors(&self) -> u64 {
        self.bytes.sectors()
    }

    fn read(&mut self, first_sector: u64, into: &mut [u8]) -> io::Result<()> {
        (self.hook)(Access::Read { first_sector, sectors: into.len() as u64 / 512 })?;
        self.bytes.read(first_sector, into)
    }

    fn write(&mut self, first_sector: u64, data: &[u8], fua: bool) -> io::Result<()> {
        (self.hook)(Access::Write { first_sector, data })?;
        self.bytes.write(first_sector, data, fua)
    }

    fn flush(&mut self) -> io::Result<()> {
        (self.hook)(Access::Flush)?;
        self.bytes.flush()
    }

    fn trim(&mut self, first_sector: u64, sectors: u64) -> io::Result<()> {
        self.bytes.trim(first_sector, sectors)
    }
}
