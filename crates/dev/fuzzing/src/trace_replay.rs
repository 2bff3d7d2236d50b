//! Replay of any bytes as the project's own CSV: requests stay on the drive. The first byte
//! chooses the fit, the second the capacity.

use std::io::Cursor;

use trace::Workload;
use trace::formats::{DevicePolicy, Fit, TraceOptions, TraceWorkload};

const FITS: [Fit; 3] = [Fit::Error, Fit::Modulo, Fit::Compact];

/// # Panics
///
/// If the input breaks a law of the target.
pub fn trace_replay(bytes: &[u8]) {
    let [fit, capacity, rest @ ..] = bytes else { return };
    let capacity_sectors = (u64::from(*capacity) + 1) * 1024;
    let mut text = b"time_ns,device,op,offset_bytes,length_bytes\n".to_vec();
    text.extend_from_slice(rest);
    let options = TraceOptions {
        format: Some("nandarium".to_owned()),
        devices: DevicePolicy::Select(0),
        fit: FITS[usize::from(*fit) % FITS.len()],
        ..TraceOptions::new(capacity_sectors)
    };
    let Ok(mut workload) = TraceWorkload::from_reader(Box::new(Cursor::new(text)), "input", &options) else {
        return;
    };
    let mut requests = Vec::new();
    let _ = workload.next_batch(&mut requests, 10_000);
    for request in requests {
        assert!(request.end_sector() <= capacity_sectors, "beyond the drive: {request:?}");
    }
}
