//! Ranges of trimmed pages, as the record of a tombstone on flash names them.

use units::Lpn;

/// Bytes of one range in a record: first page, count, sequence number.
pub(super) const RANGE_BYTES: usize = 16;

/// Consecutive logical pages trimmed by one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: Lpn,
    pub count: u32,
    pub sequence: u64,
}

impl Range {
    pub fn pages(self) -> impl Iterator<Item = Lpn> {
        (self.first.0..self.first.0 + self.count).map(Lpn)
    }
}

/// Adds a page to ranges, to the last of them where it follows that.
pub(super) fn push(ranges: &mut Vec<Range>, logical: Lpn, sequence: u64) {
    match ranges.last_mut() {
        Some(last) if last.first.0 + last.count == logical.0 && last.sequence == sequence => last.count += 1,
        _ => ranges.push(Range { first: logical, count: 1, sequence }),
    }
}

/// Writes ranges as a tombstone's record.
pub(super) fn encode(ranges: &[Range]) -> Box<[u8]> {
    let bytes = ranges.iter().flat_map(|range| {
        let words = [range.first.0.to_le_bytes(), range.count.to_le_bytes()];
        words.into_iter().flatten().chain(range.sequence.to_le_bytes())
    });
    bytes.collect()
}

/// Reads a tombstone's record.
pub(super) fn decode(record: &[u8]) -> Vec<Range> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let ranges = record.chunks_exact(RANGE_BYTES).map(|entry| Range {
        first: Lpn(word(&entry[..4])),
        count: word(&entry[4..8]),
        sequence: u64::from_le_bytes(entry[8..].try_into().expect("eight bytes")),
    });
    ranges.collect()
}
