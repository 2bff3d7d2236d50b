//! The stream of records of one trace.

use std::io::Read;

use super::buffer::Buffer;
use super::detect::{DEEP_SAMPLE_BYTES, SAMPLE_BYTES, detect, is_second_choice, look_deeper};
use super::error::Malformed;
use super::fields::FieldError;
use super::gaps::Gaps;
use super::input::{self, Input};
use super::parser::{Parser, Sink};
use super::reorder::Reorder;
use super::{Order, ReadStatistics, TraceError, TraceRecord};
use crate::WorkloadError;
use crate::formats::{self, Allocator, Format};

/// Records parsed in one go; large enough to amortise, small enough to stay in cache.
const BATCH_RECORDS: usize = 512;

/// More than any frame or text header; fewer bytes are only there at the end.
const FRAME_BYTES_MAX: usize = 2 * SAMPLE_BYTES;

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Name of the format; `None` detects it.
    pub format: Option<String>,
    /// What to do when time goes back; `None` takes what is usual for the format.
    pub order: Option<Order>,
    /// Records the window of `order = sort` holds; default 65,536. Larger bridges longer gaps and
    /// takes 56 bytes each.
    pub window_records: usize,
    /// Longest time between two records, once they are in order, in nanoseconds: a longer gap is cut
    /// to it and counted. `None` keeps all.
    pub gap_limit_ns: Option<u64>,
    /// How the keys of a trace without addresses get addresses; `None` takes [`Allocator::FirstFit`].
    pub allocator: Option<Allocator>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { format: None, order: None, window_records: 1 << 16, gap_limit_ns: None, allocator: None }
    }
}

/// The records of a trace, in order of time, the first at 0 ns.
///
/// Iteration ends after the first error; the records before it stay valid.
pub struct Records {
    format: &'static Format,
    buffer: Buffer,
    parser: Parser,
    sink: Sink,
    reorder: Reorder,
    /// Number of the line or frame last read.
    position: u64,
    ended: bool,
    failure: Option<TraceError>,
    ready: Vec<TraceRecord>,
    taken: usize,
    gaps: Gaps,
}

/// Opens the trace at `path`, or standard input for `-`; compression is seen through.
/// Errors: when the file cannot be read or its format is unknown or ambiguous.
pub fn open(path: &str, options: &OpenOptions) -> Result<Records, WorkloadError> {
    Ok(start(input::open_path(path)?, options)?)
}

/// Reads a trace from `reader`; `name` stands for the file name in messages and detection.
pub fn open_reader(reader: Box<dyn Read + Send>, name: &str, options: &OpenOptions) -> Result<Records, WorkloadError> {
    Ok(start(input::from_reader(reader, name)?, options)?)
}

fn start(input: Input, options: &OpenOptions) -> Result<Records, TraceError> {
    let named = options.format.as_deref().map(formats::by_name).transpose()?;
    let mut buffer = Buffer::new(input);
    buffer.ensure(SAMPLE_BYTES)?;
    let format = if let Some(format) = named { format } else { detected(&mut buffer)? };
    let mut parser = (format.parser)();
    if named.is_none() {
        parser.detected();
    }
    if let Some(allocator) = options.allocator
        && !parser.allocate(allocator)
    {
        return Err(TraceError::NoKeys {
            path: buffer.path().to_owned(),
            format: format.name,
            allocator: allocator.name(),
        });
    }
    if matches!(parser, Parser::Lines(_)) && buffer.available().starts_with(b"\xef\xbb\xbf") {
        buffer.consume(3);
    }
    Ok(Records {
        format,
        buffer,
        parser,
        sink: Sink::default(),
        reorder: Reorder::new(options.order.unwrap_or(format.usual_order), options.window_records),
        position: 0,
        ended: false,
        failure: None,
        ready: Vec::with_capacity(BATCH_RECORDS),
        taken: 0,
        gaps: Gaps::new(options.gap_limit_ns),
    })
}

/// The format of what `buffer` starts with. Where only a less usual way to read its layout found
/// requests, more of it is looked at.
fn detected(buffer: &mut Buffer) -> Result<&'static Format, TraceError> {
    let sample = buffer.available();
    let whole = buffer.at_end() && sample.len() <= SAMPLE_BYTES;
    let format = detect(&sample[..sample.len().min(SAMPLE_BYTES)], whole, buffer.path())?;
    if !is_second_choice(format) {
        return Ok(format);
    }
    buffer.ensure(DEEP_SAMPLE_BYTES)?;
    Ok(look_deeper(format, buffer.available(), buffer.at_end(), buffer.path()))
}

impl Records {
    /// The format being read.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// What was read and left out so far.
    pub fn statistics(&self) -> ReadStatistics {
        self.sink.statistics
    }

    /// What a reader should know about what was read and left out so far, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.sink.kinds_note().into_iter().chain(self.parser.notes()).collect()
    }

    /// The file name, for messages.
    pub fn path(&self) -> &str {
        self.buffer.path()
    }

    /// The file's own time of the first record, which [`Records`] calls 0; `None` before it.
    pub fn origin_ns(&self) -> Option<i64> {
        self.gaps.origin_ns()
    }

    /// How the file calls a device met so far.
    pub fn device_name(&self, device: u32) -> String {
        self.parser.device_name(device).map_or_else(|| device.to_string(), |name| format!("{device} = {name}"))
    }

    /// Line or record number last read, as messages show it.
    fn place(&self) -> String {
        match self.parser {
            Parser::Lines(_) => format!("line {}", self.position),
            Parser::Frames(_) => format!("record {}", self.position),
        }
    }

    /// The next record, without the cost of an iterator item of the size of an error.
    #[inline]
    pub(crate) fn next_record(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        if self.taken == self.ready.len() && !self.refill()? {
            return Ok(None);
        }
        let record = self.ready[self.taken];
        self.taken += 1;
        Ok(Some(record))
    }

    /// Parses further records into the empty `ready`; false at the end.
    fn refill(&mut self) -> Result<bool, TraceError> {
        self.ready.clear();
        self.taken = 0;
        while self.ready.is_empty() && !self.ended && self.failure.is_none() {
            if let Err(error) = self.parse_batch() {
                self.failure = Some(error);
            }
        }
        if self.ready.is_empty() {
            // What still waits in the window comes before the end, and before any error.
            self.reorder.release(BATCH_RECORDS, &mut self.ready);
        }
        self.rebase();
        if self.ready.is_empty() {
            self.ended = true;
            return self.failure.take().map_or(Ok(false), Err);
        }
        Ok(true)
    }

    fn parse_batch(&mut self) -> Result<(), TraceError> {
        for _ in 0..BATCH_RECORDS {
            let more = match self.parser {
                Parser::Lines(_) => self.parse_line()?,
                Parser::Frames(_) => self.parse_frame()?,
            };
            if !more {
                self.ended = true;
                self.finish()?;
            }
            for index in 0..self.sink.records.len() {
                let record = self.sink.records[index];
                self.reorder
                    .admit(record, &mut self.ready, &mut self.sink.statistics)
                    .map_err(|back| self.back_in_time(back.back_ns))?;
            }
            self.sink.records.clear();
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Takes what the parser held back until the end of the input.
    fn finish(&mut self) -> Result<(), TraceError> {
        let Parser::Lines(parser) = &mut self.parser else { return Ok(()) };
        parser.finish(&mut self.sink).map_err(|error| self.malformed(*error))
    }

    #[inline]
    fn parse_line(&mut self) -> Result<bool, TraceError> {
        let Some(range) = self.buffer.next_line()? else { return Ok(false) };
        self.position += 1;
        let line = self.buffer.slice(range);
        if line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty() {
            self.sink.statistics.dropped_blank += 1;
            return Ok(true);
        }
        let Parser::Lines(parser) = &mut self.parser else { unreachable!("checked by the caller") };
        parser.parse(line, &mut self.sink).map_err(|error| self.malformed(*error))?;
        Ok(true)
    }

    fn parse_frame(&mut self) -> Result<bool, TraceError> {
        self.buffer.ensure(FRAME_BYTES_MAX)?;
        if self.buffer.available().is_empty() {
            return Ok(false);
        }
        self.position += 1;
        let Parser::Frames(parser) = &mut self.parser else { unreachable!("checked by the caller") };
        let length = parser
            .parse(self.buffer.available(), &mut self.sink)
            .and_then(|length| length.ok_or_else(|| cut_frame(self.buffer.available().len())))
            .map_err(|error| self.malformed(*error))?;
        self.buffer.consume(length);
        Ok(true)
    }

    /// Makes the times of `ready` relative to the first record. What comes before a time that
    /// cannot be told stays valid, and the failure follows it.
    fn rebase(&mut self) {
        for index in 0..self.ready.len() {
            let time_ns = self.ready[index].time_ns;
            let Some(time_ns) = self.gaps.relative(time_ns, &mut self.sink.statistics) else {
                self.ready.truncate(index);
                self.reorder.clear();
                self.ended = true;
                self.failure = Some(self.time_span());
                return;
            };
            self.ready[index].time_ns = time_ns;
        }
    }

    #[cold]
    fn malformed(&self, error: FieldError) -> TraceError {
        TraceError::Malformed(Box::new(Malformed::new(self.path(), self.place(), error, self.format)))
    }

    #[cold]
    fn back_in_time(&self, back_ns: u64) -> TraceError {
        let (beyond, remedy) = match self.reorder.order() {
            Order::Sort => {
                (", further than the sorting window reaches".to_owned(), "a larger window, or order = clamp")
            }
            _ => (format!(", which order = {} refuses", self.reorder.order().name()), "order = sort or order = clamp"),
        };
        TraceError::BackInTime { path: self.path().to_owned(), place: self.place(), back_ns, beyond, remedy }
    }

    #[cold]
    fn time_span(&self) -> TraceError {
        TraceError::TimeSpan { path: self.path().to_owned(), place: self.place(), format: self.format.name }
    }
}

#[expect(clippy::unnecessary_box_returns, reason = "the error type of FieldResult is boxed")]
fn cut_frame(length: usize) -> Box<FieldError> {
    super::fields::field_error(
        0,
        "end of file",
        format!("{length} bytes").as_bytes(),
        "a whole record; the file is cut short",
    )
}

impl Iterator for Records {
    type Item = Result<TraceRecord, WorkloadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().map_err(WorkloadError::from).transpose()
    }
}
