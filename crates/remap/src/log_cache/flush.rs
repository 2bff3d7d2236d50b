//! What becomes durable, and the header that begins a life.

use super::layout::Header;
use super::{LogCache, Startup, State, Work};
use crate::Command;
use units::{HostOp, SECTOR_BYTES};

/// What a flush under way makes durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// All segments up to this one.
    completed: u64,
    /// The batch that is written back.
    batch: bool,
    /// What begins a life.
    startup: bool,
}

impl LogCache {
    /// Makes durable what was answered.
    pub(super) fn flush(&mut self, request: u32) {
        self.counts.host_flushes += 1;
        if self.counts.broken {
            self.front.end(request, true);
            return;
        }
        self.close();
        self.front.requests.at(request).target = self.next - 1;
        self.wait_until_durable(request);
    }

    /// Answers a request when all segments up to its target are durable.
    pub(super) fn wait_until_durable(&mut self, request: u32) {
        let is_there = matches!(self.startup, Startup::Lazy | Startup::Wanted | Startup::Ready);
        if self.durable >= self.front.requests.at(request).target && is_there {
            self.front.end(request, false);
        } else {
            self.waiters.push(request);
        }
    }

    pub(super) fn pump_flush(&mut self) -> bool {
        if self.flush.is_some() || !self.wants_flush() {
            return false;
        }
        let batch = self.batch.as_ref().is_some_and(super::Batch::is_written);
        self.flush = Some(Mark { completed: self.completed, batch, startup: self.startup == Startup::Written });
        self.send(Work::Flush, HostOp::Flush, 0, 0);
        true
    }

    fn wants_flush(&self) -> bool {
        let is_written = self.completed > self.durable;
        let waits =
            |request: &u32| self.front.requests.get(*request).is_some_and(|request| request.target <= self.completed);
        let moves_tail = |(number, tail): &(u64, u64)| *number <= self.completed && *tail > self.tail;
        self.startup == Startup::Written
            || self.batch.as_ref().is_some_and(super::Batch::is_written)
            || (is_written && self.waiters.iter().any(waits))
            || (is_written && self.batch.is_none() && self.durable == self.home && self.wants_write_back())
            || (is_written && !self.is_in_window() && self.tails.iter().any(moves_tail))
    }

    pub(super) fn flush_completed(&mut self, failed: bool) {
        let Mark { completed, batch, startup } = self.flush.take().expect("a flush is under way");
        if self.counts.broken {
            return;
        }
        if failed {
            // A later flush may succeed though what this one failed to write is lost: see the journal of the other
            // driver.
            self.break_down();
            return;
        }
        self.failures = 0;
        self.durable = self.durable.max(completed);
        while self.tails.front().is_some_and(|(number, _)| *number <= self.durable) {
            // Tails never fall.
            self.tail = self.tails.pop_front().map_or(self.tail, |(_, tail)| tail);
        }
        if batch {
            self.batch_is_home();
        }
        if startup {
            self.startup = Startup::Ready;
        }
        self.end_waiters(self.durable);
    }

    /// Answers those who wait for no more than this segment.
    fn end_waiters(&mut self, number: u64) {
        let front = &mut self.front;
        self.waiters.retain(|request| {
            let waits = front.requests.at(*request).target > number;
            if !waits {
                front.end(*request, false);
            }
            waits
        });
    }

    pub(super) fn write_superblock(&mut self) {
        let buffer = self.buffers.take();
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            self.layout.put(&mut bytes[..SECTOR_BYTES as usize], self.id);
        }
        self.startup = Startup::Writing;
        self.send(Work::Superblock { buffer }, HostOp::Write, 0, self.layout.superpage_sectors());
    }

    /// Begins a life: a header without pages, alone in its sector. It is torn by no power cut, and touches nothing else
    /// of a torn segment that may be there.
    pub(super) fn pump_begin(&mut self) -> bool {
        let index = self.layout.place_of(self.next);
        if self.startup != Startup::Wanted || !self.is_in_window() || self.segments[index as usize].pins > 0 {
            return false;
        }
        let number = self.next;
        self.next += 1;
        self.base = number;
        let buffer = self.buffers.take();
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            let (id, tail, base, durable) = (self.id, self.home, self.base, 0);
            Header { id, number, tail, base, durable, data_checksum: crc32fast::hash(&[]), entries: Vec::new() }
                .put(bytes);
        }
        self.tails.push_back((number, self.home));
        let segment = &mut self.segments[index as usize];
        (segment.number, segment.state, segment.filled) = (number, State::Writing, 0);
        self.startup = Startup::Writing;
        self.send(Work::Begin { buffer }, HostOp::Write, self.layout.segment_sector(index), 1);
        true
    }

    pub(super) fn begin_completed(&mut self, work: Work, buffer: u32, command: &Command, failed: bool) {
        if failed && !self.counts.broken {
            self.failure();
            self.send(work, HostOp::Write, command.first_sector, command.sectors);
            return;
        }
        self.buffers.release(buffer);
        if failed {
            return;
        }
        if matches!(work, Work::Begin { .. }) {
            let number = self.next - 1;
            self.segment(number).state = State::Written;
            self.advance();
        }
        self.startup = Startup::Written;
    }
}
