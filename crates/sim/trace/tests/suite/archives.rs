//! Compression is seen through, and cut archives are named.

use std::io::{Read, Write};

use crate::support::open_bytes;
use trace::formats::OpenOptions;

fn text() -> String {
    let row = |row: u64| format!("{} {} {} 8 {}\n", row * 997, row % 3, row * row % 99_991, row % 2);
    (0..20_000).map(row).collect::<Vec<_>>().concat()
}

fn packed() -> Vec<(&'static str, Vec<u8>)> {
    let text = text();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut bzip2 = Vec::new();
    bzip2::read::BzEncoder::new(text.as_bytes(), bzip2::Compression::fast()).read_to_end(&mut bzip2).unwrap();
    let mut xz = Vec::new();
    liblzma::read::XzEncoder::new(text.as_bytes(), 1).read_to_end(&mut xz).unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    vec![("gzip", gzip.finish().unwrap()), ("bzip2", bzip2), ("xz", xz), ("zstd", zstd)]
}

#[test]
fn all_four_are_seen_through_whatever_the_name() {
    for (kind, bytes) in packed() {
        let reader = open_bytes(&bytes, "x.ssdsim.zip", &crate::support::named("ssdsim")).unwrap();
        assert_eq!(reader.map(Result::unwrap).count(), 20_000, "{kind}");
        let reader = open_bytes(&bytes, "x.ssdsim.gz", &OpenOptions::default()).unwrap();
        assert_eq!(reader.format().name, "ssdsim", "{kind}");
    }
}

#[test]
fn several_members_in_one_file_are_one_trace() {
    for (kind, bytes) in packed() {
        let second = b"20000000000 0 8 8 1\n";
        let mut joined = bytes.clone();
        match kind {
            "gzip" => {
                let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                member.write_all(second).unwrap();
                joined.extend(member.finish().unwrap());
            }
            "zstd" => joined.extend(zstd::encode_all(&second[..], 1).unwrap()),
            "xz" => {
                liblzma::read::XzEncoder::new(&second[..], 1).read_to_end(&mut joined).unwrap();
            }
            _ => {
                bzip2::read::BzEncoder::new(&second[..], bzip2::Compression::fast()).read_to_end(&mut joined).unwrap();
            }
        }
        let reader = open_bytes(&joined, "x.ssdsim", &crate::support::named("ssdsim")).unwrap();
        assert_eq!(reader.map(Result::unwrap).count(), 20_001, "{kind}");
    }
}

#[test]
fn cut_archives_say_what_is_wrong() {
    for (kind, bytes) in packed() {
        for length in [bytes.len() / 2, bytes.len() - 3] {
            let error = match open_bytes(&bytes[..length], "cut.ssdsim", &crate::support::named("ssdsim")) {
                Err(error) => error,
                Ok(mut reader) => reader.find_map(Result::err).expect("the cut is noticed"),
            };
            let text = error.to_string();
            for part in ["cut.ssdsim", kind, "cut short"] {
                assert!(text.contains(part), "{kind} at {length}: {text}");
            }
        }
    }
}

#[test]
fn damaged_archives_are_errors() {
    for (kind, mut bytes) in packed() {
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 64] {
            *byte = !*byte;
        }
        let failed = match open_bytes(&bytes, "x", &crate::support::named("ssdsim")) {
            Err(_) => true,
            Ok(mut reader) => reader.any(|record| record.is_err()),
        };
        assert!(failed, "{kind}");
    }
}

#[test]
fn what_follows_a_gzip_file_is_named() {
    let (_, whole) = packed().swap_remove(0);
    for trailing in [&b"x"[..], b"not compressed at all", &[0; 512]] {
        let bytes = [whole.as_slice(), trailing].concat();
        let error = match open_bytes(&bytes, "x.gz", &crate::support::named("ssdsim")) {
            Ok(mut reader) => reader.find_map(Result::err).map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let error = error.expect("trailing bytes are refused");
        assert!(error.contains("trailing bytes") && !error.contains("cut short"), "{error}");
    }
}

/// It took 29 us for each of them.
#[test]
fn members_without_contents_take_no_time() {
    let (row, mut empty) = (&b"20000000000 0 8 8 1\n"[..], Vec::new());
    bzip2::read::BzEncoder::new(&b""[..], bzip2::Compression::best()).read_to_end(&mut empty).unwrap();
    let mut bytes = empty.repeat(1_000_000);
    bzip2::read::BzEncoder::new(row, bzip2::Compression::fast()).read_to_end(&mut bytes).unwrap();
    bytes.extend(&empty);
    let begun = std::time::Instant::now();
    let reader = open_bytes(&bytes, "x.bz2", &crate::support::named("ssdsim")).unwrap();
    assert_eq!(reader.map(Result::unwrap).count(), 1);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// Such a file was said to be damaged.
#[test]
fn a_zstd_file_with_a_wide_window_is_not_called_damaged() {
    // A frame of one raw block whose head asks for a window of 2^28 bytes.
    let row = b"20000000000 0 8 8 1\n";
    let block = ((row.len() as u32) << 3 | 1).to_le_bytes();
    let frame = |exponent: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, (exponent - 10) << 3], &block[..3], &row[..]].concat();
    let open = |bytes: &[u8]| open_bytes(bytes, "wide.zst", &crate::support::named("ssdsim"));
    assert_eq!(open(&frame(27)).unwrap().map(Result::unwrap).count(), 1);
    let error = match open(&frame(28)) {
        Err(error) => error,
        Ok(mut reader) => reader.find_map(Result::err).expect("its window is wider than allowed"),
    };
    let text = error.to_string();
    assert!(
        ["wide.zst", "window", "128 MiB", "zstd -dc --long=31"].iter().all(|part| text.contains(part))
            && !text.contains("damaged"),
        "{text}"
    );
}
