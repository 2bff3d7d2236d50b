//! Writing records as the project's own CSV.

use std::io::{self, BufWriter, Write};

use units::HostOp;

use super::super::{TraceRecord, nandarium::HEADER_WRITTEN};
use crate::WorkloadError;

/// Writes `records` as `nandarium` CSV and returns their number; `path` is used in messages.
/// Reading the result back gives the same records.
/// Errors: the first error of `records`, or of writing.
pub fn write_nandarium(
    records: impl Iterator<Item = Result<TraceRecord, WorkloadError>>,
    out: &mut dyn Write,
    path: &str,
) -> Result<u64, WorkloadError> {
    let failed = |source: io::Error| WorkloadError::Io { path: path.to_owned(), source };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    writeln!(out, "{HEADER_WRITTEN}").map_err(failed)?;
    let mut written = 0;
    for record in records {
        write_record(&mut out, &record?).map_err(failed)?;
        written += 1;
    }
    out.flush().map_err(failed)?;
    Ok(written)
}

fn write_record(out: &mut impl Write, record: &TraceRecord) -> io::Result<()> {
    let op = match record.op {
        HostOp::Read => 'R',
        HostOp::Write => 'W',
        HostOp::Trim => 'T',
        HostOp::Flush => 'F',
    };
    let TraceRecord { time_ns, device, offset_bytes, length_bytes, .. } = record;
    let fua = u8::from(record.fua);
    write!(out, "{time_ns},{device},{op},{offset_bytes},{length_bytes},{fua},")?;
    if let Some(latency) = record.latency_ns {
        write!(out, "{latency}")?;
    }
    out.write_all(b"\n")
}
