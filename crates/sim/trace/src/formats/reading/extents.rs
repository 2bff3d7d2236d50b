//! Which parts of a trace's devices are touched, in chunks of 1 MiB.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::TraceRecord;

/// Bytes of a chunk.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;

/// A set of touched chunks, as disjoint extents per device: bounded by the number of separate
/// regions, however large requests are.
#[derive(Default)]
pub(crate) struct Extents {
    /// Start to end, in chunks.
    ends: BTreeMap<(u32, u64), u64>,
    /// Chunks of small requests, all of them in `ends` too: a device and 64 chunks to a bit each. Nearly every
    /// record touches what others have touched, and is done here.
    seen: HashMap<(u32, u64), u64, FixedState>,
    /// The word of `seen` that was looked up last, and its bits: records lie in stretches.
    last: ((u32, u64), u64),
}

/// Chunks of a word of [`Extents::seen`].
const WORD_CHUNKS: u64 = u64::BITS as u64;

impl Extents {
    /// Adds the chunks of a record with at least one byte.
    #[inline]
    pub fn add(&mut self, record: &TraceRecord) {
        let start = record.offset_bytes / CHUNK_BYTES;
        let end = record.end_bytes().div_ceil(CHUNK_BYTES);
        let (word, from) = (start / WORD_CHUNKS, start % WORD_CHUNKS);
        if from + (end - start) <= WORD_CHUNKS {
            let bits = u64::MAX >> (WORD_CHUNKS - (end - start)) << from;
            let key = (record.device, word);
            if self.last.0 == key && self.last.1 & bits == bits {
                return;
            }
            let seen = self.seen.entry(key).or_default();
            let is_known = *seen & bits == bits;
            *seen |= bits;
            self.last = (key, *seen);
            if is_known {
                return;
            }
        }
        self.insert(record.device, start, end);
    }

    fn insert(&mut self, device: u32, mut start: u64, mut end: u64) {
        if let Some((&(_, before), &before_end)) = self.ends.range((device, 0)..=(device, start)).next_back()
            && before_end >= start
        {
            if before_end >= end {
                return;
            }
            start = before;
        }
        // Swallow the extents the new one reaches.
        while let Some((&(_, next), &next_end)) = self.ends.range((device, start)..=(device, end)).next() {
            end = end.max(next_end);
            self.ends.remove(&(device, next));
        }
        self.ends.insert((device, start), end);
    }

    /// Number of chunks in the set.
    pub fn chunks(&self) -> u64 {
        self.ends.iter().map(|(&(_, start), &end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_merge() {
        let mut extents = Extents::default();
        let mut add = |device, first: u64, chunks: u64| {
            let record = TraceRecord::new(0, device, units::HostOp::Read, first << 20, chunks << 20);
            extents.add(&record);
            extents.chunks()
        };
        assert_eq!(add(0, 10, 2), 2);
        assert_eq!(add(0, 14, 2), 4);
        assert_eq!(add(0, 11, 4), 6);
        assert_eq!(add(0, 12, 1), 6);
        assert_eq!(add(0, 12, 1), 6, "seen before");
        assert_eq!(add(1, 12, 1), 7);
        assert_eq!(add(0, 0, 1 << 30), (1 << 30) + 1);
    }
}
