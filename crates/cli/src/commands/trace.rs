//! `nandarium trace info | convert | head`.

use super::results::pretty;
use crate::arguments::{OrderArgument, TraceCommand, TraceConvertArguments, TraceHeadArguments, TraceInfoArguments, TraceInput};
use crate::failure::Failure;
use crate::output;
use crate::table::{Grid, count, share, size, time};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind};
use trace::WorkloadError;
use trace::formats::{OpenOptions, Order, Records, TraceSummary, open, summarise, write_nandarium};

pub fn execute(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(arguments) => info(arguments),
        TraceCommand::Convert(arguments) => convert(arguments),
        TraceCommand::Head(arguments) => head(arguments),
    }
}

fn records(input: &TraceInput) -> Result<Records, Failure> {
    let order = input.order.map(|order| match order {
        OrderArgument::Error => Order::Error,
        OrderArgument::Clamp => Order::Clamp,
        OrderArgument::Sort => Order::Sort,
    });
    let options = OpenOptions { format: input.format.clone(), order, ..OpenOptions::default() };
    Ok(open(&input.file, &options)?)
}

fn info(arguments: &TraceInfoArguments) -> Result<(), Failure> {
    let summary = summarise(&mut records(&arguments.input)?)?;
    if arguments.json {
        let document = serde_json::to_value(&summary).map_err(Failure::failed)?;
        return output::print(&pretty(&document));
    }
    output::print(&text(&arguments.input.file, &summary))
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
    let gap = summary.inter_arrival_ns_mean.map_or(String::new(), |gap| format!(", mean gap {}", time(gap)));
    let _ = writeln!(text, "\nduration    {}{gap}", time(summary.duration_ns as f64));
    if let Some(sizes) = &summary.sizes {
        let _ = writeln!(
            text,
            "sizes       mean {}, median {}, p90 {}, p99 {}, {} to {}",
            size(sizes.bytes_mean as u64),
            size(sizes.bytes_p50),
            size(sizes.bytes_p90),
            size(sizes.bytes_p99),
            size(sizes.bytes_min),
            size(sizes.bytes_max),
        );
    }
    let _ = writeln!(
        text,
        "pattern     {} aligned to 4 KiB, {} sequential",
        share(summary.aligned_4k_share),
        share(summary.sequential_share)
    );
    let _ = writeln!(
        text,
        "addresses   {} touched, up to {} bytes (a drive must be at least that large)",
        size(summary.footprint_mib << 20),
        count(summary.end_bytes_max)
    );
    for device in &summary.devices {
        let _ = writeln!(
            text,
            "device      {}: {} requests, bytes {} to {}",
            device.device,
            count(device.records),
            count(device.start_bytes),
            count(device.end_bytes)
        );
    }
    let left_out = &summary.statistics;
    let _ = writeln!(
        text,
        "left out    {} comments, {} of size 0, {} others; {} moved in time",
        count(left_out.dropped_comment),
        count(left_out.dropped_zero),
        count(left_out.dropped_other),
        count(left_out.reordered + left_out.clamped)
    );
    text
}

fn convert(arguments: &TraceConvertArguments) -> Result<(), Failure> {
    let records = records(&arguments.input)?;
    match &arguments.out {
        None => written(write_nandarium(records, &mut io::stdout().lock(), STANDARD_OUTPUT), STANDARD_OUTPUT),
        Some(path) => {
            let mut file = File::create(path).map_err(|error| {
                Failure::usage(format!("{} could not be opened for writing: {error}", path.display()))
            })?;
            let name = path.display().to_string();
            written(write_nandarium(records, &mut file, &name), &name)
        }
    }
}

fn head(arguments: &TraceHeadArguments) -> Result<(), Failure> {
    let records = records(&arguments.input)?.take(arguments.count);
    written(write_nandarium(records, &mut io::stdout().lock(), STANDARD_OUTPUT), STANDARD_OUTPUT)
}

const STANDARD_OUTPUT: &str = "standard output";

/// A closed pipe is the reader's right; what cannot be written to `out` is no mistake of the user.
fn written(result: Result<u64, WorkloadError>, out: &str) -> Result<(), Failure> {
    match result {
        Ok(_) => Ok(()),
        Err(WorkloadError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(WorkloadError::Io { path, source }) if path == out => {
            Err(Failure::failed(format!("{path} could not be written: {source}")))
        }
        Err(error) => Err(error.into()),
    }
}
