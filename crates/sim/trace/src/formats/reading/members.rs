//! Compressed files of several members, which are read as one.

use std::io::{self, BufRead, BufReader, Read};

use super::codecs::TRAILING;

/// A decoder of one of the members that a compressed file has one after another.
pub(super) trait Member: Read + Sized {
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

#[cfg(feature = "gzip")]
impl<R: BufRead> Member for flate2::bufread::GzDecoder<R> {
    type Raw = R;
    const FIRST: u8 = 0x1f;

    fn begin(raw: R) -> Self {
        Self::new(raw)
    }

    fn end(self) -> R {
        self.into_inner()
    }
}

#[cfg(feature = "lz4")]
impl<R: BufRead> Member for lz4_flex::frame::FrameDecoder<R> {
    type Raw = R;
    const FIRST: u8 = 0x04;

    fn begin(raw: R) -> Self {
        Self::new(raw)
    }

    fn end(self) -> R {
        self.into_inner()
    }
}

/// A bzip2 member without contents: the end of a stream and a checksum of nothing follow its head.
#[cfg(feature = "bzip2")]
const EMPTY_BZIP2: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

#[cfg(feature = "bzip2")]
impl<R: BufRead> Member for bzip2::bufread::BzDecoder<R> {
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
pub(super) enum Members<M: Member> {
    /// At the beginning of one, or at the end of all.
    Between(M::Raw),
    Within(M),
    Over,
}

impl<M: Member<Raw = BufReader<R>>, R: Read> Members<M> {
    pub fn new(raw: R) -> Self {
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
