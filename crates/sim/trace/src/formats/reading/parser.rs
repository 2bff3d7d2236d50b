//! The part of a format: a parser of lines or of binary frames.

use std::collections::BTreeMap;

#[cfg(doc)]
use super::fields::FieldError;
use super::fields::{FieldResult, field_error};
use super::{ReadStatistics, TraceRecord};
use crate::formats::Allocator;
use units::HostOp;

/// Where a parser puts what it finds.
#[derive(Debug, Default)]
pub struct Sink {
    /// Records found and not yet taken.
    pub records: Vec<TraceRecord>,
    /// The records that were left out.
    pub statistics: ReadStatistics,
    /// Rows that were left out, by kind, in order of first appearance.
    kinds: Vec<(&'static str, u64)>,
}

impl Sink {
    /// Keeps a record. One that moves no bytes and is no flush is left out and counted, in every
    /// format: one such row in a log is no reason to refuse it.
    /// Errors: it ends beyond 64 bits.
    #[inline]
    pub fn push(&mut self, record: TraceRecord) -> FieldResult<()> {
        if record.length_bytes == 0 && record.op != HostOp::Flush {
            self.zero();
            return Ok(());
        }
        check(&record)?;
        self.statistics.records += 1;
        self.records.push(record);
        Ok(())
    }

    /// Takes back the records of a line that is left out.
    pub(crate) fn take_back(&mut self) {
        self.statistics.records -= self.records.len() as u64;
        self.records.clear();
    }

    /// Counts a header or comment.
    pub fn comment(&mut self) {
        self.statistics.dropped_comment += 1;
    }

    /// Counts a row that is no request to replay.
    pub fn other(&mut self) {
        self.statistics.dropped_other += 1;
    }

    /// Counts a row that is no request to replay, and names its kind, in the plural: `zone finishes`.
    pub fn left_out(&mut self, kind: &'static str) {
        self.other();
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((kind, 1)),
        }
    }

    /// The kinds of rows that were left out, as a sentence; `None` where none was named.
    pub(crate) fn kinds_note(&self) -> Option<String> {
        let named: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        (!named.is_empty()).then(|| format!("The rows that were left out include {}.", named.join(", ")))
    }

    /// Counts a request of size 0.
    pub fn zero(&mut self) {
        self.statistics.dropped_zero += 1;
    }
}

/// Refuses a record that ends beyond 64 bits.
#[inline]
pub(crate) fn check(record: &TraceRecord) -> FieldResult<()> {
    if record.offset_bytes.checked_add(record.length_bytes).is_some() {
        return Ok(());
    }
    let found = format!("{} + {}", record.offset_bytes, record.length_bytes);
    Err(field_error(0, "address + size in bytes", found.as_bytes(), "an end below 2^64 bytes"))
}

/// A text format: one line at a time, without its line end, never blank.
pub trait LineParser: Send {
    /// Reads one line.
    /// Errors: the field that is not what the format says. The reader may leave out the line and go on, so a parser
    /// changes nothing about itself before it refuses a line; [`FieldError::fatal`] marks errors that end the trace.
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()>;

    /// The input has ended: hands over what was held back.
    fn finish(&mut self, _sink: &mut Sink) -> FieldResult<()> {
        Ok(())
    }

    /// The format was detected from the first lines, and nobody named it: a later line that would
    /// have had another format chosen is an error.
    fn detected(&mut self) {}

    /// Whether the lines so far have a mark that no other format has, so that the format is certain before the first
    /// request.
    fn is_marked(&self) -> bool {
        false
    }

    /// Says how keys get addresses, before the first line; false for a format whose records have addresses.
    fn allocate(&mut self, _allocator: Allocator) -> bool {
        false
    }

    /// What a reader should know about the records so far, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The file's own name of a device, where it is not the number itself.
    fn device_name(&self, _device: u32) -> Option<String> {
        None
    }

    /// The columns being read, where the user named them and the format does not say.
    fn columns(&self) -> Option<&str> {
        None
    }

    /// How the lines differ from those of the format, where they are rewritten.
    fn dialect(&self) -> Option<String> {
        None
    }
}

pub trait FrameParser: Send {
    /// Reads one frame at the start of `bytes` and returns its length, or `None` when more bytes
    /// are needed.
    /// Errors: the field that is not what the format says.
    fn parse(&mut self, bytes: &[u8], sink: &mut Sink) -> FieldResult<Option<usize>>;

    /// As [`LineParser::detected`].
    fn detected(&mut self) {}

    /// As [`LineParser::device_name`].
    fn device_name(&self, _device: u32) -> Option<String> {
        None
    }
}

/// The reader of one format.
pub enum Parser {
    /// Of lines of text.
    Lines(Box<dyn LineParser>),
    Frames(Box<dyn FrameParser>),
}

impl std::fmt::Debug for Parser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Parser::Lines(_)) { "Lines" } else { "Frames" })
    }
}

impl Parser {
    /// Tells the parser that its format was detected.
    pub(crate) fn detected(&mut self) {
        match self {
            Parser::Lines(parser) => parser.detected(),
            Parser::Frames(parser) => parser.detected(),
        }
    }

    /// As [`LineParser::allocate`].
    pub(crate) fn allocate(&mut self, allocator: Allocator) -> bool {
        match self {
            Parser::Lines(parser) => parser.allocate(allocator),
            Parser::Frames(_) => false,
        }
    }

    /// As [`LineParser::notes`].
    pub(crate) fn notes(&self) -> Vec<String> {
        match self {
            Parser::Lines(parser) => parser.notes(),
            Parser::Frames(_) => Vec::new(),
        }
    }

    /// The file's own name of a device.
    pub(crate) fn device_name(&self, device: u32) -> Option<String> {
        match self {
            Parser::Lines(parser) => parser.device_name(device),
            Parser::Frames(parser) => parser.device_name(device),
        }
    }

    /// As [`LineParser::dialect`].
    pub(crate) fn dialect(&self) -> Option<String> {
        match self {
            Parser::Lines(parser) => parser.dialect(),
            Parser::Frames(_) => None,
        }
    }

    /// As [`LineParser::columns`].
    pub(crate) fn columns(&self) -> Option<&str> {
        match self {
            Parser::Lines(parser) => parser.columns(),
            Parser::Frames(_) => None,
        }
    }
}

/// A line parser without memory.
pub(crate) struct Stateless(pub fn(&[u8], &mut Sink) -> FieldResult<()>);

impl LineParser for Stateless {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        (self.0)(line, sink)
    }
}

/// Numbers device names in order of first appearance.
#[derive(Default)]
pub(crate) struct Names {
    in_order: Vec<Vec<u8>>,
    known: BTreeMap<Vec<u8>, u32>,
    last: u32,
}

impl Names {
    /// The number of `name`; traces have long runs of one device, so the last answer is tried
    /// first.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if self.in_order.get(self.last as usize).is_none_or(|last| last != name) {
            self.last = match self.known.get(name) {
                Some(&number) => number,
                None => self.add(name),
            };
        }
        self.last
    }

    fn add(&mut self, name: &[u8]) -> u32 {
        let number = self.in_order.len() as u32;
        self.in_order.push(name.to_vec());
        self.known.insert(name.to_vec(), number);
        number
    }

    pub fn name(&self, number: u32) -> Option<String> {
        self.in_order.get(number as usize).map(|name| String::from_utf8_lossy(name).into_owned())
    }
}
