//! A host, the driver and the device, with an oracle beside them.

use crate::device::Device;
use crate::oracle::{Change, Mark, Oracle};
use engine::random::Stream;
use remap::{
    Blocking, DriverOptions, Hard, HostDriver, Layout, LogCache, LogLayout, LogOptions, Options, Partial, Submit,
    WriteCache,
};
use std::collections::BTreeMap;
use units::HostOp;

enum Asked {
    Read(u64, Mark),
    Change(Change, bool),
    Flush(Mark),
}

pub struct Bench<O: Shape = Options> {
    pub driver: O::Machine,
    pub device: Device,
    pub oracle: Oracle,
    pub options: O,
    pub random: Stream,
    pub now: u64,
    pub failures: u64,
    /// Pages the host writes are among the first ones, so many.
    pub hot: u64,
    asked: BTreeMap<u64, Asked>,
    tag: u64,
}

/// What a bench needs to know of the options of a driver.
pub trait Shape: DriverOptions {
    /// Options drawn at random, of small shapes.
    fn random(random: &mut Stream) -> Self;
    /// A size of writes that matters.
    fn superpage_sectors(&self) -> u32;
    /// Pages may be replaced in part.
    fn is_torn(&self) -> bool;
    /// Sectors of a device with so many superpages for the host, or a few more.
    fn device_sectors(&self, superpages: u32) -> u64;
    /// Sectors whose first contents do not matter.
    fn rubbish(&self, device_sectors: u64) -> u64;
    /// A driver on an empty device.
    fn fresh(&self, device_sectors: u64, id: u64) -> Self::Machine;
}

fn one_of(random: &mut Stream, choices: &[u32]) -> u32 {
    choices[random.below(choices.len() as u64) as usize]
}

fn shape(random: &mut Stream) -> (u32, u32) {
    let page_sectors = one_of(random, &[1, 1, 2, 4]);
    let superpage_sectors = page_sectors * one_of(random, &[1, 2, 4, 4, 4, 8]);
    (page_sectors, superpage_sectors.max(2))
}

impl Shape for Options {
    fn random(random: &mut Stream) -> Self {
        let (page_sectors, superpage_sectors) = shape(random);
        let mut one_of = |choices: &[u32]| one_of(random, choices);
        Options {
            page_sectors,
            superpage_sectors,
            hold_back: [0.05, 0.1, 0.2, 0.3][one_of(&[0, 1, 2, 3]) as usize],
            timeout_ns: 1000,
            partial: [Partial::Pad, Partial::Hold][one_of(&[0, 1]) as usize],
            write_cache: [WriteCache::Through, WriteCache::Volatile][one_of(&[0, 1]) as usize],
            bypass: one_of(&[0, 0, 1]) == 1,
            var_free: one_of(&[1, 2, 3]),
            var_ahead: [None, Some(0), Some(3)][one_of(&[0, 1, 2]) as usize],
            var_background: [0.0, 0.05, 0.5][one_of(&[0, 1, 2]) as usize],
            idle_after_ns: 5000,
            trim: one_of(&[0, 1]) == 1,
            buffers: one_of(&[2, 4, 64]),
            ..Options::default()
        }
    }

    fn superpage_sectors(&self) -> u32 {
        self.superpage_sectors
    }

    fn is_torn(&self) -> bool {
        self.bypass
    }

    fn device_sectors(&self, superpages: u32) -> u64 {
        let size = u64::from(self.superpage_sectors);
        let fits = |sectors: &u64| Layout::new(self, *sectors).is_ok_and(|layout| layout.superpages() >= superpages);
        (u64::from(superpages)..1 << 20).map(|count| count * size).find(fits).expect("a large one will do")
    }

    fn rubbish(&self, device_sectors: u64) -> u64 {
        device_sectors
    }

    fn fresh(&self, device_sectors: u64, id: u64) -> Hard {
        Hard::format(Layout::new(self, device_sectors).expect("it fits"), self, id)
    }
}

impl Shape for LogOptions {
    fn random(random: &mut Stream) -> Self {
        let (page_sectors, superpage_sectors) = shape(random);
        let mut one_of = |choices: &[u32]| one_of(random, choices);
        LogOptions {
            page_sectors,
            superpage_sectors,
            segment_sectors: (superpage_sectors * one_of(&[1, 2, 4])).max(2 * page_sectors),
            log: [0.02, 0.2, 0.5][one_of(&[0, 1, 2]) as usize],
            timeout_ns: 1000,
            write_cache: [WriteCache::Through, WriteCache::Volatile][one_of(&[0, 1]) as usize],
            idle_after_ns: [500, 5000][one_of(&[0, 1]) as usize],
            buffers: one_of(&[2, 3, 8]),
            batch: one_of(&[1, 3, 16]),
            ..LogOptions::default()
        }
    }

    fn superpage_sectors(&self) -> u32 {
        self.superpage_sectors
    }

    fn is_torn(&self) -> bool {
        false
    }

    fn device_sectors(&self, superpages: u32) -> u64 {
        let size = u64::from(self.superpage_sectors);
        let wanted = u64::from(superpages) * size;
        let fits = |sectors: &u64| LogLayout::new(self, *sectors).is_ok_and(|layout| layout.sectors() >= wanted);
        (u64::from(superpages)..1 << 20).map(|count| count * size).find(fits).expect("a large one will do")
    }

    /// What is at home is read.
    fn rubbish(&self, device_sectors: u64) -> u64 {
        LogLayout::new(self, device_sectors).expect("it fits").home_sector()
    }

    fn fresh(&self, device_sectors: u64, id: u64) -> LogCache {
        LogCache::format(LogLayout::new(self, device_sectors).expect("it fits"), self, id)
    }
}

impl<O: Shape> Bench<O> {
    pub fn new(options: O, superpages: u32, seed: u64) -> Self {
        let sectors = options.device_sectors(superpages);
        let mut random = Stream::new(seed, "bench");
        // What was there before is no zeros.
        let mut image: Vec<u8> =
            (0..options.rubbish(sectors) * 64).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        image.resize(sectors as usize * 512, 0);
        let mut device = Device::new(image);
        device.overlaps = options.is_torn();
        let driver = options.fresh(sectors, seed + 1);
        let mut bench = Self {
            device,
            oracle: Oracle::new(driver.sectors(), driver.page_sectors(), !options.is_torn()),
            options,
            random,
            now: 0,
            failures: 0,
            hot: driver.sectors(),
            driver,
            asked: BTreeMap::new(),
            tag: 0,
        };
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
            let size = u64::from(self.options.superpage_sectors());
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
        self.device.complete(&mut self.driver, self.now, &mut self.random);
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
        self.device.take(&mut self.driver);
        while let Some(done) = self.driver.next_done() {
            let asked = self.asked.remove(&done.tag).expect("an answer to a request");
            self.failures += u64::from(done.failed);
            match asked {
                _ if done.failed => {}
                Asked::Read(first, mark) => self.oracle.check_read(first, self.driver.done_data(), &mark),
                Asked::Change(change, fua) => self.oracle.acknowledged(&change, fua),
                Asked::Flush(mark) => self.oracle.flushed(&mark),
            }
        }
    }

    /// Everything is answered: no request waits for ever.
    pub fn drain(&mut self) {
        let mut steps = 0;
        while self.outstanding() > 0 {
            assert!(steps < 1_000_000, "something goes on for ever: {:?}", self.driver.host_report());
            steps += 1;
            if self.device.held.is_empty() {
                assert!(
                    self.wait(),
                    "{} requests wait for nothing: {:?}",
                    self.outstanding(),
                    self.driver.host_report()
                );
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

    /// Opens what a cut left and looks at all of it.
    pub fn check_image(&self, image: Vec<u8>) -> Vec<u8> {
        let mut drive = Blocking::open(image, &self.options).expect("a power cut damages nothing");
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
        let sectors = image.len() as u64 / 512;
        let mut read = |first: u64, into: &mut [u8]| {
            into.copy_from_slice(&image[first as usize * 512..][..into.len()]);
            Ok(())
        };
        self.driver = self.options.open(sectors, &mut read).expect("it was opened before");
        let mut device = Device::new(image);
        (device.faults, device.overlaps, device.written) =
            (self.device.faults, self.device.overlaps, self.device.written);
        self.device = device;
        self.asked.clear();
    }
}
