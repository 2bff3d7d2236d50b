//! Summaries of traces.

use crate::support::{named, open_bytes};
use trace::Workload;
use trace::formats::{DevicePolicy, GapSummary, PeakSummary, TraceOptions, TraceWorkload, summarise};

#[test]
fn a_summary_counts_what_is_there() {
    let text = "time_ns,device,op,offset_bytes,length_bytes\n\
                0,0,W,0,4096\n10,0,W,4096,4096\n20,1,R,512,1024\n\
                30,0,F,0,0\n40,1,T,0,1073741824\n50,1,R,1048064,1024\n";
    let mut records = open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap();
    let summary = summarise(&mut records).unwrap();
    assert_eq!((summary.records, summary.duration_ns), (6, 50));
    assert_eq!(summary.inter_arrival_ns_mean, Some(10.0));
    let ops: Vec<_> = summary.ops.iter().map(|op| (op.op, op.records, op.bytes)).collect();
    assert_eq!(ops, [("read", 2, 2048), ("write", 2, 8192), ("trim", 1, 1 << 30), ("flush", 1, 0)]);
    let devices: Vec<_> = summary.devices.iter().map(|device| (device.records, device.end_bytes)).collect();
    assert_eq!(devices, [(3, 8192), (3, 1 << 30)]);
    let sizes = summary.sizes.unwrap();
    assert_eq!((sizes.bytes_min, sizes.bytes_p50, sizes.bytes_p90, sizes.bytes_max), (1024, 1024, 4096, 4096));
    assert_eq!(summary.footprint_mib, 3);
    assert_eq!(summary.end_bytes_max, 1 << 30);
    assert!((summary.aligned_4k_share.unwrap() - 0.5).abs() < 1e-12);
    assert!((summary.sequential_share.unwrap() - 0.25).abs() < 1e-12);
}

#[test]
fn a_trace_without_data_has_no_sizes() {
    let text = "time_ns,device,op,offset_bytes,length_bytes\n0,0,F,0,0\n";
    let summary = summarise(&mut open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap()).unwrap();
    assert!(summary.sizes.is_none() && summary.inter_arrival_ns_mean.is_none());
}

#[test]
fn peaks_pauses_rewrites_and_recorded_latencies_are_told() {
    let text = "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns\n\
                0,0,W,0,4096,0,100\n999999999,0,W,0,4096,0,300\n1500000000,0,R,0,65536,0,\n\
                1600000000,0,F,0,0,0,7\n1700000000,1,W,0,8192,0,200\n70000000000,0,T,0,1048576,0,\n";
    let summary = summarise(&mut open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap()).unwrap();
    let peak = |per_second, at_ns| Some(PeakSummary { per_second, at_ns });
    assert_eq!(summary.peak_requests, peak(3, 1_000_000_000));
    assert_eq!(summary.peak_bytes, peak(65_536 + 8192, 1_000_000_000));
    assert_eq!(summary.longest_gap, Some(GapSummary { gap_ns: 68_300_000_000, at_ns: 1_700_000_000, after_record: 5 }));
    assert_eq!((summary.gaps_over_minute, summary.rewrite_share), (1, Some(0.25)));
    let [read, write, trim, flush] = summary.ops.as_slice() else { panic!("four operations") };
    let write = write.recorded_latency_ns.unwrap();
    assert_eq!((write.count, write.max, write.p50), (3, 300, None));
    assert!((write.mean - 200.0).abs() < 1e-9);
    assert_eq!(flush.recorded_latency_ns.map(|latency| latency.count), Some(1));
    assert!(read.recorded_latency_ns.is_none() && trim.recorded_latency_ns.is_none());
}

#[test]
fn recorded_percentiles_are_told_where_ten_requests_lie_beyond_them() {
    let mut text = "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns\n".to_owned();
    text += &"0,0,W,0,4096,0,200\n".repeat(95);
    text += &"1,0,W,0,4096,0,300\n".repeat(5);
    let summary = summarise(&mut open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap()).unwrap();
    let write = summary.ops[1].recorded_latency_ns.unwrap();
    assert_eq!(
        (write.p50.map(|ns| ns / 4), write.p90.map(|ns| ns / 4), write.p99, write.max),
        (Some(50), Some(50), None, 300)
    );
}

#[test]
fn a_trace_without_times_has_no_peaks_and_no_pauses() {
    let summary = summarise(&mut open_bytes(b"100 2 0 1\n7 1 0 2\n", "t", &named("arc")).unwrap()).unwrap();
    assert_eq!((summary.peak_requests, summary.peak_bytes, summary.longest_gap), (None, None, None));
    assert!(summary.rewrite_share.is_none() && summary.ops.iter().all(|op| op.recorded_latency_ns.is_none()));
}

#[test]
fn a_replay_tells_the_recorded_latencies_of_what_it_replayed() {
    let text = "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns\n\
                0,0,W,0,4096,0,1000\n5,1,W,0,4096,0,9000\n9,0,R,0,4096,0,\n";
    let options = TraceOptions { devices: DevicePolicy::Select(0), ..TraceOptions::new(1 << 20) };
    let mut workload = TraceWorkload::from_reader(Box::new(text.as_bytes()), "t", &options).unwrap();
    assert!(workload.recorded_latency().is_none());
    workload.next_batch(&mut Vec::new(), 10).unwrap();
    let recorded = workload.recorded_latency().unwrap();
    assert_eq!(recorded.write.map(|write| (write.count, write.max)), Some((1, 1000)));
    assert!(recorded.read.is_none());
}
