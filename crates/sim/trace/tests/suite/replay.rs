//! Traces as workloads: devices, fitting, times, limits.

use std::io::{Cursor, Write as _};

use tempfile::NamedTempFile;
use trace::Workload;
use trace::formats::{DevicePolicy, Fit, TraceOptions, TraceWorkload};
use units::{HostOp, Request};

const MIB: u64 = 1 << 20;

fn file(rows: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    write!(file, "time_ns,device,op,offset_bytes,length_bytes,fua\n{rows}").unwrap();
    file
}

fn replay(rows: &str, options: &TraceOptions) -> Result<Vec<Request>, String> {
    let file = file(rows);
    let path = file.path().to_str().unwrap();
    let mut workload = TraceWorkload::open(path, options).map_err(|error| error.to_string())?;
    drain(&mut workload)
}

fn drain(workload: &mut TraceWorkload) -> Result<Vec<Request>, String> {
    let mut batch = Vec::new();
    loop {
        let before = batch.len();
        workload.next_batch(&mut batch, 3).map_err(|error| error.to_string())?;
        if batch.len() == before {
            return Ok(batch);
        }
    }
}

/// Arrival, first sector, sectors.
fn places(requests: &[Request]) -> Vec<(u64, u64, u32)> {
    requests.iter().map(|request| (request.arrival, request.first_sector, request.sectors)).collect()
}

fn drive(mib: u64) -> TraceOptions {
    TraceOptions::new(mib * MIB / 512)
}

/// Refuses several devices, and addresses beyond the drive.
fn strict(mib: u64) -> TraceOptions {
    TraceOptions { devices: DevicePolicy::Error, fit: Fit::Error, ..drive(mib) }
}

#[test]
fn bytes_are_rounded_outward_and_times_start_at_zero() {
    let rows = "1000,0,W,100,500,1\n1500,0,R,1023,2,0\n1600,0,F,0,0,0\n";
    let requests = replay(rows, &drive(1)).unwrap();
    assert_eq!(places(&requests), [(0, 0, 2), (500, 1, 2), (600, 0, 0)]);
    assert!(requests[0].fua && !requests[1].fua);
    assert_eq!(requests[2].op, HostOp::Flush);
}

/// It was told to give a fit, which it had given, and a larger drive, which there is not.
#[test]
fn devices_that_no_drive_can_hold_are_not_given_the_advice_that_is_followed() {
    let row = |device: u64| format!("{device},{device},W,{},4096,0\n", (1_u64 << 62) - 4096);
    let rows = (0..5).map(row).collect::<Vec<_>>().concat();
    for fit in [Fit::Error, Fit::Modulo, Fit::Compact] {
        let error = replay(&rows, &TraceOptions { devices: DevicePolicy::Concat, fit, ..drive(100) }).unwrap_err();
        assert!(error.contains("5 devices") && error.contains("replay one of them"), "{error}");
        assert!(!error.contains("fit = ") && !error.contains("devices = concat"), "{error}");
    }
}

#[test]
fn several_devices_are_refused_selected_or_laid_end_to_end() {
    let rows = "0,3,W,0,4096,0\n10,7,W,0,1048577,0\n20,9,R,512,512,0\n";
    let error = replay(rows, &strict(100)).unwrap_err();
    for part in ["3 devices", "3 (1 records), 7 (1 records), 9", "devices = NUMBER", "devices = concat"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let select = |device| TraceOptions { devices: DevicePolicy::Select(device), ..drive(100) };
    assert_eq!(places(&replay(rows, &select(9)).unwrap()), [(0, 1, 1)]);
    let error = replay(rows, &select(4)).unwrap_err();
    assert!(error.contains("device 4") && error.contains("7 (1 records)"), "{error}");
    let concat = TraceOptions { devices: DevicePolicy::Concat, ..drive(100) };
    let requests = replay(rows, &concat).unwrap();
    assert_eq!(places(&requests), [(0, 0, 8), (10, 2048, 2049), (20, 3 * 2048 + 1, 1)]);
    let error = replay(rows, &TraceOptions { devices: DevicePolicy::Concat, ..strict(3) }).unwrap_err();
    assert!(error.contains("concatenation of 3 devices ends at byte 4194304"), "{error}");
}

#[test]
fn addresses_beyond_the_drive_are_refused_before_anything_runs() {
    let rows = "0,0,W,0,4096,0\n10,0,W,1048576,4096,0\n";
    let error = replay(rows, &strict(1)).unwrap_err();
    for part in ["ends at byte 1052672", "the drive has 1048576", "modulo, compact or scale"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn modulo_splits_across_the_end() {
    let rows = "0,0,W,1044480,8192,0\n5,0,R,2097152,512,0\n";
    let requests = replay(rows, &TraceOptions { fit: Fit::Modulo, ..drive(1) }).unwrap();
    assert_eq!(places(&requests), [(0, 2040, 8), (0, 0, 8), (5, 0, 1)]);
}

/// Addresses were folded together, and no note said how many.
#[test]
fn modulo_tells_the_share_that_it_folds() {
    let rows = "0,0,W,0,4096,0\n1,0,W,4096,4096,0\n2,0,W,8192,4096,0\n3,0,W,2097152,4096,0\n";
    let file = file(rows);
    let options = TraceOptions { fit: Fit::Modulo, ..drive(1) };
    let mut workload = TraceWorkload::open(file.path().to_str().unwrap(), &options).unwrap();
    drain(&mut workload).unwrap();
    let notes = workload.notes();
    assert!(notes.iter().any(|note| note.starts_with("1 requests (25.0 % of all) lie beyond the drive")), "{notes:?}");
}

#[test]
fn compact_needs_only_the_touched_chunks() {
    let rows = "0,0,W,1099511627776,4096,0\n1,0,W,512,512,0\n2,0,T,0,2199023255552,0\n3,0,R,1099511627776,4096,0\n";
    let compact = |mib| TraceOptions { fit: Fit::Compact, ..drive(mib) };
    let requests = replay(rows, &compact(2)).unwrap();
    assert_eq!(places(&requests), [(0, 0, 8), (1, 2049, 1), (2, 2048, 2048), (2, 0, 2048), (3, 0, 8)]);
    let error = replay(rows, &compact(1)).unwrap_err();
    assert!(error.contains("at least 2 chunks of 1 MiB, and the drive holds 1"), "{error}");
}

#[test]
fn scale_uses_the_span_of_the_trace() {
    let rows = "0,0,W,0,4096,0\n1,0,W,8388608,4096,0\n2,0,W,16773120,4096,0\n";
    let requests = replay(rows, &TraceOptions { fit: Fit::Scale, ..drive(1) }).unwrap();
    assert_eq!(places(&requests), [(0, 0, 8), (1, 1024, 8), (2, 2040, 8)]);
    assert!(requests.iter().all(|request| request.end_sector() <= 2048));
}

#[test]
fn times_scale_and_impossible_factors_are_refused() {
    let rows = "0,0,W,0,4096,0\n1001,0,W,0,4096,0\n";
    let scaled = |time_scale| replay(rows, &TraceOptions { time_scale, ..drive(1) });
    assert_eq!(scaled(0.5).unwrap()[1].arrival, 501);
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(scaled(factor).unwrap_err().contains("time_scale"));
    }
}

#[test]
fn requests_are_limited_and_counted_down() {
    let rows = (0..10).map(|time| format!("{time},0,W,0,4096,0\n")).collect::<Vec<_>>().concat();
    let file = file(&rows);
    let options = TraceOptions { requests: Some(4), ..drive(1) };
    let mut workload = TraceWorkload::open(file.path().to_str().unwrap(), &options).unwrap();
    assert_eq!(workload.remaining(), Some(4));
    let mut batch = Vec::new();
    workload.next_batch(&mut batch, 3).unwrap();
    assert_eq!((batch.len(), workload.remaining()), (3, Some(1)));
    workload.next_batch(&mut batch, 3).unwrap();
    workload.next_batch(&mut batch, 3).unwrap();
    assert_eq!((batch.len(), workload.remaining()), (4, Some(0)));
}

#[test]
fn huge_requests_are_split_below_32_bits_of_sectors() {
    let rows = "0,0,T,0,4398046511104,0\n";
    let requests = replay(rows, &drive(8 << 20)).unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests.iter().map(|request| u64::from(request.sectors)).sum::<u64>(), 1 << 33);
    assert!(requests.windows(2).all(|pair| pair[0].end_sector() == pair[1].first_sector));
}

#[test]
fn a_stream_is_checked_as_it_comes() {
    let stream = |rows: &str, options: &TraceOptions| {
        let text = format!("time_ns,device,op,offset_bytes,length_bytes,fua\n{rows}");
        let mut workload =
            TraceWorkload::from_reader(Box::new(Cursor::new(text.into_bytes())), "standard input", options)
                .map_err(|error| error.to_string())?;
        drain(&mut workload)
    };
    let rows = "0,0,W,0,4096,0\n1,1,W,1048576,4096,0\n";
    assert_eq!(places(&stream("0,0,W,0,4096,0\n", &drive(1)).unwrap()), [(0, 0, 8)]);
    let error = stream(rows, &strict(1)).unwrap_err();
    assert!(error.contains("devices") && error.contains("request number 2"), "{error}");
    let error = stream(rows, &TraceOptions { devices: DevicePolicy::Select(1), ..strict(1) }).unwrap_err();
    assert!(error.contains("request number 2 in order") && error.contains("1052672"), "{error}");
    for options in
        [TraceOptions { devices: DevicePolicy::Concat, ..strict(1) }, TraceOptions { fit: Fit::Scale, ..drive(1) }]
    {
        assert!(stream(rows, &options).unwrap_err().contains("needs a first pass"));
    }
}

#[test]
fn an_empty_trace_is_refused() {
    let options = TraceOptions { format: Some("nandarium".to_owned()), ..drive(1) };
    let error = replay("", &options).unwrap_err();
    assert!(error.contains("holds no requests"), "{error}");
}

#[test]
fn what_is_left_out_or_changed_is_told() {
    // Chunks of 1 MiB in this order: 9, 3, 5; then a request across 3 and 4.
    let rows = "0,18432,512,w,0.0\n0,0,0,r,0.1\n0,6145,100,r,0.2\n0,10240,512,w,0.3\n0,8191,1024,w,0.4\n";
    let options =
        TraceOptions { format: Some("spc".to_owned()), fit: Fit::Compact, ..TraceOptions::new(8 * MIB / 512) };
    let reader = Box::new(Cursor::new(rows.as_bytes()));
    let mut workload = TraceWorkload::from_reader(reader, "t", &options).unwrap();
    workload.next_batch(&mut Vec::new(), 100).unwrap();
    let notes = workload.notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].starts_with("1 requests of size 0 were left out"), "{notes:?}");
    assert!(notes[1].starts_with("1 requests were widened to whole sectors"), "{notes:?}");
    assert!(notes[2].starts_with("1 requests were split into 2 to fit the drive (fit = compact)"), "{notes:?}");
}
