//! A driver that does one request after the other.

use crate::{
    BlockStore, Command, Driver, DriverOptions, FormatError, Hard, HostDriver, HostReport, OpenError, Shell, Submit,
};
use std::io::{self, Error};
use units::{HostOp, Nanos, SECTOR_BYTES};

/// A remapped drive over a store. Time stands still here, but for waits: where only a timeout could go on, it is over
/// at once. So [`crate::WriteCache::Volatile`] is the choice that merges writes of different calls.
#[derive(Debug)]
pub struct Blocking<S, M: ?Sized = Shell<Hard>> {
    machine: Box<M>,
    store: S,
    now: Nanos,
    buffer: Vec<u8>,
    /// What the store said last when it failed.
    failure: Option<Error>,
    /// What it said when the driver gave up.
    breakdown: Option<Error>,
}

impl<S: BlockStore, D: Driver> Blocking<S, Shell<D>> {
    /// A fresh drive over a store. The contents of the store are lost; or with [`crate::LogOptions`], and with
    /// [`crate::Start::Identity`], it is read where the layout puts it.
    ///
    /// # Errors
    /// The options do not fit the store, or the store fails.
    pub fn format<O: DriverOptions<Driver = D>>(mut store: S, options: &O) -> Result<Self, FormatError>
    where
        D: Driver<Options = O>,
    {
        let cell_bytes = options.terms().cell_bytes;
        if cell_bytes != 512 {
            return Err(FormatError::NoContents(cell_bytes));
        }
        let layout = options.layout(store.sectors())?;
        let id = D::fresh_id(&layout, &mut |sector, into| store.read(sector, into))?;
        let mut blocking = Self::over(Box::new(Shell::format(layout, options, id)), store);
        blocking.run();
        blocking.healthy()?;
        Ok(blocking)
    }

    /// The drive that a store holds. Of `options` those count that are not the layout's.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open<O: DriverOptions<Driver = D>>(mut store: S, options: &O) -> Result<Self, OpenError>
    where
        D: Driver<Options = O>,
    {
        let machine = Shell::open(options, store.sectors(), &mut |sector, into| store.read(sector, into))?;
        Ok(Self::over(Box::new(machine), store))
    }
}

impl<S: BlockStore, M: HostDriver + ?Sized> Blocking<S, M> {
    /// A driver that was opened on what the store holds.
    pub fn over(machine: Box<M>, store: S) -> Self {
        Self { machine, store, now: 0, buffer: Vec::new(), failure: None, breakdown: None }
    }

    /// Sectors of the drive.
    pub fn sectors(&self) -> u64 {
        self.machine.front().shape().sectors
    }

    /// Fills `into`, whole sectors, from `first_sector` on.
    ///
    /// # Errors
    /// The store failed.
    ///
    /// # Panics
    /// As [`HostDriver::submit`].
    pub fn read(&mut self, first_sector: u64, into: &mut [u8]) -> io::Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let sectors = sectors_of(into);
        self.ask(HostOp::Read, first_sector, sectors, &[], false)?;
        into.copy_from_slice(self.machine.front().done_data());
        Ok(())
    }

    /// Writes `data`, whole sectors, from `first_sector` on; durable when it returns if `fua` is set.
    ///
    /// # Errors
    /// The store failed.
    ///
    /// # Panics
    /// As [`HostDriver::submit`].
    pub fn write(&mut self, first_sector: u64, data: &[u8], fua: bool) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.ask(HostOp::Write, first_sector, sectors_of(data), data, fua)
    }

    /// Makes durable what was written and trimmed.
    ///
    /// # Errors
    /// The store failed, and data that were not durable before may be lost: from then on only reads are served.
    pub fn flush(&mut self) -> io::Result<()> {
        self.ask(HostOp::Flush, 0, 0, &[], false)
    }

    /// Whole pages among these sectors read zeros from now on.
    ///
    /// # Errors
    /// The store failed.
    ///
    /// # Panics
    /// As [`HostDriver::submit`].
    pub fn trim(&mut self, first_sector: u64, sectors: u32) -> io::Result<()> {
        if sectors == 0 {
            return Ok(());
        }
        self.ask(HostOp::Trim, first_sector, sectors, &[], false)
    }

    /// Does what is worth it (reclamation, or writing the log back) while nothing else is to be done.
    ///
    /// # Errors
    /// The store failed too often.
    pub fn idle(&mut self) -> io::Result<()> {
        while let Some(at) = self.machine.wake_at() {
            self.now = self.now.max(at);
            self.machine.woken(self.now);
            self.run();
        }
        self.healthy()
    }

    /// Makes everything durable, does what makes the next start short (a checkpoint, or emptying the log), and gives
    /// the store back.
    ///
    /// # Errors
    /// The store failed; it is lost, and data flushed before are on it.
    pub fn close(mut self) -> io::Result<S> {
        self.flush()?;
        self.machine.tidy_up();
        self.run();
        self.healthy()?;
        Ok(self.store)
    }

    /// See [`HostDriver::check`].
    ///
    /// # Errors
    /// The part that does not agree.
    pub fn check(&self) -> Result<(), String> {
        self.machine.check()
    }

    /// Counters, and how it stands.
    pub fn report(&self) -> HostReport {
        self.machine.report()
    }

    /// The state machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store, as a power cut would leave it.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Why only reads are served, with the kind of error that the store gave; nothing while all is.
    pub fn breakdown(&self) -> Option<Error> {
        let broken = self.machine.front().is_broken();
        broken.then(|| because("the driver gave up", self.breakdown.as_ref()))
    }

    fn healthy(&self) -> io::Result<()> {
        self.breakdown().map_or(Ok(()), Err)
    }

    fn ask(&mut self, op: HostOp, first_sector: u64, sectors: u32, data: &[u8], fua: bool) -> io::Result<()> {
        self.failure = None;
        self.machine.submit(self.now, Submit { tag: 0, op, first_sector, sectors, fua }, data);
        loop {
            self.run();
            if let Some(done) = self.machine.front_mut().next_done() {
                if !done.failed {
                    return Ok(());
                }
                // A drive that is broken refuses without asking the store.
                let why = self.failure.as_ref().or(self.breakdown.as_ref());
                return Err(because(&format!("{} not done", op.name()), why));
            }
            let at = self.machine.wake_at().expect("a request that nothing is done for waits for a time");
            self.now = self.now.max(at);
            self.machine.woken(self.now);
        }
    }

    /// Does all commands there are.
    fn run(&mut self) {
        while let Some(command) = self.machine.front_mut().next_command() {
            let result = self.perform(&command);
            let failed = result.is_err();
            let data: &[u8] = if command.op == HostOp::Read && !failed { &self.buffer } else { &[] };
            self.machine.completed(self.now, command.id, failed, data);
            let Err(error) = result else { continue };
            if self.breakdown.is_none() && self.machine.front().is_broken() {
                self.breakdown = Some(Error::new(error.kind(), error.to_string()));
            }
            self.failure = Some(error);
        }
    }

    fn perform(&mut self, command: &Command) -> io::Result<()> {
        let Command { id, op, first_sector, sectors, fua } = *command;
        match op {
            HostOp::Read => {
                self.buffer.resize(sectors as usize * SECTOR_BYTES as usize, 0);
                self.store.read(first_sector, &mut self.buffer)
            }
            HostOp::Write => self.store.write(first_sector, self.machine.command_data(id), fua),
            HostOp::Trim => self.store.trim(first_sector, u64::from(sectors)),
            HostOp::Flush => self.store.flush(),
        }
    }
}

impl<S: BlockStore> Blocking<S> {
    /// The driver.
    pub fn hard(&self) -> &Hard {
        self.machine.driver()
    }
}

/// An error of the kind of another, which it names.
fn because(what: &str, why: Option<&Error>) -> Error {
    why.map_or_else(
        || Error::other(format!("the store failed: {what}")),
        |why| Error::new(why.kind(), format!("{what}: {why}")),
    )
}

fn sectors_of(data: &[u8]) -> u32 {
    assert!(data.len().is_multiple_of(SECTOR_BYTES as usize), "{} bytes are not whole sectors", data.len());
    u32::try_from(data.len() / SECTOR_BYTES as usize).expect("one request has fewer than 2^32 sectors")
}
