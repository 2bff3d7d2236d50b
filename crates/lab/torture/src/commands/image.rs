//! Drives as files, with holes where they hold zeros.

use crate::cut_disk::CutDisk;
use crate::harness::TortureError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use units::SECTOR_BYTES;

/// Bytes of a hole at least.
const HOLE: usize = 4096;

/// The contents of a drive before all cuts, and their place.
pub struct Images<'a> {
    before: &'a [u8],
    /// Beginnings of pieces that are not zeros.
    used: Vec<usize>,
}

impl<'a> Images<'a> {
    pub fn new(before: &'a [u8]) -> Self {
        let zeros = [0; HOLE];
        let used = before.chunks(HOLE).enumerate().filter(|(_, piece)| **piece != zeros[..piece.len()]);
        Self { before, used: used.map(|(number, _)| number * HOLE).collect() }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let _ = std::fs::remove_file(path); // whoever still has it keeps the old one
        let file = File::create(path)?;
        file.set_len(self.before.len() as u64)?;
        for at in &self.used {
            let piece = &self.before[*at..(at + HOLE).min(self.before.len())];
            file.write_all_at(piece, *at as u64)?;
        }
        Ok(file)
    }

    /// Writes what the drive held before.
    /// Errors: the file cannot be written.
    pub fn write_before(&self, path: &Path) -> Result<(), TortureError> {
        self.create(path).map(drop).map_err(|error| TortureError::unwritten(path, error))
    }

    /// Writes what it holds after a cut: zeros where it cannot be read.
    /// Errors: the file cannot be written.
    pub fn write(&self, path: &Path, disk: &CutDisk<'_>) -> Result<(), TortureError> {
        let write = || {
            let file = self.create(path)?;
            let mut bytes = Vec::new();
            let changed = disk.changed();
            for run in changed.chunk_by(|one, next| one + 1 == *next) {
                bytes.clear();
                for sector in run {
                    bytes.extend_from_slice(disk.sector(*sector).unwrap_or(&[0; SECTOR_BYTES as usize]));
                }
                file.write_all_at(&bytes, run[0] * SECTOR_BYTES)?;
            }
            Ok(())
        };
        write().map_err(|error| TortureError::unwritten(path, error))
    }

    /// Writes a whole drive.
    /// Errors: the file cannot be written.
    pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), TortureError> {
        Images::new(bytes).write_before(path)
    }
}
