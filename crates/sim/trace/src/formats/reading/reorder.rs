//! Order of time: refuse, clamp, or sort within a bounded window.
//!
//! Protects: what comes out never goes back in time, and memory stays bounded.

use std::collections::VecDeque;

use super::{Order, ReadStatistics, TraceRecord};

/// How far a record was too early.
pub(crate) struct BackInTime {
    pub back_ns: u64,
}

/// Puts records in order of time. Records of one time keep the order of the file.
pub(crate) struct Reorder {
    order: Order,
    window_records: usize,
    window: VecDeque<TraceRecord>,
    last_ns: i64,
}

impl Reorder {
    pub fn new(order: Order, window_records: usize) -> Reorder {
        Reorder { order, window_records, window: VecDeque::new(), last_ns: i64::MIN }
    }

    pub fn order(&self) -> Order {
        self.order
    }

    /// Takes a record and passes on those whose turn has come.
    #[inline]
    pub fn admit(
        &mut self,
        mut record: TraceRecord,
        ready: &mut Vec<TraceRecord>,
        statistics: &mut ReadStatistics,
    ) -> Result<(), BackInTime> {
        if record.time_ns < self.last_ns {
            if self.order != Order::Clamp {
                return Err(BackInTime { back_ns: self.last_ns.abs_diff(record.time_ns) });
            }
            record.time_ns = self.last_ns;
            statistics.clamped += 1;
        }
        if self.order == Order::Sort {
            self.insert(record, statistics);
            if self.window.len() > self.window_records {
                self.release(1, ready);
            }
            return Ok(());
        }
        self.last_ns = record.time_ns;
        ready.push(record);
        Ok(())
    }

    /// Passes on what waits in the window, at most `limit` records.
    pub fn release(&mut self, limit: usize, ready: &mut Vec<TraceRecord>) {
        for _ in 0..limit {
            let Some(record) = self.window.pop_front() else { return };
            debug_assert!(record.time_ns >= self.last_ns, "the window is sorted");
            self.last_ns = record.time_ns;
            ready.push(record);
        }
    }

    /// Forgets what waits in the window.
    pub fn clear(&mut self) {
        self.window.clear();
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
