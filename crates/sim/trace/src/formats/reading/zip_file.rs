//! A file within a zip archive, as a stream. The list of files stands at the end of the archive, so it cannot come from
//! standard input.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::CompressionMethod;
use zip::ZipArchive;

use super::TraceError;
use super::archive::{is_attributes, meant, no_such_member, several};
use super::codecs::Raw;
use super::input::{Member, Refused};

const KIND: &str = "zip";

/// Where a file stands in an archive.
struct Place {
    index: usize,
    name: String,
}

/// The contents of the file called `wanted`, or of the only file, and its name.
/// Errors: there is no such file or there are several; the archive is damaged, encrypted, or packed in a rare way.
pub(super) fn open(file: File, path: &str, wanted: Option<&str>, chosen: &Member) -> Result<(Raw, String), TraceError> {
    let damaged = |problem: String| TraceError::Archive { path: path.to_owned(), kind: KIND, problem };
    let again = file.try_clone().map_err(|source| TraceError::io(path, source))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
    let twice = "The zip archive has files of one and the same name, and of those only the last can be read.";
    chosen.looked_through(archive.has_duplicate_names().then(|| twice.to_owned()));
    let mut places = Vec::new();
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(|error| damaged(error.to_string()))?;
        let name = member.name().map_err(|error| damaged(error.to_string()))?.into_owned();
        if member.is_file() && member.size() > 0 && !is_attributes(&name) {
            places.push(Place { index, name });
        }
    }
    let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
    let place = match (wanted, names.len()) {
        (Some(wanted), _) => meant(path, KIND, &names, wanted)?,
        (None, 1) => 0,
        (None, 0) => return Err(no_such_member(path, KIND, None, &names)),
        (None, _) => return Err(several(path, KIND, &names)),
    };
    let Place { index, name } = places.swap_remove(place);
    let member = archive.by_index_raw(index).map_err(|error| damaged(error.to_string()))?;
    if member.encrypted() {
        return Err(damaged(format!("{name} is encrypted")));
    }
    let start = member.data_start().ok_or_else(|| damaged(format!("{name} has no place")))?;
    let mut packed = again;
    packed.seek(SeekFrom::Start(start)).map_err(|source| TraceError::io(path, source))?;
    let packed = packed.take(member.compressed_size());
    let raw: Raw = match member.compression() {
        CompressionMethod::Stored => Box::new(packed),
        CompressionMethod::Deflated => Box::new(flate2::read::DeflateDecoder::new(packed)),
        other => return Err(damaged(format!("{name} is compressed by {other}, which nandarium does not read"))),
    };
    let hasher = crc32fast::Hasher::new();
    let checked = Checked { raw, hasher, left: member.size(), sum: member.crc32(), path: path.to_owned() };
    Ok((Box::new(checked), name))
}

/// Contents whose length and checksum are known.
struct Checked {
    raw: Raw,
    hasher: crc32fast::Hasher,
    left: u64,
    sum: u32,
    path: String,
}

impl Read for Checked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(bytes)?;
        if read == 0 && !bytes.is_empty() && (self.left > 0 || self.hasher.clone().finalize() != self.sum) {
            return Err(self.damaged());
        }
        self.hasher.update(&bytes[..read]);
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| self.damaged())?;
        Ok(read)
    }
}

impl Checked {
    fn damaged(&self) -> io::Error {
        let problem = "its length or checksum is wrong".to_owned();
        io::Error::other(Refused(TraceError::Archive { path: self.path.clone(), kind: KIND, problem }))
    }
}
