//! A host, the driver and the device, with an oracle beside them.

use crate::device::Device;
use crate::oracle::{Change, Mark, Oracle};
use engine::random::Stream;
use remap::{Blocking, Driver, DriverOptions, HostDriver, OpenError, Plan, ReadSectors, RemapPlan, Shell, Submit};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::HostOp;

enum Asked {
    Read(u64, Mark),
    Change(Change, bool),
    Flush(Mark),
}

/// A driver over a device of a certain size: of one kind, or any line of the table.
pub trait Subject {
    type Machine: HostDriver + ?Sized;
    fn plan(&self) -> RemapPlan;
    fn fresh(&self, id: u64) -> Box<Self::Machine>;
    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<Self::Machine>, OpenError>;
}

impl<D: Driver<Options = O>, O: DriverOptions<Driver = D>> Subject for Plan<O> {
    type Machine = Shell<D>;

    fn plan(&self) -> RemapPlan {
        Arc::new((*self).into())
    }

    fn fresh(&self, id: u64) -> Box<Shell<D>> {
        Box::new(self.format(id))
    }

    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<Shell<D>>, OpenError> {
        Ok(Box::new(Shell::open(&self.options, device_sectors, read)?))
    }
}

impl Subject for RemapPlan {
    type Machine = dyn HostDriver;

    fn plan(&self) -> RemapPlan {
        self.clone()
    }

    fn fresh(&self, id: u64) -> Box<dyn HostDriver> {
        self.format(id)
    }

    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<dyn HostDriver>, OpenError> {
        (**self).open(device_sectors, read)
    }
}

pub struct Bench<P: Subject> {
    pub driver: Box<P::Machine>,
    pub device: Device,
    pub oracle: Oracle,
    pub plan: P,
    pub random: Stream,
    pub now: u64,
    pub failures: u64,
    /// The host uses sectors among this number of first ones.
    pub hot: u64,
    asked: BTreeMap<u64, Asked>,
    tag: u64,
}

impl<D: Driver<Options = O>, O: DriverOptions<Driver = D>> Bench<Plan<O>> {
    /// Over a device that shows the host `superpages`.
    pub fn new(options: O, superpages: u32, seed: u64) -> Self {
        Self::over(Plan::with_superpages(options, superpages), seed)
    }
}

impl<P: Subject> Bench<P> {
    pub fn over(plan: P, seed: u64) -> Self {
        let about = plan.plan();
        let mut random = Stream::new(seed, "bench");
        // What was there before is no zeros.
        let mut image: Vec<u8> =
            (0..about.shape.own_sectors * 64).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        image.resize(about.shape.device_sectors as usize * 512, 0);
        let mut device = Device::new(image);
        device.overlaps = !about.terms.replaces_pages;
        let oracle = Oracle::new(about.shape.sectors, about.shape.page_sectors, about.terms.replaces_pages);
        let (hot, driver) = (about.shape.sectors, plan.fresh(seed + 1));
        let (now, failures, asked, tag) = (0, 0, BTreeMap::new(), 0);
        let mut bench = Self { driver, device, oracle, plan, random, now, failures, hot, asked, tag };
        bench.settle();
        bench
    }

    /// Does commands until none is left.
    pub fn settle(&mut self) {
        self.answers();
        while !self.device.held.is_empty() {
            self.complete();
        }
    }

    pub fn outstanding(&self) -> usize {
        self.asked.len()
    }

    pub fn submit(&mut self, op: HostOp, first_sector: u64, sectors: u32, fua: bool) {
        let mark = self.oracle.mark();
        let (data, asked) = match op {
            HostOp::Read => (Vec::new(), Asked::Read(first_sector, mark)),
            HostOp::Flush => (Vec::new(), Asked::Flush(mark)),
            HostOp::Trim => (Vec::new(), Asked::Change(self.oracle.trim(first_sector, sectors), fua)),
            HostOp::Write => {
                let (data, change) = self.oracle.write(first_sector, sectors);
                (data, Asked::Change(change, fua))
            }
        };
        self.asked.insert(self.tag, asked);
        self.driver.submit(self.now, Submit { tag: self.tag, op, first_sector, sectors, fua }, &data);
        self.tag += 1;
        self.answers();
    }

    /// A request as the dice say.
    pub fn submit_any(&mut self) {
        let random = &mut self.random;
        let dice = random.below(100);
        let op = match dice {
            0..60 => HostOp::Write,
            60..85 => HostOp::Read,
            85..92 => HostOp::Trim,
            _ => HostOp::Flush,
        };
        if op == HostOp::Flush {
            self.submit(op, 0, 0, false);
            return;
        }
        let most = [1, 4, 16, 64][random.below(4) as usize].min(self.hot);
        let count = 1 + random.below(most);
        let mut first = random.below(self.hot - count + 1);
        let mut count = count as u32;
        if random.chance(0.4) {
            // Whole superpages, for writes in place.
            let size = u64::from(self.plan.plan().shape.superpage_sectors);
            first = first / size * size;
            count = size as u32 * (1 + random.below(2) as u32);
            if first + u64::from(count) > self.hot {
                return;
            }
        }
        let fua = random.chance(0.05);
        self.submit(op, first, count, fua);
    }

    pub fn complete(&mut self) {
        self.now += 10;
        self.device.complete(&mut *self.driver, self.now, &mut self.random);
        self.answers();
    }

    /// Time passes until something happens; false if nothing would.
    pub fn wait(&mut self) -> bool {
        let Some(at) = self.driver.wake_at() else { return false };
        self.now = self.now.max(at);
        self.driver.woken(self.now);
        self.answers();
        true
    }

    fn answers(&mut self) {
        self.device.take(&mut *self.driver);
        while let Some(done) = self.driver.front_mut().next_done() {
            let asked = self.asked.remove(&done.tag).expect("an answer to a request");
            self.failures += u64::from(done.failed);
            match asked {
                _ if done.failed => {}
                Asked::Read(first, mark) => self.oracle.check_read(first, self.driver.front().done_data(), &mark),
                Asked::Change(change, fua) => self.oracle.acknowledged(&change, fua),
                Asked::Flush(mark) => self.oracle.flushed(&mark),
            }
        }
    }

    /// Everything is answered: no request waits for ever.
    pub fn drain(&mut self) {
        let mut steps = 0;
        while self.outstanding() > 0 {
            assert!(steps < 1_000_000, "something goes on for ever: {:?}", self.driver.report());
            steps += 1;
            if self.device.held.is_empty() {
                assert!(self.wait(), "{} requests wait for nothing: {:?}", self.outstanding(), self.driver.report());
            } else {
                self.complete();
            }
        }
    }

    /// Asks for what makes the next start short, such as a checkpoint, while all else goes on.
    pub fn checkpoint(&mut self) {
        self.driver.tidy_up();
        self.answers();
    }

    fn open(&self, image: &[u8]) -> Box<P::Machine> {
        let mut read = |first: u64, into: &mut [u8]| {
            into.copy_from_slice(&image[first as usize * 512..][..into.len()]);
            Ok(())
        };
        self.plan.open(image.len() as u64 / 512, &mut read).expect("a power cut damages nothing")
    }

    /// Opens what a cut left and looks at all of it.
    pub fn check_image(&self, image: Vec<u8>) -> Vec<u8> {
        let mut drive = Blocking::over(self.open(&image), image);
        let mut all = vec![0; drive.sectors() as usize * 512];
        drive.read(0, &mut all).expect("the store does not fail");
        self.oracle.check_cut(&all);
        drive.check().expect("all is consistent after a cut");
        all
    }

    pub fn cut(&mut self) {
        let image = self.device.cut(&mut self.random);
        self.check_image(image);
    }

    /// The power fails, and the run goes on with what is left.
    pub fn restart(&mut self) {
        let image = self.device.cut(&mut self.random);
        let all = self.check_image(image.clone());
        self.oracle.restart(&all);
        self.driver = self.open(&image);
        let mut device = Device::new(image);
        (device.faults, device.overlaps) = (self.device.faults, self.device.overlaps);
        (device.written, device.digest) = (self.device.written, self.device.digest.clone());
        self.device = device;
        self.asked.clear();
    }
}
