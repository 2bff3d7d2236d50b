//! A file within a tar archive, as a stream. Archives are read from front to back, so they may be compressed and come
//! from standard input.

use super::TraceError;
use super::input::{Input, Peeked};

/// Bytes of a header, and the unit to which contents are padded.
pub(super) const BLOCK_BYTES: usize = 512;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const MAGIC: std::ops::Range<usize> = 257..262;

/// Whether a file that starts with `head` is a tar archive: old ones have no mark, but a checksum.
pub(super) fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.first_chunk::<BLOCK_BYTES>() else { return false };
    &block[MAGIC] == b"ustar" || block[0] != 0 && has_checksum(block)
}

/// Whether the checksum of a header is right.
fn has_checksum(block: &[u8; BLOCK_BYTES]) -> bool {
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let field: u64 = block[CHECKSUM].iter().map(|byte| u64::from(*byte)).sum();
    let digits =
        block[CHECKSUM].iter().skip_while(|byte| **byte == b' ').take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (count, said) = digits.fold((0, 0), |(count, sum), byte| (count + 1, sum * 8 + u64::from(byte - b'0')));
    // The field itself counts as blanks.
    count > 0 && said == sum - field + 8 * u64::from(b' ')
}

#[cfg(not(feature = "tar"))]
pub(super) fn open(input: &mut Input, _peeked: Peeked, _wanted: Option<&str>) -> Result<String, TraceError> {
    Err(super::input::left_out(&input.path, "tar", "tar"))
}

#[cfg(feature = "tar")]
pub(super) use reading::open;

#[cfg(feature = "tar")]
mod reading {
    use std::fs::File;
    use std::io::{self, Read, Seek, SeekFrom};
    use std::sync::Arc;

    use tar::{EntryType, Header, PaxExtensions};

    use super::super::archive::{Called, ambiguous, called, is_attributes, no_such_member, same_name, several};
    use super::super::codecs::Raw;
    use super::super::input::{Member, Refused, read_error};
    use super::{BLOCK_BYTES, Input, Peeked, TraceError, has_checksum};

    /// The longest name or list of attributes that is read.
    const EXTENSION_BYTES_MAX: u64 = 1 << 20;
    /// Contents of a plain file that are worth a jump.
    const JUMP_BYTES_MIN: u64 = 1 << 16;

    /// Turns `input` into the file called `wanted`, or into the only file of the archive, and returns its name.
    /// Errors: there is no such file, or the archive is damaged. That there are several such files is an error at the
    /// end of the first one, because the archive is read only once.
    pub(in super::super) fn open(
        input: &mut Input,
        peeked: Peeked,
        wanted: Option<&str>,
    ) -> Result<String, TraceError> {
        let is_packed = input.archive.is_some();
        let mut archive = Archive {
            raw: Box::new(peeked),
            file: input.file.take().filter(|_| !is_packed),
            path: input.path.clone(),
            left: 0,
            padding: 0,
            names: Vec::new(),
            state: wanted.map_or(State::Only, |wanted| State::Chosen(wanted.to_owned())),
            is_packed,
            is_stream: input.is_stream,
            member: Arc::default(),
        };
        let kind = input.archive;
        let failed = |source| read_error(&input.path, kind, source);
        let name = loop {
            let name = archive.next_file().map_err(failed)?;
            let Some(name) = name else { return Err(no_such_member(&archive.path, "tar", wanted, &archive.names)) };
            archive.names.push(name.clone());
            if wanted.is_none_or(|wanted| called(&name, wanted) != Called::No) {
                break name;
            }
        };
        input.path = format!("{}:{name}", input.path);
        input.archive = input.archive.or(Some("tar"));
        input.member = Some(Arc::clone(&archive.member));
        // Names before it do not matter, and those behind it are looked at once it ends.
        archive.names.drain(..archive.names.len() - 1);
        input.reader = Box::new(archive);
        Ok(name)
    }

    struct Archive {
        raw: Raw,
        /// The archive itself, where it is a plain file.
        file: Option<File>,
        path: String,
        /// Bytes of the file that were not read yet.
        left: u64,
        /// Bytes behind it up to the next header.
        padding: u64,
        /// Names of the files met, from the one that is read.
        names: Vec<String>,
        state: State,
        /// The archive is compressed, so its end has a checksum.
        is_packed: bool,
        is_stream: bool,
        member: Arc<Member>,
    }

    #[derive(PartialEq, Eq)]
    enum State {
        /// The file must be the only one.
        Only,
        /// The user chose it by this name.
        Chosen(String),
        Ended,
    }

    impl Read for Archive {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            if bytes.is_empty() || self.state == State::Ended {
                return Ok(0);
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let read = self.raw.read(&mut bytes[..most])?;
            if read == 0 {
                self.state = State::Ended;
                return Err(self.cut());
            }
            self.left -= read as u64;
            if self.left == 0 {
                // At once: a reader of only the beginning may not come back.
                self.end()?;
            }
            Ok(read)
        }
    }

    impl Archive {
        /// Looks at what follows the file.
        fn end(&mut self) -> io::Result<()> {
            let state = std::mem::replace(&mut self.state, State::Ended);
            let met = self.rest();
            match state {
                State::Only if self.names.len() > 1 => return Err(refused(several(&self.path, "tar", &self.names))),
                State::Only => met?,
                State::Chosen(wanted) => self.check_chosen(&wanted)?,
                State::Ended => {}
            }
            if self.is_packed {
                io::copy(&mut self.raw, &mut io::sink())?;
            }
            Ok(())
        }

        /// Takes down the names of the other files. Damage behind a file that was chosen is not a fault of it.
        fn rest(&mut self) -> io::Result<()> {
            while let Some(name) = self.next_file()? {
                self.names.push(name);
            }
            let name = &self.names[0];
            let count = self.names.iter().filter(|other| *other == name).count();
            self.member.looked_through((count > 1).then(|| {
                format!("The archive has {count} files called {name}: the first was read, and tar unpacks the last.")
            }));
            Ok(())
        }

        /// Refuses a choice that fits several files. The same name twice ends no stream, of which it may be too late to
        /// say so.
        fn check_chosen(&self, wanted: &str) -> io::Result<()> {
            let is_meant = called(&self.names[0], wanted) == Called::Whole;
            let matches = self.names.iter().filter(|name| match called(name, wanted) {
                Called::No => false,
                Called::ByEnd => !is_meant,
                Called::Whole => true,
            });
            let matches: Vec<String> = matches.cloned().collect();
            let is_one_name = matches.iter().all(|name| *name == matches[0]);
            match matches.len() {
                0 | 1 => Ok(()),
                count if is_one_name && !self.is_stream => {
                    Err(refused(same_name(&self.path, "tar", &matches[0], count)))
                }
                _ if is_one_name => Ok(()),
                _ => Err(refused(ambiguous(&self.path, "tar", wanted, &matches))),
            }
        }

        /// The name of the next file with contents, whose bytes come next; `None` at the end.
        fn next_file(&mut self) -> io::Result<Option<String>> {
            self.skip(self.left.saturating_add(self.padding))?;
            let (mut long_name, mut long_size) = (None, None);
            loop {
                let Some(block) = self.block()? else { return Ok(None) };
                let header = Header::from_byte_slice(&block);
                let size = long_size.take().map_or_else(|| header.entry_size(), Ok)?;
                let padding =
                    size.next_multiple_of(BLOCK_BYTES as u64).checked_sub(size).ok_or_else(|| self.damaged())?;
                match header.entry_type() {
                    EntryType::GNULongName => {
                        long_name = Some(self.extension(size, padding)?).map(|name| text(&name));
                    }
                    EntryType::XHeader => {
                        for attribute in PaxExtensions::new(&self.extension(size, padding)?) {
                            let attribute = attribute?;
                            match attribute.key_bytes() {
                                b"path" => long_name = Some(text(attribute.value_bytes())),
                                b"size" => long_size = attribute.value().ok().and_then(|size| size.parse().ok()),
                                _ => {}
                            }
                        }
                    }
                    EntryType::Regular | EntryType::Continuous => {
                        let name = long_name.take().unwrap_or_else(|| text(&header.path_bytes()));
                        (self.left, self.padding) = (size, padding);
                        if size > 0 && !is_attributes(&name) {
                            return Ok(Some(name));
                        }
                        self.skip(size + padding)?;
                    }
                    EntryType::GNUSparse => return Err(self.problem("it has a file with holes; unpack it first")),
                    _ => {
                        long_name = None;
                        self.skip(size.saturating_add(padding))?;
                    }
                }
            }
        }

        /// The next header; `None` at the end.
        fn block(&mut self) -> io::Result<Option<[u8; BLOCK_BYTES]>> {
            let mut block = [0; BLOCK_BYTES];
            let mut filled = 0;
            while filled < BLOCK_BYTES {
                match self.raw.read(&mut block[filled..])? {
                    0 if filled == 0 => return Ok(None),
                    0 => return Err(self.cut()),
                    read => filled += read,
                }
            }
            if block.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            if has_checksum(&block) { Ok(Some(block)) } else { Err(self.damaged()) }
        }

        fn extension(&mut self, size: u64, padding: u64) -> io::Result<Vec<u8>> {
            if size > EXTENSION_BYTES_MAX {
                return Err(self.damaged());
            }
            let mut bytes = Vec::new();
            let read = Read::by_ref(&mut self.raw).take(size).read_to_end(&mut bytes)?;
            if (read as u64) < size {
                return Err(self.cut());
            }
            self.skip(padding)?;
            Ok(bytes)
        }

        fn skip(&mut self, bytes: u64) -> io::Result<()> {
            (self.left, self.padding) = (0, 0);
            if let Some(file) = self.file.as_mut().filter(|_| bytes > JUMP_BYTES_MIN) {
                let from = file.stream_position()?;
                let end = from.saturating_add(bytes);
                if end > file.metadata()?.len() {
                    return Err(self.cut());
                }
                return file.seek(SeekFrom::Start(end)).map(drop);
            }
            let skipped = io::copy(&mut Read::by_ref(&mut self.raw).take(bytes), &mut io::sink())?;
            if skipped == bytes { Ok(()) } else { Err(self.cut()) }
        }

        fn cut(&self) -> io::Error {
            self.problem("the file is cut short")
        }

        fn damaged(&self) -> io::Error {
            self.problem("a header within it is damaged")
        }

        fn problem(&self, problem: &str) -> io::Error {
            let problem = problem.to_owned();
            refused(TraceError::Archive { path: self.path.clone(), kind: "tar", problem })
        }
    }

    fn refused(error: TraceError) -> io::Error {
        io::Error::other(Refused(error))
    }

    /// A name without the zero byte that ends it.
    fn text(bytes: &[u8]) -> String {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
