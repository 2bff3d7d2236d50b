//! iosnoop of perf-tools (`iosnoop -s`, `-t`, `-ts`): one line per completed request.
//!
//! `-s` prints when a request was issued, `-t` when it was completed; without either the output has no times and is
//! refused. Arrival is the issue: `STARTs`, or `ENDs` less the latency. The process name may contain blanks, so a line
//! is read from the right.

use units::HostOp;

use super::reading::fields::{FieldResult, NOT_NEGATIVE, field_error};
use super::reading::parser::{LineParser, Parser, Sink};
use super::reading::rwbs;
use super::reading::tokens::Tokens;
use super::{Format, Order, TraceRecord};

pub(super) const FORMAT: Format = Format {
    name: "iosnoop",
    doc: "iosnoop of perf-tools, with times (options -s, -t or -ts)",
    columns: "[STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms",
    time_unit: "s",
    address_unit: "512-byte sectors, sizes in bytes",
    extensions: &[".iosnoop"],
    usual_order: Order::Sort,
    parser: || Parser::Lines(Box::new(Iosnoop::default())),
};

/// Columns that are always there, on the right: PID, TYPE, DEV, BLOCK, BYTES and the latency.
const RIGHT_COLUMNS: usize = 6;
/// What the tool prints beside its rows.
const REMARKS: [&[u8]; 4] = [b"Tracing ", b"Ending tracing", b"WARNING: ", b"^C"];

#[derive(Default)]
struct Iosnoop {
    /// The columns of times on the left, once the header is read.
    times: Option<Times>,
}

#[derive(Clone, Copy)]
struct Times {
    start: bool,
    end: bool,
}

impl LineParser for Iosnoop {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if REMARKS.iter().any(|remark| line.starts_with(remark)) {
            sink.comment();
            return Ok(());
        }
        let tokens = Tokens::split(line)?;
        if let Some(times) = header(&tokens) {
            self.times = Some(times);
            sink.comment();
            return Ok(());
        }
        let Some(Times { start, end }) = self.times else {
            return Err(field_error(0, "header", line, "a header STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms"));
        };
        if !start && !end {
            let expected =
                "a time; this output of iosnoop has none and cannot be replayed: trace again with iosnoop -ts";
            return Err(tokens.wrong(0, "STARTs", expected));
        }
        if tokens.count() < usize::from(start) + usize::from(end) + 1 + RIGHT_COLUMNS {
            return Err(field_error(0, "line", line, "times, COMM PID TYPE DEV BLOCK BYTES LATms"));
        }
        let latency_at = tokens.count() - 1;
        let letters_at = latency_at - 4;
        let latency = tokens
            .decimal(latency_at, "LATms", 6)
            .and_then(|ns| u64::try_from(ns).map_err(|_| tokens.wrong(latency_at, "LATms", "0 or more")))?;
        let length = tokens.bytes(latency_at - 1, "BYTES", 1)?;
        let sector = tokens.integer(latency_at - 2, "BLOCK")?;
        let device = rwbs::device(tokens.get(latency_at - 3))
            .ok_or_else(|| tokens.wrong(latency_at - 3, "DEV", "MAJOR,MINOR"))?;
        let letters = rwbs::parse(tokens.get(letters_at))
            .ok_or_else(|| tokens.wrong(letters_at, "TYPE", "letters such as R, W, WS or FF"))?;
        tokens.integer(letters_at - 1, "PID")?;
        let first = time(&tokens, 0, if start { "STARTs" } else { "ENDs" })?;
        let (time, latency) = match (start, end) {
            // The times have more digits than the latency.
            (true, true) => (first, u64::try_from(time(&tokens, 1, "ENDs")? - first).unwrap_or(latency)),
            (true, false) => (first, latency),
            (false, _) => (first.saturating_sub_unsigned(latency), latency),
        };
        let mut record = TraceRecord::new(time, device, HostOp::Flush, 0, 0);
        record.latency_ns = Some(latency);
        rwbs::push(letters, sector, length, record, sink)
    }

    fn device_name(&self, device: u32) -> Option<String> {
        Some(rwbs::device_name(device))
    }
}

/// The times that a header announces; `None` for another line.
fn header(tokens: &Tokens<'_>) -> Option<Times> {
    let last = tokens.count().checked_sub(1)?;
    let has = |name: &[u8]| (0..2).any(|index| tokens.get(index) == name);
    (tokens.get(last) == b"LATms").then(|| Times { start: has(b"STARTs"), end: has(b"ENDs") })
}

fn time(tokens: &Tokens<'_>, index: usize, name: &'static str) -> FieldResult<i64> {
    let time = tokens.decimal(index, name, 9)?;
    if time < 0 { Err(tokens.wrong(index, name, NOT_NEGATIVE)) } else { Ok(time) }
}
