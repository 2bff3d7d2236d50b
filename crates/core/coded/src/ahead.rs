//! Read-ahead: sequential streams are told apart, and their reads are widened to whole groups.
//!
//! Faithful to: a thread table with counter, last block and a buffer of one group for each stream; a sliding window of
//! recent reads, so that random reads do not scrub the table; the read that meets the condition is widened itself.
//! Simplified: the oldest entry is the one used longest ago.

use crate::group::{Elements, GroupAt};
use nand::PayloadId;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Sectors read in sequence.
    counter: u64,
    /// Last stripe block read; nothing where the entry is free.
    last: Option<u32>,
    used: u64,
    /// Which use of the entry this is: blocks read ahead for another stream are not kept.
    pub serial: u32,
    /// Group of the buffer, and the data blocks it holds.
    pub at: GroupAt,
    pub held: Elements,
    /// Pages of the buffer, where contents are on.
    pub cells: PayloadId,
}

#[derive(Clone, Copy, Debug)]
struct Recent {
    last: u32,
    sectors: u64,
}

/// The state of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The stream it belongs to.
    pub thread: Option<u32>,
    /// It is to be widened to whole groups.
    pub widen: bool,
}

/// The table of streams and the window of recent reads.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    pub threads: Vec<Thread>,
    window: VecDeque<Recent>,
    window_size: usize,
    after: u64,
    clock: u64,
}

impl ReadAhead {
    /// `after`: sectors of a stream beyond which it is widened; 0: never.
    pub fn new(threads: usize, window_size: usize, after: u64) -> Self {
        let free = Thread {
            counter: 0,
            last: None,
            used: 0,
            serial: 0,
            at: GroupAt { zone: 0, row: 0, group: 0 },
            held: Elements::NONE,
            cells: PayloadId::NONE,
        };
        let threads = if after == 0 { 0 } else { threads };
        Self {
            threads: vec![free; threads],
            window: VecDeque::with_capacity(window_size + 1),
            window_size,
            after,
            clock: 0,
        }
    }

    /// A read of the stripe blocks `first` to `last` arrives.
    pub fn note(&mut self, first: u32, last: u32, sectors: u64) -> Seen {
        if self.threads.is_empty() {
            return Seen { thread: None, widen: false };
        }
        self.clock += 1;
        let goes_on = |before: u32| first == before || first == before + 1;
        if let Some(index) = self.threads.iter().position(|thread| thread.last.is_some_and(goes_on)) {
            let thread = &mut self.threads[index];
            thread.counter += sectors;
            (thread.last, thread.used) = (Some(last), self.clock);
            return Seen { thread: Some(index as u32), widen: thread.counter > self.after };
        }
        let Some(at) = self.window.iter().position(|recent| goes_on(recent.last)) else {
            self.window.push_back(Recent { last, sectors });
            if self.window.len() > self.window_size {
                self.window.pop_front();
            }
            return Seen { thread: None, widen: false };
        };
        let before = self.window.remove(at).expect("it was just found");
        let oldest = (0..self.threads.len()).min_by_key(|index| self.threads[*index].used).expect("there are threads");
        let thread = &mut self.threads[oldest];
        (thread.counter, thread.last, thread.used) = (before.sectors + sectors, Some(last), self.clock);
        thread.serial = thread.serial.wrapping_add(1);
        thread.held = Elements::NONE;
        Seen { thread: Some(oldest as u32), widen: thread.counter > self.after }
    }

    /// Data blocks of a group that a buffer holds, and which one.
    #[inline]
    pub fn find(&self, at: GroupAt) -> Option<(usize, Elements)> {
        let index = self.threads.iter().position(|thread| !thread.held.is_empty() && thread.at == at)?;
        Some((index, self.threads[index].held))
    }

    /// A data block is written: no buffer holds it any more.
    pub fn forget(&mut self, at: GroupAt, block: u32) {
        self.threads.iter_mut().filter(|thread| thread.at == at).for_each(|thread| thread.held.remove(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_widened_once_it_is_long_enough() {
        let mut ahead = ReadAhead::new(20, 20, 128);
        assert_eq!(ahead.note(10, 11, 32), Seen { thread: None, widen: false }, "one read is no stream");
        let seen = ahead.note(12, 13, 32);
        assert_eq!((seen.thread.is_some(), seen.widen), (true, false), "the second is, 64 sectors long");
        assert!(
            !ahead.note(13, 14, 64).widen,
            "128 sectors are not more than 128; a read may begin where the last ended"
        );
        assert!(ahead.note(15, 15, 1).widen);
    }

    #[test]
    fn random_reads_do_not_scrub_the_thread_table() {
        let mut ahead = ReadAhead::new(20, 20, 128);
        for read in 0..10 {
            ahead.note(read * 4, read * 4 + 3, 64);
        }
        for read in 0..10_000 {
            assert_eq!(ahead.note(100_000 + read * 1_000, 100_000 + read * 1_000, 16).thread, None);
        }
        assert!(ahead.note(40, 43, 64).widen, "the stream is still known");
    }

    #[test]
    fn streams_side_by_side_are_told_apart() {
        let mut ahead = ReadAhead::new(4, 8, 128);
        let mut widened = 0;
        for read in 0..20 {
            for stream in 0..4 {
                widened += u32::from(ahead.note(stream * 10_000 + read, stream * 10_000 + read, 16).widen);
            }
        }
        assert_eq!(widened, 4 * (20 - 8), "all but the first 128 sectors of each");
    }
}
