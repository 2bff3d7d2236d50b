//! Properties: conversion loses nothing, readers never panic, fitted requests stay on the drive.

use std::io::Cursor;

use crate::support::{named, open_bytes, records};
use proptest::prelude::*;
use trace::Workload;
use trace::formats::{
    DevicePolicy, FORMATS, Fit, OpenOptions, Order, TraceOptions, TraceRecord, TraceWorkload, summarise,
    write_nandarium,
};
use units::HostOp;

fn any_record() -> impl Strategy<Value = TraceRecord> {
    (0..1_i64 << 40, any::<u32>(), 0..4_usize, 0..1_u64 << 62, 1..1_u64 << 62, any::<Option<u64>>(), any::<bool>())
        .prop_map(|(time_ns, device, op, offset, length, latency_ns, fua)| {
            let op = HostOp::ALL[op];
            let (offset_bytes, length_bytes) = if op == HostOp::Flush { (0, 0) } else { (offset, length) };
            TraceRecord { time_ns, device, offset_bytes, length_bytes, op, latency_ns, fua }
        })
}

fn any_trace() -> impl Strategy<Value = Vec<TraceRecord>> {
    prop::collection::vec(any_record(), 0..50).prop_map(|mut records| {
        records.sort_by_key(|record| record.time_ns);
        let origin = records.first().map_or(0, |record| record.time_ns);
        for record in &mut records {
            record.time_ns -= origin;
        }
        records
    })
}

fn written(records: &[TraceRecord]) -> Vec<u8> {
    let mut out = Vec::new();
    write_nandarium(records.iter().copied().map(Ok), &mut out, "out").unwrap();
    out
}

/// Bytes that look like traces often enough to get past the first field.
fn trace_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "0",
            "1",
            "8",
            "512",
            "4096",
            "18446744073709551615",
            "0.5",
            "1e9",
            "R",
            "W",
            "Read",
            "read",
            "Q",
            "D",
            "FWFS",
            ",",
            " ",
            "\t",
            ";",
            "\n",
            "\n",
            "\r\n",
            "8,0",
            "+",
            "[x]",
            "0x10",
            "fio version 2 iolog\n",
            "fio version 3 iolog\n",
            "a",
            "wait",
            "IO Type;Init Time (s);IO Time;Size;Min Offset;Max Offset;Disk\n",
            "TIME COMM PID DISK T SECTOR BYTES LAT\n",
            "time_ns,device,op,offset_bytes,length_bytes\n",
            ": nvme_setup_cmd: ",
            "cmd=(",
            "nvme_cmd_read",
            "slba=1",
            "len=1",
            "$$TR_IOREC",
            "\u{c}",
            "12:30:00",
            "2007-02-22 17:00:00",
            "time,obj_id,obj_size,op\n",
            "a-1 [000] .... 1.5: block_rq_issue: 8,0 R 4096 () 8 + 8",
            "a-1 [000] .... 1.5: block_bio_queue: 8,0 ",
            "\u{7}tae",
            "eat\u{7}",
            "BeginHeader\nDiskRead,TimeStamp,Process Name ( PID),ByteOffset,IOSize,ElapsedTime,DiskNum\nEndHeader\n",
            "DiskRead,9,a (1),",
            "a-1 [000] .... 1.5: ufshcd_command: send_req: u: tag: 1, size: 4096, LBA: 1, opcode: 0x28",
            "a-1 [000] .... 1.5: scsi_dispatch_cmd_start: lun=0 driver_tag=1 cmnd=(WRITE_10 lba=1 txlen=1",
            "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n",
            "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n",
            "1,Write,4097,Tier-2,a,",
            "Evict",
            "ZA",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn convert_and_read_back_is_identity(trace in any_trace()) {
        prop_assert_eq!(records("nandarium", written(&trace)), trace);
    }

    #[test]
    fn readers_never_panic(bytes in prop_oneof![trace_like(), prop::collection::vec(any::<u8>(), 0..300)]) {
        for format in FORMATS {
            for order in [Order::Error, Order::Clamp, Order::Sort] {
                let options = OpenOptions { order: Some(order), window_records: 3, ..named(format.name) };
                let Ok(mut reader) = open_bytes(&bytes, "x", &options) else { continue };
                let mut last = 0;
                for record in reader.by_ref().flatten() {
                    prop_assert!(record.time_ns >= last);
                    last = record.time_ns;
                }
            }
        }
        if let Ok(mut reader) = open_bytes(&bytes, "x", &OpenOptions::default()) {
            let _ = summarise(&mut reader);
        }
    }

    #[test]
    fn fitted_requests_stay_on_the_drive(
        trace in any_trace(),
        fit in prop::sample::select(vec![Fit::Error, Fit::Modulo, Fit::Compact]),
        capacity_sectors in 1..1_u64 << 24,
    ) {
        let options = TraceOptions {
            devices: trace.first().map_or(DevicePolicy::Error, |record| DevicePolicy::Select(record.device)),
            fit,
            ..TraceOptions::new(capacity_sectors)
        };
        let reader = Box::new(Cursor::new(written(&trace)));
        let mut workload = TraceWorkload::from_reader(reader, "x.nandarium", &TraceOptions {
            format: Some("nandarium".to_owned()), ..options
        }).unwrap();
        let mut requests = Vec::new();
        let _ = workload.next_batch(&mut requests, 10_000);
        for request in &requests {
            prop_assert!(request.end_sector() <= capacity_sectors);
            prop_assert_eq!(request.sectors == 0, request.op == HostOp::Flush);
        }
        prop_assert!(requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
    }
}
