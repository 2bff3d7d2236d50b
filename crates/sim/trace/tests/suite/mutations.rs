//! A thousand damaged copies of a small trace in each format: no panic, no endless loop, and no line that vanishes
//! without a word.

use crate::samples::{all, texts};
use crate::support::{named, open_bytes};
use engine::random::Stream;
use trace::formats::{OpenOptions, ReadStatistics, TraceRecord, summarise};

const COPIES: u64 = 1000;
/// Every so many copies are read without the name of their format.
const DETECTED_EVERY: u64 = 50;

/// Reads `bytes` to the end or to the first error: the records, and what the reader counted.
fn read(bytes: &[u8], options: &OpenOptions) -> Option<(Vec<TraceRecord>, ReadStatistics)> {
    let mut reader = open_bytes(bytes, "sample", options).ok()?;
    let mut found = Vec::new();
    for record in reader.by_ref() {
        found.push(record.ok()?);
    }
    Some((found, reader.statistics()))
}

/// Lines that are not blank.
fn lines(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64
}

/// What is kept, and what is left out and counted.
fn accounted(statistics: &ReadStatistics) -> u64 {
    let ReadStatistics { records, dropped_zero, dropped_comment, dropped_other, .. } = *statistics;
    records + dropped_zero + dropped_comment + dropped_other + statistics.dropped_odd + statistics.dropped_cut
}

/// Whether the trace is read to its end, with a count that is right.
fn check(format: &str, bytes: &[u8], is_text: bool) -> bool {
    let Some((found, statistics)) = read(bytes, &named(format)) else { return false };
    let shown = || String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(found.len() as u64, statistics.records, "{format}: {}", shown());
    assert!(found.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns), "{format}: {}", shown());
    if is_text {
        assert!(accounted(&statistics) >= lines(bytes), "{format}: {statistics:?}: {}", shown());
    }
    true
}

/// A place in `bytes`.
fn place(bytes: &[u8], stream: &mut Stream) -> usize {
    stream.below(bytes.len().max(1) as u64) as usize
}

/// The line around `at`, with its line end.
fn line(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    start..end
}

/// The field around `at`.
fn field(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let is_end = |byte: &u8| matches!(byte, b' ' | b',' | b';' | b'\t' | b'\n' | b'(' | b')' | b'=' | b':');
    let start = bytes[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |end| at + end);
    start..end.max(start)
}

fn damage_text(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let at = place(bytes, stream);
    match stream.below(8) {
        0 => bytes[at] = stream.below(256) as u8,
        1 => drop(bytes.drain(line(bytes, at))),
        2 => {
            let again = bytes[line(bytes, at)].to_vec();
            let to = line(bytes, place(bytes, stream)).start;
            bytes.splice(to..to, again);
        }
        3 => {
            let moved: Vec<u8> = bytes.drain(line(bytes, at)).collect();
            let to = if bytes.is_empty() { 0 } else { line(bytes, place(bytes, stream)).start };
            bytes.splice(to..to, moved);
        }
        4 => drop(bytes.drain(field(bytes, at))),
        5 => {
            let digit = b'0' + stream.below(10) as u8;
            let many = 1 + stream.below(20) as usize;
            bytes.splice(at..at, std::iter::repeat_n(digit, many));
        }
        6 => bytes.truncate(at),
        _ => {
            let whole = field(bytes, at);
            let other = [&b"-1"[..], b"18446744073709551615", b"0", b"", b"\"", b"R", b"0x", b"1e9", b"nan"];
            bytes.splice(whole, other[stream.below(other.len() as u64) as usize].to_vec());
        }
    }
}

fn damage_binary(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let (from, to) = (place(bytes, stream), place(bytes, stream));
    let range = from.min(to)..(from.min(to) + 1 + stream.below(16) as usize).min(bytes.len());
    match stream.below(5) {
        0 => bytes[from] = stream.below(256) as u8,
        1 => drop(bytes.drain(range)),
        2 => {
            let again = bytes[range].to_vec();
            bytes.splice(to..to, again);
        }
        3 => bytes[range].fill(if stream.below(2) == 0 { 0 } else { 0xff }),
        _ => bytes.truncate(from),
    }
}

#[test]
fn damaged_traces_are_read_or_refused_and_no_line_vanishes() {
    let texts: Vec<&str> = texts().into_iter().map(|(name, _)| name).collect();
    for (format, sample) in all() {
        let is_text = texts.contains(&format);
        assert!(check(format, &sample, is_text), "{format} is refused");
        let mut read = 0;
        let mut stream = Stream::new(1, format);
        for copy in 0..COPIES {
            let mut bytes = sample.clone();
            for _ in 0..=stream.below(3) {
                if bytes.is_empty() {
                    break;
                }
                if is_text { damage_text(&mut bytes, &mut stream) } else { damage_binary(&mut bytes, &mut stream) }
            }
            read += u64::from(check(format, &bytes, is_text));
            if copy % DETECTED_EVERY == 0
                && let Ok(mut reader) = open_bytes(&bytes, "sample", &OpenOptions::default())
            {
                let _ = summarise(&mut reader);
            }
        }
        assert!((COPIES / 20..COPIES).contains(&read), "{format}: {read} copies were read, the others refused");
    }
}

/// The count is right in every sample that is whole.
#[test]
fn whole_samples_are_read_without_a_line_unaccounted_for() {
    for (format, sample) in texts() {
        let (found, statistics) = read(&sample, &named(format)).unwrap_or_else(|| panic!("{format} is refused"));
        assert!(found.len() >= 8 && accounted(&statistics) >= lines(&sample), "{format}: {statistics:?}");
    }
}
