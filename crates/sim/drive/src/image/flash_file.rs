//! A file that follows flash without a drive of this crate around it.

use super::Image;
use crate::error::DriveError;
use nand::FlashState;
use std::path::Path;
use std::sync::Arc;

/// A file that holds flash, for checks of the state that a killed program leaves of any stack.
#[derive(Debug)]
pub struct FlashFile {
    image: Arc<Image>,
}

impl FlashFile {
    /// What the description of such a file says in place of a stack.
    const DESCRIPTION: &str = "flash = alone";

    /// Makes the file, or puts what it holds into `flash`, which must be factory-fresh then. From now on the file
    /// follows `flash`.
    ///
    /// # Errors
    /// The file cannot be read or written, is open elsewhere, is damaged, or is of flash of another size.
    pub fn open(path: &Path, flash: &mut FlashState) -> Result<Self, DriveError> {
        let (image, holds) = Image::open(path, flash.geometry, Self::DESCRIPTION)?;
        if !holds {
            image.start(flash);
            image.describe(Self::DESCRIPTION)?;
            return Ok(Self { image });
        }
        let (image, damage) = image.resume(flash)?;
        if damage.is_any() { Err(image.foreign(damage.to_string())) } else { Ok(Self { image }) }
    }

    /// A flush has ended: pages programmed so far are known to be whole from now on.
    pub fn flushed(&self) {
        self.image.settle();
    }

    /// Power was cut: the file follows what was `left` of the flash that was as `before`.
    pub fn lose_power(&self, before: &FlashState, left: &mut FlashState) {
        self.image.lose_power(before, left);
    }
}
