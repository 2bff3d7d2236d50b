//! A sliding window over the input: lines or frames are parsed in place, without copies.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use super::TraceError;
use super::input::{Input, read_error};

/// Bytes asked of the input at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// The longest line or frame; anything longer is no trace.
const UNIT_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Buffer {
    input: Input,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
}

impl Buffer {
    pub fn new(input: Input) -> Buffer {
        Buffer { input, bytes: Vec::new(), start: 0, end: 0, at_end: false }
    }

    pub fn path(&self) -> &str {
        &self.input.path
    }

    /// Where the bytes come from.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Reads on to the end of the input, at most `bytes`, and forgets what was read: nothing can be parsed after it.
    /// Errors: as reading.
    pub fn skip(&mut self, bytes: u64) -> Result<(), TraceError> {
        let mut left = bytes;
        while left > 0 && !self.at_end {
            self.start = self.end;
            self.fill()?;
            left = left.saturating_sub(self.end as u64);
        }
        Ok(())
    }

    /// Bytes that are read and not yet consumed.
    pub fn available(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether [`Buffer::available`] reaches to the end of the input.
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the input ended with the line returned last, and without a line end.
    pub fn is_last_line_cut(&self) -> bool {
        self.at_end && self.start == self.end && self.bytes[..self.end].last() != Some(&b'\n')
    }

    /// The bytes of a range [`Buffer::next_line`] returned.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    pub fn consume(&mut self, bytes: usize) {
        assert!(bytes <= self.end - self.start, "consumed more than was read");
        self.start += bytes;
    }

    /// Reads until `bytes` are available or the input ends.
    pub fn ensure(&mut self, bytes: usize) -> Result<(), TraceError> {
        while self.end - self.start < bytes && !self.at_end {
            self.fill()?;
        }
        Ok(())
    }

    pub fn fill(&mut self) -> Result<(), TraceError> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() < self.end + CHUNK_BYTES {
            self.bytes.resize(self.end + CHUNK_BYTES, 0);
        }
        loop {
            match self.input.reader.read(&mut self.bytes[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    self.at_end = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.input.path, self.input.archive, error)),
            }
        }
    }

    /// The next line without its line end, as a range of the buffer; `None` at the end. The last
    /// line needs no line end.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<Range<usize>>, TraceError> {
        let mut searched = 0;
        loop {
            let window = &self.bytes[self.start + searched..self.end];
            if let Some(found) = memchr::memchr(b'\n', window) {
                let end = self.start + searched + found;
                let range = self.start..self.without_carriage_return(end);
                self.start = end + 1;
                return Ok(Some(range));
            }
            searched = self.end - self.start;
            if self.at_end {
                let range = self.start..self.without_carriage_return(self.end);
                let any = self.start < self.end;
                self.start = self.end;
                return Ok(any.then_some(range));
            }
            if searched > UNIT_BYTES_MAX {
                return Err(TraceError::LongLine { path: self.input.path.clone(), limit: UNIT_BYTES_MAX });
            }
            self.fill()?;
        }
    }

    #[inline]
    fn without_carriage_return(&self, end: usize) -> usize {
        if end > self.start && self.bytes[end - 1] == b'\r' { end - 1 } else { end }
    }
}
