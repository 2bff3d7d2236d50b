//! The binary formats on hand-made frames.

use crate::support::{detected, error, named, open_bytes, record, records, with_latency};
use trace::formats::TraceRecord;
use units::HostOp::{Flush, Read, Trim, Write};

fn vscsi1(command: u16, length: u32, block: u64, time_us: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    for word in [1_u32, length, 1] {
        frame.extend(word.to_le_bytes());
    }
    frame.extend(command.to_le_bytes());
    frame.extend(0x100_u16.to_le_bytes());
    frame.extend(block.to_le_bytes());
    frame.extend(time_us.to_le_bytes());
    frame
}

fn vscsi2(command: u16, length: u32, block: u64, time_us: u64, response_us: u64) -> Vec<u8> {
    let mut frame = command.to_le_bytes().to_vec();
    frame.extend(0x200_u16.to_le_bytes());
    for word in [1_u32, length, 1] {
        frame.extend(word.to_le_bytes());
    }
    for word in [block, time_us, response_us] {
        frame.extend(word.to_le_bytes());
    }
    frame
}

#[test]
fn vscsi_blocks_are_sectors_and_lengths_bytes() {
    let bytes = [vscsi1(0x28, 4096, 63, 10), vscsi1(0x12, 36, 0, 11), vscsi1(0x8a, 512, 1, 12)].concat();
    assert_eq!(records("vscsi1", &bytes), [record(0, 0, Read, 63 * 512, 4096), record(2000, 0, Write, 512, 512)]);
    assert_eq!(detected(&bytes, "x"), Ok("vscsi1"));
    let bytes = [vscsi2(0x2a, 4096, 63, 10, 250), vscsi2(0x35, 0, 0, 12, 5)].concat();
    assert_eq!(
        records("vscsi2", &bytes),
        [with_latency(record(0, 0, Write, 63 * 512, 4096), 250_000), with_latency(record(2000, 0, Flush, 0, 0), 5000)]
    );
    assert_eq!(detected(&bytes, "x"), Ok("vscsi2"));
    assert!(error("vscsi1", &bytes).contains("expected version 0x100"));
    let cut = error("vscsi2", &bytes[..70]);
    assert!(cut.contains("record 2") && cut.contains("cut short"), "{cut}");
}

fn srt(sectorsize: &str, records: &[[u32; 4]]) -> Vec<u8> {
    let mut bytes = format!("$$TR_IOREC-1.3 (test)\n\0\nversion = 1.3;\n{sectorsize}\n\x0c").into_bytes();
    for &[microseconds, device, sector, flags] in records {
        let words = [56, 4 << 16 | 1, 1, microseconds, 174, 19_687, 4096, sector, device << 8, 4, 1, flags, 0, 1];
        bytes.extend(words.iter().flat_map(|word: &u32| word.to_be_bytes()));
    }
    bytes
}

#[test]
fn srt_takes_the_sector_size_of_the_header() {
    let rows = [[0, 1, 1056, 1], [7, 0, 8, 0]];
    let expected = |sector: u64| {
        [
            with_latency(record(0, 1, Read, 1056 * sector, 4096), 19_687_000),
            with_latency(record(7000, 0, Write, 8 * sector, 4096), 19_687_000),
        ]
    };
    assert_eq!(records("hp-srt", srt("sectorsize  = 256,", &rows)), expected(256));
    assert_eq!(records("hp-srt", srt("", &rows)), expected(512));
    assert_eq!(detected(srt("", &rows), "x"), Ok("hp-srt"));
    let mixed = error("hp-srt", srt("sectorsize = 256, sectorsize = 512", &rows));
    assert!(mixed.contains("one sector size"), "{mixed}");
}

#[test]
fn a_cut_srt_record_is_an_error() {
    let bytes = srt("", &[[0, 0, 8, 0]]);
    assert!(error("hp-srt", &bytes[..bytes.len() - 3]).contains("cut short"));
    assert!(error("hp-srt", "something else entirely").contains("$$TR_IOREC"));
}

/// A transfer of nothing is legal in SCSI, and no reason to refuse a week of others.
#[test]
fn binary_records_of_size_zero_are_left_out_and_counted() {
    let mut empty = srt("", &[[7, 1, 8, 1]]);
    let words = empty.len() - 56;
    empty[words + 24..words + 28].copy_from_slice(&[0; 4]);
    for (format, bytes) in [
        ("vscsi1", [vscsi1(0x28, 4096, 63, 10), vscsi1(0x28, 0, 63, 11), vscsi1(0x28, 4096, 63, 12)].concat()),
        ("vscsi2", [vscsi2(0x28, 4096, 63, 10, 1), vscsi2(0x28, 0, 63, 11, 1), vscsi2(0x28, 4096, 63, 12, 1)].concat()),
        ("hp-srt", [srt("", &[[0, 1, 8, 1], [5, 1, 8, 1]]), empty[words..].to_vec()].concat()),
        ("oracle-general", [oracle(5, 8, 512), oracle(5, 8, 0), oracle(6, 8, 512)].concat()),
        (
            "blktrace",
            [event(7, 1, TC_READ, 8, 512), event(7, 1, TC_WRITE, 8, 0), event(7, 1, TC_READ, 8, 512)].concat(),
        ),
    ] {
        let mut reader = open_bytes(&bytes, "x", &named(format)).unwrap();
        assert_eq!(reader.by_ref().flatten().count(), 2, "{format}");
        assert_eq!((reader.statistics().records, reader.statistics().dropped_zero), (2, 1), "{format}");
    }
}

const TC_READ: u64 = 1 << 16;
const TC_WRITE: u64 = 1 << 17;
const TC_FLUSH: u64 = 1 << 18;
const TC_PASSTHROUGH: u64 = 1 << 25;
const TC_NOTIFY: u64 = 1 << 26;
const TC_DISCARD: u64 = 1 << 29;
const TC_FUA: u64 = 1 << 31;
/// Queued, issued, completed.
const STEPS: [u64; 3] = [1, 7, 8];

/// A record of blktrace as its numbers, lowest byte first or last, and a pdu of `pdu` bytes. The time
/// is the sector, in microseconds.
fn blktrace(version: u64, action: u64, sector: u64, bytes: u64, pdu: u64, big_endian: bool) -> Vec<u8> {
    let (device, cpu, pid) = (8 << 20 | 1, 3, 697);
    let head = [(4, 0x6561_7400 | version), (4, 1), (8, sector * 1000), (8, sector), (4, bytes)];
    let middle = if version == 7 { [(4, action), (4, pid)] } else { [(4, pid), (8, action)] };
    let numbers = [&head[..], &middle, &[(4, device), (4, cpu), (2, 0), (2, pdu)]].concat();
    let mut record: Vec<u8> = Vec::new();
    for (width, number) in numbers {
        let bytes: [u8; 8] = u64::to_le_bytes(number);
        let mut bytes = bytes[..width].to_vec();
        if big_endian {
            bytes.reverse();
        }
        record.extend(bytes);
    }
    let padding = if version == 7 { 0 } else { 12 };
    record.extend(vec![0; padding + pdu as usize]);
    record
}

fn event(version: u64, step: u64, kind: u64, sector: u64, bytes: u64) -> Vec<u8> {
    blktrace(version, step | kind | 1 << 20, sector, bytes, 0, false)
}

#[test]
fn blktrace_takes_one_action_of_any_version_and_byte_order() {
    let device = 8 << 20 | 1;
    let mut fua = record(3000, device, Write, 5 * 512, 4096);
    fua.fua = true;
    let queued: [TraceRecord; 6] = [
        record(0, device, Write, 1024, 4096),
        record(1000, device, Read, 3 * 512, 512),
        record(2000, device, Trim, 4 * 512, 1 << 20),
        record(3000, device, Flush, 0, 0),
        fua,
        record(4000, device, Flush, 0, 0),
    ];
    for (version, big_endian) in [(7, false), (7, true), (8, false), (8, true)] {
        let row = |action, sector, bytes, pdu| blktrace(version, action, sector, bytes, pdu, big_endian);
        let bytes = [
            row(TC_NOTIFY, 1, 0, 16),
            row(1 | TC_WRITE, 2, 4096, 0),
            row(1 | 1 << 8 | TC_READ, 3, 512, 8),
            row(3 | TC_READ, 3, 512, 0),
            row(1 | TC_WRITE | TC_DISCARD, 4, 1 << 20, 0),
            row(1 | TC_READ | TC_PASSTHROUGH, 4, 36, 6),
            row(1 | TC_WRITE | TC_FLUSH | TC_FUA, 5, 4096, 0),
            row(1 | TC_READ | TC_FLUSH, 6, 0, 0),
            row(7 | TC_WRITE, 7, 8192, 0),
            row(8 | TC_WRITE, 8, 8192, 0),
        ]
        .concat();
        assert_eq!(records("blktrace", &bytes), queued, "version {version}, big-endian {big_endian}");
        let merged = [record(0, device, Write, 7 * 512, 8192)];
        assert_eq!(records("blktrace-issue", &bytes), merged);
        assert_eq!(records("blktrace-complete", &bytes), [record(0, device, Write, 8 * 512, 8192)]);
        assert_eq!(detected(&bytes, "sda.blktrace.0"), Ok("blktrace"));
        let mut reader = open_bytes(&bytes, "x", &named("blktrace")).unwrap();
        assert_eq!((reader.by_ref().count(), reader.statistics().dropped_other), (6, 5));
        assert_eq!(reader.device_name(device), format!("{device} = 8,1"));
        let cut = error("blktrace", &bytes[..bytes.len() - 1]);
        assert!(cut.contains("record 10") && cut.contains("cut short"), "{cut}");
    }
    let error = error("blktrace", blktrace(6, 1, 1, 512, 0, false));
    assert!(error.contains("found \"0x65617406\", expected 0x65617407"), "{error}");
}

#[test]
fn blktrace_records_that_come_late_are_read_or_refused_as_blkparse_rows() {
    let many =
        |step: u64, count: u64| (0..count).flat_map(|row| event(7, step, TC_WRITE, row, 512)).collect::<Vec<_>>();
    let [queued, issued, completed] = STEPS;
    assert_eq!(detected(many(issued, 10), "x"), Ok("blktrace-issue"));
    assert_eq!(detected(many(completed, 10), "x"), Ok("blktrace-complete"));
    assert_eq!(detected([many(completed, 3000), many(issued, 1)].concat(), "x"), Ok("blktrace-issue"));
    assert_eq!(detected([many(issued, 3000), many(queued, 1)].concat(), "x"), Ok("blktrace"));
    let late = [many(issued, 90_000), many(queued, 1)].concat();
    let reader = open_bytes(&late, "x", &trace::formats::OpenOptions::default()).unwrap();
    let error = reader.last().unwrap().unwrap_err().to_string();
    assert!(error.contains("record 90001") && error.contains("--format blktrace reads action Q"), "{error}");
}

fn oracle(time: u32, object: u64, size: u32) -> Vec<u8> {
    [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &(-1_i64).to_le_bytes()].concat()
}

#[test]
fn oracle_general_objects_have_two_units_and_only_the_name_brings_them_in() {
    let bytes = [oracle(5, 42_932_745, 512), oracle(7, 8, 4096)].concat();
    let of = |unit: u64| [record(0, 0, Read, 42_932_745 * unit, 512), record(2_000_000_000, 0, Read, 8 * unit, 4096)];
    assert_eq!(records("oracle-general", &bytes), of(512));
    assert_eq!(records("oracle-general-bytes", &bytes), of(1));
    assert!(detected(&bytes, "x.bin").unwrap_err().contains("no trace format fits"));
    for name in ["w92.oracleGeneral.bin", "hm_0.oracleGeneral.zst", "a.oracleGeneral"] {
        let error = detected(&bytes, name).unwrap_err();
        let sectors = "--format oracle-general (time in whole s, address in objects as 512-byte sectors";
        assert!(error.contains(sectors) && error.contains("or --format oracle-general-bytes"), "{error}");
    }
    let hash = error("oracle-general", oracle(5, u64::MAX, 512));
    assert!(hash.contains("an object that is a hash is none"), "{hash}");
}
