//! Segments that become durable, and the header that begins a life.

use super::back::Batch;
use super::{LogCache, Work};
use crate::shell::host::{Completion, Host, Life};
use units::{HostOp, SECTOR_BYTES};

/// The segments that a flush under way makes durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// All segments up to this one.
    written: u64,
    /// The batch that is written back.
    batch: bool,
    /// What begins a life.
    begins: bool,
}

impl LogCache {
    pub(super) fn pump_flush(&mut self, host: &mut Host<Work>) -> bool {
        if self.flush.is_some() || !self.wants_flush(host) {
            return false;
        }
        let (written, batch, begins) = (host.written(), self.is_batch_written(), self.is_begun);
        self.flush = Some(Mark { written, batch, begins });
        host.send(Work::Flush, HostOp::Flush, 0, 0);
        true
    }

    fn wants_flush(&self, host: &Host<Work>) -> bool {
        let line = &self.line;
        let is_written = host.written() > host.durable();
        let is_all_home = host.durable() == line.home;
        self.is_begun
            || self.is_batch_written()
            || (is_written && host.has_waiter())
            || (is_written && self.batch.is_none() && is_all_home && self.wants_write_back(host))
            || (is_written && !line.is_in_window() && line.could_move_tail(host))
    }

    fn is_batch_written(&self) -> bool {
        self.batch.as_ref().is_some_and(Batch::is_written)
    }

    pub(super) fn flush_completed(&mut self, host: &mut Host<Work>) {
        let Mark { written, batch, begins } = self.flush.take().expect("a flush is under way");
        host.succeeded();
        host.set_durable(written);
        self.line.move_tail(host);
        if batch {
            self.finish(host);
        }
        if begins {
            self.is_begun = false;
            host.set_ready();
        }
    }

    pub(super) fn write_superblock(&mut self, host: &mut Host<Work>) {
        host.begin_life();
        let fill = |bytes: &mut [u8]| self.layout.put(&mut bytes[..SECTOR_BYTES as usize], self.id);
        host.write_new(Work::Superblock, 0, self.layout.superpage_sectors, fill);
    }

    /// Begins a life: a header without pages, alone in its sector. It is torn by no power cut, and touches nothing else
    /// of a torn segment that may be there.
    pub(super) fn pump_begin(&mut self, host: &mut Host<Work>) -> bool {
        if host.life() != Life::Wanted || !self.next_is_there(host) {
            return false;
        }
        let number = self.line.begin_life();
        host.issue(Vec::new());
        let header = self.header(number, 0, &[], Vec::new());
        self.line.tell_home(number);
        let segment = self.ring.of_mut(number);
        (segment.number, segment.filled) = (number, 0);
        host.begin_life();
        let sector = self.layout.segment_sector(self.layout.place_of(number));
        host.write_new(Work::Begin, sector, 1, |bytes| header.put(bytes));
        true
    }

    pub(super) fn begin_completed(&mut self, host: &mut Host<Work>, work: Work, done: &Completion) {
        if done.failed && !host.is_broken() {
            host.failed();
            host.send_again(work, done);
            return;
        }
        host.release(done);
        if done.failed {
            return;
        }
        if matches!(work, Work::Begin) {
            host.wrote(self.line.base);
        }
        self.is_begun = true;
    }
}
