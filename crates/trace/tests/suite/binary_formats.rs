//! The binary formats on hand-made frames.

use crate::support::{detected, error, named, open_bytes, record, records, with_latency};
use units::HostOp::{Flush, Read, Write};

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
    assert_eq!(
        records("vscsi1", &bytes),
        [record(0, 0, Read, 63 * 512, 4096), record(2000, 0, Write, 512, 512)]
    );
    assert_eq!(detected(&bytes, "x"), Ok("vscsi1"));
    let bytes = [vscsi2(0x2a, 4096, 63, 10, 250), vscsi2(0x35, 0, 0, 12, 5)].concat();
    assert_eq!(
        records("vscsi2", &bytes),
        [
            with_latency(record(0, 0, Write, 63 * 512, 4096), 250_000),
            with_latency(record(2000, 0, Flush, 0, 0), 5000)
        ]
    );
    assert_eq!(detected(&bytes, "x"), Ok("vscsi2"));
    assert!(error("vscsi1", &bytes).contains("expected version 0x100"));
    let cut = error("vscsi2", &bytes[..70]);
    assert!(cut.contains("record 2") && cut.contains("cut short"), "{cut}");
}

fn srt(sectorsize: &str, records: &[[u32; 4]]) -> Vec<u8> {
    let mut bytes = format!("$$TR_IOREC-1.3 (test)\n\0\nversion = 1.3;\n{sectorsize}\n\x0c").into_bytes();
    for &[microseconds, device, sector, flags] in records {
        let words =
            [56, 4 << 16 | 1, 1, microseconds, 174, 19_687, 4096, sector, device << 8, 4, 1, flags, 0, 1];
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
    ] {
        let mut reader = open_bytes(&bytes, "x", &named(format)).unwrap();
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 2, "{format}");
        assert_eq!((reader.statistics().records, reader.statistics().dropped_zero), (2, 1), "{format}");
    }
}
