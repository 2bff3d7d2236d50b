//! A driver of the host around a device: requests go through a [`HostDriver`], its commands to the device.
//!
//! ```text
//! submit --> driver --> commands --> device
//!              |  waits for fellow pages, a virtual superpage, the old contents of a page
//! completed <--+------- completions --+
//! ```
//! Faithful to: the driver is the same that runs over files; only time and the device are simulated. Simplified: the
//! driver itself takes no time. Of a request with several commands the one that ended it explains how long it took: the
//! time until that was sent counts as waiting in a queue, and the rest as the device explains it. Protects: where
//! contents are on, every read of the host is checked, from above the driver.

mod plan;

pub(crate) use plan::plan;

use crate::Clocked;
use crate::block_device::{BlockDevice, Completion, Completions, Progress};
use crate::drive::Drive;
use crate::oracle::Oracle;
use layer::Held;
use nand::{TimedFlash, WaitVector};
use remap::{Done, DriverPlan, HostDriver, HostReport, OpenError, Source, Submit};
use std::io;
use units::{BlockId, HostOp, Lpn, Nanos, Request, SECTOR_BYTES};

/// A driver without its device: it can be moved from one to another that holds the same.
#[derive(Debug)]
pub struct Driver {
    machine: Box<dyn HostDriver>,
    /// Reads are checked against it where contents are on.
    oracle: Option<Box<Oracle>>,
    /// What had been counted when counting began.
    before: HostReport,
}

impl Driver {
    fn new(machine: Box<dyn HostDriver>) -> Self {
        let has_contents = machine.front().cell_bytes() > 0;
        let oracle = has_contents.then(|| {
            let mut oracle = Oracle::new(machine.front().shape().sectors, machine.front().shape().page_sectors);
            // Whatever the drive promises, what the driver knows of it is not on it before a flush.
            oracle.set_volatile(true);
            Box::new(oracle)
        });
        Self { before: machine.report(), machine, oracle }
    }

    /// A fresh driver that will format its device; `id` tells it from any other that the device held.
    pub fn format(plan: &DriverPlan, id: u64) -> Self {
        Self::new(plan.format(id))
    }

    /// The driver whose map `device` holds. It does not check earlier writes, unless given an oracle.
    /// Errors: there is none, or it is damaged.
    pub fn open<D: BlockDevice>(plan: &DriverPlan, device: &mut D) -> Result<Self, OpenError> {
        let sectors = device.sectors();
        Ok(Self::new(plan.open(sectors, &mut |sector, into| read_now(device, sector, into))?))
    }

    /// Reads are checked against it where contents are on.
    pub fn oracle_mut(&mut self) -> Option<&mut Oracle> {
        self.oracle.as_deref_mut()
    }

    /// Counts from here on.
    pub fn reset_counters(&mut self) {
        self.before = self.machine.report();
    }
}

/// Reads from a device on which nothing else is under way.
fn read_now<D: BlockDevice>(device: &mut D, first_sector: u64, into: &mut [u8]) -> io::Result<()> {
    let sectors = (into.len() as u64 / SECTOR_BYTES) as u32;
    let request = Request { arrival: device.now(), first_sector, sectors, op: HostOp::Read, fua: false };
    device.submit_cells(0, &request, &[]);
    let mut completions = Completions::default();
    while device.advance(&mut completions) == Progress::Worked {
        match completions.done.first() {
            Some(completion) if completion.failed => break,
            Some(_) => {
                into.copy_from_slice(&completions.cells);
                return Ok(());
            }
            None => {}
        }
    }
    Err(io::Error::other(format!("sector {first_sector} cannot be read")))
}

/// A request of the host under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    request: Request,
    /// When it was submitted, which may be later than it arrived.
    taken: Nanos,
}

/// The command that ended a request.
#[derive(Clone, Copy)]
struct Ender {
    issued: Nanos,
    queue_ns: Nanos,
    wait: Option<WaitVector>,
}

/// A device behind a remapping driver: see the module description.
#[derive(Debug)]
pub struct Remapped<D> {
    device: D,
    driver: Driver,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// When each command under way was given to the device, and what it does; by its number.
    issued: Vec<(Nanos, HostOp, u32)>,
    /// When the host wants to be woken.
    wake: Option<Nanos>,
    woken: bool,
    /// When the device was asked to return.
    armed: Option<Nanos>,
    from_device: Completions,
    ready: Completions,
    /// The host's own cells are carried, and nothing is checked.
    carries: bool,
    /// Memory for stamps to write.
    stamps: Vec<u8>,
}

impl<F: Clocked> Remapped<Drive<F>> {
    /// The contents of a page of the host.
    pub fn holds(&self, page: Lpn) -> Held {
        match self.driver.machine.locate(page.0) {
            Source::Zeros => Held::Nothing,
            Source::Memory { .. } => Held::Bytes,
            Source::Device { sector, .. } => {
                self.device.holds_sectors(sector, self.driver.machine.front().shape().page_sectors)
            }
        }
    }

    /// The erase block with the newest version of a sector of the host (see [`Drive::block_of`]).
    pub fn block_of(&self, sector: u64) -> Option<BlockId> {
        let per_page = u64::from(self.driver.machine.front().shape().page_sectors);
        match self.driver.machine.locate((sector / per_page) as u32) {
            Source::Zeros | Source::Memory { .. } => None,
            Source::Device { sector: first, .. } => self.device.block_of(first + sector % per_page),
        }
    }
}

impl<D: BlockDevice> Remapped<D> {
    /// A driver over a device on which nothing is under way. Where the driver's options say that sectors have contents,
    /// the device carries cells.
    pub fn new(device: D, driver: Driver) -> Self {
        Self {
            device,
            driver,
            slots: Vec::new(),
            free: Vec::new(),
            issued: Vec::new(),
            wake: None,
            woken: false,
            armed: None,
            from_device: Completions::default(),
            ready: Completions::default(),
            carries: false,
            stamps: Vec::new(),
        }
    }

    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device below, to set faults.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Counts what the driver does from here on.
    pub fn reset_counters(&mut self) {
        self.driver.reset_counters();
    }

    pub fn machine(&self) -> &dyn HostDriver {
        &*self.driver.machine
    }

    /// Counters, and the present state.
    pub fn report(&self) -> HostReport {
        self.driver.machine.report().since(&self.driver.before)
    }

    /// Reads are checked against it where contents are on.
    pub fn oracle(&self) -> Option<&Oracle> {
        self.driver.oracle.as_deref()
    }

    /// The same, to be moved to the driver after a power cut.
    pub fn oracle_mut(&mut self) -> Option<&mut Oracle> {
        self.driver.oracle.as_deref_mut()
    }

    /// From now on requests carry the host's own cells, and nothing is checked.
    /// Panics if contents are off.
    pub fn carry_cells(&mut self) {
        assert!(self.driver.machine.front().cell_bytes() > 0, "cells are carried where contents are on");
        self.driver.oracle = None;
        self.carries = true;
    }

    /// Requests taken and not completed.
    pub fn outstanding(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Lets everything that is under way end: formatting, say. Timers may fire meanwhile; requests that complete are
    /// forgotten.
    pub fn settle(&mut self) {
        self.pump();
        let mut completions = Completions::default();
        while !self.driver.machine.front().is_idle() && self.advance(&mut completions) == Progress::Worked {}
    }

    /// Takes driver and device apart.
    pub fn into_parts(self) -> (D, Driver) {
        (self.device, self.driver)
    }

    /// Gives the driver's commands to the device, and takes its answers that no command ended.
    fn pump(&mut self) {
        self.take_answers(None);
        while let Some(command) = self.driver.machine.front_mut().next_command() {
            self.give(command);
        }
    }

    fn give(&mut self, command: remap::Command) {
        let remap::Command { id, op, first_sector, sectors, fua } = command;
        let now = self.device.now();
        if self.issued.len() <= id as usize {
            self.issued.resize(id as usize + 1, (0, HostOp::Flush, 0));
        }
        self.issued[id as usize] = (now, op, sectors);
        let request = Request { arrival: now, first_sector, sectors, op, fua };
        self.device.submit_cells(id, &request, self.driver.machine.command_data(id));
    }

    /// Takes the driver's answers; `ender` is the command whose completion brought them.
    fn take_answers(&mut self, ender: Option<&Ender>) {
        while let Some(Done { tag, op, failed }) = self.driver.machine.front_mut().next_done() {
            let id = tag as u32;
            let Slot { tag, request, taken } = self.slots[id as usize];
            self.free.push(id);
            if op == HostOp::Read && !failed {
                let data = self.driver.machine.front().done_data();
                if self.carries {
                    self.ready.cells.extend_from_slice(data);
                } else if let Some(oracle) = &mut self.driver.oracle {
                    for (sector, cell) in (request.first_sector..).zip(data.chunks_exact(SECTOR_BYTES as usize)) {
                        oracle.check_read(id, sector, Oracle::stamp_in(cell));
                    }
                }
            }
            if let Some(oracle) = &mut self.driver.oracle {
                oracle.completed(id, failed);
            }
            let all = self.device.now() - request.arrival;
            let completion = Completion { tag, request, failed, wait: None, queue_ns: all };
            // A command that was under way before the request came explains nothing of it: it waited for it.
            let completion = match ender.filter(|ender| ender.issued >= taken) {
                Some(&Ender { issued, queue_ns, ref wait }) => {
                    let wait = wait.as_ref().map(|wait| self.ready.waits.note(wait));
                    Completion { wait, queue_ns: issued - request.arrival + queue_ns, ..completion }
                }
                None => completion,
            };
            self.ready.done.push(completion);
        }
    }

    /// Hands what the device completed to the driver, and then what time it is.
    fn take_completions(&mut self) {
        let mut from_device = std::mem::take(&mut self.from_device);
        let now = self.device.now();
        let mut cells = 0;
        for completion in &from_device.done {
            let (issued, op, sectors) = self.issued[completion.tag as usize];
            let is_data = op == HostOp::Read && !completion.failed;
            let length = if is_data { sectors as usize * self.driver.machine.front().cell_bytes() as usize } else { 0 };
            let data = &from_device.cells[cells..cells + length];
            cells += length;
            self.driver.machine.completed(now, completion.tag, completion.failed, data);
            let Completion { queue_ns, wait, .. } = *completion;
            let wait = wait.map(|index| from_device.waits[index]);
            self.take_answers(Some(&Ender { issued, queue_ns, wait }));
            // Numbers of commands are used again: what is new is noted before the next one ends.
            self.pump();
        }
        from_device.done.clear();
        self.from_device = from_device;
        if self.device.has_time() {
            self.tick(now);
        }
    }

    fn tick(&mut self, now: Nanos) {
        self.woken |= self.wake.take_if(|wake| *wake <= now).is_some();
        self.armed.take_if(|armed| *armed <= now);
        if self.driver.machine.wake_at().is_some_and(|wish| wish <= now) {
            self.driver.machine.woken(now);
            self.pump();
        }
    }

    /// Asks the device to return when the host or the driver wants it to.
    fn arm(&mut self) {
        if !self.device.has_time() {
            return;
        }
        let wish = self.wake.into_iter().chain(self.driver.machine.wake_at()).min();
        let wish = wish.map(|wish| wish.max(self.device.now()));
        if let Some(time) = wish.filter(|_| wish != self.armed) {
            self.armed = wish;
            self.device.wake_at(time);
        }
    }

    /// Without time: whether something went on because nothing waits for others any more.
    fn expire(&mut self) -> bool {
        if self.device.has_time() || self.driver.machine.front().outstanding() == 0 {
            return false;
        }
        self.driver.machine.expire();
        let before = self.ready.done.len();
        self.take_answers(None);
        let Some(command) = self.driver.machine.front_mut().next_command() else {
            return self.ready.done.len() > before;
        };
        self.give(command);
        self.pump();
        true
    }

    /// Whether [`BlockDevice::advance`] returns at once with something.
    pub fn has_news(&self) -> bool {
        !self.ready.done.is_empty() || self.woken
    }

    fn news(&mut self, completions: &mut Completions) -> bool {
        if !self.has_news() {
            return false;
        }
        self.woken = false;
        std::mem::swap(completions, &mut self.ready);
        true
    }
}

impl<D: BlockDevice> BlockDevice for Remapped<D> {
    fn has_time(&self) -> bool {
        self.device.has_time()
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }

    fn time_limit(&self) -> Nanos {
        self.device.time_limit()
    }

    fn sectors(&self) -> u64 {
        self.driver.machine.front().shape().sectors
    }

    fn submit(&mut self, tag: u32, request: &Request) {
        self.submit_cells(tag, request, &[]);
    }

    fn submit_cells(&mut self, tag: u32, request: &Request, cells: &[u8]) {
        assert!(request.end_sector() <= self.sectors(), "a request beyond the drive must be refused by its source");
        let now = self.device.now();
        let slot = Slot { tag, request: *request, taken: now };
        let id = self.free.pop().unwrap_or(self.slots.len() as u32);
        if id as usize == self.slots.len() {
            self.slots.push(slot);
        }
        self.slots[id as usize] = slot;
        let Request { first_sector, sectors, op, fua, .. } = *request;
        let mut cells = cells;
        if let Some(oracle) = &mut self.driver.oracle {
            oracle.submitted(id, request);
            self.stamps.clear();
            if op == HostOp::Write {
                for sector in first_sector..request.end_sector() {
                    self.stamps
                        .extend_from_slice(&oracle.stamp(id, sector).to_le_bytes().repeat(SECTOR_BYTES as usize / 8));
                }
            }
            cells = &self.stamps;
        }
        self.driver.machine.submit(now, Submit { tag: u64::from(id), op, first_sector, sectors, fua }, cells);
        self.pump();
    }

    fn advance(&mut self, completions: &mut Completions) -> Progress {
        completions.done.clear();
        completions.waits.clear();
        completions.cells.clear();
        loop {
            if self.news(completions) {
                return Progress::Worked;
            }
            self.arm();
            match self.device.advance(&mut self.from_device) {
                Progress::Worked => self.take_completions(),
                Progress::Idle if self.expire() => {}
                Progress::Idle => return Progress::Idle,
            }
        }
    }

    fn wake_at(&mut self, time: Nanos) {
        self.wake = Some(time.max(self.device.now()));
    }

    /// Nothing: where a request will go is not known before it comes.
    fn hint(&self, _: &[Request], _: &[Request]) {}
}

impl Remapped<Drive<TimedFlash>> {
    /// Whether nothing will happen by itself any more, in the driver and in the drive (see [`Drive::is_quiet`]).
    pub fn is_quiet(&mut self) -> bool {
        (self.wake, self.armed) = (None, None);
        !self.has_news() && self.driver.machine.wake_at().is_none() && self.device.is_quiet()
    }

    /// Runs exactly one event of the drive (for cutting power after each). `false`: none is pending.
    pub fn step(&mut self) -> bool {
        self.arm();
        if !self.device.step() {
            return false;
        }
        if self.device.has_news() {
            // Returns at once with what there is.
            self.device.advance(&mut self.from_device);
            self.take_completions();
        }
        true
    }

    /// Takes what completed since the last look.
    pub fn take_done(&mut self) -> Vec<Completion> {
        self.ready.waits.clear();
        self.ready.cells.clear();
        std::mem::take(&mut self.ready.done)
    }
}
