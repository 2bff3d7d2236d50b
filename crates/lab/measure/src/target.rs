//! A target to measure: a file or block device, or an export of an NBD server.

use crate::MeasureError;
use crate::nbd_client::Client;
use remap::target::{self, Access};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// Something that is read or written from outside.
pub(crate) enum Target {
    /// A file or a block device.
    File {
        file: File,
        bytes: u64,
        /// Writes go past the cache of the operating system.
        direct: bool,
    },
    Export(Box<Client>),
}

impl Target {
    /// Opens a file or device for as long as this lives, or connects to an export.
    pub fn open(name: &str, access: Access) -> Result<Self, MeasureError> {
        if Client::is_uri(name) {
            let client = Client::connect(name).map_err(|error| MeasureError::Failed(format!("{name}: {error}")))?;
            return Ok(Self::Export(Box::new(client)));
        }
        let path = Path::new(name);
        let (mut file, direct) = match access {
            Access::Read => (target::open(path, access)?, false),
            Access::Write => target::open_direct(path)?,
        };
        let bytes = file.seek(SeekFrom::End(0));
        let bytes = bytes.map_err(|error| MeasureError::Failed(format!("{name} could not be measured: {error}")))?;
        Ok(Self::File { file, bytes, direct })
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            Self::Export(client) => client.bytes(),
        }
    }
}
