//! Summaries of traces.

use crate::support::{named, open_bytes};
use trace::formats::summarise;

#[test]
fn a_summary_counts_what_is_there() {
    let text = "time_ns,device,op,offset_bytes,length_bytes\n\
                0,0,W,0,4096\n10,0,W,4096,4096\n20,1,R,512,1024\n30,0,F,0,0\n40,1,T,0,1073741824\n50,1,R,1048064,1024\n";
    let mut records = open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap();
    let summary = summarise(&mut records).unwrap();
    assert_eq!((summary.records, summary.duration_ns), (6, 50));
    assert_eq!(summary.inter_arrival_ns_mean, Some(10.0));
    let ops: Vec<_> = summary.ops.iter().map(|op| (op.op, op.records, op.bytes)).collect();
    assert_eq!(ops, [("read", 2, 2048), ("write", 2, 8192), ("trim", 1, 1 << 30), ("flush", 1, 0)]);
    let devices: Vec<_> = summary.devices.iter().map(|device| (device.records, device.end_bytes)).collect();
    assert_eq!(devices, [(3, 8192), (3, 1 << 30)]);
    let sizes = summary.sizes.unwrap();
    assert_eq!(
        (sizes.bytes_min, sizes.bytes_p50, sizes.bytes_p90, sizes.bytes_max),
        (1024, 1024, 4096, 4096)
    );
    assert_eq!(summary.footprint_mib, 3);
    assert_eq!(summary.end_bytes_max, 1 << 30);
    assert!((summary.aligned_4k_share - 0.5).abs() < 1e-12);
    assert!((summary.sequential_share - 0.25).abs() < 1e-12);
}

#[test]
fn a_trace_without_data_has_no_sizes() {
    let text = "time_ns,device,op,offset_bytes,length_bytes\n0,0,F,0,0\n";
    let summary = summarise(&mut open_bytes(text.as_bytes(), "t", &named("nandarium")).unwrap()).unwrap();
    assert!(summary.sizes.is_none() && summary.inter_arrival_ns_mean.is_none());
}
