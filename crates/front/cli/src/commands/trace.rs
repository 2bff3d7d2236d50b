//! `nandarium trace info | head`.

use super::convert::{self, STANDARD_OUTPUT, check_is_trace, tell, written};
use super::results::pretty;
use crate::arguments::{OrderArgument, TraceCommand, TraceHeadArguments, TraceInfoArguments, TraceInput};
use crate::failure::Failure;
use crate::output;
use crate::table::{Grid, count, share, size, time};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use trace::WorkloadError;
use trace::formats::{
    OddLines, OpenOptions, Order, ReadStatistics, TraceError, TraceSummary, long_duration, open, read_in_order,
    summarise, write_nandarium,
};

pub fn execute(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(arguments) => info(arguments),
        TraceCommand::Convert(arguments) => convert::execute(arguments),
        TraceCommand::Head(arguments) => head(arguments),
    }
}

fn order_of(order: OrderArgument) -> Order {
    match order {
        OrderArgument::Error => Order::Error,
        OrderArgument::Clamp => Order::Clamp,
        OrderArgument::Sort => Order::Sort,
        OrderArgument::Whole => Order::Whole,
    }
}

/// How a trace is read.
/// Errors: `odd_lines` is no number and no share.
pub fn options(input: &TraceInput) -> Result<OpenOptions, Failure> {
    let odd_lines = input.odd_lines.as_deref().map(OddLines::parse).transpose().map_err(WorkloadError::from)?;
    Ok(OpenOptions {
        format: input.format.clone(),
        columns: input.columns.clone(),
        member: input.member.clone(),
        order: input.order.map(order_of),
        gap_limit_ns: input.gap_limit,
        allocator: input.allocator,
        odd_lines: odd_lines.unwrap_or_default(),
        ..OpenOptions::default()
    })
}

fn info(arguments: &TraceInfoArguments) -> Result<(), Failure> {
    let (text, document) = told(&arguments.input)?;
    output::print(&if arguments.json { pretty(&document) } else { text })
}

/// What a trace holds, and the command that runs it: as text, and as the document of `--json`.
/// Errors: it cannot be read; the text says where it stumbled.
pub fn told(input: &TraceInput) -> Result<(String, Value), Failure> {
    check_is_trace(&input.file)?;
    let summary = read_in_order(&input.file, &options(input)?, summarise)?;
    let ReadStatistics { dropped_zero, dropped_other, dropped_odd, dropped_cut, .. } = summary.statistics;
    if summary.records + dropped_zero + dropped_other + dropped_odd + dropped_cut == 0 {
        let path = input.file.clone();
        return Err(WorkloadError::from(TraceError::CommentsOnly { path }).into());
    }
    let mut document = serde_json::to_value(&summary).map_err(Failure::failed)?;
    document["command"] = command(input).into();
    let mut text = text(&input.file, &summary);
    if let Some(note) = summary.statistics.gaps_note(input.gap_limit) {
        let _ = writeln!(text, "gaps        {note}");
    }
    let _ = writeln!(text, "\nrun it      {}", command(input));
    Ok((text, document))
}

/// What runs the trace as it was read.
fn command(input: &TraceInput) -> String {
    let mut command = format!("nandarium run --workload {}", quoted(&input.file));
    if let Some(format) = &input.format {
        let _ = write!(command, " --format {format}");
    }
    for (key, text) in [("columns", &input.columns), ("member", &input.member)] {
        let Some(text) = text else { continue };
        let _ = write!(command, " --set {}", quoted(&format!("workload.{key}={text}")));
    }
    if let Some(order) = input.order {
        let _ = write!(command, " --set workload.order={}", order_of(order).name());
    }
    if let Some(limit) = input.gap_limit {
        let _ = write!(command, " --set workload.gap_limit={limit}ns");
    }
    if let Some(allocator) = input.allocator {
        let _ = write!(command, " --set workload.allocator={}", allocator.name());
    }
    if let Some(odd_lines) = &input.odd_lines {
        let _ = write!(command, " --set workload.odd_lines={odd_lines}");
    }
    command
}

/// A file name as a shell takes it.
fn quoted(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+,:=@%".contains(&byte);
    if !file.is_empty() && file.bytes().all(plain) {
        file.to_owned()
    } else {
        format!("'{}'", file.replace('\'', "'\\''"))
    }
}

/// A summary for people.
pub fn text(name: &str, summary: &TraceSummary) -> String {
    let mut text = format!("{name}: {} requests in format {}\n\n", count(summary.records), summary.format);
    let mut grid = Grid::new(1);
    grid.row(["", "requests", "data"]);
    for op in &summary.ops {
        grid.row([format!("  {}", op.op), count(op.records), size(op.bytes)]);
    }
    text.push_str(&grid.render(""));
    text.push('\n');
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "{name:<12}{what}");
    };
    for what in times(summary) {
        line(what.0, what.1);
    }
    if let Some(sizes) = &summary.sizes {
        let of = |name: &str, bytes| format!("{name} {}", size(bytes));
        let percentiles = [of("median", sizes.bytes_p50), of("p90", sizes.bytes_p90), of("p99", sizes.bytes_p99)];
        let range = format!("{} to {}", size(sizes.bytes_min), size(sizes.bytes_max));
        line("sizes", format!("{}, {}, {range}", of("mean", sizes.bytes_mean as u64), percentiles.join(", ")));
    }
    if let (Some(aligned), Some(sequential)) = (summary.aligned_4k_share, summary.sequential_share) {
        line("pattern", format!("{} aligned to 4 KiB, {} sequential", share(aligned), share(sequential)));
    }
    if let Some(rewrites) = summary.rewrite_share {
        line(
            "rewrites",
            format!("{} of the written bytes go where the trace wrote before (pages of 4 KiB)", share(rewrites)),
        );
    }
    for op in &summary.ops {
        let Some(latency) = &op.recorded_latency_ns else { continue };
        let percentiles = [("median", latency.p50), ("p99", latency.p99), ("p99.9", latency.p999)];
        let told = percentiles.iter().filter_map(|(name, nanos)| Some(format!(", {name} {}", time((*nanos)? as f64))));
        line("latency", format!("{}: mean {}{}, as recorded", op.op, time(latency.mean), told.collect::<String>()));
    }
    let (touched, end) = (size(summary.footprint_mib << 20), count(summary.end_bytes_max));
    line("addresses", format!("{touched} touched, counted in regions of 1 MiB; up to byte {end}"));
    for device in &summary.devices {
        let (requests, start, end) = (count(device.records), count(device.start_bytes), count(device.end_bytes));
        line("device", format!("{}: {requests} requests, bytes {start} to {end}", device.device));
    }
    let left_out = &summary.statistics;
    let [comments, zero, other] = [left_out.dropped_comment, left_out.dropped_zero, left_out.dropped_other].map(count);
    let moved = count(left_out.reordered + left_out.clamped);
    let odd = match left_out.dropped_odd + left_out.dropped_cut {
        0 => String::new(),
        odd => format!("{} odd lines, ", count(odd)),
    };
    line("left out", format!("{comments} comments, {zero} of size 0, {odd}{other} others; {moved} moved in time"));
    for note in &summary.notes {
        line("note", note.clone());
    }
    text
}

const SECOND_NS: u64 = 1_000_000_000;

/// A time that may be nanoseconds or years.
fn span(nanos: u64) -> String {
    const MINUTE_NS: u64 = 60_000_000_000;
    if nanos < MINUTE_NS { time(nanos as f64) } else { long_duration(nanos) }
}

/// Duration, gaps and peaks, a line each.
fn times(summary: &TraceSummary) -> Vec<(&'static str, String)> {
    let mean = summary.inter_arrival_ns_mean.map_or(String::new(), |gap| format!(", mean gap {}", span(gap as u64)));
    let mut lines = vec![("duration", format!("{}{mean}", span(summary.duration_ns)))];
    if let Some(gap) = &summary.longest_gap {
        let (gap_ns, at, after) = (span(gap.gap_ns), span(gap.at_ns), count(gap.after_record));
        let minutes = count(summary.gaps_over_minute);
        lines.push((
            "pauses",
            format!("longest {gap_ns}, after request {after} at {at}; {minutes} longer than a minute"),
        ));
    }
    // In a shorter trace the busiest second is all of it.
    if let Some(peak) = summary.peak_requests.as_ref().filter(|_| summary.duration_ns > SECOND_NS) {
        let bytes = summary.peak_bytes.map_or(String::new(), |bytes| {
            format!("; {} in the second from {}", size(bytes.per_second), span(bytes.at_ns))
        });
        let (requests, at) = (count(peak.per_second), span(peak.at_ns));
        lines.push(("peaks", format!("{requests} requests in the second from {at}{bytes}")));
    }
    lines
}

fn head(arguments: &TraceHeadArguments) -> Result<(), Failure> {
    let (file, options) = (&arguments.input.file, options(&arguments.input)?);
    check_is_trace(file)?;
    let is_file = Path::new(file).is_file();
    if is_file {
        open(file, &options)?.look_behind()?;
    }
    let mut records = open(file, &options)?;
    let first = records.by_ref().take(arguments.count);
    let result = write_nandarium(first, &mut io::stdout().lock(), STANDARD_OUTPUT);
    let result = result.and_then(|_| {
        if is_file {
            return Ok(Vec::new());
        }
        records.look_behind()?;
        Ok(records.unread_note().into_iter().collect())
    });
    tell(&written(result, STANDARD_OUTPUT)?);
    Ok(())
}
