//! The view of a driver of its host and its device: time, buffers, commands to send, requests to answer.

use crate::report::HostCounts;
use crate::shell::buffers::Buffers;
use crate::shell::changes::Changes;
use crate::shell::front::{Front, Sent};
use crate::shell::waits::Waits;
use crate::{Command, Shape, Terms, WriteCache};
use std::ops::Range;
use units::{HostOp, Nanos};

/// Failures in a row after which nothing is tried any more.
const MOST_FAILURES: u32 = 8;

/// A request of the host under way, by its number. Numbers are used again once a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub(crate) u32);

/// The changes that must be on the device before the host may change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// What begins a life of the driver, as soon as the host wants to change something.
    Lazy,
    Wanted,
    /// It is being written, and what was changed before does not count as durable meanwhile.
    Beginning,
    /// Nothing stands against a change.
    Ready,
}

/// A command of the driver's own that the device completed.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The command.
    pub command: Command,
    /// It was not done, or in part.
    pub failed: bool,
    /// Where its data are, and how often it failed before.
    pub(super) sent: Sent,
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work<W> {
    /// A read of the host: where its data go.
    Read { request: RequestId, cell: usize },
    /// The old contents of a page that is written in part.
    Merge { page: u32 },
    /// The driver's own.
    Own(W),
}

/// The shell of a driver, as the driver sees it; `W` is the purpose of a command of its own.
#[derive(Debug)]
pub struct Host<W> {
    terms: Terms,
    pub(super) now: Nanos,
    pub(super) front: Front,
    /// What each command under way is for, by its number.
    works: Vec<Work<W>>,
    pub(super) life: Life,
    pub(super) waits: Waits,
    changes: Changes,
    /// Requests that wait to be durable.
    waiters: Vec<RequestId>,
    /// Gathered pages are to be written now.
    pub(super) close_wanted: bool,
    /// The host was idle long enough, and no request came since.
    pub(super) background: bool,
    /// Reads of the host under way.
    pub(super) reads: u32,
    failures: u32,
    pub(super) counts: HostCounts,
    /// Memory for what is gathered, written and read, of [`Shape::buffer_sectors`] each.
    pub buffers: Buffers,
}

impl<W: Copy> Host<W> {
    /// The state of a driver that was found on its device: nothing is written until the host changes something.
    pub fn found(shape: Shape, terms: &Terms) -> Self {
        Self::new(shape, *terms, Life::Lazy)
    }

    pub(super) fn new(shape: Shape, terms: Terms, life: Life) -> Self {
        assert!([0, 512].contains(&terms.cell_bytes), "a sector has 512 bytes of data or none");
        Self {
            terms,
            now: 0,
            front: Front::new(shape, terms.cell_bytes),
            works: Vec::new(),
            life,
            // One before the first: so that the first flush reaches the device.
            changes: Changes::resumed(1, 0),
            waits: Waits::default(),
            waiters: Vec::new(),
            close_wanted: false,
            background: false,
            reads: 0,
            failures: 0,
            counts: HostCounts::default(),
            buffers: Buffers::new(shape.buffer_sectors as usize * terms.cell_bytes as usize),
        }
    }

    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The options that every driver has.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Bytes of data of `sectors`.
    pub fn bytes(&self, sectors: u32) -> usize {
        sectors as usize * self.terms.cell_bytes as usize
    }

    /// Bytes of data a page.
    pub fn page_bytes(&self) -> usize {
        self.bytes(self.front.shape.page_sectors)
    }

    /// Counters that every driver has.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// A flush failed, too many commands failed in a row, or no space is left: only reads are served.
    pub fn is_broken(&self) -> bool {
        self.front.is_broken
    }

    /// The host is idle: see [`Terms::idle_after_ns`].
    pub fn is_background(&self) -> bool {
        self.background
    }

    /// From now on what is done while the host is idle may be done, or may not, until the next request.
    pub fn set_background(&mut self, background: bool) {
        self.background = background;
    }

    /// Bytes of memory of buffers, and of requests that wait.
    pub fn ram_bytes(&self) -> u64 {
        self.buffers.ram_bytes() + self.waits.held_bytes() as u64
    }

    /// A command for the device that moves no data; [`crate::Driver::completed`] says when it is done.
    pub fn send(&mut self, work: W, op: HostOp, first_sector: u64, sectors: u32) {
        self.send_any(Work::Own(work), op, first_sector, sectors);
    }

    /// Asks the device to write what a buffer holds from a byte on, which stays as it is until that is done.
    pub fn write(&mut self, work: W, from: (u32, usize), first_sector: u64, sectors: u32) {
        self.transfer(work, HostOp::Write, from, first_sector, sectors);
    }

    /// Asks the device to write a buffer that `fill` makes of zeros, where there are contents.
    pub fn write_new(&mut self, work: W, first_sector: u64, sectors: u32, fill: impl FnOnce(&mut [u8])) {
        let buffer = self.buffers.take();
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            fill(bytes);
        }
        self.write(work, (buffer, 0), first_sector, sectors);
    }

    /// Asks the device to read into a buffer from a byte on.
    pub fn read(&mut self, work: W, to: (u32, usize), first_sector: u64, sectors: u32) {
        self.transfer(work, HostOp::Read, to, first_sector, sectors);
    }

    fn transfer(&mut self, work: W, op: HostOp, place: (u32, usize), first_sector: u64, sectors: u32) {
        let end = place.1 + self.bytes(sectors);
        debug_assert!(end <= self.buffers.get(place.0).len(), "a buffer has room for what is moved");
        let command = Command { id: 0, op, first_sector, sectors, fua: false };
        self.issue_command(Work::Own(work), Sent { command, data: Some(place), tries: 0 });
    }

    /// The data of a read of the driver's own are there.
    pub(super) fn keep_read(&mut self, sent: &Sent, data: &[u8]) {
        let Some((buffer, at)) = sent.data else { return };
        let bytes = self.bytes(sent.command.sectors);
        self.buffers.get_mut(buffer)[at..at + bytes].copy_from_slice(&data[..bytes]);
    }

    /// Sends a command again that failed.
    pub fn send_again(&mut self, work: W, done: &Completion) {
        self.issue_command(Work::Own(work), Sent { tries: done.sent.tries + 1, ..done.sent });
    }

    /// The same, unless it failed too often: then the driver breaks down. Whether it was sent.
    pub fn retry(&mut self, work: W, done: &Completion) -> bool {
        let again = done.sent.tries + 1 < MOST_FAILURES;
        if again {
            self.send_again(work, done);
        } else {
            self.break_down();
        }
        again
    }

    /// The buffer that a write was sent from is needed no more.
    pub fn release(&mut self, done: &Completion) {
        let (buffer, _) = done.sent.data.expect("its data are in a buffer");
        self.buffers.release(buffer);
    }

    pub(super) fn send_any(&mut self, work: Work<W>, op: HostOp, first_sector: u64, sectors: u32) {
        let command = Command { id: 0, op, first_sector, sectors, fua: false };
        self.issue_command(work, Sent { command, data: None, tries: 0 });
    }

    fn issue_command(&mut self, work: Work<W>, sent: Sent) {
        self.counts.device_flushes += u64::from(sent.command.op == HostOp::Flush);
        self.reads += u32::from(matches!(work, Work::Read { .. }));
        let id = self.front.send(sent) as usize;
        if id == self.works.len() {
            self.works.push(work);
        } else {
            self.works[id] = work;
        }
    }

    /// A command is completed: its purpose.
    pub(super) fn take_command(&mut self, id: u32) -> (Work<W>, Sent) {
        let sent = self.front.commands.remove(id);
        self.reads -= u32::from(matches!(self.works[id as usize], Work::Read { .. }));
        (self.works[id as usize], sent)
    }

    /// The data of a command that writes.
    pub(super) fn command_data(&self, id: u32) -> &[u8] {
        match self.front.commands.get(id) {
            Some(Sent { command, data: Some((buffer, at)), .. }) if command.op == HostOp::Write => {
                &self.buffers.get(*buffer)[*at..at + self.bytes(command.sectors)]
            }
            _ => &[],
        }
    }

    /// Whether a page of the host, whole or a part of it, is being read from these sectors of the device: nothing may
    /// be written there meanwhile.
    pub fn is_read(&self, first_sector: u64, sectors: u32) -> bool {
        let end = first_sector + u64::from(sectors);
        let mut reads = self.front.commands.iter().filter(|(id, _)| !matches!(self.works[*id as usize], Work::Own(_)));
        reads.any(|(_, Sent { command, .. })| {
            command.first_sector < end && first_sector < command.first_sector + u64::from(command.sectors)
        })
    }

    /// The changes that must be on the device before the host may change anything.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Changes of the host may begin.
    pub fn is_ready(&self) -> bool {
        self.life == Life::Ready
    }

    /// The host wants to change something; whether that was not known before.
    pub fn want_life(&mut self) -> bool {
        let is_lazy = self.life == Life::Lazy;
        if is_lazy {
            self.life = Life::Wanted;
        }
        is_lazy
    }

    /// The first record of a life is being written.
    pub fn begin_life(&mut self) {
        debug_assert!(self.life == Life::Wanted, "a life begins once: {:?}", self.life);
        self.life = Life::Beginning;
    }

    /// The first record of a life is on the device.
    pub fn set_ready(&mut self) {
        debug_assert!(self.life != Life::Lazy, "a life begins when the host wants to change something");
        self.life = Life::Ready;
    }

    /// Commands are under way, those for reads of the host included.
    pub fn has_commands(&self) -> bool {
        !self.front.commands.is_empty()
    }

    /// Something waits for room, or to be begun, and nothing is under way but reads of the host.
    pub fn is_stuck(&self) -> bool {
        !self.waits.is_empty() && self.front.commands.len() == self.reads as usize
    }

    /// Pages that have writes waiting.
    pub fn waiting_pages(&self) -> usize {
        self.waits.pages()
    }

    /// Whether a page of these has writes waiting.
    pub fn is_waited_for(&self, pages: Range<u32>) -> bool {
        self.waits.pages_in(pages).next().is_some()
    }

    /// Changes go on behind one that all were written up to, and durable up to another one: see [`Host::issue`].
    pub fn resume(&mut self, written: u64, durable: u64) {
        self.changes = Changes::resumed(written, durable);
    }

    /// Pages that were placed for these requests are on their way to the device. The requests hear when the pages are
    /// there. Requests that have to last wait until all changes up to this one are durable. Its number: changes are
    /// numbered in this order.
    pub fn issue(&mut self, owners: Vec<RequestId>) -> u64 {
        let number = self.changes.issued() + 1;
        if !self.is_broken() {
            for owner in &owners {
                self.front.requests.at_mut(owner.0).target = number;
            }
        }
        self.changes.issue(owners)
    }

    /// A change is written. Once the driver broke down nobody waits: the owners were answered, and their numbers may be
    /// others'.
    pub fn wrote(&mut self, number: u64) {
        for owner in self.changes.wrote(number) {
            if !self.is_broken() {
                self.end_part(owner, false);
            }
        }
    }

    /// All changes up to this one are durable.
    pub fn set_durable(&mut self, number: u64) {
        self.changes.set_durable(number);
    }

    /// The last change that was issued.
    pub fn issued(&self) -> u64 {
        self.changes.issued()
    }

    /// The last change that is written together with all changes before it.
    pub fn written(&self) -> u64 {
        self.changes.written()
    }

    /// The last durable change.
    pub fn durable(&self) -> u64 {
        self.changes.durable()
    }

    /// A part of a request is done.
    pub(super) fn end_part(&mut self, request: RequestId, failed: bool) {
        if !self.front.part_done(request.0, failed) {
            return;
        }
        let entry = self.front.requests.at_mut(request.0);
        let failed = entry.failed;
        if entry.fua && !failed && entry.op == HostOp::Write {
            self.waiters.push(request);
        } else {
            self.front.end(request.0, failed);
        }
    }

    /// Answers a request when all that was issued is durable.
    pub(super) fn end_when_durable(&mut self, request: RequestId) {
        let target = self.changes.issued();
        self.front.requests.at_mut(request.0).target = target;
        if self.changes.durable() >= target && self.life != Life::Beginning {
            self.front.end(request.0, false);
        } else {
            self.waiters.push(request);
        }
    }

    /// Answers the requests that wait only for changes that are durable now.
    pub(super) fn end_durable(&mut self) {
        if self.life != Life::Beginning {
            self.end_waiters(self.changes.durable(), false);
        }
    }

    /// Whether a request waits only for written changes to become durable.
    pub fn has_waiter(&self) -> bool {
        let written = self.changes.written();
        let waits =
            |request: &RequestId| self.front.requests.get(request.0).is_some_and(|request| request.target <= written);
        self.waiters.iter().any(waits)
    }

    /// Answers the requests that wait only for this change to be durable; whether there were any. `failed`: the command
    /// that was to make it durable failed, and so do they.
    pub fn end_waiters(&mut self, up_to: u64, failed: bool) -> bool {
        let before = self.waiters.len();
        let front = &mut self.front;
        self.waiters.retain(|request| {
            let waits = front.requests.at_mut(request.0).target > up_to;
            if !waits {
                front.end(request.0, failed);
            }
            waits
        });
        self.waiters.len() < before
    }

    /// Something worked that shows that the device does: failures are counted anew.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure; too many in a row are the end.
    pub fn failed(&mut self) {
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            self.break_down();
        }
    }

    /// Nothing is written any more. Answered pages that are not durable stay readable where they are; flushes fail.
    pub fn break_down(&mut self) {
        self.front.is_broken = true;
        self.waits.clear();
        self.waiters.clear();
        self.front.end_changes();
    }

    /// A page is placed for a request. Returns the request to tell when the page is on the device, if it is not
    /// answered before.
    pub(super) fn owner_of(&mut self, request: RequestId) -> Option<RequestId> {
        let is_answered = self.terms.write_cache == WriteCache::Volatile && !self.front.requests.at_mut(request.0).fua;
        (!is_answered).then_some(request)
    }
}
