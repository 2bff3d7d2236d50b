//! The stream of records of one trace.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::buffer::Buffer;
use super::choose::choose;
use super::detect::SAMPLE_BYTES;
use super::error::Malformed;
use super::fields::{FieldError, field_error};
use super::gaps::Gaps;
use super::input::{self, Input};
use super::lost::{self, Loss};
use super::odd::{OddTally, is_header_like};
use super::parser::{Parser, Sink};
use super::reorder::{Refused, Reorder};
use super::{LostEvents, OddLine, OddLines, Order, ReadStatistics, TraceError, TraceRecord};
use crate::WorkloadError;
use crate::formats::{Allocator, Format};

/// Records parsed in one go; large enough to amortise, small enough to stay in cache.
const BATCH_RECORDS: usize = 512;

/// More than any frame or text header; fewer bytes are only there at the end.
const FRAME_BYTES_MAX: usize = 2 * SAMPLE_BYTES;

/// How far a stream is read on for the names behind the file that is read.
const LOOK_BYTES: u64 = 16 << 20;

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Name of the format; `None` detects it.
    pub format: Option<String>,
    /// The columns of a table and their units, such as `time=ts:ns,op=rw,offset=lba:sectors,size=len:bytes`; `None`:
    /// the format has its own.
    pub columns: Option<String>,
    /// The file to take out of an archive of several.
    pub member: Option<String>,
    /// Treatment of times that go back; `None` takes what is usual for the format.
    pub order: Option<Order>,
    /// Records the window of `order = sort` holds; default 65,536. Larger bridges longer gaps and
    /// takes 56 bytes each.
    pub window_records: usize,
    /// Longest time between two records, once they are in order, in nanoseconds: a longer gap is cut
    /// to it and counted. `None` keeps all.
    pub gap_limit_ns: Option<u64>,
    /// How the keys of a trace without addresses get addresses; `None` takes [`Allocator::FirstFit`].
    pub allocator: Option<Allocator>,
    /// Odd lines that are left out; default 0.1 % of the lines, and 10 in any case.
    pub odd_lines: OddLines,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            format: None,
            columns: None,
            member: None,
            order: None,
            window_records: 1 << 16,
            gap_limit_ns: None,
            allocator: None,
            odd_lines: OddLines::default(),
        }
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
    odd: OddTally,
    /// The file's own time of the record that was read first.
    begun_ns: Option<i64>,
}

/// Opens the trace at `path`, or standard input for `-`; packings are seen through.
/// Errors: when the file cannot be read or its format is unknown or ambiguous.
pub fn open(path: &str, options: &OpenOptions) -> Result<Records, WorkloadError> {
    Ok(start(input::open_path(path, options)?, options)?)
}

/// Reads a trace from `reader`; `name` stands for the file name in messages and detection.
pub fn open_reader(reader: Box<dyn Read + Send>, name: &str, options: &OpenOptions) -> Result<Records, WorkloadError> {
    Ok(start(input::from_reader(reader, name, options)?, options)?)
}

/// Opens the trace at `path` and hands it to `read`. Where a record is further back in time than the sorting window
/// reaches and `path` is a file, starts anew, with all of the trace sorted ([`Order::Whole`]): `read` must forget its
/// first call then.
/// Errors: as [`open`]; errors of `read`.
pub fn read_in_order<T>(
    path: &str,
    options: &OpenOptions,
    mut read: impl FnMut(&mut Records) -> Result<T, WorkloadError>,
) -> Result<T, WorkloadError> {
    let result = read(&mut open(path, options)?);
    let is_beyond = |error: &WorkloadError| match error {
        WorkloadError::Trace(error) => matches!(**error, TraceError::BeyondWindow { .. }),
        WorkloadError::Io { .. } => false,
    };
    if result.as_ref().is_err_and(is_beyond) && Path::new(path).is_file() {
        let options = OpenOptions { order: Some(Order::Whole), ..options.clone() };
        return read(&mut open(path, &options)?);
    }
    result
}

fn start(input: Input, options: &OpenOptions) -> Result<Records, TraceError> {
    let mut buffer = Buffer::new(input);
    let (format, mut parser) = choose(&mut buffer, options)?;
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
        odd: OddTally::new(options.odd_lines),
        begun_ns: None,
    })
}

impl Records {
    /// The format being read.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Counts of records that were read and left out so far.
    pub fn statistics(&self) -> ReadStatistics {
        self.sink.statistics
    }

    /// Treatment of times that go back.
    pub fn order(&self) -> Order {
        self.reorder.order()
    }

    /// The first line that was left out because its parser refused it.
    pub fn odd_line(&self) -> Option<OddLine> {
        self.odd.first()
    }

    /// Notes about records that were read, left out or are missing so far, a sentence each: lost events only
    /// if [`Records::doubt`] does not tell of them.
    pub fn notes(&self) -> Vec<String> {
        let statistics = &self.sink.statistics;
        let lost = statistics.lost.filter(|lost| !lost.is_doubtful(statistics.events()));
        let lost = lost.map(|lost| lost.note(statistics.events()));
        let latencies = (statistics.dropped_latency > 0).then(|| {
            let count = statistics.dropped_latency;
            format!("{count} requests have a response time below 0, or none, and are kept without it.")
        });
        let of_lines = self.odd.note(statistics).into_iter().chain(self.dialect_note());
        let same_name = self.buffer.input().member.as_ref().and_then(|member| member.same_name_note());
        let of_rows = of_lines.chain(latencies).chain(lost).chain(self.sink.kinds_note());
        of_rows.chain(self.parser.notes()).chain(same_name).collect()
    }

    /// That all of the trace was sorted, as a sentence, where it was.
    pub fn whole_note(&self) -> Option<String> {
        self.sink.statistics.whole_note(self.order())
    }

    /// The note on what was taken from an archive, as a sentence.
    fn member_note(&self) -> Option<String> {
        let member = self.buffer.input().member.as_ref();
        member.map(|_| format!("The trace was read from an archive: {}.", self.path()))
    }

    /// The treatment of times that go back, as sentences.
    pub(crate) fn order_notes(&self) -> Vec<String> {
        self.sink.statistics.order_notes(self.order())
    }

    /// All that a reader should know about what was read so far, a sentence each.
    pub fn all_notes(&self) -> Vec<String> {
        let first = self.doubt().into_iter().chain(self.member_note()).chain(self.notes());
        first.chain(self.order_notes()).chain(self.whole_note()).chain(self.unread_note()).collect()
    }

    /// That the rest of a stream is unknown, as a sentence, where it was not read to its end.
    pub fn unread_note(&self) -> Option<String> {
        let input = self.buffer.input();
        if self.ended || !input.is_stream {
            return None;
        }
        let is_unknown = input.member.as_ref().is_some_and(|member| !member.is_looked_through());
        let files = if is_unknown { ", and so is whether the archive has other files" } else { "" };
        Some(format!(
            "{} was not read to its end. The rest behind {} is unknown, for example times that go back and other \
             volumes{files}.",
            self.path(),
            self.place()
        ))
    }

    /// Looks through the rest of an archive, for one who takes no further records: all of a file, and 16 MiB of a
    /// stream. Damage there does not affect the records read.
    /// Errors: the archive has several files that may be the trace.
    pub fn look_behind(&mut self) -> Result<(), WorkloadError> {
        let input = self.buffer.input();
        if self.ended || input.member.as_ref().is_none_or(|member| member.is_looked_through()) {
            return Ok(());
        }
        match self.buffer.skip(if input.is_stream { LOOK_BYTES } else { u64::MAX }) {
            Err(error) if error.is_of_choice() => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Why what was read so far says little about the traced system, if there is a reason.
    pub fn doubt(&self) -> Option<String> {
        let statistics = &self.sink.statistics;
        let lost = statistics.lost.filter(|lost| lost.is_doubtful(statistics.events()))?;
        Some(lost.note(statistics.events()))
    }

    /// How the lines of the file differ from its format, where they do; a sentence.
    pub fn dialect_note(&self) -> Option<String> {
        let dialect = self.parser.dialect()?;
        Some(format!("The trace is read as \"{}\" in another form: {dialect}.", self.format.name))
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

    /// Some next records, at least one; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Vec<TraceRecord>>, TraceError> {
        if self.taken == self.ready.len() && !self.refill()? {
            return Ok(None);
        }
        let mut batch = std::mem::replace(&mut self.ready, Vec::with_capacity(BATCH_RECORDS));
        batch.drain(..std::mem::take(&mut self.taken));
        Ok(Some(batch))
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
            // What still waits comes before the end, and before any error.
            if let Err(error) = self.reorder.release(BATCH_RECORDS, &mut self.ready) {
                self.failure = Some(self.temporary(error));
                self.reorder.clear();
            }
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
                self.begun_ns.get_or_insert(record.time_ns);
                self.reorder
                    .admit(record, &mut self.ready, &mut self.sink.statistics)
                    .map_err(|refused| self.refused(refused))?;
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
        if let Parser::Lines(parser) = &mut self.parser {
            parser.finish(&mut self.sink).map_err(|error| self.malformed(*error))?;
        }
        self.odd.finish(self.position, &self.sink.statistics)
    }

    #[inline]
    fn parse_line(&mut self) -> Result<bool, TraceError> {
        let Some(range) = self.buffer.next_line()? else { return Ok(false) };
        self.position += 1;
        let line = self.buffer.slice(range.clone());
        if line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty() {
            self.sink.statistics.dropped_blank += 1;
            return Ok(true);
        }
        let Parser::Lines(parser) = &mut self.parser else { unreachable!("checked by the caller") };
        let others = self.sink.statistics.dropped_other;
        match parser.parse(line, &mut self.sink) {
            Ok(()) => {
                // Only lines that are no requests may tell of lost events.
                if self.sink.records.is_empty()
                    && let Some(loss) = lost::told_by(line)
                {
                    self.lost(loss, self.sink.statistics.dropped_other - others);
                }
                if self.buffer.is_last_line_cut() {
                    self.unterminated(range)?;
                }
            }
            Err(error) => self.odd_line_met(range, *error)?,
        }
        Ok(true)
    }

    /// Leaves out a last line without a line end whose time lies before the trace begins: that is the time that is cut.
    /// Errors: it may not be left out.
    #[cold]
    fn unterminated(&mut self, range: Range<usize>) -> Result<(), TraceError> {
        let is_before = |begun: i64| self.sink.records.iter().any(|record| record.time_ns < begun);
        if !self.begun_ns.is_some_and(is_before) {
            return Ok(());
        }
        self.sink.take_back();
        let expected = "a line with its line end, or a time behind that of the first request";
        let error = self.described(*field_error(0, "line", self.buffer.slice(range), expected));
        self.odd.cut_short(error, &mut self.sink.statistics)
    }

    /// Counts a line that tells of lost events. `rows`: how often the parser counted it as a row.
    #[cold]
    fn lost(&mut self, loss: Loss, rows: u64) {
        let statistics = &mut self.sink.statistics;
        let mut lost = LostEvents::add(statistics.lost, loss, statistics.records);
        lost.rows += rows;
        statistics.lost = Some(lost);
    }

    /// Leaves out a line that the parser refused.
    /// Errors: it may not be left out.
    #[cold]
    fn odd_line_met(&mut self, range: Range<usize>, error: FieldError) -> Result<(), TraceError> {
        self.sink.take_back();
        if let Some(loss) = lost::told_by(self.buffer.slice(range.clone())) {
            self.sink.comment();
            self.lost(loss, 0);
            return Ok(());
        }
        let is_header = self.sink.statistics.events() == 0 && is_header_like(self.buffer.slice(range));
        if error.is_fatal || is_header {
            return Err(self.malformed(error));
        }
        let error = self.described(error);
        if self.buffer.is_last_line_cut() {
            return self.odd.cut_short(error, &mut self.sink.statistics);
        }
        self.odd.leave_out(error, self.position, &mut self.sink.statistics)
    }

    fn parse_frame(&mut self) -> Result<bool, TraceError> {
        self.buffer.ensure(FRAME_BYTES_MAX)?;
        if self.buffer.available().is_empty() {
            return Ok(false);
        }
        self.position += 1;
        let Parser::Frames(parser) = &mut self.parser else { unreachable!("checked by the caller") };
        match parser.parse(self.buffer.available(), &mut self.sink) {
            Ok(Some(length)) => self.buffer.consume(length),
            Ok(None) => {
                self.frame_cut()?;
                return Ok(false);
            }
            Err(error) => return Err(self.malformed(*error)),
        }
        Ok(true)
    }

    /// Leaves out a last frame that is cut short.
    /// Errors: it may not be left out, or is not the last one.
    #[cold]
    fn frame_cut(&mut self) -> Result<(), TraceError> {
        let error = cut_frame(self.buffer.available().len());
        if !self.buffer.at_end() {
            return Err(self.malformed(*error));
        }
        let error = self.described(*error);
        self.odd.cut_short(error, &mut self.sink.statistics)
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
        TraceError::Malformed(Box::new(self.described(error)))
    }

    /// An error of the line or frame last read, with the columns that are read.
    fn described(&self, error: FieldError) -> Malformed {
        Malformed::new(self.path(), self.place(), error, self.format).of_columns(self.parser.columns())
    }

    #[cold]
    fn refused(&self, refused: Refused) -> TraceError {
        let back_ns = match refused {
            Refused::BackInTime(back_ns) => back_ns,
            Refused::Temporary(error) => return self.temporary(error),
        };
        let (path, place, order) = (self.path().to_owned(), self.place(), self.reorder.order());
        if order == Order::Sort {
            return TraceError::BeyondWindow { path, place, back_ns, window: self.reorder.window_records() };
        }
        let (beyond, remedy) = (format!(", which order = {} refuses", order.name()), "order = sort or order = clamp");
        TraceError::BackInTime { path, place, back_ns, beyond, remedy }
    }

    #[cold]
    fn temporary(&self, source: io::Error) -> TraceError {
        TraceError::Temporary { path: self.path().to_owned(), bytes: self.reorder.written_bytes(), source }
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
