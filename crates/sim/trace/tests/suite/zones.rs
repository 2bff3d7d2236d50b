//! Commands to zones of zoned drives: appends are writes, resets with a length are trims, the rest is named.

use crate::support::{named, open_bytes, record, records};
use trace::Workload;
use trace::formats::{TraceOptions, TraceRecord, TraceWorkload};
use units::HostOp::{Flush, Trim, Write};

const DEVICE: u32 = 259 << 20;

fn row(letter: char, letters: &str, place: &str, number: u32) -> String {
    format!("259,0 1 {number} 0.{number:03} 4100 {letter} {letters} {place} [fio]\n")
}

fn of(number: i64, op: units::HostOp, sector: u64, sectors: u64) -> TraceRecord {
    record((number - 1) * 1_000_000, DEVICE, op, sector * 512, sectors * 512)
}

/// Everything read, what was left out, and the notes about it.
fn read(format: &str, bytes: &[u8]) -> (Vec<TraceRecord>, u64, String) {
    let mut reader = open_bytes(bytes, "x", &named(format)).unwrap();
    let found = reader.by_ref().map(Result::unwrap).collect();
    (found, reader.statistics().dropped_other, reader.notes().join(" "))
}

/// File systems for zoned drives append, and most of their writes were among "38 others".
#[test]
fn zone_appends_are_writes_and_what_is_left_out_is_named() {
    let text = [
        row('Q', "ZAS", "1000 + 8", 1),
        row('Q', "ZRS", "2048 + 1024", 2),
        row('Q', "WS", "1016 + 8", 3),
        row('Q', "ZFS", "1024 + 8", 4),
        row('Q', "ZAS", "1000 + 16", 5),
        row('Q', "ZRS", "1000 + 0", 6),
        row('Q', "FZAFS", "1000 + 8", 7),
        row('Q', "ZR", "", 8),
        row('Q', "ZRA", "0 + 0", 9),
        row('Q', "ZO", "1000 + 0", 10),
    ]
    .concat();
    let mut fua = of(7, Write, 1000, 8);
    fua.fua = true;
    let expected = [
        of(1, Write, 1000, 8),
        of(2, Trim, 2048, 1024),
        of(3, Write, 1016, 8),
        of(5, Write, 1008, 16),
        record(6_000_000, DEVICE, Flush, 0, 0),
        fua,
    ];
    let (found, left_out, notes) = read("blkparse", text.as_bytes());
    assert_eq!(found, expected, "the second append lies behind the first, and the third begins the zone anew");
    assert_eq!(left_out, 5);
    let note = "The rows that were left out include zone finishes (1), zone resets without a length (2), resets of all \
                zones (1), zone opens (1).";
    assert_eq!(notes, note);
}

#[test]
fn a_replay_names_the_commands_to_zones_that_it_leaves_out() {
    let text = row('Q', "ZA", "0 + 8", 1) + &row('Q', "ZF", "0 + 0", 2);
    let options = TraceOptions { format: Some("blkparse".to_owned()), ..TraceOptions::new(1 << 20) };
    let mut workload = TraceWorkload::from_reader(Box::new(std::io::Cursor::new(text)), "x", &options).unwrap();
    let mut requests = Vec::new();
    workload.next_batch(&mut requests, 10).unwrap();
    assert_eq!((requests.len(), requests[0].op, requests[0].sectors), (1, Write, 8));
    assert!(workload.notes().iter().any(|note| note.contains("zone finishes (1)")), "{:?}", workload.notes());
}

/// A completion names the place that the drive chose.
#[test]
fn completed_appends_lie_where_they_say() {
    let text = row('C', "ZAS", "1000 + 8", 1) + &row('C', "ZAS", "1000 + 8", 2);
    assert_eq!(records("blkparse-complete", text), [of(1, Write, 1000, 8), of(2, Write, 1000, 8)]);
}

#[test]
fn appends_in_ftrace_of_the_block_layer_and_of_nvme_are_writes() {
    let issue = |letters: &str, time: u32| {
        format!(
            "   fio-4101  [000] ..... 5.00{time}: block_rq_issue: 259,0 {letters} 4096 () 524288 + 8 be,0,4 [fio]\n"
        )
    };
    let text = issue("WS", 1) + &issue("ZAS", 2) + &issue("ZAS", 3) + &issue("ZO", 4);
    let expected = [of(1, Write, 524_288, 8), of(2, Write, 524_288, 8), of(3, Write, 524_296, 8)];
    assert_eq!(records("block-ftrace-issue", &text), expected);
    let nvme = |command: &str, time: u32| {
        format!("a-1 [000] ..... 5.00{time}: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, nsid=1, cmd=({command})\n")
    };
    let append = "nvme_cmd_zone_append slba=1024, len=7, ctrl=0x4000, dsmgmt=0, reftag=0";
    let text = [
        nvme(append, 1),
        nvme(append, 2),
        nvme("nvme_cmd_zone_mgmt_send slba=1024, zsa=2, all=0", 3),
        nvme("nvme_cmd_zone_mgmt_send slba=1024, zsa=4:reset zone, all=0", 4),
        nvme(append, 5),
        nvme("0x7d cdw10=00 04 00 00 00 00 00 00 07 00 00 40", 6),
    ]
    .concat();
    let of = |time: i64, block: u64| {
        let mut fua = record(time * 1_000_000, 0, Write, block * 512, 4096);
        fua.fua = true;
        fua
    };
    let (found, left_out, notes) = read("nvme-ftrace", text.as_bytes());
    assert_eq!(found, [of(0, 1024), of(1, 1032), of(4, 1024)]);
    assert_eq!(left_out, 3);
    for part in ["zone finishes (1), zone resets without a length (1)", "that the trace has as bytes (1)"] {
        assert!(notes.contains(part), "{part} in {notes}");
    }
}

#[test]
fn binary_blktrace_has_commands_to_zones_in_version_8() {
    const WRITE: u64 = 1 << 17;
    let event = |time: u64, zone: u32, sector: u64, bytes: u32| {
        let mut record = Vec::new();
        for number in [0x6561_7408, 1_u32] {
            record.extend(number.to_le_bytes());
        }
        for number in [time * 1_000_000, sector] {
            record.extend(number.to_le_bytes());
        }
        record.extend(bytes.to_le_bytes());
        record.extend(7_u32.to_le_bytes());
        record.extend((1 | WRITE | 1_u64 << zone).to_le_bytes());
        record.extend(DEVICE.to_le_bytes());
        record.extend([0; 20]);
        record
    };
    // An append, another one, a reset, a reset with a length, a finish, and one that is not known.
    let zones =
        [(1, 32, 64, 4096), (2, 32, 64, 4096), (3, 33, 64, 0), (4, 33, 128, 65_536), (5, 35, 64, 0), (6, 40, 64, 0)];
    let bytes: Vec<u8> =
        zones.iter().flat_map(|(time, zone, sector, bytes)| event(*time, *zone, *sector, *bytes)).collect();
    let (found, left_out, notes) = read("blktrace", &bytes);
    assert_eq!(found, [of(1, Write, 64, 8), of(2, Write, 72, 8), of(4, Trim, 128, 128)]);
    assert_eq!(left_out, 3);
    assert!(notes.contains("zone resets without a length (1), zone finishes (1)"), "{notes}");
}
