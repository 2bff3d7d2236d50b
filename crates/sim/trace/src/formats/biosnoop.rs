//! biosnoop of bcc (Python) and libbpf-tools: one line per completed request.
//!
//! The time printed is the completion's; the request was issued `LAT` earlier, and that is when it
//! arrives here. The process name may contain blanks, so a line is read from the right. `P` and
//! `QUE` columns are optional and announced by the header. Rows of 0 bytes without an `F` are
//! passthrough commands or flushes the tool cannot tell, and are counted, not replayed.
//!
//! Some rows name no disk, and their address space is unknown. Beside rows with a name they are
//! left out and counted as other rows; where no row has a name, all are of one disk.

use units::HostOp;

use super::reading::fields::{FieldError, FieldResult, NOT_NEGATIVE, field_error};
use super::reading::number;
use super::reading::parser::{LineParser, Names, Parser, Sink, check};
use super::reading::rwbs::{self, Rwbs};
use super::reading::tokens::Tokens;
use super::{Format, Order, SECTOR, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    doc: "biosnoop of bcc or libbpf-tools",
    columns: "TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms)",
    time_unit: "s, of completion",
    address_unit: "512-byte sectors, sizes in bytes",
    extensions: &[".biosnoop"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Biosnoop::default())),
};

#[derive(Default)]
struct Biosnoop {
    disks: Names,
    unnamed: Unnamed,
    /// Columns between BYTES and LAT.
    optional_columns: usize,
    last_clock_ns: i64,
    days: i64,
}

/// What becomes of requests without a disk name.
enum Unnamed {
    /// No row had a name yet: these many rows wait, with their records.
    Held(u64, Vec<TraceRecord>),
    /// Some row had a name.
    LeftOut,
    /// None of many rows had a name: they are of one disk.
    Kept,
}

impl Default for Unnamed {
    fn default() -> Unnamed {
        Unnamed::Held(0, Vec::new())
    }
}

/// Rows without a name before the first that has one; after these no name is expected any more.
const HELD_ROWS_MAX: u64 = 4096;

/// One day; a clock that falls by more than half of it has passed midnight.
const DAY_NS: i64 = 86_400_000_000_000;

impl LineParser for Biosnoop {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if line.starts_with(b"TIME") {
            self.read_header(line).map_err(FieldError::fatal)?;
            sink.comment();
            return Ok(());
        }
        if line.starts_with(b"Tracing ") {
            sink.comment();
            return Ok(());
        }
        let tokens = Tokens::split(line)?;
        let Columns { letters_at, letters, length, latency } = match self.columns(&tokens) {
            Ok(columns) => columns,
            Err(error) => self.fused(&tokens).ok_or(error)?,
        };
        let disk = disk(&tokens, letters_at)?;
        let flush = letters.preflush || length == 0;
        let op = letters.op.filter(|op| *op != HostOp::Flush && length > 0);
        // A row that is refused changes nothing, so all that may be wrong with it is looked at first.
        let is_left_out = disk.is_empty() && matches!(self.unnamed, Unnamed::LeftOut);
        let offset = if op.is_some() && !is_left_out { tokens.bytes(letters_at + 1, "SECTOR", SECTOR)? } else { 0 };
        let mut record = TraceRecord::new(0, 0, HostOp::Flush, 0, 0);
        if flush && !is_left_out {
            check(&TraceRecord { offset_bytes: offset, length_bytes: length, ..record })?;
        }
        record.time_ns = self.time(&tokens)?.saturating_sub(latency as i64);
        if length == 0 && !letters.preflush && letters.op != Some(HostOp::Flush) {
            sink.zero();
            return Ok(());
        }
        if !self.is_kept(disk, sink)? {
            sink.other();
            return Ok(());
        }
        record.device = self.disks.number(disk);
        record.latency_ns = Some(latency);
        if flush {
            self.push(disk, record, sink)?;
        }
        let Some(op) = op else {
            if !flush {
                sink.other();
            }
            return Ok(());
        };
        record.op = op;
        record.fua = letters.fua;
        record.offset_bytes = offset;
        record.length_bytes = length;
        self.push(disk, record, sink)
    }

    fn finish(&mut self, sink: &mut Sink) -> FieldResult<()> {
        self.keep_unnamed(sink)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.disks.name(device).filter(|name| !name.is_empty())
    }
}

/// What a row has from the operation on.
struct Columns {
    /// Column of the operation, from 0; SECTOR follows it.
    letters_at: usize,
    letters: Rwbs,
    length: u64,
    /// Nanoseconds.
    latency: u64,
}

impl Biosnoop {
    /// The columns of a row, counted from the right.
    #[inline]
    fn columns(&self, tokens: &Tokens<'_>) -> FieldResult<Columns> {
        if tokens.count() < 7 + self.optional_columns {
            let line = tokens.line();
            return Err(field_error(0, "line", line, "at least TIME COMM PID T SECTOR BYTES LAT"));
        }
        let latency_at = tokens.count() - 1;
        let bytes_at = latency_at - 1 - self.optional_columns;
        let letters_at = bytes_at - 2;
        let latency = latency(tokens, latency_at)?;
        let letters = letters(tokens, letters_at)?;
        Ok(Columns { letters_at, letters, length: tokens.bytes(bytes_at, "BYTES", 1)?, latency })
    }

    /// The columns of a row in which BYTES and the time after it, LAT or QUE, stand without a blank between them.
    ///
    /// bcc prints BYTES to the left of 7 columns and such a time to the right of 7. So BYTES with 7 digits or more
    /// meets a time of 1000.00 ms or more: `10485761234.56` is 1,048,576 bytes and 1,234.56 ms. Of all places where the
    /// two may meet, the right one makes BYTES a multiple of 512 below 4 GiB and leaves neither number a leading 0.
    /// Where not exactly one place does that, nothing is guessed.
    #[cold]
    fn fused(&self, tokens: &Tokens<'_>) -> Option<Columns> {
        const PADDED: usize = 7;
        let fused_at = tokens.count().checked_sub(1 + self.optional_columns).filter(|at| *at >= 5)?;
        let text = tokens.get(fused_at);
        let point = text.iter().position(|byte| *byte == b'.')?;
        let is_time = |time: &[u8]| time.len() >= PADDED && time[0] != b'0';
        let bytes = |digits: &[u8]| {
            let bytes = number::integer(digits).filter(|_| digits[0] != b'0')?;
            (bytes.is_multiple_of(SECTOR) && u32::try_from(bytes).is_ok()).then_some(bytes)
        };
        let places = (PADDED..point).filter(|at| is_time(&text[*at..]));
        let mut found = places.filter_map(|at| Some((bytes(&text[..at])?, &text[at..])));
        let (Some((length, time)), None) = (found.next(), found.next()) else { return None };
        let nanos = number::decimal(time, 6).and_then(|ns| u64::try_from(ns).ok())?;
        let latency = if self.optional_columns == 0 { nanos } else { latency(tokens, tokens.count() - 1).ok()? };
        let letters_at = fused_at - 2;
        Some(Columns { letters_at, letters: letters(tokens, letters_at).ok()?, length, latency })
    }

    /// Notes whether a row names its disk; false for one that does not where others do.
    fn is_kept(&mut self, disk: &[u8], sink: &mut Sink) -> FieldResult<bool> {
        match &mut self.unnamed {
            Unnamed::Held(rows, _) if !disk.is_empty() => {
                sink.statistics.dropped_other += *rows;
                self.unnamed = Unnamed::LeftOut;
                self.disks = Names::default();
            }
            Unnamed::Held(rows, _) if *rows < HELD_ROWS_MAX => *rows += 1,
            Unnamed::Held(..) => self.keep_unnamed(sink)?,
            Unnamed::LeftOut => return Ok(!disk.is_empty()),
            Unnamed::Kept => {}
        }
        Ok(true)
    }

    fn push(&mut self, disk: &[u8], record: TraceRecord, sink: &mut Sink) -> FieldResult<()> {
        match &mut self.unnamed {
            Unnamed::Held(_, held) if disk.is_empty() => {
                check(&record)?;
                held.push(record);
                Ok(())
            }
            _ => sink.push(record),
        }
    }

    /// Hands over the records that wait, as those of one disk.
    fn keep_unnamed(&mut self, sink: &mut Sink) -> FieldResult<()> {
        match std::mem::replace(&mut self.unnamed, Unnamed::Kept) {
            Unnamed::Held(_, held) => held.into_iter().try_for_each(|record| sink.push(record)),
            other => {
                self.unnamed = other;
                Ok(())
            }
        }
    }

    fn read_header(&mut self, line: &[u8]) -> FieldResult<()> {
        let tokens = Tokens::split(line)?;
        let bytes = (0..tokens.count()).find(|&index| tokens.get(index) == b"BYTES");
        let Some(bytes) = bytes.filter(|bytes| tokens.count() >= bytes + 2) else {
            return Err(field_error(0, "header", line, "columns SECTOR BYTES ... LAT(ms)"));
        };
        self.optional_columns = tokens.count() - bytes - 2;
        Ok(())
    }

    fn time(&mut self, tokens: &Tokens<'_>) -> FieldResult<i64> {
        let text = tokens.get(0);
        if !text.contains(&b':') {
            let time = tokens.decimal(0, "TIME(s)", 9)?;
            return if time < 0 { Err(tokens.wrong(0, "TIME(s)", NOT_NEGATIVE)) } else { Ok(time) };
        }
        let clock = number::clock(text).ok_or_else(|| tokens.wrong(0, "TIME", "HH:MM:SS or seconds"))?;
        if self.last_clock_ns - clock > DAY_NS / 2 {
            self.days += 1;
        }
        self.last_clock_ns = clock;
        Ok(clock + self.days * DAY_NS)
    }
}

#[inline]
fn latency(tokens: &Tokens<'_>, at: usize) -> FieldResult<u64> {
    let nanos = tokens.decimal(at, "LAT(ms)", 6)?;
    u64::try_from(nanos).map_err(|_| tokens.wrong(at, "LAT(ms)", "0 or more"))
}

#[inline]
fn letters(tokens: &Tokens<'_>, at: usize) -> FieldResult<Rwbs> {
    rwbs::parse(tokens.get(at)).ok_or_else(|| tokens.wrong(at, "T", "letters such as R, W, WS or FF"))
}

/// The DISK column, or nothing for a request without a disk name: then the field left of `T` is the
/// PID, or a word says that the disk is unknown.
fn disk<'a>(tokens: &Tokens<'a>, letters_at: usize) -> FieldResult<&'a [u8]> {
    let left = tokens.get(letters_at - 1);
    if letters_at >= 4 && number::integer(tokens.get(letters_at - 2)).is_some() {
        return Ok(if matches!(left, b"<unknown>" | b"Unknown") { b"" } else { left });
    }
    if number::integer(left).is_some() {
        return Ok(b"");
    }
    Err(tokens.wrong(letters_at - 2, "PID", "an integer left of DISK"))
}
