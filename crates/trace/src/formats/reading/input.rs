//! Opening: files, standard input, and compression seen through by magic bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::TraceError;

/// A stream of the trace's own bytes.
pub(crate) struct Input {
    pub reader: Box<dyn Read + Send>,
    /// File name for messages.
    pub path: String,
    /// Compression found, for messages.
    pub archive: Option<&'static str>,
}

const MAGIC_BYTES: usize = 6;
/// Logarithm of the widest zstd window that is unpacked, which is the memory it takes: 128 MiB, as the program `zstd`
/// has it.
const WIDEST_WINDOW: u32 = 27;
/// A part of what the zstd library says of a wider one.
pub(crate) const TOO_WIDE: &str = "requires too much memory";

/// Opens `path`, or standard input for `-`.
pub(crate) fn open_path(path: &str) -> Result<Input, TraceError> {
    if path == "-" {
        return from_reader(Box::new(io::stdin()), "standard input");
    }
    let file = File::open(path).map_err(|source| TraceError::io(path, source))?;
    from_reader(Box::new(file), path)
}

/// Sees through the compression of any stream.
pub(crate) fn from_reader(mut raw: Box<dyn Read + Send>, path: &str) -> Result<Input, TraceError> {
    let magic = read_magic(&mut raw).map_err(|source| TraceError::io(path, source))?;
    let whole = Cursor::new(magic.clone()).chain(raw);
    let (archive, reader): (_, Box<dyn Read + Send>) = match magic.as_slice() {
        [0x1f, 0x8b, ..] => (Some("gzip"), Box::new(GzipMembers::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::Decoder::new(whole).map_err(|source| TraceError::io(path, source))?;
            decoder.window_log_max(WIDEST_WINDOW).map_err(|source| TraceError::io(path, source))?;
            (Some("zstd"), Box::new(decoder))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => (Some("xz"), Box::new(liblzma::read::XzDecoder::new_multi_decoder(whole))),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => (Some("bzip2"), Box::new(bzip2::read::MultiBzDecoder::new(whole))),
        _ => (None, Box::new(whole)),
    };
    if let Some(kind) = foreign_archive(&magic) {
        return Err(TraceError::ForeignArchive { path: path.to_owned(), kind });
    }
    Ok(Input { reader, path: path.to_owned(), archive })
}

/// The end of what is said of a file that goes on after its compressed data.
pub(crate) const TRAILING: &str = "trailing bytes that are no compressed data follow its end";

/// The members of a gzip file, one after another.
struct GzipMembers<R: Read>(Option<flate2::bufread::GzDecoder<BufReader<R>>>);

impl<R: Read> GzipMembers<R> {
    fn new(raw: R) -> Self {
        Self(Some(flate2::bufread::GzDecoder::new(BufReader::new(raw))))
    }
}

impl<R: Read> Read for GzipMembers<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(bytes)?;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            let Some(mut raw) = self.0.take().map(flate2::bufread::GzDecoder::into_inner) else { break };
            match raw.fill_buf()? {
                [] => {}
                [0x1f, ..] => self.0 = Some(flate2::bufread::GzDecoder::new(raw)),
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, TRAILING)),
            }
        }
        Ok(0)
    }
}

/// Containers that are recognised only to say so.
fn foreign_archive(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("7-Zip"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'R', b'a', b'r', b'!', ..] => Some("rar"),
        _ => None,
    }
}

fn read_magic(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut magic = Vec::with_capacity(MAGIC_BYTES);
    raw.take(MAGIC_BYTES as u64).read_to_end(&mut magic)?;
    Ok(magic)
}
