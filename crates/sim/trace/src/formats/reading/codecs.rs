//! Compressions that are seen through. Each is a feature of the crate; errors name the missing ones.

use std::io::{self, Read};

#[cfg(any(feature = "bzip2", feature = "gzip", feature = "lz4"))]
use super::members::Members;

/// A stream of bytes.
pub(super) type Raw = Box<dyn Read + Send>;

pub(super) struct Codec {
    /// Its name in messages.
    pub name: &'static str,
    /// The feature of the crate that has it.
    pub feature: &'static str,
    /// Whether a file of this name starts so.
    is_it: fn(&[u8], &str) -> bool,
    /// `None`: the feature is off.
    pub open: Option<fn(Raw) -> io::Result<Raw>>,
}

/// A function of a feature, or nothing without it.
macro_rules! with {
    ($feature:literal, $open:expr) => {{
        #[cfg(feature = $feature)]
        let open: Option<fn(Raw) -> io::Result<Raw>> = Some($open);
        #[cfg(not(feature = $feature))]
        let open: Option<fn(Raw) -> io::Result<Raw>> = None;
        open
    }};
}

static CODECS: [Codec; 7] = [
    Codec {
        name: "gzip",
        feature: "gzip",
        is_it: |head, _| head.starts_with(&[0x1f, 0x8b]),
        open: with!("gzip", |raw| Ok(Box::new(Members::<flate2::bufread::GzDecoder<_>>::new(raw)))),
    },
    Codec {
        name: "zstd",
        feature: "zstd",
        is_it: |head, _| head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        open: with!("zstd", zstd_decoder),
    },
    Codec {
        name: "xz",
        feature: "xz",
        is_it: |head, _| head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]),
        open: with!("xz", |raw| Ok(Box::new(liblzma::read::XzDecoder::new_multi_decoder(raw)))),
    },
    Codec { name: "lzma", feature: "xz", is_it: is_lzma, open: with!("xz", lzma_decoder) },
    Codec {
        name: "bzip2",
        feature: "bzip2",
        is_it: |head, _| matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', ..]),
        open: with!("bzip2", |raw| Ok(Box::new(Members::<bzip2::bufread::BzDecoder<_>>::new(raw)))),
    },
    Codec {
        name: "lz4",
        feature: "lz4",
        is_it: |head, _| head.starts_with(&[0x04, 0x22, 0x4d, 0x18]),
        open: with!("lz4", |raw| Ok(Box::new(Members::<lz4_flex::frame::FrameDecoder<_>>::new(raw)))),
    },
    Codec {
        name: "brotli",
        feature: "brotli",
        is_it: is_brotli,
        open: with!("brotli", |raw| Ok(Box::new(Brotli::new(raw)))),
    },
];

/// The compression of a file called `name` that starts with `head`.
pub(super) fn find(head: &[u8], name: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| (codec.is_it)(head, name))
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The header of `lzma` has no mark: properties, the size of a dictionary, and the size of the contents or -1. A file
/// without such a name is one only if its contents are of unknown size, which no record of a trace looks like.
fn is_lzma(head: &[u8], name: &str) -> bool {
    let Some(rest) = head.strip_prefix(&[0x5d, 0, 0]).filter(|_| head.len() >= 13) else { return false };
    has_ending(name, &[".lzma", ".tlz"]) || rest[2..10] == [0xff; 8]
}

/// Brotli has no mark at all: its name tells, unless the file is plain text.
fn is_brotli(head: &[u8], name: &str) -> bool {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    has_ending(name, &[".br"]) && !head.iter().all(is_text)
}

/// Logarithm of the widest zstd window that is unpacked, which is the memory it takes: 128 MiB, as the program `zstd`
/// has it.
#[cfg(feature = "zstd")]
const WIDEST_WINDOW: u32 = 27;
/// A part of the zstd library's message about a wider window.
pub(super) const TOO_WIDE: &str = "requires too much memory";

#[cfg(feature = "zstd")]
fn zstd_decoder(raw: Raw) -> io::Result<Raw> {
    let mut decoder = zstd::Decoder::new(raw)?;
    decoder.window_log_max(WIDEST_WINDOW)?;
    Ok(Box::new(decoder))
}

#[cfg(feature = "xz")]
fn lzma_decoder(raw: Raw) -> io::Result<Raw> {
    let stream = liblzma::stream::Stream::new_lzma_decoder(u64::MAX)?;
    Ok(Box::new(liblzma::read::XzDecoder::new_stream(raw, stream)))
}

/// Brotli's decoder says of a file that is cut short what it says of a damaged one.
#[cfg(feature = "brotli")]
struct Brotli(brotli_decompressor::Decompressor<Watched>);

#[cfg(feature = "brotli")]
impl Brotli {
    fn new(raw: Raw) -> Brotli {
        Brotli(brotli_decompressor::Decompressor::new(Watched { raw, has_ended: false }, 1 << 16))
    }
}

#[cfg(feature = "brotli")]
struct Watched {
    raw: Raw,
    /// More was asked of it than there is.
    has_ended: bool,
}

#[cfg(feature = "brotli")]
impl Read for Watched {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(bytes)?;
        self.has_ended |= read == 0 && !bytes.is_empty();
        Ok(read)
    }
}

#[cfg(feature = "brotli")]
impl Read for Brotli {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData if self.0.get_ref().has_ended => io::ErrorKind::UnexpectedEof.into(),
            _ => error,
        })
    }
}

/// The end of the error for a file that continues after its compressed data.
pub(super) const TRAILING: &str = "trailing bytes that are not compressed data follow its end";

#[cfg(test)]
mod tests {
    use super::*;

    /// What begins as an `lzma` file of known size is one only by its name: a record of a trace may begin so too.
    #[test]
    fn lzma_and_brotli_are_known_by_their_names() {
        let lzma = [0x5d, 0, 0, 0x80, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(find(&lzma, "a.csv.lzma").map(|codec| codec.name), Some("lzma"));
        assert!(find(&lzma, "a.oracleGeneral").is_none());
        assert_eq!(find(&[0x8b, 1, 2], "A.BR").map(|codec| codec.name), Some("brotli"));
        assert!(find(b"0,8,4096,R,0.5\n", "a.br").is_none(), "plain text under another name");
    }

    #[test]
    fn a_codec_without_its_feature_is_told_by_name() {
        let codec = find(&[0x1f, 0x8b, 8], "a.gz").expect("it is gzip");
        assert_eq!(codec.open.is_some(), cfg!(feature = "gzip"));
        let error = super::super::input::left_out("a.gz", codec.name, codec.feature).to_string();
        assert!(error.contains("a.gz: this is a gzip file") && error.contains("feature \"gzip\""), "{error}");
    }
}
