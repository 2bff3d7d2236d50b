//! Volumes that stand one after the other in a file are merged by time, however long they are.

use std::io::{Cursor, Write as _};

use crate::support::{named, open_bytes};
use proptest::prelude::*;
use tempfile::NamedTempFile;
use trace::Workload;
use trace::formats::{
    OpenOptions, Order, Survey, TraceOptions, TraceRecord, TraceWorkload, read_in_order, summarise, write_nandarium,
};
use units::HostOp;

/// Two volumes of `rows` requests over the same time, as `cat hm_0.csv usr_0.csv` puts them.
fn two_volumes(rows: u64) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let row = |host: &str, row: u64| {
        let time = 128_166_372_003_061_629 + row * 10_000;
        format!("{time},{host},0,Write,{},4096,100\n", row * 37 % 50_000 * 4096)
    };
    let text: String = ["a", "b"].iter().flat_map(|host| (0..rows).map(move |index| row(host, index))).collect();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The error advised the default, and the other choice put all of the second volume into one instant.
#[test]
fn two_volumes_longer_than_the_window_are_merged_by_time() {
    let file = two_volumes(70_000);
    let path = file.path().to_str().unwrap();
    let summary = read_in_order(path, &OpenOptions::default(), summarise).unwrap();
    assert_eq!((summary.records, summary.duration_ns), (140_000, 69_999_000_000));
    let devices: Vec<u64> = summary.devices.iter().map(|device| device.records).collect();
    assert_eq!(devices, [70_000, 70_000]);
    assert_eq!(summary.statistics.reordered, 69_999);
    assert_eq!(summary.peak_requests.unwrap().per_second, 2000);
    assert!(summary.notes[0].contains("All of the trace was sorted by time, and 69999 requests moved"));

    let options = TraceOptions { format: Some("msr".to_owned()), ..TraceOptions::new(1 << 22) };
    let survey = Survey::take(path, &options).unwrap();
    let mut workload = TraceWorkload::open_surveyed(path, &options, &survey).unwrap();
    let mut requests = Vec::new();
    workload.next_batch(&mut requests, usize::MAX).unwrap();
    assert_eq!((requests.len(), requests.last().unwrap().arrival), (140_000, 69_999_000_000));
    assert!(requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
    let notes = workload.notes();
    assert!(notes.iter().any(|note| note.contains("69999 requests moved")), "{notes:?}");
}

#[test]
fn short_volumes_are_sorted_within_the_window_as_before() {
    let file = two_volumes(1000);
    let summary = read_in_order(file.path().to_str().unwrap(), &OpenOptions::default(), summarise).unwrap();
    assert_eq!((summary.records, summary.statistics.reordered), (2000, 999));
    let note = "999 requests stood too late in the trace and were moved to their place in time (order = sort).";
    assert_eq!(summary.notes, [note]);
}

#[test]
fn what_can_be_read_once_is_told_the_order_that_works() {
    let text: String = (0..2).flat_map(|volume| (0..50).map(move |time| format!("{time} {volume} 8 8 1\n"))).collect();
    let options = |order| OpenOptions { order: Some(order), window_records: 10, ..named("ssdsim") };
    let read = |order| {
        let reader = open_bytes(text.as_bytes(), "standard input", &options(order)).unwrap();
        reader.map(|record| record.map_err(|error| error.to_string())).collect::<Result<Vec<_>, String>>()
    };
    let error = read(Order::Sort).unwrap_err();
    assert!(error.contains("line 51") && error.contains("order = whole"), "{error}");
    assert_eq!(read(Order::Whole).unwrap().len(), 100, "the advice works");
}

#[test]
fn an_error_in_a_trace_that_is_sorted_comes_after_all_good_records() {
    let text = b"5 0 8 8 1\n1 0 8 8 1\nx\n";
    let options = OpenOptions { order: Some(Order::Whole), ..crate::support::strict("ssdsim") };
    let found: Vec<_> = open_bytes(text, "t", &options).unwrap().collect();
    let times: Vec<_> = found.iter().map(|record| record.as_ref().ok().map(|record| record.time_ns)).collect();
    assert_eq!(times, [Some(0), Some(4), None]);
}

/// Records of some volumes, each in order of time, as a file that holds the volumes in pieces.
fn volumes() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(0..50_i64, 0..30), 1..5).prop_map(|mut volumes| {
        for times in &mut volumes {
            times.sort_unstable();
        }
        volumes
    })
}

fn record(time_ns: i64, device: usize, place: usize) -> TraceRecord {
    TraceRecord::new(time_ns, device as u32, HostOp::Write, place as u64 * 512, 512)
}

fn read_whole(records: &[TraceRecord]) -> Vec<TraceRecord> {
    let mut text = Vec::new();
    write_nandarium(records.iter().copied().map(Ok), &mut text, "out").unwrap();
    let options = OpenOptions { order: Some(Order::Whole), ..named("nandarium") };
    trace::formats::open_reader(Box::new(Cursor::new(text)), "x", &options).unwrap().map(Result::unwrap).collect()
}

fn sorted(records: &[TraceRecord]) -> Vec<TraceRecord> {
    let mut sorted = records.to_vec();
    sorted.sort_by_key(|record| record.time_ns);
    let origin = sorted.first().map_or(0, |record| record.time_ns);
    for record in &mut sorted {
        record.time_ns -= origin;
    }
    sorted
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn volumes_in_any_order_of_rows_are_sorted_as_a_whole(
        volumes in volumes(),
        turns in prop::collection::vec(0..5_usize, 0..150),
    ) {
        // One after the other.
        let of = |device: usize| {
            volumes[device].iter().enumerate().map(move |(place, time)| record(*time, device, place))
        };
        let joined: Vec<TraceRecord> = (0..volumes.len()).flat_map(of).collect();
        prop_assert_eq!(read_whole(&joined), sorted(&joined));
        // In turns, as `turns` has them, then what is left of each.
        let mut rest: Vec<_> = (0..volumes.len()).map(of).collect();
        let mut mixed = Vec::new();
        for turn in turns {
            let count = rest.len();
            mixed.extend(rest[turn % count].next());
        }
        mixed.extend(rest.into_iter().flatten());
        prop_assert_eq!(read_whole(&mixed), sorted(&mixed));
    }
}
