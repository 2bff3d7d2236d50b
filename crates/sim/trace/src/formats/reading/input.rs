//! Opening: files, standard input, and compression seen through by magic bytes.

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
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
        [0x1f, 0x8b, ..] => (Some("gzip"), Box::new(Members::<GzDecoder<_>>::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::Decoder::new(whole).map_err(|source| TraceError::io(path, source))?;
            decoder.window_log_max(WIDEST_WINDOW).map_err(|source| TraceError::io(path, source))?;
            (Some("zstd"), Box::new(decoder))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => (Some("xz"), Box::new(liblzma::read::XzDecoder::new_multi_decoder(whole))),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => (Some("bzip2"), Box::new(Members::<BzDecoder<_>>::new(whole))),
        _ => (None, Box::new(whole)),
    };
    if let Some(kind) = foreign_archive(&magic) {
        return Err(TraceError::ForeignArchive { path: path.to_owned(), kind });
    }
    Ok(Input { reader, path: path.to_owned(), archive })
}

/// The end of what is said of a file that goes on after its compressed data.
pub(crate) const TRAILING: &str = "trailing bytes that are no compressed data follow its end";

/// A decoder of one of the members that a compressed file has one after another.
trait Member: Read + Sized {
    /// The stream of compressed bytes.
    type Raw: BufRead;
    /// The byte that each member begins with.
    const FIRST: u8;

    fn begin(raw: Self::Raw) -> Self;
    fn end(self) -> Self::Raw;

    /// Bytes of a member without contents at the beginning of `buffered`, which needs no decoder; 0: there is none.
    fn empty(_buffered: &[u8]) -> usize {
        0
    }
}

impl<R: BufRead> Member for GzDecoder<R> {
    type Raw = R;
    const FIRST: u8 = 0x1f;

    fn begin(raw: R) -> Self {
        Self::new(raw)
    }

    fn end(self) -> R {
        self.into_inner()
    }
}

/// A bzip2 member without contents: the end of a stream and a checksum of nothing follow its head.
const EMPTY_BZIP2: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

impl<R: BufRead> Member for BzDecoder<R> {
    type Raw = R;
    const FIRST: u8 = b'B';

    fn begin(raw: R) -> Self {
        Self::new(raw)
    }

    fn end(self) -> R {
        self.into_inner()
    }

    /// A decoder takes 4 MB anew for each member, and a file may have a member every 14 bytes.
    fn empty(buffered: &[u8]) -> usize {
        match buffered {
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] if rest.starts_with(&EMPTY_BZIP2) => 4 + EMPTY_BZIP2.len(),
            _ => 0,
        }
    }
}

/// The members of a compressed file, one after another.
enum Members<M: Member> {
    /// At the beginning of one, or at the end of all.
    Between(M::Raw),
    Within(M),
    Over,
}

impl<M: Member<Raw = BufReader<R>>, R: Read> Members<M> {
    fn new(raw: R) -> Self {
        Self::Between(BufReader::new(raw))
    }
}

impl<M: Member> Read for Members<M> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(self, Self::Over) {
                Self::Over => return Ok(0),
                Self::Within(mut member) => match member.read(bytes)? {
                    0 => *self = Self::Between(member.end()),
                    read => {
                        *self = Self::Within(member);
                        return Ok(read);
                    }
                },
                Self::Between(mut raw) => {
                    let buffered = raw.fill_buf()?;
                    let empty = M::empty(buffered);
                    match buffered.first() {
                        None => return Ok(0),
                        Some(_) if empty > 0 => {
                            raw.consume(empty);
                            *self = Self::Between(raw);
                        }
                        Some(first) if *first == M::FIRST => *self = Self::Within(M::begin(raw)),
                        Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, TRAILING)),
                    }
                }
            }
        }
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
