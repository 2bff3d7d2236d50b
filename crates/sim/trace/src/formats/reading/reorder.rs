//! Order of time: refuse, clamp, sort within a bounded window, or sort everything.
//!
//! Protects: the output never goes back in time, and memory stays bounded.

use std::collections::VecDeque;
use std::io;

use super::whole::{RUN_RECORDS, WholeSort};
use super::{Order, ReadStatistics, TraceRecord};

/// Why a record is not taken.
pub(crate) enum Refused {
    /// It is this much too early, in nanoseconds.
    BackInTime(u64),
    /// The temporary file of a whole sort.
    Temporary(io::Error),
}

/// Puts records in order of time. Records of one time keep the order of the file.
pub(crate) struct Reorder {
    order: Order,
    window_records: usize,
    window: VecDeque<TraceRecord>,
    last_ns: i64,
    whole: WholeSort,
}

impl Reorder {
    pub fn new(order: Order, window_records: usize) -> Reorder {
        let whole = WholeSort::new(RUN_RECORDS);
        Reorder { order, window_records, window: VecDeque::new(), last_ns: i64::MIN, whole }
    }

    pub fn order(&self) -> Order {
        self.order
    }

    /// Records that the window holds.
    pub fn window_records(&self) -> usize {
        self.window_records
    }

    /// Bytes of the temporary file.
    pub fn written_bytes(&self) -> u64 {
        self.whole.written_bytes()
    }

    /// Takes a record and passes on those whose turn has come.
    #[inline]
    pub fn admit(
        &mut self,
        mut record: TraceRecord,
        ready: &mut Vec<TraceRecord>,
        statistics: &mut ReadStatistics,
    ) -> Result<(), Refused> {
        if record.time_ns < self.last_ns {
            if self.order != Order::Clamp {
                return Err(Refused::BackInTime(self.last_ns.abs_diff(record.time_ns)));
            }
            record.time_ns = self.last_ns;
            statistics.clamped += 1;
        }
        match self.order {
            Order::Sort => {
                self.insert(record, statistics);
                if self.window.len() > self.window_records {
                    self.release_from_window(1, ready);
                }
                return Ok(());
            }
            Order::Whole => return self.whole.add(record, statistics).map_err(Refused::Temporary),
            Order::Error | Order::Clamp => {}
        }
        self.last_ns = record.time_ns;
        ready.push(record);
        Ok(())
    }

    /// Passes on records that wait for others, at most `limit`; no record is taken after the first call.
    /// Errors: the temporary file cannot be read.
    pub fn release(&mut self, limit: usize, ready: &mut Vec<TraceRecord>) -> io::Result<()> {
        if self.order == Order::Whole {
            return self.whole.release(limit, ready);
        }
        self.release_from_window(limit, ready);
        Ok(())
    }

    fn release_from_window(&mut self, limit: usize, ready: &mut Vec<TraceRecord>) {
        for _ in 0..limit {
            let Some(record) = self.window.pop_front() else { return };
            debug_assert!(record.time_ns >= self.last_ns, "the window is sorted");
            self.last_ns = record.time_ns;
            ready.push(record);
        }
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.window.clear();
        self.whole.clear();
    }

    #[inline]
    fn insert(&mut self, record: TraceRecord, statistics: &mut ReadStatistics) {
        if self.window.back().is_none_or(|back| back.time_ns <= record.time_ns) {
            self.window.push_back(record);
            return;
        }
        statistics.reordered += 1;
        let place = self.window.partition_point(|other| other.time_ns <= record.time_ns);
        self.window.insert(place, record);
    }
}
