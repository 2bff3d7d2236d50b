//! Helpers of the trace tests: reading samples from memory.

use std::io::Cursor;

use trace::WorkloadError;
use trace::formats::{OddLines, OpenOptions, Records, TraceRecord, open_reader};
use units::HostOp;

/// Options that name `format`.
pub fn named(format: &str) -> OpenOptions {
    OpenOptions { format: Some(format.to_owned()), ..OpenOptions::default() }
}

/// Opens `bytes` as a file called `name`.
pub fn open_bytes(bytes: &[u8], name: &str, options: &OpenOptions) -> Result<Records, WorkloadError> {
    open_reader(Box::new(Cursor::new(bytes.to_vec())), name, options)
}

/// All records of `bytes` in `format`.
pub fn records(format: &str, bytes: impl AsRef<[u8]>) -> Vec<TraceRecord> {
    try_records(format, bytes).unwrap_or_else(|error| panic!("{format}: {error}"))
}

/// All records, or the first error.
pub fn try_records(format: &str, bytes: impl AsRef<[u8]>) -> Result<Vec<TraceRecord>, WorkloadError> {
    open_bytes(bytes.as_ref(), "sample", &named(format))?.collect()
}

/// Options that name `format` and refuse the first odd line.
pub fn strict(format: &str) -> OpenOptions {
    OpenOptions { odd_lines: OddLines::Count(0), ..named(format) }
}

/// The text of the first error where no line is left out.
pub fn error(format: &str, bytes: impl AsRef<[u8]>) -> String {
    let records =
        open_bytes(bytes.as_ref(), "sample", &strict(format)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match records {
        Ok(records) => panic!("{format} accepted it: {records:?}"),
        Err(error) => error.to_string(),
    }
}

/// The format detected for `bytes` called `name`, or the error text.
pub fn detected(bytes: impl AsRef<[u8]>, name: &str) -> Result<&'static str, String> {
    open_bytes(bytes.as_ref(), name, &OpenOptions::default())
        .map(|records| records.format().name)
        .map_err(|error| error.to_string())
}

/// A record without latency and force unit access.
pub fn record(time_ns: i64, device: u32, op: HostOp, offset_bytes: u64, length_bytes: u64) -> TraceRecord {
    TraceRecord::new(time_ns, device, op, offset_bytes, length_bytes)
}

/// `record` with a response time.
pub fn with_latency(mut record: TraceRecord, latency_ns: u64) -> TraceRecord {
    record.latency_ns = Some(latency_ns);
    record
}
