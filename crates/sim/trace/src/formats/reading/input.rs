//! Opening: files and standard input, and their packing: compressions, archives, Parquet.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::{Arc, OnceLock};

use super::codecs::{self, Raw, TOO_WIDE, TRAILING};
use super::{OpenOptions, TraceError, tar};

/// A stream of the trace's own bytes.
pub(crate) struct Input {
    pub reader: Raw,
    /// File name for messages, with the name of the file within an archive behind a colon.
    pub path: String,
    /// Packing found last, for messages.
    pub archive: Option<&'static str>,
    /// It can be read only once.
    pub is_stream: bool,
    /// The plain file below, for jumps over what nobody reads.
    #[cfg_attr(not(feature = "tar"), expect(dead_code, reason = "only tar archives are jumped through"))]
    pub(super) file: Option<File>,
    /// The trace is a file of an archive.
    pub member: Option<Arc<Member>>,
}

/// The file of an archive that is read.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// What is to be said once all of the archive was looked through.
    looked_through: OnceLock<Option<String>>,
}

impl Member {
    /// Tells that all of the archive was looked through; `note` is to be said of it.
    #[cfg(any(feature = "tar", feature = "zip"))]
    pub(super) fn looked_through(&self, note: Option<String>) {
        self.looked_through.get_or_init(|| note);
    }

    /// Whether all names of the archive are known.
    pub fn is_looked_through(&self) -> bool {
        self.looked_through.get().is_some()
    }

    /// That several files have one name, as a sentence.
    pub fn same_name_note(&self) -> Option<String> {
        self.looked_through.get().cloned().flatten()
    }
}

/// Enough to know a tar archive by.
const HEAD_BYTES: usize = tar::BLOCK_BYTES;
/// Packings within one another: an archive of compressed files that is compressed itself has three.
const LAYERS_MAX: usize = 4;
/// The mark of a Parquet file.
const PARQUET: [u8; 4] = *b"PAR1";
/// The mark of a zip archive.
const ZIP: [u8; 4] = *b"PK\x03\x04";

/// Opens `path`, or standard input for `-`.
pub(crate) fn open_path(path: &str, options: &OpenOptions) -> Result<Input, TraceError> {
    if path == "-" {
        return from_reader(Box::new(io::stdin()), "standard input", options);
    }
    let mut file = File::open(path).map_err(|source| TraceError::io(path, source))?;
    let is_stream = !is_regular(&file);
    let of = |reader, name: &str| Input { is_stream, ..Input::new(reader, name) };
    match mark(&mut file) {
        Some(PARQUET) => {
            let reader = parquet(file, path, options)?;
            Ok(Input { archive: Some("Parquet"), ..of(reader, path) })
        }
        Some(ZIP) => {
            let member = Arc::new(Member::default());
            let (reader, name) = zip(file, path, options.member.as_deref(), &member)?;
            let input = Input { archive: Some("zip"), member: Some(member), ..of(reader, &format!("{path}:{name}")) };
            layers(input, name, None)
        }
        _ => {
            let below = file.try_clone().ok().filter(|_| !is_stream);
            let input = Input { file: below, ..of(Box::new(file), path) };
            layers(input, path.to_owned(), options.member.as_deref())
        }
    }
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.is_file())
}

impl Input {
    /// A stream that is not unpacked yet.
    fn new(reader: Raw, path: &str) -> Input {
        Input { reader, path: path.to_owned(), archive: None, is_stream: true, file: None, member: None }
    }
}

/// The first bytes of a file that can be read from any place.
fn mark(file: &mut File) -> Option<[u8; 4]> {
    let mut mark = [0; 4];
    is_regular(file).then_some(())?;
    let is_read = file.read_exact(&mut mark).is_ok();
    io::Seek::rewind(file).ok()?;
    is_read.then_some(mark)
}

#[cfg(feature = "zip")]
fn zip(file: File, path: &str, wanted: Option<&str>, member: &Member) -> Result<(Raw, String), TraceError> {
    super::zip_file::open(file, path, wanted, member)
}

#[cfg(not(feature = "zip"))]
fn zip(_file: File, path: &str, _wanted: Option<&str>, _member: &Member) -> Result<(Raw, String), TraceError> {
    Err(left_out(path, "zip", "zip"))
}

#[cfg(feature = "parquet")]
fn parquet(file: File, path: &str, options: &OpenOptions) -> Result<Raw, TraceError> {
    super::parquet_rows::open(file, path, options.columns.as_deref())
}

#[cfg(not(feature = "parquet"))]
fn parquet(_file: File, path: &str, _options: &OpenOptions) -> Result<Raw, TraceError> {
    Err(left_out(path, "Parquet", "parquet"))
}

#[cold]
pub(super) fn left_out(path: &str, kind: &'static str, feature: &'static str) -> TraceError {
    TraceError::LeftOut { path: path.to_owned(), kind, feature }
}

/// Sees through the packing of any stream.
pub(crate) fn from_reader(raw: Raw, path: &str, options: &OpenOptions) -> Result<Input, TraceError> {
    layers(Input::new(raw, path), path.to_owned(), options.member.as_deref())
}

/// Sees through one packing after the other. `name` is that of the file, `member` the one to take from an archive.
fn layers(mut input: Input, mut name: String, mut member: Option<&str>) -> Result<Input, TraceError> {
    for _ in 0..LAYERS_MAX {
        let peeked = Peeked::new(std::mem::replace(&mut input.reader, Box::new(io::empty())));
        let head = peeked.head();
        if let Some(kind) = foreign_archive(head) {
            return Err(TraceError::ForeignArchive { path: input.path, kind });
        }
        for (mark, kind) in [(PARQUET, "Parquet"), (ZIP, "zip")] {
            if head.starts_with(&mark) {
                return Err(TraceError::NoStream { path: input.path, kind });
            }
        }
        if let Some(codec) = codecs::find(head, &name) {
            let open = codec.open.ok_or_else(|| left_out(&input.path, codec.name, codec.feature))?;
            input.reader = open(Box::new(peeked)).map_err(|source| TraceError::io(&input.path, source))?;
            input.archive = Some(codec.name);
            // The ending said one packing.
            name.truncate(name.rfind('.').unwrap_or(name.len()));
        } else if tar::is_tar(head) {
            name = tar::open(&mut input, peeked, member.take())?;
        } else {
            input.reader = Box::new(peeked);
            break;
        }
    }
    match member {
        Some(member) => Err(TraceError::Option {
            option: "workload.member (--member of nandarium trace)",
            value: member.to_owned(),
            expected: "it names a file of an archive, and the trace is not one; leave it out",
        }),
        None => Ok(input),
    }
}

/// Containers that are recognised only to say so.
fn foreign_archive(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("7-Zip"),
        [b'R', b'a', b'r', b'!', ..] => Some("rar"),
        _ => None,
    }
}

/// A stream whose first bytes were looked at. An error is told when the reader comes to it.
pub(super) struct Peeked {
    head: Cursor<Vec<u8>>,
    failed: Option<io::Error>,
    rest: Raw,
}

impl Peeked {
    fn new(mut raw: Raw) -> Peeked {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        let failed = Read::by_ref(&mut raw).take(HEAD_BYTES as u64).read_to_end(&mut head).err();
        Peeked { head: Cursor::new(head), failed, rest: raw }
    }

    fn head(&self) -> &[u8] {
        self.head.get_ref()
    }
}

impl Read for Peeked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(bytes)?;
        if read > 0 || bytes.is_empty() {
            return Ok(read);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(bytes),
        }
    }
}

/// An error of a trace on its way through a reader.
#[derive(Debug)]
pub(super) struct Refused(pub TraceError);

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Refused {}

/// The meaning of `source` for a file in the packing `archive`.
pub(super) fn read_error(path: &str, archive: Option<&'static str>, source: io::Error) -> TraceError {
    let source = match source.downcast::<Refused>() {
        Ok(Refused(error)) => return error,
        Err(source) => source,
    };
    let Some(kind) = archive else { return TraceError::io(path, source) };
    let path = path.to_owned();
    let problem = if source.kind() == ErrorKind::UnexpectedEof {
        "the file is cut short".to_owned()
    } else if source.to_string() == TRAILING {
        TRAILING.to_owned()
    } else if kind == "zstd" && source.to_string().contains(TOO_WIDE) {
        return TraceError::WideWindow { path };
    } else {
        format!("the compressed data is damaged: {source}")
    };
    TraceError::Archive { path, kind, problem }
}
