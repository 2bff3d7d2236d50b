//! The share of writes to addresses that the trace wrote before.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;
use units::HostOp;

use super::super::TraceRecord;

/// Bytes of a page: a page counts as written once any of its bytes are.
const PAGE_BYTES: u64 = 4096;
/// Pages of a chunk, one bit each.
const CHUNK_PAGES: u64 = 256;
const WORD_PAGES: u64 = u64::BITS as u64;
const WORDS: usize = (CHUNK_PAGES / WORD_PAGES) as usize;
/// Most chunks: 1 TiB written, and about 110 MB of memory.
const CHUNKS_MAX: usize = 1 << 20;

/// The pages written so far, exactly.
#[derive(Default)]
pub struct Rewrites {
    /// Device and chunk to its place in `chunks`.
    places: HashMap<(u32, u64), u32, FixedState>,
    /// The chunk looked up last, and its place: writes lie in stretches.
    last: Option<((u32, u64), u32)>,
    /// Written pages of each chunk, and those of them that were written again.
    chunks: Vec<[[u64; WORDS]; 2]>,
    /// Places of the chunks of [`Rewrites::add_all`], in between.
    found: Vec<u32>,
    written_bytes: u64,
    rewritten_bytes: u64,
    /// More is written than there is room to note.
    beyond: bool,
}

/// In place of a chunk: there is none, or more than one.
const NO_PLACE: u32 = u32::MAX;

fn pages(record: &TraceRecord) -> Range<u64> {
    record.offset_bytes / PAGE_BYTES..record.end_bytes().div_ceil(PAGE_BYTES)
}

impl Rewrites {
    /// As [`Rewrites::add`] of each: all chunks are looked up first, so that the processor waits for many at once.
    pub fn add_all(&mut self, records: &[TraceRecord]) {
        let mut found = std::mem::take(&mut self.found);
        found.extend(records.iter().map(|record| self.lone_chunk(record)));
        for (record, place) in records.iter().zip(found.drain(..)) {
            if place == NO_PLACE {
                self.add(record);
            } else if !self.beyond {
                let pages = pages(record);
                self.written_bytes = self.written_bytes.saturating_add(record.length_bytes);
                self.chunk(place, record, pages.start, pages.end);
            }
        }
        self.found = found;
    }

    /// The place of the chunk that a write lies in.
    fn lone_chunk(&mut self, record: &TraceRecord) -> u32 {
        let pages = pages(record);
        let chunk = pages.start / CHUNK_PAGES;
        let is_lone = record.op == HostOp::Write && (pages.end - 1) / CHUNK_PAGES == chunk;
        if is_lone && !self.beyond { self.place(record.device, chunk) } else { NO_PLACE }
    }

    /// The place of a chunk, which is made if it is new; none if there is no more room.
    fn place(&mut self, device: u32, chunk: u64) -> u32 {
        if let Some((last, place)) = self.last
            && last == (device, chunk)
        {
            return place;
        }
        let place = *self.places.entry((device, chunk)).or_insert_with(|| {
            self.chunks.push(Default::default());
            self.chunks.len() as u32 - 1
        });
        if self.chunks.len() > CHUNKS_MAX {
            self.give_up();
            return NO_PLACE;
        }
        self.last = Some(((device, chunk), place));
        place
    }

    pub fn add(&mut self, record: &TraceRecord) {
        if record.op != HostOp::Write || self.beyond {
            return;
        }
        let pages = pages(record);
        if (pages.end - pages.start) / CHUNK_PAGES > CHUNKS_MAX as u64 {
            self.give_up();
            return;
        }
        self.written_bytes = self.written_bytes.saturating_add(record.length_bytes);
        let mut first = pages.start;
        while first < pages.end && !self.beyond {
            let end = pages.end.min((first / CHUNK_PAGES + 1) * CHUNK_PAGES);
            let place = self.place(record.device, first / CHUNK_PAGES);
            if place != NO_PLACE {
                self.chunk(place, record, first, end);
            }
            first = end;
        }
    }

    /// Notes the pages from `first` to before `end`, all of the chunk at `place`.
    fn chunk(&mut self, place: u32, record: &TraceRecord, first: u64, end: u64) {
        let [words, twice] = &mut self.chunks[place as usize];
        let mut page = first;
        while page < end {
            let within = page % CHUNK_PAGES;
            let (word, bit) = ((within / WORD_PAGES) as usize, within % WORD_PAGES);
            let pages = (end - page).min(WORD_PAGES - bit);
            let mask = (u64::MAX >> (WORD_PAGES - pages)) << bit;
            let mut again = words[word] & mask;
            words[word] |= mask;
            twice[word] |= again;
            while again != 0 {
                let start = (page - bit + u64::from(again.trailing_zeros())) * PAGE_BYTES;
                let run = u64::from((again >> again.trailing_zeros()).trailing_ones());
                let from = start.max(record.offset_bytes);
                let to = start.saturating_add(run * PAGE_BYTES).min(record.end_bytes());
                self.rewritten_bytes = self.rewritten_bytes.saturating_add(to - from);
                let last = u64::from(again.trailing_zeros()) + run;
                again = if last == WORD_PAGES { 0 } else { again >> last << last };
            }
            page += pages;
        }
    }

    fn give_up(&mut self) {
        self.beyond = true;
        (self.places, self.last, self.chunks) = Default::default();
    }

    /// Share of the written bytes; `None` without any, or where it is not known.
    pub fn share(&self) -> Option<f64> {
        let known = self.written_bytes > 0 && !self.beyond;
        known.then(|| self.rewritten_bytes as f64 / self.written_bytes as f64)
    }

    /// Share of the written bytes that go to pages written once, which count whole; `None` as for [`Rewrites::share`].
    pub fn once(&self) -> Option<f64> {
        let lone = |[words, twice]: &[[u64; WORDS]; 2]| -> u64 {
            words.iter().zip(twice).map(|(word, again)| u64::from((word & !again).count_ones())).sum()
        };
        let bytes = |pages: u64| (pages * PAGE_BYTES) as f64;
        self.share().map(|_| (bytes(self.chunks.iter().map(lone).sum()) / self.written_bytes as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(writes: &[(u64, u64)]) -> Option<f64> {
        let mut rewrites = Rewrites::default();
        for &(offset, length) in writes {
            rewrites.add(&TraceRecord::new(0, 0, HostOp::Write, offset, length));
        }
        rewrites.share()
    }

    #[test]
    fn bytes_that_go_to_written_pages_are_counted() {
        assert_eq!(share(&[]), None);
        assert_eq!(share(&[(0, 4096), (4096, 4096)]), Some(0.0));
        assert_eq!(share(&[(0, 512), (512, 512)]), Some(0.5), "the same page");
        assert_eq!(share(&[(4096, 8192), (0, 1 << 20)]), Some(8192.0 / f64::from((1 << 20) + 8192)));
        // From the middle of a written page, over a chunk border, to the middle of another.
        let far = (1 << 20) - 6144;
        assert_eq!(share(&[(far, 10_240), (far, 10_240)]), Some(0.5));
        assert_eq!(share(&[(0, 64 * 4096), (0, 64 * 4096), (64 * 4096, 4096)]), Some(64.0 / 129.0));
    }

    #[test]
    fn every_page_agrees_with_a_plain_set() {
        let mut stream = engine::random::Stream::new(1, "rewrites");
        let (mut rewrites, mut set) = (Rewrites::default(), std::collections::BTreeSet::new());
        let (mut written, mut again, mut records) = (0, 0, Vec::new());
        for _ in 0..2000 {
            let (offset, length) = (stream.below(3 << 20), 1 + stream.below(300_000));
            let record = TraceRecord::new(0, 0, HostOp::Write, offset, length);
            rewrites.add(&record);
            records.push(record);
            written += length;
            for page in offset / 4096..(offset + length).div_ceil(4096) {
                let bytes = ((page + 1) * 4096).min(offset + length) - (page * 4096).max(offset);
                again += if set.insert(page) { 0 } else { bytes };
            }
        }
        assert_eq!((rewrites.written_bytes, rewrites.rewritten_bytes), (written, again));
        let mut batched = Rewrites::default();
        records.chunks(100).for_each(|batch| batched.add_all(batch));
        assert_eq!((batched.share(), batched.once()), (rewrites.share(), rewrites.once()));
    }

    #[test]
    fn beyond_its_room_the_share_is_not_known() {
        assert_eq!(share(&[(0, 1 << 42), (0, 4096)]), None);
    }
}
