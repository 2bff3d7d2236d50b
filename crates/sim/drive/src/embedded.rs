//! Traits of storage for programs of small devices.

#[cfg(feature = "block-device-driver")]
mod blocks {
    use crate::{Drive, DriveError};
    use aligned::{A4, Aligned};
    use block_device_driver::{BlockDevice, blocks_to_slice, blocks_to_slice_mut};
    use units::SECTOR_BYTES;

    /// Bytes of a block.
    const BLOCK: usize = SECTOR_BYTES as usize;

    impl BlockDevice<BLOCK> for Drive {
        type Error = DriveError;
        type Align = A4;

        async fn read(&mut self, block: u32, data: &mut [Aligned<A4, [u8; BLOCK]>]) -> Result<(), DriveError> {
            Self::read(self, u64::from(block) * SECTOR_BYTES, blocks_to_slice_mut(data))
        }

        async fn write(&mut self, block: u32, data: &[Aligned<A4, [u8; BLOCK]>]) -> Result<(), DriveError> {
            Self::write(self, u64::from(block) * SECTOR_BYTES, blocks_to_slice(data))
        }

        async fn size(&mut self) -> Result<u64, DriveError> {
            Ok(self.bytes())
        }
    }
}

#[cfg(feature = "embedded-storage")]
mod nor {
    use crate::{ByteDrive, DriveError};
    use embedded_storage::nor_flash::{
        ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase,
        check_read, check_write,
    };

    /// Bytes of the smallest erase.
    const ERASED: usize = 4096;

    /// The failure of a request to NOR flash.
    #[derive(Debug, thiserror::Error)]
    #[non_exhaustive]
    pub enum NorError {
        /// The request is not aligned, or ends beyond the flash.
        #[error("{0}")]
        Asked(NorFlashErrorKind),
        /// The drive cannot serve it.
        #[error(transparent)]
        Drive(#[from] DriveError),
    }

    impl From<NorFlashErrorKind> for NorError {
        fn from(kind: NorFlashErrorKind) -> Self {
            Self::Asked(kind)
        }
    }

    impl NorFlashError for NorError {
        fn kind(&self) -> NorFlashErrorKind {
            match self {
                Self::Asked(kind) => *kind,
                Self::Drive(_) => NorFlashErrorKind::Other,
            }
        }
    }

    impl ErrorType for ByteDrive {
        type Error = NorError;
    }

    /// Bytes that were never erased are zeros, as if they were programmed. Offsets have 32 bits, so of a larger drive
    /// the first 4 GiB are used.
    impl ReadNorFlash for ByteDrive {
        const READ_SIZE: usize = 1;

        fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorError> {
            check_read(self, offset, bytes.len())?;
            Ok(self.read_bytes(bytes, offset.into())?)
        }

        fn capacity(&self) -> usize {
            let most = u32::MAX as usize / ERASED;
            usize::try_from(self.size()).unwrap_or(usize::MAX).min(most * ERASED) / ERASED * ERASED
        }
    }

    /// A write clears bits and sets none, and an erase sets all. Both last when they return.
    impl NorFlash for ByteDrive {
        const WRITE_SIZE: usize = 1;
        const ERASE_SIZE: usize = ERASED;

        fn erase(&mut self, from: u32, to: u32) -> Result<(), NorError> {
            check_erase(self, from, to)?;
            let erased = [0xff; ERASED];
            for offset in (from..to).step_by(ERASED) {
                self.write_bytes(&erased, offset.into(), true)?;
            }
            Ok(())
        }

        fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorError> {
            check_write(self, offset, bytes.len())?;
            let mut cells = vec![0; bytes.len()];
            self.read_bytes(&mut cells, offset.into())?;
            cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
            Ok(self.write_bytes(&cells, offset.into(), true)?)
        }
    }

    impl MultiwriteNorFlash for ByteDrive {}
}

#[cfg(feature = "embedded-storage")]
pub use nor::NorError;
