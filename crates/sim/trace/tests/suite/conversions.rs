//! `trace convert` keeps every figure of every format.

use crate::samples::all;
use crate::support::{named, open_bytes};
use trace::formats::{TraceSummary, summarise, write_nandarium};

fn summary(format: &str, bytes: &[u8]) -> TraceSummary {
    let mut records = open_bytes(bytes, "sample", &named(format)).unwrap_or_else(|error| panic!("{format}: {error}"));
    summarise(&mut records).unwrap_or_else(|error| panic!("{format}: {error}"))
}

fn converted(format: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_nandarium(open_bytes(bytes, "sample", &named(format)).unwrap(), &mut out, "out").unwrap();
    out
}

#[test]
fn a_converted_trace_has_the_figures_of_the_trace() {
    for (format, bytes) in all() {
        let before = summary(format, &bytes);
        assert!(before.records >= 8, "{format}: {before:?}");
        let after = summary("nandarium", &converted(format, &bytes));
        let ops = |summary: &TraceSummary| -> Vec<_> {
            let latency =
                |op: &trace::formats::OpSummary| op.recorded_latency_ns.map(|latency| (latency.count, latency.max));
            summary.ops.iter().map(|op| (op.op, op.records, op.bytes, latency(op))).collect()
        };
        assert_eq!(ops(&before), ops(&after), "{format}");
        let figures = |summary: &TraceSummary| {
            (summary.records, summary.duration_ns, summary.footprint_mib, summary.end_bytes_max, summary.rewrite_share)
        };
        assert_eq!(figures(&before), figures(&after), "{format}");
        // The number stays, and what the file called the device is not part of the form.
        let devices = |summary: &TraceSummary| -> Vec<_> {
            let number = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
            let devices = summary.devices.iter();
            devices.map(|each| (number(&each.device), each.records, each.start_bytes, each.end_bytes)).collect()
        };
        assert_eq!(devices(&before), devices(&after), "{format}");
    }
}
