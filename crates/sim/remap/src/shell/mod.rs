//! The state machine that all drivers have in common: requests in, commands out; completions in, answers out.
//!
//! ```text
//! submit --> read: locate pages, one command for those in a row --> answer
//!        --> write, trim: held back | wait behind their page | merge the old contents | placed by the driver
//!        --> flush: close what is gathered, wait until it is durable --> answer
//! ```
//! A driver ([`Driver`]) says where pages are, places them, makes them durable and cleans up. Each request of the host
//! passes through here, in one place: its parts, its buffers, its causes of waiting, and its answer.

pub(crate) mod buffers;
mod changes;
pub(crate) mod front;
pub(crate) mod host;
mod pages;
pub(crate) mod request;
mod waits;

use crate::driver::LayoutOf;
use crate::{Driver, DriverOptions, HostDriver, HostReport, OpenError, ReadSectors, Source, Submit};
use front::Front;
use host::{Completion, Host, Life, RequestId, Work};
use request::HeldBack;
use units::{HostOp, Nanos};

/// A driver in its shell: the state machine over one device.
#[derive(Debug)]
pub struct Shell<D: Driver> {
    driver: D,
    host: Host<D::Work>,
    last_request: Nanos,
    /// A page of which a part is written, as a whole.
    merged: Vec<u8>,
}

impl<D: Driver> Shell<D> {
    /// A fresh driver. Its first commands write the metadata; until they are completed, writes and trims wait. `id`
    /// must differ from the `id` of any driver that the device held before, or old metadata might be taken for new.
    ///
    /// # Panics
    /// `cell_bytes` is neither 0 nor 512.
    pub fn format(layout: LayoutOf<D>, options: &D::Options, id: u64) -> Self {
        let mut host = Host::new(layout.into(), *options.terms(), Life::Wanted);
        let driver = D::format(layout, options, id, &mut host);
        let mut shell = Self { driver, host, last_request: 0, merged: Vec::new() };
        shell.pump();
        shell
    }

    /// The driver that a device of `device_sectors` holds: see [`Driver::open`].
    ///
    /// # Errors
    /// The device cannot be read, or holds no such driver that can be trusted.
    pub fn open(options: &D::Options, device_sectors: u64, read: &mut ReadSectors) -> Result<Self, OpenError> {
        let (driver, host) = D::open(options, device_sectors, read)?;
        Ok(Self { driver, host, last_request: 0, merged: Vec::new() })
    }

    /// The driver without its shell.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Makes durable what was answered.
    fn flush(&mut self, request: RequestId) {
        self.host.counts.host_flushes += 1;
        if self.host.is_broken() {
            self.host.front.end(request.0, true);
            return;
        }
        self.end_when_durable(request);
    }

    /// Answers a request when all that was gathered and issued is durable.
    fn end_when_durable(&mut self, request: RequestId) {
        self.driver.close(&mut self.host);
        self.host.end_when_durable(request);
    }

    fn pump_close(&mut self) -> bool {
        std::mem::take(&mut self.host.close_wanted) && self.driver.close(&mut self.host)
    }

    /// Goes on with whatever can go on. From the beginning again after each step that did something:
    /// [`Driver::pump_last`] may be for when nothing else can.
    fn pump(&mut self) {
        while !self.host.is_broken()
            && (self.pump_held()
                || self.driver.pump_first(&mut self.host)
                || self.pump_ready()
                || self.pump_close()
                || self.driver.pump_last(&mut self.host))
        {}
    }

    /// Requests that change something may begin.
    fn admits(&self) -> bool {
        self.host.is_ready() && self.driver.admits(&self.host)
    }

    /// A page can be placed.
    fn has_room(&self) -> bool {
        self.host.is_ready() && self.driver.has_room(&self.host)
    }

    fn is_idle_time(&self) -> bool {
        let is_idle = self.host.front.outstanding() == 0 && !self.host.background && self.host.is_ready();
        is_idle && self.driver.has_idle_work(&self.host)
    }

    fn timeout(&self) -> Option<Nanos> {
        self.driver.gathering_since().map(|since| since + self.host.terms().timeout_ns)
    }
}

impl<D: Driver> HostDriver for Shell<D> {
    fn front(&self) -> &Front {
        &self.host.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.host.front
    }

    fn locate(&self, page: u32) -> Source {
        self.driver.locate(page)
    }

    fn submit(&mut self, now: Nanos, submit: Submit, data: &[u8]) {
        let Submit { op, first_sector, sectors, .. } = submit;
        let request = RequestId(self.host.front.open(&submit, data.len()));
        self.host.now = self.host.now.max(now);
        self.last_request = self.host.now;
        self.host.background = false;
        match op {
            HostOp::Read => self.read(request, first_sector, sectors),
            HostOp::Flush => self.flush(request),
            HostOp::Write | HostOp::Trim if self.host.is_broken() => self.host.front.end(request.0, true),
            HostOp::Write | HostOp::Trim => {
                let may_begin = self.host.waits.held.is_empty() && self.admits();
                if !may_begin || !self.begin(request, first_sector, sectors, data) {
                    self.host.waits.held.push_back(HeldBack { request, first_sector, sectors, data: data.to_vec() });
                }
            }
        }
        self.pump();
    }

    fn command_data(&self, id: u32) -> &[u8] {
        self.host.command_data(id)
    }

    fn completed(&mut self, now: Nanos, id: u32, failed: bool, data: &[u8]) {
        self.host.now = self.host.now.max(now);
        let (work, sent) = self.host.take_command(id);
        let command = sent.command;
        self.host.counts.failed_commands += u64::from(failed);
        match work {
            Work::Read { request, cell } => {
                self.driver.read_ended(&mut self.host, command.first_sector, command.sectors);
                self.read_completed(request, cell, failed, command.sectors, data);
            }
            Work::Merge { page } => {
                self.driver.read_ended(&mut self.host, command.first_sector, command.sectors);
                self.merge_completed(page, failed, data);
            }
            Work::Own(_) if command.op == HostOp::Flush && (failed || self.host.is_broken()) => self.host.break_down(),
            Work::Own(work) => {
                if command.op == HostOp::Read && !failed {
                    self.host.keep_read(&sent, data);
                }
                self.driver.completed(&mut self.host, work, &Completion { command, failed, sent });
                self.host.end_durable();
            }
        }
        self.pump();
    }

    fn wake_at(&self) -> Option<Nanos> {
        if self.host.is_broken() {
            return None;
        }
        let idle = self.is_idle_time().then_some(self.last_request + self.host.terms().idle_after_ns);
        self.timeout().into_iter().chain(idle).min()
    }

    fn woken(&mut self, now: Nanos) {
        self.host.now = self.host.now.max(now);
        let now = self.host.now;
        self.host.close_wanted |= self.timeout().is_some_and(|timeout| now >= timeout);
        self.host.background |= now >= self.last_request + self.host.terms().idle_after_ns && self.is_idle_time();
        self.pump();
    }

    fn expire(&mut self) {
        self.host.close_wanted |= self.driver.gathering_since().is_some();
        self.pump();
    }

    fn tidy_up(&mut self) {
        self.driver.tidy_up(&mut self.host);
        self.pump();
    }

    fn report(&self) -> HostReport {
        HostReport {
            driver: D::Options::NAME,
            counters: self.driver.counters(&self.host),
            ram_bytes: self.driver.ram_bytes() + self.host.ram_bytes(),
            broken: self.host.is_broken(),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.driver.check(&self.host)
    }
}
